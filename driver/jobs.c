/* In: commands and functions.  Out: their success, after they have run side by side.  Their
   messages go where this process's do. */
#define _GNU_SOURCE /* environ */
#include "jobs.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_NOT_STARTED = 2, STATUS_SIGNAL = 128 };

static int status_of(const char *name, int state)
{
    if (!WIFSIGNALED(state))
        return WEXITSTATUS(state);
    fprintf(stderr, "tlmc: '%s' was ended by signal %d\n", name, WTERMSIG(state));
    return STATUS_SIGNAL + WTERMSIG(state);
}

/* False: it could not be started, and that was said. */
static bool start(char *const *argv, pid_t *pid)
{
    const int failed = posix_spawnp(pid, argv[0], NULL, NULL, argv, environ);

    if (failed)
        fprintf(stderr, "tlmc: cannot run '%s': %s\n", argv[0], strerror(failed));
    return failed == 0;
}

int tlmc_run_program(char *const *argv)
{
    pid_t pid;
    int state;

    if (!start(argv, &pid))
        return STATUS_NOT_STARTED;
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return STATUS_NOT_STARTED;
    return status_of(argv[0], state);
}

void tlmc_jobs_begin(struct tlmc_jobs *jobs)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    *jobs = (struct tlmc_jobs){ .limit = 1 };
    if (processors > 1)
        jobs->limit = processors < TLMC_JOBS_AT_ONCE ? (unsigned)processors : TLMC_JOBS_AT_ONCE;
}

static void note(struct tlmc_jobs *jobs, const char *name, int status)
{
    if (status != 0 && !jobs->failed)
        jobs->failed = name;
}

/* The end of one of ours. */
static void wait_for_one(struct tlmc_jobs *jobs)
{
    int state;
    const pid_t pid = waitpid(-1, &state, 0);

    if (pid < 0 && errno != EINTR) { /* none left: somebody else took their statuses */
        note(jobs, jobs->names[0], STATUS_NOT_STARTED);
        jobs->running = 0;
    }
    for (unsigned i = 0; pid > 0 && i < jobs->running; i++) {
        if (jobs->pids[i] != pid)
            continue;
        note(jobs, jobs->names[i], status_of(jobs->names[i], state));
        jobs->running--;
        jobs->pids[i] = jobs->pids[jobs->running];
        jobs->names[i] = jobs->names[jobs->running];
        return;
    }
}

static bool room(struct tlmc_jobs *jobs)
{
    while (jobs->running >= jobs->limit)
        wait_for_one(jobs);
    return !jobs->failed;
}

static void add(struct tlmc_jobs *jobs, const char *name, pid_t pid)
{
    jobs->pids[jobs->running] = pid;
    jobs->names[jobs->running++] = name;
}

void tlmc_jobs_command(struct tlmc_jobs *jobs, const char *name, char *const *argv)
{
    pid_t pid;

    if (!room(jobs))
        return;
    if (start(argv, &pid))
        add(jobs, name, pid);
    else
        note(jobs, name, STATUS_NOT_STARTED);
}

void tlmc_jobs_function(struct tlmc_jobs *jobs, const char *name, int (*run)(const void *context),
                        const void *context)
{
    pid_t pid;

    if (!room(jobs))
        return;
    fflush(NULL); /* what is buffered must not be written twice */
    pid = fork();
    if (pid == 0) {
        const int status = run(context);

        fflush(NULL);
        _exit(status);
    }
    if (pid > 0) {
        add(jobs, name, pid);
    } else {
        fprintf(stderr, "tlmc: cannot start a process: %s\n", strerror(errno));
        note(jobs, name, STATUS_NOT_STARTED);
    }
}

bool tlmc_jobs_end(struct tlmc_jobs *jobs)
{
    while (jobs->running > 0)
        wait_for_one(jobs);
    return !jobs->failed;
}
