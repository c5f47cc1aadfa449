/* Updates: nodes that write a leaf in place.  Several of one op, options and kernel become one loop
   over a constant table of offsets, parallel over the elements of each tensor; on CUDA one launch,
   whose blocks find their tensor in the table.  In: a step of UPDATE nodes.  Out: the table, the
   body and the loop or launch. */
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
};

static const struct update_row update_rows[] = {
    { TLMC_OP_STORE, "store", 2, NULL },
    { TLMC_OP_ACCUMULATE, "accumulate", 2, "p0 p1" },
    { TLMC_OP_SGD_UPDATE, "sgd_update", 5, "p0 p1 p4 p2 p3 scale momentum nesterov weight_decay" },
    { TLMC_OP_ADAM_UPDATE, "adam_update", 6,
      "p0 p1 p2 p3 p4 p5 scale beta1 1-beta1 beta2 1-beta2 eps weight_decay" },
    { TLMC_OP_ADAMW_UPDATE, "adamw_update", 7,
      "p0 p1 p2 p3 p4 p5 p6 scale beta1 1-beta1 beta2 1-beta2 eps" },
    { TLMC_OP_RMSPROP_UPDATE, "rmsprop_update", 6,
      "p0 p1 p2 p3 p4 p5 scale alpha 1-alpha eps momentum weight_decay" },
    { TLMC_OP_ADAGRAD_UPDATE, "adagrad_update", 4, "p0 p1 p2 p3 scale eps weight_decay" },
    { TLMC_OP_ADADELTA_UPDATE, "adadelta_update", 5,
      "p0 p1 p2 p3 p4 scale rho 1-rho eps weight_decay" },
};

static const char *const names[] = { "p0", "p1", "p2", "p3", "p4", "p5", "p6", "scale" };
enum { SCALE = 7, COLUMNS = 8 };

static const struct update_row *row_of(enum tlmc_op op)
{
    for (size_t i = 0; i < sizeof update_rows / sizeof *update_rows; i++)
        if (update_rows[i].op == op)
            return &update_rows[i];
    TLMC_UNREACHABLE();
}

/* The operands by column, TLMC_NONE where there is none. */
static void columns_of(const struct tlmc_node *node, const struct update_row *row,
                       uint32_t columns[COLUMNS])
{
    for (unsigned i = 0; i < COLUMNS; i++)
        columns[i] = i < row->operands && i < node->input_count ? node->inputs[i] : TLMC_NONE;
    if (node->input_count > row->operands)
        columns[SCALE] = node->inputs[row->operands];
}

/* One word of the arguments as C. */
static const char *argument(struct tlmc_call *call, const char *word,
                            const uint32_t columns[COLUMNS])
{
    struct tlmc_emit *e = call->e;

    for (unsigned i = 0; i < COLUMNS; i++)
        if (strcmp(word, names[i]) == 0)
            return columns[i] != TLMC_NONE ? tlmc_emit_printf(e, "m->%s", word)
                   : e->cuda               ? "nullptr"
                                           : "NULL";
    if (strcmp(word, "nesterov") == 0)
        return tlmc_node_int(call->node, TLMC_A_NESTEROV) ? "1" : "0";
    if (strncmp(word, "1-", 2) == 0)
        return tlmc_literal_f32(e->arena,
                                1.0 - tlmc_node_float(call->node, tlmc_attr_find(word + 2)));
    return tlmc_literal_f32(e->arena, tlmc_node_float(call->node, tlmc_attr_find(word)));
}

static const char *body_text(struct tlmc_call *call, const struct update_row *row,
                             const uint32_t columns[COLUMNS])
{
    struct tlmc_emit *e = call->e;
    const char *words = row->arguments, *text = "";
    const char *type =
        tlmc_dtype_ctype(tlmc_value_type(call->form->graph, call->node->inputs[0])->dtype);

    if (!words && e->cuda)
        return "    m->p0[i] = m->p1[i];\n";
    if (!words) /* a store moves bits */
        return tlmc_emit_printf(
            e,
            "    (void)level;\n"
            "    memcpy(m->p0 + begin, m->p1 + begin, (end - begin) * sizeof(%s));\n",
            type);
    while (*words) {
        const size_t n = strcspn(words, " ");
        const char *word = tlmc_arena_strndup(e->arena, words, n);

        text = tlmc_emit_printf(e, "%s%s, ", text, argument(call, word, columns));
        words += n + (words[n] == ' ');
    }
    return tlmc_emit_printf(e, e->cuda ? "    %s(%si);\n" : "    %s(level, %sbegin, end);\n",
                            tlmc_call_symbol(call), text);
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
    uint32_t columns[COLUMNS];
    const char *body;

    columns_of(call->node, row, columns);
    for (unsigned i = 0; i < COLUMNS; i++)
        if (columns[i] != TLMC_NONE)
            tlmc_call_value(call, names[i], columns[i], is_written(call->node, i));
    body = body_text(call, row, columns);
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

/* The expression of a column for row i of the table: every node's operand lies in the same block,
   or is the same. */
struct column {
    bool used, same; /* same: one pointer for all */
    enum tlmc_place place;
    const char *offsets_name;
};

/* NULL: the value is no tensor of a block that a table can name. */
static const char *offset_text(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value)
{
    const enum tlmc_place place = tlmc_emit_placement(form, value)->place;
    const char *block;

    if (place == TLMC_PLACE_LITERAL || place == TLMC_PLACE_TABLE)
        return NULL;
    return tlmc_emit_offset(e, form, value, &block);
}

/* False when the nodes do not make a table: some column differs in its block. */
static bool find_columns(struct tlmc_call *call, const struct update_row *row,
                         struct column out[COLUMNS])
{
    const struct tlmc_step *step = call->step;
    uint32_t first[COLUMNS];

    columns_of(call->node, row, first);
    for (unsigned c = 0; c < COLUMNS; c++) {
        out[c] = (struct column){ .used = first[c] != TLMC_NONE, .same = true };
        if (out[c].used)
            out[c].place = tlmc_emit_placement(call->form, first[c])->place;
    }
    for (uint32_t n = 1; n < step->node_count; n++) {
        uint32_t columns[COLUMNS];

        columns_of(&call->form->graph->nodes[step->nodes[n]], row, columns);
        for (unsigned c = 0; c < COLUMNS; c++) {
            if ((columns[c] != TLMC_NONE) != out[c].used)
                return false;
            if (!out[c].used || columns[c] == first[c])
                continue;
            out[c].same = false;
            if (tlmc_emit_placement(call->form, columns[c])->place != out[c].place ||
                !offset_text(call->e, call->form, columns[c]))
                return false;
        }
    }
    for (unsigned c = 0; c < COLUMNS; c++)
        if (out[c].used && !out[c].same && !offset_text(call->e, call->form, first[c]))
            return false;
    return true;
}

/* A column's offset in its block; device code has no enumerators. */
static const char *offset_cell(struct tlmc_call *call, uint32_t value)
{
    const struct tlmc_placement *place = tlmc_emit_placement(call->form, value);
    const struct tlmc_emit *e = call->e;
    size_t offset = place->offset;

    if (!e->cuda)
        return offset_text(call->e, call->form, value);
    if (place->place != TLMC_PLACE_ARENA)
        offset = e->plan->param_offsets[tlmc_emit_slot(call->form, value)] +
                 (place->place == TLMC_PLACE_STATE ? e->head_bytes : 0);
    return tlmc_literal_count(e->arena, offset);
}

/* The table; on CUDA it stands beside its kernel and also tells the first block of each tensor. */
static const char *put_table(struct tlmc_call *call, const struct update_row *row,
                             const struct column columns[COLUMNS], int64_t *blocks)
{
    struct tlmc_emit *e = call->e;
    struct tlmc_writer *out = e->cuda ? &e->body : &e->tables;
    const char *name = tlmc_names_make(&e->names, tlmc_emit_printf(e, "rows_%s", row->base));

    *blocks = 0;
    tlmc_write(out, e->cuda ? "TLM_TABLE const struct {\n    uint64_t "
                            : "static const struct {\n    size_t ");
    for (unsigned c = 0; c < COLUMNS; c++)
        if (columns[c].used && !columns[c].same)
            tlmc_write(out, "%{name}, ", "name", names[c]);
    tlmc_write(out,
               e->cuda ? "count, first; /* block */\n} %{name}[] = {\n"
                       : "count;\n} %{name}[] = {\n",
               "name", name);
    for (uint32_t n = 0; n < call->step->node_count; n++) {
        const struct tlmc_node *node = &call->form->graph->nodes[call->step->nodes[n]];
        const int64_t count = tlmc_type_count(tlmc_value_type(call->form->graph, node->inputs[0]));
        uint32_t values[COLUMNS];

        columns_of(node, row, values);
        tlmc_write(out, "    { ");
        for (unsigned c = 0; c < COLUMNS; c++)
            if (columns[c].used && !columns[c].same)
                tlmc_write(out, "%{offset}, ", "offset", offset_cell(call, values[c]));
        tlmc_write(out, e->cuda ? "%{count}, %{first} },\n" : "%{count} },\n", "count",
                   tlmc_literal_count(e->arena, (uint64_t)count), "first",
                   tlmc_literal_count(e->arena, (uint64_t)*blocks));
        *blocks += blocks_of(count);
    }
    tlmc_write(out, "};\n\n");
    return name;
}

/* The pointer of a column in the loop over the table. */
static const char *row_pointer(struct tlmc_call *call, const char *table, unsigned c,
                               const struct column *column, uint32_t value)
{
    const char *type = tlmc_dtype_name(tlmc_value_type(call->form->graph, value)->dtype);
    const char *block = column->place == TLMC_PLACE_WEIGHTS ? "weights"
                        : column->place == TLMC_PLACE_STATE ? "state"
                                                            : "activations";

    if (column->same)
        return tlmc_emit_use(call->e, call->form, value, is_written(call->node, c));
    return tlmc_emit_printf(call->e, "tlm_%s_at(m->%s, %s[i].%s)", type, block, table, names[c]);
}

/* The kernel's pointers to its tensor: a line each, "float *const p0 = (float *)(m->weights +
   ...)". The blocks of memory that columns lie in become fields. */
static const char *device_pointers(struct tlmc_call *call, const char *table,
                                   const struct column columns[COLUMNS],
                                   const uint32_t values[COLUMNS])
{
    static const struct {
        enum tlmc_place place;
        const char *name;
    } blocks[] = { { TLMC_PLACE_WEIGHTS, "weights" },
                   { TLMC_PLACE_STATE, "state" },
                   { TLMC_PLACE_ARENA, "activations" } };
    struct tlmc_emit *e = call->e;
    const char *text = "";

    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        bool needed = false;

        for (unsigned c = 0; c < COLUMNS; c++) {
            if (!columns[c].used || columns[c].same || columns[c].place != blocks[b].place)
                continue;
            needed = true;
            text = tlmc_emit_printf(
                e, "%s    %s%s *const %s = (%s%s *)(m->%s + %s[row].%s);\n", text,
                is_written(call->node, c) ? "" : "const ",
                tlmc_dtype_ctype(tlmc_value_type(call->form->graph, values[c])->dtype), names[c],
                is_written(call->node, c) ? "" : "const ",
                tlmc_dtype_ctype(tlmc_value_type(call->form->graph, values[c])->dtype),
                blocks[b].name, table, names[c]);
        }
        if (needed)
            tlmc_call_field(call, "unsigned char *", blocks[b].name,
                            tlmc_emit_block(e, blocks[b].name));
    }
    return text;
}

/* "m->p0" -> "p0" for pointers that the kernel finds in the table. */
static const char *without_struct(struct tlmc_call *call, const char *text,
                                  const struct column columns[COLUMNS])
{
    struct tlmc_strbuf out = { 0 };
    const char *copy;

    while (*text) {
        bool found = false;

        for (unsigned c = 0; c < COLUMNS && !found; c++)
            found = columns[c].used && !columns[c].same && strncmp(text, "m->", 3) == 0 &&
                    strncmp(text + 3, names[c], strlen(names[c])) == 0;
        if (found)
            text += 3;
        tlmc_strbuf_char(&out, *text++);
    }
    copy = tlmc_arena_strdup(call->e->arena, tlmc_strbuf_text(&out));
    tlmc_strbuf_free(&out);
    return copy;
}

/* One launch for all tensors: a block finds its row by halving, then each thread its element. */
static void emit_launch(struct tlmc_call *call, const struct update_row *row,
                        const struct column columns[COLUMNS])
{
    struct tlmc_emit *e = call->e;
    int64_t blocks;
    const char *table = put_table(call, row, columns, &blocks), *pointers, *body;
    const uint32_t rows = call->step->node_count;
    uint32_t values[COLUMNS], half = 1;

    while (half * 2 < rows)
        half *= 2;
    columns_of(call->node, row, values);
    pointers = device_pointers(call, table, columns, values);
    for (unsigned c = 0; c < COLUMNS; c++)
        if (columns[c].used && columns[c].same)
            tlmc_call_value(call, names[c], values[c], is_written(call->node, c));
    add_fault(call);
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
                            half, rows, table, table, pointers, table,
                            without_struct(call, body_text(call, row, values), columns));
    tlmc_call_run(call, row->base, tlmc_emit_printf(e, "%s of %u tensors", row->base, rows), body,
                  elements(e, "", blocks, 0));
}

static void emit_table(struct tlmc_call *call, const struct update_row *row,
                       const struct column columns[COLUMNS])
{
    struct tlmc_emit *e = call->e;
    int64_t blocks;
    const char *table = put_table(call, row, columns, &blocks);
    double work = 0;
    uint32_t values[COLUMNS];

    columns_of(call->node, row, values);
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (!columns[c].used)
            continue;
        const char *ctype = tlmc_dtype_ctype(tlmc_value_type(call->form->graph, values[c])->dtype);

        tlmc_call_field(call,
                        tlmc_emit_printf(e, "%s%s *", is_written(call->node, c) ? "" : "const ",
                                         ctype),
                        names[c], row_pointer(call, table, c, &columns[c], values[c]));
    }
    for (uint32_t n = 0; n < call->step->node_count; n++) {
        const struct tlmc_node *node = &call->form->graph->nodes[call->step->nodes[n]];
        const double count =
            (double)tlmc_type_count(tlmc_value_type(call->form->graph, node->inputs[0]));

        work = count > work ? count : work;
    }
    tlmc_write(&e->entry, "for (size_t i = 0; i < sizeof %{table} / sizeof *%{table}; i++)\n",
               "table", table);
    e->entry.indent++;
    tlmc_call_run(call, row->base, row->base, body_text(call, row, values),
                  elements(e, tlmc_emit_printf(e, "%s[i].count", table), blocks, 8 * work));
    e->entry.indent--;
}

void tlmc_emit_updates(struct tlmc_emit *e, struct tlmc_emit_form *form,
                       const struct tlmc_step *step)
{
    struct tlmc_call call;
    struct column columns[COLUMNS];
    const struct update_row *row;

    tlmc_call_begin(&call, e, form, step);
    row = row_of(call.node->op);
    if (step->node_count > 1 && find_columns(&call, row, columns)) {
        if (e->cuda)
            emit_launch(&call, row, columns);
        else
            emit_table(&call, row, columns);
    } else {
        for (uint32_t n = 0; n < step->node_count; n++) {
            call.node = &form->graph->nodes[step->nodes[n]];
            emit_one(&call, row);
        }
    }
    tlmc_call_end(&call);
}
