/* The packed form of an image: a program carries its device code so, and unpacks the one image that
   it loads.  tlmc build packs (driver/pack.c).

   A stream of sequences.  Each begins with a byte: a count of literals in the high half, a length
   of a match less 4 in the low half; a half of 15 is continued by a varint (7 bits a byte, lowest
   first, 0x80: more follow).  Then the literals, then a varint: how many bytes back in the result
   the match begins (1: the byte before).  A match may overlap its own result.  The stream ends with
   the literals after which the result is whole. */
#ifndef TLM_CUDA_UNPACK_H
#define TLM_CUDA_UNPACK_H

#include <stddef.h>

enum { TLM_CUDA_PACK_MATCH = 4, TLM_CUDA_PACK_MORE = 15 };

/* 1: `bytes` bytes of result; 0: the stream is damaged: it ends early or late, or a match begins
   before the result.  Reads and writes nothing outside of both. */
int tlm_cuda_unpack(const unsigned char *packed, size_t packed_bytes, unsigned char *result,
                    size_t bytes);

#endif
