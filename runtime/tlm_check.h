/* Run-time checks of generated code: TLM_TRY, the error text of a model, indices in range.  A check
   that fails leaves its message in rt->error and returns a status; nothing prints or exits. */
#ifndef TLM_CHECK_H
#define TLM_CHECK_H

#include "tlm_rt.h"

/* Leaves the function with the status of a step that failed; the step has recorded what and
   where. */
#define TLM_TRY(call)                         \
    do {                                      \
        const tlm_status tlm_result = (call); \
        if (tlm_result != TLM_OK)             \
            return tlm_result;                \
    } while (0)

/* A message under construction: cut at TLM_ERROR_BYTES, always terminated. */
typedef struct tlm_message {
    char *text; /* TLM_ERROR_BYTES, or NULL: dropped */
    size_t length;
} tlm_message;

TLM_INLINE void tlm_say(tlm_message *message, const char *text)
{
    if (!message->text)
        return;
    while (*text && message->length + 1 < TLM_ERROR_BYTES)
        message->text[message->length++] = *text++;
    message->text[message->length] = '\0';
}

TLM_INLINE void tlm_say_number(tlm_message *message, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t rest = value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    tlm_say(message, digits + at);
}

__attribute__((noinline, cold, unused)) static tlm_status
tlm_index_error(tlm_rt *rt, int64_t value, size_t position, size_t limit, const char *tensor,
                const char *place)
{
    tlm_message message = { rt->error, 0 };

    tlm_say(&message, place);
    tlm_say(&message, ": index ");
    tlm_say_number(&message, value);
    tlm_say(&message, " at position ");
    tlm_say_number(&message, (int64_t)position);
    tlm_say(&message, " of tensor '");
    tlm_say(&message, tensor);
    if (limit == 0) {
        tlm_say(&message, "' is out of range: the axis is empty");
    } else {
        tlm_say(&message, "' is out of range 0..");
        tlm_say_number(&message, (int64_t)limit - 1);
    }
    return TLM_ERR_INDEX;
}

/* Every index lies in [0, limit), else TLM_ERR_INDEX with the first that does not. */
TLM_INLINE tlm_status tlm_check_index(tlm_rt *rt, const int32_t *index, size_t count, size_t limit,
                                      const char *tensor, const char *place)
{
    for (size_t i = 0; i < count; i++)
        if (index[i] < 0 || (uint32_t)index[i] >= limit)
            return tlm_index_error(rt, index[i], i, limit, tensor, place);
    return TLM_OK;
}

/* A call in the wrong order. */
__attribute__((noinline, cold, unused)) static tlm_status tlm_order_error(tlm_rt *rt,
                                                                          const char *text)
{
    tlm_message message = { rt->error, 0 };

    tlm_say(&message, text);
    return TLM_ERR_STATE;
}

/* How many items a piece of a parallel loop should have at least, when all items together are worth
   `work` simple operations: handing out less than this costs more than it gains. */
enum { TLM_GRAIN_WORK = 65536 };

TLM_INLINE size_t tlm_grain(size_t items, double work)
{
    const double pieces = work / TLM_GRAIN_WORK;

    if (pieces <= 1)
        return items;
    return pieces >= (double)items ? 1 : (size_t)((double)items / pieces);
}

/* Runs a step's body, compiled for the level chosen at create, over its items.  The remaining
   arguments fill the struct STEP_args that the body reads. */
#define TLM_CALL(m, step, items, work, ...)                                     \
    do {                                                                        \
        struct step##_args tlm_args = { __VA_ARGS__ };                          \
        tlm_parallel_for(&(m)->rt, (items), tlm_grain((items), (double)(work)), \
                         step[(m)->rt.level - 1], &tlm_args);                   \
    } while (0)

#endif
