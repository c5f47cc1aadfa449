/* Text generation: see generate.h. */
#include "generate.h"

#include "alloc.h"
#include "data.h"
#include "random_sites.h"
#include "status.h"
#include "tlm_math64.h"
#include "vocabulary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int generate_by_logit(const void *a, const void *b)
{
    const struct tlm_candidate *x = a, *y = b;

    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

int32_t tlm_sample(const float *logits, uint32_t count, double temperature, int64_t top_k,
                   uint64_t key, struct tlm_candidate *scratch)
{
    const uint32_t kept = top_k > 0 && top_k < count ? (uint32_t)top_k : count;
    int32_t best = -1;
    double best_score = 0.0;

    for (uint32_t i = 0; i < count; i++) {
        if (isnan(logits[i]))
            return -1;
        scratch[i] = (struct tlm_candidate){ logits[i], (int32_t)i };
    }
    if (kept < count || temperature <= 0)
        qsort(scratch, count, sizeof *scratch, generate_by_logit);
    if (temperature <= 0)
        return scratch[0].token;
    for (uint32_t i = 0; i < kept; i++) {
        const uint64_t counter = (uint64_t)scratch[i].token;
        const double u = ((double)tlm_random_u32(key, counter) + 0.5) / 4294967296.0;
        const double score = (double)scratch[i].logit / temperature - tlm_log64(-tlm_log64(u));

        if (best < 0 || score > best_score || (score == best_score && scratch[i].token < best)) {
            best = scratch[i].token;
            best_score = score;
        }
    }
    return best;
}

/* One generation under way. */
struct generate_run {
    struct tlm_session *session;
    const tlm_form *form;
    const tlm_io *feed, *sample;
    struct tlm_vocabulary vocabulary;
    int32_t *tokens; /* prompt, then what was drawn */
    size_t count, window, batch;
    uint32_t choices; /* logits that are tokens */
    size_t logits;    /* at each position */
    struct tlm_candidate *scratch;
};

/* Shapes: [batch, T] or [T] in, [batch, T, V] or [T, V] out (without the T axis when T is 1). */
static tlm_status generate_check(struct generate_run *run)
{
    const tlm_io *const feed = run->feed, *const sample = run->sample;
    char *const error = run->session->error;
    size_t positions;

    if (run->form->input_count != 1 || feed->dtype != TLM_I32 || feed->rank < 1 || feed->rank > 2 ||
        tlm_io_elements(feed) == 0)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "generation needs one input, i32[batch, T]; '%s' does not fit", feed->name);
    run->window = feed->dims[feed->rank - 1];
    run->batch = feed->rank == 2 ? feed->dims[0] : 1;
    run->logits = sample->rank > 0 ? sample->dims[sample->rank - 1] : 0;
    positions = run->logits > 0 ? tlm_io_elements(sample) / run->batch / run->logits : 0;
    if (sample->dtype != TLM_F32 || positions != run->window)
        return tlm_fail(
            error, TLM_ERR_MISMATCH,
            "generation needs logits of every position, f32[batch, T, V]; '%s' does not fit",
            sample->name);
    run->choices =
        run->logits < run->vocabulary.count ? (uint32_t)run->logits : run->vocabulary.count;
    if (run->session->program->generate->vocabulary && run->vocabulary.count > run->logits)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "the vocabulary has %" PRIu32 " tokens, the model %zu",
                        run->vocabulary.count, run->logits);
    return TLM_OK;
}

/* Feeds the tokens [first, first + count), every row of the batch alike, pads behind them. */
static tlm_status generate_forward(struct generate_run *run, size_t first, size_t count)
{
    int32_t *const ids = run->feed->data(run->session->model);

    for (size_t b = 0; b < run->batch; b++)
        for (size_t i = 0; i < run->window; i++)
            ids[b * run->window + i] = i < count ? run->tokens[first + i] : 0;
    return tlm_session_run(run->session, run->form);
}

static void generate_print(const struct generate_run *run, size_t first)
{
    for (size_t i = first; i < run->count; i++) {
        char byte[1];
        size_t length;
        const char *const text =
            tlm_vocabulary_text(&run->vocabulary, run->tokens[i], byte, &length);

        fwrite(text, 1, length, stdout);
    }
    fflush(stdout);
}

/* Draws `wanted` tokens after the prompt. */
static tlm_status generate_tokens(struct generate_run *run, size_t wanted, double temperature,
                                  int64_t top_k)
{
    struct tlm_session *const session = run->session;
    const size_t end = run->count + wanted;
    size_t fed = 0; /* tokens that went through the transient states; only for windows of one */

    generate_print(run, 0);
    while (run->count < end) {
        const size_t length = run->count < run->window ? run->count : run->window;
        const float *logits;
        int32_t token;
        tlm_status status = TLM_OK;

        if (run->window > 1)
            status = generate_forward(run, run->count - length, length);
        for (; run->window == 1 && status == TLM_OK && fed < run->count; fed++)
            status = generate_forward(run, fed, 1);
        if (status != TLM_OK)
            return status;
        logits = run->sample->data(session->model);
        token =
            tlm_sample(logits + (length - 1) * run->logits, run->choices, temperature, top_k,
                       tlm_random_key(session->seed, run->count, TLM_SITE_SAMPLE), run->scratch);
        if (token < 0)
            return tlm_fail(session->error, TLM_ERR_FORMAT, "a logit of token %zu is nan",
                            run->count);
        run->tokens[run->count++] = token;
        generate_print(run, run->count - 1);
    }
    putchar('\n');
    return TLM_OK;
}

/* The prompt as tokens, with room for `wanted` more; without one a line end stands in. */
static tlm_status generate_prompt(struct generate_run *run, size_t wanted)
{
    const char *const given = run->session->flags->prompt;
    const char *const text = given && *given ? given : "\n";
    char *const error = run->session->error;
    size_t room, capacity = 0;
    int32_t *tokens = NULL, *grown = NULL;
    tlm_status status =
        tlm_vocabulary_encode(&run->vocabulary, text, strlen(text), &tokens, &run->count, error);

    if (status == TLM_OK && tlm_size_add(run->count, wanted, &room))
        grown = tlm_regrow(NULL, &capacity, room, sizeof *grown);
    if (status == TLM_OK && !grown)
        status = tlm_fail(error, TLM_ERR_MEMORY, "no memory for %zu tokens", wanted);
    if (status == TLM_OK)
        memcpy(grown, tokens, run->count * sizeof *tokens);
    free(tokens);
    run->tokens = grown;
    for (size_t i = 0; status == TLM_OK && i < run->count; i++)
        if ((uint32_t)run->tokens[i] >= run->choices)
            status = tlm_fail(error, TLM_ERR_MISMATCH,
                              "the prompt has the token %" PRId32 ", the model knows %" PRIu32,
                              run->tokens[i], run->choices);
    return status;
}

tlm_status tlm_generate_main(struct tlm_session *session)
{
    const tlm_generate *const clause = session->program->generate;
    const struct tlm_flags *const flags = session->flags;
    const int64_t wanted = flags->tokens >= 0 ? flags->tokens : clause->tokens;
    struct generate_run run = { .session = session,
                                .form = clause->form,
                                .feed = &clause->form->inputs[clause->feed],
                                .sample = &clause->form->outputs[clause->sample] };
    tlm_status status =
        tlm_vocabulary_open(&run.vocabulary, clause->bytes ? NULL : clause->vocabulary,
                            session->error);

    if (status == TLM_OK)
        status = generate_check(&run);
    if (status == TLM_OK)
        status = generate_prompt(&run, (size_t)wanted);
    if (status == TLM_OK) {
        run.scratch = tlm_alloc(run.choices, sizeof *run.scratch);
        if (!run.scratch)
            status = tlm_fail(session->error, TLM_ERR_MEMORY, "no memory to generate");
    }
    if (status == TLM_OK) {
        if (session->program->reset)
            session->program->reset(session->model);
        status = generate_tokens(&run, (size_t)wanted,
                                 flags->temperature >= 0 ? flags->temperature : clause->temperature,
                                 flags->top_k >= 0 ? flags->top_k : clause->top_k);
    }
    free(run.scratch);
    free(run.tokens);
    tlm_vocabulary_free(&run.vocabulary);
    return status;
}
