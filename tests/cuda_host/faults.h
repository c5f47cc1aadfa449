/* The operands that every kernel of faults.cu takes. */
#ifndef TLM_FAULTS_H
#define TLM_FAULTS_H

#include <stdint.h>

struct fault_operands {
    float *y;
    const float *x;
    uint32_t n;
};

#endif
