/* CUDA programs of cases: compilers, shared objects, runs. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "cuda.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *missing;
    const char *flags;   /* of device code; NULL: it is in the images */
    const char *library; /* what stands in for the CUDA runtime and the device */
    const char *images;
} layers[OPS_LAYERS] = {
    [OPS_LAYER_PLAIN] = { "plain", "", "", OPS_HOST_PLAIN, "host_images" },
    [OPS_LAYER_CHECKED] = { "checked", OPS_NO_CHECKED, OPS_CHECKED_FLAGS, OPS_HOST_CHECKED,
                            "host_images" },
    [OPS_LAYER_PTX] = { "ptx", OPS_NO_PTX, NULL, OPS_HOST_PTX, "ptx_images" },
};

const char *ops_layer_missing(enum ops_layer layer)
{
    return layers[layer].missing;
}

/* ---- compilers */

TLMC_PRINTF(1, 2) static bool command(const char *format, ...)
{
    char text[8192];
    va_list ap;
    int length;

    va_start(ap, format);
    length = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (length > 0 && (size_t)length < sizeof text && system(text) == 0)
        return true;
    fprintf(stderr, "failed: %s\n", text);
    return false;
}

/* The image that stands for the kernels of this shared object. */
static const char host_images[] =
    "#include \"tlm_cuda.h\"\n"
    "extern const tlm_cuda_image cases_images[];\n"
    "extern const uint32_t cases_image_count;\n"
    "const tlm_cuda_image cases_images[] = { { .kind = TLM_CUDA_IMAGE_ANY,\n"
    "    .data = \"TLM-CUDA-HOST\", .bytes = 13 } };\n"
    "const uint32_t cases_image_count = 1;\n";

static bool compile_host(const char *dir, const char *files)
{
    return command("cd '%s' && %s %s -fPIC -c -I. -I'%s/runtime' -I'%s/kernels_cuda' %s", dir,
                   OPS_CC, OPS_CFLAGS, TLMC_SOURCE_DIR, TLMC_SOURCE_DIR, files);
}

bool ops_cuda_emit(struct ops_program *p, const struct ops_list *list, const char *dir)
{
    char path[1024];
    FILE *file;

    if (!ops_program_emit(p, list, "cases", "checked_cuda", dir))
        return false;
    snprintf(path, sizeof path, "%s/host_images.c", dir);
    file = fopen(path, "wb");
    if (!file || fputs(host_images, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        return false;
    }
    return compile_host(dir, "cases.c cases_main.c shell_stub.c host_images.c");
}

static bool build(enum ops_layer layer, const char *dir)
{
    const char *name = layers[layer].name;
    char device[64] = "";

    if (layers[layer].flags) {
        snprintf(device, sizeof device, "device_%s.o", name);
        if (!command("cd '%s' && %s -O1 %s %s -c cases.cu -o %s", dir, OPS_CXX, OPS_DEVICE_FLAGS,
                     layers[layer].flags, device))
            return false;
    } else if (!ops_cuda_ptx(dir) || !compile_host(dir, "ptx_images.c")) {
        return false;
    }
    return command("cd '%s' && %s -shared -Wl,-Bsymbolic %s cases.o cases_main.o shell_stub.o %s.o "
                   "%s '%s' -o cases_%s.so -lm -ldl -lpthread",
                   dir, OPS_CXX, OPS_LINK_FLAGS, layers[layer].images, device,
                   layers[layer].library, name);
}

/* ---- shared objects */

static bool find(void *handle, const char *name, void *to)
{
    void *symbol = dlsym(handle, name);

    if (!symbol)
        fprintf(stderr, "%s\n", dlerror());
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_host(void *handle, struct ops_host *host)
{
    return find(handle, "tlm_host_schedule", &host->schedule) &&
           find(handle, "tlm_host_quiet", &host->quiet) &&
           find(handle, "tlm_host_total", &host->total) &&
           find(handle, "tlm_host_count", &host->count) &&
           find(handle, "tlm_host_text", &host->text) &&
           find(handle, "tlm_host_reset", &host->reset) &&
           find(handle, "tlm_host_defer", &host->defer) &&
           find(handle, "tlm_host_forgive", &host->forgive) &&
           find(handle, "tlm_host_capability", &host->capability) &&
           find(handle, "tlm_host_leaks", &host->leaks) &&
           find(handle, "tlm_cuda_empty_cache", &host->empty_cache);
}

bool ops_cuda_open(struct ops_cuda *cuda, enum ops_layer layer, const struct ops_list *list,
                   const char *dir)
{
    char path[1024];

    *cuda = (struct ops_cuda){ .program = { .handle = NULL } };
    snprintf(path, sizeof path, "%s/cases_%s.so", dir, layers[layer].name);
    if (!build(layer, dir) || !ops_program_load(&cuda->program, list, path) ||
        !find_host(cuda->program.handle, &cuda->host))
        return false;
    cuda->host.quiet(1);
    return true;
}

/* ---- runs */

struct ops_outcome ops_cuda_run(struct ops_cuda *cuda, const struct ops_list *list, uint32_t index,
                                struct ops_how how, const char **report)
{
    const struct ops_machine machine = { .threads = 1, .no_graph = how.no_graph };
    static char text[1024];
    char left[512];
    struct ops_outcome o;
    unsigned reports;

    cuda->host.reset();
    cuda->host.forgive();
    cuda->host.schedule(how.schedule);
    setenv("TLM_HOST_SCHEDULE", how.schedule, 1); /* what the interpreter reads */
    cuda->host.defer(how.defer);
    o = ops_run(&cuda->program, list, index, machine);
    cuda->host.empty_cache(NULL); /* the next run gets memory that nobody wrote */
    *report = NULL;
    reports = cuda->host.total();
    if (list->cases[index].out_of_range)
        reports -= cuda->host.count(TLM_HOST_UNINITIALISED);
    if (reports > 0) {
        snprintf(text, sizeof text, "%u reports, the last: %s", reports, cuda->host.text(0));
        *report = text;
    } else if (cuda->host.leaks(left, sizeof left) > 0) {
        snprintf(text, sizeof text, "not given back: %s", left);
        *report = text;
    }
    return o;
}
