/* Faults of our own: TLMC_BUG reports file and line and aborts.  A user's input never leads here;
   what a user can cause is a diagnostic (diag.h).  TLMC_CHECK is on in every build: a compiler that
   emits numbers must not continue on a broken invariant. */
#ifndef TLMC_SUPPORT_BUG_H
#define TLMC_SUPPORT_BUG_H

#if defined(__GNUC__)
#define TLMC_PRINTF(fmt_index, arg_index) __attribute__((format(printf, fmt_index, arg_index)))
#define TLMC_NORETURN __attribute__((noreturn))
#else
#define TLMC_PRINTF(fmt_index, arg_index)
#define TLMC_NORETURN
#endif

TLMC_NORETURN void tlmc_bug(const char *file, int line, const char *fmt, ...) TLMC_PRINTF(3, 4);
/* No memory for the compiler itself: one message, exit 2. */
TLMC_NORETURN void tlmc_out_of_memory(void);

#define TLMC_BUG(...) tlmc_bug(__FILE__, __LINE__, __VA_ARGS__)
#define TLMC_CHECK(cond)                             \
    do {                                             \
        if (!(cond))                                 \
            TLMC_BUG("broken invariant: %s", #cond); \
    } while (0)
/* After a switch over an enum that has no default. */
#define TLMC_UNREACHABLE() TLMC_BUG("unreachable")

#endif
