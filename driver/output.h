/* Writing results: folders are made as needed, files are written beside their place and renamed, so
   a reader sees the old file or the new one, whole.  Every failure is one message on stderr and
   false. */
#ifndef TLMC_DRIVER_OUTPUT_H
#define TLMC_DRIVER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

bool tlmc_make_folder(const char *path); /* with its parents */
bool tlmc_write_file(const char *folder, const char *name, const char *text, size_t length);
/* A fresh folder below $TMPDIR (or /tmp) into path; remove it with tlmc_remove_folder (files only,
   one level). */
bool tlmc_temporary_folder(char *path, size_t size);
void tlmc_remove_folder(const char *path);

#endif
