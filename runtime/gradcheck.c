/* The gradient check: see gradcheck.h. */
#include "gradcheck.h"

#include "alloc.h"
#include "random_sites.h"
#include "status.h"
#include "train.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRADCHECK_DRAWN = 4, GRADCHECK_ELEMENTS = 8, GRADCHECK_HALVINGS = 3 };

#define GRADCHECK_BOUND 0.05
#define GRADCHECK_LOSS_ERROR 1e-6

/* Note [Bound]
   The loss is computed in binary32, so a difference over a step of h carries an error of about
   LOSS_ERROR * |loss| / h, where LOSS_ERROR = 1e-6 is sixteen units of the last place.  The step,
   2^-9 of the weight's size (at least 2^-9), adds h^2 / 6 of the third derivative, a few per cent
   where the loss is strongly curved.  So 5 per cent beside the rounding error are allowed; a wrong
   rule is wrong by much more, in some element.  Where the two one-sided differences disagree (a
   kink of relu or max lies within the step), the step is made smaller; an element that stays
   undecided is counted as skipped, not as good. */

struct gradcheck_element {
    size_t param, index;
    double gradient;
};

struct gradcheck {
    struct tlm_training *training;
    struct gradcheck_element *elements; /* owned */
    size_t count;
    void **states; /* owned: the values of each state before a forward pass; NULL where none */
    double loss;
    double worst; /* of all */
    size_t skipped;
};

/* Forward passes update states: every pass starts from the same ones, and draws the same
   numbers. */
static tlm_status gradcheck_forward(struct gradcheck *check, double *loss)
{
    struct tlm_session *const session = check->training->session;
    const tlm_train *const train = session->program->train;
    tlm_status status = tlm_session_params(session);

    if (status != TLM_OK)
        return status;
    for (size_t i = 0; i < session->param_count; i++)
        if (check->states[i])
            memcpy(session->params[i].data, check->states[i],
                   session->params[i].count * tlm_dtype_bytes((int)session->params[i].dtype));
    tlm_feed_rows(session, train->form, &check->training->data, check->training->batch_rows,
                  train->batch);
    session->program->set_step(session->model, 0); /* and with it the draws */
    status = tlm_session_check(session, train->forward(session->model));
    if (status == TLM_OK)
        status = tlm_session_wait(session);
    if (status == TLM_OK)
        *loss = tlm_form_loss(session, train->form);
    return status;
}

static tlm_status gradcheck_keep_states(struct gradcheck *check)
{
    struct tlm_session *const session = check->training->session;

    check->states = tlm_alloc(session->param_count, sizeof *check->states);
    if (!check->states)
        return tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to check gradients");
    for (size_t i = 0; i < session->param_count; i++) {
        const tlm_param *const param = &session->params[i];
        const size_t bytes = param->count * tlm_dtype_bytes((int)param->dtype);

        if ((param->kind != TLM_PARAM_STATE && param->kind != TLM_PARAM_TRANSIENT) || bytes == 0)
            continue;
        check->states[i] = tlm_alloc(bytes, 1);
        if (!check->states[i])
            return tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to check gradients");
        memcpy(check->states[i], param->data, bytes);
    }
    return TLM_OK;
}

/* The element with the largest gradient that is not among chosen[0..count). */
static size_t gradcheck_largest(const tlm_param *param, const struct gradcheck_element *chosen,
                                size_t count)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < param->count; i++) {
        size_t taken = 0;

        if (best != SIZE_MAX && !(fabsf(param->gradient[i]) > fabsf(param->gradient[best])))
            continue;
        for (size_t e = 0; e < count; e++)
            taken += chosen[e].index == i;
        if (taken == 0)
            best = i;
    }
    return best;
}

/* Chooses elements of a parameter: all of a small one, else some drawn and those with the largest
   gradients (an embedding has few that are not 0).  Keeps their gradients, which the next forward
   pass may overwrite. */
static void gradcheck_choose(struct gradcheck *check, size_t p, uint64_t seed)
{
    const tlm_param *const param = &check->training->session->params[p];
    struct gradcheck_element *const chosen = check->elements + check->count;
    const uint64_t key = tlm_random_key(seed, p, TLM_SITE_CHECK);
    const size_t wanted = param->count < GRADCHECK_ELEMENTS ? param->count : GRADCHECK_ELEMENTS;

    for (size_t e = 0; e < wanted; e++) {
        size_t index = e;

        if (wanted < param->count)
            index = e < GRADCHECK_DRAWN ? (size_t)(tlm_splitmix64(key + e) % param->count)
                                        : gradcheck_largest(param, chosen, e);
        chosen[e] = (struct gradcheck_element){ p, index, (double)param->gradient[index] };
    }
    check->count += wanted;
}

static tlm_status gradcheck_take_gradients(struct gradcheck *check)
{
    struct tlm_session *const session = check->training->session;
    const tlm_train *const train = session->program->train;
    tlm_status status;

    check->elements = tlm_alloc(session->param_count, GRADCHECK_ELEMENTS * sizeof *check->elements);
    if (!check->elements)
        return tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to check gradients");
    status = gradcheck_forward(check, &check->loss);
    if (status == TLM_OK)
        status = tlm_session_check(session, train->backward(session->model));
    if (status == TLM_OK)
        status = tlm_session_params(session);
    for (size_t p = 0; status == TLM_OK && p < session->param_count; p++) {
        const tlm_param *const param = &session->params[p];

        if (param->trainable && param->gradient && param->dtype == TLM_F32)
            gradcheck_choose(check, p, session->seed);
    }
    return status;
}

/* Writes a weight, which must be the host's for that. */
static tlm_status gradcheck_set(struct gradcheck *check, float *place, float value)
{
    const tlm_status status = tlm_session_params(check->training->session);

    if (status == TLM_OK)
        *place = value;
    return status;
}

/* The difference quotient over a step of about h into *slope; *decided: both sides agree within the
   bound. */
static tlm_status gradcheck_difference(struct gradcheck *check, const struct gradcheck_element *e,
                                       double h, double *slope, bool *decided)
{
    float *const place = (float *)check->training->session->params[e->param].data + e->index;
    const float kept = *place;
    const float up = (float)((double)kept + h), down = (float)((double)kept - h);
    const double noise = GRADCHECK_LOSS_ERROR * fabs(check->loss) / h;
    double above = 0.0, below = 0.0, right, left;
    tlm_status status = gradcheck_set(check, place, up);

    if (status == TLM_OK)
        status = gradcheck_forward(check, &above);
    if (status == TLM_OK)
        status = gradcheck_set(check, place, down);
    if (status == TLM_OK)
        status = gradcheck_forward(check, &below);
    if (status == TLM_OK)
        status = gradcheck_set(check, place, kept);
    right = (above - check->loss) / ((double)up - (double)kept);
    left = (check->loss - below) / ((double)kept - (double)down);
    *slope = (above - below) / ((double)up - (double)down);
    *decided = fabs(right - left) <= 0.2 * fmax(fabs(right), fabs(left)) + 4 * noise;
    return status;
}

/* One element; *error is its relative error, -1 when it is skipped. */
static tlm_status gradcheck_element(struct gradcheck *check, const struct gradcheck_element *e,
                                    double *error)
{
    const float value = ((const float *)check->training->session->params[e->param].data)[e->index];
    double h = ldexp(fmax(1.0, fabs((double)value)), -9);
    double slope = 0.0;
    bool decided = false;
    tlm_status status = TLM_OK;

    for (int i = 0; status == TLM_OK && !decided && i < GRADCHECK_HALVINGS; i++, h /= 4)
        status = gradcheck_difference(check, e, h, &slope, &decided);
    h *= 4;
    *error = -1.0;
    if (status == TLM_OK && decided) {
        const double rounding = GRADCHECK_LOSS_ERROR * fabs(check->loss) / h;

        *error = fabs(slope - e->gradient) /
                 (fmax(fabs(slope), fabs(e->gradient)) + rounding / GRADCHECK_BOUND + 1e-30);
        if (isnan(*error))
            *error = (double)INFINITY;
    }
    return status;
}

/* All elements, a line a parameter. */
static tlm_status gradcheck_all(struct gradcheck *check)
{
    struct tlm_session *const session = check->training->session;

    for (size_t i = 0; i < check->count;) {
        const size_t p = check->elements[i].param;
        double worst = 0.0;
        size_t checked = 0, skipped = 0;

        for (; i < check->count && check->elements[i].param == p; i++) {
            double error = 0.0;
            const tlm_status status = gradcheck_element(check, &check->elements[i], &error);

            if (status != TLM_OK)
                return status;
            skipped += error < 0;
            checked += error >= 0;
            worst = fmax(worst, error);
        }
        printf("  %s: %zu elements, worst relative error %.6f", session->params[p].key, checked,
               worst);
        if (skipped > 0)
            printf(", %zu skipped at a kink", skipped);
        putchar('\n');
        check->worst = fmax(check->worst, worst);
        check->skipped += skipped;
    }
    return TLM_OK;
}

tlm_status tlm_gradcheck_main(struct tlm_session *session)
{
    struct tlm_training training;
    struct gradcheck check = { .training = &training };
    tlm_status status = tlm_training_begin(&training, session);

    if (status == TLM_OK) {
        printf("== %s: gradients ==\n", session->program->name);
        tlm_order_next(&training.order, training.batch_rows);
        status = gradcheck_keep_states(&check);
    }
    if (status == TLM_OK)
        status = gradcheck_take_gradients(&check);
    if (status == TLM_OK)
        status = gradcheck_all(&check);
    if (status == TLM_OK) {
        printf("worst relative error %.6f, bound %.2f, %zu of %zu elements skipped\n", check.worst,
               GRADCHECK_BOUND, check.skipped, check.count);
        if (check.worst > GRADCHECK_BOUND)
            status =
                tlm_fail(session->error, TLM_ERR_MISMATCH,
                         "a gradient differs from the loss's differences by more than rounding "
                         "and curvature explain: %.6f above %.2f",
                         check.worst, GRADCHECK_BOUND);
        else if (check.count > 0 && check.skipped == check.count)
            status = tlm_fail(session->error, TLM_ERR_MISMATCH, "every element was skipped");
    }
    for (size_t i = 0; check.states && i < session->param_count; i++)
        free(check.states[i]);
    free(check.states);
    free(check.elements);
    tlm_training_end(&training);
    return status;
}
