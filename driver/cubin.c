/* In: the bytes of an ELF file for CUDA devices, little endian, 64 bit.  Out: its kernels.  Every
   read is bounded: a section is a piece of the file, a text ends in its section, an index is one
   of its table.  Section and attribute numbers are those of ptxas 12 and 13, found by reading
   their output; what is not known is skipped. */
#include "cubin.h"

#include <string.h>

enum {
    HEADER_BYTES = 64,
    SECTION_BYTES = 64,
    SYMBOL_BYTES = 24,
    MACHINE_CUDA = 190,
    SECTION_SYMBOLS = 2,
    SECTION_NO_BITS = 8,
    SYMBOL_FUNCTION = 2,
    SYMBOL_KERNEL = 0x10, /* in st_other: may be launched */
    /* .nv.info: one byte of form, one of attribute, then a length or a value */
    FORM_VALUE16 = 3,
    FORM_BYTES = 4,
    ATTRIBUTE_FRAME = 0x11,
    ATTRIBUTE_MIN_STACK = 0x12,
    ATTRIBUTE_PARAM = 0x17,
    ATTRIBUTE_PARAM_BYTES = 0x19,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_LARGE_PARAM = 0x45, /* of kernels with more than 4096 bytes of them */
    /* From sm_90 on every block has this much shared memory for the system, counted into the
       sections of kernels that use shared memory. */
    RESERVED_SHARED = 1024
};

struct piece {
    const unsigned char *data;
    size_t size;
};

struct section {
    const char *name;
    uint32_t type, link, info;
    uint64_t size; /* of its memory; the piece is empty when the file holds none of it */
    struct piece piece;
};

struct reader {
    struct piece file;
    struct tlmc_arena *arena;
    struct section *sections;
    unsigned section_count;
    const struct section *symbols, *symbol_names;
    struct tlmc_cubin *cubin;
    uint32_t *rows; /* of each symbol: 1 + its kernel, or 0 */
    uint32_t reserved_shared;
    const char *why;
};

static bool refuse(struct reader *r, const char *why)
{
    r->why = why;
    return false;
}

static uint64_t number(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

static uint32_t u16(const unsigned char *p)
{
    return (uint32_t)number(p, 2);
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)number(p, 4);
}

/* The part of `whole` from `offset` on; false: not all of it is there. */
static bool cut(struct piece whole, uint64_t offset, uint64_t size, struct piece *part)
{
    if (offset > whole.size || size > whole.size - offset)
        return false;
    *part = (struct piece){ whole.data + offset, (size_t)size };
    return true;
}

/* The text at `offset` of a table of names; NULL: it does not end there. */
static const char *text_at(struct reader *r, struct piece names, uint64_t offset)
{
    const unsigned char *begin, *end;

    if (offset >= names.size)
        return NULL;
    begin = names.data + offset;
    end = memchr(begin, '\0', names.size - (size_t)offset);
    return end ? tlmc_arena_strndup(r->arena, (const char *)begin, (size_t)(end - begin)) : NULL;
}

/* ---- header and sections */

static bool read_header(struct reader *r, struct piece *table, unsigned *names)
{
    const unsigned char *h = r->file.data;
    uint32_t flags;

    if (r->file.size < HEADER_BYTES || memcmp(h, "\177ELF\2\1", 6) != 0)
        return refuse(r, "it is not a 64-bit little-endian ELF file");
    if (u16(h + 18) != MACHINE_CUDA)
        return refuse(r, "it is not for CUDA devices");
    flags = u32(h + 48);
    r->cubin->arch = h[8] >= 8 ? flags >> 8 & 0xff : flags & 0xff; /* by the version of its ABI */
    r->section_count = u16(h + 60);
    *names = u16(h + 62);
    if (u16(h + 58) != SECTION_BYTES || *names >= r->section_count ||
        !cut(r->file, number(h + 40, 8), (uint64_t)r->section_count * SECTION_BYTES, table))
        return refuse(r, "its table of sections is cut off");
    return true;
}

static bool read_section(struct reader *r, const unsigned char *row, struct section *s)
{
    s->type = u32(row + 4);
    s->size = number(row + 32, 8);
    s->link = u32(row + 40);
    s->info = u32(row + 44);
    if (s->type == SECTION_NO_BITS || s->type == 0)
        return true;
    return cut(r->file, number(row + 24, 8), s->size, &s->piece) ||
           refuse(r, "a section reaches beyond its end");
}

static bool read_sections(struct reader *r)
{
    struct piece table;
    unsigned names;

    if (!read_header(r, &table, &names))
        return false;
    r->sections = TLMC_NEW_ARRAY(r->arena, struct section, r->section_count + 1);
    for (unsigned i = 0; i < r->section_count; i++)
        if (!read_section(r, table.data + (size_t)i * SECTION_BYTES, &r->sections[i]))
            return false;
    for (unsigned i = 0; i < r->section_count; i++) {
        struct section *s = &r->sections[i];

        s->name = text_at(r, r->sections[names].piece, u32(table.data + (size_t)i * SECTION_BYTES));
        if (!s->name)
            return refuse(r, "the name of a section is cut off");
        if (strcmp(s->name, ".nv.shared.reserved.0") == 0)
            r->reserved_shared = RESERVED_SHARED;
        if (s->type == SECTION_SYMBOLS && !r->symbols)
            r->symbols = s;
    }
    if (!r->symbols || r->symbols->link >= r->section_count)
        return refuse(r, "it has no table of symbols");
    r->symbol_names = &r->sections[r->symbols->link];
    return true;
}

/* ---- kernels */

static bool add_kernel(struct reader *r, const unsigned char *symbol, uint32_t *row)
{
    struct tlmc_cubin_kernel *k = &r->cubin->kernels[r->cubin->kernel_count];

    k->name = text_at(r, r->symbol_names->piece, u32(symbol));
    if (!k->name)
        return refuse(r, "the name of a symbol is cut off");
    k->code = (uint32_t)number(symbol + 16, 8);
    *row = ++r->cubin->kernel_count;
    return true;
}

static bool read_kernels(struct reader *r)
{
    const struct piece table = r->symbols->piece;
    const size_t count = table.size / SYMBOL_BYTES;

    r->rows = TLMC_NEW_ARRAY(r->arena, uint32_t, count + 1);
    r->cubin->kernels = TLMC_NEW_ARRAY(r->arena, struct tlmc_cubin_kernel, count + 1);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *symbol = table.data + i * SYMBOL_BYTES;

        if ((symbol[4] & 15) == SYMBOL_FUNCTION && symbol[5] & SYMBOL_KERNEL)
            if (!add_kernel(r, symbol, &r->rows[i]))
                return false;
    }
    return true;
}

static struct tlmc_cubin_kernel *kernel_of(struct reader *r, uint32_t symbol)
{
    const size_t count = r->symbols->piece.size / SYMBOL_BYTES;

    return symbol < count && r->rows[symbol] ? &r->cubin->kernels[r->rows[symbol] - 1] : NULL;
}

static struct tlmc_cubin_kernel *kernel_named(struct reader *r, const char *name)
{
    for (unsigned i = 0; i < r->cubin->kernel_count; i++)
        if (strcmp(r->cubin->kernels[i].name, name) == 0)
            return &r->cubin->kernels[i];
    return NULL;
}

/* ---- .nv.info and .nv.info.KERNEL */

static void take_stack(struct tlmc_cubin_kernel *k, uint32_t bytes)
{
    if (bytes > k->stack)
        k->stack = bytes;
}

/* An attribute of the whole file: a symbol and a value. */
static void take_of_symbol(struct reader *r, unsigned attribute, struct piece payload)
{
    struct tlmc_cubin_kernel *k;

    if (payload.size < 8)
        return;
    k = kernel_of(r, u32(payload.data));
    if (!k)
        return;
    if (attribute == ATTRIBUTE_REGISTERS)
        k->registers = u32(payload.data + 4);
    else if (attribute == ATTRIBUTE_FRAME || attribute == ATTRIBUTE_MIN_STACK)
        take_stack(k, u32(payload.data + 4));
}

/* A parameter: its ordinal, offset and size.  In the usual form the size is 14 bits above 18
   others, in the other one 16 bits. */
static void take_param(struct tlmc_cubin_kernel *k, unsigned attribute, struct piece payload)
{
    if (payload.size < 12)
        return;
    k->param_count++;
    if (u16(payload.data + 4) != 0)
        return;
    k->param_offset = u16(payload.data + 6);
    k->param_size =
        attribute == ATTRIBUTE_PARAM ? u32(payload.data + 8) >> 18 : u16(payload.data + 8);
}

static void take_of_kernel(struct tlmc_cubin_kernel *k, unsigned form, unsigned attribute,
                           uint32_t value, struct piece payload)
{
    if (attribute == ATTRIBUTE_PARAM || attribute == ATTRIBUTE_LARGE_PARAM)
        take_param(k, attribute, payload);
    else if (attribute == ATTRIBUTE_PARAM_BYTES && form == FORM_VALUE16)
        k->param_bytes = value;
}

/* `own`: the kernel of .nv.info.KERNEL; NULL: .nv.info. */
static bool read_info(struct reader *r, struct piece info, struct tlmc_cubin_kernel *own)
{
    size_t at = 0;

    while (info.size - at >= 4) {
        const unsigned form = info.data[at], attribute = info.data[at + 1];
        const uint32_t value = u16(info.data + at + 2);
        struct piece payload = { NULL, 0 };

        at += 4;
        if (form == FORM_BYTES) {
            if (!cut(info, at, value, &payload))
                return refuse(r, "an attribute reaches beyond its section");
            at += payload.size;
        }
        if (!own)
            take_of_symbol(r, attribute, payload);
        else
            take_of_kernel(own, form, attribute, value, payload);
    }
    return true;
}

static bool take_shared(struct reader *r, struct tlmc_cubin_kernel *k, uint64_t bytes)
{
    if (bytes > UINT32_MAX)
        return refuse(r, "a kernel has more shared memory than there is");
    k->shared = (uint32_t)bytes;
    if (k->shared >= r->reserved_shared)
        k->shared -= r->reserved_shared;
    return true;
}

static bool read_attributes_of(struct reader *r, const struct section *s)
{
    static const char info[] = ".nv.info.", shared[] = ".nv.shared.";
    struct tlmc_cubin_kernel *k;

    if (strcmp(s->name, ".nv.info") == 0)
        return read_info(r, s->piece, NULL);
    if (strncmp(s->name, info, sizeof info - 1) == 0) {
        k = kernel_named(r, s->name + sizeof info - 1);
        return !k || read_info(r, s->piece, k);
    }
    if (strncmp(s->name, shared, sizeof shared - 1) == 0) {
        k = kernel_named(r, s->name + sizeof shared - 1);
        return !k || take_shared(r, k, s->size);
    }
    return true;
}

bool tlmc_cubin_read(const void *data, size_t size, struct tlmc_arena *arena,
                     struct tlmc_cubin *cubin, const char **why)
{
    struct reader r = { .file = { data, size }, .arena = arena, .cubin = cubin };
    bool ok;

    *cubin = (struct tlmc_cubin){ 0 };
    ok = read_sections(&r) && read_kernels(&r);
    for (unsigned i = 0; ok && i < r.section_count; i++)
        ok = read_attributes_of(&r, &r.sections[i]);
    *why = r.why;
    return ok;
}

const struct tlmc_cubin_kernel *tlmc_cubin_find(const struct tlmc_cubin *cubin, const char *name)
{
    for (unsigned i = 0; i < cubin->kernel_count; i++)
        if (strcmp(cubin->kernels[i].name, name) == 0)
            return &cubin->kernels[i];
    return NULL;
}
