/* Memory that runs out: the whole of libtlm is compiled here with an allocator whose n-th call
   fails, for every n until a program runs through.  Each failure is one message and exit status 2,
   without a crash or a leak (the sanitizers' build looks), and a checkpoint is whole or not
   there. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long alloc_calls, alloc_fail_at = -1;

static bool alloc_fails(void)
{
    return alloc_calls++ == alloc_fail_at;
}

static void *failing_malloc(size_t size)
{
    return alloc_fails() ? NULL : malloc(size);
}

static void *failing_calloc(size_t count, size_t size)
{
    return alloc_fails() ? NULL : calloc(count, size);
}

static void *failing_realloc(void *old, size_t size)
{
    return alloc_fails() ? NULL : realloc(old, size);
}

static void *failing_aligned_alloc(size_t alignment, size_t size)
{
    return alloc_fails() ? NULL : aligned_alloc(alignment, size);
}

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#define aligned_alloc failing_aligned_alloc
#include "libtlm.inc"
#undef malloc
#undef calloc
#undef realloc
#undef aligned_alloc

#include "tiny_program.h"

/* Runs the words, with both outputs in files. */
static int run_words(const tlm_program *program, int argc, char **argv, char *message,
                     size_t capacity)
{
    const int kept_out = dup(1), kept_err = dup(2);
    FILE *file;
    int code;

    fflush(stdout);
    fflush(stderr);
    if (!freopen("out.txt", "wb", stdout) || !freopen("err.txt", "wb", stderr))
        abort();
    code = tlm_shell_main(program, argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(kept_out, 1);
    dup2(kept_err, 2);
    close(kept_out);
    close(kept_err);
    file = fopen("err.txt", "rb");
    assert_non_null(file);
    message[fread(message, 1, capacity - 1, file)] = 0;
    fclose(file);
    return code;
}

/* Lets every allocation of a run fail in turn; at least `expected` of them. */
static void every_allocation(const char *line, int expected)
{
    tlm_train shuffled = tiny_train;
    tlm_program program;
    int failures = 0;

    shuffled.shuffle = 1;
    shuffled.split = TLM_SPLIT_RANDOM;
    shuffled.split_count = 4;
    program = tiny_program(&shuffled);
    for (alloc_fail_at = 0;; alloc_fail_at++, failures++) {
        char words[512], message[1024], *argv[32];
        int argc = 0, code;

        snprintf(words, sizeof words, "tiny %s", line);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
            argv[argc++] = word;
        alloc_calls = 0;
        code = run_words(&program, argc, argv, message, sizeof message);
        if (alloc_calls <= alloc_fail_at) { /* none failed: the run needs no more */
            assert_int_equal(code, 0);
            break;
        }
        if (code != 2 || !strstr(message, "no memory"))
            fail_msg("allocation %ld of '%s': exit %d, %s", alloc_fail_at, line, code, message);
    }
    alloc_fail_at = -1;
    assert_true(failures >= expected);
}

static void test_train(void **state)
{
    (void)state;
    every_allocation("--steps 3 --save a.safetensors", 20);
}

static void test_resume(void **state)
{
    (void)state;
    every_allocation("--steps 5 --resume a.safetensors --log log.jsonl", 20);
}

static void test_check_gradients(void **state)
{
    (void)state;
    every_allocation("--check-gradients", 15);
}

static void test_generate(void **state)
{
    (void)state;
    every_allocation("--generate --prompt abc", 8);
}

static int set_up(void **state)
{
    static char folder[] = "/tmp/tlm-alloc-XXXXXX";
    FILE *file;

    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0 || !(file = fopen("tiny.csv", "wb")))
        return -1;
    fputs("a,b,y\n1,0,1\n0,1,2\n1,1,3\n0,0,0\n-1,1,2\n2,1,0\n3,1,1\n1,2,1\n", file);
    return fclose(file);
}

static int tear_down(void **state)
{
    static const char *const files[] = { "tiny.csv", "out.txt", "err.txt", "a.safetensors",
                                         "log.jsonl" };
    char folder[256];

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        remove(files[i]);
    return getcwd(folder, sizeof folder) && chdir("/") == 0 ? rmdir(folder) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_check_gradients),
        cmocka_unit_test(test_generate),
    };

    return cmocka_run_group_tests_name("alloc", tests, set_up, tear_down);
}
