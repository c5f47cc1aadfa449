/* In: NAME.cu, the kernels it must hold, NVRTC.  Out: NAME_images.c.  Compiling is one process an
   architecture: each writes NAME_<arch>.cubin (and the first NAME_<arch>.ptx) into the folder of
   the build, this process reads them.  So a crash of the compiler is a message, not the end. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "images.h"

#include "bundle.h"
#include "file.h"
#include "interrupt.h"
#include "output.h"
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARCH_OLDEST = 75, /* what the kernels are written for */
    ARCH_DIGITS = 4,
    REGISTER_FILE = 65536,    /* registers of a multiprocessor: a block must fit */
    SHARED_LIMIT = 48 * 1024, /* of a block without asking for more */
    MOST_CUBIN = 256 << 20    /* bytes; a limit for the file reader */
};

/* ---- the list of architectures */

static int ascending(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

static bool refuse_list(const char *list, const char *why)
{
    fprintf(stderr, "tlmc: --arch '%s': %s\n", list, why);
    return false;
}

static const char *known_archs(const struct tlmc_images *images)
{
    struct tlmc_strbuf text = { 0 };
    const char *copy;

    for (unsigned i = 0; i < images->nvrtc->arch_count; i++)
        if (images->nvrtc->archs[i] >= ARCH_OLDEST)
            tlmc_strbuf_printf(&text, " %u", images->nvrtc->archs[i]);
    copy = tlmc_arena_strdup(images->arena, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    return copy;
}

static bool add_arch(struct tlmc_images *images, const char *list, const char *item)
{
    struct tlmc_arena *arena = images->arena;
    const size_t length = strlen(item);
    unsigned arch;

    if (length == 0)
        return refuse_list(list, "an item is empty");
    if (length > ARCH_DIGITS || strspn(item, "0123456789") != length || *item == '0')
        return refuse_list(list,
                           tlmc_arena_printf(arena, "'%s' is not a number such as 80, for sm_80",
                                             item));
    arch = (unsigned)strtoul(item, NULL, 10);
    if (arch < ARCH_OLDEST)
        return refuse_list(list,
                           tlmc_arena_printf(arena, "%u is older than the kernels' 75", arch));
    if (!tlmc_nvrtc_knows(images->nvrtc, arch))
        return refuse_list(list,
                           tlmc_arena_printf(arena, "NVRTC %d.%d does not know %u; it knows%s",
                                             images->nvrtc->major, images->nvrtc->minor, arch,
                                             known_archs(images)));
    for (unsigned i = 0; i < images->arch_count; i++)
        if (images->archs[i] == arch)
            return refuse_list(list, tlmc_arena_printf(arena, "%u is given twice", arch));
    images->archs[images->arch_count++] = arch;
    return true;
}

/* Those of the default that this NVRTC knows. */
static bool choose_default(struct tlmc_images *images)
{
    const char *item = TLMC_CUDA_ARCHITECTURES;

    for (;;) {
        const unsigned arch = (unsigned)strtoul(item, NULL, 10);

        if (tlmc_nvrtc_knows(images->nvrtc, arch))
            images->archs[images->arch_count++] = arch;
        item += strcspn(item, ",");
        if (!*item++)
            break;
    }
    if (images->arch_count > 0)
        return true;
    fprintf(stderr,
            "tlmc: NVRTC %d.%d knows none of " TLMC_CUDA_ARCHITECTURES "; name some with "
            "--arch; it knows%s\n",
            images->nvrtc->major, images->nvrtc->minor, known_archs(images));
    return false;
}

bool tlmc_images_choose(struct tlmc_images *images, const char *list)
{
    const char *item = list;

    images->arch_count = 0;
    if (!list)
        return choose_default(images);
    for (;;) {
        const size_t length = strcspn(item, ",");

        if (!add_arch(images, list, tlmc_arena_strndup(images->arena, item, length)))
            return false;
        if (item[length] == '\0')
            break;
        item += length + 1;
    }
    qsort(images->archs, images->arch_count, sizeof *images->archs, ascending);
    return true;
}

/* ---- compiling */

void tlmc_images_source(struct tlmc_images *images, const char *file, const char *text)
{
    unsigned count = 0;
    const char **names, **texts;

    while (tlmc_program_texts[count].name)
        count++;
    names = TLMC_NEW_ARRAY(images->arena, const char *, count + 1);
    texts = TLMC_NEW_ARRAY(images->arena, const char *, count + 1);
    for (unsigned i = 0; i < count; i++) {
        names[i] = tlmc_program_texts[i].name;
        texts[i] = tlmc_program_texts[i].text;
    }
    images->source = (struct tlmc_nvrtc_source){ file, text, names, texts, count };
}

struct task {
    const struct tlmc_images *images;
    unsigned arch;
    bool with_ptx;
};

static const char *result_name(const struct tlmc_images *images, unsigned arch, const char *kind)
{
    return tlmc_arena_printf(images->arena, "%s_%u.%s", images->name, arch, kind);
}

static int compile_one(const void *context)
{
    const struct task *task = context;
    const struct tlmc_images *images = task->images;
    struct tlmc_nvrtc_result result;
    bool ok;

    ok = tlmc_nvrtc_compile(images->nvrtc, &images->source, task->arch, &result);
    fputs(tlmc_strbuf_text(&result.log), stderr); /* nothing, where we have done our work */
    if (!ok)
        fprintf(stderr,
                "\ntlmc: fault in tlmc: NVRTC %d.%d does not compile %s for sm_%u; its messages "
                "stand above\n",
                images->nvrtc->major, images->nvrtc->minor, images->source.name, task->arch);
    ok = ok && tlmc_write_file(images->folder, result_name(images, task->arch, "cubin"),
                               tlmc_strbuf_text(&result.cubin), result.cubin.length);
    if (ok && task->with_ptx)
        ok = tlmc_write_file(images->folder, result_name(images, task->arch, "ptx"),
                             tlmc_strbuf_text(&result.ptx), result.ptx.length);
    tlmc_nvrtc_result_free(&result);
    return ok ? TLMC_EXIT_OK : TLMC_EXIT_USAGE;
}

void tlmc_images_compile(const struct tlmc_images *images, struct tlmc_jobs *jobs)
{
    for (unsigned i = 0; i < images->arch_count; i++) {
        const struct task task = { images, images->archs[i], i == 0 };

        tlmc_jobs_function(jobs, "NVRTC", compile_one, &task);
    }
}

/* ---- checking */

const char *tlmc_images_misfit(const struct tlmc_cubin_kernel *compiled,
                               const struct tlmc_emitted_kernel *wanted, struct tlmc_arena *arena)
{
    uint64_t registers;

    if (!compiled)
        return "is missing";
    if (compiled->param_count != 1 || compiled->param_offset != 0)
        return tlmc_arena_printf(arena,
                                 "has %u parameters, the first at offset %u, instead of one "
                                 "struct",
                                 compiled->param_count, compiled->param_offset);
    if (compiled->param_size != wanted->arg_bytes || compiled->param_bytes != wanted->arg_bytes)
        return tlmc_arena_printf(arena,
                                 "takes a struct of %u bytes (%u in all), the host code "
                                 "passes %u",
                                 compiled->param_size, compiled->param_bytes, wanted->arg_bytes);
    registers = (compiled->registers + TLMC_REGISTER_GRAIN - 1ull) / TLMC_REGISTER_GRAIN *
                TLMC_REGISTER_GRAIN;
    if (compiled->registers == 0 || registers * wanted->threads > REGISTER_FILE)
        return tlmc_arena_printf(arena, "takes %u registers a thread: %u threads do not fit",
                                 compiled->registers, wanted->threads);
    if (compiled->stack > wanted->stack)
        return tlmc_arena_printf(arena,
                                 "takes %u bytes of stack a thread, %u at most: spills, or an "
                                 "array with run-time indices",
                                 compiled->stack, wanted->stack);
    if (compiled->shared > SHARED_LIMIT)
        return tlmc_arena_printf(arena, "takes %u bytes of shared memory, a block has %u",
                                 compiled->shared, (unsigned)SHARED_LIMIT);
    return NULL;
}

static bool check_cubin(const struct tlmc_images *images, unsigned arch,
                        const struct tlm_bytes *bytes)
{
    struct tlmc_cubin cubin;
    const char *why;
    bool ok = true;

    if (!tlmc_cubin_read(bytes->data, bytes->size, images->arena, &cubin, &why)) {
        fprintf(stderr, "tlmc: NVRTC %d.%d made a cubin for sm_%u that cannot be read: %s\n",
                images->nvrtc->major, images->nvrtc->minor, arch, why);
        return false;
    }
    if (cubin.arch != arch) {
        fprintf(stderr, "tlmc: NVRTC %d.%d made a cubin for sm_%u when asked for sm_%u\n",
                images->nvrtc->major, images->nvrtc->minor, cubin.arch, arch);
        return false;
    }
    for (unsigned i = 0; i < images->kernel_count; i++) {
        const struct tlmc_emitted_kernel *k = &images->kernels[i];

        why = tlmc_images_misfit(tlmc_cubin_find(&cubin, k->name), k, images->arena);
        if (why)
            fprintf(stderr, "tlmc: fault in tlmc: kernel '%s' for sm_%u %s\n", k->name, arch, why);
        ok = ok && !why;
    }
    return ok;
}

/* ---- NAME_images.c */

/* Bytes as string literals, 64 a line: compilers read them several times faster than lists of
   numbers.  A `?` is escaped because two of them may begin a trigraph. */
static void put_bytes(struct tlmc_strbuf *out, const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = data[i];
        const bool last = i % 64 == 63 || i + 1 == size;

        if (i % 64 == 0)
            tlmc_strbuf_add(out, "    \"");
        if (c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '?')
            tlmc_strbuf_char(out, (char)c);
        else if (!last && data[i + 1] >= '0' && data[i + 1] <= '7')
            tlmc_strbuf_printf(out, "\\%03o", c);
        else
            tlmc_strbuf_printf(out, "\\%o", c);
        if (last)
            tlmc_strbuf_add(out, "\"\n");
    }
}

static void put_array(struct tlmc_strbuf *out, const char *name, const unsigned char *data,
                      size_t size)
{
    tlmc_strbuf_printf(out, "static const _Alignas(8) char %s[] =\n", name);
    put_bytes(out, data, size);
    out->text[out->length - 1] = ';';
    tlmc_strbuf_add(out, "\n\n");
}

static void put_head(struct tlmc_arena *arena, const char *name, const char *what,
                     struct tlmc_strbuf *out)
{
    struct tlmc_bundle bundle = { .arena = arena, .source = tlmc_find_program_text };

    tlmc_strbuf_printf(out, "/* %s: %s\n   Written by tlmc %s. */\n", name, what, TLMC_VERSION);
    tlmc_bundle_file(&bundle, "tlm_cuda.h", out);
    TLMC_CHECK(!bundle.missing);
    tlmc_strbuf_printf(out,
                       "\nextern const tlm_cuda_image %s_images[];\n"
                       "extern const uint32_t %s_image_count;\n\n",
                       name, name);
}

static bool read_result(const struct tlmc_images *images, unsigned arch, const char *kind,
                        struct tlm_bytes *bytes)
{
    char error[TLM_ERROR_BYTES];
    const char *path =
        tlmc_arena_printf(images->arena, "%s/%s", images->folder, result_name(images, arch, kind));

    if (tlm_file_read(path, MOST_CUBIN, bytes, error) == TLM_OK)
        return true;
    fprintf(stderr, "tlmc: %s\n", error);
    return false;
}

/* One compiled image as an array and a row of the table.  Literals end with a NUL, as PTX must. */
static void put_image(const char *kind, unsigned arch, const char *name,
                      const struct tlm_bytes *bytes, struct tlmc_strbuf *out,
                      struct tlmc_strbuf *rows)
{
    put_array(out, name, bytes->data, bytes->size);
    tlmc_strbuf_printf(rows, "    { TLM_CUDA_IMAGE_%s, %u, %s, sizeof %s },\n", kind, arch, name,
                       name);
}

/* Checks every cubin, whatever form they travel in. */
static bool check_all(const struct tlmc_images *images)
{
    bool ok = true;

    for (unsigned i = 0; i < images->arch_count; i++) {
        struct tlm_bytes bytes = { 0 };

        ok = read_result(images, images->archs[i], "cubin", &bytes) &&
             check_cubin(images, images->archs[i], &bytes) && ok;
        tlm_bytes_free(&bytes);
    }
    return ok;
}

static bool collect_plain(const struct tlmc_images *images, struct tlmc_strbuf *out,
                          struct tlmc_strbuf *rows)
{
    bool ok = true;

    for (unsigned i = 0; ok && i <= images->arch_count; i++) {
        const bool ptx = i == images->arch_count;
        const unsigned arch = images->archs[ptx ? 0 : i];
        struct tlm_bytes bytes = { 0 };

        ok = read_result(images, arch, ptx ? "ptx" : "cubin", &bytes);
        if (ok)
            put_image(ptx ? "PTX" : "CUBIN", arch,
                      tlmc_arena_printf(images->arena, "%s_%u", ptx ? "ptx" : "cubin", arch),
                      &bytes, out, rows);
        tlm_bytes_free(&bytes);
    }
    return ok;
}

/* "--image3=kind=elf,sm=80,file=..."  The tool takes no comma in a path, so it runs in the folder
   of the images and gets names alone. */
static char *image_word(const struct tlmc_images *images, unsigned arch, bool ptx)
{
    return tlmc_arena_printf(images->arena, "--image3=kind=%s,sm=%u,file=%s", ptx ? "ptx" : "elf",
                             arch, result_name(images, arch, ptx ? "ptx" : "cubin"));
}

/* NAME.fatbin, in the folder of the build. */
static bool run_fatbinary(const struct tlmc_images *images, const char *name)
{
    char *const tool = realpath(images->fatbinary, NULL); /* whatever folder it is run in */
    char *argv[TLMC_NVRTC_ARCHS + 8];
    unsigned n = 0;
    bool ok;

    argv[n++] = tool;
    argv[n++] = tlmc_arena_strdup(images->arena, "--64");
    argv[n++] = tlmc_arena_strdup(images->arena, "--compress-all");
    argv[n++] = tlmc_arena_printf(images->arena, "--create=%s", name);
    for (unsigned i = 0; i < images->arch_count; i++)
        argv[n++] = image_word(images, images->archs[i], false);
    argv[n++] = image_word(images, images->archs[0], true);
    argv[n] = NULL;
    ok = tool && tlmc_run_program(images->folder, argv) == 0;
    if (!ok && !tlmc_interrupt())
        fprintf(stderr, "tlmc: '%s' did not put the device code together\n", images->fatbinary);
    free(tool);
    return ok;
}

static bool collect_fatbin(const struct tlmc_images *images, struct tlmc_strbuf *out,
                           struct tlmc_strbuf *rows)
{
    const char *const name = tlmc_arena_printf(images->arena, "%s.fatbin", images->name);
    char error[TLM_ERROR_BYTES];
    struct tlm_bytes bytes = { 0 };
    bool ok;

    if (!run_fatbinary(images, name))
        return false;
    ok = tlm_file_read(tlmc_arena_printf(images->arena, "%s/%s", images->folder, name), MOST_CUBIN,
                       &bytes, error) == TLM_OK;
    if (ok)
        put_image("ANY", images->archs[0], "fatbin", &bytes, out, rows);
    else
        fprintf(stderr, "tlmc: %s\n", error);
    tlm_bytes_free(&bytes);
    return ok;
}

bool tlmc_images_collect(const struct tlmc_images *images, struct tlmc_strbuf *out)
{
    struct tlmc_strbuf rows = { 0 };
    bool ok;

    put_head(images->arena, images->name, "compiled device code.", out);
    ok = check_all(images) &&
         (images->fatbinary ? collect_fatbin : collect_plain)(images, out, &rows);
    tlmc_strbuf_printf(out,
                       "const tlm_cuda_image %s_images[] = {\n%s};\n"
                       "const uint32_t %s_image_count = %u;\n",
                       images->name, tlmc_strbuf_text(&rows), images->name,
                       images->fatbinary ? 1 : images->arch_count + 1);
    tlmc_strbuf_free(&rows);
    return ok;
}

const char *tlmc_images_ptx_name(const struct tlmc_images *images)
{
    return result_name(images, images->archs[0], "ptx");
}

bool tlmc_images_keep_ptx(const struct tlmc_images *images, const char *folder)
{
    struct tlmc_strbuf text = { 0 };
    struct tlm_bytes bytes = { 0 };
    bool ok = read_result(images, images->archs[0], "ptx", &bytes);

    tlmc_strbuf_printf(&text, "// %s: PTX.  Written by tlmc %s.\n", images->name, TLMC_VERSION);
    if (ok)
        tlmc_strbuf_add_n(&text, (const char *)bytes.data, bytes.size);
    ok = ok && tlmc_write_file(folder, tlmc_images_ptx_name(images), text.text, text.length);
    tlmc_strbuf_free(&text);
    tlm_bytes_free(&bytes);
    return ok;
}

void tlmc_images_none(struct tlmc_arena *arena, const char *name, struct tlmc_strbuf *out)
{
    put_head(arena, name, "no device code: this build is without CUDA.", out);
    tlmc_strbuf_printf(out,
                       "const tlm_cuda_image %s_images[] = { { TLM_CUDA_IMAGE_CUBIN, 0, 0, 0 } };\n"
                       "const uint32_t %s_image_count = 0;\n",
                       name, name);
}
