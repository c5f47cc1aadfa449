/* Signals that ask a command to end while it has a temporary folder and children: INT, TERM, HUP,
   QUIT.  They are kept until the folder is gone, then they end the process after all, so that its
   exit status is the signal's.  Signals that were ignored at the start stay ignored, but for
   SIGCHLD, which makes children that cannot be waited for. */
#ifndef TLMC_DRIVER_INTERRUPT_H
#define TLMC_DRIVER_INTERRUPT_H

#include <sys/types.h>

/* From here on such a signal is kept and sent on to the children noted below. */
void tlmc_interrupt_begin(void);
/* The first signal that came since, or 0. */
int tlmc_interrupt(void);
/* Signals have their old action again.  One that came ends the process: this does not return. */
void tlmc_interrupt_end(void);

/* Between hold and release none arrives: around the start and the end of a child and its note, so
   that none is missed and none is sent to a stranger; around a file that is not yet in its place
   (output.c), whether or not this has begun.  One inside another would not be released. */
void tlmc_interrupt_hold(void);
void tlmc_interrupt_release(void);
void tlmc_interrupt_note(pid_t child);
void tlmc_interrupt_forget(pid_t child);
/* In a child made by fork, instead of release: signals end it, at once. */
void tlmc_interrupt_child(void);

#endif
