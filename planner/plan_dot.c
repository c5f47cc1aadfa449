/* The plan as a Graphviz digraph: a cluster for each form and phase, a box for each step, an edge
   from the step that makes a value to each step that reads it. */
#include "plan_report.h"

#include <stdio.h>

static void quote(const char *text, struct tlmc_strbuf *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            tlmc_strbuf_char(out, '\\');
        tlmc_strbuf_char(out, *text);
    }
}

static void print_step(const struct tlmc_plan_form *form, uint32_t f, uint32_t s,
                       struct tlmc_strbuf *out)
{
    const struct tlmc_graph *graph = form->form->graph;
    const struct tlmc_step *step = &form->steps[s];
    const struct tlmc_capsule *k = form->choice[step->nodes[0]];
    uint32_t i;

    tlmc_strbuf_printf(out, "    f%us%u [label=\"", f, s);
    for (i = 0; i < step->node_count && i < 8; i++)
        tlmc_strbuf_printf(out, "%s%s", i ? ", " : "",
                           tlmc_op_info(graph->nodes[step->nodes[i]].op)->name);
    if (step->node_count > 8)
        tlmc_strbuf_printf(out, ", ... (%u)", step->node_count);
    tlmc_strbuf_add(out, "\\n");
    quote(step->note ? step->note : k ? k->name : "no capsule", out);
    tlmc_strbuf_printf(out, "\"%s];\n", step->kind == TLMC_STEP_NOTHING ? ", style=dashed" : "");
}

static void print_edges(const struct tlmc_plan *plan, const struct tlmc_plan_form *form, uint32_t f,
                        struct tlmc_strbuf *out)
{
    const struct tlmc_graph *graph = form->form->graph;
    uint32_t *step_of = TLMC_NEW_ARRAY(plan->module->arena, uint32_t, graph->node_count);
    uint32_t *edge = TLMC_NEW_ARRAY(plan->module->arena, uint32_t, form->step_count + 1);
    uint32_t s, n, i;

    for (s = 0; s < form->step_count; s++)
        for (n = 0; n < form->steps[s].node_count; n++)
            step_of[form->steps[s].nodes[n]] = s + 1;
    for (s = 0; s < form->step_count; s++)
        for (n = 0; n < form->steps[s].node_count; n++) {
            const struct tlmc_node *node = &graph->nodes[form->steps[s].nodes[n]];

            for (i = 0; i < node->input_count; i++) {
                const uint32_t from =
                    node->inputs[i] == TLMC_NONE ? 0 : step_of[graph->values[node->inputs[i]].node];

                if (!from || from == s + 1 || edge[from] == s + 1)
                    continue;
                edge[from] = s + 1; /* each pair of steps once */
                tlmc_strbuf_printf(out, "  f%us%u -> f%us%u;\n", f, from - 1, f, s);
            }
        }
}

void tlmc_plan_dot(const struct tlmc_plan *plan, struct tlmc_strbuf *out)
{
    uint32_t f, s;

    tlmc_strbuf_printf(
        out, "digraph \"%s\" {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n",
        plan->module->name);
    for (f = 0; f < plan->form_count; f++) {
        const struct tlmc_plan_form *form = tlmc_report_form(plan, f);
        enum tlmc_phase phase = TLMC_PHASE_COUNT;

        for (s = 0; s < form->step_count; s++) {
            if (form->steps[s].phase != phase) {
                if (phase != TLMC_PHASE_COUNT)
                    tlmc_strbuf_add(out, "  }\n");
                phase = form->steps[s].phase;
                tlmc_strbuf_printf(out, "  subgraph cluster_f%u_%s {\n    label=\"%s %s: %s\";\n",
                                   f, tlmc_phase_name(phase), form->form->entry,
                                   tlmc_mode_name(form->form->mode), tlmc_phase_name(phase));
            }
            print_step(form, f, s, out);
        }
        if (phase != TLMC_PHASE_COUNT)
            tlmc_strbuf_add(out, "  }\n");
        print_edges(plan, form, f, out);
    }
    tlmc_strbuf_add(out, "}\n");
}
