/* Kernels that users bring (`abi call`): the step fills a tlm_kernel_args and calls the capsule's
   symbol.  In: any op with such a capsule.  Out: one statement block; the capsule's header is
   included and its link flags are kept for the build. */
#include "emit_c.h"
#include "literal.h"

#include <string.h>

static void put_tensor(struct tlmc_call *call, const char *list, uint32_t index, uint32_t value,
                       bool written)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_type *type;
    const char *dims = "", *data;

    if (value == TLMC_NONE)
        return;
    type = tlmc_value_type(call->form->graph, value);
    for (int axis = 0; axis < type->rank; axis++)
        dims =
            tlmc_emit_printf(e, "%s%s%lldu", dims, axis ? ", " : "", (long long)type->dims[axis]);
    data = tlmc_emit_use(e, call->form, value, written);
    tlmc_write(
        &e->entry,
        "args.%{list}[%{i}] = (tlm_kernel_tensor){ %{data}, %{dtype}, %{rank}, { %{dims} } };\n",
        "list", list, "i", tlmc_literal_count(e->arena, index), "data",
        written ? data : tlmc_emit_printf(e, "tlm_plain(%s)", data), "dtype",
        tlmc_emit_dtype(type->dtype), "rank", tlmc_literal_count(e->arena, (uint64_t)type->rank),
        "dims", type->rank ? dims : "0");
}

static void put_attr(struct tlmc_call *call, uint32_t index, const struct tlmc_attr *attr)
{
    struct tlmc_emit *e = call->e;
    const char *i = "0", *f = "0.0", *ints = "NULL", *list = "";
    uint32_t count = 0;

    switch (tlmc_attr_kind(attr->tag)) {
    case TLMC_ATTR_INT:
    case TLMC_ATTR_BOOL:
    case TLMC_ATTR_DTYPE: i = tlmc_emit_printf(e, "INT64_C(%lld)", (long long)attr->v.i); break;
    case TLMC_ATTR_FLOAT: f = tlmc_literal_f64(e->arena, attr->v.f); break;
    case TLMC_ATTR_INTS:
        count = attr->count;
        for (uint32_t k = 0; k < count; k++)
            list = tlmc_emit_printf(e, "%s%s%lld", list, k ? ", " : "", (long long)attr->v.ints[k]);
        if (count > 0) {
            ints = tlmc_emit_printf(e, "attr_%s", tlmc_attr_name(attr->tag));
            tlmc_write(&e->entry, "static const int64_t %{name}[] = { %{list} };\n", "name", ints,
                       "list", list);
        }
        break;
    case TLMC_ATTR_DATA: return; /* of constants alone */
    }
    tlmc_write(
        &e->entry,
        "args.attrs[%{k}] = (tlm_kernel_attr){ \"%{name}\", %{i}, %{f}, %{ints}, %{count} };\n",
        "k", tlmc_literal_count(e->arena, index), "name", tlmc_attr_name(attr->tag), "i", i, "f", f,
        "ints", ints, "count", tlmc_literal_count(e->arena, count));
}

static void need(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;

    tlmc_emit_need_header(e, "tlm_kernel_call.h");
    if (call->capsule->header)
        tlmc_emit_need_header(e, call->capsule->header);
    if (!call->capsule->link || !*call->capsule->link)
        return;
    for (unsigned i = 0; i < e->links.count; i++)
        if (strcmp(e->links.items[i], call->capsule->link) == 0)
            return;
    TLMC_PUSH(e->arena, &e->links, call->capsule->link);
}

static bool fits(struct tlmc_call *call)
{
    const struct tlmc_node *node = call->node;

    if (node->input_count <= 16 && node->result_count <= 16 && node->attr_count <= 8)
        return true;
    tlmc_emit_refuse(call->e, node, "op '%s' has more operands than a user's kernel can take",
                     tlmc_op_info(node->op)->name);
    return false;
}

void tlmc_emit_user_call(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_node *node = call->node;
    const struct tlmc_step *step = call->step;
    const bool matmul = node->op == TLMC_OP_MATMUL;

    if (call->capsule->op != node->op) {
        tlmc_emit_refuse(e, node,
                         "handler `c.call.%s` implements `%s`, but capsule `%s` implements `%s`",
                         tlmc_op_info(node->op)->name, tlmc_op_info(node->op)->name,
                         call->capsule->name, tlmc_op_info(call->capsule->op)->name);
        return;
    }
    if (!fits(call))
        return;
    need(call);
    tlmc_write(&e->entry, "{\n");
    e->entry.indent++;
    tlmc_write(
        &e->entry,
        "tlm_kernel_args args = tlm_kernel_begin(&m->rt, \"%{op}\", %{out}, %{in}, %{attrs});\n\n",
        "op", tlmc_op_info(node->op)->name, "out", tlmc_literal_count(e->arena, node->result_count),
        "in", tlmc_literal_count(e->arena, node->input_count), "attrs",
        tlmc_literal_count(e->arena, node->attr_count));
    for (uint32_t i = 0; i < node->result_count; i++)
        put_tensor(call, "outputs", i, node->first_result + i, true);
    for (uint32_t i = 0; i < node->input_count; i++)
        put_tensor(call, "inputs", i, matmul && i < 2 ? step->operands[i] : node->inputs[i],
                   node->inputs[i] != TLMC_NONE && tlmc_op_writes_input(node->op, i));
    for (uint32_t i = 0; i < node->attr_count; i++)
        put_attr(call, i, &node->attrs[i]);
    if (matmul)
        tlmc_write(&e->entry, "args.transpose_a = %{a}, args.transpose_b = %{b};\n", "a",
                   step->transpose_a ? "1" : "0", "b", step->transpose_b ? "1" : "0");
    if (tlmc_op_info(node->op)->family == TLMC_RANDOM)
        tlmc_write(&e->entry, "args.random_key = tlm_random_key(m->rt.seed, m->rt.run, %{site});\n",
                   "site",
                   tlmc_literal_count(e->arena, (uint64_t)tlmc_node_int(node, TLMC_A_SITE)));
    if (e->cuda)
        tlmc_write(&e->entry, "args.stream = tlm_cuda_stream(&m->cuda);\n");
    if (step->workspace_bytes > 0)
        tlmc_write(&e->entry,
                   "args.workspace = %{block} + %{at}, args.workspace_bytes = %{bytes};\n", "block",
                   tlmc_emit_block(e, "activations"), "at",
                   tlmc_literal_count(e->arena, step->workspace_offset), "bytes",
                   tlmc_literal_count(e->arena, step->workspace_bytes));
    tlmc_write(&e->entry, "TLM_TRY(%{symbol}(&args));\n", "symbol", call->capsule->symbol);
    e->entry.indent--;
    tlmc_write(&e->entry, "}\n");
}
