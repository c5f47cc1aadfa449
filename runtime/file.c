/* Whole-file reading and atomic replacement on POSIX calls; see file.h for the promise. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "file.h"

#include "alloc.h"
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end of `file` into *out, which holds `capacity` bytes already; one byte stays free
   for the zero. */
static tlm_status file_read_all(int file, const char *path, size_t limit, size_t capacity,
                                struct tlm_bytes *out, char *error)
{
    for (;;) {
        ssize_t got;

        if (out->size + 1 >= capacity) {
            uint8_t *grown = tlm_regrow(out->data, &capacity, capacity + 1, 1);

            if (!grown)
                return tlm_fail(error, TLM_ERR_MEMORY, "%s: no memory for this file",
                                tlm_path_tail(path));
            out->data = grown;
        }
        got = read(file, out->data + out->size, capacity - out->size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tlm_fail(error, TLM_ERR_IO, "%s: cannot be read: %s", tlm_path_tail(path),
                            strerror(errno));
        if (got == 0)
            break;
        out->size += (size_t)got;
        if (out->size > limit)
            return tlm_fail(error, TLM_ERR_FORMAT, "%s: the file is larger than %zu bytes",
                            tlm_path_tail(path), limit);
    }
    out->data[out->size] = 0;
    return TLM_OK;
}

tlm_status tlm_file_read(const char *path, size_t limit, struct tlm_bytes *out, char *error)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t capacity = 1 << 16;
    struct stat info;
    tlm_status status;

    out->data = NULL;
    out->size = 0;
    if (file < 0)
        return tlm_fail(error, TLM_ERR_IO, "%s: cannot be opened: %s", tlm_path_tail(path),
                        strerror(errno));
    if (fstat(file, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) {
        close(file); /* some never end */
        return tlm_fail(error, TLM_ERR_IO, "%s: is a device, not a file", tlm_path_tail(path));
    }
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
        if (info.st_size < 0 || (uintmax_t)info.st_size > limit) {
            close(file);
            return tlm_fail(error, TLM_ERR_FORMAT, "%s: the file is larger than %zu bytes",
                            tlm_path_tail(path), limit);
        }
        capacity = (size_t)info.st_size +
                   2; /* one for the zero, one so that the end shows without growing */
    }
    out->data = malloc(capacity);
    status = out->data ? file_read_all(file, path, limit, capacity, out, error)
                       : tlm_fail(error, TLM_ERR_MEMORY, "%s: no memory for this file",
                                  tlm_path_tail(path));
    close(file);
    if (status != TLM_OK)
        tlm_bytes_free(out);
    return status;
}

void tlm_bytes_free(struct tlm_bytes *bytes)
{
    free(bytes->data);
    bytes->data = NULL;
    bytes->size = 0;
}

static int file_system_create(void *user, const char *path)
{
    (void)user;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int file_system_open_folder(void *user, const char *path)
{
    (void)user;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static long file_system_write(void *user, int file, const void *data, size_t size)
{
    (void)user;
    return (long)write(file, data, size);
}

static int file_system_sync(void *user, int file)
{
    (void)user;
    return fsync(file);
}

static int file_system_close(void *user, int file)
{
    (void)user;
    return close(file);
}

static int file_system_rename(void *user, const char *from, const char *to)
{
    (void)user;
    return rename(from, to);
}

static int file_system_unlink(void *user, const char *path)
{
    (void)user;
    return unlink(path);
}

const struct tlm_file_calls tlm_system_files = {
    .create = file_system_create,
    .open_folder = file_system_open_folder,
    .write = file_system_write,
    .sync = file_system_sync,
    .close = file_system_close,
    .rename = file_system_rename,
    .unlink = file_system_unlink,
};

/* Reports `what` with errno, closes and removes the temporary file. */
static tlm_status file_replace_failed(struct tlm_replace *replace, const char *what)
{
    const int reason = errno;

    tlm_replace_abort(replace);
    return tlm_fail(replace->error, TLM_ERR_IO, "%s: %s: %s", tlm_path_tail(replace->path), what,
                    strerror(reason));
}

tlm_status tlm_replace_begin(struct tlm_replace *replace, const char *path,
                             const struct tlm_file_calls *calls, char *error)
{
    replace->calls = calls ? calls : &tlm_system_files;
    replace->path = path;
    replace->error = error;
    replace->file = -1;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        const int length = snprintf(replace->temporary, sizeof replace->temporary, "%s.tmp-%ld-%u",
                                    path, (long)getpid(), attempt);

        if (length < 0 || (size_t)length >= sizeof replace->temporary)
            return tlm_fail(error, TLM_ERR_IO, "%s: the path is too long", tlm_path_tail(path));
        replace->file = replace->calls->create(replace->calls->user, replace->temporary);
        if (replace->file >= 0)
            return TLM_OK;
        if (errno != EEXIST)
            break;
    }
    return tlm_fail(error, TLM_ERR_IO, "%s: cannot be written: %s", tlm_path_tail(path),
                    strerror(errno));
}

tlm_status tlm_replace_write(struct tlm_replace *replace, const void *data, size_t size)
{
    const size_t most = (size_t)1 << 30; /* one call never asks for more than any system takes */
    const char *at = data;

    while (size > 0) {
        const size_t part = size < most ? size : most;
        const long wrote = replace->calls->write(replace->calls->user, replace->file, at, part);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote == 0)
            errno = ENOSPC; /* a device that takes nothing and gives no reason */
        if (wrote <= 0)
            return file_replace_failed(replace, "could not be written");
        at += wrote;
        size -= (size_t)wrote;
    }
    return TLM_OK;
}

/* Makes the rename durable.  Some file systems cannot sync a folder (EINVAL): nothing more can be
   done there. */
static tlm_status file_sync_folder(struct tlm_replace *replace)
{
    const struct tlm_file_calls *calls = replace->calls;
    char *slash;
    int folder, failed;

    strcpy(replace->temporary, replace->path); /* shorter than the temporary name was */
    slash = strrchr(replace->temporary, '/');
    if (!slash)
        strcpy(replace->temporary, ".");
    else
        slash[slash == replace->temporary] = 0;
    folder = calls->open_folder(calls->user, replace->temporary);
    if (folder < 0)
        return tlm_fail(replace->error, TLM_ERR_IO,
                        "%s: written, but its folder cannot be synced: %s",
                        tlm_path_tail(replace->path), strerror(errno));
    failed = calls->sync(calls->user, folder) != 0 && errno != EINVAL && errno != ENOTSUP;
    if (failed)
        tlm_fail(replace->error, TLM_ERR_IO, "%s: written, but its folder cannot be synced: %s",
                 tlm_path_tail(replace->path), strerror(errno));
    calls->close(calls->user, folder);
    return failed ? TLM_ERR_IO : TLM_OK;
}

tlm_status tlm_replace_commit(struct tlm_replace *replace)
{
    const struct tlm_file_calls *calls = replace->calls;
    int file;

    if (calls->sync(calls->user, replace->file) != 0)
        return file_replace_failed(replace, "could not be synced to disk");
    file = replace->file;
    replace->file = -1;
    if (calls->close(calls->user, file) != 0)
        return file_replace_failed(replace, "could not be closed");
    if (calls->rename(calls->user, replace->temporary, replace->path) != 0)
        return file_replace_failed(replace, "could not be replaced");
    return file_sync_folder(replace);
}

void tlm_replace_abort(struct tlm_replace *replace)
{
    const struct tlm_file_calls *calls = replace->calls;

    if (replace->file >= 0)
        calls->close(calls->user, replace->file);
    replace->file = -1;
    calls->unlink(calls->user, replace->temporary);
}
