/* Step bodies: one function for each distinct kernel, shape and formula, shared by all steps that
   need it, and the statements that call them.  A body reads its pointers from a struct of its own
   (STEP_args), so that twelve equal layers make one body and twelve statements.  On CUDA several
   calls can be one launch: each is a segment, whose blocks come after those of the segments before
   it. */
#include "emit_c.h"
#include "literal.h"

#include <string.h>

void tlmc_call_begin(struct tlmc_call *call, struct tlmc_emit *e, struct tlmc_emit_form *form,
                     const struct tlmc_step *step)
{
    *call = (struct tlmc_call){ .e = e, .form = form, .step = step };
    tlmc_call_node(call, 0);
}

void tlmc_call_node(struct tlmc_call *call, uint32_t n)
{
    call->node = &call->form->graph->nodes[call->step->nodes[n]];
    call->capsule = call->form->plan->choice[call->step->nodes[n]];
    call->shape = "";
    call->stack = 0;
    TLMC_CHECK(call->capsule != NULL);
}

void tlmc_call_end(struct tlmc_call *call)
{
    tlmc_strbuf_free(&call->fields);
    tlmc_strbuf_free(&call->sizes);
    tlmc_strbuf_free(&call->lists);
    tlmc_strbuf_free(&call->inits);
}

/* Pointers and 64-bit words; the other fields have 4 bytes. */
static bool is_wide(const char *ctype)
{
    return strchr(ctype, '*') || strncmp(ctype, "size_t", 6) == 0 ||
           strncmp(ctype, "uint64_t", 8) == 0;
}

void tlmc_call_field(struct tlmc_call *call, const char *ctype, const char *name, const char *text)
{
    const uint32_t size = is_wide(ctype) ? 8 : 4;

    call->arg_bytes = (call->arg_bytes + size - 1) / size * size + size;
    tlmc_strbuf_printf(&call->fields, "    %s%s;\n", ctype, name);
    tlmc_strbuf_printf(&call->inits, "%s.%s = %s", call->inits.length ? ", " : "", name, text);
}

void tlmc_call_value(struct tlmc_call *call, const char *name, uint32_t value, bool written)
{
    const char *ctype = tlmc_dtype_ctype(tlmc_value_type(call->form->graph, value)->dtype);

    tlmc_call_field(call, tlmc_emit_printf(call->e, "%s%s *", written ? "" : "const ", ctype), name,
                    tlmc_emit_use(call->e, call->form, value, written));
}

void tlmc_call_input(struct tlmc_call *call, const char *name, uint32_t input)
{
    tlmc_call_value(call, name, call->node->inputs[input], false);
}

void tlmc_call_output(struct tlmc_call *call, const char *name, uint32_t result)
{
    tlmc_call_value(call, name, call->node->first_result + result, true);
}

void tlmc_call_inputs(struct tlmc_call *call, const char *name, uint32_t first, uint32_t count)
{
    const uint32_t *inputs = call->node->inputs + first;
    const enum tlmc_dtype dtype = tlmc_value_type(call->form->graph, inputs[0])->dtype;

    call->arg_bytes = (call->arg_bytes + 7) / 8 * 8 + 8 * count;
    tlmc_strbuf_printf(&call->fields, "    const %s *%s[%u];\n", tlmc_dtype_ctype(dtype), name,
                       count);
    tlmc_strbuf_printf(&call->inits, "%s.%s = { ", call->inits.length ? ", " : "", name);
    for (uint32_t i = 0; i < count; i++)
        tlmc_strbuf_printf(&call->inits, "%s%s", i ? ", " : "",
                           tlmc_emit_use(call->e, call->form, inputs[i], false));
    tlmc_strbuf_add(&call->inits, " }");
}

void tlmc_call_size(struct tlmc_call *call, const char *name, int64_t value)
{
    tlmc_strbuf_printf(&call->sizes, "%s%s = %lld", call->sizes.length ? ", " : "", name,
                       (long long)value);
}

static void put_list(struct tlmc_call *call, const char *type, const char *name, int count,
                     const int64_t *values)
{
    tlmc_strbuf_printf(&call->lists, "    const %s %s[%d] = { ", type, name, count > 0 ? count : 1);
    for (int i = 0; i < count; i++)
        tlmc_strbuf_printf(&call->lists, "%s%lld", i ? ", " : "", (long long)values[i]);
    tlmc_strbuf_add(&call->lists, count > 0 ? " };\n" : "0 };\n");
}

void tlmc_call_sizes(struct tlmc_call *call, const char *name, int count, const int64_t *values)
{
    put_list(call, call->e->cuda ? "uint32_t" : "size_t", name, count, values);
}

void tlmc_call_strides(struct tlmc_call *call, const char *name, int count, const int64_t *values)
{
    put_list(call, call->e->cuda ? "uint64_t" : "size_t", name, count, values);
}

const char *tlmc_call_symbol(struct tlmc_call *call)
{
    const struct tlmc_node *node = call->node;
    const struct tlmc_graph *graph = call->form->graph;
    const char *symbol = call->capsule->symbol, *rest;
    enum tlmc_dtype dtype;

    /* The element type in a symbol is that of the moved or reduced tensor: argmax counts in its
       operand's. */
    if (node->result_count > 0 && node->op != TLMC_OP_ARGMAX)
        dtype = graph->values[node->first_result].type.dtype;
    else
        dtype = graph->values[node->inputs[0]].type.dtype;
    rest = strncmp(symbol, "tlmk_", 5) == 0 ? strchr(symbol + 5, '_') : NULL;
    if (!rest)
        return symbol;
    return tlmc_emit_printf(call->e, "tlmk_%s%s", tlmc_dtype_name(dtype), rest);
}

/* On the CPU a function for each SIMD level; on CUDA a kernel, or a segment of one, whose struct
   stands in NAME.c too. */
static void put_body(struct tlmc_emit *e, bool segment, const char *name, const char *fields,
                     const char *text)
{
    if (e->cuda)
        tlmc_write(&e->structs, "struct %{name}_args {\n%{fields}};\n", "name", name, "fields",
                   fields);
    tlmc_write(&e->body,
               "struct %{name}_args {\n"
               "%{fields}"
               "};\n",
               "name", name, "fields", fields);
    tlmc_write(&e->body,
               e->cuda ? "%{macro}(%{name})\n"
                         "{\n"
                         "%{text}"
                         "}\n\n"
                       : "TLM_STEP(%{name}, const struct %{name}_args)\n"
                         "{\n"
                         "%{text}"
                         "}\n"
                         "TLM_LEVELS(%{name}, const struct %{name}_args)\n\n",
               "macro", segment ? "TLM_SEGMENT" : "TLM_KERNEL", "name", name, "text", text);
}

/* Name of the body with these fields and this text, written if it is new. */
static const char *step_body(struct tlmc_call *call, const char *base, const char *comment,
                             const char *text)
{
    struct tlmc_emit *e = call->e;
    const bool segment = call->segments != NULL;
    const struct tlmc_emit_body *known = segment ? e->segments.items : e->bodies.items;
    const unsigned count = segment ? e->segments.count : e->bodies.count;
    const char *fields = tlmc_strbuf_text(&call->fields);
    const char *whole = tlmc_emit_printf(e, "%s\n%s", fields, text);
    struct tlmc_emit_body body = { .key = tlmc_intern(&e->body_keys, whole),
                                   .arg_bytes = (call->arg_bytes + 7) / 8 * 8,
                                   .stack = call->stack };

    for (unsigned i = 0; i < count; i++)
        if (known[i].key == body.key)
            return known[i].name;
    body.name =
        tlmc_names_make(&e->names, tlmc_emit_printf(e, segment ? "segment_%s" : "run_%s", base));
    if (segment)
        TLMC_PUSH(e->arena, &e->segments, body);
    else
        TLMC_PUSH(e->arena, &e->bodies, body);
    tlmc_write_comment(&e->body, comment);
    put_body(e, segment, body.name, fields, text);
    return body.name;
}

/* "name", or "name_2" when it is taken. */
static const char *member_name(const struct tlmc_call *call, const char *name)
{
    unsigned same = 1;

    for (unsigned i = 0; i < call->segments->list.count; i++)
        same += strcmp(call->segments->list.items[i].op, name) == 0;
    return same == 1 ? name : tlmc_emit_printf(call->e, "%s_%u", name, same);
}

/* The body waits for the others of its launch. */
static void put_segment(struct tlmc_call *call, const char *base, const char *name,
                        const char *blocks)
{
    const struct tlmc_segment segment = {
        .op = base,
        .shape = call->shape,
        .name = name,
        .member = member_name(call, base),
        .blocks = blocks,
        .inits = tlmc_arena_strdup(call->e->arena, tlmc_strbuf_text(&call->inits)),
        .arg_bytes = (call->arg_bytes + 7) / 8 * 8,
        .stack = call->stack
    };

    TLMC_PUSH(call->e->arena, &call->segments->list, segment);
}

/* The statement that runs a body: a loop or a launch. */
static void put_statement(struct tlmc_call *call, const char *name, struct tlmc_geometry geometry)
{
    struct tlmc_emit *e = call->e;
    const char *inits = tlmc_strbuf_text(&call->inits);

    if (e->cuda)
        tlmc_write(&e->entry, "TLM_LAUNCH(m, %{name}, %{blocks}, %{place}, %{inits});\n", "name",
                   name, "blocks", geometry.blocks, "place", tlmc_emit_quoted_place(e, call->node),
                   "inits", inits);
    else
        tlmc_write(&e->entry, "TLM_CALL(m, %{name}, %{items}, %{work}, %{inits});\n", "name", name,
                   "items", geometry.items, "work",
                   tlmc_literal_count(e->arena, (uint64_t)geometry.work), "inits", inits);
}

void tlmc_call_run(struct tlmc_call *call, const char *base, const char *comment, const char *text,
                   struct tlmc_geometry geometry)
{
    struct tlmc_emit *e = call->e;
    const char *type = call->sizes.length == 0 ? ""
                       : e->cuda               ? "    const uint32_t "
                                               : "    const size_t ";
    const char *body = tlmc_emit_printf(e, "%s%s%s%s%s", type, tlmc_strbuf_text(&call->sizes),
                                        *type ? ";\n" : "", tlmc_strbuf_text(&call->lists), text);
    const char *wanted = *call->shape ? tlmc_emit_printf(e, "%s_%s", base, call->shape) : base;
    const char *name = step_body(call, wanted, comment, body);

    if (call->segments)
        put_segment(call, base, name, geometry.blocks);
    else
        put_statement(call, name, geometry);
    call->arg_bytes = 0;
    tlmc_strbuf_clear(&call->fields);
    tlmc_strbuf_clear(&call->sizes);
    tlmc_strbuf_clear(&call->lists);
    tlmc_strbuf_clear(&call->inits);
}

/* Each block finds its segment by the number of blocks before it. */
static const char *segments_text(struct tlmc_emit *e, const struct tlmc_segments *segments)
{
    const char *text = "    uint32_t block = blockIdx.x;\n\n";
    const unsigned last = segments->list.count - 1;

    for (unsigned i = 0; i < last; i++) {
        const struct tlmc_segment *segment = &segments->list.items[i];

        text = tlmc_emit_printf(e,
                                "%s    if (block < %s) {\n"
                                "        %s(&m->%s, block);\n"
                                "        return;\n"
                                "    }\n"
                                "    block -= %s;\n",
                                text, segment->blocks, segment->name, segment->member,
                                segment->blocks);
    }
    return tlmc_emit_printf(e, "%s    %s(&m->%s, block);\n", text, segments->list.items[last].name,
                            segments->list.items[last].member);
}

/* "layer_norm_vjp_and_layer_norm_vjp_weight"; of more than two the others are counted. */
static const char *segments_base(struct tlmc_emit *e, const struct tlmc_segments *segments)
{
    const struct tlmc_segment *items = segments->list.items;
    const unsigned count = segments->list.count;

    return count == 2 ? tlmc_emit_printf(e, "%s_and_%s", items[0].op, items[1].op)
                      : tlmc_emit_printf(e, "%s_and_%u_more", items[0].op, count - 1);
}

void tlmc_call_run_segments(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_segments *segments = call->segments;
    const char *ops = "", *blocks = "";

    for (unsigned i = 0; i < segments->list.count; i++) {
        const struct tlmc_segment *segment = &segments->list.items[i];

        ops = tlmc_emit_printf(e, "%s%s%s %s", ops, i ? ", " : "", segment->op, segment->shape);
        blocks = tlmc_emit_printf(e, "%s%s%s", blocks, i ? " + " : "", segment->blocks);
        call->arg_bytes += segment->arg_bytes;
        call->stack = segment->stack > call->stack ? segment->stack : call->stack;
        tlmc_strbuf_printf(&call->fields, "    struct %s_args %s;\n", segment->name,
                           segment->member);
        tlmc_strbuf_printf(&call->inits, "%s.%s = { %s }", i ? ", " : "", segment->member,
                           segment->inits);
    }
    call->segments = NULL; /* what they make together is a kernel */
    call->shape = segments->list.items[0].shape;
    tlmc_call_run(call, segments_base(e, segments),
                  tlmc_emit_printf(e, "%s: side by side in one launch", ops),
                  segments_text(e, segments), (struct tlmc_geometry){ "", blocks, 0 });
}
