/* Arguments of the kernels in test_kernels.cu, for their launches. */
#ifndef TLM_TEST_KERNELS_H
#define TLM_TEST_KERNELS_H

#include <stdint.h>

struct test_fill_args { /* y = value */
    float *y;
    float value;
    uint32_t n;
};

struct test_add_args { /* y += x */
    float *y;
    const float *x;
    uint32_t n;
};

struct test_scale_args { /* y = 2 y + x: the order of two of these shows */
    float *y;
    const float *x;
    uint32_t n;
};

struct test_trap_args {
    uint32_t traps;
};

#endif
