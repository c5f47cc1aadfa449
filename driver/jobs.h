/* Work of a build in processes side by side: commands, and functions that may take long or crash.
   At most as many at once as there are processors; after a failure, or a signal that asks to end
   (interrupt.h), nothing more is started. */
#ifndef TLMC_DRIVER_JOBS_H
#define TLMC_DRIVER_JOBS_H

#include <stdbool.h>
#include <sys/types.h>

enum { TLMC_JOBS_AT_ONCE = 64 };

struct tlmc_jobs {
    pid_t pids[TLMC_JOBS_AT_ONCE];
    const char *names[TLMC_JOBS_AT_ONCE];
    unsigned limit, running;
    const char *failed; /* the name given to the first that failed, or NULL */
};

void tlmc_jobs_begin(struct tlmc_jobs *jobs);
/* Both wait until there is room, then start and return.  `name` must live until the end. */
void tlmc_jobs_command(struct tlmc_jobs *jobs, const char *name, char *const *argv);
/* `run` is called in a process of its own, whose exit status is its result; what it changes in
   memory is lost. */
void tlmc_jobs_function(struct tlmc_jobs *jobs, const char *name, int (*run)(const void *context),
                        const void *context);
/* Waits for all; true: none failed. */
bool tlmc_jobs_end(struct tlmc_jobs *jobs);

/* One command to its end, in `folder` (NULL: the current one; the command's own path must then be
   absolute).  Its exit status; 2 when it cannot be started; 128 + n when signal n ended it: both
   with a message, unless a signal asked this process to end. */
int tlmc_run_program(const char *folder, char *const *argv);

#endif
