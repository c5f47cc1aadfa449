/* In: commands and functions.  Out: their success, after they have run side by side.  Their
   messages go where this process's do. */
#define _GNU_SOURCE /* environ, posix_spawn_file_actions_addchdir_np */
#include "jobs.h"

#include "interrupt.h"

#include <errno.h>
#include <signal.h>
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
    if (!tlmc_interrupt())
        fprintf(stderr, "tlmc: '%s' was ended by signal %d\n", name, WTERMSIG(state));
    return STATUS_SIGNAL + WTERMSIG(state);
}

/* 0, or what is wrong. */
static int spawn(const char *folder, char *const *argv, const sigset_t *mask, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawnattr_init(&attributes);

    if (failed)
        return failed;
    failed = posix_spawn_file_actions_init(&actions);
    if (!failed) {
        if (folder)
            failed = posix_spawn_file_actions_addchdir_np(&actions, folder);
        if (!failed)
            failed = posix_spawnattr_setsigmask(&attributes, mask);
        if (!failed)
            failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (!failed)
            failed = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return failed;
}

/* False: it was not started, and why was said. */
static bool start(const char *folder, char *const *argv, pid_t *pid)
{
    sigset_t mask;
    int failed = 0;
    bool interrupted;

    sigprocmask(SIG_BLOCK, NULL, &mask); /* the child's, too */
    tlmc_interrupt_hold();
    interrupted = tlmc_interrupt() != 0; /* that speaks for itself */
    if (!interrupted)
        failed = spawn(folder, argv, &mask, pid);
    if (!interrupted && !failed)
        tlmc_interrupt_note(*pid);
    tlmc_interrupt_release();
    if (failed)
        fprintf(stderr, "tlmc: cannot run '%s': %s\n", argv[0], strerror(failed));
    return !interrupted && !failed;
}

/* Waits for one child, `wanted` or (-1) any.  Its id and state, or -1: there is none. */
static pid_t wait_for(pid_t wanted, int *state)
{
    siginfo_t info = { 0 };
    pid_t pid;

    /* it is taken off the system's list and ours in one */
    while (waitid(wanted < 0 ? P_ALL : P_PID, wanted < 0 ? 0 : (id_t)wanted, &info,
                  WEXITED | WNOWAIT) != 0)
        if (errno != EINTR)
            return -1;
    tlmc_interrupt_hold();
    pid = waitpid(info.si_pid, state, 0);
    if (pid > 0)
        tlmc_interrupt_forget(pid);
    tlmc_interrupt_release();
    return pid;
}

/* They have ended, and their ids may be strangers' by now. */
static void forget(const pid_t *pids, unsigned count)
{
    tlmc_interrupt_hold();
    for (unsigned i = 0; i < count; i++)
        tlmc_interrupt_forget(pids[i]);
    tlmc_interrupt_release();
}

int tlmc_run_program(const char *folder, char *const *argv)
{
    pid_t pid;
    int state;

    if (!start(folder, argv, &pid))
        return STATUS_NOT_STARTED;
    if (wait_for(pid, &state) < 0) { /* somebody else took its status */
        forget(&pid, 1);
        return STATUS_NOT_STARTED;
    }
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
    const pid_t pid = wait_for(-1, &state);

    if (pid < 0) { /* none left: somebody else took their statuses */
        note(jobs, jobs->names[0], STATUS_NOT_STARTED);
        forget(jobs->pids, jobs->running);
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
    return !jobs->failed && !tlmc_interrupt();
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
    if (start(NULL, argv, &pid))
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
    tlmc_interrupt_hold();
    if (tlmc_interrupt()) {
        tlmc_interrupt_release();
        return;
    }
    pid = fork();
    if (pid == 0) {
        int status;

        tlmc_interrupt_child();
        status = run(context);
        fflush(NULL);
        _exit(status);
    }
    if (pid > 0)
        tlmc_interrupt_note(pid);
    tlmc_interrupt_release();
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
    return !jobs->failed && !tlmc_interrupt();
}
