/* Writing results: folders are made as needed, files are written beside their place and renamed, so
   a reader sees the old file or the new one, whole.  Every failure is one message on stderr and
   false. */
#ifndef TLMC_DRIVER_OUTPUT_H
#define TLMC_DRIVER_OUTPUT_H

#include "strbuf.h"

#include <stdbool.h>
#include <stddef.h>

bool tlmc_make_folder(const char *path); /* with its parents */
bool tlmc_write_file(const char *folder, const char *name, const char *text, size_t length);
/* May tlmc write this file?  Not if another one of this name is there: what it replaces must carry
   its mark, which is in the head of everything it emits. */
bool tlmc_may_replace(const char *folder, const char *name);
/* The same for a rule of --depfile, which has no mark: what it replaces must be such a rule. */
bool tlmc_may_replace_rule(const char *path);
/* Is there a place for a program of this path? */
bool tlmc_may_write_program(const char *path);
/* Puts the program that was made in one place into another. */
bool tlmc_copy_program(const char *made, const char *path);
/* A fresh folder below $TMPDIR (or /tmp); remove it with tlmc_remove_folder, which removes all that
   is in it. */
bool tlmc_temporary_folder(struct tlmc_strbuf *path);
void tlmc_remove_folder(const char *path);

#endif
