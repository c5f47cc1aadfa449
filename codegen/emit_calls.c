/* In: one node with its capsule.  Out: the body that calls the capsule's kernel with the node's
   constant shapes, and the statement that runs it.  Most kernels are rows of calls.def; here are
   those whose arguments need computing. */
#include "emit_calls.h"

#include "emit_c.h"
#include "literal.h"

#include <math.h>
#include <string.h>

enum sizes { SIZES_ROWS, SIZES_AXES, SIZES_COUNT };
enum items { ITEMS_ROWS, ITEMS_COLUMNS, ITEMS_REDUCE, ITEMS_COUNT, ITEMS_WHOLE };

struct row {
    enum tlmc_op op;
    const char *base, *results, *operands;
    enum sizes sizes;
    unsigned of; /* operand the sizes come from */
    const char *arguments;
    enum items items;
    double cost;
};

enum { x0, x1 };

static const struct row rows[] = {
#define CALL(OP, base, results, operands, sizes, of, arguments, items, cost) \
    { TLMC_OP_##OP, #base, results, operands, SIZES_##sizes, of, arguments, ITEMS_##items, cost },
#include "calls.def"
};

static const struct tlmc_type *input_type(const struct tlmc_call *call, uint32_t input)
{
    return tlmc_value_type(call->form->graph, call->node->inputs[input]);
}

static const struct tlmc_type *result_type(const struct tlmc_call *call)
{
    return tlmc_value_type(call->form->graph, call->node->first_result);
}

uint32_t tlmc_emit_half(uint32_t count)
{
    uint32_t half = 1;

    while (half * 2 < count)
        half *= 2;
    return half;
}

static int64_t product(const int64_t *dims, int count)
{
    int64_t n = 1;

    for (int i = 0; i < count; i++)
        n *= dims[i];
    return n;
}

/* "x4_y8": what a reader tells bodies apart by. */
static const char *shape_text(struct tlmc_call *call, int count, const int64_t *dims)
{
    struct tlmc_strbuf text = { 0 };
    const char *copy;

    for (int i = 0; i < count; i++)
        tlmc_strbuf_printf(&text, "%s%lld", i ? "x" : "", (long long)dims[i]);
    copy = tlmc_arena_strdup(call->e->arena, count > 0 ? tlmc_strbuf_text(&text) : "scalar");
    tlmc_strbuf_free(&text);
    return copy;
}

static const char *number(struct tlmc_call *call, int64_t value)
{
    return tlmc_literal_count(call->e->arena, (uint64_t)value);
}

static const char *float_attr(struct tlmc_call *call, enum tlmc_attr_tag tag)
{
    return tlmc_literal_f32(call->e->arena, tlmc_node_float(call->node, tag));
}

/* One pointer for each name in a list separated by blanks. */
static void fields(struct tlmc_call *call, const char *names, bool results)
{
    for (uint32_t i = 0; *names; i++) {
        const size_t n = strcspn(names, " ");
        const char *name = tlmc_arena_strndup(call->e->arena, names, n);

        if (results)
            tlmc_call_output(call, name, i);
        else
            tlmc_call_input(call, name, i);
        names += n + (names[n] == ' ');
    }
}

static struct tlmc_geometry geometry(const char *items, const char *blocks, double work)
{
    return (struct tlmc_geometry){ items, blocks, work };
}

/* One thread an element, in rows of `items` on the CPU. */
static struct tlmc_geometry elements(struct tlmc_call *call, int64_t items, int64_t count,
                                     double work)
{
    return geometry(number(call, items),
                    tlmc_emit_printf(call->e, "TLMK_BLOCKS(%s)", number(call, count)), work);
}

/* The body: one call of the kernel.  On the CPU it takes a level and a range of items. */
static const char *kernel_call(struct tlmc_call *call, const char *symbol, const char *arguments)
{
    return tlmc_emit_printf(call->e,
                            call->e->cuda ? "    %s(%s);\n" : "    %s(level, %s, begin, end);\n",
                            symbol, arguments);
}

static void run(struct tlmc_call *call, const char *base, const char *arguments,
                struct tlmc_geometry how)
{
    tlmc_call_run(call, base, tlmc_emit_printf(call->e, "%s %s", base, call->shape),
                  kernel_call(call, tlmc_call_symbol(call), arguments), how);
}

/* The operand seen as [outer, length, inner] around the node's axes. */
static void axes_sizes(struct tlmc_call *call, const struct tlmc_type *type, int64_t sizes[3])
{
    const struct tlmc_attr *axes = tlmc_node_attr(call->node, TLMC_A_AXES);
    const int first = axes ? (int)axes->v.ints[0] : (int)tlmc_node_int(call->node, TLMC_A_AXIS);
    const int count = axes ? (int)axes->count : 1;

    sizes[0] = product(type->dims, first);
    sizes[1] = product(type->dims + first, count);
    sizes[2] = product(type->dims + first + count, type->rank - first - count);
}

static struct tlmc_geometry declare_sizes(struct tlmc_call *call, const struct row *row,
                                          double work)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_type *type = input_type(call, row->of);
    int64_t sizes[3] = { 0 };

    switch (row->sizes) {
    case SIZES_ROWS:
        sizes[0] = product(type->dims, type->rank - 1);
        sizes[1] = type->dims[type->rank - 1];
        tlmc_call_size(call, "rows", sizes[0]);
        tlmc_call_size(call, "cols", sizes[1]);
        call->shape = shape_text(call, 2, sizes);
        break;
    case SIZES_AXES:
        axes_sizes(call, type, sizes);
        tlmc_call_size(call, "outer", sizes[0]);
        tlmc_call_size(call, "length", sizes[1]);
        tlmc_call_size(call, "inner", sizes[2]);
        call->shape = shape_text(call, 3, sizes);
        break;
    case SIZES_COUNT:
        sizes[0] = tlmc_type_count(type);
        tlmc_call_size(call, "n", sizes[0]);
        call->shape = shape_text(call, 1, sizes);
        break;
    }
    const char *a = number(call, sizes[0]), *b = number(call, sizes[1]),
               *c = number(call, sizes[2]);

    switch (row->items) {
    case ITEMS_ROWS: return geometry(a, tlmc_emit_printf(e, "TLMK_ROW_BLOCKS(%s, %s)", a, b), work);
    case ITEMS_COUNT: return elements(call, sizes[0], sizes[0], work);
    case ITEMS_COLUMNS:
        return geometry(tlmc_emit_printf(e, "TLMK_COLUMN_ITEMS(%s)", b),
                        tlmc_emit_printf(e, "TLMK_COLUMN_BLOCKS(%s)", b), work);
    case ITEMS_REDUCE:
        return geometry(tlmc_emit_printf(e, "TLMK_REDUCE_ITEMS(%s, %s, %s)", a, b, c),
                        tlmc_emit_printf(e, "TLMK_REDUCE_BLOCKS(%s, %s, %s)", a, b, c), work);
    case ITEMS_WHOLE: return geometry("1", tlmc_emit_printf(e, "TLMK_ROW_BLOCKS(1, %s)", a), work);
    }
    TLMC_UNREACHABLE();
}

/* Long sums on CUDA: a launch for the chunks of 4096 terms, whose results lie in the workspace, and
   one that reduces those by the same rule.  `chunks` takes the terms; `last` the parts. */
static void run_in_chunks(struct tlmc_call *call, const struct row *row)
{
    struct tlmc_emit *e = call->e;
    const bool loss = row->items == ITEMS_WHOLE, mean = call->node->op != TLMC_OP_REDUCE_SUM;
    const struct tlmc_type *type = input_type(call, row->of);
    int64_t sizes[3] = { 1, tlmc_type_count(type), 1 };
    const char *parts = tlmc_emit_printf(e, "tlm_f32_at(m->cuda.activations, %s)",
                                         number(call, (int64_t)call->step->workspace_offset));
    const char *outer, *length, *chunks;

    if (!loss)
        axes_sizes(call, type, sizes);
    outer = number(call, sizes[0]);
    length = number(call, sizes[1]);
    chunks = tlmc_emit_printf(e, "TLMK_CHUNKS(%s)", length);
    tlmc_write(
        &e->entry,
        "_Static_assert(%{outer} * %{chunks} * sizeof(float) <= %{bytes}, \"its workspace\");\n",
        "outer", outer, "chunks", chunks, "bytes",
        number(call, (int64_t)call->step->workspace_bytes));
    call->shape = shape_text(call, 2, sizes);
    tlmc_call_field(call, "float *", "parts", parts);
    fields(call, row->operands, false);
    tlmc_call_run(
        call, tlmc_emit_printf(e, "%s_chunks", row->base),
        tlmc_emit_printf(e, "%s %s, its chunks", row->base, call->shape),
        loss
            ? tlmc_emit_printf(e,
                               "    tlmk_f32_mse_chunks__cuda_tree64(m->parts, m->a, m->b, %s);\n",
                               length)
            : tlmc_emit_printf(e,
                               "    tlmk_f32_reduce_chunks__cuda_tree64(m->parts, m->x, %s, %s);\n",
                               outer, length),
        geometry(NULL, tlmc_emit_printf(e, "TLMK_CHUNK_BLOCKS(%s, %s)", outer, length), 0));
    fields(call, loss ? "y" : row->results, true);
    tlmc_call_field(call, "const float *", "parts", parts);
    tlmc_call_run(
        call, row->base, tlmc_emit_printf(e, "%s %s, from its chunks", row->base, call->shape),
        mean
            ? tlmc_emit_printf(
                  e, "    tlmk_f32_mean_of_parts__cuda_tree64(m->y, m->parts, %s, %s, %s);\n",
                  outer, chunks, length)
            : tlmc_emit_printf(e,
                               "    tlmk_f32_reduce_sum__cuda_tree64(m->y, m->parts, %s, %s, 1);\n",
                               outer, chunks),
        geometry(NULL, tlmc_emit_printf(e, "TLMK_REDUCE_BLOCKS(%s, %s, 1)", outer, chunks), 0));
}

static const char *fill(struct tlmc_call *call, const char *arguments, const char *name,
                        const char *text)
{
    const char *hole = strstr(arguments, name);

    if (!hole)
        return arguments;
    return tlmc_emit_printf(call->e, "%.*s%s%s", (int)(hole - arguments), arguments, text,
                            hole + strlen(name));
}

/* What rows name: the attribute eps; the number of the block, where the call can be a segment of a
   launch. */
static const char *fill_arguments(struct tlmc_call *call, const char *arguments)
{
    arguments = fill(call, arguments, "%{block}",
                     !call->e->cuda   ? ""
                     : call->segments ? "block, "
                                      : "blockIdx.x, ");
    if (strstr(arguments, "%{eps}"))
        arguments = fill(call, arguments, "%{eps}", float_attr(call, TLMC_A_EPS));
    return arguments;
}

void tlmc_emit_row(struct tlmc_call *call)
{
    const struct row *row = NULL;
    struct tlmc_geometry how;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == call->node->op)
            row = &rows[i];
    TLMC_CHECK(row != NULL);
    if (call->e->cuda && call->step->workspace_bytes > 0) {
        run_in_chunks(call, row);
        return;
    }
    call->by_block = strstr(row->arguments, "%{block}") != NULL;
    fields(call, row->results, true);
    fields(call, row->operands, false);
    how = declare_sizes(call, row, row->cost * (double)tlmc_type_count(input_type(call, row->of)));
    if (row->items == ITEMS_WHOLE && !call->e->cuda)
        tlmc_call_run(call, row->base, tlmc_emit_printf(call->e, "%s %s", row->base, call->shape),
                      tlmc_emit_printf(call->e,
                                       "    (void)begin, (void)end; /* runs whole */\n"
                                       "    %s(level, %s);\n",
                                       tlmc_call_symbol(call),
                                       fill_arguments(call, row->arguments)),
                      how);
    else
        run(call, row->base, fill_arguments(call, row->arguments), how);
}

/* ---- moves */

struct walk { /* a result read from an operand with strides */
    int rank;
    int64_t dims[TLMC_MAX_RANK], strides[TLMC_MAX_RANK], offset;
};

static void row_major(const struct tlmc_type *type, int64_t *strides)
{
    int64_t step = 1;

    for (int axis = type->rank - 1; axis >= 0; axis--) {
        strides[axis] = step;
        step *= type->dims[axis];
    }
}

static struct walk walk_of(struct tlmc_call *call)
{
    const struct tlmc_node *node = call->node;
    const struct tlmc_type *x = input_type(call, 0), *y = result_type(call);
    struct walk walk = { .rank = y->rank };
    int64_t strides[TLMC_MAX_RANK];
    const struct tlmc_attr *perm = tlmc_node_attr(node, TLMC_A_PERM);
    const struct tlmc_attr *starts = tlmc_node_attr(node, TLMC_A_STARTS);
    const struct tlmc_attr *steps = tlmc_node_attr(node, TLMC_A_STEPS);

    row_major(x, strides);
    for (int axis = 0; axis < y->rank; axis++) {
        walk.dims[axis] = y->dims[axis];
        if (node->op == TLMC_OP_PERMUTE) {
            walk.strides[axis] = strides[perm->v.ints[axis]];
        } else if (node->op == TLMC_OP_SLICE) {
            walk.offset += starts->v.ints[axis] * strides[axis];
            walk.strides[axis] = strides[axis] * steps->v.ints[axis];
        } else {
            const int from = axis - (y->rank - x->rank); /* broadcasting: trailing axes align */

            walk.strides[axis] = from >= 0 && x->dims[from] == y->dims[axis] ? strides[from] : 0;
        }
    }
    return walk;
}

/* Neighbouring axes that are walked as one become one; axes of size 1 go. */
static void collapse(struct walk *walk)
{
    int rank = 0;

    for (int axis = 0; axis < walk->rank; axis++) {
        const int64_t dim = walk->dims[axis], stride = walk->strides[axis];

        if (dim == 1)
            continue;
        if (rank > 0 && walk->strides[rank - 1] == stride * dim) {
            walk->dims[rank - 1] *= dim;
            walk->strides[rank - 1] = stride;
        } else {
            walk->dims[rank] = dim;
            walk->strides[rank++] = stride;
        }
    }
    walk->rank = rank;
}

/* ", 4096": kernels of CUDA that take one element a thread are told how many there are. */
static const char *whole_count(struct tlmc_call *call, int64_t count)
{
    return call->e->cuda ? tlmc_emit_printf(call->e, ", %s", number(call, count)) : "";
}

void tlmc_emit_strided(struct tlmc_call *call)
{
    struct walk walk = walk_of(call);
    const int64_t count = product(walk.dims, walk.rank);

    collapse(&walk);
    tlmc_call_output(call, "y", 0);
    tlmc_call_input(call, "x", 0);
    if (call->node->op == TLMC_OP_SLICE) /* several slices of one shape share a body */
        tlmc_call_field(call, "size_t ", "offset", number(call, walk.offset));
    tlmc_call_sizes(call, "dims", walk.rank, walk.dims);
    tlmc_call_strides(call, "strides", walk.rank, walk.strides);
    call->shape = shape_text(call, walk.rank, walk.dims);
    run(call, tlmc_op_info(call->node->op)->name,
        tlmc_emit_printf(call->e, "m->y, m->x, %d, dims, strides, %s%s", walk.rank,
                         call->node->op == TLMC_OP_SLICE ? "m->offset" : "0",
                         whole_count(call, count)),
        elements(call, product(walk.dims, walk.rank - 1), count, 2 * (double)count));
}

void tlmc_emit_slice_vjp(struct tlmc_call *call)
{
    const struct tlmc_type *g = input_type(call, 0), *y = result_type(call);

    tlmc_call_output(call, "y", 0);
    tlmc_call_input(call, "g", 0);
    tlmc_call_sizes(call, "dims", y->rank, y->dims);
    tlmc_call_sizes(call, "starts", y->rank, tlmc_node_attr(call->node, TLMC_A_STARTS)->v.ints);
    tlmc_call_sizes(call, "steps", y->rank, tlmc_node_attr(call->node, TLMC_A_STEPS)->v.ints);
    tlmc_call_sizes(call, "g_dims", g->rank, g->dims);
    call->shape = shape_text(call, y->rank, y->dims);
    run(call, "slice_vjp",
        tlmc_emit_printf(call->e, "m->y, m->g, %d, dims, starts, steps, g_dims%s", y->rank,
                         whole_count(call, tlmc_type_count(y))),
        elements(call, product(y->dims, y->rank - 1), tlmc_type_count(y),
                 4 * (double)tlmc_type_count(y)));
}

void tlmc_emit_concat(struct tlmc_call *call)
{
    const struct tlmc_type *y = result_type(call);
    const int axis = (int)tlmc_node_int(call->node, TLMC_A_AXIS);
    const int64_t outer = product(y->dims, axis);
    int64_t offset = 0;

    for (uint32_t i = 0; i < call->node->input_count; i++) {
        const struct tlmc_type *x = input_type(call, i);
        const int64_t sizes[] = { outer, product(y->dims + axis, y->rank - axis),
                                  product(x->dims + axis, x->rank - axis) };

        if (tlmc_type_count(x) > 0) {
            tlmc_call_output(call, "y", 0);
            tlmc_call_field(call, "size_t ", "offset", number(call, offset));
            tlmc_call_input(call, "x", i);
            tlmc_call_size(call, "y_row", sizes[1]);
            tlmc_call_size(call, "x_row", sizes[2]);
            call->shape = shape_text(call, 3, sizes);
            run(call, "concat",
                tlmc_emit_printf(call->e, "m->y, y_row, m->offset, m->x, x_row%s",
                                 whole_count(call, tlmc_type_count(x))),
                elements(call, outer, tlmc_type_count(x), 2 * (double)tlmc_type_count(x)));
        }
        offset += sizes[2];
    }
}

/* ---- products */

/* Batch axes of both operands against the result's, with neighbours merged where both allow it. */
struct batch {
    int rank;
    int64_t dims[TLMC_MAX_RANK], a[TLMC_MAX_RANK], b[TLMC_MAX_RANK], count;
};

static void batch_strides(const struct tlmc_type *operand, const struct tlmc_type *result,
                          int64_t *strides)
{
    int64_t own[TLMC_MAX_RANK];

    row_major(operand, own);
    for (int axis = 0; axis < result->rank - 2; axis++) {
        const int from = axis - (result->rank - operand->rank);

        strides[axis] = from >= 0 && operand->dims[from] == result->dims[axis] ? own[from] : 0;
    }
}

static struct batch batch_of(const struct tlmc_type *a, const struct tlmc_type *b,
                             const struct tlmc_type *c)
{
    struct batch batch = { .count = product(c->dims, c->rank - 2) };
    int64_t sa[TLMC_MAX_RANK], sb[TLMC_MAX_RANK];

    batch_strides(a, c, sa);
    batch_strides(b, c, sb);
    for (int axis = 0; axis < c->rank - 2; axis++) {
        const int64_t dim = c->dims[axis];
        const int last = batch.rank - 1;

        if (dim == 1)
            continue;
        if (last >= 0 && batch.a[last] == sa[axis] * dim && batch.b[last] == sb[axis] * dim) {
            batch.dims[last] *= dim;
        } else {
            batch.dims[last + 1] = dim;
            batch.rank++;
        }
        batch.a[batch.rank - 1] = sa[axis];
        batch.b[batch.rank - 1] = sb[axis];
    }
    return batch;
}

void tlmc_emit_matmul(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_type *a = input_type(call, 0), *b = input_type(call, 1),
                           *c = result_type(call);
    const struct batch batch = batch_of(a, b, c);
    const int64_t M = c->dims[c->rank - 2], N = c->dims[c->rank - 1], K = a->dims[a->rank - 1];
    const int ta = call->step->transpose_a, tb = call->step->transpose_b;
    const char *strides = e->cuda ? "nullptr, nullptr, nullptr" : "NULL, NULL, NULL";

    tlmc_call_output(call, "c", 0);
    tlmc_call_value(call, "a", call->step->operands[0], false);
    tlmc_call_value(call, "b", call->step->operands[1], false);
    tlmc_call_size(call, "M", M);
    tlmc_call_size(call, "N", N);
    tlmc_call_size(call, "K", K);
    if (batch.rank > 0) {
        tlmc_call_sizes(call, "batch", batch.rank, batch.dims);
        tlmc_call_strides(call, "a_strides", batch.rank, batch.a);
        tlmc_call_strides(call, "b_strides", batch.rank, batch.b);
        strides = "batch, a_strides, b_strides";
    }
    tlmc_strbuf_printf(&call->lists,
                       "    const int transpose_a = %d, transpose_b = %d, batch_rank = %d;%s\n", ta,
                       tb, batch.rank, batch.rank > 0 ? "" : " /* no axes, no strides */");
    call->shape =
        tlmc_emit_printf(e, "%s%lldx%lldx%lld%s%s%s",
                         batch.count > 1 ? tlmc_emit_printf(e, "%s_", number(call, batch.count))
                                         : "",
                         (long long)M, (long long)N, (long long)K, ta || tb ? "_" : "",
                         ta   ? "t"
                         : tb ? "n"
                              : "",
                         tb   ? "t"
                         : ta ? "n"
                              : "");
    call->stack = TLMC_CUDA_TILE_STACK;
    run(call, "matmul",
        tlmc_emit_printf(e, "m->c, m->a, m->b, M, N, K, transpose_a, transpose_b, batch_rank, %s",
                         strides),
        geometry(tlmc_emit_printf(e, "TLMK_MATMUL_ITEMS(%lld, %lld, %lld)", (long long)M,
                                  (long long)N, (long long)batch.count),
                 tlmc_emit_printf(e, "TLMK_MATMUL_BLOCKS(%lld, %lld, %lld)", (long long)M,
                                  (long long)N, (long long)batch.count),
                 2.0 * (double)batch.count * (double)M * (double)N * (double)K));
}

/* A C array of a product's batch axes, or NULL. */
static const char *batch_list(struct tlmc_call *call, const char *type, const char *name, int count,
                              const int64_t *values)
{
    struct tlmc_emit *e = call->e;

    if (count == 0)
        return "NULL";
    tlmc_write(&e->entry, "static const %{type} %{name}[] = { ", "type", type, "name", name);
    for (int i = 0; i < count; i++)
        tlmc_write(&e->entry, "%{comma}%{value}", "comma", i ? ", " : "", "value",
                   number(call, values[i]));
    tlmc_write(&e->entry, " };\n");
    return name;
}

/* The product as a call of the library, with the same operands and flags. */
void tlmc_emit_cublas_matmul(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_type *a = input_type(call, 0), *b = input_type(call, 1),
                           *c = result_type(call);
    const struct batch batch = batch_of(a, b, c);
    const char *dims, *a_strides, *b_strides;

    tlmc_write(&e->entry, "{\n");
    e->entry.indent++;
    dims = batch_list(call, "uint32_t", "batch", batch.rank, batch.dims);
    a_strides = batch_list(call, "uint64_t", "a_strides", batch.rank, batch.a);
    b_strides = batch_list(call, "uint64_t", "b_strides", batch.rank, batch.b);
    tlmc_write(&e->entry,
               "const tlm_cublas_product product = {\n"
               "    %{c}, %{a}, %{b}, .M = %{M}, .N = %{N}, .K = %{K}, .ta = %{ta}, .tb = %{tb},\n"
               "    .batch_rank = %{rank}, .batch_dims = %{dims}, .a_strides = %{as}, .b_strides = "
               "%{bs},\n"
               "};\n\n"
               "TLM_TRY(tlm_cublas_matmul(&m->cuda, &m->rt, &product, %{place}));\n",
               "c", tlmc_emit_use(e, call->form, call->node->first_result, true), "a",
               tlmc_emit_use(e, call->form, call->step->operands[0], false), "b",
               tlmc_emit_use(e, call->form, call->step->operands[1], false), "M",
               number(call, c->dims[c->rank - 2]), "N", number(call, c->dims[c->rank - 1]), "K",
               number(call, a->dims[a->rank - 1]), "ta", call->step->transpose_a ? "1" : "0", "tb",
               call->step->transpose_b ? "1" : "0", "rank", number(call, batch.rank), "dims", dims,
               "as", a_strides, "bs", b_strides, "place", tlmc_emit_quoted_place(e, call->node));
    e->entry.indent--;
    tlmc_write(&e->entry, "}\n");
}

/* ---- rows */

/* softmax__ -> softmax_masked__ */
static const char *masked(struct tlmc_call *call)
{
    const char *symbol = tlmc_call_symbol(call);
    const char *at = strstr(symbol, "__");

    if (!at || strstr(symbol, "masked"))
        return symbol;
    return tlmc_emit_printf(call->e, "%.*s_masked%s", (int)(at - symbol), symbol, at);
}

void tlmc_emit_softmax(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const struct tlmc_type *x = input_type(call, 0);
    const int rank = x->rank - 1;
    const int64_t sizes[] = { product(x->dims, rank), x->dims[rank] };
    const bool has_mask = call->node->input_count > 1 && call->node->inputs[1] != TLMC_NONE;
    struct tlmc_geometry how;

    tlmc_call_output(call, "y", 0);
    tlmc_call_input(call, "x", 0);
    if (has_mask)
        tlmc_call_input(call, "mask", 1);
    tlmc_call_size(call, "rows", sizes[0]);
    tlmc_call_size(call, "cols", sizes[1]);
    call->shape = shape_text(call, 2, sizes);
    how = geometry(number(call, sizes[0]),
                   tlmc_emit_printf(e, "TLMK_ROW_BLOCKS(%s, %s)", number(call, sizes[0]),
                                    number(call, sizes[1])),
                   24 * (double)tlmc_type_count(x));
    if (!has_mask) {
        run(call, "softmax", "m->y, m->x, rows, cols", how);
        return;
    }
    const struct tlmc_type *mask = input_type(call, 1);
    int64_t own[TLMC_MAX_RANK], strides[TLMC_MAX_RANK];

    row_major(mask, own);
    for (int axis = 0; axis <= rank; axis++) {
        const int from = axis - (x->rank - mask->rank);

        strides[axis] =
            from >= 0 && mask->dims[from] == x->dims[axis] && x->dims[axis] > 1 ? own[from] : 0;
    }
    tlmc_call_sizes(call, "row_dims", rank, x->dims);
    tlmc_call_strides(call, "mask_strides", rank, strides);
    tlmc_call_run(
        call, "softmax_masked", tlmc_emit_printf(e, "softmax with a mask %s", call->shape),
        kernel_call(
            call, masked(call),
            tlmc_emit_printf(e, "m->y, m->x, m->mask, rows, cols, %d, row_dims, mask_strides, %lld",
                             rank, (long long)strides[rank])),
        how);
}

/* ---- indices */

/* Before the call: every index of the operand lies below `limit`. */
static void check_index(struct tlmc_call *call, uint32_t input, int64_t limit)
{
    struct tlmc_emit *e = call->e;
    const uint32_t value = call->node->inputs[input];

    if (e->cuda) {
        tlmc_cuda_check_index(call, input, limit);
        return;
    }
    tlmc_write(
        &e->entry,
        "TLM_TRY(tlm_check_index(&m->rt, %{index}, %{n}, %{limit}, \"%{name}\", %{place}));\n",
        "index", tlmc_emit_use(e, call->form, value, false), "n",
        number(call, tlmc_type_count(input_type(call, input))), "limit", number(call, limit),
        "name", tlmc_emit_local(e, call->form, value), "place",
        tlmc_emit_quoted_place(e, call->node));
}

void tlmc_emit_cross_entropy(struct tlmc_call *call)
{
    const bool backward = call->node->op == TLMC_OP_CROSS_ENTROPY_VJP;
    const struct tlmc_type *x = input_type(call, backward ? 1 : 0);
    const int64_t sizes[] = { product(x->dims, x->rank - 1), x->dims[x->rank - 1] };

    check_index(call, backward ? 2 : 1, sizes[1]);
    fields(call, backward ? "dx" : "loss m s", true);
    fields(call, backward ? "g x cls m s" : "x cls", false);
    tlmc_call_size(call, "rows", sizes[0]);
    tlmc_call_size(call, "cols", sizes[1]);
    call->shape = shape_text(call, 2, sizes);
    if (backward)
        run(call, "cross_entropy_vjp", "m->dx, m->g, m->x, m->cls, m->m, m->s, rows, cols",
            elements(call, sizes[0], sizes[0] * sizes[1], 24 * (double)tlmc_type_count(x)));
    else
        run(call, "cross_entropy", "m->loss, m->m, m->s, m->x, m->cls, rows, cols",
            geometry(number(call, sizes[0]),
                     tlmc_emit_printf(call->e, "TLMK_ROW_BLOCKS(%s, %s)", number(call, sizes[0]),
                                      number(call, sizes[1])),
                     24 * (double)tlmc_type_count(x)));
}

/* outer, axis and inner of a table that is indexed along an axis */
static void axis_sizes(const struct tlmc_type *table, int axis, int64_t sizes[3])
{
    sizes[0] = product(table->dims, axis);
    sizes[1] = table->dims[axis];
    sizes[2] = product(table->dims + axis + 1, table->rank - axis - 1);
}

void tlmc_emit_gather(struct tlmc_call *call)
{
    const bool embedding = call->node->op == TLMC_OP_EMBEDDING;
    const uint32_t table = embedding ? 1 : 0, index = embedding ? 0 : 1;
    const int axis = embedding ? 0 : (int)tlmc_node_int(call->node, TLMC_A_AXIS);
    const int64_t n = tlmc_type_count(input_type(call, index));
    int64_t sizes[4];

    axis_sizes(input_type(call, table), axis, sizes);
    sizes[3] = n;
    check_index(call, index, sizes[1]);
    tlmc_call_output(call, "y", 0);
    tlmc_call_input(call, "x", table);
    tlmc_call_input(call, "index", index);
    tlmc_call_size(call, "outer", sizes[0]);
    tlmc_call_size(call, "axis", sizes[1]);
    tlmc_call_size(call, "inner", sizes[2]);
    tlmc_call_size(call, "n", n);
    call->shape = shape_text(call, 4, sizes);
    run(call, tlmc_op_info(call->node->op)->name, "m->y, m->x, m->index, outer, axis, inner, n",
        elements(call, sizes[0] * n, sizes[0] * n * sizes[2],
                 2 * (double)tlmc_type_count(result_type(call))));
}

void tlmc_emit_scatter_add(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const uint32_t base = call->node->inputs[0], y = call->node->first_result;
    const int64_t n = tlmc_type_count(input_type(call, 1));
    const char *bytes = number(call, (int64_t)tlmc_type_bytes(result_type(call)));
    const char *place = tlmc_emit_quoted_place(e, call->node);
    int64_t sizes[4];

    axis_sizes(result_type(call), (int)tlmc_node_int(call->node, TLMC_A_AXIS), sizes);
    sizes[3] = n;
    check_index(call, 1, sizes[1]);
    if (tlmc_emit_is_literal(call->form, base) &&
        strcmp(tlmc_emit_literal(e, call->form, base), "0.0f") == 0)
        tlmc_write(&e->entry,
                   e->cuda ? "TLM_TRY(tlm_cuda_zero(&m->cuda, &m->rt, %{y}, %{bytes}, %{place}));\n"
                           : "memset(%{y}, 0, %{bytes});\n",
                   "y", tlmc_emit_use(e, call->form, y, true), "bytes", bytes, "place", place);
    else if (!tlmc_emit_overlap(call->form, base, y))
        tlmc_write(&e->entry,
                   e->cuda ? "TLM_TRY(tlm_cuda_copy(&m->cuda, &m->rt, %{y}, %{base}, %{bytes}, "
                             "%{place}));\n"
                           : "memcpy(%{y}, %{base}, %{bytes});\n",
                   "place", place, "y", tlmc_emit_use(e, call->form, y, true), "base",
                   tlmc_emit_use(e, call->form, base, false), "bytes", bytes);
    tlmc_call_output(call, "y", 0);
    tlmc_call_input(call, "index", 1);
    tlmc_call_input(call, "updates", 2);
    tlmc_call_size(call, "outer", sizes[0]);
    tlmc_call_size(call, "axis", sizes[1]);
    tlmc_call_size(call, "inner", sizes[2]);
    tlmc_call_size(call, "n", n);
    call->shape = shape_text(call, 4, sizes);
    run(call, "scatter_add", "m->y, m->index, m->updates, outer, axis, inner, n",
        geometry(tlmc_emit_printf(e, "TLMK_SCATTER_ITEMS(%s, %s)", number(call, sizes[0]),
                                  number(call, sizes[2])),
                 tlmc_emit_printf(e, "TLMK_SCATTER_BLOCKS(%s, %s)", number(call, sizes[0]),
                                  number(call, n)),
                 2 * (double)tlmc_type_count(input_type(call, 2))));
}

/* ---- made from nothing */

void tlmc_emit_random(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const bool uniform = call->node->op == TLMC_OP_RAND_UNIFORM;
    const int64_t n = tlmc_type_count(result_type(call));
    const double keep = tlmc_node_float(call->node, TLMC_A_KEEP);
    const char *site = number(call, tlmc_node_int(call->node, TLMC_A_SITE)), *key = "m->key";
    const struct tlmc_geometry how = elements(call, n, n, 8 * (double)n);

    tlmc_call_output(call, "y", 0);
    if (e->cuda) { /* the key is made on the device: a captured launch draws anew in each run */
        tlmc_call_field(call, "const uint64_t *", "draws", "m->cuda.draws");
        tlmc_call_field(call, "uint64_t ", "site", site);
        key = "m->draws, m->site";
    } else {
        tlmc_call_field(call, "uint64_t ", "key",
                        tlmc_emit_printf(e, "tlm_random_key(m->rt.seed, m->rt.run, %s)", site));
    }
    if (uniform)
        run(call, "rand_uniform", tlmc_emit_printf(e, "m->y, %s%s", key, whole_count(call, n)),
            how);
    else
        tlmc_call_run(
            call, "bernoulli_mask",
            tlmc_emit_printf(e, "bernoulli_mask, keep = %s", tlmc_literal_f64(e->arena, keep)),
            kernel_call(call, tlmc_call_symbol(call),
                        tlmc_emit_printf(e, "m->y, %s, UINT64_C(%.0f)%s", key,
                                         ceil(keep * 4294967296.0), whole_count(call, n))),
            how);
}

void tlmc_emit_iota(struct tlmc_call *call)
{
    struct tlmc_emit *e = call->e;
    const int64_t n = tlmc_type_count(result_type(call));

    tlmc_call_output(call, "y", 0);
    run(call, "iota",
        tlmc_emit_printf(e, "m->y, %s%s",
                         tlmc_literal_i32(e->arena, tlmc_node_int(call->node, TLMC_A_START)),
                         whole_count(call, n)),
        elements(call, n, n, (double)n));
}
