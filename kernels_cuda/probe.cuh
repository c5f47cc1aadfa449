/* Is binary32 arithmetic on this device, as this code was compiled, what docs/numerics.md says? One
   block; out[0] = 1 when it is, else 2.  PTX without -fmad=false would be contracted by the driver,
   and a build with flushing would lose subnormals: both show here. */
#ifndef TLMK_PROBE_CUH
#define TLMK_PROBE_CUH

#include "device.cuh"

/* Operands come from memory of the launch (the number of the block, 0), so that no compiler
   computes the answers. */
TLM_INLINE bool tlmk_arithmetic_holds(uint32_t zero)
{
    const float one = tlm_float(0x3f800000u + zero), tiny = tlm_float(0x00800000u + zero);
    const float half = tlm_float(0x3f000000u + zero), odd = tlm_float(0x3f800001u + zero);
    const float x = tlm_float(0x3f800800u + zero);           /* 1 + 2^-12 */
    const float quarter_ulp = tlm_float(0x33000000u + zero); /* 2^-25 */
    const float half_ulp = tlm_float(0x33800000u + zero);    /* 2^-24 */
    const float three = tlm_float(0x40400000u + zero);
    const float square = x * x;
    const float residue = x * x - square; /* not 0 when multiplied and subtracted in one rounding */
    const float subnormal = tiny * half;

    return residue == 0.0f && tlm_fma(x, x, -square) == 0x1p-24f && subnormal != 0.0f &&
           subnormal + subnormal == tiny && one + quarter_ulp == 1.0f &&
           one - quarter_ulp * half == 1.0f &&
           odd + half_ulp == 1.0f + 0x1p-22f && /* a tie: to even, upwards here */
           tlm_bits(one / three) == 0x3eaaaaabu && tlm_bits(tlm_root(three)) == 0x3fddb3d7u;
}

TLM_INLINE void tlmk_probe(uint32_t *out)
{
    if (threadIdx.x == 0)
        out[0] = tlmk_arithmetic_holds(blockIdx.x) ? 1 : 2;
}

#endif
