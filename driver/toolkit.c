/* In: the option, the environment, what CMake found.  Out: folders to look in and paths in them. */
#include "toolkit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Below a toolkit's folder, by who packed it: NVIDIA, distributions, Python wheels. */
static const char *const library_places[] = {
    "lib64", "lib", "lib/x86_64-linux-gnu", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
    NULL
};
static const char *const header_places[] = { "include", "targets/x86_64-linux/include",
                                             "targets/sbsa-linux/include", NULL };
static const char *const tool_places[] = { "bin", NULL };

bool tlmc_toolkit_configured(void)
{
    return strcmp(TLMC_CUDA_TOOLKIT, "none") != 0;
}

static void add(const char **list, const char *folder)
{
    unsigned n = 0;

    while (list[n])
        n++;
    if (n < TLMC_TOOLKIT_FOLDERS)
        list[n] = folder;
}

static void add_places(const char **list, const char *path, const char *const *places,
                       struct tlmc_arena *arena)
{
    for (; *places; places++)
        add(list, tlmc_arena_printf(arena, "%s/%s", path, *places));
}

void tlmc_toolkit_find(struct tlmc_toolkit *toolkit, const char *path, struct tlmc_arena *arena)
{
    const char *const paths[] = { path, path ? NULL : getenv("CUDA_HOME"),
                                  path ? NULL : getenv("CUDA_PATH") };

    *toolkit = (struct tlmc_toolkit){ .asked = path != NULL };
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i] || !*paths[i])
            continue;
        add_places(toolkit->libraries, paths[i], library_places, arena);
        add_places(toolkit->headers, paths[i], header_places, arena);
        add_places(toolkit->tools, paths[i], tool_places, arena);
    }
    if (!path && *TLMC_CUDA_LIBRARIES)
        add(toolkit->libraries, TLMC_CUDA_LIBRARIES);
    if (!path && *TLMC_CUDA_HEADERS)
        add(toolkit->headers, TLMC_CUDA_HEADERS);
    if (!path && *TLMC_CUDA_TOOLS)
        add(toolkit->tools, TLMC_CUDA_TOOLS);
}

const char *tlmc_toolkit_folder(const char *const *folders, const char *file,
                                struct tlmc_arena *arena, struct tlmc_strbuf *why)
{
    for (unsigned i = 0; folders[i]; i++)
        if (access(tlmc_arena_printf(arena, "%s/%s", folders[i], file), R_OK) == 0)
            return folders[i];
    tlmc_strbuf_printf(why, "%s was not found in", file);
    for (unsigned i = 0; folders[i]; i++)
        tlmc_strbuf_printf(why, "%s %s", i ? "," : "", folders[i]);
    return NULL;
}
