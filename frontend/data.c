/* Data of the train clause: files, readers and feeds, the validation split, probes.  Sizes are
   checked against the inputs of the training form; what a file really holds is seen when the
   program runs. */
#include "sema.h"

#include <math.h>
#include <string.h>

uint32_t tlmc_find_io(const tlmc_io_vec *list, tlmc_sym name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].name == name)
            return i;
    return TLMC_NONE;
}

/* Row elements of an input: all axes but the leading one. */
static int64_t row_count(const struct tlmc_sema *s, const struct tlmc_form *form, uint32_t input)
{
    struct tlmc_type type = *tlmc_value_type(form->graph, form->inputs.items[input].value);
    int64_t count = 1;

    (void)s;
    for (int i = 1; i < type.rank; i++)
        count *= type.dims[i];
    return count;
}

static const struct tlmc_type *input_type(const struct tlmc_clause *c, uint32_t input)
{
    return tlmc_value_type(c->form->graph, c->form->inputs.items[input].value);
}

static const char *input_names(struct tlmc_clause *c)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (unsigned i = 0; i < c->form->inputs.count; i++)
        tlmc_strbuf_printf(&buf, "%s%s", i ? ", " : "", c->form->inputs.items[i].name);
    text = tlmc_arena_strdup(c->s->arena, buf.length ? tlmc_strbuf_text(&buf) : "none");
    tlmc_strbuf_free(&buf);
    return text;
}

/* ---- readers */

static bool fail_reader(struct tlmc_clause *c, const struct tlmc_ast *n, const char *text)
{
    tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING, "%s", text);
    return false;
}

static void add_column(struct tlmc_clause *c, struct tlmc_feed *feed, int64_t number, tlmc_sym name,
                       uint32_t *capacity)
{
    if (feed->column_count == *capacity) {
        int64_t *numbers = TLMC_NEW_ARRAY(c->s->arena, int64_t, 2 * *capacity + 8);
        tlmc_sym *names = TLMC_NEW_ARRAY(c->s->arena, tlmc_sym, 2 * *capacity + 8);

        for (uint32_t i = 0; i < feed->column_count; i++) {
            numbers[i] = feed->columns[i];
            names[i] = feed->column_names[i];
        }
        *capacity = 2 * *capacity + 8;
        feed->columns = numbers;
        feed->column_names = names;
    }
    feed->columns[feed->column_count] = number;
    feed->column_names[feed->column_count++] = name;
}

static bool read_column_list(struct tlmc_clause *c, const struct tlmc_ast *args,
                             struct tlmc_feed *feed, int64_t wanted)
{
    uint32_t capacity = 0, named = 0;

    for (uint32_t i = 0; i < args->count; i++) {
        const struct tlmc_val v = tlmc_eval(c->s, c->f, args->kids[i]);
        const bool range = v.kind == TLMC_V_RANGE, name = v.kind == TLMC_V_STR;
        const int64_t from = range ? v.u.range.from : v.kind == TLMC_V_INT ? v.u.i : 0;
        const int64_t to = range ? v.u.range.to : from + 1;

        if (v.kind == TLMC_V_POISON)
            return false;
        if ((!range && !name && v.kind != TLMC_V_INT) || from < 0 || to < from)
            return fail_reader(
                c, args->kids[i],
                "a column is a number from 0 up, a range of them, or a name in quotes");
        if (to - from > wanted - (int64_t)feed->column_count)
            return fail_reader(c, args, "more columns than the values of a row");
        for (int64_t k = from; k < to; k++)
            add_column(c, feed, k, name ? v.u.s : NULL, &capacity);
        named += name;
    }
    if (named && named != feed->column_count)
        return fail_reader(c, args, "columns are all numbers or all names");
    if (named)
        feed->columns = NULL;
    else
        feed->column_names = NULL;
    return true;
}

static bool read_columns(struct tlmc_clause *c, const struct tlmc_ast *n,
                         const struct tlmc_ast *args, struct tlmc_feed *feed)
{
    const int64_t wanted = row_count(c->s, c->form, feed->input);

    if (!read_column_list(c, args, feed, wanted))
        return false;
    if (feed->column_count == wanted)
        return true;
    tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED,
                    "%u columns for a row of %lld values (`%s` is %s)", feed->column_count,
                    (long long)wanted, c->form->inputs.items[feed->input].name,
                    tlmc_show_type(c->s, input_type(c, feed->input)));
    return false;
}

static bool read_window(struct tlmc_clause *c, const struct tlmc_ast *n,
                        const struct tlmc_ast *args, struct tlmc_feed *feed)
{
    const int64_t wanted = row_count(c->s, c->form, feed->input);
    struct tlmc_val v;

    if (args->count != 1 || args->kids[0]->kind == TLMC_AST_KEYWORD)
        return fail_reader(c, n,
                           "bytes and tokens take the range of offsets in the window: bytes(0..T)");
    v = tlmc_eval(c->s, c->f, args->kids[0]);
    if (v.kind == TLMC_V_POISON)
        return false;
    if (v.kind != TLMC_V_RANGE || v.u.range.from < 0 || v.u.range.to < v.u.range.from)
        return fail_reader(c, args->kids[0],
                           "bytes and tokens take the range of offsets in the window: bytes(0..T)");
    feed->begin = v.u.range.from;
    feed->end = v.u.range.to;
    if (feed->end - feed->begin != wanted) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED,
                        "%lld offsets for a row of %lld values (`%s` is %s)",
                        (long long)(feed->end - feed->begin), (long long)wanted,
                        c->form->inputs.items[feed->input].name,
                        tlmc_show_type(c->s, input_type(c, feed->input)));
        return false;
    }
    if (input_type(c, feed->input)->dtype != TLMC_I32)
        return fail_reader(c, n, "bytes and tokens are i32 numbers");
    return true;
}

static bool read_tensor(struct tlmc_clause *c, const struct tlmc_ast *n,
                        const struct tlmc_ast *args, struct tlmc_feed *feed)
{
    if (args->count != 1 || args->kids[0]->kind != TLMC_AST_STR)
        return fail_reader(c, n, "tensor takes the key in the file: tensor(\"x\")");
    feed->key = tlmc_eval_string(c->s, c->f, args->kids[0]->span, args->kids[0]->text);
    return feed->key != NULL;
}

static bool read_array(struct tlmc_clause *c, const struct tlmc_ast *n, const struct tlmc_ast *args,
                       struct tlmc_feed *feed)
{
    (void)feed;
    return !args->count || fail_reader(c, n, "array takes nothing: a .npy file is one array");
}

static const struct {
    const char *name;
    bool (*read)(struct tlmc_clause *c, const struct tlmc_ast *n, const struct tlmc_ast *args,
                 struct tlmc_feed *feed);
} readers[] = {
    /* by enum tlmc_reader */
    [TLMC_READ_COLUMNS] = { "columns", read_columns }, [TLMC_READ_ARRAY] = { "array", read_array },
    [TLMC_READ_TENSOR] = { "tensor", read_tensor },    [TLMC_READ_BYTES] = { "bytes", read_window },
    [TLMC_READ_TOKENS] = { "tokens", read_window },
};

enum { READER_COUNT = sizeof readers / sizeof *readers };

static bool read_feed(struct tlmc_clause *c, const struct tlmc_ast *n, struct tlmc_feed *feed)
{
    const struct tlmc_ast *args;
    tlmc_sym name = NULL;

    if (tlmc_call_form(n, &name, &args) && args)
        for (int i = 0; i < READER_COUNT; i++)
            if (!strcmp(readers[i].name, name)) {
                feed->reader = (enum tlmc_reader)i;
                return readers[i].read(c, n, args, feed);
            }
    if (name && (!strcmp(name, "images") || !strcmp(name, "labels")))
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_NOT_BUILT,
                        "reader `%s` is not available in this version; there are columns, array, "
                        "tensor, bytes, tokens",
                        name);
    else
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_CLAUSE,
                        "unknown reader%s%s%s; known: columns, array, tensor, bytes, tokens",
                        name ? " `" : "", name ? name : "", name ? "`" : "");
    return false;
}

/* ---- data */

static bool is_fed(const tlmc_data_vec *list, uint32_t input)
{
    for (unsigned i = 0; i < list->count; i++)
        for (unsigned k = 0; k < list->items[i].feeds.count; k++)
            if (list->items[i].feeds.items[k].input == input)
                return true;
    return false;
}

static void add_feed(struct tlmc_clause *c, const struct tlmc_ast *n)
{
    struct tlmc_feed feed = { .input = tlmc_find_io(&c->form->inputs, n->text), .span = n->span };

    if (feed.input == TLMC_NONE) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED,
                        "data for `%s`, which is no input or target; there are %s", n->text,
                        input_names(c));
        return;
    }
    for (unsigned k = 0; k < c->data->feeds.count; k++)
        if (c->data->feeds.items[k].input == feed.input || is_fed(c->data_list, feed.input)) {
            tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED, "`%s` has its data already", n->text);
            return;
        }
    if (!input_type(c, feed.input)->rank) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED, "`%s` has no leading axis for the rows",
                        n->text);
        return;
    }
    if (read_feed(c, n->kids[0], &feed))
        TLMC_PUSH(c->s->arena, &c->data->feeds, feed);
}

void tlmc_set_data(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_clause inner = *c;
    struct tlmc_data data = { .span = set->span };
    const struct tlmc_ast *path;

    if (!tlmc_setting_one(c, set, &path))
        return;
    if (path->kind != TLMC_AST_STR || set->kids[1]->kind != TLMC_AST_SETTINGS) {
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING,
                        "data is written data \"FILE\" { x = reader; }");
        return;
    }
    data.path = tlmc_eval_string(c->s, c->f, path->span, path->text);
    inner.node = set;
    inner.data = &data;
    for (uint32_t i = 0; i < set->kids[1]->count; i++)
        if (set->kids[1]->kids[i] && set->kids[1]->kids[i]->kind == TLMC_AST_BIND)
            add_feed(&inner, set->kids[1]->kids[i]);
    tlmc_read_settings(&inner, TLMC_C_DATA, set->kids[1]);
    for (unsigned i = 0; i < data.feeds.count; i++)
        if (data.feeds.items[i].column_names && !data.header)
            tlmc_sema_error(c->s, c->f, data.feeds.items[i].span, TLMC_E_SETTING,
                            "columns by name need the file's first line: header true;");
    TLMC_PUSH(c->s->arena, c->data_list, data);
}

void tlmc_set_header(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_setting_bool(c, set, &c->data->header);
}

void tlmc_set_stride(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_setting_int(c, set, 1, &c->data->stride);
}

void tlmc_check_feeds(struct tlmc_clause *c, const tlmc_data_vec *list)
{
    for (unsigned i = 0; list->count && i < c->form->inputs.count; i++)
        if (!is_fed(list, i))
            tlmc_sema_error(c->s, c->f, list->items[0].span, TLMC_E_FEED, "%s `%s` has no data",
                            c->form->inputs.items[i].is_target ? "target" : "input",
                            c->form->inputs.items[i].name);
}

/* ---- validation */

static void split_rows(struct tlmc_clause *c, const struct tlmc_ast *n, enum tlmc_split split,
                       const struct tlmc_ast *args)
{
    struct tlmc_train *t = &c->s->module->train;
    struct tlmc_val v;

    if (!args || args->count != 1 || args->kids[0]->kind == TLMC_AST_KEYWORD) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                        "a split takes a fraction or a count of rows: last(0.2)");
        return;
    }
    v = tlmc_eval(c->s, c->f, args->kids[0]);
    if (v.kind == TLMC_V_POISON)
        return;
    t->split = split;
    if (v.kind == TLMC_V_INT && v.u.i > 0)
        t->split_count = v.u.i;
    else if (v.kind == TLMC_V_FLOAT && v.u.f > 0.0 && v.u.f < 1.0)
        t->split_fraction = v.u.f;
    else
        tlmc_sema_error(c->s, c->f, args->kids[0]->span, TLMC_E_SETTING,
                        "a split is a fraction between 0 and 1 or a count of rows, not %s",
                        tlmc_show(c->s, &v));
}

/* The same readers on another file. */
static void split_file(struct tlmc_clause *c, const struct tlmc_ast *n)
{
    struct tlmc_train *t = &c->s->module->train;
    struct tlmc_data copy;

    if (t->data.count != 1) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                        "validation \"FILE\" reads as the one data clause above it does; there are "
                        "%u: write validation { data ... }",
                        t->data.count);
        return;
    }
    copy = t->data.items[0];
    copy.path = tlmc_eval_string(c->s, c->f, n->span, n->text);
    t->split = TLMC_SPLIT_DATA;
    TLMC_PUSH(c->s->arena, &t->validation_data, copy);
}

void tlmc_set_validation(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    static const char *const splits[] = {
        [TLMC_SPLIT_FIRST] = "first", [TLMC_SPLIT_LAST] = "last", [TLMC_SPLIT_RANDOM] = "random"
    };
    struct tlmc_train *t = &c->s->module->train;
    const struct tlmc_ast *n, *args;
    struct tlmc_clause inner = *c;
    tlmc_sym name = NULL;

    if (set->kids[0]->kind == TLMC_AST_ABSENT && set->kids[1]->kind == TLMC_AST_SETTINGS) {
        t->split = TLMC_SPLIT_DATA;
        inner.node = set;
        inner.data_list = &t->validation_data;
        tlmc_read_settings(&inner, TLMC_C_VALIDATION, set->kids[1]);
        tlmc_check_feeds(c, &t->validation_data);
        return;
    }
    if (!tlmc_setting_one(c, set, &n))
        return;
    if (n->kind == TLMC_AST_STR) {
        split_file(c, n);
        return;
    }
    tlmc_call_form(n, &name, &args);
    for (int i = TLMC_SPLIT_FIRST; name && i <= TLMC_SPLIT_RANDOM; i++)
        if (!strcmp(splits[i], name)) {
            split_rows(c, n, (enum tlmc_split)i, args);
            return;
        }
    tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                    "validation is last(0.2), first(0.2), random(0.2), \"FILE\" or { data ... }");
}

/* ---- probes */

/* The numbers of a nested list, in order; false after a report. */
static bool flatten(struct tlmc_clause *c, const struct tlmc_ast *n, const struct tlmc_val *v,
                    double *out, int64_t room, int64_t *count)
{
    if (tlmc_val_is_number(v) || v->kind == TLMC_V_BOOL) {
        if (*count < room)
            out[*count] = v->kind == TLMC_V_BOOL ? v->u.b : tlmc_val_number(v);
        ++*count;
        return true;
    }
    if (v->kind != TLMC_V_LIST) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                        "the values of a probe are numbers, not %s", tlmc_show(c->s, v));
        return false;
    }
    for (uint32_t i = 0; i < tlmc_list_count(v); i++) {
        const struct tlmc_val item = tlmc_list_item(v, i);

        if (!flatten(c, n, &item, out, room, count))
            return false;
    }
    return true;
}

static void probe_value(struct tlmc_clause *c, struct tlmc_probe *probe, const struct tlmc_ast *n)
{
    enum { MOST = 1 << 20 };
    struct tlmc_probe_value value = { .input = tlmc_find_io(&c->form->inputs, n->text) };
    struct tlmc_val v;
    int64_t wanted, count = 0;
    double *data;

    if (value.input == TLMC_NONE) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED,
                        "probe for `%s`, which is no input or target; there are %s", n->text,
                        input_names(c));
        return;
    }
    v = tlmc_eval(c->s, c->f, n->kids[0]);
    if (v.kind == TLMC_V_POISON)
        return;
    wanted = row_count(c->s, c->form, value.input);
    data = TLMC_NEW_ARRAY(c->s->arena, double, (size_t)(wanted < MOST ? wanted : MOST) + 1);
    if (!flatten(c, n->kids[0], &v, data, wanted < MOST ? wanted : MOST, &count))
        return;
    if (count != wanted) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_FEED,
                        "%lld values for a row of %lld (`%s` is %s)", (long long)count,
                        (long long)wanted, n->text,
                        tlmc_show_type(c->s, input_type(c, value.input)));
        return;
    }
    value.data = data;
    value.count = (uint32_t)count;
    TLMC_PUSH(c->s->arena, &probe->values, value);
}

static bool is_probed(const struct tlmc_probe *probe, uint32_t input)
{
    for (unsigned i = 0; i < probe->values.count; i++)
        if (probe->values.items[i].input == input)
            return true;
    return false;
}

void tlmc_set_probe(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_train *t = &c->s->module->train;
    struct tlmc_probe probe = { .name = tlmc_setting_name(set) };
    const uint64_t before = c->s->failures;
    const struct tlmc_ast *values = set->kids[1];

    if (!probe.name || values->kind != TLMC_AST_SETTINGS) {
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING,
                        "a probe is written probe NAME { x = [...]; }");
        return;
    }
    for (unsigned i = 0; i < t->probes.count; i++)
        if (t->probes.items[i].name == probe.name)
            tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING, "probe `%s` stands twice",
                            probe.name);
    for (uint32_t i = 0; i < values->count; i++)
        if (values->kids[i] && values->kids[i]->kind == TLMC_AST_BIND &&
            !tlmc_setting_repeats(c, values, i))
            probe_value(c, &probe, values->kids[i]);
        else if (values->kids[i] && values->kids[i]->kind != TLMC_AST_BIND)
            tlmc_sema_error(c->s, c->f, values->kids[i]->span, TLMC_E_SETTING,
                            "a probe gives values: NAME = [...];");
    for (unsigned i = 0; i < c->form->inputs.count && c->s->failures == before; i++)
        if (!c->form->inputs.items[i].is_target && !is_probed(&probe, i))
            tlmc_sema_error(c->s, c->f, set->span, TLMC_E_FEED,
                            "probe `%s` says nothing of input `%s`", probe.name,
                            c->form->inputs.items[i].name);
    TLMC_PUSH(c->s->arena, &t->probes, probe);
}
