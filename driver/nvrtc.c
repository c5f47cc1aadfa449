/* NVRTC through dlopen: the dozen functions that a build calls, declared here as the toolkit's
   manual has them, found by name.  Their results are 0 for success. */
#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *program; /* opaque, as in the toolkit */

/* NVRTC_CALL(member, "exported name", (parameters)) */
#define NVRTC_CALLS(NVRTC_CALL)                                                       \
    NVRTC_CALL(version, "nvrtcVersion", (int *major, int *minor))                     \
    NVRTC_CALL(arch_count, "nvrtcGetNumSupportedArchs", (int *count))                 \
    NVRTC_CALL(archs, "nvrtcGetSupportedArchs", (int *archs))                         \
    NVRTC_CALL(create, "nvrtcCreateProgram",                                          \
               (program * made, const char *text, const char *name, int header_count, \
                const char *const *headers, const char *const *header_names))         \
    NVRTC_CALL(destroy, "nvrtcDestroyProgram", (program * made))                      \
    NVRTC_CALL(compile, "nvrtcCompileProgram",                                        \
               (program made, int option_count, const char *const *options))          \
    NVRTC_CALL(log_size, "nvrtcGetProgramLogSize", (program made, size_t * size))     \
    NVRTC_CALL(log, "nvrtcGetProgramLog", (program made, char *text))                 \
    NVRTC_CALL(cubin_size, "nvrtcGetCUBINSize", (program made, size_t * size))        \
    NVRTC_CALL(cubin, "nvrtcGetCUBIN", (program made, char *data))                    \
    NVRTC_CALL(ptx_size, "nvrtcGetPTXSize", (program made, size_t * size))            \
    NVRTC_CALL(ptx, "nvrtcGetPTX", (program made, char *text))

struct tlmc_nvrtc_calls {
#define MEMBER(member, name, parameters) int(*member) parameters;
    NVRTC_CALLS(MEMBER)
#undef MEMBER
    const char *(*error_text)(int result);
};

/* Newest first: one toolkit's folder holds one of them. */
static const char *const library_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" };

enum { LIBRARY_NAMES = sizeof library_names / sizeof *library_names };

/* C has no conversion from an object pointer to a function pointer; POSIX says that their bytes
   agree. */
static bool find(void *library, const char *name, void *function, struct tlmc_strbuf *why)
{
    void *const address = dlsym(library, name);

    if (!address) {
        tlmc_strbuf_printf(why, "the library found has no function %s", name);
        return false;
    }
    memcpy(function, &address, sizeof address);
    return true;
}

static bool bind_calls(struct tlmc_nvrtc *nvrtc, struct tlmc_strbuf *why)
{
    struct tlmc_nvrtc_calls *calls = calloc(1, sizeof *calls);
    bool ok;

    if (!calls)
        tlmc_out_of_memory();
    nvrtc->calls = calls;
    ok = find(nvrtc->library, "nvrtcGetErrorString", &calls->error_text, why);
#define BIND(member, name, parameters) ok = ok && find(nvrtc->library, name, &calls->member, why);
    NVRTC_CALLS(BIND)
#undef BIND
    return ok;
}

static bool ask_version(struct tlmc_nvrtc *nvrtc, struct tlmc_strbuf *why)
{
    int archs[TLMC_NVRTC_ARCHS], count = 0;

    if (nvrtc->calls->version(&nvrtc->major, &nvrtc->minor) != 0 ||
        nvrtc->calls->arch_count(&count) != 0 || count < 1 || count > TLMC_NVRTC_ARCHS ||
        nvrtc->calls->archs(archs) != 0) {
        tlmc_strbuf_add(why, "the library found does not say what it compiles for");
        return false;
    }
    for (int i = 0; i < count; i++)
        nvrtc->archs[nvrtc->arch_count++] = (unsigned)archs[i];
    return true;
}

static void *open_library(const char *const *folders, bool system)
{
    struct tlmc_strbuf path = { 0 };
    void *library = NULL;

    for (; !library && folders && *folders; folders++)
        for (int i = 0; !library && i < LIBRARY_NAMES; i++) {
            tlmc_strbuf_clear(&path);
            tlmc_strbuf_printf(&path, "%s/%s", *folders, library_names[i]);
            library = dlopen(path.text, RTLD_NOW | RTLD_LOCAL);
        }
    for (int i = 0; !library && system && i < LIBRARY_NAMES; i++)
        library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    tlmc_strbuf_free(&path);
    return library;
}

static void say_where(const char *const *folders, bool system, struct tlmc_strbuf *why)
{
    tlmc_strbuf_add(why, "libnvrtc.so was not found in");
    for (; folders && *folders; folders++)
        tlmc_strbuf_printf(why, " %s,", *folders);
    if (system)
        tlmc_strbuf_add(why, " the system's library folders,");
    why->text[--why->length] = '\0';
}

bool tlmc_nvrtc_open(struct tlmc_nvrtc *nvrtc, const char *const *folders, bool system,
                     struct tlmc_strbuf *why)
{
    *nvrtc = (struct tlmc_nvrtc){ .library = open_library(folders, system) };
    if (!nvrtc->library) {
        say_where(folders, system, why);
        return false;
    }
    if (bind_calls(nvrtc, why) && ask_version(nvrtc, why))
        return true;
    tlmc_nvrtc_close(nvrtc);
    return false;
}

void tlmc_nvrtc_close(struct tlmc_nvrtc *nvrtc)
{
    void *calls = NULL;

    memcpy(&calls, &nvrtc->calls, sizeof calls);
    free(calls);
    if (nvrtc->library)
        dlclose(nvrtc->library);
    *nvrtc = (struct tlmc_nvrtc){ 0 };
}

bool tlmc_nvrtc_knows(const struct tlmc_nvrtc *nvrtc, unsigned arch)
{
    for (unsigned i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] == arch)
            return true;
    return false;
}

/* ---- compiling */

/* One of the outputs of a compiled program into `out`, by its pair of functions. */
static bool fetch(program made, int (*size_of)(program, size_t *), int (*get)(program, char *),
                  struct tlmc_strbuf *out)
{
    size_t size = 0;
    char *data;
    bool ok;

    if (size_of(made, &size) != 0)
        return false;
    if (size == 0)
        return true;
    data = calloc(size, 1);
    if (!data)
        tlmc_out_of_memory();
    ok = get(made, data) == 0;
    if (ok)
        tlmc_strbuf_add_n(out, data, size);
    free(data);
    return ok;
}

/* NVRTC counts the NUL of a text as part of it. */
static void drop_nul(struct tlmc_strbuf *text)
{
    while (text->length > 0 && text->text[text->length - 1] == '\0')
        text->length--;
}

bool tlmc_nvrtc_compile(const struct tlmc_nvrtc *nvrtc, const struct tlmc_nvrtc_source *source,
                        unsigned arch, struct tlmc_nvrtc_result *result)
{
    const struct tlmc_nvrtc_calls *calls = nvrtc->calls;
    char target[32];
    /* Binary32 as docs/numerics.md has it: no contraction, subnormals kept, IEEE division and
       root.  Only the first differs from what NVRTC does unasked; all are said.  Warning 177 is of
       static functions that are not used. */
    const char *const options[] = {
        target,       "--std=c++17",    "-default-device", "-fmad=false",
        "-ftz=false", "-prec-div=true", "-prec-sqrt=true", "-diag-suppress=177"
    };
    program made = NULL;
    bool ok;
    int code;

    *result = (struct tlmc_nvrtc_result){ 0 };
    snprintf(target, sizeof target, "-arch=sm_%u", arch);
    code = calls->create(&made, source->text, source->name, (int)source->header_count,
                         source->header_texts, source->header_names);
    if (code == 0) {
        code = calls->compile(made, (int)(sizeof options / sizeof *options), options);
        fetch(made, calls->log_size, calls->log, &result->log);
        drop_nul(&result->log);
    }
    ok = code == 0 && fetch(made, calls->cubin_size, calls->cubin, &result->cubin) &&
         fetch(made, calls->ptx_size, calls->ptx, &result->ptx) && result->cubin.length > 0;
    drop_nul(&result->ptx);
    if (!ok && result->log.length == 0)
        tlmc_strbuf_printf(&result->log, "%s: NVRTC failed: %s\n", source->name,
                           code ? calls->error_text(code) : "no output");
    if (made)
        calls->destroy(&made);
    return ok;
}

void tlmc_nvrtc_result_free(struct tlmc_nvrtc_result *result)
{
    tlmc_strbuf_free(&result->log);
    tlmc_strbuf_free(&result->cubin);
    tlmc_strbuf_free(&result->ptx);
}
