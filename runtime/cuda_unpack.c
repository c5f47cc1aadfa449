/* In: a packed image, of which nothing is believed.  Out: the image.  Refuses damage by 0. */
#include "cuda_unpack.h"

#include <string.h>

struct unpack {
    const unsigned char *at, *end; /* of the stream */
    unsigned char *begin, *to, *limit;
};

static int unpack_varint(struct unpack *u, size_t *value)
{
    unsigned shift = 0;

    *value = 0;
    for (;;) {
        unsigned char byte;

        if (u->at == u->end || shift > 8 * sizeof *value - 8)
            return 0;
        byte = *u->at++;
        *value |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return 1;
        shift += 7;
    }
}

/* Half a byte, continued. */
static int unpack_count(struct unpack *u, unsigned half, size_t *count)
{
    *count = half;
    if (half != TLM_CUDA_PACK_MORE)
        return 1;
    if (!unpack_varint(u, count) || *count > (size_t)(u->limit - u->begin))
        return 0;
    *count += TLM_CUDA_PACK_MORE;
    return 1;
}

static int unpack_literals(struct unpack *u, size_t count)
{
    if (count > (size_t)(u->end - u->at) || count > (size_t)(u->limit - u->to))
        return 0;
    if (count > 0)
        memcpy(u->to, u->at, count);
    u->at += count;
    u->to += count;
    return 1;
}

static int unpack_match(struct unpack *u, size_t count)
{
    const unsigned char *from;
    size_t back;

    if (!unpack_varint(u, &back) || back == 0 || back > (size_t)(u->to - u->begin) ||
        count > (size_t)(u->limit - u->to))
        return 0;
    from = u->to - back;
    while (count-- > 0) /* byte by byte: it may read what it has just written */
        *u->to++ = *from++;
    return 1;
}

int tlm_cuda_unpack(const unsigned char *packed, size_t packed_bytes, unsigned char *result,
                    size_t bytes)
{
    struct unpack u = { packed, packed + packed_bytes, result, result, result + bytes };

    for (;;) {
        size_t literals, match;
        unsigned char head;

        if (u.at == u.end)
            return 0;
        head = *u.at++;
        if (!unpack_count(&u, head >> 4, &literals) ||
            !unpack_count(&u, head & TLM_CUDA_PACK_MORE, &match) || !unpack_literals(&u, literals))
            return 0;
        if (u.to == u.limit)
            return u.at == u.end;
        if (!unpack_match(&u, match + TLM_CUDA_PACK_MATCH))
            return 0;
    }
}
