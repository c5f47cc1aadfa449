/* Arguments of the kernels in test_session.cu. */
#ifndef TLM_TEST_SESSION_H
#define TLM_TEST_SESSION_H

#include <stdint.h>

enum { TOY_N = 40 }; /* elements of every tensor: no multiple of a warp */

struct toy_check_args {
    uint32_t *fault;
    const int32_t *index;
    uint32_t limit, check;
};

struct toy_forward_args {
    float *y;
    const float *w, *x, *table;
    const uint64_t *draws;
};

struct toy_backward_args {
    float *g;
    const float *x, *y;
};

struct toy_step_args {
    float *w, *moment;
    const float *g, *scalars;
    const uint32_t *fault;
};

struct toy_trap_args {
    uint32_t *out;
};

struct toy_probe_bad_args {
    uint32_t *out;
};

struct tlm_probe_args {
    uint32_t *out;
};

#endif
