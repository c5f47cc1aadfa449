/* Runs every kernel of faults.cu in a child process, in three schedules, and compares what was
   noticed with the table below: which layer sees which fault, and which it does not see.  A layer
   that sees less, or invents something, fails here; so does one that sees more, and then the table
   is wrong.

   What a child shows: the kinds of the reports, "failed" (the launch said so), "wrong" (a result
   that is not the right one), "stopped" (a sanitizer or a memory fault ended the process), or "-",
   nothing. */
#include "faults.h"
#include "host_internal.h"

#include <string>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Children that a sanitizer stops are only counted: no stack traces with names, which take long. */
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options(void);
extern "C" const char *__asan_default_options(void)
{
    return "symbolize=0";
}

namespace
{

enum { THREADS = 256, X_COUNT = 4096, Y_COUNT = 2 * THREADS };

float host_x[X_COUNT];

/* ---- right results, by the number of the element */

float reversed(int i)
{
    return host_x[THREADS - 1 - i];
}

float itself(int i)
{
    return host_x[i];
}

float repeated(int i)
{
    return host_x[i % THREADS];
}

float neighbour(int i)
{
    return host_x[i ^ 1];
}

float from_second_block(int i)
{
    return host_x[THREADS + i];
}

float one(int)
{
    return 1.0f;
}

float sum_of_tiles(int i)
{
    float sum = 0.0f;

    for (int k = 0; k < 8; k++)
        sum += host_x[k * THREADS + (i + 40) % THREADS];
    return sum;
}

float histogram(int i)
{
    float sum = 0.0f;

    for (int t = i; t < THREADS; t += 8)
        sum += host_x[t];
    return sum;
}

float row_sum(int i)
{
    float sum = 0.0f;

    for (int k = 0; k < 64; k++)
        sum += host_x[i * 64 + k];
    return sum;
}

/* ---- operands other than the usual ones */

void n_is_100(fault_operands *o)
{
    o->n = 100;
}

void n_is_5(fault_operands *o)
{
    o->n = 5;
}

void small_y(fault_operands *o)
{
    o->n = 128;
    o->y = (float *)tlm_host_alloc(o->n * sizeof(float));
}

void unwritten_y(fault_operands *o)
{
    o->y = (float *)tlm_host_alloc(THREADS * sizeof(float));
}

void far_beyond(fault_operands *o)
{
    o->n = X_COUNT + 4096;
}

void released_y(fault_operands *o)
{
    small_y(o);
    tlm_host_free(o->y);
}

void host_x_itself(fault_operands *o)
{
    o->n = THREADS;
    o->x = host_x;
}

/* ---- the table */

struct fault {
    const char *kernel, *variant; /* the variant tells kernels that are used twice apart */
    unsigned blocks, threads;
    void (*arrange)(fault_operands *operands); /* or NULL */
    float (*right)(int i);                     /* or NULL: results are not looked at */
    int count;                                 /* of them */
    /* What is seen; "a | b | c": in order, reversed, random. */
    const char *plain, *asan, *checked;
};

#define SAME(text) text, text, text

const fault faults[] = {
    { "control_reverse", "", 1, 256, nullptr, reversed, 256, SAME("-") },
    { "control_row_sum", "", 1, 256, n_is_5, row_sum, 5, SAME("-") },
    { "control_vocabulary", "", 2, 256, nullptr, repeated, 512, SAME("-") },
    { "copy", "control", 2, 256, n_is_100, itself, 100, SAME("-") },

    { "read_without_barrier", "", 1, 256, nullptr, reversed, 256, "wrong", "wrong",
      "race uninitialised wrong" },
    { "write_without_barrier", "", 1, 256, nullptr, sum_of_tiles, 256, "wrong", "wrong",
      "race wrong" },
    { "template_without_barrier", "", 1, 256, nullptr, reversed, 256, "wrong", "wrong",
      "race uninitialised wrong" },
    { "exchange_without_syncwarp", "", 1, 256, nullptr, neighbour, 256, "wrong", "wrong",
      "race uninitialised wrong" },

    { "histogram_without_atomics", "", 1, 256, nullptr, histogram, 8, "-", "-", "race" },
    { "atomic_and_plain", "", 1, 256, nullptr, one, 256, "-", "-", "race" },
    { "same_value_twice", "", 1, 256, nullptr, one, 1, "-", "-", "race" },
    { "two_blocks_write", "", 2, 256, nullptr, from_second_block, 256, "- | wrong | wrong",
      "- | wrong | wrong", "race | race wrong | race wrong" },
    { "block_reads_another", "", 2, 256, nullptr, repeated, 512, "- | wrong | wrong",
      "- | wrong | wrong", "race | race wrong | race wrong" },
    { "last_block_writes", "", 3, 256, nullptr, itself, 256, "-", "-", "race" },

    { "global_one_beyond", "", 1, 256, small_y, nullptr, 0, "-", "stopped", "bounds" },
    { "global_one_before", "", 1, 256, nullptr, nullptr, 0, "-", "stopped", "bounds" },
    { "global_far_beyond", "", 1, 256, far_beyond, nullptr, 0, "stopped", "stopped", "bounds" },
    { "shared_index_beyond", "", 1, 256, nullptr, nullptr, 0, "-", "stopped", "bounds" },
    { "shared_pointer_beyond", "", 1, 256, nullptr, itself, 256, "-", "stopped", "bounds" },
    { "copy", "use after free", 1, 256, released_y, nullptr, 0, "stopped", "stopped", "bounds" },
    { "copy", "host address", 1, 256, host_x_itself, nullptr, 0, "-", "-", "pointer" },
    { "arguments_written", "", 1, 256, nullptr, nullptr, 0, "-", "-", "pointer" },
    { "misaligned_quad", "", 1, 256, nullptr, nullptr, 0, "-", "stopped", "misaligned" },

    { "shared_unwritten", "", 1, 256, nullptr, itself, 256, "wrong", "wrong",
      "uninitialised wrong" },
    { "shared_sum_unwritten", "", 1, 256, nullptr, itself, 256, "wrong", "wrong",
      "uninitialised wrong" },
    { "global_unwritten", "", 1, 256, unwritten_y, itself, 8, "wrong", "wrong",
      "uninitialised wrong" },

    { "barrier_of_some", "", 1, 256, nullptr, itself, 256, SAME("divergence") },
    { "barrier_in_two_arms", "", 1, 256, nullptr, reversed, 256, SAME("divergence") },
    { "return_before_barrier", "", 1, 256, n_is_100, nullptr, 0, SAME("divergence") },
    { "barrier_against_collective", "", 1, 256, nullptr, nullptr, 0, SAME("deadlock failed") },
    { "shuffle_of_half_a_warp", "", 1, 256, nullptr, nullptr, 0,
      SAME("divergence deadlock failed") },
    { "shuffle_from_no_lane", "", 1, 8, nullptr, nullptr, 0, SAME("divergence") },
    { "shuffle_from_outside_the_mask", "", 1, 256, nullptr, nullptr, 0, SAME("divergence") },
    { "mask_without_the_caller", "", 1, 256, nullptr, nullptr, 0, SAME("divergence") },
    { "two_kinds_of_collective", "", 1, 256, nullptr, nullptr, 0,
      SAME("divergence deadlock failed") },

    { "too_much_shared", "", 1, 256, nullptr, nullptr, 0, SAME("limit failed") },
    { "trap", "", 1, 256, nullptr, nullptr, 0, SAME("trap failed") },
};

const char *const schedules[] = { "in-order", "reversed", "random:1" };

/* ---- one run */

float *device_floats(const float *from, size_t count)
{
    float *to = (float *)tlm_host_alloc(count * sizeof(float));

    tlm_host_memory_open();
    if (from != nullptr)
        memcpy(to, from, count * sizeof(float));
    else
        memset(to, 0, count * sizeof(float));
    tlm_host_memory_close();
    tlm_host_mark_initialised(to, count * sizeof(float));
    return to;
}

/* In the child: what is seen, as text. */
std::string observe(const fault &f)
{
    const struct tlm_host_kernel *kernel = tlm_host_find_kernel(f.kernel);
    fault_operands operands = { device_floats(nullptr, Y_COUNT), device_floats(host_x, X_COUNT),
                                0 };
    std::string seen;
    bool wrong = false;

    if (kernel == nullptr || kernel->arg_bytes != sizeof operands || kernel->max_threads != THREADS)
        return "no such kernel";
    if (f.arrange != nullptr)
        f.arrange(&operands);
    const cudaError_t status = tlm_host_run(kernel->name, kernel->run, &operands, sizeof operands,
                                            dim3(f.blocks), dim3(f.threads), 0);
    for (int kind = 0; kind < TLM_HOST_KINDS; kind++)
        if (tlm_host_count((tlm_host_kind)kind) != 0)
            seen += std::string(tlm_host_kind_name((tlm_host_kind)kind)) + " ";
    if (status != cudaSuccess)
        seen += "failed ";
    tlm_host_memory_open();
    for (int i = 0; f.right != nullptr && i < f.count; i++)
        wrong = wrong || !(fabsf(operands.y[i] - f.right(i)) < 1e-3f);
    tlm_host_memory_close();
    if (wrong)
        seen += "wrong ";
    if (seen.empty())
        return "-";
    seen.pop_back();
    return seen;
}

std::string run_in_child(const fault &f, const char *schedule, bool show)
{
    int ends[2], status;
    char part[256];
    std::string seen;

    fflush(nullptr);
    if (pipe(ends) != 0)
        return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        if (!show && freopen("/dev/null", "w", stderr) == nullptr)
            _exit(9);
        tlm_host_quiet(!show);
        if (tlm_host_schedule(schedule) != 0)
            _exit(9);
        seen = observe(f);
        if (write(ends[1], seen.data(), seen.size()) != (ssize_t)seen.size())
            _exit(9);
        _exit(0);
    }
    close(ends[1]);
    ssize_t n;
    while ((n = read(ends[0], part, sizeof part)) > 0)
        seen.append(part, (size_t)n);
    close(ends[0]);
    waitpid(child, &status, 0);
    return status != 0 ? "stopped" : seen;
}

/* "a | b | c": the one of this schedule. */
std::string expected_of(const fault &f, int schedule)
{
    const std::string layer = tlm_host_layer();
    std::string text = layer == "plain" ? f.plain : layer == "asan" ? f.asan : f.checked;

    for (int i = 0; i < schedule && text.find(" | ") != std::string::npos; i++)
        text = text.substr(text.find(" | ") + 3);
    return text.substr(0, text.find(" | "));
}

int test_faults(bool show)
{
    int failures = 0;

    printf("%-32s %-16s %-10s %s\n", "kernel", "", "schedule", tlm_host_layer());
    for (const fault &f : faults)
        for (int s = 0; s < 3; s++) {
            const std::string seen = run_in_child(f, schedules[s], show && s == 0);
            const std::string expected = expected_of(f, s);
            printf("%-32s %-16s %-10s %s\n", f.kernel, f.variant, schedules[s], seen.c_str());
            if (seen == expected)
                continue;
            printf("FAILED: expected %s\n", expected.c_str());
            failures++;
        }
    return failures;
}

/* ---- what a launch refuses at once */

int test_limits()
{
    struct limit {
        dim3 grid, block;
        size_t shared_bytes, arg_bytes;
        cudaError_t status;
    };
    const limit limits[] = {
        { 1, 256, 0, 24, cudaSuccess },
        { 0x7fffffff, 1, 48 << 10, 32764, cudaSuccess },
        { 0, 256, 0, 24, cudaErrorInvalidConfiguration },
        { 0x80000000u, 256, 0, 24, cudaErrorInvalidConfiguration },
        { dim3(1, 65536), 256, 0, 24, cudaErrorInvalidConfiguration },
        { dim3(1, 1, 65536), 256, 0, 24, cudaErrorInvalidConfiguration },
        { 1, 0, 0, 24, cudaErrorInvalidConfiguration },
        { 1, 2048, 0, 24, cudaErrorInvalidConfiguration },
        { 1, dim3(1, 1, 65), 0, 24, cudaErrorInvalidConfiguration },
        { 1, 512, 0, 24, cudaErrorLaunchOutOfResources },
        { 1, 256, (48 << 10) + 1, 24, cudaErrorInvalidValue },
        { 1, 256, 0, 32765, cudaErrorInvalidValue },
    };
    int failures = 0;

    for (const limit &l : limits) {
        const cudaError_t status =
            tlm_host_check_launch(l.grid, l.block, l.shared_bytes, l.arg_bytes, THREADS);
        if (status == l.status)
            continue;
        printf("FAILED: grid %u,%u,%u block %u,%u,%u: %d, expected %d\n", l.grid.x, l.grid.y,
               l.grid.z, l.block.x, l.block.y, l.block.z, (int)status, (int)l.status);
        failures++;
    }
    return failures;
}

/* ---- memory of the device */

int check(bool right, const char *what)
{
    if (!right)
        printf("FAILED: %s\n", what);
    return right ? 0 : 1;
}

int test_memory()
{
    unsigned char *a = (unsigned char *)tlm_host_alloc(1000);
    unsigned char *b = (unsigned char *)tlm_host_alloc(0);
    int failures = 0;

    failures += check(tlm_host_live_bytes() == 1001, "live bytes");
    failures += check(((uintptr_t)a & 511) == 256 && ((uintptr_t)b & 511) == 256, "alignment");
    tlm_host_memory_open();
    failures += check(a[0] == 0xff && a[999] == 0xff, "fresh memory is NaN");
    tlm_host_memory_close();
    failures += check(tlm_host_is_device(a, 1000) && tlm_host_is_device(a + 999, 1), "inside");
    failures += check(!tlm_host_is_device(a + 999, 2) && !tlm_host_is_device(a - 1, 1) &&
                          !tlm_host_is_device(a + 1000, 0) && !tlm_host_is_device(a, SIZE_MAX),
                      "outside");
    failures += check(tlm_host_alloc(tlm_host_memory_bytes()) == nullptr, "out of memory");
    failures += check(tlm_host_free(a + 256) == 0, "free of no start");
    failures += check(tlm_host_free(a) == 1 && tlm_host_free(a) == 0, "free twice");
    failures += check(!tlm_host_is_device(a, 1) && tlm_host_in_arena(a), "freed");
    unsigned char *c = (unsigned char *)tlm_host_alloc(1000);
    failures += check(c != a, "an address is not given out again");
    const bool follows = strcmp(tlm_host_layer(), "checked") == 0;
    failures += check(tlm_host_never_written(c, 1000) == (follows ? 1000 : 0), "nothing written");
    tlm_host_mark_initialised(c + 1, 7);
    tlm_host_mark_copied(c + 499, c + 2, 10);
    failures += check(tlm_host_never_written(c, 1000) == (follows ? 987 : 0), "13 bytes written");
    tlm_host_free(b);
    tlm_host_free(c);
    failures += check(tlm_host_live_bytes() == 0, "no live bytes");
    failures += check(tlm_host_schedule("sideways") == -1 && tlm_host_schedule("random:") == -1 &&
                          tlm_host_schedule("random:1x") == -1,
                      "unknown schedules are refused");
    return failures;
}

/* ---- how a program ends */

/* The exit status of a child that does `work` with a variable of the environment set. */
int status_of(void (*work)(), const char *variable, const char *value)
{
    int status;

    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == nullptr)
            _exit(9);
        setenv(variable, value, 1);
        work();
        exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void touch_from_host()
{
    volatile float *x = device_floats(host_x, 16);

    x[3] = 1.0f;
}

void touch_while_open()
{
    volatile float *x = device_floats(host_x, 16);

    tlm_host_memory_open();
    x[3] = 1.0f;
    tlm_host_memory_close();
}

void run_kernel(const char *name)
{
    const fault_operands operands = { device_floats(nullptr, Y_COUNT),
                                      device_floats(host_x, X_COUNT), THREADS };

    tlm_host_run(name, tlm_host_find_kernel(name)->run, &operands, sizeof operands, dim3(1),
                 dim3(THREADS), 0);
}

void run_good_kernel()
{
    run_kernel("control_reverse");
}

void run_bad_kernel()
{
    run_kernel("barrier_of_some");
}

void run_bad_kernel_quietly()
{
    tlm_host_quiet(1);
    run_kernel("barrier_of_some");
}

int test_ends()
{
    int failures = 0;

    failures += check(status_of(touch_from_host, "TLM_HOST_GUARD", "0") == 0, "no guard");
    failures += check(status_of(touch_from_host, "TLM_HOST_GUARD", "1") == TLM_HOST_EXIT,
                      "the guard stops host code");
    failures += check(status_of(touch_while_open, "TLM_HOST_GUARD", "1") == 0, "memory is open");
    failures += check(status_of(run_good_kernel, "TLM_HOST_GUARD", "1") == 0, "kernels pass");
    failures += check(status_of(run_good_kernel, "TLM_HOST_SCHEDULE", "random:3") == 0, "schedule");
    failures += check(status_of(run_good_kernel, "TLM_HOST_SCHEDULE", "random") == 2,
                      "an unknown schedule in the environment");
    failures += check(status_of(run_bad_kernel, "TLM_HOST_SCHEDULE", "") == TLM_HOST_EXIT,
                      "reports are the exit status");
    failures += check(status_of(run_bad_kernel_quietly, "TLM_HOST_SCHEDULE", "") == 0, "quiet");
    return failures;
}

} // namespace

int main(int argc, char **argv)
{
    const bool show = argc > 1 && strcmp(argv[1], "--show") == 0;
    int failures = 0;

    for (int i = 0; i < X_COUNT; i++)
        host_x[i] = (float)(i % 97 + 1);
    failures +=
        test_ends(); /* before anything is allocated or run: children read the environment */
    failures += test_memory();
    failures += test_limits();
    failures += test_faults(show);
    printf("%d failure%s\n", failures, failures == 1 ? "" : "s");
    return failures != 0;
}
