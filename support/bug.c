/* The two ends that are not diagnostics: a fault of tlmc (abort) and a lack of memory (exit 2). */
#include "bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tlmc_bug(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s:%d: internal error: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputs("\nthis is a bug of tlmc, not of your model; please report it with the model file\n",
          stderr);
    abort();
}

void tlmc_out_of_memory(void)
{
    fputs("tlmc: out of memory\n", stderr);
    exit(2);
}
