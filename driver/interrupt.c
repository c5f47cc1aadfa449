/* In: signals.  Out: a flag, the same signals to children, at the end the signal's own action.
   Refuses no signal for good: see interrupt.h.  SIGCHLD is not caught, but has its default action
   meanwhile. */
#define _POSIX_C_SOURCE 200809L
#include "interrupt.h"

#include "bug.h"
#include "jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { SIGNALS = 4, CHILDREN = TLMC_JOBS_AT_ONCE + 1 };

static const int signals[SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* What a handler can reach belongs to the process. */
static struct {
    volatile sig_atomic_t came;
    volatile pid_t children[CHILDREN]; /* 0: free */
    struct sigaction old[SIGNALS];
    bool caught[SIGNALS];
    struct sigaction old_child;
    bool child_changed;
    sigset_t mask; /* while signals are held: what it was */
} interrupt_all;

/* A signal of the terminal has gone to the children too: a second one would cut short how they
   clean up. */
static void take(int number, siginfo_t *info, void *context)
{
    const int saved = errno;

    (void)context;
    if (!interrupt_all.came)
        interrupt_all.came = number;
    for (int i = 0; info->si_code <= 0 && i < CHILDREN; i++)
        if (interrupt_all.children[i] > 0)
            kill(interrupt_all.children[i], number);
    errno = saved;
}

static void fill(sigset_t *set)
{
    sigemptyset(set);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(set, signals[i]);
}

/* Where it was ignored, which a process inherits, nobody could wait for a child: its id would be
   free when it ends, and what is noted below would be a stranger's. */
static void keep_children(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    sigemptyset(&action.sa_mask);
    interrupt_all.child_changed = sigaction(SIGCHLD, &action, &interrupt_all.old_child) == 0;
}

void tlmc_interrupt_begin(void)
{
    struct sigaction action = { .sa_sigaction = take, .sa_flags = SA_SIGINFO | SA_RESTART };

    keep_children();
    fill(&action.sa_mask);
    interrupt_all.came = 0;
    for (int i = 0; i < SIGNALS; i++)
        interrupt_all.caught[i] = sigaction(signals[i], NULL, &interrupt_all.old[i]) == 0 &&
                                  interrupt_all.old[i].sa_handler != SIG_IGN &&
                                  sigaction(signals[i], &action, NULL) == 0;
}

int tlmc_interrupt(void)
{
    return interrupt_all.came;
}

static void restore(void)
{
    for (int i = 0; i < SIGNALS; i++)
        if (interrupt_all.caught[i])
            sigaction(signals[i], &interrupt_all.old[i], NULL);
    if (interrupt_all.child_changed)
        sigaction(SIGCHLD, &interrupt_all.old_child, NULL);
}

void tlmc_interrupt_end(void)
{
    restore();
    if (interrupt_all.came)
        raise(interrupt_all.came);
}

void tlmc_interrupt_hold(void)
{
    sigset_t all;

    fill(&all);
    sigprocmask(SIG_BLOCK, &all, &interrupt_all.mask);
}

void tlmc_interrupt_release(void)
{
    sigprocmask(SIG_SETMASK, &interrupt_all.mask, NULL);
}

static int find(pid_t child)
{
    int i = 0;

    while (i < CHILDREN && interrupt_all.children[i] != child)
        i++;
    return i;
}

void tlmc_interrupt_note(pid_t child)
{
    const int i = find(0);

    TLMC_CHECK(i < CHILDREN);
    interrupt_all.children[i] = child;
}

void tlmc_interrupt_forget(pid_t child)
{
    const int i = find(child);

    if (i < CHILDREN) /* a process may have children that it does not know: exec keeps them */
        interrupt_all.children[i] = 0;
}

void tlmc_interrupt_child(void)
{
    restore();
    tlmc_interrupt_release();
}
