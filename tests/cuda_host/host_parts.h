/* What host_run, host_memory, host_check and host_report share among themselves: the state of the
   running launch, and the hooks by which the checker follows memory.  In layers without the checker
   those hooks are empty. */
#ifndef TLM_HOST_PARTS_H
#define TLM_HOST_PARTS_H

#include "host_internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define TLM_HOST_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define TLM_HOST_ASAN 0
#endif
#ifndef TLM_HOST_CHECKED
#define TLM_HOST_CHECKED 0
#endif

namespace tlm_host
{

enum { WARP = 32, MOST_THREADS = 1024, MOST_WARPS = MOST_THREADS / WARP };

/* The thread that runs now.  Intervals number the stretches between barriers, over all blocks and
   launches: a smaller one than block_first belongs to another block. */
struct running {
    bool device; /* a launch is under way */
    const char *kernel;
    const char *args; /* the copy that device code reads */
    size_t arg_bytes;
    const char *stack;
    size_t stack_bytes;
    unsigned warp, lane;
    uint32_t interval, block_first, launch_first;
    uint32_t warp_interval[MOST_WARPS]; /* stretches between __syncwarp, from 0 at a barrier */
    uint64_t block;                     /* number of the block among all that ever ran */
};
extern running now;

/* Where is the current thread: "kernel k block (0,0,0) thread (1,0,0)", "host". */
void describe_place(char *text, size_t bytes);
/* Leaves the current block for good and fails the launch.  Only on a device thread. */
[[noreturn]] void abandon_launch();

/* A report about an access: `pc` is the return address of the hook. */
void report_at(tlm_host_kind kind, const void *pc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- shared memory of the block */

struct memory_range {
    char *start;
    size_t bytes;
};
void begin_block_memory();
/* What lies at an address: "byte 12 of 400 of an allocation", "byte 0 of 1024 of shared tile". */
void describe_address(char *text, size_t bytes, const void *address);
memory_range shared_region();
memory_range arena_region();

/* ---- hooks of the checker */

#if TLM_HOST_CHECKED
void check_allocated(const void *start, size_t bytes); /* may be used, nothing written */
void check_freed(const void *start, size_t bytes);
void check_written(const void *start, size_t bytes);
void check_copied(const void *to, const void *from, size_t bytes);
size_t check_never_written(const void *start, size_t bytes);
void check_release(); /* the arena is going away */
#else
static inline void check_allocated(const void *, size_t)
{
}
static inline void check_freed(const void *, size_t)
{
}
static inline void check_written(const void *, size_t)
{
}
static inline void check_copied(const void *, const void *, size_t)
{
}
static inline size_t check_never_written(const void *, size_t)
{
    return 0;
}
static inline void check_release()
{
}
#endif

} // namespace tlm_host

#endif
