/* Packs an image into the form of runtime/cuda_unpack.h: device code repeats itself, within a
   kernel and from one kernel to the next, so a tenth remains. */
#ifndef TLMC_DRIVER_PACK_H
#define TLMC_DRIVER_PACK_H

#include "strbuf.h"

void tlmc_pack(const unsigned char *data, size_t size, struct tlmc_strbuf *out);

#endif
