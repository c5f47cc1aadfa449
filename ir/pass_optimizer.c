/* The step after the gradients.  In: the training form with form->grads, and the module's train
   clause.  Out: nodes that add gradients over micro-batches, clip them and update the parameters,
   with the optimizer's states as new parameters of the module and its per-step numbers as scalars.
   A parameter without a gradient gets nothing: no decay either. */
#include "graph_edit.h"
#include "pass.h"
#include "strbuf.h"

#include <string.h>

/* docs/numerics.md: scale min(1, max / (norm + eps)). */
#define CLIP_NORM_EPS 1e-6

enum { MAX_STATES = 3, MAX_OPERANDS = 8, MAX_ATTRS = 5 };

struct step {
    struct tlmc_module *module;
    struct tlmc_form *form;
    struct tlmc_graph *graph;
    uint32_t *leaves;       /* by parameter: its PARAM leaf */
    uint32_t *grads;        /* by parameter: gradient as the update reads it; TLMC_NONE */
    uint32_t *accumulators; /* by parameter: slot of the sum over micro-batches; TLMC_NONE */
    uint32_t *scalars;      /* by row of module->scalars: SCALAR leaf, or TLMC_NONE */
    uint32_t scalar_room;
    uint32_t gscale; /* factor of all gradients, or TLMC_NONE */
};

static uint32_t *none_array(struct tlmc_arena *arena, uint32_t count)
{
    uint32_t *ids = TLMC_NEW_ARRAY(arena, uint32_t, count ? count : 1);

    memset(ids, 0xff, count * sizeof *ids);
    return ids;
}

/* A new parameter of the module, of the type of parameter `of`; returns its slot. */
static uint32_t add_state(struct step *s, enum tlmc_param_kind kind, const char *prefix,
                          const char *name, uint32_t of, double init)
{
    const struct tlmc_param *param = &s->module->params.items[of];
    struct tlmc_param state = { .type = param->type,
                                .kind = kind,
                                .init = { .kind = TLMC_INIT_CONSTANT, .a = init },
                                .ordinal = s->module->params.count,
                                .of = of,
                                .span = param->span };
    struct tlmc_strbuf key = { 0 };

    tlmc_strbuf_printf(&key, "tlm.%s.%s%s%s", prefix, name, *name ? "." : "", param->key);
    state.key = tlmc_intern(s->module->symbols, tlmc_strbuf_text(&key));
    tlmc_strbuf_clear(&key);
    tlmc_strbuf_printf(&key, "constant(%g)", init);
    state.init.text = tlmc_intern(s->module->symbols, tlmc_strbuf_text(&key));
    tlmc_strbuf_free(&key);
    TLMC_PUSH(s->module->arena, &s->module->params, state);
    return s->module->params.count - 1;
}

static uint32_t state_leaf(struct step *s, uint32_t slot)
{
    const uint32_t leaf =
        tlmc_build_leaf(s->graph, TLMC_OP_STATE, slot, &s->module->params.items[slot].type);

    s->graph->values[leaf].name = s->module->params.items[slot].key;
    return leaf;
}

/* The leaf of a per-step scalar: one row a kind and group, one leaf a row. */
static uint32_t scalar(struct step *s, enum tlmc_scalar_kind kind, uint32_t group)
{
    const struct tlmc_type type = tlmc_type_make(TLMC_F32, 0, NULL);
    const struct tlmc_scalar row = { .kind = kind, .group = group };
    unsigned i;

    for (i = 0; i < s->module->scalars.count; i++)
        if (s->module->scalars.items[i].kind == kind && s->module->scalars.items[i].group == group)
            break;
    if (i == s->module->scalars.count)
        TLMC_PUSH(s->module->arena, &s->module->scalars, row);
    TLMC_CHECK(i < s->scalar_room);
    if (s->scalars[i] == TLMC_NONE)
        s->scalars[i] = tlmc_build_leaf(s->graph, TLMC_OP_SCALAR, i, &type);
    return s->scalars[i];
}

/* ---- gradients as the update reads them */

static void accumulate(struct step *s)
{
    const int64_t k = s->module->train.accumulate;
    uint32_t i;

    s->graph->phase = TLMC_ACCUMULATE_PHASE;
    for (i = 0; i < s->form->grad_count; i++) {
        const struct tlmc_grad *grad = &s->form->grads[i];
        const uint32_t slot = s->accumulators[grad->param] =
            add_state(s, TLMC_PARAM_ACCUMULATOR, "accumulator", "", grad->param, 0);

        tlmc_build2(s->graph, TLMC_OP_ACCUMULATE, state_leaf(s, slot), grad->value);
    }
    s->graph->phase = TLMC_UPDATE_PHASE;
    for (i = 0; i < s->form->grad_count; i++) {
        const uint32_t param = s->form->grads[i].param;

        s->grads[param] =
            tlmc_build_scale(s->graph, state_leaf(s, s->accumulators[param]), 1.0 / (double)k);
    }
}

static uint32_t build_norm(struct step *s)
{
    uint32_t *grads = TLMC_NEW_ARRAY(s->graph->arena, uint32_t, s->form->grad_count + 1);

    for (uint32_t i = 0; i < s->form->grad_count; i++)
        grads[i] = s->grads[s->form->grads[i].param];
    return tlmc_add_node(s->graph, TLMC_OP_GLOBAL_NORM, grads, s->form->grad_count, NULL, 0);
}

static void clip(struct step *s)
{
    const struct tlmc_train *train = &s->module->train;
    uint32_t i;

    if (train->clip == TLMC_CLIP_VALUE) {
        const struct tlmc_attr attrs[] = {
            tlmc_attr_float(TLMC_A_MIN, -train->clip_value),
            tlmc_attr_float(TLMC_A_MAX, train->clip_value),
        };

        for (i = 0; i < s->form->grad_count; i++) {
            uint32_t *grad = &s->grads[s->form->grads[i].param];

            *grad = tlmc_add_node(s->graph, TLMC_OP_CLAMP, grad, 1, attrs, 2);
        }
    }
    if (train->clip == TLMC_CLIP_NORM) {
        struct tlmc_graph *g = s->graph;
        const uint32_t norm = build_norm(s);
        const uint32_t room =
            tlmc_build2(g, TLMC_OP_ADD, norm, tlmc_build_const(g, TLMC_F32, CLIP_NORM_EPS));
        const uint32_t ratio =
            tlmc_build2(g, TLMC_OP_DIV, tlmc_build_const(g, TLMC_F32, train->clip_value), room);

        s->gscale = tlmc_build2(g, TLMC_OP_MIN, tlmc_build_const(g, TLMC_F32, 1), ratio);
    }
}

/* ---- one update node */

struct update {
    enum tlmc_op op;
    uint32_t inputs[MAX_OPERANDS], input_count;
    struct tlmc_attr attrs[MAX_ATTRS];
    uint32_t attr_count;
};

static void operand(struct update *u, uint32_t value)
{
    TLMC_CHECK(u->input_count < MAX_OPERANDS);
    u->inputs[u->input_count++] = value;
}

static void attribute(struct update *u, enum tlmc_attr_tag tag, double value)
{
    TLMC_CHECK(u->attr_count < MAX_ATTRS);
    u->attrs[u->attr_count++] = tlmc_attr_kind(tag) == TLMC_ATTR_BOOL
                                    ? tlmc_attr_int(tag, value != 0)
                                    : tlmc_attr_float(tag, value);
}

/* A state of the optimizer as operand, under PyTorch's name; TLMC_NONE in its place when it is not
   kept. */
static void state(struct step *s, struct update *u, const char *name, bool kept, double init,
                  uint32_t param)
{
    if (kept) {
        const char *prefix = tlmc_optimizer_name(s->module->train.optimizer);
        const uint32_t slot = add_state(s, TLMC_PARAM_OPTIMIZER, prefix, name, param, init);

        operand(u, state_leaf(s, slot));
    } else {
        operand(u, TLMC_NONE);
    }
}

static void sgd(struct step *s, struct update *u, const struct tlmc_group *group, uint32_t g,
                uint32_t param)
{
    u->op = TLMC_OP_SGD_UPDATE;
    operand(u, scalar(s, TLMC_SCALAR_LR, g));
    operand(u, scalar(s, TLMC_SCALAR_UNDAMPED, g));
    state(s, u, "momentum_buffer", group->momentum != 0, 0, param);
    attribute(u, TLMC_A_MOMENTUM, group->momentum);
    attribute(u, TLMC_A_NESTEROV, group->nesterov);
    attribute(u, TLMC_A_WEIGHT_DECAY, group->weight_decay);
}

static void adam(struct step *s, struct update *u, const struct tlmc_group *group, uint32_t g,
                 uint32_t param)
{
    const bool decoupled = s->module->train.optimizer == TLMC_ADAMW;

    u->op = decoupled ? TLMC_OP_ADAMW_UPDATE : TLMC_OP_ADAM_UPDATE;
    state(s, u, "exp_avg", true, 0, param);
    state(s, u, "exp_avg_sq", true, 0, param);
    operand(u, scalar(s, TLMC_SCALAR_STEP_SIZE, g));
    operand(u, scalar(s, TLMC_SCALAR_SQRT_BC2, g));
    if (decoupled)
        operand(u, scalar(s, TLMC_SCALAR_DECAY, g));
    attribute(u, TLMC_A_BETA1, group->beta1);
    attribute(u, TLMC_A_BETA2, group->beta2);
    attribute(u, TLMC_A_EPS, group->eps);
    if (!decoupled)
        attribute(u, TLMC_A_WEIGHT_DECAY, group->weight_decay);
}

static void rmsprop(struct step *s, struct update *u, const struct tlmc_group *group, uint32_t g,
                    uint32_t param)
{
    u->op = TLMC_OP_RMSPROP_UPDATE;
    state(s, u, "square_avg", true, 0, param);
    operand(u, scalar(s, TLMC_SCALAR_LR, g));
    state(s, u, "grad_avg", group->centered, 0, param);
    state(s, u, "momentum_buffer", group->momentum != 0, 0, param);
    attribute(u, TLMC_A_ALPHA, group->alpha);
    attribute(u, TLMC_A_EPS, group->eps);
    attribute(u, TLMC_A_MOMENTUM, group->momentum);
    attribute(u, TLMC_A_CENTERED, group->centered);
    attribute(u, TLMC_A_WEIGHT_DECAY, group->weight_decay);
}

static void adagrad(struct step *s, struct update *u, const struct tlmc_group *group, uint32_t g,
                    uint32_t param)
{
    u->op = TLMC_OP_ADAGRAD_UPDATE;
    state(s, u, "sum", true, group->initial_accumulator_value, param);
    operand(u, scalar(s, TLMC_SCALAR_CLR, g));
    attribute(u, TLMC_A_EPS, group->eps);
    attribute(u, TLMC_A_WEIGHT_DECAY, group->weight_decay);
}

static void adadelta(struct step *s, struct update *u, const struct tlmc_group *group, uint32_t g,
                     uint32_t param)
{
    u->op = TLMC_OP_ADADELTA_UPDATE;
    state(s, u, "square_avg", true, 0, param);
    state(s, u, "acc_delta", true, 0, param);
    operand(u, scalar(s, TLMC_SCALAR_LR, g));
    attribute(u, TLMC_A_RHO, group->rho);
    attribute(u, TLMC_A_EPS, group->eps);
    attribute(u, TLMC_A_WEIGHT_DECAY, group->weight_decay);
}

static void add_update(struct step *s, uint32_t g, uint32_t param)
{
    static void (*const builders[TLMC_OPTIMIZER_COUNT])(struct step *, struct update *,
                                                        const struct tlmc_group *, uint32_t,
                                                        uint32_t) = {
        [TLMC_SGD] = sgd,         [TLMC_ADAM] = adam,       [TLMC_ADAMW] = adam,
        [TLMC_RMSPROP] = rmsprop, [TLMC_ADAGRAD] = adagrad, [TLMC_ADADELTA] = adadelta,
    };
    struct update u = { .op = TLMC_OP_COUNT };

    operand(&u, s->leaves[param]);
    operand(&u, s->grads[param]);
    builders[s->module->train.optimizer](s, &u, &s->module->train.groups[g], g, param);
    operand(&u, s->gscale);
    while (u.inputs[u.input_count - 1] == TLMC_NONE) /* absent operands at the end are left off */
        u.input_count--;
    tlmc_add_node(s->graph, u.op, u.inputs, u.input_count, u.attrs, u.attr_count);
}

/* Groups do not overlap; should a parameter stand in two, the first one counts. */
static bool is_member(const struct tlmc_group *group, uint32_t param)
{
    uint32_t i;

    for (i = 0; i < group->param_count; i++)
        if (group->params[i] == param)
            return true;
    return false;
}

/* Group by group, in order of declaration inside: neighbours share attributes and scalars. */
static void update_all(struct step *s)
{
    uint32_t g, i;

    for (g = 0; g < s->module->train.group_count; g++)
        for (i = 0; i < s->form->grad_count; i++) {
            const uint32_t param = s->form->grads[i].param;

            if (s->grads[param] == TLMC_NONE || !is_member(&s->module->train.groups[g], param))
                continue;
            add_update(s, g, param);
            s->grads[param] = TLMC_NONE; /* done */
        }
}

static void reset_accumulators(struct step *s)
{
    uint32_t i;

    for (i = 0; i < s->form->grad_count; i++) {
        const uint32_t slot = s->accumulators[s->form->grads[i].param];
        const struct tlmc_type type = s->module->params.items[slot].type;

        tlmc_build2(s->graph, TLMC_OP_STORE, state_leaf(s, slot),
                    tlmc_build_full(s->graph, &type, 0));
    }
}

static void find_leaves(struct step *s, uint32_t param_count)
{
    uint32_t id, slot;

    for (id = 0; id < s->graph->node_count; id++)
        if (s->graph->nodes[id].op == TLMC_OP_PARAM &&
            tlmc_leaf_slot(s->graph, s->graph->nodes[id].first_result, &slot) && slot < param_count)
            s->leaves[slot] = s->graph->nodes[id].first_result;
}

/* needs: autodiff.  keeps: every rule of the verifier, and value ids.  breaks: lists of module
   params and scalars. */
void tlmc_pass_optimizer(struct tlmc_module *module, struct tlmc_diags *diags)
{
    const uint32_t param_count = module->params.count;
    struct step s = { .module = module, .form = tlmc_module_training_form(module) };
    uint32_t i;

    (void)diags;
    if (!s.form || !s.form->grad_count || !module->train.present || !module->train.group_count)
        return;
    s.graph = s.form->graph;
    s.leaves = none_array(module->arena, param_count);
    s.grads = none_array(module->arena, param_count);
    s.accumulators = none_array(module->arena, param_count);
    s.scalar_room = module->scalars.count + 4 * module->train.group_count;
    s.scalars = none_array(module->arena, s.scalar_room);
    s.gscale = TLMC_NONE;
    find_leaves(&s, param_count);
    for (i = 0; i < s.form->grad_count; i++)
        s.grads[s.form->grads[i].param] = s.form->grads[i].value;
    s.graph->span = module->train.span;
    s.graph->scope = "";
    if (module->train.accumulate > 1)
        accumulate(&s);
    s.graph->phase = TLMC_UPDATE_PHASE;
    clip(&s);
    update_all(&s);
    if (module->train.accumulate > 1)
        reset_accumulators(&s);
    s.graph->phase = TLMC_FORWARD;
}
