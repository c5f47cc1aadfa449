/* In: a path and a text.  Out: the file, or one message and false; a temporary file stays neither
   then nor after one of the signals of interrupt.h, which wait until there is none. */
#define _GNU_SOURCE /* mkdtemp, mkstemp */
#include "output.h"

#include "interrupt.h"

#include "file.h"
#include "tlm.h"

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

/* Into a file beside `path`, whose name is as short as any, then into its place.  A new file gets
   `mode` as far as the umask lets it, a replaced one keeps its own where `keep` says so. */
static bool put_file(const char *path, const char *text, size_t length, mode_t mode, bool keep)
{
    const char *const slash = strrchr(path, '/');
    struct tlmc_strbuf temporary = { 0 };
    const mode_t mask = umask(0);
    struct stat old;
    bool ok = false;
    int fd;

    umask(mask);
    mode = keep && stat(path, &old) == 0 ? old.st_mode & 07777 : mode & ~mask;
    tlmc_strbuf_add_n(&temporary, path, slash ? (size_t)(slash - path) + 1 : 0);
    tlmc_strbuf_add(&temporary, ".tlmc-XXXXXX");
    tlmc_interrupt_hold();
    fd = mkstemp(temporary.text); /* for this user alone, until it is whole */
    if (fd < 0) {
        fail("write", path);
    } else {
        ok = fchmod(fd, mode) == 0 && write_all(fd, text, length);
        ok = close(fd) == 0 && ok;
        ok = ok && rename(temporary.text, path) == 0;
        if (!ok) {
            fail("write", path);
            unlink(temporary.text);
        }
    }
    tlmc_interrupt_release();
    tlmc_strbuf_free(&temporary);
    return ok;
}

static void put_path(struct tlmc_strbuf *out, const char *folder, const char *name)
{
    tlmc_strbuf_printf(out, "%s%s%s", folder, *folder ? "/" : "", name);
}

bool tlmc_write_file(const char *folder, const char *name, const char *text, size_t length)
{
    struct tlmc_strbuf path = { 0 };
    bool ok;

    put_path(&path, folder, name);
    ok = put_file(path.text, text, length, 0666, true);
    tlmc_strbuf_free(&path);
    return ok;
}

/* ---- what may be replaced */

enum { HEAD_BYTES = 1024, RULE_BYTES = 16 << 20 };

/* Does this head of a file say that tlmc wrote it?  JSON has no comments: a plan is known by how it
   begins. */
static bool carries_mark(const char *head)
{
    static const char plan[] = "{\n \"plan\": \"";

    return strstr(head, "Written by tlmc ") || strstr(head, "Emitted by tlmc ") ||
           strncmp(head, plan, sizeof plan - 1) == 0;
}

static bool has_mark(const char *path)
{
    char head[HEAD_BYTES + 1];
    struct stat st;
    ssize_t got;
    int fd;

    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        got = 0;
    else
        got = read(fd, head, HEAD_BYTES);
    if (fd >= 0)
        close(fd);
    head[got > 0 ? got : 0] = '\0';
    return carries_mark(head);
}

/* The next line of a rule, as emit writes it: `begin`, anything, `end`.  Behind it, or NULL. */
static const char *skip_line(const char *line, const char *text_end, const char *begin,
                             const char *end)
{
    const size_t first = strlen(begin), last = strlen(end);
    const char *const newline = memchr(line, '\n', (size_t)(text_end - line));

    if (!newline || (size_t)(newline - line) < first + last || memcmp(line, begin, first) != 0 ||
        memcmp(newline - last, end, last) != 0)
        return NULL;
    return newline + 1;
}

/* Ninja takes no comment in a rule, so it has no mark: it is known by its form, in every line. */
static bool is_rule(const char *text, size_t length)
{
    const char *const end = text + length;
    const char *line = skip_line(text, end, "/", ".c: \\"), *next = line;

    while (next) {
        line = next;
        next = skip_line(line, end, "  /", " \\");
    }
    return line && skip_line(line, end, "  /", "") == end && end[-2] != '\\';
}

static bool holds_rule(const char *path)
{
    char error[TLM_ERROR_BYTES];
    struct tlm_bytes bytes = { 0 };
    struct stat st;
    bool is = false;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    if (tlm_file_read(path, RULE_BYTES, &bytes, error) == TLM_OK)
        is = bytes.size > 0 && is_rule((const char *)bytes.data, bytes.size);
    tlm_bytes_free(&bytes);
    return is;
}

/* Nothing is there, or something that `is_ours`; `another`: what else could be named. */
static bool may_replace(const char *path, bool (*is_ours)(const char *path), const char *another)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR || fail("write", path);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return fail("write", path);
    }
    if (is_ours(path))
        return true;
    fprintf(stderr,
            "tlmc: '%s' was not written by tlmc and is not replaced; move it away, or name another "
            "%s\n",
            path, another);
    return false;
}

bool tlmc_may_replace_rule(const char *path)
{
    return may_replace(path, holds_rule, "file");
}

bool tlmc_may_replace(const char *folder, const char *name)
{
    struct tlmc_strbuf path = { 0 };
    bool ok;

    put_path(&path, folder, name);
    ok = may_replace(path.text, has_mark, "folder");
    tlmc_strbuf_free(&path);
    return ok;
}

/* ---- programs */

static bool refuse_program(const char *path, int error)
{
    errno = error;
    return fail("write", path);
}

bool tlmc_may_write_program(const char *path)
{
    const char *const slash = strrchr(path, '/');
    struct tlmc_strbuf folder = { 0 };
    struct stat st;
    int error = 0;

    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return refuse_program(path, EISDIR);
        if (!S_ISREG(st.st_mode)) {
            fprintf(stderr, "tlmc: cannot write '%s': it is not a file\n", path);
            return false;
        }
        if (access(path, W_OK) != 0)
            return refuse_program(path, errno);
    } else if (errno != ENOENT || !*path) {
        return refuse_program(path, errno);
    }
    if (slash)
        tlmc_strbuf_add_n(&folder, path, (size_t)(slash - path) + 1);
    if (access(slash ? folder.text : ".", W_OK | X_OK) != 0)
        error = errno;
    tlmc_strbuf_free(&folder);
    return !error || refuse_program(path, error);
}

bool tlmc_copy_program(const char *made, const char *path)
{
    char error[TLM_ERROR_BYTES];
    struct tlm_bytes bytes = { 0 };
    bool ok = tlm_file_read(made, SIZE_MAX / 2, &bytes, error) == TLM_OK;

    if (ok)
        ok = put_file(path, (const char *)bytes.data, bytes.size, 0777, false);
    else
        fprintf(stderr, "tlmc: %s\n", error);
    tlm_bytes_free(&bytes);
    return ok;
}

/* ---- temporary folders */

bool tlmc_temporary_folder(struct tlmc_strbuf *path)
{
    const char *base = getenv("TMPDIR");

    if (!base || !*base)
        base = "/tmp";
    tlmc_strbuf_clear(path);
    tlmc_strbuf_printf(path, "%s/tlmc-XXXXXX", base);
    if (mkdtemp(path->text))
        return true;
    tlmc_strbuf_clear(path);
    return fail("make a folder in", base);
}

/* Folders in folders, as deep as tlmc makes them. */
static void remove_in(int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(fd, entry->d_name, 0) != 0)
            remove_in(fd, entry->d_name);
    closedir(dir);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void tlmc_remove_folder(const char *path)
{
    remove_in(AT_FDCWD, path);
}
