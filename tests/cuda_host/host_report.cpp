/* Reports of the shim: counts by kind, the last texts, printing with the place in the source, and
   the exit status of a program that ends with reports.  A place is reported once for each kind; all
   are counted. */
#include "host_parts.h"

#include <set>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace
{

enum { KEPT = 16, TEXT_BYTES = 640 };

struct reports {
    bool quiet;
    unsigned counts[TLM_HOST_KINDS];
    unsigned kept; /* texts ever kept: the newest is at (kept - 1) % KEPT */
    char texts[KEPT][TEXT_BYTES];
    std::set<std::pair<int, std::string>> *seen;
};
reports all;

const char *const kind_names[TLM_HOST_KINDS] = {
    "race",       "bounds",   "uninitialised", "pointer", "misaligned",
    "divergence", "deadlock", "limit",         "trap",    "usage",
};

/* Reads what `addr2line` prints: "file:line". */
std::string ask_addr2line(const char *object, uintptr_t offset)
{
    char address[32];
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    std::string answer;

    snprintf(address, sizeof address, "%#lx", (unsigned long)offset);
    const char *const argv[] = { "addr2line", "-s", "-e", object, address, nullptr };
    if (pipe(ends) != 0)
        return "";
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1 /* O_WRONLY */, 0);
    const int failed =
        posix_spawnp(&child, argv[0], &actions, nullptr, const_cast<char *const *>(argv), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed == 0) {
        char part[256];
        ssize_t n;
        while ((n = read(ends[0], part, sizeof part)) > 0)
            answer.append(part, (size_t)n);
        waitpid(child, nullptr, 0);
    }
    close(ends[0]);
    return answer.substr(0, answer.find_first_of("\n ("));
}

/* The line of the call before the address; without debugging information, object+offset. */
std::string place_of(const void *pc)
{
    Dl_info info;
    link_map *map = nullptr;

    if (dladdr1(pc, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || info.dli_fname == nullptr)
        return "?";
    const uintptr_t offset = (uintptr_t)pc - 1 - map->l_addr;
    const std::string line = ask_addr2line(info.dli_fname, offset);
    if (!line.empty() && line[0] != '?')
        return line;
    char text[300];
    const char *name = strrchr(info.dli_fname, '/');
    snprintf(text, sizeof text, "%.200s+%#lx", name != nullptr ? name + 1 : info.dli_fname,
             (unsigned long)offset);
    return text;
}

void keep(tlm_host_kind kind, const std::string &site, const char *format, va_list list)
{
    char where[200];
    char *text = all.texts[all.kept++ % KEPT];

    tlm_host::describe_place(where, sizeof where);
    int n = snprintf(text, TEXT_BYTES, "%s: %s at %s: ", kind_names[kind], where, site.c_str());
    if (n < 0 || n >= TEXT_BYTES)
        n = TEXT_BYTES - 1;
    vsnprintf(text + n, (size_t)(TEXT_BYTES - n), format, list);
    if (!all.quiet)
        fprintf(stderr, "cuda-host: %s\n", text);
}

/* Counts; is the place new in this kernel? */
bool count(tlm_host_kind kind, std::string key)
{
    all.counts[kind]++;
    if (tlm_host::now.kernel != nullptr)
        key += tlm_host::now.kernel;
    if (all.seen == nullptr)
        all.seen = new std::set<std::pair<int, std::string>>;
    return all.seen->insert({ (int)kind, key }).second;
}

/* At the end of the program, or when the shared object is closed. */
__attribute__((destructor)) void end_with_reports()
{
    const unsigned total = tlm_host_total();

    if (all.quiet || total == 0)
        return;
    fprintf(stderr, "cuda-host: %u report%s\n", total, total == 1 ? "" : "s");
    fflush(nullptr);
    _exit(TLM_HOST_EXIT);
}

} // namespace

void tlm_host::report_at(tlm_host_kind kind, const void *pc, const char *format, ...)
{
    char key[32];
    va_list list;

    snprintf(key, sizeof key, "%p", pc);
    if (!count(kind, key))
        return;
    va_start(list, format);
    keep(kind, place_of(pc), format, list);
    va_end(list);
}

extern "C" {

void tlm_host_report(tlm_host_kind kind, const char *site, const char *format, ...)
{
    va_list list;

    if (!count(kind, site))
        return;
    va_start(list, format);
    keep(kind, site, format, list);
    va_end(list);
}

void tlm_host_quiet(int on)
{
    all.quiet = on != 0;
}

unsigned tlm_host_count(tlm_host_kind kind)
{
    return (unsigned)kind < TLM_HOST_KINDS ? all.counts[kind] : 0;
}

unsigned tlm_host_total(void)
{
    unsigned total = 0;

    for (unsigned n : all.counts)
        total += n;
    return total;
}

const char *tlm_host_text(unsigned back)
{
    if (back >= KEPT || back >= all.kept)
        return nullptr;
    return all.texts[(all.kept - 1 - back) % KEPT];
}

const char *tlm_host_kind_name(tlm_host_kind kind)
{
    return (unsigned)kind < TLM_HOST_KINDS ? kind_names[kind] : "?";
}

void tlm_host_reset(void)
{
    memset(all.counts, 0, sizeof all.counts);
    all.kept = 0;
    delete all.seen;
    all.seen = nullptr;
}

const char *tlm_host_layer(void)
{
    return TLM_HOST_CHECKED ? "checked" : TLM_HOST_ASAN ? "asan" : "plain";
}

} /* extern "C" */
