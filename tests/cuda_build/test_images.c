/* What a build does with device code that is not right: NVRTC's own word for what does not compile,
   and a message for each way in which a cubin differs from what the host code passes.  Real device
   code through the real NVRTC; exit 77, a counted skip, where there is none. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "images.h"
#include "output.h"
#include "toolkit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIP = 77 };

#define KERNEL(name) "extern \"C\" __global__ void __launch_bounds__(256) " name
#define GOOD                                                             \
    "struct a { float *y; int n; };\n" KERNEL("good") "(const a m)\n{\n" \
                                                      "    m.y[threadIdx.x] = m.n;\n}\n"

static struct tlmc_arena arena;
static struct tlmc_nvrtc nvrtc;
static struct tlmc_strbuf folder;
static char said[8192];

/* Runs `work` with stderr in a file; what it said is in `said`. */
static bool listen(bool (*work)(void *), void *context)
{
    char path[PATH_MAX + 8];
    const int kept = dup(2);
    ssize_t size;
    bool ok;
    int file;

    snprintf(path, sizeof path, "%s/said", folder.text);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && file >= 0);
    fflush(stderr);
    dup2(file, 2);
    ok = work(context);
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    size = pread(file, said, sizeof said - 1, 0);
    said[size > 0 ? size : 0] = '\0';
    close(file);
    return ok;
}

static void says(const char *part)
{
    if (!strstr(said, part))
        fail_msg("no '%s' in: %s", part, said);
}

struct build {
    struct tlmc_images images;
    struct tlmc_strbuf out;
};

static bool work(void *context)
{
    struct build *b = context;
    struct tlmc_jobs jobs;

    tlmc_jobs_begin(&jobs);
    tlmc_images_compile(&b->images, &jobs);
    return tlmc_jobs_end(&jobs) && tlmc_images_collect(&b->images, &b->out);
}

/* Builds a text that should hold one kernel. */
static bool builds(const char *text, const char *name, uint32_t threads, uint32_t arg_bytes)
{
    const struct tlmc_emitted_kernel kernel = { name, threads, arg_bytes, 0 };
    struct build b = { .images = { .arena = &arena,
                                   .nvrtc = &nvrtc,
                                   .archs = { 80, 90 },
                                   .arch_count = 2,
                                   .folder = folder.text,
                                   .name = "m",
                                   .kernels = &kernel,
                                   .kernel_count = 1 } };
    bool ok;

    tlmc_images_source(&b.images, "m.cu", text);
    ok = listen(work, &b);
    if (ok) {
        assert_non_null(strstr(b.out.text, "const tlm_cuda_image m_images[] = {"));
        assert_non_null(strstr(b.out.text, "m_image_count = 3;"));
    }
    tlmc_strbuf_free(&b.out);
    return ok;
}

static void test_good(void **state)
{
    (void)state;
    assert_true(builds(GOOD, "good", 256, 16));
    assert_string_equal(said, "");
}

static void test_does_not_compile(void **state)
{
    (void)state;
    assert_false(builds("\n" KERNEL("k") "(int n)\n{\n    frobnicate(n);\n}\n", "k", 256, 4));
    says("m.cu(4): error");
    says("frobnicate");
    says("fault in tlmc");
    says("m.cu for sm_");
    assert_false(builds("#include \"none.h\"\n", "k", 256, 4));
    says("m.cu(1)");
    says("none.h");
}

static void test_arguments(void **state)
{
    (void)state;
    assert_false(builds(GOOD, "other", 256, 16));
    says("fault in tlmc: kernel 'other' for sm_80 is missing");
    says("kernel 'other' for sm_90 is missing");
    assert_false(builds(GOOD, "good", 256, 12));
    says("kernel 'good' for sm_80 takes a struct of 16 bytes (16 in all), the host code passes 12");
    assert_false(builds(KERNEL("k") "(float *y, int n)\n{\n    *y = n;\n}\n", "k", 256, 12));
    says("kernel 'k' for sm_90 has 2 parameters");
}

static void test_budgets(void **state)
{
    (void)state;
    assert_false(
        builds(KERNEL("k") "(float *y)\n{\n    float t[100];\n"
                           "    for (int i = 0; i < (int)*y; i++) t[i % 100] = y[i];\n"
                           "    for (int i = 0; i < (int)*y; i++) y[i] = t[(7 * i) % 100];\n"
                           "}\n",
               "k", 256, 8));
    says("kernel 'k' for sm_80 takes 400 bytes of stack a thread");
    assert_false(builds(GOOD, "good", 1 << 16, 16));
    says("65536 threads do not fit");
    assert_false(builds(KERNEL("k") "(float *y)\n{\n    __shared__ float t[12289];\n"
                                    "    t[threadIdx.x] = *y;\n    __syncthreads();\n"
                                    "    *y = t[255 - threadIdx.x];\n}\n",
                        "k", 256, 8));
    says("shared"); /* ptxas refuses before we do */
}

/* A large struct is described in another form. */
static void test_large_struct(void **state)
{
    static const char text[] = "struct a { float *p[1000]; };\n" KERNEL(
        "k") "(const __grid_constant__ a m)\n{\n    m.p[blockIdx.x][threadIdx.x] = 1;\n}\n";

    (void)state;
    assert_true(builds(text, "k", 256, 8000));
    assert_false(builds(text, "k", 256, 7992));
    says("takes a struct of 8000 bytes");
}

struct list {
    struct tlmc_images images;
    const char *text;
};

static bool choose(void *context)
{
    struct list *list = context;

    return tlmc_images_choose(&list->images, list->text);
}

static void test_lists(void **state)
{
    static const struct {
        const char *list, *part;
    } wrong[] = { { "", "empty" },       { "80,", "empty" },         { ",80", "empty" },
                  { "sm_80", "number" }, { "80 90", "number" },      { "-80", "number" },
                  { "70", "older" },     { "80,90,80", "twice" },    { "99", "does not know 99" },
                  { "80a", "number" },   { "00080", "not a number" } };
    struct list l = { .images = { .arena = &arena, .nvrtc = &nvrtc }, .text = "90,80" };

    (void)state;
    assert_true(listen(choose, &l));
    assert_int_equal(l.images.arch_count, 2);
    assert_int_equal(l.images.archs[0], 80);
    assert_int_equal(l.images.archs[1], 90);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        l.text = wrong[i].list;
        assert_false(listen(choose, &l));
        says(wrong[i].part);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),      cmocka_unit_test(test_does_not_compile),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_lists),     cmocka_unit_test(test_large_struct),
    };
    struct tlmc_strbuf why = { 0 };
    struct tlmc_toolkit toolkit;
    int failed;

    tlmc_toolkit_find(&toolkit, NULL, &arena);
    if (!tlmc_toolkit_configured() || !tlmc_nvrtc_open(&nvrtc, toolkit.libraries, true, &why)) {
        printf("skipped: no NVRTC%s%s\n", why.length ? ": " : "", tlmc_strbuf_text(&why));
        return SKIP;
    }
    if (!tlmc_temporary_folder(&folder))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tlmc_remove_folder(folder.text);
    tlmc_strbuf_free(&folder);
    tlmc_nvrtc_close(&nvrtc);
    tlmc_arena_free(&arena);
    return failed;
}
