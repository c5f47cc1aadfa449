/* In: a path and a text.  Out: the file, or one message and false; a temporary file never stays. */
#define _GNU_SOURCE /* mkdtemp, mkstemp */
#include "output.h"

#include "strbuf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(const char *what, const char *path)
{
    fprintf(stderr, "tlmc: cannot %s '%s': %s\n", what, path, strerror(errno));
    return false;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool tlmc_make_folder(const char *path)
{
    struct tlmc_strbuf part = { 0 };
    bool ok = true;

    tlmc_strbuf_add(&part, path);
    for (size_t i = 1; ok && i <= part.length; i++) {
        const char c = part.text[i];

        if (c != '/' && c != '\0')
            continue;
        part.text[i] = '\0';
        if (mkdir(part.text, 0777) != 0 && !(errno == EEXIST && is_folder(part.text)))
            ok = fail("make folder", part.text);
        part.text[i] = c;
    }
    tlmc_strbuf_free(&part);
    return ok;
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length) {
        const ssize_t n = write(fd, text, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

bool tlmc_write_file(const char *folder, const char *name, const char *text, size_t length)
{
    struct tlmc_strbuf path = { 0 }, temporary = { 0 };
    struct stat old;
    bool ok = false;
    int fd;

    tlmc_strbuf_printf(&path, "%s%s%s", folder, *folder ? "/" : "", name);
    tlmc_strbuf_printf(&temporary, "%s.XXXXXX", path.text);
    fd = mkstemp(temporary.text);
    if (fd < 0) {
        fail("write", path.text);
    } else {
        /* mkstemp makes files private; a replaced file keeps its mode, a new one gets the usual
           one */
        const mode_t mask = umask(0);
        const mode_t mode = stat(path.text, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;

        umask(mask);
        ok = fchmod(fd, mode) == 0 && write_all(fd, text, length);
        ok = close(fd) == 0 && ok;
        ok = ok && rename(temporary.text, path.text) == 0;
        if (!ok) {
            fail("write", path.text);
            unlink(temporary.text);
        }
    }
    tlmc_strbuf_free(&path);
    tlmc_strbuf_free(&temporary);
    return ok;
}

bool tlmc_temporary_folder(char *path, size_t size)
{
    const char *base = getenv("TMPDIR");

    if (!base || !*base)
        base = "/tmp";
    if (snprintf(path, size, "%s/tlmc-XXXXXX", base) >= (int)size) {
        fprintf(stderr, "tlmc: TMPDIR is too long\n");
        return false;
    }
    return mkdtemp(path) ? true : fail("make a folder in", base);
}

void tlmc_remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}
