/* Printing graphs and modules for --dump-after: one node a line, every attribute, places as
   line:column.  The text is made from the graph alone, so equal graphs print equally. */
#include "module.h"
#include "strbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DATA_SHOWN = 8 };

static const char *const phase_names[TLMC_PHASE_COUNT] = {
    [TLMC_FORWARD] = "forward",
    [TLMC_BACKWARD] = "backward",
    [TLMC_ACCUMULATE_PHASE] = "accumulate",
    [TLMC_UPDATE_PHASE] = "update",
};

/* The shortest digits that give the number back. */
static void print_float(struct tlmc_strbuf *out, double f)
{
    char text[40];
    int digits;

    if (isnan(f)) {
        tlmc_strbuf_add(out, "nan");
        return;
    }
    for (digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (strtod(text, NULL) == f)
            break;
    }
    tlmc_strbuf_add(out, text);
}

static void print_attr(struct tlmc_strbuf *out, const struct tlmc_attr *attr)
{
    uint32_t i;

    tlmc_strbuf_printf(out, "%s = ", tlmc_attr_name(attr->tag));
    switch (tlmc_attr_kind(attr->tag)) {
    case TLMC_ATTR_INT: tlmc_strbuf_printf(out, "%lld", (long long)attr->v.i); return;
    case TLMC_ATTR_FLOAT: print_float(out, attr->v.f); return;
    case TLMC_ATTR_BOOL: tlmc_strbuf_add(out, attr->v.i ? "true" : "false"); return;
    case TLMC_ATTR_DTYPE: tlmc_strbuf_add(out, tlmc_dtype_name((enum tlmc_dtype)attr->v.i)); return;
    case TLMC_ATTR_INTS:
        for (i = 0; i < attr->count; i++)
            tlmc_strbuf_printf(out, "%s%lld", i ? ", " : "[", (long long)attr->v.ints[i]);
        tlmc_strbuf_add(out, attr->count ? "]" : "[]");
        return;
    case TLMC_ATTR_DATA:
        tlmc_strbuf_add(out, "[");
        for (i = 0; i < attr->count && i < DATA_SHOWN; i++) {
            tlmc_strbuf_add(out, i ? ", " : "");
            print_float(out, attr->v.data[i]);
        }
        tlmc_strbuf_add(out, attr->count > DATA_SHOWN ? ", ...]" : "]");
        return;
    }
    TLMC_UNREACHABLE();
}

/* What the result's type already says is not repeated. */
static bool is_shown(const struct tlmc_node *node, enum tlmc_attr_tag tag)
{
    if (tag == TLMC_A_SHAPE || tag == TLMC_A_DTYPE)
        return false;
    return tlmc_op_info(node->op)->family != TLMC_LEAF || tag != TLMC_A_SLOT;
}

static void print_operands(struct tlmc_strbuf *out, const struct tlmc_node *node)
{
    const char *separator = "";
    uint32_t i;

    tlmc_strbuf_char(out, '(');
    if (tlmc_op_info(node->op)->family == TLMC_LEAF && node->op != TLMC_OP_CONST)
        tlmc_strbuf_printf(out, "%lld", (long long)tlmc_node_int(node, TLMC_A_SLOT));
    for (i = 0; i < node->input_count; i++) {
        tlmc_strbuf_add(out, i ? ", " : "");
        if (node->inputs[i] == TLMC_NONE)
            tlmc_strbuf_char(out, '_');
        else
            tlmc_strbuf_printf(out, "%%%u", node->inputs[i]);
    }
    tlmc_strbuf_char(out, ')');
    for (i = 0; i < node->attr_count; i++) {
        if (!is_shown(node, node->attrs[i].tag))
            continue;
        tlmc_strbuf_add(out, *separator ? separator : " {");
        print_attr(out, &node->attrs[i]);
        separator = ", ";
    }
    tlmc_strbuf_add(out, *separator ? "}" : "");
}

/* "# 8:8 fc1 'h'": place, scope, and the name of the first result. */
static void print_origin(struct tlmc_strbuf *out, const struct tlmc_graph *graph,
                         const struct tlmc_node *node, const struct tlmc_sources *sources)
{
    const struct tlmc_value *value = node->result_count ? &graph->values[node->first_result] : NULL;
    const char *before = "   #";

    if (sources && node->span.file) {
        const struct tlmc_line_place place = tlmc_span_place(sources, node->span);

        tlmc_strbuf_printf(out, "%s %u:%u", before, place.line, place.column);
        before = "";
    }
    if (node->scope && *node->scope) {
        tlmc_strbuf_printf(out, "%s %s", before, node->scope);
        before = "";
    }
    if (value && value->name)
        tlmc_strbuf_printf(out, "%s %s'%s'", before, value->is_gradient ? "grad of " : "",
                           value->name);
    tlmc_strbuf_char(out, '\n');
}

static void print_node(struct tlmc_strbuf *out, const struct tlmc_graph *graph,
                       const struct tlmc_node *node, const struct tlmc_sources *sources)
{
    char type[256];
    uint32_t i;

    tlmc_strbuf_add(out, "  ");
    for (i = 0; i < node->result_count; i++)
        tlmc_strbuf_printf(out, "%s%%%u", i ? ", " : "", node->first_result + i);
    tlmc_strbuf_printf(out, "%s%s", node->result_count ? " = " : "", tlmc_op_info(node->op)->name);
    print_operands(out, node);
    for (i = 0; i < node->result_count; i++)
        tlmc_strbuf_printf(out, "%s%s", i ? ", " : " : ",
                           tlmc_type_text(&graph->values[node->first_result + i].type, type));
    print_origin(out, graph, node, sources);
}

static void print_graph(const struct tlmc_graph *graph, const struct tlmc_sources *sources,
                        struct tlmc_strbuf *out)
{
    uint32_t i;

    for (i = 0; i < graph->node_count; i++) {
        if (i == 0 || graph->nodes[i].phase != graph->nodes[i - 1].phase)
            tlmc_strbuf_printf(out, "  %s:\n", phase_names[graph->nodes[i].phase]);
        print_node(out, graph, &graph->nodes[i], sources);
    }
}

void tlmc_graph_print(const struct tlmc_graph *graph, struct tlmc_strbuf *out)
{
    print_graph(graph, NULL, out);
}

static const char *param_kind_name(enum tlmc_param_kind kind)
{
    switch (kind) {
    case TLMC_PARAM_TRAINED: return "trained";
    case TLMC_PARAM_STATE: return "state";
    case TLMC_PARAM_TRANSIENT: return "transient";
    case TLMC_PARAM_OPTIMIZER: return "optimizer";
    case TLMC_PARAM_ACCUMULATOR: return "accumulator";
    }
    TLMC_UNREACHABLE();
}

static void print_io(struct tlmc_strbuf *out, const char *what, const tlmc_io_vec *list)
{
    unsigned i;

    for (i = 0; i < list->count; i++)
        tlmc_strbuf_printf(out, "  %s %s = %%%u%s\n", what, list->items[i].name,
                           list->items[i].value, list->items[i].is_target ? "   # target" : "");
}

static void print_form(const struct tlmc_module *module, const struct tlmc_form *form,
                       struct tlmc_strbuf *out)
{
    uint32_t i;

    tlmc_strbuf_printf(out, "\nform %s %s\n", form->entry, tlmc_mode_name(form->mode));
    print_io(out, "input", &form->inputs);
    print_graph(form->graph, module->sources, out);
    print_io(out, "output", &form->outputs);
    print_io(out, "loss", &form->losses);
    print_io(out, "metric", &form->metrics);
    if (form->total_loss != TLMC_NONE)
        tlmc_strbuf_printf(out, "  total_loss = %%%u\n", form->total_loss);
    for (i = 0; i < form->grad_count; i++)
        tlmc_strbuf_printf(out, "  grad %s = %%%u\n",
                           module->params.items[form->grads[i].param].key, form->grads[i].value);
}

void tlmc_module_print(const struct tlmc_module *module, struct tlmc_strbuf *out)
{
    static const char *const scalar_names[] = { "lr",       "undamped", "step_size",
                                                "sqrt_bc2", "decay",    "clr" };
    char type[256];
    unsigned i;

    tlmc_strbuf_printf(out, "model %s\n", module->name);
    for (i = 0; i < module->params.count; i++) {
        const struct tlmc_param *param = &module->params.items[i];

        tlmc_strbuf_printf(out, "param %u %s: %s = %s   # %s%s\n", i, param->key,
                           tlmc_type_text(&param->type, type),
                           param->init.text ? param->init.text : "none",
                           param_kind_name(param->kind), param->frozen ? ", frozen" : "");
    }
    for (i = 0; i < module->scalars.count; i++)
        tlmc_strbuf_printf(out, "scalar %u %s of group %u\n", i,
                           scalar_names[module->scalars.items[i].kind],
                           module->scalars.items[i].group);
    for (i = 0; i < module->forms.count; i++)
        print_form(module, &module->forms.items[i], out);
}
