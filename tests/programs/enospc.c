/* A full disk, injected: LD_PRELOAD this and every write to a file below $TLM_FAULT_DIR fails with
   ENOSPC once $TLM_FAULT_AFTER bytes were written.  With TLM_FAULT_KILL=1 the process is killed
   there instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static size_t written;

static int is_watched(int fd)
{
    const char *dir = getenv("TLM_FAULT_DIR");
    char link[64], path[PATH_MAX];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (!dir || n <= 0)
        return 0;
    path[n] = '\0';
    return strncmp(path, dir, strlen(dir)) == 0;
}

ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*next)(int, const void *, size_t);
    const char *after = getenv("TLM_FAULT_AFTER");
    size_t room;

    *(void **)&next = dlsym(RTLD_NEXT, "write");
    if (!after || !is_watched(fd))
        return next(fd, data, size);
    room = strtoul(after, NULL, 10);
    room = room > written ? room - written : 0;
    if (room == 0 && getenv("TLM_FAULT_KILL"))
        raise(SIGKILL);
    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (size > room)
        size = room;
    written += size;
    return next(fd, data, size);
}
