/* Calls: the callee, its arguments, and for a block a frame of its own in the scope that `as`
   names. */
#include "sema.h"

#include <string.h>

static struct tlmc_results failed(void)
{
    return tlmc_result(tlmc_val_poison());
}

static const struct tlmc_fn *find_callee(struct tlmc_sema *s, struct tlmc_frame *f,
                                         const struct tlmc_ast *n)
{
    struct tlmc_val v;

    while (n->kind == TLMC_AST_PAREN)
        n = n->kids[0];
    if (n->kind == TLMC_AST_NAME)
        return tlmc_lookup_fn(s, f, n->text, n->span);
    v = tlmc_eval(s, f, n);
    if (v.kind == TLMC_V_FN)
        return v.u.fn;
    if (v.kind != TLMC_V_POISON)
        tlmc_sema_error(s, f, n->span, TLMC_E_KIND, "%s cannot be called", tlmc_show(s, &v));
    return NULL;
}

static bool is_given(const struct tlmc_args *args, tlmc_sym name)
{
    for (unsigned i = 0; i < args->list.count; i++)
        if (args->list.items[i].name == name)
            return true;
    return false;
}

static void add_argument(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                         struct tlmc_args *args)
{
    const bool keyword = n->kind == TLMC_AST_KEYWORD;
    const struct tlmc_ast *value = keyword ? n->kids[0] : n;
    struct tlmc_arg arg = { keyword ? n->text : NULL, tlmc_eval(s, f, value), value, n };

    if (keyword && is_given(args, n->text)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_ARGUMENT, "argument `%s` is given twice", n->text);
        args->poisoned = true;
    } else if (!keyword && args->list.count && args->list.items[args->list.count - 1].name) {
        tlmc_sema_error(s, f, n->span, TLMC_E_ARGUMENT, "a positional argument after a named one");
        args->poisoned = true;
    }
    args->poisoned = args->poisoned || arg.value.kind == TLMC_V_POISON;
    TLMC_PUSH(s->arena, &args->list, arg);
}

static struct tlmc_args eval_arguments(struct tlmc_sema *s, struct tlmc_frame *f,
                                       const struct tlmc_ast *n)
{
    struct tlmc_args args = { 0 };

    for (uint32_t i = 0; i < n->count; i++)
        add_argument(s, f, n->kids[i], &args);
    return args;
}

/* ---- blocks */

static bool is_running(const struct tlmc_frame *f, const struct tlmc_ast *block)
{
    for (; f; f = f->call ? f->parent : NULL)
        if (f->block == block)
            return true;
    return false;
}

/* `training = b` may be passed to any block: it is taken out of the arguments. */
static bool take_training(struct tlmc_sema *s, struct tlmc_frame *f, struct tlmc_args *args,
                          bool *training)
{
    unsigned kept = 0;
    bool ok = true;

    for (unsigned i = 0; i < args->list.count; i++) {
        const struct tlmc_arg a = args->list.items[i];

        if (!a.name || strcmp(a.name, "training")) {
            args->list.items[kept++] = a;
            continue;
        }
        *training = a.value.kind == TLMC_V_BOOL && a.value.u.b;
        if (a.value.kind != TLMC_V_BOOL) {
            tlmc_sema_error(s, f, a.node->span, TLMC_E_KIND, "`training` is true or false, got %s",
                            tlmc_show(s, &a.value));
            ok = false;
        }
    }
    args->list.count = kept;
    return ok;
}

static struct tlmc_frame *enter_block(struct tlmc_sema *s, struct tlmc_frame *f,
                                      const struct tlmc_ast *n, const struct tlmc_fn *fn)
{
    struct tlmc_frame *g = tlmc_frame_new(s, f, fn->file, fn->name);

    g->is_block = true;
    g->call = n;
    g->block = fn->block;
    g->inst = f->inst;
    g->shared = f->shared;
    g->training = f->training;
    g->user_span = f->file->library ? f->user_span : n->span;
    return g;
}

static struct tlmc_results run_block(struct tlmc_sema *s, struct tlmc_frame *g,
                                     const struct tlmc_args *args)
{
    const uint64_t before = s->failures;

    if (!tlmc_bind_block(s, g, g->call, args))
        return failed();
    tlmc_walk(s, g, g->block->kids[2]);
    if (s->failures != before || s->stop)
        return failed(); /* what it would give is not to be trusted */
    if (!g->returned) {
        tlmc_sema_error(s, g, g->block->span, TLMC_E_RETURN_TYPE, "block `%s` ends without return",
                        g->title);
        return failed();
    }
    return tlmc_check_results(s, g, g->block) ? g->results : failed();
}

static struct tlmc_results call_block(struct tlmc_sema *s, struct tlmc_frame *f,
                                      const struct tlmc_ast *n, const struct tlmc_fn *fn,
                                      struct tlmc_args *args, const struct tlmc_ast *as)
{
    struct tlmc_frame *g;

    if (is_running(f, fn->block)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_RECURSION, "block `%s` calls itself", fn->name);
        return failed();
    }
    g = enter_block(s, f, n, fn);
    if (!take_training(s, f, args, &g->training))
        return failed();
    if (as) {
        g->inst = tlmc_instance_enter(s, f, as, &g->shared);
        if (!g->inst)
            return failed();
    }
    return run_block(s, g, args);
}

/* ---- everything that can be called */

static bool makes_initialiser(const struct tlmc_fn *fn, const struct tlmc_args *args)
{
    if (fn->kind == TLMC_FN_INIT)
        return true;
    return fn->kind == TLMC_FN_FUNCTION && tlmc_init_find(fn->name) != UINT32_MAX &&
           !args->list.count;
}

static bool static_arguments(const struct tlmc_args *args, struct tlmc_val *vals)
{
    for (unsigned i = 0; i < args->list.count; i++) {
        if (args->list.items[i].name || i == 3)
            return false;
        vals[i] = args->list.items[i].value;
    }
    return args->list.count > 0;
}

static struct tlmc_results call_function(struct tlmc_sema *s, struct tlmc_frame *f,
                                         const struct tlmc_ast *n, const struct tlmc_fn *fn,
                                         const struct tlmc_args *args)
{
    struct tlmc_val vals[3], v;

    if (makes_initialiser(fn, args))
        return tlmc_result(tlmc_init_call(s, f, n, tlmc_init_find(fn->name), args));
    if (static_arguments(args, vals) &&
        tlmc_static_call(s, f, n, fn->name, vals, args->list.count, &v))
        return tlmc_result(v);
    if (fn->kind == TLMC_FN_FUNCTION)
        return tlmc_call_function(s, f, n, fn->row, args);
    if (fn->kind == TLMC_FN_CAST)
        return tlmc_result(tlmc_cast(s, f, n, fn->dtype, args));
    return tlmc_call_op(s, f, n, fn->op, args);
}

struct tlmc_results tlmc_eval_call(struct tlmc_sema *s, struct tlmc_frame *f,
                                   const struct tlmc_ast *n, const struct tlmc_ast *as)
{
    const struct tlmc_fn *fn = find_callee(s, f, n->kids[0]);
    struct tlmc_args args = eval_arguments(s, f, n->kids[1]);

    if (!fn)
        s->failures++; /* said already */
    if (!fn || args.poisoned)
        return failed();
    if (fn->kind == TLMC_FN_BLOCK)
        return call_block(s, f, n, fn, &args, as);
    if (as) {
        tlmc_sema_error(s, f, as->span, TLMC_E_ARGUMENT,
                        "`%s` has no parameters; only a block call takes `as`", fn->name);
        return failed();
    }
    return call_function(s, f, n, fn, &args);
}
