/* The norm of all elements of several tensors.  In: a GLOBAL_NORM node.  Out: a table of the
   tensors and what reads it: on the CPU a loop over the chunks of all tensors and a call that adds
   their results, on CUDA launches for chunks, tensors and their sum.  Kernels without a workspace
   run whole. */
#include "emit_c.h"
#include "emit_calls.h"
#include "literal.h"

/* Tensors of a launch: their addresses are arguments of the kernel, of which every device takes
   4096 bytes. */
enum { TENSORS_AT_ONCE = 256 };

struct norm {
    struct tlmc_call *call;
    const char *spans; /* the table: elements and first chunk of each tensor */
    uint32_t count;    /* tensors */
    int64_t parts;     /* chunks of all */
};

static const char *number(const struct norm *n, int64_t value)
{
    return tlmc_literal_count(n->call->e->arena, (uint64_t)value);
}

static int64_t elements_of(const struct norm *n, uint32_t input)
{
    return tlmc_type_count(tlmc_value_type(n->call->form->graph, n->call->node->inputs[input]));
}

static int64_t chunks_of(const struct norm *n, uint32_t first, uint32_t count)
{
    int64_t chunks = 0;

    for (uint32_t i = first; i < first + count; i++)
        chunks += (elements_of(n, i) + TLMC_SUM_CHUNK - 1) / TLMC_SUM_CHUNK;
    return chunks;
}

/* "d_fc1_weight", or of a sum of gradients the parameter it belongs to. */
static const char *name_of(const struct norm *n, uint32_t input)
{
    const struct tlmc_emit_form *form = n->call->form;
    const uint32_t value = n->call->node->inputs[input];
    const struct tlmc_node *node = tlmc_value_node(form->graph, value);

    while (node->phase == TLMC_UPDATE_PHASE &&
           (node->op == TLMC_OP_SCALE || node->op == TLMC_OP_CLAMP))
        node = tlmc_value_node(form->graph, node->inputs[0]);
    if (node->op == TLMC_OP_STATE)
        return n->call->e->module->params.items[tlmc_node_int(node, TLMC_A_SLOT)].key;
    return tlmc_emit_local(n->call->e, n->call->form, value);
}

static void put_spans(struct norm *n)
{
    struct tlmc_emit *e = n->call->e;
    struct tlmc_writer *out = e->cuda ? &e->body : &e->tables;

    n->spans = tlmc_names_make(&e->names, "spans_global_norm");
    tlmc_write_comment(out, "Tensors of global_norm, one a row: elements, first chunk.");
    tlmc_write(out,
               e->cuda ? "TLM_TABLE const struct tlmk_span %{name}[] = {\n"
                       : "static const struct tlmk_span %{name}[] = {\n",
               "name", n->spans);
    for (uint32_t i = 0; i < n->count; i++) {
        tlmc_write(out, "    { %{count}, %{first} }, /* %{name} */\n", "count",
                   number(n, elements_of(n, i)), "first", number(n, n->parts), "name",
                   name_of(n, i));
        n->parts += chunks_of(n, i, 1);
    }
    tlmc_write(out, "};\n");
    if (n->call->step->workspace_bytes > 0)
        tlmc_write(out, "%{assert}(TLM_REDUCE_CHUNK == %{chunk}, \"the chunks of global_norm\");\n",
                   "assert", e->cuda ? "static_assert" : "_Static_assert", "chunk",
                   number(n, TLMC_SUM_CHUNK));
    tlmc_write(out, "\n");
}

/* Results of the chunks, or behind them those of the tensors, in the step's workspace. */
static void workspace_field(struct norm *n, const char *ctype, const char *name, int64_t floats)
{
    struct tlmc_emit *e = n->call->e;
    const int64_t offset =
        (int64_t)n->call->step->workspace_offset + floats * (int64_t)sizeof(float);

    tlmc_call_field(n->call, ctype, name,
                    tlmc_emit_printf(e, "tlm_f32_at(%s, %s)", tlmc_emit_block(e, "activations"),
                                     number(n, offset)));
}

static void run(struct norm *n, const char *base, const char *what, const char *body,
                struct tlmc_geometry how)
{
    tlmc_call_run(n->call, base,
                  tlmc_emit_printf(n->call->e, "global_norm of %u tensors%s", n->count, what), body,
                  how);
}

static const char *whole(struct norm *n, const char *arguments)
{
    return tlmc_emit_printf(n->call->e,
                            "    (void)begin, (void)end; /* runs whole */\n"
                            "    %s(level, m->y, %s, %s, %u);\n",
                            tlmc_call_symbol(n->call), arguments, n->spans, n->count);
}

static void emit_cpu(struct norm *n)
{
    struct tlmc_call *call = n->call;
    double elements = 0;

    for (uint32_t i = 0; i < n->count; i++)
        elements += (double)elements_of(n, i);
    if (call->step->workspace_bytes == 0) {
        tlmc_call_output(call, "y", 0);
        tlmc_call_inputs(call, "x", 0, n->count);
        run(n, "global_norm", "", whole(n, "m->x"),
            (struct tlmc_geometry){ "1", NULL, 2 * elements });
        return;
    }
    if (n->parts > 0) {
        workspace_field(n, "float *", "parts", 0);
        tlmc_call_inputs(call, "x", 0, n->count);
        run(n, "global_norm_parts", ", its chunks",
            tlmc_emit_printf(
                call->e,
                "    tlmk_f32_global_norm_parts__cpu_tree64(level, m->parts, m->x, %s, "
                "%u, begin, end);\n",
                n->spans, n->count),
            (struct tlmc_geometry){ number(n, n->parts), NULL, 2 * elements });
    }
    tlmc_call_output(call, "y", 0);
    workspace_field(n, "const float *", "parts", 0);
    run(n, "global_norm", ", from its chunks", whole(n, "m->parts"),
        (struct tlmc_geometry){ "1", NULL, (double)n->parts });
}

/* Chunks of tensors first .. first + count - 1. */
static void emit_parts(struct norm *n, uint32_t first, uint32_t count)
{
    const int64_t chunks = chunks_of(n, first, count);

    if (chunks == 0)
        return;
    workspace_field(n, "float *", "parts", 0);
    tlmc_call_inputs(n->call, "x", first, count);
    run(n, "global_norm_parts", ", its chunks",
        tlmc_emit_printf(
            n->call->e,
            "    tlmk_f32_global_norm_parts__cuda_tree64(m->parts, m->x, %s + %u, %u, %u);\n",
            n->spans, first, count, tlmc_emit_half(count)),
        (struct tlmc_geometry){
            NULL, tlmc_emit_printf(n->call->e, "TLMK_PARTS(%s, TLMK_WARPS)", number(n, chunks)),
            0 });
}

static void emit_cuda(struct norm *n)
{
    struct tlmc_call *call = n->call;

    for (uint32_t first = 0; first < n->count; first += TENSORS_AT_ONCE)
        emit_parts(n, first,
                   n->count - first < TENSORS_AT_ONCE ? n->count - first : TENSORS_AT_ONCE);
    workspace_field(n, "float *", "sums", n->parts);
    workspace_field(n, "const float *", "parts", 0);
    run(n, "global_norm_sums", ", sums of their chunks",
        tlmc_emit_printf(call->e,
                         "    tlmk_f32_global_norm_sums__cuda_tree64(m->sums, m->parts, %s);\n",
                         n->spans),
        (struct tlmc_geometry){ NULL, number(n, n->count), 0 });
    tlmc_call_output(call, "y", 0);
    workspace_field(n, "const float *", "sums", n->parts);
    run(n, "global_norm", ", from their sums",
        tlmc_emit_printf(call->e, "    %s(m->y, m->sums, %u);\n", tlmc_call_symbol(call), n->count),
        (struct tlmc_geometry){ NULL, "1", 0 });
}

void tlmc_emit_global_norm(struct tlmc_call *call)
{
    struct norm n = { .call = call, .count = call->node->input_count };

    put_spans(&n);
    if (call->e->cuda)
        emit_cuda(&n);
    else
        emit_cpu(&n);
}
