/* Control of the shim that runs device code on this machine: which threads go first, what was
   reported, whether reports are printed.  C11 and C++17; needs no CUDA header.

   These functions alone are visible outside a shared object that the shim is linked into, each
   object with a state of its own: a program that opened one finds them with dlsym.

   A program (or a shared object when it is closed) that ends with reports ends with exit status
   TLM_HOST_EXIT, unless the shim is quiet. */
#ifndef TLM_HOST_H
#define TLM_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TLM_HOST_API __attribute__((visibility("protected")))
#else
#define TLM_HOST_API
#endif

enum { TLM_HOST_EXIT = 86 };

typedef enum tlm_host_kind {
    TLM_HOST_RACE,          /* two accesses with no barrier between them, one of them a write */
    TLM_HOST_BOUNDS,        /* outside every live allocation or shared array */
    TLM_HOST_UNINITIALISED, /* read before anything wrote it */
    TLM_HOST_POINTER,       /* a host address in a kernel, or a device address in host code */
    TLM_HOST_MISALIGNED,
    TLM_HOST_DIVERGENCE, /* threads that should meet at one barrier or collective do not */
    TLM_HOST_DEADLOCK,
    TLM_HOST_LIMIT, /* a launch that no device takes */
    TLM_HOST_TRAP,
    TLM_HOST_USAGE, /* a call of the CUDA runtime or a library that the real one does not promise */
    TLM_HOST_KINDS
} tlm_host_kind;

/* The order of blocks and threads: "in-order", "reversed", "random:SEED".  Returns 0, or -1 for any
   other text, which changes nothing.  Without a call: TLM_HOST_SCHEDULE of the environment; without
   that: in-order. */
TLM_HOST_API int tlm_host_schedule(const char *text);

/* 1: reports are counted and kept, not printed, and the exit status stays. */
TLM_HOST_API void tlm_host_quiet(int on);

TLM_HOST_API unsigned tlm_host_count(tlm_host_kind kind);
TLM_HOST_API unsigned tlm_host_total(void);
/* The last reports of different places; 0 is the newest.  NULL: there are not that many. */
TLM_HOST_API const char *tlm_host_text(unsigned back);
TLM_HOST_API const char *tlm_host_kind_name(tlm_host_kind kind);
/* Forgets all reports. */
TLM_HOST_API void tlm_host_reset(void);

/* "plain", "asan", "checked": what this copy of the shim was built as. */
TLM_HOST_API const char *tlm_host_layer(void);
/* Work done since the start: tests that must execute something look here. */
TLM_HOST_API unsigned long long tlm_host_launches(void);
TLM_HOST_API unsigned long long tlm_host_threads(void);

#ifdef __cplusplus
}
#endif
#endif
