/* The limits of the host device; those of compute capability 9.0. */
#ifndef TLM_HOST_DEVICE_H
#define TLM_HOST_DEVICE_H

enum {
    HOST_MULTIPROCESSORS = 132,
    HOST_BLOCK_THREADS = 1024,
    HOST_BLOCK_DEPTH = 64,
    HOST_GRID_X = 2147483647,
    HOST_GRID_YZ = 65535,
    HOST_SHARED = 48 << 10, /* of a block, unless the kernel was allowed more */
    HOST_SHARED_OPTIN = 227 << 10,
    HOST_REGISTERS = 65536,
    HOST_RESIDENT_THREADS = 2048 /* of a multiprocessor */
};

#endif
