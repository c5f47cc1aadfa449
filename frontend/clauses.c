/* The clauses train, infer, generate and pretrained as data of the module. */
#include "sema.h"

#include <string.h>

static const char *const known_clauses[] = { "train", "infer", "generate", "pretrained" };

enum { CLAUSE_COUNT = sizeof known_clauses / sizeof *known_clauses };

static bool check_clause_name(struct tlmc_sema *s, const struct tlmc_ast *n)
{
    struct tlmc_diag *d;
    tlmc_sym near;

    for (int i = 0; i < CLAUSE_COUNT; i++)
        if (!strcmp(n->text, known_clauses[i]))
            return true;
    d = tlmc_sema_error(s, NULL, n->span, TLMC_E_CLAUSE,
                        "unknown clause `%s`; known: train, infer, generate, pretrained", n->text);
    near = tlmc_nearest(n->text, known_clauses, CLAUSE_COUNT);
    if (near)
        tlmc_hint(s->diags, d, "did you mean `%s`?", near);
    return false;
}

bool tlmc_check_clause_names(struct tlmc_sema *s)
{
    bool ok = true;

    for (unsigned i = 0; i < s->file->clauses.count; i++) {
        const struct tlmc_ast *n = s->file->clauses.items[i], *first;

        if (!check_clause_name(s, n)) {
            ok = false;
            continue;
        }
        first = tlmc_find_clause(s->file, n->text);
        if (first != n) {
            tlmc_sema_note(s,
                           tlmc_sema_error(s, NULL, n->span, TLMC_E_REDEFINED,
                                           "clause `%s` stands twice", n->text),
                           first->span, "first here");
            ok = false;
        }
        if (n->kids[0]->kind == TLMC_AST_STR && strcmp(n->text, "pretrained")) {
            tlmc_sema_error(s, NULL, n->kids[0]->span, TLMC_E_CLAUSE,
                            "`%s` takes no file; `pretrained` does", n->text);
            ok = false;
        }
    }
    return ok;
}

/* ---- whose names a clause sees */

static struct tlmc_work *find_work(const struct tlmc_sema *s, enum tlmc_mode mode, tlmc_sym entry)
{
    for (unsigned i = 0; i < s->works.count; i++)
        if (s->works.items[i]->form.mode == mode &&
            (!entry || s->works.items[i]->form.entry == entry))
            return s->works.items[i];
    return NULL;
}

/* The finished form of a work. */
static const struct tlmc_form *form_of(const struct tlmc_sema *s, const struct tlmc_work *w)
{
    for (unsigned i = 0; i < s->works.count && i < s->module->forms.count; i++)
        if (s->works.items[i] == w)
            return &s->module->forms.items[i];
    return NULL;
}

static struct tlmc_clause open_clause(struct tlmc_sema *s, struct tlmc_work *w,
                                      const struct tlmc_ast *node)
{
    struct tlmc_clause c = { .s = s, .node = node, .data_list = &s->module->train.data };

    s->work = w;
    s->graph = w->built ? w->built : w->form.graph;
    c.f = w->top;
    c.form = form_of(s, w);
    return c;
}

/* ---- train */

static void freeze_keys(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_module *m = c->s->module;
    tlmc_sym *patterns;
    uint32_t count;

    if (!tlmc_setting_strings(c, set, &patterns, &count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        tlmc_pattern_known(c, set->kids[0]->kids[i], patterns[i], true);
        for (unsigned p = 0; p < m->params.count; p++)
            if (tlmc_pattern_matches(patterns[i], m->params.items[p].key))
                m->params.items[p].frozen = true;
    }
}

static void freeze_all(struct tlmc_clause *c, const struct tlmc_ast *settings)
{
    for (uint32_t i = 0; i < settings->count; i++)
        if (settings->kids[i] && settings->kids[i]->kind == TLMC_AST_SET &&
            !strcmp(settings->kids[i]->text, "freeze"))
            freeze_keys(c, settings->kids[i]);
}

/* Frozen states are not stored, so this comes before the forms are finished.  What the entries
   freeze each for itself is applied when one entry is trained. */
void tlmc_check_clauses(struct tlmc_sema *s)
{
    const struct tlmc_ast *train = tlmc_find_clause(s->file, "train"), *listed;
    struct tlmc_work *w = find_work(s, TLMC_TRAIN, NULL);
    uint32_t trained = 0;
    struct tlmc_clause c;

    if (!train || !w)
        return;
    for (unsigned i = 0; i < s->works.count; i++)
        trained += s->works.items[i]->form.mode == TLMC_TRAIN;
    c = open_clause(s, w, train);
    freeze_all(&c, train->kids[1]);
    listed = tlmc_listed_entry(s, w->form.entry);
    if (trained == 1 && listed && listed->kids[1]->kind == TLMC_AST_SETTINGS)
        freeze_all(&c, listed->kids[1]);
}

void tlmc_set_freeze(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_sym *patterns;
    uint32_t count;

    if (tlmc_setting_strings(c, set, &patterns, &count)) /* applied by tlmc_check_clauses */
        for (uint32_t i = 0; i < count; i++)
            tlmc_pattern_known(c, set->kids[0]->kids[i], patterns[i], true);
}

void tlmc_set_seed(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    int64_t seed;

    if (tlmc_setting_int(c, set, 0, &seed))
        c->s->module->train.seed = (uint64_t)seed;
}

/* The word a setting is, of a few; UINT32_MAX after a report. */
static uint32_t one_word(struct tlmc_clause *c, const struct tlmc_ast *set,
                         const char *const *words, const char *text)
{
    const tlmc_sym name = tlmc_setting_name(set);

    for (uint32_t i = 0; name && words[i]; i++)
        if (!strcmp(words[i], name))
            return i;
    tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING, "`%s` is %s", set->text, text);
    return UINT32_MAX;
}

void tlmc_set_evaluate(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    static const char *const words[] = { "train", NULL };

    if (one_word(c, set, words, "train: over all training rows") == 0)
        c->s->module->train.evaluate_train = true;
}

void tlmc_set_log_loss(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    static const char *const words[] = { "before", "after", NULL };

    c->s->module->train.log_loss_after = one_word(c, set, words, "before or after the update") == 1;
}

/* Names are checked where entries are elaborated. */
void tlmc_set_entry(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_work *w = find_work(c->s, TLMC_TRAIN, tlmc_setting_name(set));
    struct tlmc_clause inner;

    if (!w || set->kids[1]->kind != TLMC_AST_SETTINGS)
        return;
    inner = open_clause(c->s, w, set);
    tlmc_read_settings(&inner, TLMC_C_ENTRY, set->kids[1]);
    open_clause(c->s, find_work(c->s, TLMC_TRAIN, NULL), c->node);
}

static bool may_lack_data(const struct tlmc_sema *s)
{
    uint32_t trained = 0;

    for (unsigned i = 0; i < s->module->forms.count; i++)
        trained += s->module->forms.items[i].mode == TLMC_TRAIN;
    return trained > 1; /* each entry has inputs of its own */
}

static void apply_train(struct tlmc_sema *s, const struct tlmc_ast *node)
{
    struct tlmc_train *t = &s->module->train;
    struct tlmc_clause c = open_clause(s, find_work(s, TLMC_TRAIN, NULL), node);

    t->present = true;
    t->span = node->span;
    t->accumulate = 1;
    tlmc_read_settings(&c, TLMC_C_TRAIN, node->kids[1]);
    if (t->steps && t->epochs)
        tlmc_sema_error(s, c.f, node->span, TLMC_E_SETTING,
                        "training runs for steps or for epochs, not both");
    if (!t->groups && !s->failures)
        tlmc_sema_error(s, c.f, node->span, TLMC_E_SETTING,
                        "train needs an optimizer, such as optimizer adam(lr = 1e-3);");
    if (!may_lack_data(s) && !s->failures)
        tlmc_check_feeds(&c, &t->data);
}

/* ---- pretrained */

void tlmc_set_rename(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    const struct tlmc_ast *maps = set->kids[0];
    struct tlmc_rename r;

    for (uint32_t i = 0; i < maps->count; i++) {
        const struct tlmc_ast *n = maps->kids[i];

        if (n->kind != TLMC_AST_MAPS || n->kids[0]->kind != TLMC_AST_STR ||
            n->kids[1]->kind != TLMC_AST_STR) {
            tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                            "rename is \"ours.*\" -> \"theirs.*\"");
            return;
        }
        r.from = tlmc_eval_string(c->s, c->f, n->kids[0]->span, n->kids[0]->text);
        r.to = tlmc_eval_string(c->s, c->f, n->kids[1]->span, n->kids[1]->text);
        if (!r.from || !r.to)
            return;
        tlmc_pattern_known(c, n, r.from, true);
        TLMC_PUSH(c->s->arena, &c->s->module->pretrained.renames, r);
    }
    if (!maps->count)
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING,
                        "rename is \"ours.*\" -> \"theirs.*\"");
}

void tlmc_set_ignore(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_sym *patterns;
    uint32_t count;

    if (tlmc_setting_strings(c, set, &patterns,
                             &count)) /* keys of the file: nothing here to match */
        for (uint32_t i = 0; i < count; i++)
            TLMC_PUSH(c->s->arena, &c->s->module->pretrained.ignores, patterns[i]);
}

void tlmc_set_only(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_sym *patterns;
    uint32_t count;

    if (!tlmc_setting_strings(c, set, &patterns, &count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        tlmc_pattern_known(c, set->kids[0]->kids[i], patterns[i], true);
        TLMC_PUSH(c->s->arena, &c->s->module->pretrained.onlys, patterns[i]);
    }
}

static void apply_pretrained(struct tlmc_sema *s, const struct tlmc_ast *node)
{
    struct tlmc_clause c = open_clause(s, s->works.items[0], node);

    s->module->pretrained.present = true;
    if (node->kids[0]->kind == TLMC_AST_STR)
        s->module->pretrained.path =
            tlmc_eval_string(s, c.f, node->kids[0]->span, node->kids[0]->text);
    tlmc_read_settings(&c, TLMC_C_PRETRAINED, node->kids[1]);
}

/* ---- generate */

void tlmc_set_generate_entry(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    (void)c; /* read by apply_generate, which needs it first */
    (void)set;
}

/* The input or output that a setting names. */
static uint32_t generated_io(struct tlmc_clause *c, const struct tlmc_ast *set,
                             const tlmc_io_vec *list, const char *what)
{
    const tlmc_sym name = tlmc_setting_name(set);
    const uint32_t at = name ? tlmc_find_io(list, name) : TLMC_NONE;

    if (at == TLMC_NONE)
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_FEED, "`%s` is no %s of entry `%s`",
                        name ? name : "", what, c->form->entry);
    return at;
}

void tlmc_set_feed(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    c->s->module->generate.feed = generated_io(c, set, &c->form->inputs, "input");
}

void tlmc_set_sample(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    c->s->module->generate.sample = generated_io(c, set, &c->form->outputs, "output");
}

void tlmc_set_text(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_generate *g = &c->s->module->generate;
    const struct tlmc_ast *n;

    if (!tlmc_setting_one(c, set, &n))
        return;
    g->bytes = n->kind == TLMC_AST_NAME && !strcmp(n->text, "bytes");
    if (n->kind == TLMC_AST_STR)
        g->vocabulary = tlmc_eval_string(c->s, c->f, n->span, n->text);
    else if (!g->bytes)
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                        "text is bytes or the file of a vocabulary in quotes");
}

void tlmc_set_tokens(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_setting_int(c, set, 0, &c->s->module->generate.tokens);
}

void tlmc_set_top_k(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    tlmc_setting_int(c, set, 0, &c->s->module->generate.top_k);
}

void tlmc_set_temperature(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    double t;

    if (!tlmc_setting_number(c, set, &t))
        return;
    if (t < 0.0)
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING,
                        "a temperature is not negative; 0 takes the likeliest");
    else
        c->s->module->generate.temperature = t;
}

/* The feed is ids [batch of 1, window], the sample has logits a class each on its last axis. */
static void check_generate(struct tlmc_clause *c)
{
    const struct tlmc_generate *g = &c->s->module->generate;
    const struct tlmc_form *form = c->form;
    const struct tlmc_type *in, *out;

    if (!tlmc_find_setting(c->node->kids[1], "feed") ||
        !tlmc_find_setting(c->node->kids[1], "sample") ||
        !tlmc_find_setting(c->node->kids[1], "text")) {
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_SETTING,
                        "generate needs feed, sample and text");
        return;
    }
    in = tlmc_value_type(form->graph, form->inputs.items[g->feed].value);
    out = tlmc_value_type(form->graph, form->outputs.items[g->sample].value);
    if (in->dtype != TLMC_I32 || in->rank != 2 || in->dims[0] != 1)
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_FEED, "the feed is i32[1, T], `%s` is %s",
                        form->inputs.items[g->feed].name, tlmc_show_type(c->s, in));
    else if (!tlmc_dtype_is_float(out->dtype) || out->rank < 2 || out->dims[out->rank - 1] < 1)
        tlmc_sema_error(c->s, c->f, c->node->span, TLMC_E_FEED,
                        "the sample is float logits with a class axis, `%s` is %s",
                        form->outputs.items[g->sample].name, tlmc_show_type(c->s, out));
}

static struct tlmc_work *generate_work(struct tlmc_sema *s, const struct tlmc_ast *node)
{
    const struct tlmc_ast *chosen = tlmc_find_setting(node->kids[1], "entry");
    const tlmc_sym entry = chosen ? tlmc_setting_name(chosen) : NULL;
    struct tlmc_work *w = find_work(s, TLMC_GENERATE, entry);
    uint32_t inferring = 0;

    for (unsigned i = 0; i < s->works.count; i++)
        inferring += s->works.items[i]->form.mode == TLMC_INFER;
    if (!w && (!chosen || entry))
        w = find_work(s, TLMC_INFER, entry);
    if (!w)
        tlmc_sema_error(s, NULL, (chosen ? chosen : node)->span, TLMC_E_ENTRY,
                        "generate needs an entry with outputs");
    else if (!chosen && inferring > 1)
        tlmc_sema_error(s, NULL, node->span, TLMC_E_ENTRY,
                        "several entries have outputs: say which with entry NAME;");
    return w;
}

static void apply_generate(struct tlmc_sema *s, const struct tlmc_ast *node)
{
    struct tlmc_generate *g = &s->module->generate;
    struct tlmc_work *w = generate_work(s, node);
    struct tlmc_clause c;

    if (!w || s->failures)
        return;
    c = open_clause(s, w, node);
    *g = (struct tlmc_generate){ .present = true, .tokens = 100, .temperature = 1.0 };
    for (unsigned i = 0; i < s->works.count; i++)
        if (s->works.items[i] == w)
            g->form = i;
    tlmc_read_settings(&c, TLMC_C_GENERATE, node->kids[1]);
    if (!s->failures)
        check_generate(&c);
}

static void apply_infer(struct tlmc_sema *s, const struct tlmc_ast *node)
{
    struct tlmc_work *w = find_work(s, TLMC_INFER, NULL);
    struct tlmc_clause c = open_clause(s, w ? w : s->works.items[0], node);

    tlmc_read_settings(&c, TLMC_C_INFER, node->kids[1]);
}

void tlmc_apply_clauses(struct tlmc_sema *s)
{
    static void (*const apply[CLAUSE_COUNT])(struct tlmc_sema *, const struct tlmc_ast *) = {
        apply_train, apply_infer, apply_generate, apply_pretrained
    };

    for (int i = 0; i < CLAUSE_COUNT; i++) {
        const struct tlmc_ast *node = tlmc_find_clause(s->file, known_clauses[i]);

        if (node && s->works.count)
            apply[i](s, node);
    }
}
