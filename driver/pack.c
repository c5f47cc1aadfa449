/* In: bytes.  Out: a stream that tlm_cuda_unpack takes.  At each place the longest of the latest
   earlier places that begin with the same four bytes is taken, if there is one. */
#include "pack.h"

#include "cuda_unpack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    HASH_BITS = 16,
    TRIES = 48,   /* earlier places looked at */
    ENOUGH = 512, /* a match of this length ends the search */
    NOWHERE = -1
};

struct packer {
    const unsigned char *data;
    int32_t size;
    int32_t *latest;   /* of each hash: the latest place, or NOWHERE */
    int32_t *previous; /* of each place: the one before with its hash */
    struct tlmc_strbuf *out;
};

static uint32_t hash_at(const struct packer *p, int32_t at)
{
    const unsigned char *d = p->data + at;
    const uint32_t word =
        (uint32_t)d[0] | (uint32_t)d[1] << 8 | (uint32_t)d[2] << 16 | (uint32_t)d[3] << 24;

    return word * 2654435761u >> (32 - HASH_BITS);
}

static void remember(struct packer *p, int32_t at)
{
    if (at + TLM_CUDA_PACK_MATCH <= p->size) {
        const uint32_t hash = hash_at(p, at);

        p->previous[at] = p->latest[hash];
        p->latest[hash] = at;
    }
}

static int32_t length_of_match(const struct packer *p, int32_t from, int32_t at)
{
    int32_t length = 0;

    while (at + length < p->size && p->data[from + length] == p->data[at + length])
        length++;
    return length;
}

/* The longest match at a place, and where it begins; shorter than a match can be: none. */
static int32_t longest(const struct packer *p, int32_t at, int32_t *from)
{
    int32_t best = 0;

    if (at + TLM_CUDA_PACK_MATCH > p->size)
        return 0;
    for (int32_t tries = TRIES, place = p->latest[hash_at(p, at)];
         place != NOWHERE && tries > 0 && best < ENOUGH; tries--, place = p->previous[place]) {
        int32_t length;

        if (at + best < p->size && p->data[place + best] != p->data[at + best])
            continue; /* not longer than the best */
        length = length_of_match(p, place, at);
        if (length > best) {
            best = length;
            *from = place;
        }
    }
    return best;
}

static void put_varint(struct tlmc_strbuf *out, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        tlmc_strbuf_char(out, (char)(unsigned char)(value | 0x80));
    tlmc_strbuf_char(out, (char)(unsigned char)value);
}

static uint32_t half(uint32_t count)
{
    return count < TLM_CUDA_PACK_MORE ? count : TLM_CUDA_PACK_MORE;
}

/* Literals and the head of what follows them; `match`: its length less the least, 0 at the end. */
static void put_literals(struct packer *p, int32_t begin, int32_t end, uint32_t match)
{
    const uint32_t literals = (uint32_t)(end - begin);

    tlmc_strbuf_char(p->out, (char)(unsigned char)(half(literals) << 4 | half(match)));
    if (literals >= TLM_CUDA_PACK_MORE)
        put_varint(p->out, literals - TLM_CUDA_PACK_MORE);
    if (match >= TLM_CUDA_PACK_MORE)
        put_varint(p->out, match - TLM_CUDA_PACK_MORE);
    tlmc_strbuf_add_n(p->out, (const char *)p->data + begin, literals);
}

static void pack(struct packer *p)
{
    int32_t begin = 0, at = 0; /* literals since begin */

    while (at < p->size) {
        int32_t from = 0, length = longest(p, at, &from);

        if (length < TLM_CUDA_PACK_MATCH) {
            remember(p, at++);
            continue;
        }
        put_literals(p, begin, at, (uint32_t)(length - TLM_CUDA_PACK_MATCH));
        put_varint(p->out, (uint32_t)(at - from));
        while (length-- > 0)
            remember(p, at++);
        begin = at;
    }
    put_literals(p, begin, p->size, 0);
}

void tlmc_pack(const unsigned char *data, size_t size, struct tlmc_strbuf *out)
{
    struct packer p = { .data = data, .size = (int32_t)size, .out = out };

    TLMC_CHECK(size <= INT32_MAX);
    p.latest = malloc(sizeof *p.latest << HASH_BITS);
    p.previous = malloc(sizeof *p.previous * (size + 1));
    if (!p.latest || !p.previous)
        tlmc_out_of_memory();
    for (int32_t i = 0; i < 1 << HASH_BITS; i++)
        p.latest[i] = NOWHERE;
    pack(&p);
    free(p.latest);
    free(p.previous);
}
