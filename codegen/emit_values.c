/* Where values live and what they are called: locals of entry points, offsets in the three blocks,
   literals, tables of constants, and the memory plan as enumerators with their lifetimes beside
   them. */
#include "emit_c.h"
#include "literal.h"

#include <stdio.h>
#include <string.h>

const struct tlmc_placement *tlmc_emit_placement(const struct tlmc_emit_form *form, uint32_t value)
{
    const struct tlmc_placement *own = &form->plan->values[value];

    if (own->place == TLMC_PLACE_NONE || own->storage == TLMC_NONE)
        return own;
    return &form->plan->values[own->storage];
}

uint32_t tlmc_emit_slot(const struct tlmc_emit_form *form, uint32_t value)
{
    const uint32_t storage = form->plan->values[value].storage;
    const struct tlmc_node *leaf = tlmc_value_node(form->graph, storage);

    return (uint32_t)tlmc_node_int(leaf, TLMC_A_SLOT);
}

static const char *gradient_prefix(const struct tlmc_value *value)
{
    return value->is_gradient ? "d_" : "";
}

/* "step_size", with the optimizer group when there are several. */
const char *tlmc_emit_scalar_name(struct tlmc_emit *e, uint32_t slot)
{
    static const char *const names[] = {
        [TLMC_SCALAR_LR] = "lr",
        [TLMC_SCALAR_UNDAMPED] = "undamped",
        [TLMC_SCALAR_STEP_SIZE] = "step_size",
        [TLMC_SCALAR_SQRT_BC2] = "sqrt_bc2",
        [TLMC_SCALAR_DECAY] = "decay",
        [TLMC_SCALAR_CLR] = "clr",
    };
    const struct tlmc_scalar *scalar = &e->module->scalars.items[slot];

    if (e->module->train.group_count < 2)
        return names[scalar->kind];
    return tlmc_emit_printf(e, "%s_group%u", names[scalar->kind], scalar->group);
}

/* The second and third results of ops that have them. */
static const char *further_result(const struct tlmc_node *node, const struct tlmc_value *value)
{
    static const struct {
        enum tlmc_op op;
        const char *names[2];
    } rows[] = {
        { TLMC_OP_LAYER_NORM, { "_mean", "_rstd" } },
        { TLMC_OP_LAYER_NORM_VJP_WEIGHT, { "_bias", "" } },
        { TLMC_OP_CROSS_ENTROPY, { "_max", "_sum" } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == node->op && value->index > 0)
            return rows[i].names[value->index - 1];
    return "";
}

/* What a value would like to be called, before it is made valid and unique: the user's name, the
   key of a parameter, or the instance and the op that made it. */
static const char *wanted_name(struct tlmc_emit *e, const struct tlmc_emit_form *form, uint32_t id)
{
    const struct tlmc_value *value = &form->graph->values[id];
    const struct tlmc_node *node = &form->graph->nodes[value->node];
    const char *scope = node->scope ? node->scope : "";

    if (node->op == TLMC_OP_PARAM || node->op == TLMC_OP_STATE)
        return e->module->params.items[tlmc_node_int(node, TLMC_A_SLOT)].key;
    if (node->op == TLMC_OP_INPUT)
        return form->form->inputs.items[tlmc_node_int(node, TLMC_A_SLOT)].name;
    if (node->op == TLMC_OP_SCALAR)
        return tlmc_emit_scalar_name(e, (uint32_t)tlmc_node_int(node, TLMC_A_SLOT));
    if (value->name)
        return tlmc_emit_printf(e, "%s%s", gradient_prefix(value), value->name);
    return tlmc_emit_printf(e, "%s%s%s%s%s", node->phase == TLMC_BACKWARD ? "d_" : "", scope,
                            *scope ? "_" : "", tlmc_op_info(node->op)->name,
                            further_result(node, value));
}

const char *tlmc_emit_local(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value)
{
    if (!form->locals[value])
        form->locals[value] = tlmc_names_make(&form->names, wanted_name(e, form, value));
    return form->locals[value];
}

const char *tlmc_emit_value_text(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                                 uint32_t id)
{
    const struct tlmc_value *value = &form->graph->values[id];
    char type[256];

    if (tlmc_emit_is_literal(form, id))
        return tlmc_emit_literal(e, form, id);
    tlmc_type_text(&value->type, type);
    return tlmc_emit_printf(e, "%s: %s",
                            form->locals[id] ? form->locals[id] : wanted_name(e, form, id), type);
}

bool tlmc_emit_is_literal(const struct tlmc_emit_form *form, uint32_t value)
{
    return form->plan->values[value].place == TLMC_PLACE_LITERAL;
}

/* The constant a literal value is a (broadcast) copy of. */
static const struct tlmc_node *constant_of(const struct tlmc_emit_form *form, uint32_t value)
{
    const struct tlmc_node *node = tlmc_value_node(form->graph, value);

    while (node->op != TLMC_OP_CONST) {
        TLMC_CHECK(node->input_count == 1);
        node = tlmc_value_node(form->graph, node->inputs[0]);
    }
    return node;
}

const char *tlmc_emit_literal(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                              uint32_t value)
{
    const struct tlmc_attr *data = tlmc_node_attr(constant_of(form, value), TLMC_A_DATA);

    TLMC_CHECK(data && data->count >= 1);
    return tlmc_literal_element(e->arena, tlmc_value_type(form->graph, value)->dtype,
                                data->v.data[0]);
}

/* ---- tables of constants */

/* A static const array of a constant, shared by all values with the same text. */
static const struct tlmc_emit_table *table(struct tlmc_emit *e, struct tlmc_emit_form *form,
                                           uint32_t value)
{
    const struct tlmc_type *type = tlmc_value_type(form->graph, value);
    const struct tlmc_attr *data = tlmc_node_attr(constant_of(form, value), TLMC_A_DATA);
    const int64_t count = tlmc_type_count(type);
    struct tlmc_strbuf text = { 0 };
    struct tlmc_emit_table made;
    const char *name;

    for (int64_t i = 0; i < (count ? count : 1); i++) {
        const double element = count == 0 ? 0 : data->v.data[data->count == 1 ? 0 : i];

        tlmc_strbuf_add(&text, i == 0 ? "" : ", ");
        tlmc_strbuf_add(&text, tlmc_literal_element(e->arena, type->dtype, element));
    }
    for (unsigned i = 0; i < e->tables_made.count; i++)
        if (e->tables_made.items[i].dtype == type->dtype &&
            strcmp(e->tables_made.items[i].text, tlmc_strbuf_text(&text)) == 0) {
            tlmc_strbuf_free(&text);
            return &e->tables_made.items[i];
        }
    name = tlmc_names_make(&e->names, tlmc_emit_printf(e, "table_%s", wanted_name(e, form, value)));
    tlmc_write(&e->tables, "static const %{type} %{name}[] = {\n    %{text},\n};\n", "type",
               tlmc_dtype_ctype(type->dtype), "name", name, "text", tlmc_strbuf_text(&text));
    made = (struct tlmc_emit_table){ .dtype = type->dtype,
                                     .text = tlmc_arena_strdup(e->arena, tlmc_strbuf_text(&text)),
                                     .name = name,
                                     .offset = e->table_bytes };
    tlmc_strbuf_free(&text);
    if (e->cuda) {
        const size_t bytes = tlmc_type_bytes(type) > 0 ? tlmc_type_bytes(type) : 1;

        made.place = tlmc_names_make(&e->names, tlmc_emit_printf(e, "AT_%s",
                                                                 tlmc_names_upper(e->arena, name)));
        e->table_bytes += (bytes + TLMC_ALIGN - 1) / TLMC_ALIGN * TLMC_ALIGN;
    }
    TLMC_PUSH(e->arena, &e->tables_made, made);
    return &e->tables_made.items[e->tables_made.count - 1];
}

const char *tlmc_emit_block(const struct tlmc_emit *e, const char *name)
{
    return tlmc_arena_printf(e->arena, "m->%s%s", e->cuda ? "cuda." : "", name);
}

const char *tlmc_emit_offset(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value,
                             const char **block)
{
    switch (tlmc_emit_placement(form, value)->place) {
    case TLMC_PLACE_WEIGHTS:
        *block = "weights";
        return e->param_offsets[tlmc_emit_slot(form, value)];
    case TLMC_PLACE_STATE: *block = "state"; return e->param_offsets[tlmc_emit_slot(form, value)];
    case TLMC_PLACE_ARENA:
        *block = "activations";
        return form->offsets[form->plan->values[value].storage];
    case TLMC_PLACE_LITERAL:
    case TLMC_PLACE_TABLE: *block = "tables"; return e->cuda ? table(e, form, value)->place : NULL;
    case TLMC_PLACE_NONE:
    case TLMC_PLACE_SCALAR: break;
    }
    *block = NULL;
    return NULL;
}

const char *tlmc_emit_address(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value)
{
    const enum tlmc_place place = tlmc_emit_placement(form, value)->place;
    const char *block, *offset = tlmc_emit_offset(e, form, value, &block);

    if (offset)
        return tlmc_emit_printf(e, "tlm_%s_at(%s, %s)",
                                tlmc_dtype_name(tlmc_value_type(form->graph, value)->dtype),
                                tlmc_emit_block(e, block), offset);
    if (place == TLMC_PLACE_SCALAR)
        return tlmc_emit_printf(e, e->cuda ? "%s + %u" : "&%s[%u]", tlmc_emit_block(e, "scalars"),
                                tlmc_emit_slot(form, value));
    if (place == TLMC_PLACE_LITERAL || place == TLMC_PLACE_TABLE)
        return table(e, form, value)->name;
    TLMC_BUG("value %u is read but lives nowhere", value);
}

bool tlmc_emit_overlap(const struct tlmc_emit_form *form, uint32_t a, uint32_t b)
{
    const struct tlmc_placement *p = tlmc_emit_placement(form, a);
    const struct tlmc_placement *q = tlmc_emit_placement(form, b);

    if (p->place != q->place)
        return false;
    if (p->place == TLMC_PLACE_ARENA)
        return p->offset < q->offset + q->bytes && q->offset < p->offset + p->bytes;
    if (p->place == TLMC_PLACE_WEIGHTS || p->place == TLMC_PLACE_STATE)
        return tlmc_emit_slot(form, a) == tlmc_emit_slot(form, b);
    return false;
}

/* ---- the memory plan */

struct offset {
    const char *name;
    uint64_t bytes;
    const char *note;
};

/* "    NAME = 64," and its note: behind it, or where the line is too long for that, below. */
static void put_offset(struct tlmc_strbuf *out, const char *definition, const char *note)
{
    const bool below = note && strlen(definition) + strlen(note) + 7 > TLMC_WRITER_COLUMNS;

    tlmc_strbuf_printf(out, "%s%s%s%s\n", definition, note ? below ? "\n        /* " : " /* " : "",
                       note ? note : "", note ? " */" : "");
}

/* An enumerator holds an int; what is larger becomes a macro. */
static void put_offsets(struct tlmc_emit *e, struct tlmc_strbuf *out, const struct offset *rows,
                        unsigned count)
{
    unsigned in_enum = 0;

    for (unsigned i = 0; i < count; i++)
        in_enum += rows[i].bytes <= INT32_MAX;
    if (in_enum > 0) {
        tlmc_strbuf_add(out, "enum {\n");
        for (unsigned i = 0; i < count; i++)
            if (rows[i].bytes <= INT32_MAX)
                put_offset(out,
                           tlmc_emit_printf(e, "    %s = %llu,", rows[i].name,
                                            (unsigned long long)rows[i].bytes),
                           rows[i].note);
        tlmc_strbuf_add(out, "};\n");
    }
    for (unsigned i = 0; i < count; i++)
        if (rows[i].bytes > INT32_MAX)
            put_offset(out,
                       tlmc_emit_printf(e, "#define %s ((size_t)%llu)", rows[i].name,
                                        (unsigned long long)rows[i].bytes),
                       rows[i].note);
    tlmc_strbuf_char(out, '\n');
}

static void put_title(struct tlmc_strbuf *out, const char *text)
{
    struct tlmc_writer w;

    tlmc_writer_init(&w, out);
    tlmc_write_comment(&w, text);
    tlmc_writer_end(&w);
}

static bool lives_in_weights(enum tlmc_param_kind kind)
{
    return kind == TLMC_PARAM_TRAINED || kind == TLMC_PARAM_STATE;
}

static void param_offsets(struct tlmc_emit *e, bool weights, struct tlmc_strbuf *out)
{
    const struct tlmc_module *module = e->module;
    struct offset *rows = TLMC_NEW_ARRAY(e->arena, struct offset, module->params.count + 1);
    unsigned count = 0;

    for (unsigned i = 0; i < module->params.count; i++) {
        const struct tlmc_param *param = &module->params.items[i];
        char type[256];

        if (lives_in_weights(param->kind) != weights || !tlmc_emit_has_param(e, i))
            continue;
        tlmc_type_text(&param->type, type);
        rows[count++] = (struct offset){ e->param_offsets[i],
                                         e->plan->param_offsets[i] + (weights ? 0 : e->head_bytes),
                                         tlmc_emit_printf(e, "%s: %s", param->key, type) };
    }
    if (count == 0)
        return;
    tlmc_strbuf_printf(out, "/* Offsets in the %s block, in bytes.%s */\n",
                       weights ? "weights" : "state",
                       weights ? "" : "  The model's own struct comes first.");
    put_offsets(e, out, rows, count);
}

/* Storages of the arena in order of offset, then of first use. */
static uint32_t *sorted_storages(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                                 uint32_t *count)
{
    const struct tlmc_placement *values = form->plan->values;
    uint32_t *ids = TLMC_NEW_ARRAY(e->arena, uint32_t, form->graph->value_count + 1);
    uint32_t n = 0;

    for (uint32_t v = 0; v < form->graph->value_count; v++) {
        if (values[v].place != TLMC_PLACE_ARENA || values[v].storage != v)
            continue;
        uint32_t at = n++;

        for (; at > 0; at--) {
            const struct tlmc_placement *before = &values[ids[at - 1]];

            if (before->offset < values[v].offset ||
                (before->offset == values[v].offset && before->first_step <= values[v].first_step))
                break;
            ids[at] = ids[at - 1];
        }
        ids[at] = v;
    }
    *count = n;
    return ids;
}

static const char *lifetime(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                            uint32_t storage)
{
    const struct tlmc_placement *p = &form->plan->values[storage];

    return tlmc_emit_printf(e, "%zu bytes, s%u..s%u, %s", p->bytes, p->first_step, p->last_step,
                            tlmc_emit_value_text(e, form, storage));
}

void tlmc_emit_memory(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    param_offsets(e, true, out);
    param_offsets(e, false, out);
    if (e->cuda)
        tlmc_cuda_memory(e, out);
    for (uint32_t f = 0; f < e->form_count; f++) {
        struct tlmc_emit_form *form = &e->forms[f];
        uint32_t count;
        const uint32_t *ids = sorted_storages(e, form, &count);
        struct offset *rows = TLMC_NEW_ARRAY(e->arena, struct offset, count + 1);

        if (count == 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            rows[i] = (struct offset){ form->offsets[ids[i]], form->plan->values[ids[i]].offset,
                                       lifetime(e, form, ids[i]) };
        put_title(out, tlmc_emit_printf(e,
                                        "Memory plan of %s: offsets in the activations %s, in "
                                        "bytes, and the steps that need them.  Planned %zu, lower "
                                        "bound %zu.",
                                        form->run, e->cuda ? "on the device" : "block",
                                        form->plan->arena_bytes, form->plan->lower_bound));
        put_offsets(e, out, rows, count);
    }
}

const char *tlmc_emit_memory_text(struct tlmc_emit *e, const struct tlmc_emit_form *form)
{
    struct tlmc_strbuf out = { 0 };
    uint32_t count;
    const uint32_t *ids = sorted_storages(e, form, &count);
    const char *text;

    for (uint32_t i = 0; i < count; i++)
        tlmc_strbuf_printf(&out, "%10zu  %s\n", form->plan->values[ids[i]].offset,
                           lifetime(e, form, ids[i]));
    text = tlmc_arena_strdup(e->arena, tlmc_strbuf_text(&out));
    tlmc_strbuf_free(&out);
    return text;
}
