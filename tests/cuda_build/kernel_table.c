/* kernel_table CATALOGUE.cu PAGE.md: compiles the catalogue of device code for every architecture
   that the kernels are written for and checks each kernel by the rule of a build: one struct,
   registers, stack, shared memory.  Then compares the page with the table of what was found:
   registers within one unit of their allocation, since NVRTC orders its work by addresses of its
   own memory and so allocates a few more or less from run to run; all else exactly.  Another
   version of NVRTC than the page's finds other numbers, so then only the rule counts.
   UPDATE_GOLDEN=1 writes the page.  Exit 77, a counted skip, where there is no NVRTC. */
#define _POSIX_C_SOURCE 200809L
#include "blocks.h"
#include "file.h"
#include "images.h"
#include "output.h"
#include "toolkit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77, MOST_ARCHS = 8, MOST_FILE = 64 << 20 };

static const unsigned wanted_archs[] = { 75, 80, 90, 100, 120 };

enum { WANTED = sizeof wanted_archs / sizeof *wanted_archs };

struct table {
    struct tlmc_arena arena;
    struct tlmc_nvrtc nvrtc;
    struct tlmc_images images;
    struct tlmc_strbuf folder;
    struct tlmc_emitted_kernel *kernels; /* of the catalogue, in its order */
    unsigned count;
    struct tlmc_cubin cubins[MOST_ARCHS];
};

static bool read_text(const char *path, struct tlm_bytes *bytes)
{
    char error[TLM_ERROR_BYTES];

    if (tlm_file_read(path, MOST_FILE, bytes, error) == TLM_OK)
        return true;
    fprintf(stderr, "%s\n", error);
    return false;
}

/* The names in TLM_KERNEL(name) at the begin of a line. */
static void list_kernels(struct table *t, const char *text)
{
    static const char mark[] = "\nTLM_KERNEL(";
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, mark)); at++)
        count++;
    t->kernels = TLMC_NEW_ARRAY(&t->arena, struct tlmc_emitted_kernel, count + 1);
    for (const char *at = text; (at = strstr(at, mark)); at++) {
        const char *name = at + sizeof mark - 1;

        t->kernels[t->count].name = tlmc_arena_strndup(&t->arena, name, strcspn(name, ")"));
        t->kernels[t->count].stack = strncmp(name, "matmul_", 7) == 0 ? TLMC_CUDA_TILE_STACK : 0;
        t->kernels[t->count++].threads = TLMK_THREADS;
    }
}

static bool read_cubin(struct table *t, unsigned which)
{
    const unsigned arch = t->images.archs[which];
    struct tlm_bytes bytes = { 0 };
    const char *why = "";
    bool ok = read_text(tlmc_arena_printf(&t->arena, "%s/%s_%u.cubin", t->folder.text,
                                          t->images.name, arch),
                        &bytes);

    if (ok && !tlmc_cubin_read(bytes.data, bytes.size, &t->arena, &t->cubins[which], &why)) {
        fprintf(stderr, "sm_%u: %s\n", arch, why);
        ok = false;
    }
    tlm_bytes_free(&bytes);
    return ok;
}

static const struct tlmc_cubin_kernel *row(const struct table *t, unsigned which, unsigned kernel)
{
    return tlmc_cubin_find(&t->cubins[which], t->kernels[kernel].name);
}

/* The size of the struct is what the first architecture says: it must be every one's. */
static bool check(struct table *t)
{
    bool ok = t->count > 0;

    for (unsigned k = 0; k < t->count; k++) {
        const struct tlmc_cubin_kernel *first = row(t, 0, k);

        t->kernels[k].arg_bytes = first ? first->param_size : 0;
        for (unsigned i = 0; i < t->images.arch_count; i++) {
            const char *why = tlmc_images_misfit(row(t, i, k), &t->kernels[k], &t->arena);

            if (why)
                fprintf(stderr, "kernel '%s' for sm_%u %s\n", t->kernels[k].name,
                        t->images.archs[i], why);
            ok = ok && !why;
        }
    }
    return ok;
}

static void put_row(const struct table *t, unsigned kernel, struct tlmc_strbuf *out)
{
    uint32_t shared = 0;

    tlmc_strbuf_printf(out, "| %s |", t->kernels[kernel].name);
    for (unsigned i = 0; i < t->images.arch_count; i++) {
        const struct tlmc_cubin_kernel *k = row(t, i, kernel);

        tlmc_strbuf_printf(out, " %u |", k->registers);
        shared = k->shared > shared ? k->shared : shared;
    }
    tlmc_strbuf_printf(out, " %u | %u |\n", shared, t->kernels[kernel].stack);
}

/* The first line of the page names the version whose numbers it has. */
static void put_page(const struct table *t, struct tlmc_strbuf *out)
{
    tlmc_strbuf_printf(out, "# CUDA kernels: registers, shared memory, stack (NVRTC %d.%d)\n\n",
                       t->nvrtc.major, t->nvrtc.minor);
    tlmc_strbuf_printf(
        out,
        "Generated: the test `cuda/kernel_table` compares this page with what NVRTC makes of\n"
        "`kernels_cuda/catalogue.cu`, and `UPDATE_GOLDEN=1` rewrites it. Registers are a thread's, "
        "for each\narchitecture, and differ a little from run to run of NVRTC; shared memory is a "
        "block's in bytes, the\nlargest of all architectures; stack is what a thread may have at "
        "most. A block has %d threads.\n\n"
        "Every kernel has one parameter, at most 48 KiB of shared memory, and two blocks fit the "
        "registers of a\nmultiprocessor. Only products may have a stack: their largest tile uses "
        "all 128 registers that this\nleaves to a thread, and a few addresses may go to memory, "
        "outside of the loop over k. `tlmc build` checks\nthe same of each kernel of a "
        "program.\n\n",
        TLMK_THREADS);
    tlmc_strbuf_add(out, "| kernel |");
    for (unsigned i = 0; i < t->images.arch_count; i++)
        tlmc_strbuf_printf(out, " sm_%u |", t->images.archs[i]);
    tlmc_strbuf_add(out, " shared | stack |\n|---|");
    for (unsigned i = 0; i < t->images.arch_count + 2; i++)
        tlmc_strbuf_add(out, "--:|");
    tlmc_strbuf_char(out, '\n');
    for (unsigned k = 0; k < t->count; k++)
        put_row(t, k, out);
}

/* The number in a field of a row, and the field behind it. */
static bool next_number(const char **field, long *number)
{
    char *end;

    *number = strtol(*field, &end, 10);
    if (end == *field || strncmp(end, " |", 2) != 0)
        return false;
    *field = end + 2;
    return true;
}

/* "| name | registers... | shared | stack |" */
static bool rows_agree(const char *a, const char *b, unsigned archs)
{
    const char *x = strstr(a + 1, "|"), *y = strstr(b + 1, "|");
    long m, n;

    if (!x || !y || x - a != y - b || strncmp(a, b, (size_t)(x - a)) != 0)
        return false;
    x++;
    y++;
    for (unsigned i = 0; i < archs + 2; i++) {
        const long most = i < archs ? TLMC_REGISTER_GRAIN : 0;

        if (!next_number(&x, &m) || !next_number(&y, &n) || labs(m - n) > most)
            return false;
    }
    return true;
}

static bool pages_agree(const char *a, const char *b, unsigned archs)
{
    while (*a && *b) {
        const size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

        if ((n != m || strncmp(a, b, n) != 0) && !rows_agree(a, b, archs)) {
            fprintf(stderr, "the page has:  %.*s\nwhat was made: %.*s\n", (int)n, a, (int)m, b);
            return false;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
    return *a == *b;
}

static bool compare(const struct table *t, const struct tlmc_strbuf *made, const char *path)
{
    const size_t head = strcspn(made->text, "\n");
    struct tlm_bytes page = { 0 };
    bool ok = true;

    if (getenv("UPDATE_GOLDEN"))
        return tlmc_write_file("", path, made->text, made->length);
    if (!read_text(path, &page))
        return false;
    if (page.size < head || memcmp(page.data, made->text, head) != 0) {
        printf("the page is of another NVRTC: only the rule was checked\n");
    } else if (!pages_agree((const char *)page.data, made->text, t->images.arch_count)) {
        fprintf(stderr, "%s is not current; UPDATE_GOLDEN=1 rewrites it\n", path);
        ok = false;
    }
    tlm_bytes_free(&page);
    return ok;
}

static bool compile(struct table *t, const char *text)
{
    struct tlmc_jobs jobs;
    bool ok = true;

    t->images = (struct tlmc_images){
        .arena = &t->arena, .nvrtc = &t->nvrtc, .folder = t->folder.text, .name = "catalogue"
    };
    for (unsigned i = 0; i < WANTED; i++)
        if (tlmc_nvrtc_knows(&t->nvrtc, wanted_archs[i]))
            t->images.archs[t->images.arch_count++] = wanted_archs[i];
    tlmc_images_source(&t->images, "catalogue.cu", text);
    tlmc_jobs_begin(&jobs);
    tlmc_images_compile(&t->images, &jobs);
    ok = tlmc_jobs_end(&jobs);
    for (unsigned i = 0; ok && i < t->images.arch_count; i++)
        ok = read_cubin(t, i);
    return ok;
}

static bool run(struct table *t, const char *catalogue, const char *page)
{
    struct tlmc_strbuf made = { 0 };
    struct tlm_bytes text = { 0 };
    bool ok = read_text(catalogue, &text);

    if (ok)
        list_kernels(t, (const char *)text.data);
    ok = ok && compile(t, (const char *)text.data) && check(t);
    if (ok) {
        put_page(t, &made);
        printf("%u kernels for %u architectures\n", t->count, t->images.arch_count);
        ok = compare(t, &made, page);
    }
    tlm_bytes_free(&text);
    tlmc_strbuf_free(&made);
    return ok;
}

int main(int argc, char **argv)
{
    static struct table t;
    struct tlmc_strbuf why = { 0 };
    struct tlmc_toolkit toolkit;
    bool ok;

    if (argc != 3)
        return 2;
    tlmc_toolkit_find(&toolkit, NULL, &t.arena);
    if (!tlmc_toolkit_configured() || !tlmc_nvrtc_open(&t.nvrtc, toolkit.libraries, true, &why)) {
        printf("skipped: no NVRTC: %s\n",
               why.length ? why.text : "this build is without the CUDA toolkit");
        tlmc_strbuf_free(&why);
        tlmc_arena_free(&t.arena);
        return SKIP;
    }
    ok = tlmc_temporary_folder(&t.folder) && run(&t, argv[1], argv[2]);
    if (t.folder.length)
        tlmc_remove_folder(t.folder.text);
    tlmc_strbuf_free(&t.folder);
    tlmc_nvrtc_close(&t.nvrtc);
    tlmc_arena_free(&t.arena);
    return ok ? 0 : 1;
}
