/* Updates: nodes that write a leaf in place.  On the CPU the nodes of one kind, with the same
   options and scalars and the same operands left out, become one loop over a constant table of
   offsets, parallel over the elements of each tensor; on CUDA up to 48 kinds become one
   launch, whose blocks find their tensor in the table and there its kind.  In: a step of UPDATE
   nodes.  Out: tables, bodies, loops or the launch. */
#include "emit_c.h"
#include "emit_calls.h"
#include "literal.h"

#include <string.h>

/* Kernel arguments of an update after `level`, word by word: pN is the operand of that number (NULL
   when it is left out), scale the gradient's scale, which is the last operand when there is one;
   other words are attributes, rounded once to binary32; "1-" in front: one minus it, computed in
   binary64 and rounded once. */
struct update_row {
    enum tlmc_op op;
    const char *base;
    unsigned operands; /* without the gradient's scale */
    const char *arguments;
    const char *roles; /* what p0, p1, ... are */
};

static const struct update_row update_rows[] = {
    { TLMC_OP_STORE, "store", 2, NULL, "leaf value" },
    { TLMC_OP_ACCUMULATE, "accumulate", 2, "p0 p1", "leaf value" },
    { TLMC_OP_SGD_UPDATE, "sgd_update", 5, "p0 p1 p4 p2 p3 scale momentum nesterov weight_decay",
      "parameter gradient lr undamped momentum_buffer" },
    { TLMC_OP_ADAM_UPDATE, "adam_update", 6,
      "p0 p1 p2 p3 p4 p5 scale beta1 1-beta1 beta2 1-beta2 eps weight_decay",
      "parameter gradient exp_avg exp_avg_sq step_size sqrt_bc2" },
    { TLMC_OP_ADAMW_UPDATE, "adamw_update", 7,
      "p0 p1 p2 p3 p4 p5 p6 scale beta1 1-beta1 beta2 1-beta2 eps",
      "parameter gradient exp_avg exp_avg_sq step_size sqrt_bc2 decay" },
    { TLMC_OP_RMSPROP_UPDATE, "rmsprop_update", 6,
      "p0 p1 p2 p3 p4 p5 scale alpha 1-alpha eps momentum weight_decay",
      "parameter gradient square_avg lr grad_avg momentum_buffer" },
    { TLMC_OP_ADAGRAD_UPDATE, "adagrad_update", 4, "p0 p1 p2 p3 scale eps weight_decay",
      "parameter gradient sum clr" },
    { TLMC_OP_ADADELTA_UPDATE, "adadelta_update", 5,
      "p0 p1 p2 p3 p4 scale rho 1-rho eps weight_decay",
      "parameter gradient square_avg acc_delta lr" },
};

static const char *const names[] = { "p0", "p1", "p2", "p3", "p4", "p5", "p6", "scale" };
enum { SCALE = 7, COLUMNS = 8 };

/* Most kinds of a launch: each may have a pointer for every column among the arguments of the
   kernel, of which every device takes 4096 bytes. */
enum { KINDS_AT_ONCE = 48 };
_Static_assert((KINDS_AT_ONCE * COLUMNS + 4) * 8 <= 4096, "with the blocks and the fault");

static const struct update_row *row_of(enum tlmc_op op)
{
    for (size_t i = 0; i < sizeof update_rows / sizeof *update_rows; i++)
        if (update_rows[i].op == op)
            return &update_rows[i];
    TLMC_UNREACHABLE();
}

/* The operand of a column, TLMC_NONE where there is none. */
static uint32_t operand(const struct tlmc_node *node, const struct update_row *row, unsigned column)
{
    const uint32_t input = column == SCALE ? row->operands : column;

    return (column == SCALE || column < row->operands) && input < node->input_count
               ? node->inputs[input]
               : TLMC_NONE;
}

/* The n-th of some words. */
static const char *word_of(struct tlmc_emit *e, const char *words, unsigned n)
{
    for (; n > 0; n--) {
        words += strcspn(words, " ");
        words += *words == ' ';
    }
    return tlmc_arena_strndup(e->arena, words, strcspn(words, " "));
}

/* "gradient" of p1. */
static const char *role_of(struct tlmc_emit *e, const struct update_row *row, unsigned column)
{
    return column == SCALE ? "scale of the gradient" : word_of(e, row->roles, column);
}

static bool is_attribute(const char *word)
{
    for (unsigned c = 0; c < COLUMNS; c++)
        if (strcmp(word, names[c]) == 0)
            return false;
    return true;
}

/* "beta1 0.9, 1-beta1, eps 1e-8": what the constants of the call are, in its order.  NULL: it has
   none. */
static const char *constants_text(struct tlmc_call *call, const struct update_row *row)
{
    struct tlmc_emit *e = call->e;
    const char *text = NULL, *word;

    for (unsigned n = 0; row->arguments && *(word = word_of(e, row->arguments, n)); n++) {
        const enum tlmc_attr_tag tag = tlmc_attr_find(word);
        const char *value = "";

        if (!is_attribute(word))
            continue;
        if (tag != TLMC_ATTR_COUNT && tlmc_attr_kind(tag) == TLMC_ATTR_FLOAT)
            value = tlmc_emit_printf(e, " %s",
                                     tlmc_literal_f64(e->arena, tlmc_node_float(call->node, tag)));
        else if (tag != TLMC_ATTR_COUNT)
            value = tlmc_node_int(call->node, tag) ? " true" : " false";
        text = tlmc_emit_printf(e, "%s%s%s%s", text ? text : "", text ? ", " : "", word, value);
    }
    return text;
}

/* One word of the arguments as C; `pointers` are those of the columns. */
static const char *argument(struct tlmc_call *call, const char *word, const char *const *pointers)
{
    struct tlmc_emit *e = call->e;

    for (unsigned c = 0; c < COLUMNS; c++)
        if (strcmp(word, names[c]) == 0)
            return pointers[c] ? pointers[c] : e->cuda ? "nullptr" : "NULL";
    if (strcmp(word, "nesterov") == 0)
        return tlmc_node_int(call->node, TLMC_A_NESTEROV) ? "1" : "0";
    if (strncmp(word, "1-", 2) == 0)
        return tlmc_literal_f32(e->arena,
                                1.0 - tlmc_node_float(call->node, tlmc_attr_find(word + 2)));
    return tlmc_literal_f32(e->arena, tlmc_node_float(call->node, tlmc_attr_find(word)));
}

/* The statements that update a range on the CPU, element i on CUDA. */
static const char *body_text(struct tlmc_call *call, const struct update_row *row,
                             const char *const *pointers)
{
    struct tlmc_emit *e = call->e;
    const char *constants = constants_text(call, row), *text = "", *word;
    const char *type =
        tlmc_dtype_ctype(tlmc_value_type(call->form->graph, call->node->inputs[0])->dtype);

    if (!row->arguments && e->cuda)
        return tlmc_emit_printf(e, "    %s[i] = %s[i];\n", pointers[0], pointers[1]);
    if (!row->arguments) /* a store moves bits */
        return tlmc_emit_printf(e,
                                "    (void)level;\n"
                                "    memcpy(%s + begin, %s + begin, (end - begin) * sizeof(%s));\n",
                                pointers[0], pointers[1], type);
    for (unsigned n = 0; *(word = word_of(e, row->arguments, n)); n++)
        text = tlmc_emit_printf(e, "%s%s, ", text, argument(call, word, pointers));
    if (constants)
        constants = tlmc_emit_printf(e, "    /* %s */\n", constants);
    return tlmc_emit_printf(e, e->cuda ? "%s    %s(%si);\n" : "%s    %s(level, %sbegin, end);\n",
                            constants ? constants : "", tlmc_call_symbol(call), text);
}

static struct tlmc_geometry elements(struct tlmc_emit *e, const char *items, int64_t blocks,
                                     double work)
{
    return (struct tlmc_geometry){ items, tlmc_literal_count(e->arena, (uint64_t)blocks), work };
}

static int64_t blocks_of(int64_t count)
{
    return (count + TLMC_CUDA_THREADS - 1) / TLMC_CUDA_THREADS;
}

/* A run with a fault, an index out of range, changes no weights. */
static void add_fault(struct tlmc_call *call)
{
    if (call->e->cuda)
        tlmc_call_field(call, "const uint32_t *", "fault", "m->cuda.fault");
}

static bool is_written(const struct tlmc_node *node, unsigned column)
{
    return column != SCALE && tlmc_op_writes_input(node->op, column);
}

/* ---- one node */

static void emit_one(struct tlmc_call *call, const struct update_row *row)
{
    const int64_t count =
        tlmc_type_count(tlmc_value_type(call->form->graph, call->node->inputs[0]));
    const char *pointers[COLUMNS] = { NULL };
    const char *body;

    for (unsigned c = 0; c < COLUMNS; c++) {
        const uint32_t value = operand(call->node, row, c);

        if (value == TLMC_NONE)
            continue;
        tlmc_call_value(call, names[c], value, is_written(call->node, c));
        pointers[c] = tlmc_emit_printf(call->e, "m->%s", names[c]);
    }
    body = body_text(call, row, pointers);
    add_fault(call);
    if (call->e->cuda)
        body = tlmc_emit_printf(call->e,
                                "    const uint32_t i = tlm_thread();\n"
                                "\n"
                                "    if (m->fault[0] != 0 || i >= %lld)\n"
                                "        return;\n"
                                "%s",
                                (long long)count, body);
    tlmc_call_run(call, row->base, row->base, body,
                  elements(call->e, tlmc_literal_count(call->e->arena, (uint64_t)count),
                           blocks_of(count), 8 * (double)count));
}

void tlmc_emit_update(struct tlmc_call *call)
{
    emit_one(call, row_of(call->node->op));
}

/* ---- several nodes: a table */

/* Where the nodes of a table find the operand of a column, those of them that have it: a kind has
   it or leaves it out. */
enum column_source {
    LEFT_OUT,  /* none of them has it */
    ONE,       /* one pointer for all */
    EACH_KIND, /* one for each kind */
    TABLE      /* all in one block: an offset in each row, 0 where it is left out */
};

struct column {
    enum column_source source;
    enum tlmc_place place; /* TABLE: the block */
};

struct batch { /* what one table holds: neighbouring kinds of the step */
    struct tlmc_call *call;
    const struct update_row *row;
    uint32_t first, end; /* kinds */
    struct column columns[COLUMNS];
};

/* Nodes of a kind, and of the batch, by their place in the step. */
static uint32_t begin_of(const struct batch *b, uint32_t kind)
{
    return b->call->step->kinds[kind];
}

static uint32_t size_of(const struct batch *b)
{
    return begin_of(b, b->end) - begin_of(b, b->first);
}

static const struct tlmc_node *node_at(const struct batch *b, uint32_t place)
{
    return &b->call->form->graph->nodes[b->call->step->nodes[place]];
}

static int64_t count_at(const struct batch *b, uint32_t place)
{
    return tlmc_type_count(tlmc_value_type(b->call->form->graph, node_at(b, place)->inputs[0]));
}

/* What the first node of a kind has in a column; TLMC_NONE: the kind leaves it out. */
static uint32_t first_of_kind(const struct batch *b, uint32_t kind, unsigned column)
{
    return operand(node_at(b, begin_of(b, kind)), b->row, column);
}

/* Of the first kind that has it. */
static uint32_t first_operand(const struct batch *b, unsigned column)
{
    uint32_t value = TLMC_NONE;

    for (uint32_t kind = b->first; kind < b->end && value == TLMC_NONE; kind++)
        value = first_of_kind(b, kind, column);
    return value;
}

static const char *ctype_of(const struct batch *b, unsigned column)
{
    return tlmc_dtype_ctype(tlmc_value_type(b->call->form->graph, first_operand(b, column))->dtype);
}

static const char *block_name(const struct column *column)
{
    return column->place == TLMC_PLACE_WEIGHTS ? "weights"
           : column->place == TLMC_PLACE_STATE ? "state"
                                               : "activations";
}

/* NULL: the value is no tensor of a block that a table can name. */
static const char *offset_text(const struct tlmc_call *call, uint32_t value)
{
    const enum tlmc_place place = tlmc_emit_placement(call->form, value)->place;
    const char *block;

    if (place == TLMC_PLACE_LITERAL || place == TLMC_PLACE_TABLE)
        return NULL;
    return tlmc_emit_offset(call->e, call->form, value, &block);
}

/* False: the operands neither repeat nor lie in one block. */
static bool find_column(struct batch *b, unsigned c)
{
    const uint32_t first = first_operand(b, c);
    struct column *column = &b->columns[c];
    bool one = true, each = true, offsets = true;

    *column = (struct column){ .source = LEFT_OUT };
    if (first == TLMC_NONE)
        return true;
    column->place = tlmc_emit_placement(b->call->form, first)->place;
    for (uint32_t kind = b->first; kind < b->end; kind++) {
        const uint32_t first_here = first_of_kind(b, kind, c);

        if (first_here == TLMC_NONE)
            continue;
        for (uint32_t n = begin_of(b, kind); n < begin_of(b, kind + 1); n++) {
            const uint32_t value = operand(node_at(b, n), b->row, c);

            one &= value == first;
            each &= value == first_here;
            offsets &= tlmc_emit_placement(b->call->form, value)->place == column->place &&
                       offset_text(b->call, value);
        }
    }
    column->source = one ? ONE : each ? EACH_KIND : TABLE;
    return column->source != TABLE || offsets;
}

/* False: these kinds do not make a table. */
static bool find_columns(struct batch *b)
{
    for (unsigned c = 0; c < COLUMNS; c++)
        if (!find_column(b, c))
            return false;
    return size_of(b) > 1;
}

/* A column's offset in its block; device code has no enumerators. */
static const char *offset_cell(struct tlmc_call *call, uint32_t value)
{
    const struct tlmc_placement *place = tlmc_emit_placement(call->form, value);
    const struct tlmc_emit *e = call->e;
    size_t offset = place->offset;

    if (!e->cuda)
        return offset_text(call, value);
    if (place->place != TLMC_PLACE_ARENA)
        offset = e->plan->param_offsets[tlmc_emit_slot(call->form, value)] +
                 (place->place == TLMC_PLACE_STATE ? e->head_bytes : 0);
    return tlmc_literal_count(e->arena, offset);
}

/* "fc1.weight": the parameter that a row is about. */
static const char *key_of(const struct batch *b, uint32_t place)
{
    const struct tlmc_param *params = b->call->e->module->params.items;
    const uint32_t slot = tlmc_emit_slot(b->call->form, node_at(b, place)->inputs[0]);
    const uint32_t of = params[slot].of;

    return params[of == TLMC_NONE ? slot : of].key;
}

/* NAME.cu has offsets as numbers: NAME.c asserts that they are those of its enumerators. */
static void assert_row(const struct batch *b, const char *table, uint32_t row, uint32_t place)
{
    struct tlmc_writer *out = &b->call->e->offsets;
    unsigned count = 0;

    for (unsigned c = 0; c < COLUMNS; c++) {
        const uint32_t value = operand(node_at(b, place), b->row, c);

        if (b->columns[c].source == TABLE && value != TLMC_NONE)
            tlmc_write(out, "%{and}%{name} == %{number}", "and",
                       count++ ? " && " : "_Static_assert(", "name", offset_text(b->call, value),
                       "number", offset_cell(b->call, value));
    }
    if (count)
        tlmc_write(out, ", \"%{table}[%{row}]\");\n", "table", table, "row",
                   tlmc_literal_count(b->call->e->arena, row));
}

/* One tensor's row; `block`: on CUDA its first one. */
static void put_row(struct tlmc_writer *out, const struct batch *b, uint32_t kind, uint32_t place,
                    int64_t block)
{
    struct tlmc_emit *e = b->call->e;

    tlmc_write(out, "    { ");
    for (unsigned c = 0; c < COLUMNS; c++) {
        const uint32_t value = operand(node_at(b, place), b->row, c);

        if (b->columns[c].source == TABLE)
            tlmc_write(out, "%{offset}, ", "offset",
                       value == TLMC_NONE ? "0" : offset_cell(b->call, value));
    }
    tlmc_write(out, "%{count}", "count",
               tlmc_literal_count(e->arena, (uint64_t)count_at(b, place)));
    if (e->cuda)
        tlmc_write(out, ", %{first}", "first", tlmc_literal_count(e->arena, (uint64_t)block));
    if (e->cuda && b->end - b->first > 1)
        tlmc_write(out, ", %{kind}", "kind", tlmc_literal_count(e->arena, kind));
    tlmc_write(out, " }, /* %{key} */\n", "key", key_of(b, place));
}

/* What the columns are, above the table: "p0 parameter (weights), p1 gradient (activations)". */
static void describe_table(struct tlmc_writer *out, const struct batch *b)
{
    struct tlmc_emit *e = b->call->e;
    const char *text = tlmc_emit_printf(e, "Tensors of %s, one a row.", b->row->base);
    unsigned count = 0;
    bool holes = false;

    for (unsigned c = 0; c < COLUMNS; c++) {
        if (b->columns[c].source != TABLE)
            continue;
        text = tlmc_emit_printf(e, "%s%s %s %s (%s)", text,
                                count++ ? "," : "  Offsets in bytes:", names[c],
                                role_of(e, b->row, c), block_name(&b->columns[c]));
        for (uint32_t kind = b->first; kind < b->end; kind++)
            holes |= first_of_kind(b, kind, c) == TLMC_NONE;
    }
    text = tlmc_emit_printf(e, "%s%s%s  count: elements.", text,
                            holes ? "; 0 where its kind has none" : "", count ? "." : "");
    if (e->cuda)
        text = tlmc_emit_printf(e, "%s  first: its first block of the launch.", text);
    if (e->cuda && b->end - b->first > 1)
        text = tlmc_emit_printf(e, "%s  kind: its case below.", text);
    tlmc_write_comment(out, text);
}

/* The table; on CUDA it stands beside its kernel and also tells the first block of each tensor and,
   of several kinds, its own. */
static const char *put_table(const struct batch *b, int64_t *blocks)
{
    struct tlmc_emit *e = b->call->e;
    struct tlmc_writer *out = e->cuda ? &e->body : &e->tables;
    const char *name = tlmc_names_make(&e->names, tlmc_emit_printf(e, "rows_%s", b->row->base));

    *blocks = 0;
    describe_table(out, b);
    tlmc_write(out, e->cuda ? "TLM_TABLE const struct {\n    uint64_t "
                            : "static const struct {\n    size_t ");
    for (unsigned c = 0; c < COLUMNS; c++)
        if (b->columns[c].source == TABLE)
            tlmc_write(out, "%{name}, ", "name", names[c]);
    tlmc_write(out,
               !e->cuda                 ? "count;\n} %{name}[] = {\n"
               : b->end - b->first == 1 ? "count, first;\n} %{name}[] = {\n"
                                        : "count, first;\n"
                                          "    uint32_t kind;\n} %{name}[] = {\n",
               "name", name);
    for (uint32_t kind = b->first; kind < b->end; kind++)
        for (uint32_t n = begin_of(b, kind); n < begin_of(b, kind + 1); n++) {
            put_row(out, b, kind - b->first, n, *blocks);
            if (e->cuda)
                assert_row(b, name, n - begin_of(b, b->first), n);
            *blocks += blocks_of(count_at(b, n));
        }
    tlmc_write(out, "};\n\n");
    return name;
}

/* ---- on CUDA a launch */

/* The kernel's pointers to its tensor: a line each, "float *const p0 = (float *)(m->weights +
   ...)". The blocks of memory that columns lie in become fields. */
static const char *device_pointers(const struct batch *b, const char *table)
{
    static const struct {
        enum tlmc_place place;
        const char *name;
    } blocks[] = { { TLMC_PLACE_WEIGHTS, "weights" },
                   { TLMC_PLACE_STATE, "state" },
                   { TLMC_PLACE_ARENA, "activations" } };
    struct tlmc_emit *e = b->call->e;
    const char *text = "";

    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        bool needed = false;

        for (unsigned c = 0; c < COLUMNS; c++) {
            const char *constant = is_written(b->call->node, c) ? "" : "const ";

            if (b->columns[c].source != TABLE || b->columns[c].place != blocks[k].place)
                continue;
            needed = true;
            text = tlmc_emit_printf(e, "%s    %s%s *const %s = (%s%s *)(m->%s + %s[row].%s);\n",
                                    text, constant, ctype_of(b, c), names[c], constant,
                                    ctype_of(b, c), blocks[k].name, table, names[c]);
        }
        if (needed)
            tlmc_call_field(b->call, "unsigned char *", blocks[k].name,
                            tlmc_emit_block(e, blocks[k].name));
    }
    return text;
}

/* "p4_1": the member for a kind's own pointer. */
static const char *name_of_kind(const struct batch *b, unsigned column, uint32_t kind)
{
    return tlmc_emit_printf(b->call->e, "%s_%u", names[column], kind - b->first);
}

/* The members for the pointers that stand in no row. */
static void add_pointers(const struct batch *b)
{
    for (unsigned c = 0; c < COLUMNS; c++) {
        const enum column_source source = b->columns[c].source;

        if (source != ONE && source != EACH_KIND)
            continue;
        if (source == ONE)
            tlmc_call_value(b->call, names[c], first_operand(b, c), is_written(b->call->node, c));
        for (uint32_t kind = b->first; kind < b->end && source == EACH_KIND; kind++)
            if (first_of_kind(b, kind, c) != TLMC_NONE)
                tlmc_call_value(b->call, name_of_kind(b, c, kind), first_of_kind(b, kind, c),
                                is_written(b->call->node, c));
    }
}

/* The call for one kind's element i. */
static const char *kind_text(const struct batch *b, uint32_t kind)
{
    const struct tlmc_node *first = b->call->node;
    const char *pointers[COLUMNS] = { NULL };
    const char *text;

    for (unsigned c = 0; c < COLUMNS; c++)
        switch (first_of_kind(b, kind, c) == TLMC_NONE ? LEFT_OUT : b->columns[c].source) {
        case LEFT_OUT: break;
        case ONE: pointers[c] = tlmc_emit_printf(b->call->e, "m->%s", names[c]); break;
        case EACH_KIND:
            pointers[c] = tlmc_emit_printf(b->call->e, "m->%s", name_of_kind(b, c, kind));
            break;
        case TABLE: pointers[c] = names[c]; break;
        }
    b->call->node = node_at(b, begin_of(b, kind)); /* whose options are read */
    text = body_text(b->call, b->row, pointers);
    b->call->node = first;
    return text;
}

/* Lines one level deeper. */
static const char *deeper(struct tlmc_emit *e, const char *lines)
{
    const char *text = "";

    while (*lines) {
        const size_t n = strcspn(lines, "\n") + 1;

        text = tlmc_emit_printf(e, "%s    %.*s", text, (int)n, lines);
        lines += n;
    }
    return text;
}

/* The calls of all kinds, of which the row tells one: its blocks all take the same way. */
static const char *kinds_text(const struct batch *b, const char *table)
{
    struct tlmc_emit *e = b->call->e;
    const char *text;

    if (b->end - b->first == 1)
        return kind_text(b, b->first);
    text = tlmc_emit_printf(e, "    switch (%s[row].kind) {\n", table);
    for (uint32_t kind = b->first; kind < b->end; kind++)
        text = tlmc_emit_printf(e,
                                "%s    case %u:\n"
                                "%s"
                                "        break;\n",
                                text, kind - b->first, deeper(e, kind_text(b, kind)));
    return tlmc_emit_printf(e, "%s    }\n", text);
}

/* One launch for all tensors: a block finds its row by halving, then each thread its element. */
static void emit_launch(const struct batch *b)
{
    struct tlmc_emit *e = b->call->e;
    int64_t blocks;
    const char *table = put_table(b, &blocks), *pointers = device_pointers(b, table), *body;
    const uint32_t rows = size_of(b), kinds = b->end - b->first;

    add_pointers(b);
    add_fault(b->call);
    body = tlmc_emit_printf(e,
                            "    uint32_t row = 0;\n"
                            "\n"
                            "    for (uint32_t step = %u; step > 0; step /= 2)\n"
                            "        if (row + step < %u && %s[row + step].first <= blockIdx.x)\n"
                            "            row += step;\n"
                            "    const uint64_t i =\n"
                            "        (blockIdx.x - %s[row].first) * TLMK_THREADS + threadIdx.x;\n"
                            "%s"
                            "\n"
                            "    if (m->fault[0] != 0 || i >= %s[row].count)\n"
                            "        return;\n"
                            "%s",
                            tlmc_emit_half(rows), rows, table, table, pointers, table,
                            kinds_text(b, table));
    tlmc_call_run(b->call, b->row->base,
                  kinds == 1 ? tlmc_emit_printf(e, "%s of %u tensors", b->row->base, rows)
                             : tlmc_emit_printf(e, "%s of %u tensors in %u kinds", b->row->base,
                                                rows, kinds),
                  body, elements(e, "", blocks, 0));
}

/* ---- on the CPU a loop */

/* The pointer of a column in the loop over the table. */
static const char *row_pointer(const struct batch *b, const char *table, unsigned c)
{
    const struct column *column = &b->columns[c];
    const uint32_t value = operand(b->call->node, b->row, c);
    const char *type = tlmc_dtype_name(tlmc_value_type(b->call->form->graph, value)->dtype);

    if (column->source != TABLE)
        return tlmc_emit_use(b->call->e, b->call->form, value, is_written(b->call->node, c));
    return tlmc_emit_printf(b->call->e, "tlm_%s_at(m->%s, %s[i].%s)", type, block_name(column),
                            table, names[c]);
}

/* A batch of one kind. */
static void emit_loop(const struct batch *b)
{
    struct tlmc_emit *e = b->call->e;
    int64_t blocks;
    const char *table = put_table(b, &blocks);
    const char *pointers[COLUMNS] = { NULL };
    double work = 0;

    for (unsigned c = 0; c < COLUMNS; c++) {
        if (b->columns[c].source == LEFT_OUT)
            continue;
        tlmc_call_field(b->call,
                        tlmc_emit_printf(e, "%s%s *", is_written(b->call->node, c) ? "" : "const ",
                                         ctype_of(b, c)),
                        names[c], row_pointer(b, table, c));
        pointers[c] = tlmc_emit_printf(e, "m->%s", names[c]);
    }
    for (uint32_t n = begin_of(b, b->first); n < begin_of(b, b->end); n++) {
        const double count = (double)count_at(b, n);

        work = count > work ? count : work;
    }
    tlmc_write(&e->entry, "for (size_t i = 0; i < sizeof %{table} / sizeof *%{table}; i++)\n",
               "table", table);
    e->entry.indent++;
    tlmc_call_run(b->call, b->row->base, b->row->base, body_text(b->call, b->row, pointers),
                  elements(e, tlmc_emit_printf(e, "%s[i].count", table), blocks, 8 * work));
    e->entry.indent--;
}

/* ---- a step */

static void emit_kind(struct tlmc_call *call, const struct update_row *row, uint32_t kind)
{
    struct batch b = { .call = call, .row = row, .first = kind, .end = kind + 1 };

    call->node = node_at(&b, begin_of(&b, kind));
    if (find_columns(&b)) {
        if (call->e->cuda)
            emit_launch(&b);
        else
            emit_loop(&b);
        return;
    }
    for (uint32_t n = begin_of(&b, kind); n < begin_of(&b, kind + 1); n++) {
        call->node = node_at(&b, n);
        emit_one(call, row);
    }
}

/* CUDA: a launch for neighbouring kinds; false: they do not make a table. */
static bool emit_kinds(struct tlmc_call *call, const struct update_row *row, uint32_t first,
                       uint32_t end)
{
    struct batch b = { .call = call, .row = row, .first = first, .end = end };

    call->node = node_at(&b, begin_of(&b, first));
    if (!find_columns(&b))
        return false;
    emit_launch(&b);
    return true;
}

void tlmc_emit_updates(struct tlmc_emit *e, struct tlmc_emit_form *form,
                       const struct tlmc_step *step)
{
    struct tlmc_call call;

    tlmc_call_begin(&call, e, form, step);

    const struct update_row *row = row_of(call.node->op);

    for (uint32_t first = 0, end; first < step->kind_count; first = end) {
        end = step->kind_count - first > KINDS_AT_ONCE ? first + KINDS_AT_ONCE : step->kind_count;
        if (e->cuda && emit_kinds(&call, row, first, end))
            continue;
        for (uint32_t kind = first; kind < end; kind++)
            emit_kind(&call, row, kind);
    }
    tlmc_call_end(&call);
}
