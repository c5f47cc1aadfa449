/* Files: a whole file into memory with a limit on its size, and the atomic replacement of a file.

   Replacing writes a temporary file beside the target, syncs it, renames it over the target and
   syncs the folder, so that whoever reads the target finds the old or the new file whole, whatever
   call fails or whenever the process ends. Every failure is reported and removes the temporary
   file.  The system calls go through a table, so that tests can make any of them fail or stop
   short. */
#ifndef TLM_FILE_H
#define TLM_FILE_H

#include "tlm.h"

struct tlm_bytes {
    uint8_t *data; /* owned; one zero byte follows the last one */
    size_t size;
};

enum { TLM_PATH_BYTES = 4096 };

/* The file's bytes; free with tlm_bytes_free.  TLM_ERR_IO when it cannot be read, TLM_ERR_FORMAT
   when it is larger than `limit`. */
tlm_status tlm_file_read(const char *path, size_t limit, struct tlm_bytes *out, char *error);
void tlm_bytes_free(struct tlm_bytes *bytes);

/* As the system's calls of the same names (and their errno); `user` is the table's. */
struct tlm_file_calls {
    void *user;
    int (*create)(void *user, const char *path); /* a new file for writing; fails when it exists */
    int (*open_folder)(void *user, const char *path);
    long (*write)(void *user, int file, const void *data, size_t size);
    int (*sync)(void *user, int file);
    int (*close)(void *user, int file);
    int (*rename)(void *user, const char *from, const char *to);
    int (*unlink)(void *user, const char *path);
};

extern const struct tlm_file_calls tlm_system_files;

struct tlm_replace {
    const struct tlm_file_calls *calls;
    const char *path; /* the caller's, until commit or abort */
    char *error;
    int file;
    char temporary[TLM_PATH_BYTES];
};

/* begin; write any number of times; commit.  After a failure of any of them the temporary file is
   gone and nothing more is to be called; abort gives up between begin and commit. */
tlm_status tlm_replace_begin(struct tlm_replace *replace, const char *path,
                             const struct tlm_file_calls *calls, char *error);
tlm_status tlm_replace_write(struct tlm_replace *replace, const void *data, size_t size);
tlm_status tlm_replace_commit(struct tlm_replace *replace);
void tlm_replace_abort(struct tlm_replace *replace);

#endif
