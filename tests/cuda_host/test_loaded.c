/* A C program that knows nothing of the shim opens two shared objects, each with kernels and a shim
   of its own: states do not mix, an object can be closed and opened again, and one that is closed
   with reports ends the process.  Usage: test_loaded FIRST.so SECOND.so */
#define _POSIX_C_SOURCE 200809L
#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct object {
    void *handle;
    float (*run)(const char *kernel);
    unsigned (*count)(tlm_host_kind kind);
    unsigned (*total)(void);
    void (*quiet)(int on);
    void (*reset)(void);
    const char *(*text)(unsigned back);
    const char *(*layer)(void);
    unsigned long long (*threads)(void);
};

static int failures;

static void check(int right, const char *what)
{
    if (right)
        return;
    printf("FAILED: %s\n", what);
    failures++;
}

static void find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);

    check(address != NULL, name);
    memcpy(function, &address, sizeof address);
}

static struct object open_object(const char *path)
{
    struct object o = { .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };

    if (o.handle == NULL) {
        printf("FAILED: %s\n", dlerror());
        _exit(1);
    }
    find(o.handle, "loaded_run", &o.run);
    find(o.handle, "tlm_host_count", &o.count);
    find(o.handle, "tlm_host_total", &o.total);
    find(o.handle, "tlm_host_quiet", &o.quiet);
    find(o.handle, "tlm_host_reset", &o.reset);
    find(o.handle, "tlm_host_text", &o.text);
    find(o.handle, "tlm_host_layer", &o.layer);
    find(o.handle, "tlm_host_threads", &o.threads);
    return o;
}

static void test_two_objects(const char *first_path, const char *second_path)
{
    const struct object first = open_object(first_path), second = open_object(second_path);
    const int checked = strcmp(first.layer(), "checked") == 0;

    printf("%s and %s\n", first.layer(), second.layer());
    first.quiet(1);
    check(first.run("control_reverse") == 248.0f, "the first object runs a kernel");
    check(first.threads() == 256 && second.threads() == 0, "threads are counted apart");
    check(second.run("control_reverse") == 248.0f, "the second object runs a kernel");
    check(first.total() == 0 && second.total() == 0, "no reports");
    first.run("barrier_of_some");
    check(first.count(TLM_HOST_DIVERGENCE) == 1 && second.total() == 0, "reports are apart");
    check(first.text(0) != NULL && strstr(first.text(0), "kernel barrier_of_some") != NULL &&
              first.text(1) == NULL && second.text(0) == NULL,
          "texts are apart");
    first.run("histogram_without_atomics");
    check((first.count(TLM_HOST_RACE) != 0) == checked, "a race is seen where there is a checker");
    second.run("histogram_without_atomics");
    check(second.total() == 0, "and not where there is none");
    first.reset();
    check(first.total() == 0 && first.text(0) == NULL, "reset");
    check(dlclose(second.handle) == 0, "close the second");
    check(first.run("control_row_sum") == 7 * 64 * 64 + 63 * 32, "the first object goes on");
    check(dlclose(first.handle) == 0, "close the first");
}

/* Many objects one after another, as the op tests do: what each took is given back. */
static void test_again(const char *path)
{
    for (int i = 0; i < 50; i++) {
        const struct object o = open_object(path);
        check(o.threads() == 0, "an object that is opened again begins anew");
        check(o.run("control_reverse") == 248.0f, "an object that is opened again");
        dlclose(o.handle);
    }
}

static void test_exit_status(const char *path, int quiet)
{
    int status;

    fflush(NULL);
    if (fork() == 0) {
        const struct object o = open_object(path);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(9);
        o.quiet(quiet);
        o.run("barrier_of_some");
        dlclose(o.handle);
        _exit(0);
    }
    check(wait(&status) > 0 && WIFEXITED(status), "the child ends by itself");
    check(WEXITSTATUS(status) == (quiet ? 0 : TLM_HOST_EXIT), "exit status after reports");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        printf("usage: test_loaded FIRST.so SECOND.so\n");
        return 2;
    }
    test_two_objects(argv[1], argv[2]);
    test_again(argv[1]);
    test_again(argv[2]);
    test_exit_status(argv[1], 0);
    test_exit_status(argv[1], 1);
    printf("%d failures\n", failures);
    return failures != 0;
}
