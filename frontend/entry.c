/* Entries and their forms.  A trained entry has a training and an evaluation form under the dims of
   `train`, an entry with outputs an inference form, and one for `generate` when that clause has
   dims of its own. */
#include "sema.h"

#include <string.h>

const struct tlmc_ast *tlmc_find_clause(const struct tlmc_file *file, const char *name)
{
    for (unsigned i = 0; i < file->clauses.count; i++)
        if (!strcmp(file->clauses.items[i]->text, name))
            return file->clauses.items[i];
    return NULL;
}

const struct tlmc_ast *tlmc_find_setting(const struct tlmc_ast *settings, const char *key)
{
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct tlmc_ast *n = settings->kids[i];

        if (n && n->kind == TLMC_AST_SET && !strcmp(n->text, key))
            return n;
    }
    return NULL;
}

tlmc_sym tlmc_setting_name(const struct tlmc_ast *set)
{
    const struct tlmc_ast *values = set->kids[0];

    if (values->kind != TLMC_AST_VALUES || values->count != 1 ||
        values->kids[0]->kind != TLMC_AST_NAME)
        return NULL;
    return values->kids[0]->text;
}

struct tlmc_define *tlmc_find_define(struct tlmc_sema *s, tlmc_sym name)
{
    struct tlmc_define *found = NULL; /* the last one holds */

    for (unsigned i = 0; i < s->defines.count; i++)
        if (s->defines.items[i].name == name) {
            found = &s->defines.items[i];
            found->used = true;
        }
    return found;
}

void tlmc_know_define(struct tlmc_sema *s, tlmc_sym name)
{
    if (s->defines.count && s->definable.count < 4096)
        TLMC_PUSH(s->arena, &s->definable, name);
}

/* ---- which entries are trained */

static const struct tlmc_ast *train_settings(const struct tlmc_sema *s)
{
    const struct tlmc_ast *train = tlmc_find_clause(s->file, "train");

    return train ? train->kids[1] : NULL;
}

static bool lists_entries(const struct tlmc_sema *s)
{
    const struct tlmc_ast *settings = train_settings(s);

    return settings && tlmc_find_setting(settings, "entry");
}

const struct tlmc_ast *tlmc_listed_entry(const struct tlmc_sema *s, tlmc_sym entry)
{
    const struct tlmc_ast *settings = train_settings(s);

    for (uint32_t i = 0; settings && i < settings->count; i++) {
        const struct tlmc_ast *n = settings->kids[i];

        if (n && n->kind == TLMC_AST_SET && !strcmp(n->text, "entry") &&
            tlmc_setting_name(n) == entry)
            return n;
    }
    return NULL;
}

/* A statement of this kind here or somewhere in its bodies, taken or not. */
static bool has_statement(const struct tlmc_ast *n, enum tlmc_ast_kind kind)
{
    if (!n)
        return false;
    if (n->kind == kind)
        return true;
    if (n->kind != TLMC_AST_IF && n->kind != TLMC_AST_FOR && n->kind != TLMC_AST_BODY &&
        n->kind != TLMC_AST_SETTINGS)
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        if (has_statement(n->kids[i], kind))
            return true;
    return false;
}

/* ---- one form */

static void start_work(struct tlmc_sema *s, tlmc_sym entry, enum tlmc_mode mode)
{
    static const char *const scopes[] = { "infer", "train", "train", "generate" }; /* by mode */
    struct tlmc_work *w = TLMC_NEW(s->arena, struct tlmc_work);
    const struct tlmc_ast *clause = tlmc_find_clause(s->file, scopes[mode]);

    w->form.entry = entry;
    w->form.mode = mode;
    w->form.graph = tlmc_graph_new(s->arena);
    w->form.total_loss = TLMC_NONE;
    w->serial = ++s->serial;
    w->scope = TLMC_SYM(s, scopes[mode]);
    w->dims = clause ? clause->kids[1] : NULL;
    TLMC_PUSH(s->arena, &s->works, w);
    s->work = w;
    s->graph = w->form.graph;
    w->root = tlmc_instance_root(s);
}

static struct tlmc_frame *top_frame(struct tlmc_sema *s, struct tlmc_frame *parent, tlmc_sym title,
                                    bool training)
{
    struct tlmc_frame *f = tlmc_frame_new(s, parent, s->file, title);

    f->inst = s->work->root;
    f->training = training;
    return f;
}

/* The work that was built; its graph is unfinished.  NULL after a report. */
static struct tlmc_work *elaborate(struct tlmc_sema *s, tlmc_sym name, const struct tlmc_ast *body,
                                   enum tlmc_mode mode)
{
    const uint64_t before = s->failures;
    struct tlmc_work *w;

    start_work(s, name, mode);
    w = s->work;
    w->file_frame = w->top = top_frame(s, NULL, name, mode == TLMC_TRAIN);
    for (unsigned i = 0; i < s->file->items.count; i++)
        tlmc_walk_one(s, w->file_frame, s->file->items.items[i]);
    if (body) {
        w->top = top_frame(s, w->file_frame, name, mode == TLMC_TRAIN);
        w->top->is_entry = true;
        tlmc_walk(s, w->top, body);
    }
    if (s->failures != before)
        return NULL;
    tlmc_warn_shared_once(s);
    return w;
}

/* A form that turned out not to be one: what it declared is forgotten. */
static void drop_work(struct tlmc_sema *s, uint32_t params)
{
    for (unsigned i = params; i < s->module->params.count; i++)
        tlmc_map_put(s->arena, &s->param_map, s->module->params.items[i].key, UINT32_MAX);
    s->module->params.count = params;
    s->works.count--;
}

struct entry_plan {
    tlmc_sym name;
    const struct tlmc_ast *body; /* NULL: the whole file */
    bool losses, outputs;
};

static bool train_entry(struct tlmc_sema *s, const struct entry_plan *e, bool *trained)
{
    const struct tlmc_ast *listed = tlmc_listed_entry(s, e->name);
    const uint32_t params = s->module->params.count;
    const struct tlmc_work *w;

    *trained = false;
    if (!train_settings(s) || (lists_entries(s) ? !listed : !e->losses))
        return true;
    w = elaborate(s, e->name, e->body, TLMC_TRAIN);
    if (!w)
        return false;
    if (!w->form.losses.count) {
        drop_work(s, params);
        if (listed)
            tlmc_sema_error(s, NULL, listed->span, TLMC_E_LOSS,
                            "entry `%s` is trained but has no loss", e->name);
        return !listed;
    }
    *trained = true;
    return elaborate(s, e->name, e->body, TLMC_EVAL) != NULL;
}

static bool is_generated(const struct tlmc_sema *s, const struct entry_plan *e)
{
    const struct tlmc_ast *clause = tlmc_find_clause(s->file, "generate");
    const struct tlmc_ast *chosen = clause ? tlmc_find_setting(clause->kids[1], "entry") : NULL;

    if (!clause || !has_statement(clause->kids[1], TLMC_AST_DIM))
        return false;
    return !chosen || tlmc_setting_name(chosen) == e->name;
}

static bool elaborate_entry(struct tlmc_sema *s, const struct entry_plan *e)
{
    const struct tlmc_work *w;
    bool trained;

    if (!train_entry(s, e, &trained))
        return false;
    if (e->outputs || !trained) {
        w = elaborate(s, e->name, e->body, TLMC_INFER);
        if (!w)
            return false;
        if (!w->form.outputs.count)
            s->works.count--; /* checked, its keys are known; nothing to run */
    }
    return !e->outputs || !is_generated(s, e) ||
           elaborate(s, e->name, e->body, TLMC_GENERATE) != NULL;
}

/* ---- what the file asks for as a whole */

static const char *trained_names(struct tlmc_sema *s)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (unsigned i = 0; i < s->works.count; i++)
        if (s->works.items[i]->form.mode == TLMC_TRAIN)
            tlmc_strbuf_printf(&buf, "%s%s", buf.length ? ", " : "", s->works.items[i]->form.entry);
    text = tlmc_arena_strdup(s->arena, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return text;
}

static bool has_entry(const struct tlmc_sema *s, tlmc_sym name)
{
    for (unsigned i = 0; i < s->file->entries.count; i++)
        if (s->file->entries.items[i]->text == name)
            return true;
    return !s->file->entries.count && name && !strcmp(name, "infer");
}

/* The entries that `train` lists are there, each listed once. */
static bool check_listed(struct tlmc_sema *s)
{
    const struct tlmc_ast *settings = train_settings(s);
    struct tlmc_strbuf known = { 0 };
    bool ok = true;

    for (unsigned i = 0; i < s->file->entries.count; i++)
        tlmc_strbuf_printf(&known, "%s%s", i ? ", " : "", s->file->entries.items[i]->text);
    for (uint32_t i = 0; settings && i < settings->count; i++) {
        const struct tlmc_ast *n = settings->kids[i];
        const bool lists = n && n->kind == TLMC_AST_SET && !strcmp(n->text, "entry");
        const tlmc_sym name = lists ? tlmc_setting_name(n) : NULL;

        if (!lists || (has_entry(s, name) && tlmc_listed_entry(s, name) == n))
            continue;
        ok = false;
        if (has_entry(s, name))
            tlmc_sema_error(s, NULL, n->span, TLMC_E_SETTING, "entry `%s` is listed twice", name);
        else
            tlmc_sema_error(s, NULL, n->span, TLMC_E_ENTRY, "no entry `%s`; known: %s",
                            name ? name : "", known.length ? tlmc_strbuf_text(&known) : "infer");
    }
    tlmc_strbuf_free(&known);
    return ok;
}

static void check_trained(struct tlmc_sema *s)
{
    const struct tlmc_ast *train = tlmc_find_clause(s->file, "train");
    uint32_t trained = 0;

    for (unsigned i = 0; i < s->works.count; i++)
        trained += s->works.items[i]->form.mode == TLMC_TRAIN;
    if (train && !trained)
        tlmc_sema_error(s, NULL, train->span, TLMC_E_LOSS,
                        "a train clause needs an entry with a loss");
    else if (trained > 1 && !lists_entries(s))
        tlmc_sema_error(
            s, NULL, train->span, TLMC_E_LOSS,
            "several entries have a loss (%s): list those to train, in order: entry NAME { ... }",
            trained_names(s));
    else if (!s->works.count)
        tlmc_sema_error(s, NULL, s->file->model->span, TLMC_E_ENTRY,
                        "model `%s` has no output and no trained loss: there is nothing to compute",
                        s->file->model->text);
}

static void check_defines(struct tlmc_sema *s)
{
    for (unsigned i = 0; i < s->defines.count; i++) {
        const struct tlmc_define *d = &s->defines.items[i];
        const tlmc_sym near = tlmc_nearest(d->name, s->definable.items, s->definable.count);
        struct tlmc_diag *diag;

        if (d->used)
            continue;
        diag = tlmc_sema_error(s, NULL, (struct tlmc_span){ 0 }, TLMC_E_DEFINE,
                               "-D %s=%s: no such dim or const", d->name, d->text);
        if (near)
            tlmc_hint(s->diags, diag, "did you mean `%s`?", near);
    }
}

bool tlmc_elaborate_all(struct tlmc_sema *s)
{
    const struct tlmc_ast *infer = tlmc_find_clause(s->file, "infer");
    struct entry_plan whole = { .name = TLMC_SYM(s, "infer") };
    bool ok = true;

    if (s->file->entries.count && infer)
        tlmc_sema_error(s, NULL, infer->span, TLMC_E_CLAUSE,
                        "in a model with entries the dims of inference stand in the entries");
    for (unsigned i = 0; i < s->file->entries.count; i++) {
        const struct tlmc_ast *n = s->file->entries.items[i];
        const struct entry_plan e = { .name = n->text,
                                      .body = n->kids[0],
                                      .losses = has_statement(n->kids[0], TLMC_AST_LOSS),
                                      .outputs = has_statement(n->kids[0], TLMC_AST_OUTPUT) };

        ok = elaborate_entry(s, &e) && ok;
    }
    if (!s->file->entries.count) {
        for (unsigned i = 0; i < s->file->items.count; i++) {
            whole.losses = whole.losses || has_statement(s->file->items.items[i], TLMC_AST_LOSS);
            whole.outputs =
                whole.outputs || has_statement(s->file->items.items[i], TLMC_AST_OUTPUT);
        }
        ok = elaborate_entry(s, &whole);
    }
    if (ok && !s->failures && check_listed(s))
        check_trained(s);
    if (ok && !s->failures)
        check_defines(s);
    return ok && !s->failures;
}
