/* Optimizer, its groups, schedule, clipping: the numbers of the training step. */
#include "sema.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct option {
    enum tlmc_optimizer optimizer;
    const char *name;
    bool is_flag;
    size_t field;
    double fallback, lowest, highest;
} options[] = {
#define IS_double false
#define IS_bool true
#define OPTION(optimizer, name, kind, fallback, lowest, highest)              \
    { TLMC_##optimizer, #name,  IS_##kind, offsetof(struct tlmc_group, name), \
      fallback,         lowest, highest },
#include "optimizers.def"
};

enum { OPTION_COUNT = sizeof options / sizeof *options };

static void set_option(struct tlmc_group *group, const struct option *o, double value)
{
    const bool flag = value != 0.0;

    if (o->is_flag)
        memcpy((char *)group + o->field, &flag, sizeof flag);
    else
        memcpy((char *)group + o->field, &value, sizeof value);
}

static struct tlmc_group default_group(enum tlmc_optimizer optimizer)
{
    struct tlmc_group group = { 0 };

    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (options[i].optimizer == optimizer)
            set_option(&group, &options[i], options[i].fallback);
    return group;
}

static const char *known_options(struct tlmc_sema *s, enum tlmc_optimizer optimizer)
{
    struct tlmc_strbuf buf = { 0 };
    const char *text;

    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (options[i].optimizer == optimizer)
            tlmc_strbuf_printf(&buf, "%s%s", buf.length ? ", " : "", options[i].name);
    text = tlmc_arena_strdup(s->arena, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return text;
}

/* name = value for a group; reports unknown names and values out of range. */
static void read_option(struct tlmc_clause *c, enum tlmc_optimizer optimizer,
                        struct tlmc_group *group, const struct tlmc_ast *n, tlmc_sym name,
                        const struct tlmc_ast *value)
{
    const struct tlmc_val v = tlmc_eval(c->s, c->f, value);
    const struct option *o = NULL;
    double number;

    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (options[i].optimizer == optimizer && !strcmp(options[i].name, name))
            o = &options[i];
    if (!o) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_CLAUSE,
                        "optimizer %s has no argument `%s`; it has %s",
                        tlmc_optimizer_name(optimizer), name, known_options(c->s, optimizer));
        return;
    }
    if (v.kind == TLMC_V_POISON)
        return;
    if (o->is_flag ? v.kind != TLMC_V_BOOL : !tlmc_val_is_number(&v)) {
        tlmc_sema_error(c->s, c->f, value->span, TLMC_E_SETTING, "`%s` is %s, not %s", name,
                        o->is_flag ? "true or false" : "a number", tlmc_show(c->s, &v));
        return;
    }
    number = o->is_flag ? v.u.b : tlmc_val_number(&v);
    if (!isfinite(number) || number < o->lowest || number > o->highest ||
        (o->highest == 1.0 && !o->is_flag && number == 1.0)) {
        tlmc_sema_error(c->s, c->f, value->span, TLMC_E_SETTING, "`%s` cannot be %s", name,
                        tlmc_show(c->s, &v));
        return;
    }
    set_option(group, o, number);
}

/* ---- groups */

static void check_group(struct tlmc_clause *c, const struct tlmc_ast *n,
                        const struct tlmc_group *group)
{
    if (group->nesterov && (group->momentum <= 0.0 || group->dampening != 0.0))
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING,
                        "nesterov needs a momentum and no dampening");
}

static void add_member(struct tlmc_sema *s, struct tlmc_group *group, uint32_t param)
{
    if (!group->params)
        group->params = TLMC_NEW_ARRAY(s->arena, uint32_t, s->module->params.count);
    group->params[group->param_count++] = param;
}

/* Members by pattern; what no group took belongs to the last one. */
static void fill_group(struct tlmc_clause *c, struct tlmc_group *group, const tlmc_sym *patterns,
                       uint32_t count, bool *taken)
{
    for (uint32_t p = 0; p < c->s->module->params.count; p++) {
        const struct tlmc_param *param = &c->s->module->params.items[p];
        bool match = !patterns;

        for (uint32_t i = 0; i < count && !match; i++)
            match = tlmc_pattern_matches(patterns[i], param->key);
        if (!match || taken[p] || param->kind != TLMC_PARAM_TRAINED || param->frozen)
            continue;
        taken[p] = true;
        add_member(c->s, group, p);
    }
}

static void read_group(struct tlmc_clause *c, struct tlmc_train *t, const struct tlmc_ast *set,
                       bool *taken)
{
    struct tlmc_group *group = &t->groups[t->group_count++];
    const struct tlmc_ast *settings = set->kids[1];
    tlmc_sym *patterns;
    uint32_t count;

    if (strcmp(set->text, "group")) {
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_CLAUSE,
                        "unknown setting `%s` in an optimizer; known: group", set->text);
        return;
    }
    if (!tlmc_setting_strings(c, set, &patterns, &count))
        return;
    for (uint32_t i = 0; i < count; i++)
        tlmc_pattern_known(c, set->kids[0]->kids[i], patterns[i], false);
    for (uint32_t i = 0; settings->kind == TLMC_AST_SETTINGS && i < settings->count; i++) {
        const struct tlmc_ast *n = settings->kids[i];

        if (n && n->kind == TLMC_AST_BIND && !tlmc_setting_repeats(c, settings, i))
            read_option(c, t->optimizer, group, n, n->text, n->kids[0]);
        else if (n && n->kind != TLMC_AST_BIND)
            tlmc_sema_error(c->s, c->f, n->span, TLMC_E_CLAUSE,
                            "a group has arguments of the optimizer: NAME = value;");
    }
    check_group(c, set, group);
    fill_group(c, group, patterns, count, taken);
}

static bool find_optimizer(struct tlmc_clause *c, const struct tlmc_ast *n,
                           const struct tlmc_ast **args)
{
    struct tlmc_strbuf known = { 0 };
    tlmc_sym name = NULL;

    if (tlmc_call_form(n, &name, args))
        for (int i = 0; i < TLMC_OPTIMIZER_COUNT; i++)
            if (!strcmp(tlmc_optimizer_name((enum tlmc_optimizer)i), name)) {
                c->s->module->train.optimizer = (enum tlmc_optimizer)i;
                return true;
            }
    for (int i = 0; i < TLMC_OPTIMIZER_COUNT; i++)
        tlmc_strbuf_printf(&known, "%s%s", i ? ", " : "",
                           tlmc_optimizer_name((enum tlmc_optimizer)i));
    tlmc_sema_error(c->s, c->f, n->span, TLMC_E_CLAUSE, "unknown optimizer%s%s%s; known: %s",
                    name ? " `" : "", name ? name : "", name ? "`" : "", tlmc_strbuf_text(&known));
    tlmc_strbuf_free(&known);
    return false;
}

/* The name of an argument; lr may stand first without one. */
static tlmc_sym argument_name(struct tlmc_clause *c, const struct tlmc_ast *args, uint32_t at)
{
    if (args->kids[at]->kind == TLMC_AST_KEYWORD)
        return args->kids[at]->text;
    return at == 0 ? TLMC_SYM(c->s, "lr") : NULL;
}

static void read_arguments(struct tlmc_clause *c, struct tlmc_train *t, const struct tlmc_ast *args,
                           struct tlmc_group *base)
{
    for (uint32_t i = 0; args && i < args->count; i++) {
        const struct tlmc_ast *a = args->kids[i];
        const tlmc_sym name = argument_name(c, args, i);
        bool twice = false;

        for (uint32_t j = 0; name && j < i; j++)
            twice = twice || argument_name(c, args, j) == name;
        if (!name)
            tlmc_sema_error(c->s, c->f, a->span, TLMC_E_SETTING,
                            "arguments of an optimizer have names: lr = 1e-3");
        else if (twice)
            tlmc_sema_error(c->s, c->f, a->span, TLMC_E_ARGUMENT, "argument `%s` is given twice",
                            name);
        else
            read_option(c, t->optimizer, base, a, name,
                        a->kind == TLMC_AST_KEYWORD ? a->kids[0] : a);
    }
}

/* One optimizer: of the clause, or of the entry it trains. */
static bool is_second_optimizer(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    const struct tlmc_ast *train = tlmc_find_clause(c->s->file, "train");

    if (c->node == train || !tlmc_find_setting(train->kids[1], "optimizer"))
        return false;
    tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING,
                    "`optimizer` is set for `train` and for its entry; keep one");
    return true;
}

void tlmc_set_optimizer(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_train *t = &c->s->module->train;
    const struct tlmc_ast *n, *args, *groups = set->kids[1];
    const uint32_t count = groups->kind == TLMC_AST_SETTINGS ? groups->count : 0;
    struct tlmc_group base;
    bool *taken = TLMC_NEW_ARRAY(c->s->arena, bool, c->s->module->params.count + 1);

    if (is_second_optimizer(c, set))
        return;
    if (t->groups) /* of the first trained entry; the driver refuses several */
        return;
    if (!tlmc_setting_one(c, set, &n) || !find_optimizer(c, n, &args))
        return;
    base = default_group(t->optimizer);
    read_arguments(c, t, args, &base);
    check_group(c, n, &base);
    t->groups = TLMC_NEW_ARRAY(c->s->arena, struct tlmc_group, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (!groups->kids[i])
            continue;
        t->groups[t->group_count] = base;
        read_group(c, t, groups->kids[i], taken);
    }
    t->groups[t->group_count] = base;
    fill_group(c, &t->groups[t->group_count++], NULL, 0, taken);
}

/* ---- schedule */

static const struct {
    const char *name, *signature;
} schedules[] = {
    /* by enum tlmc_schedule_kind; the first number of each is its length, 0: the rest */
    [TLMC_SCHED_CONSTANT] = { "constant", "i:steps=0" },
    [TLMC_SCHED_WARMUP] = { "warmup", "i:steps" },
    [TLMC_SCHED_COSINE] = { "cosine", "i:steps=0 f:final=0.0" },
    [TLMC_SCHED_STEP] = { "step", "i:steps=0 f:factor=0.1 i:every" },
    [TLMC_SCHED_EXPONENTIAL] = { "exponential", "i:steps=0 f:factor" },
    [TLMC_SCHED_ONE_CYCLE] = { "one_cycle",
                               "i:steps=0 f:factor=0.04 f:peak=1.0 f:final=4e-6 i:rise=0" },
};

enum { SCHEDULE_COUNT = sizeof schedules / sizeof *schedules };

static bool fill_schedule(struct tlmc_call *call, struct tlmc_schedule *out)
{
    out->steps = call->v[0].u.i;
    out->factor = out->peak = 1.0;
    switch (out->kind) {
    case TLMC_SCHED_CONSTANT:
    case TLMC_SCHED_WARMUP: break;
    case TLMC_SCHED_COSINE: out->final = call->v[1].u.f; break;
    case TLMC_SCHED_STEP:
        out->every = call->v[2].u.i;
        out->factor = call->v[1].u.f;
        break;
    case TLMC_SCHED_EXPONENTIAL: out->factor = call->v[1].u.f; break;
    case TLMC_SCHED_ONE_CYCLE:
        out->factor = call->v[1].u.f;
        out->peak = call->v[2].u.f;
        out->final = call->v[3].u.f;
        out->every = call->v[4].u.i;
        break;
    }
    if (out->kind == TLMC_SCHED_ONE_CYCLE && out->steps > 0 && out->every > out->steps) {
        tlmc_sema_error(call->s, call->f, call->node->span, TLMC_E_SETTING,
                        "`one_cycle` cannot rise for %lld of its %lld steps", (long long)out->every,
                        (long long)out->steps);
        return false;
    }
    if (out->steps >= (out->kind == TLMC_SCHED_WARMUP) &&
        out->every >= (out->kind == TLMC_SCHED_STEP) && isfinite(out->factor) &&
        isfinite(out->peak) && isfinite(out->final) && out->factor >= 0.0 && out->peak >= 0.0 &&
        out->final >= 0.0)
        return true;
    tlmc_sema_error(call->s, call->f, call->node->span, TLMC_E_SETTING,
                    "schedule `%s`: steps are counted from 0 up, factors are not negative",
                    call->name);
    return false;
}

static bool bind_schedule(struct tlmc_clause *c, const struct tlmc_ast *n,
                          const struct tlmc_ast *nodes, struct tlmc_schedule *out)
{
    struct tlmc_call call = { .s = c->s, .f = c->f, .node = n, .name = schedules[out->kind].name };
    struct tlmc_args args = { 0 };

    for (uint32_t i = 0; nodes && i < nodes->count; i++) {
        const struct tlmc_ast *a = nodes->kids[i];
        const bool keyword = a->kind == TLMC_AST_KEYWORD;
        const struct tlmc_arg arg = { keyword ? a->text : NULL,
                                      tlmc_eval(c->s, c->f, keyword ? a->kids[0] : a), a, a };

        if (arg.value.kind == TLMC_V_POISON)
            return false;
        TLMC_PUSH(c->s->arena, &args.list, arg);
    }
    return tlmc_bind_signature(&call, schedules[out->kind].signature, &args) &&
           fill_schedule(&call, out);
}

static bool find_schedule(struct tlmc_clause *c, const struct tlmc_ast *n,
                          const struct tlmc_ast **args, struct tlmc_schedule *out)
{
    tlmc_sym name = NULL;

    if (tlmc_call_form(n, &name, args))
        for (int i = 0; i < SCHEDULE_COUNT; i++)
            if (!strcmp(schedules[i].name, name)) {
                *out = (struct tlmc_schedule){ .kind = (enum tlmc_schedule_kind)i };
                return true;
            }
    tlmc_sema_error(
        c->s, c->f, n->span, TLMC_E_CLAUSE,
        "unknown schedule; known: constant, warmup, cosine, step, exponential, one_cycle");
    return false;
}

void tlmc_set_schedule(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    const struct tlmc_ast *values = set->kids[0], *args;
    struct tlmc_schedule one;
    bool open = false;

    if (values->kind != TLMC_AST_VALUES)
        tlmc_sema_error(c->s, c->f, set->span, TLMC_E_SETTING,
                        "a schedule is a list such as warmup(100), cosine()");
    for (uint32_t i = 0; values->kind == TLMC_AST_VALUES && i < values->count; i++) {
        if (!find_schedule(c, values->kids[i], &args, &one) ||
            !bind_schedule(c, values->kids[i], args, &one))
            continue;
        if (one.steps == 0 && open)
            tlmc_sema_error(
                c->s, c->f, values->kids[i]->span, TLMC_E_SETTING,
                "only one part of a schedule can take the rest; give this one its steps");
        open = open || one.steps == 0;
        TLMC_PUSH(c->s->arena, &c->s->module->train.schedule, one);
    }
}

/* ---- clip */

void tlmc_set_clip(struct tlmc_clause *c, const struct tlmc_ast *set)
{
    struct tlmc_train *t = &c->s->module->train;
    const struct tlmc_ast *n, *args;
    struct tlmc_val v;
    tlmc_sym name = NULL;

    if (!tlmc_setting_one(c, set, &n))
        return;
    if (!tlmc_call_form(n, &name, &args) || (strcmp(name, "norm") && strcmp(name, "value")) ||
        !args || args->count != 1 || args->kids[0]->kind == TLMC_AST_KEYWORD) {
        tlmc_sema_error(c->s, c->f, n->span, TLMC_E_SETTING, "clip is norm(1.0) or value(0.5)");
        return;
    }
    v = tlmc_eval(c->s, c->f, args->kids[0]);
    if (v.kind == TLMC_V_POISON)
        return;
    if (!tlmc_val_is_number(&v) || !(tlmc_val_number(&v) > 0.0) || !isfinite(tlmc_val_number(&v))) {
        tlmc_sema_error(c->s, c->f, args->kids[0]->span, TLMC_E_SETTING,
                        "a bound is a number above 0, not %s", tlmc_show(c->s, &v));
        return;
    }
    t->clip = !strcmp(name, "norm") ? TLMC_CLIP_NORM : TLMC_CLIP_VALUE;
    t->clip_value = tlmc_val_number(&v);
}
