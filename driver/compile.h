/* C files to a program with the system's compiler.  Compiler, flags and link flags are words
   separated by blanks; the shell is not involved. */
#ifndef TLMC_DRIVER_COMPILE_H
#define TLMC_DRIVER_COMPILE_H

#include "jobs.h"

#include <stdbool.h>
#include <stddef.h>

enum { TLMC_OBJECTS = 16 };

struct tlmc_compiler {
    const char *command, *flags;
    const char *headers;         /* a folder to look in, or NULL */
    const char *const *includes; /* more of them, ended by NULL; NULL: none */
    const char *sources;         /* the folder of the files */
    const char *objects;         /* the folder of what is made of them */
    const char *files[TLMC_OBJECTS];
    unsigned count;
};

/* A file of the program, compiled as a job; `name` must live until the link.  False: its command
   line is too long. */
bool tlmc_compile_file(struct tlmc_compiler *compiler, struct tlmc_jobs *jobs, const char *name);
/* An object that is there already, in the folder of objects. */
void tlmc_compile_object(struct tlmc_compiler *compiler, const char *name);
/* All of them into `program`, with folders (-L), link flags (words, as above) and libraries
   (folders and libraries are each one word, whatever is in the path); all lists end with NULL.
   False: the linker or this said why. */
bool tlmc_compile_link(const struct tlmc_compiler *compiler, const char *program,
                       const char *const *folders, const char *const *links,
                       const char *const *libraries);

#endif
