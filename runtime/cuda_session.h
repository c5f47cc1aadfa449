/* The session of an emitted model, as its files see it: cuda_open.c makes and ends it,
   cuda_session.c runs on it, cuda_cublas.c hangs a library's handle on it.  Private. */
#ifndef TLM_CUDA_SESSION_H
#define TLM_CUDA_SESSION_H

#include "cuda_probe.h"

/* Staging memory of inputs and step blocks: while the device reads one slot, the host fills the
   other.  Two slots let the host be a whole run ahead. */
enum { TLM_CUDA_SLOTS = 2 };

struct tlm_cuda_slot {
    unsigned char *data; /* pinned: the step's block, then the inputs of one form */
    cudaEvent_t event;   /* recorded after the copies out of it */
    bool pending;
};

struct tlm_cuda_phase {
    cudaGraphExec_t graph; /* NULL: not captured yet */
    bool uploads, touches; /* what its enqueue function asked for besides work on the stream */
    bool warm;             /* ran uncaptured once: libraries have what they load lazily */
    uint32_t form;         /* that it was enqueued with */
    uint32_t downloads;    /* a form, or TLM_CUDA_NO_FORM */
};

struct tlm_cuda_session {
    const tlm_cuda_needs *needs;
    unsigned char *host_weights, *host_state, *io; /* the caller's */
    int device;
    bool no_graph;

    cudaStream_t stream;
    cudaLibrary_t library;
    cudaKernel_t *kernels;
    tlm_cuda_buffer *arena;
    size_t step_bytes; /* seed, run, scalars */

    unsigned char *pinned; /* slots, outputs of every form, fault */
    struct tlm_cuda_slot slots[TLM_CUDA_SLOTS];
    uint32_t slot;            /* of the run under way */
    size_t *outputs;          /* of each form, counted from pinned */
    volatile uint32_t *fault; /* the device writes it */

    struct tlm_cuda_phase *phases;
    uint32_t *ran; /* forms whose outputs have not been taken, in the order of their runs */
    uint32_t ran_count;

    struct tlm_cuda_phase *now; /* whose enqueue function is running */
    uint32_t now_form;
    uint32_t enqueued;    /* operations of it */
    bool capturing, cold; /* cold: the phase must run uncaptured first */

    bool host_newer;      /* weights and state: upload before the next run */
    bool device_newer;    /* weights and state: download at the next fetch */
    bool gradients_newer; /* something ran since gradients were fetched */

    tlm_status status; /* a failure of CUDA lasts: every later call returns it */
    char message[TLM_ERROR_BYTES];

    /* A library's handle and workspace; NULL: none. */
    void *products;
    void (*end_products)(void *products);
};

/* Bytes from one tensor to the next in staging memory. */
static inline size_t tlm_cuda_staged(size_t bytes)
{
    return (bytes + TLM_ALIGN - 1) / TLM_ALIGN * TLM_ALIGN;
}

/* A CUDA failure that every later call of the session repeats. */
tlm_status tlm_cuda_broke(struct tlm_cuda_session *session, tlm_rt *rt, cudaError_t code,
                          const char *place, const char *doing);

/* Is the session open and whole? */
tlm_status tlm_cuda_usable(const tlm_cuda *cuda, tlm_rt *rt);

/* A library is about to be used on the stream in this phase: TLM_OK when it may be.  While a phase
   is captured for the first time it may not: libraries take memory and load code at their first
   call.  The enqueue function then returns what this returned, and the phase runs uncaptured
   once. */
tlm_status tlm_cuda_enter_library(tlm_cuda *cuda, tlm_rt *rt);

#endif
