/* Pointwise groups: one loop, one local per value, one line per original op.  In: a step of
   pointwise and broadcast nodes.  Out: a body with one loop over all elements when every operand is
   read in the loop's own order, or one loop over rows with the contiguous axis inside when some
   operand is broadcast; on CUDA a kernel with one thread an element.  A value that is needed under
   several broadcasts is computed once for each: the bits are the same. */
#include "emit_c.h"

#include "bind.h"
#include "literal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* operands or results of one loop */

/* How a value's axes lie in the loop's: axis of the loop, or -1 where it has size 1 or repeats. */
struct map {
    int rank, axis[TLMC_MAX_RANK];
};

struct operand { /* a pointer that the loop reads or writes */
    uint32_t value;
    int64_t strides[TLMC_MAX_RANK]; /* a loop axis each; then collapsed */
    bool written;
    const char *name;    /* x0, y0 */
    const char *hoisted; /* read once before the loop: name of the local */
};

struct local {
    uint32_t value;
    struct map map;
    const char *name;
};

struct loop {
    struct tlmc_call *call;
    struct tlmc_emit *e;
    struct tlmc_emit_form *form;
    const struct tlmc_graph *graph;
    struct tlmc_type type; /* of the loop */
    int rank;              /* of the collapsed loop */
    int64_t dims[TLMC_MAX_RANK];
    TLMC_VEC(struct operand) operands;
    TLMC_VEC(struct local) locals;
    TLMC_VEC(const char *) lines; /* of the inner loop */
    unsigned temporaries;
    double cost;
    const char *formula;
};

static bool in_step(const struct loop *loop, uint32_t node)
{
    const struct tlmc_step *step = loop->call->step;

    for (uint32_t i = 0; i < step->node_count; i++)
        if (step->nodes[i] == node)
            return true;
    return false;
}

static bool is_move(const struct tlmc_node *node)
{
    return node->op == TLMC_OP_BROADCAST || node->op == TLMC_OP_COPY;
}

/* A broadcast, copy or view read through: its operand under the map that puts it where the result
   is read. */
static struct map operand_map(const struct tlmc_type *x, const struct tlmc_type *y,
                              const struct map *map)
{
    struct map out = { .rank = x->rank };

    for (int axis = 0; axis < x->rank; axis++) {
        const int to = axis + y->rank - x->rank;

        out.axis[axis] = x->dims[axis] == y->dims[to] ? map->axis[to] : -1;
        if (x->dims[axis] == 1)
            out.axis[axis] = -1;
    }
    return out;
}

static struct operand operand_of(const struct loop *loop, uint32_t value, const struct map *map,
                                 bool written)
{
    const struct tlmc_type *type = tlmc_value_type(loop->graph, value);
    struct operand operand = { .value = value, .written = written };
    int64_t stride = 1;

    for (int axis = type->rank - 1; axis >= 0; axis--) {
        if (map->axis[axis] >= 0)
            operand.strides[map->axis[axis]] = stride;
        stride *= type->dims[axis];
    }
    return operand;
}

/* The operand's index in the list, added when new. */
static unsigned add_operand(struct loop *loop, uint32_t value, const struct map *map, bool written)
{
    struct operand operand = operand_of(loop, value, map, written);
    unsigned reads = 0, writes = 0;

    for (unsigned i = 0; i < loop->operands.count; i++) {
        const struct operand *other = &loop->operands.items[i];

        if (other->value == value && other->written == written &&
            memcmp(other->strides, operand.strides, sizeof operand.strides) == 0)
            return i;
        reads += !other->written;
        writes += other->written;
    }
    operand.name = tlmc_emit_printf(loop->e, "%c%u", written ? 'y' : 'x', written ? writes : reads);
    TLMC_PUSH(loop->e->arena, &loop->operands, operand);
    return loop->operands.count - 1;
}

/* ---- what is computed */

/* Text that reads a value in the inner loop; operands print as "@3" until their index is known. */
static const char *read_value(struct loop *loop, uint32_t value, const struct map *map);

/* tlm_add, tlm_add_i32, tlm_where_bool: the element type is told unless it is f32. */
static const char *formula_name(struct loop *loop, const struct tlmc_node *node)
{
    const uint32_t of = node->op == TLMC_OP_WHERE ? node->inputs[1] : node->inputs[0];
    const enum tlmc_dtype dtype = loop->graph->values[of].type.dtype;
    const char *name = tlmc_op_info(node->op)->name;
    const bool logical = strncmp(name, "logical_", 8) == 0;

    if (node->op == TLMC_OP_CAST)
        return tlmc_emit_printf(loop->e, "%scast_%s_%s", loop->formula, tlmc_dtype_name(dtype),
                                tlmc_dtype_name(
                                    loop->graph->values[node->first_result].type.dtype));
    if (dtype == TLMC_F32 || logical)
        return tlmc_emit_printf(loop->e, "%s%s", loop->formula, name);
    return tlmc_emit_printf(loop->e, "%s%s_%s", loop->formula, name, tlmc_dtype_name(dtype));
}

/* Ops whose formula is a polynomial or longer. */
static double formula_cost(const struct tlmc_node *node)
{
    static const char *const cheap[] = { "add",  "sub", "mul", "neg",   "scale", "abs",
                                         "relu", "max", "min", "eq",    "ne",    "lt",
                                         "le",   "gt",  "ge",  "where", "cast",  "clamp" };
    const char *name = tlmc_op_info(node->op)->name;

    for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++)
        if (strncmp(name, cheap[i], strlen(cheap[i])) == 0)
            return 1;
    return 16;
}

/* The prefix of the node's formula; false and reported when its capsule does not fit the
   handler. */
static bool bind_formula(struct loop *loop, uint32_t id)
{
    const struct tlmc_node *node = &loop->graph->nodes[id];
    const struct tlmc_capsule *capsule = loop->form->plan->choice[id];
    struct tlmc_handler handler;
    const char *error;

    TLMC_CHECK(capsule != NULL);
    if (!tlmc_handler_find(node->op, capsule->provider, capsule->device, loop->e->arena,
                           &handler)) {
        tlmc_emit_refuse(loop->e, node, "op '%s' has no emitter", tlmc_op_info(node->op)->name);
        return false;
    }
    error = tlmc_bind(&handler, capsule, loop->e->arena);
    if (error) {
        tlmc_emit_refuse(loop->e, node, "%s", error);
        return false;
    }
    if (handler.on_device)
        tlmc_emit_need_device_header(loop->e, loop->e->options->single_file ? "device.cuh"
                                                                            : capsule->header);
    else
        tlmc_emit_need_header(loop->e, capsule->header);
    loop->formula = handler.formula;
    return true;
}

static const char *compute(struct loop *loop, uint32_t value, const struct map *map)
{
    const uint32_t id = loop->graph->values[value].node;
    const struct tlmc_node *node = &loop->graph->nodes[id];
    struct tlmc_strbuf arguments = { 0 };
    const char *attrs = tlmc_op_info(node->op)->attrs;
    const char *name, *ctype = tlmc_dtype_ctype(loop->graph->values[value].type.dtype);

    for (uint32_t i = 0; i < node->input_count; i++)
        tlmc_strbuf_printf(&arguments, "%s%s", i ? ", " : "",
                           read_value(loop, node->inputs[i], map));
    while (node->op != TLMC_OP_CAST && *attrs) {
        const size_t n = strcspn(attrs, " ");
        const char *attr = tlmc_arena_strndup(loop->e->arena, attrs, n);

        tlmc_strbuf_printf(&arguments, ", %s",
                           tlmc_literal_f32(loop->e->arena,
                                            tlmc_node_float(node, tlmc_attr_find(attr))));
        attrs += n + (attrs[n] == ' ');
    }
    name = tlmc_emit_printf(loop->e, "t%u", loop->temporaries++);
    if (bind_formula(loop, id))
        TLMC_PUSH(loop->e->arena, &loop->lines,
                  tlmc_emit_printf(loop->e, "const %s %s = %s(%s);", ctype, name,
                                   formula_name(loop, node), tlmc_strbuf_text(&arguments)));
    loop->cost += formula_cost(node);
    tlmc_strbuf_free(&arguments);
    return name;
}

static bool same_map(const struct map *a, const struct map *b)
{
    return a->rank == b->rank && memcmp(a->axis, b->axis, sizeof(int) * (size_t)a->rank) == 0;
}

static const char *read_value(struct loop *loop, uint32_t value, const struct map *map)
{
    const uint32_t id = loop->graph->values[value].node;
    const struct tlmc_node *node = &loop->graph->nodes[id];
    const char *name;

    if (tlmc_emit_is_literal(loop->form, value))
        return tlmc_emit_literal(loop->e, loop->form, value);
    if (!in_step(loop, id))
        return tlmc_emit_printf(loop->e, "@%u", add_operand(loop, value, map, false));
    if (is_move(node)) {
        const struct map under = operand_map(tlmc_value_type(loop->graph, node->inputs[0]),
                                             tlmc_value_type(loop->graph, value), map);

        return read_value(loop, node->inputs[0], &under);
    }
    for (unsigned i = 0; i < loop->locals.count; i++)
        if (loop->locals.items[i].value == value && same_map(&loop->locals.items[i].map, map))
            return loop->locals.items[i].name;
    name = compute(loop, value, map);
    TLMC_PUSH(loop->e->arena, &loop->locals, ((struct local){ value, *map, name }));
    return name;
}

/* ---- the loop */

/* Neighbouring axes become one where every operand walks them as one; axes of size 1 go. */
static void collapse(struct loop *loop)
{
    loop->rank = 0;
    for (int axis = 0; axis < loop->type.rank; axis++) {
        const int64_t dim = loop->type.dims[axis];
        bool joins = loop->rank > 0;

        if (dim == 1)
            continue;
        for (unsigned i = 0; i < loop->operands.count && joins; i++)
            joins = loop->operands.items[i].strides[loop->rank - 1] ==
                    loop->operands.items[i].strides[axis] * dim;
        if (!joins)
            loop->rank++;
        loop->dims[loop->rank - 1] = joins ? loop->dims[loop->rank - 1] * dim : dim;
        for (unsigned i = 0; i < loop->operands.count; i++)
            loop->operands.items[i].strides[loop->rank - 1] = loop->operands.items[i].strides[axis];
    }
}

static bool is_restricted(const struct loop *loop)
{
    for (unsigned i = 0; i < loop->operands.count; i++)
        for (unsigned k = 0; k < loop->operands.count; k++)
            if (i != k && loop->operands.items[i].written &&
                tlmc_emit_overlap(loop->form, loop->operands.items[i].value,
                                  loop->operands.items[k].value))
                return false;
    return true;
}

static bool is_fixed(const struct loop *loop, const struct operand *operand)
{
    for (int axis = 0; axis < loop->rank; axis++)
        if (operand->strides[axis] != 0)
            return false;
    return true;
}

/* " + r / 4 % 3 * 16 + r % 4 * 4": where element `index` of the axes up to `last` lies in the
   operand.  Axes that it walks as one make one term. */
static const char *offset_text(const struct loop *loop, const struct operand *operand, int last,
                               const char *index)
{
    struct tlmc_strbuf text = { 0 };
    const char *copy;
    int64_t below = 1; /* rows in one step of the axis */

    for (int axis = last; axis >= 0; axis--) {
        const int64_t stride = operand->strides[axis];
        int64_t size = loop->dims[axis];

        for (; axis > 0 && operand->strides[axis - 1] == stride * loop->dims[axis]; axis--)
            size *= loop->dims[axis - 1];
        if (stride != 0) {
            tlmc_strbuf_printf(&text, " + %s", index);
            if (below > 1)
                tlmc_strbuf_printf(&text, " / %lld", (long long)below);
            if (axis > 0)
                tlmc_strbuf_printf(&text, " %% %lld", (long long)size);
            if (stride != 1)
                tlmc_strbuf_printf(&text, " * %lld", (long long)stride);
        }
        below *= size;
    }
    copy = tlmc_arena_strdup(loop->e->arena, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return copy;
}

static const char *ctype_of(const struct loop *loop, const struct operand *operand)
{
    return tlmc_dtype_ctype(loop->graph->values[operand->value].type.dtype);
}

/* Declares the pointers (and values that do not change along the loop) in front of it. */
static void put_pointers(struct loop *loop, struct tlmc_strbuf *out, bool rows, bool restricted)
{
    const char *pad = rows ? "        " : "    ";

    for (unsigned i = 0; i < loop->operands.count; i++) {
        struct operand *operand = &loop->operands.items[i];
        const char *type = ctype_of(loop, operand),
                   *offset = rows ? offset_text(loop, operand, loop->rank - 2, "r") : "";

        if (!operand->written &&
            (is_fixed(loop, operand) || operand->strides[loop->rank - 1] == 0)) {
            operand->hoisted = tlmc_emit_printf(loop->e, "c%s", operand->name + 1);
            if (*offset)
                tlmc_strbuf_printf(out, "%sconst %s %s = m->%s[%s];\n", pad, type, operand->hoisted,
                                   operand->name, offset + 3);
            else
                tlmc_strbuf_printf(out, "%sconst %s %s = *m->%s;\n", pad, type, operand->hoisted,
                                   operand->name);
        } else {
            tlmc_strbuf_printf(out, "%s%s%s *%s%s = m->%s%s;\n", pad,
                               operand->written ? "" : "const ", type,
                               restricted ? "restrict " : "", operand->name, operand->name, offset);
        }
    }
}

/* "m->x0[i / 4 * 16 + i % 4]" */
static const char *device_element(const struct loop *loop, const struct operand *operand)
{
    const char *offset = offset_text(loop, operand, loop->rank - 1, "i");

    return tlmc_emit_printf(loop->e, "m->%s[%s]", operand->name, *offset ? offset + 3 : "0");
}

static const char *element(const struct loop *loop, const struct operand *operand)
{
    const int64_t stride = loop->rank > 0 ? operand->strides[loop->rank - 1] : 0;

    if (operand->hoisted)
        return operand->hoisted;
    if (loop->rank == 0)
        return tlmc_emit_printf(loop->e, "%s[i]", operand->name);
    if (stride == 1)
        return tlmc_emit_printf(loop->e, "%s[i]", operand->name);
    return tlmc_emit_printf(loop->e, "%s[i * %lld]", operand->name, (long long)stride);
}

/* A line with its operands put in. */
static void put_line(struct loop *loop, struct tlmc_strbuf *out, const char *pad, const char *line)
{
    tlmc_strbuf_add(out, pad);
    while (*line) {
        if (*line == '@') {
            char *end;
            const unsigned long index = strtoul(line + 1, &end, 10);

            tlmc_strbuf_add(out, loop->e->cuda ? device_element(loop, &loop->operands.items[index])
                                               : element(loop, &loop->operands.items[index]));
            line = end;
        } else {
            tlmc_strbuf_char(out, *line++);
        }
    }
    tlmc_strbuf_char(out, '\n');
}

static void put_loop(struct loop *loop, struct tlmc_strbuf *out)
{
    const bool rows = loop->rank > 1, restricted = is_restricted(loop);
    const char *pad = rows ? "            " : "        ";

    tlmc_strbuf_add(out, "    (void)level;\n");
    if (rows)
        tlmc_strbuf_add(out, "    for (size_t r = begin; r < end; r++) {\n");
    put_pointers(loop, out, rows, restricted);
    if (rows)
        tlmc_strbuf_printf(out, "        TLM_LOOP\n        for (size_t i = 0; i < %lld; i++) {\n",
                           (long long)loop->dims[loop->rank - 1]);
    else
        tlmc_strbuf_add(out, "    TLM_LOOP\n    for (size_t i = begin; i < end; i++) {\n");
    for (unsigned i = 0; i < loop->lines.count; i++)
        put_line(loop, out, pad, loop->lines.items[i]);
    tlmc_strbuf_add(out, rows ? "        }\n    }\n" : "    }\n");
}

/* One thread an element; what it stores comes last. */
static void put_kernel(struct loop *loop, struct tlmc_strbuf *out, int64_t count)
{
    tlmc_strbuf_printf(out,
                       "    const uint32_t i = tlm_thread();\n"
                       "\n"
                       "    if (i >= %lld)\n"
                       "        return;\n",
                       (long long)count);
    for (unsigned i = 0; i < loop->lines.count; i++)
        put_line(loop, out, "    ", loop->lines.items[i]);
}

/* What the loop starts from: the values of the step that are kept. */
static bool is_kept(const struct loop *loop, uint32_t value)
{
    const enum tlmc_place place = loop->form->plan->values[value].place;

    return place == TLMC_PLACE_ARENA || place == TLMC_PLACE_WEIGHTS || place == TLMC_PLACE_STATE;
}

/* Asks for every kept value; the stores stand at the end of the loop's body, so that a result may
   overwrite an operand of the same place. */
static bool collect(struct loop *loop)
{
    const struct tlmc_step *step = loop->call->step;
    TLMC_VEC(const char *) stores = { 0 };
    bool found = false;

    for (uint32_t i = 0; i < step->node_count; i++) {
        const struct tlmc_node *node = &loop->graph->nodes[step->nodes[i]];
        struct map map = { 0 };

        if (node->result_count == 0 || !is_kept(loop, node->first_result))
            continue;
        const struct tlmc_type *type = tlmc_value_type(loop->graph, node->first_result);

        if (!found)
            loop->type = *type;
        found = true;
        if (!tlmc_shape_equal(type, &loop->type)) {
            tlmc_emit_refuse(loop->e, node, "results of one fused loop have different shapes");
            return false;
        }
        map.rank = type->rank;
        for (int axis = 0; axis < type->rank; axis++)
            map.axis[axis] = type->dims[axis] == 1 ? -1 : axis;
        const char *text = read_value(loop, node->first_result, &map);
        const unsigned result = add_operand(loop, node->first_result, &map, true);

        TLMC_PUSH(loop->e->arena, &stores, tlmc_emit_printf(loop->e, "@%u = %s;", result, text));
    }
    for (unsigned i = 0; i < stores.count; i++)
        TLMC_PUSH(loop->e->arena, &loop->lines, stores.items[i]);
    return found;
}

/* "add_relu": the ops in order, broadcasts left out. */
static const char *base_name(struct loop *loop)
{
    const struct tlmc_step *step = loop->call->step;
    const char *text = "";
    unsigned count = 0;

    for (uint32_t i = 0; i < step->node_count; i++) {
        const struct tlmc_node *node = &loop->graph->nodes[step->nodes[i]];

        if (is_move(node) && step->node_count > 1)
            continue;
        if (++count == 5)
            return tlmc_emit_printf(loop->e, "%s_and_more", text);
        text = tlmc_emit_printf(loop->e, "%s%s%s", text, *text ? "_" : "",
                                tlmc_op_info(node->op)->name);
    }
    return text;
}

void tlmc_emit_pointwise(struct tlmc_emit *e, struct tlmc_emit_form *form,
                         const struct tlmc_step *step)
{
    struct tlmc_call call;
    struct loop loop = { .call = &call, .e = e, .form = form, .graph = form->graph };
    struct tlmc_strbuf text = { 0 };
    struct tlmc_geometry how;
    int64_t count, items;

    tlmc_call_begin(&call, e, form, step);
    if (collect(&loop) && !e->failed && tlmc_type_count(&loop.type) > 0) {
        collapse(&loop);
        count = tlmc_type_count(&loop.type);
        if (e->cuda)
            put_kernel(&loop, &text, count);
        else
            put_loop(&loop, &text);
        for (unsigned i = 0; i < loop.operands.count; i++)
            tlmc_call_value(&call, loop.operands.items[i].name, loop.operands.items[i].value,
                            loop.operands.items[i].written);
        items = loop.rank > 1 ? count / (loop.dims[loop.rank - 1] ? loop.dims[loop.rank - 1] : 1)
                              : count;
        if (loop.rank > 1)
            call.shape = tlmc_emit_printf(e, "rows%lld", (long long)loop.dims[loop.rank - 1]);
        how =
            (struct tlmc_geometry){ tlmc_literal_count(e->arena, (uint64_t)items),
                                    tlmc_emit_printf(e, "TLMK_BLOCKS(%s)",
                                                     tlmc_literal_count(e->arena, (uint64_t)count)),
                                    loop.cost * (double)count };
        tlmc_call_run(&call, base_name(&loop), base_name(&loop), tlmc_strbuf_text(&text), how);
    }
    tlmc_strbuf_free(&text);
    tlmc_call_end(&call);
}
