/* The reader of cubins against a planted file: what it says of each kernel, and that no cut and no
   changed byte leads it outside of the bytes it was given (which sanitizers would see).  Then the
   rule by which a build accepts a kernel. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "images.h"

#include <stdlib.h>
#include <string.h>

/* ---- a file with two kernels and a function */

enum {
    NONE,
    SECTION_NAMES,
    NAMES,
    SYMBOLS,
    INFO,
    INFO_RUN,
    INFO_WIDE,
    SHARED_RUN,
    RESERVED,
    TEXT,
    SECTIONS,
    MOST = 4096,
    KERNEL = 0x10 /* st_other of what may be launched */
};

static const char section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.info.run\0"
                                    ".nv.info.wide\0.nv.shared.run\0.nv.shared.reserved.0\0.text";
static const char names[] = "\0run\0helper\0wide";

struct file {
    unsigned char bytes[MOST];
    size_t size;
};

static void put(struct file *f, size_t at, uint64_t value, unsigned bytes)
{
    assert_true(at + bytes <= MOST);
    for (unsigned i = 0; i < bytes; i++)
        f->bytes[at + i] = (unsigned char)(value >> (8 * i));
    if (at + bytes > f->size)
        f->size = at + bytes;
}

static void append(struct file *f, uint64_t value, unsigned bytes)
{
    put(f, f->size, value, bytes);
}

/* The offset of a name in a table of names. */
static uint32_t name_at(const char *table, size_t size, const char *name)
{
    for (size_t i = 0; i + strlen(name) < size; i++)
        if ((i == 0 || table[i - 1] == '\0') && strcmp(table + i, name) == 0)
            return (uint32_t)i;
    fail_msg("no name '%s'", name);
    return 0;
}

struct place {
    size_t begin, size;
};

static struct place put_text(struct file *f, const char *text, size_t size)
{
    const struct place place = { f->size, size };

    for (size_t i = 0; i < size; i++)
        append(f, (unsigned char)text[i], 1);
    return place;
}

static void put_symbol(struct file *f, const char *name, unsigned type, unsigned other,
                       uint64_t size)
{
    append(f, name_at(names, sizeof names, name), 4);
    append(f, type, 1);
    append(f, other, 1);
    append(f, TEXT, 2);
    append(f, 0, 8);
    append(f, size, 8);
}

static struct place put_symbols(struct file *f)
{
    const size_t begin = f->size;

    put_symbol(f, "", 0, 0, 0);
    put_symbol(f, "run", 0x12, KERNEL, 512);
    put_symbol(f, "helper", 0x12, 0, 64);
    put_symbol(f, "wide", 0x12, KERNEL, 256);
    return (struct place){ begin, f->size - begin };
}

/* Attributes of all: form 4, a length, a symbol and a value. */
static void put_of_symbol(struct file *f, unsigned attribute, uint32_t symbol, uint32_t value)
{
    append(f, 4, 1);
    append(f, attribute, 1);
    append(f, 8, 2);
    append(f, symbol, 4);
    append(f, value, 4);
}

static struct place put_info(struct file *f)
{
    const size_t begin = f->size;

    put_of_symbol(f, 0x2f, 1, 40);
    put_of_symbol(f, 0x11, 1, 16);
    put_of_symbol(f, 0x12, 1, 24);
    put_of_symbol(f, 0x11, 2, 999); /* of the function: nobody's */
    put_of_symbol(f, 0x2f, 3, 20);
    put_of_symbol(f, 0x11, 77, 5); /* a symbol that there is not */
    return (struct place){ begin, f->size - begin };
}

static struct place put_info_of_kernel(struct file *f, unsigned attribute, uint64_t size_field,
                                       uint32_t bytes)
{
    const size_t begin = f->size;

    append(f, 3, 1); /* an attribute that is not known, with a value */
    append(f, 0x1b, 1);
    append(f, 255, 2);
    append(f, 4, 1);
    append(f, attribute, 1);
    append(f, 12, 2);
    append(f, 0, 4);
    append(f, 0, 2); /* ordinal */
    append(f, 0, 2); /* offset */
    append(f, size_field, 4);
    append(f, 3, 1);
    append(f, 0x19, 1);
    append(f, bytes, 2);
    return (struct place){ begin, f->size - begin };
}

static void put_section(struct file *f, const char *name, uint32_t type, struct place place,
                        uint32_t link)
{
    append(f, name_at(section_names, sizeof section_names, name), 4);
    append(f, type, 4);
    append(f, 0, 8);
    append(f, 0, 8);
    append(f, place.begin, 8);
    append(f, place.size, 8);
    append(f, link, 4);
    append(f, 0, 4);
    append(f, 1, 8);
    append(f, 0, 8);
}

/* `flags` and the version of the ABI say the architecture. */
static struct file make(unsigned abi, uint32_t flags, bool reserved)
{
    struct file f = { { 0 }, 64 };
    struct place text[SECTIONS];

    memcpy(f.bytes, "\177ELF\2\1\1\101", 8);
    put(&f, 8, abi, 1);
    put(&f, 18, 190, 2);
    put(&f, 48, flags, 4);
    put(&f, 58, 64, 2);
    put(&f, 60, SECTIONS, 2);
    put(&f, 62, SECTION_NAMES, 2);
    f.size = 64;
    text[SECTION_NAMES] = put_text(&f, section_names, sizeof section_names);
    text[NAMES] = put_text(&f, names, sizeof names);
    text[SYMBOLS] = put_symbols(&f);
    text[INFO] = put_info(&f);
    text[INFO_RUN] = put_info_of_kernel(&f, 0x17, (uint64_t)24 << 18 | 0x1f000, 24);
    text[INFO_WIDE] = put_info_of_kernel(&f, 0x45, 32760, 32760);
    put(&f, 40, f.size, 8);
    put_section(&f, "", 0, (struct place){ 0, 0 }, 0);
    put_section(&f, ".shstrtab", 3, text[SECTION_NAMES], 0);
    put_section(&f, ".strtab", 3, text[NAMES], 0);
    put_section(&f, ".symtab", 2, text[SYMBOLS], NAMES);
    put_section(&f, ".nv.info", 0x70000000, text[INFO], SYMBOLS);
    put_section(&f, ".nv.info.run", 0x70000000, text[INFO_RUN], SYMBOLS);
    put_section(&f, ".nv.info.wide", 0x70000000, text[INFO_WIDE], SYMBOLS);
    put_section(&f, ".nv.shared.run", 8, (struct place){ 1 << 30, 2048 }, 0);
    put_section(&f, reserved ? ".nv.shared.reserved.0" : "", 8, (struct place){ 0, 0 }, 0);
    put_section(&f, ".text", 1, (struct place){ 0, 64 }, 0);
    return f;
}

/* From memory of exactly that size. */
static bool read_bytes(const unsigned char *bytes, size_t size, struct tlmc_arena *arena,
                       struct tlmc_cubin *cubin, const char **why)
{
    unsigned char *copy = malloc(size ? size : 1);
    bool ok;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    ok = tlmc_cubin_read(copy, size, arena, cubin, why);
    free(copy);
    return ok;
}

/* ---- tests */

static void test_kernels(void **state)
{
    const struct file f = make(8, 0x06005004, false);
    struct tlmc_arena arena = { 0 };
    const struct tlmc_cubin_kernel *k;
    struct tlmc_cubin cubin;
    const char *why;

    (void)state;
    assert_true(read_bytes(f.bytes, f.size, &arena, &cubin, &why));
    assert_int_equal(cubin.arch, 80);
    assert_int_equal(cubin.kernel_count, 2);
    k = tlmc_cubin_find(&cubin, "run");
    assert_non_null(k);
    assert_int_equal(k->registers, 40);
    assert_int_equal(k->stack, 24); /* the larger of both */
    assert_int_equal(k->shared, 2048);
    assert_int_equal(k->code, 512);
    assert_int_equal(k->param_count, 1);
    assert_int_equal(k->param_offset, 0);
    assert_int_equal(k->param_size, 24);
    assert_int_equal(k->param_bytes, 24);
    k = tlmc_cubin_find(&cubin, "wide");
    assert_non_null(k);
    assert_int_equal(k->registers, 20);
    assert_int_equal(k->stack, 0);
    assert_int_equal(k->shared, 0);
    assert_int_equal(k->param_size, 32760);
    assert_int_equal(k->param_bytes, 32760);
    assert_null(tlmc_cubin_find(&cubin, "helper"));
    tlmc_arena_free(&arena);
}

static void test_versions(void **state)
{
    const struct file old = make(7, 0x00500550, false), reserved = make(8, 0x06007802, true);
    struct tlmc_arena arena = { 0 };
    struct tlmc_cubin cubin;
    const char *why;

    (void)state;
    assert_true(read_bytes(old.bytes, old.size, &arena, &cubin, &why));
    assert_int_equal(cubin.arch, 80);
    assert_true(read_bytes(reserved.bytes, reserved.size, &arena, &cubin, &why));
    assert_int_equal(cubin.arch, 120);
    assert_int_equal(tlmc_cubin_find(&cubin, "run")->shared, 1024); /* the source's own */
    tlmc_arena_free(&arena);
}

static void refuses(const struct file *f, const char *part)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_cubin cubin;
    const char *why = NULL;

    assert_false(read_bytes(f->bytes, f->size, &arena, &cubin, &why));
    if (!why || !strstr(why, part))
        fail_msg("no '%s' in: %s", part, why ? why : "no reason");
    tlmc_arena_free(&arena);
}

static size_t row_of(const struct file *f, unsigned section)
{
    uint64_t table = 0;

    for (unsigned i = 0; i < 8; i++)
        table |= (uint64_t)f->bytes[40 + i] << (8 * i);
    return (size_t)table + (size_t)section * 64;
}

static void test_refusals(void **state)
{
    const struct file good = make(8, 0x06005004, false);
    struct file f;

    (void)state;
    f = good;
    f.bytes[1] = 'e';
    refuses(&f, "ELF");
    f = good;
    put(&f, 18, 62, 2);
    refuses(&f, "not for CUDA");
    f = good;
    put(&f, 40, UINT64_MAX - 8, 8);
    refuses(&f, "table of sections");
    f = good;
    put(&f, 62, SECTIONS, 2);
    refuses(&f, "table of sections");
    f = good;
    put(&f, row_of(&good, INFO) + 32, UINT64_MAX, 8);
    refuses(&f, "beyond its end");
    f = good;
    put(&f, row_of(&good, INFO), 4000, 4);
    refuses(&f, "name of a section");
    f = good;
    put(&f, row_of(&good, SYMBOLS) + 4, 1, 4);
    refuses(&f, "no table of symbols");
    f = good;
    put(&f, row_of(&good, SYMBOLS) + 40, SECTIONS, 4);
    refuses(&f, "no table of symbols");
    f = good;
    put(&f, row_of(&good, NAMES) + 32, 3, 8); /* names end within "run" */
    refuses(&f, "name of a symbol");
    f = good;
    put(&f, row_of(&good, INFO_RUN) + 32, 10, 8);
    refuses(&f, "attribute");
    f = good;
    put(&f, row_of(&good, SHARED_RUN) + 32, UINT64_MAX, 8);
    refuses(&f, "shared memory");
    f.size = 0;
    refuses(&f, "ELF");
}

/* Every beginning of the file, and the file with each byte changed in three ways. */
static void test_hostile(void **state)
{
    static const unsigned char changes[] = { 0xff, 0x80, 0x01 };
    const struct file good = make(8, 0x06005004, true);
    struct tlmc_cubin cubin;
    const char *why;

    (void)state;
    for (size_t size = 0; size < good.size; size++) {
        struct tlmc_arena arena = { 0 };

        assert_false(read_bytes(good.bytes, size, &arena, &cubin, &why));
        assert_non_null(why);
        tlmc_arena_free(&arena);
    }
    for (size_t at = 0; at < good.size; at++)
        for (unsigned c = 0; c < sizeof changes; c++) {
            struct tlmc_arena arena = { 0 };
            struct file f = good;

            f.bytes[at] ^= changes[c];
            if (read_bytes(f.bytes, f.size, &arena, &cubin, &why))
                tlmc_cubin_find(&cubin, "run");
            tlmc_arena_free(&arena);
        }
}

static void misfits(struct tlmc_cubin_kernel compiled, const char *part)
{
    static const struct tlmc_emitted_kernel wanted = { "run", 256, 24, 8 };
    struct tlmc_arena arena = { 0 };
    const char *why = tlmc_images_misfit(&compiled, &wanted, &arena);

    if (!part)
        assert_null(why);
    else if (!why || !strstr(why, part))
        fail_msg("no '%s' in: %s", part, why ? why : "it fits");
    tlmc_arena_free(&arena);
}

static void test_misfits(void **state)
{
    const struct tlmc_cubin_kernel good = { .name = "run",
                                            .registers = 256,
                                            .shared = 49152,
                                            .param_count = 1,
                                            .param_size = 24,
                                            .param_bytes = 24 };
    static const struct tlmc_emitted_kernel wanted = { "run", 256, 24, 8 };
    struct tlmc_cubin_kernel k;

    (void)state;
    assert_string_equal(tlmc_images_misfit(NULL, &wanted, NULL), "is missing");
    misfits(good, NULL);
    k = good;
    k.registers = 257; /* handed out by eights: 264 * 256 > 65536 */
    misfits(k, "257 registers");
    k.registers = 0;
    misfits(k, "registers");
    k = good;
    k.stack = 8; /* as stated */
    misfits(k, NULL);
    k.stack = 9;
    misfits(k, "9 bytes of stack a thread, 8 at most");
    k = good;
    k.shared = 49153;
    misfits(k, "49153 bytes of shared memory");
    k = good;
    k.param_size = 20;
    misfits(k, "passes 24");
    k = good;
    k.param_bytes = 32;
    misfits(k, "passes 24");
    k = good;
    k.param_count = 2;
    misfits(k, "2 parameters");
    k = good;
    k.param_offset = 8;
    misfits(k, "offset 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),  cmocka_unit_test(test_versions),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_misfits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
