/* Splits and orders: see order.h. */
#include "order.h"

#include "alloc.h"
#include "random_sites.h"
#include "status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tlm_shuffle(uint32_t *list, size_t count, uint64_t key)
{
    for (size_t i = 0; i < count; i++)
        list[i] = (uint32_t)i;
    for (size_t i = count; i-- > 1;) {
        const size_t other = (size_t)(tlm_splitmix64(key + i) % (i + 1));
        const uint32_t kept = list[i];

        list[i] = list[other];
        list[other] = kept;
    }
}

size_t tlm_subset_row(const struct tlm_subset *subset, size_t i)
{
    return subset->index ? subset->index[i] : subset->begin + i;
}

void tlm_subset_free(struct tlm_subset *subset)
{
    free(subset->index);
    memset(subset, 0, sizeof *subset);
}

static int order_by_row(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The first `held` rows of a shuffled list are held out; both parts keep the order of the file. */
static tlm_status order_split_random(size_t rows, size_t held, uint64_t seed,
                                     struct tlm_subset *training, struct tlm_subset *validation,
                                     char *error)
{
    uint32_t *list = tlm_alloc(rows, sizeof *list);

    training->index = tlm_alloc(rows - held, sizeof *training->index);
    validation->index = tlm_alloc(held, sizeof *validation->index);
    if (!list || !training->index || !validation->index) {
        free(list);
        return tlm_fail(error, TLM_ERR_MEMORY, "no memory to split %zu rows", rows);
    }
    tlm_shuffle(list, rows, tlm_random_key(seed, 0, TLM_SITE_SPLIT));
    memcpy(validation->index, list, held * sizeof *list);
    memcpy(training->index, list + held, (rows - held) * sizeof *list);
    qsort(validation->index, held, sizeof *list, order_by_row);
    qsort(training->index, rows - held, sizeof *list, order_by_row);
    free(list);
    return TLM_OK;
}

/* Rows that the split holds out; a fraction is rounded to the nearest count, halves up. */
static size_t order_held_count(const tlm_train *train, size_t rows)
{
    double held;

    if (train->split_fraction <= 0)
        return train->split_count < 0 ? 0 : (size_t)train->split_count;
    held = floor((double)rows * train->split_fraction + 0.5);
    return held >= (double)rows ? rows : (size_t)held;
}

tlm_status tlm_split_rows(const tlm_train *train, size_t rows, uint64_t seed,
                          struct tlm_subset *training, struct tlm_subset *validation, char *error)
{
    size_t held;

    memset(training, 0, sizeof *training);
    memset(validation, 0, sizeof *validation);
    training->count = rows;
    if (train->split == TLM_SPLIT_NONE || train->split == TLM_SPLIT_DATA)
        return TLM_OK;
    held = order_held_count(train, rows);
    if (held == 0 || held >= rows)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "the validation split takes %zu of %zu rows; both parts need some", held,
                        rows);
    training->count = rows - held;
    validation->count = held;
    if (train->split == TLM_SPLIT_FIRST)
        training->begin = held;
    else if (train->split == TLM_SPLIT_LAST)
        validation->begin = rows - held;
    else
        return order_split_random(rows, held, seed, training, validation, error);
    return TLM_OK;
}

static void order_shuffle_epoch(struct tlm_order *order)
{
    if (order->shuffled)
        tlm_shuffle(order->shuffled, order->subset->count,
                    tlm_random_key(order->seed, order->epoch, TLM_SITE_SHUFFLE));
}

tlm_status tlm_order_start(struct tlm_order *order, const struct tlm_subset *subset, size_t batch,
                           bool shuffle, uint64_t seed, uint64_t epoch, uint64_t position,
                           char *error)
{
    *order = (struct tlm_order){ .subset = subset, .batch = batch, .seed = seed, .epoch = epoch };
    if (batch == 0 || subset->count < batch)
        return tlm_fail(error, TLM_ERR_MISMATCH, "%zu rows to train on do not fill a batch of %zu",
                        subset->count, batch);
    if (position > subset->count)
        return tlm_fail(error, TLM_ERR_MISMATCH,
                        "the run stopped at row %" PRIu64
                        " of an epoch, but the data have %zu rows",
                        position, subset->count);
    order->position = (size_t)position;
    if (shuffle) {
        order->shuffled = tlm_alloc(subset->count, sizeof *order->shuffled);
        if (!order->shuffled)
            return tlm_fail(error, TLM_ERR_MEMORY, "no memory to shuffle %zu rows", subset->count);
        order_shuffle_epoch(order);
    }
    return TLM_OK;
}

void tlm_order_free(struct tlm_order *order)
{
    free(order->shuffled);
    order->shuffled = NULL;
}

void tlm_order_next(struct tlm_order *order, size_t *rows)
{
    if (order->subset->count - order->position < order->batch) { /* the ragged rest is left out */
        order->epoch++;
        order->position = 0;
        order_shuffle_epoch(order);
    }
    for (size_t i = 0; i < order->batch; i++, order->position++)
        rows[i] = tlm_subset_row(order->subset, order->shuffled ? order->shuffled[order->position]
                                                                : order->position);
}
