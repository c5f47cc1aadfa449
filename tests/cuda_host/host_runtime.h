/* What the parts of the host CUDA runtime share: a call from entry to return, streams as queues of
   jobs, captures, pinned memory.  See host_cudart.h for what they play.

   All calls of the API hold one lock, so the state below needs none of its own.  Handles are never
   reused: an object that was destroyed stays allocated and is known to be dead. */
#ifndef TLM_HOST_RUNTIME_H
#define TLM_HOST_RUNTIME_H

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host_cudart.h"
#include "host_internal.h"

/* ---- the settings of this process, from the environment at the first call */

struct host_settings {
    uint64_t defer = 0; /* seed; 0: eager */
    uint64_t fail_in = 0;
    cudaError_t device_error = cudaSuccess; /* of every call, in a state without a device */
    int driver_version = 13000;
    int major = 9, minor = 0;
    size_t memory = (size_t)8 << 30;
    bool leaks = false;
    bool print_calls = false;
};

host_settings &host_setting(void);

/* ---- one call of the API */

enum host_call_kind {
    HOST_ALLOCATES = 1, /* fails with cudaErrorMemoryAllocation when it is to fail */
    HOST_RELEASES = 2,  /* does its work also when it is to fail, or after a fault */
    HOST_UNSAFE = 4,    /* refused while a capture is under way */
    HOST_NO_DEVICE = 8  /* answers without a device */
};

class host_call
{
  public:
    explicit host_call(const char *name, unsigned kinds = 0);
    ~host_call();
    host_call(const host_call &) = delete;
    host_call &operator=(const host_call &) = delete;

    /* The call must return end() at once. */
    bool refused() const
    {
        return refusal != cudaSuccess;
    }
    /* It will return an error although it does its work. */
    bool fails_late() const
    {
        return late != cudaSuccess;
    }
    /* What the call returns: the first of its refusal, `error`, a late failure.  Remembered for
       cudaGetLastError. */
    cudaError_t end(cudaError_t error = cudaSuccess) const;

  private:
    cudaError_t refusal = cudaSuccess, late = cudaSuccess;
};

/* The error of a kernel or a copy that failed on the device: every call from then on returns it. */
cudaError_t host_fault(void);
void host_set_fault(cudaError_t error);

/* ---- streams */

typedef std::function<cudaError_t()> host_work;

/* Pieces of work in a fixed partial order: one for a plain operation, many for a graph. */
struct host_node {
    host_work run;
    std::vector<size_t> after; /* numbers of earlier nodes */
};
typedef std::vector<host_node> host_nodes;

struct host_point { /* "when this job of that stream is done" */
    CUstream_st *stream;
    uint64_t job;
};

struct host_job {
    std::shared_ptr<const host_nodes> nodes;
    std::vector<bool> done;
    size_t first, left; /* the first node not done; how many are left */
    std::vector<host_point> after;
    uint64_t number;
};

struct host_capture { /* between cudaStreamBeginCapture and cudaStreamEndCapture */
    host_nodes nodes;
    CUstream_st *origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    bool invalid = false;
};

struct CUstream_st {
    std::deque<host_job> jobs;
    uint64_t put = 0, done = 0; /* numbers of the last job put and of the last one done */
    bool blocking = true, live = true;
    uint64_t priority = 0;
    std::shared_ptr<host_capture> capture;
    std::vector<size_t> frontier; /* nodes of the capture that the next one comes after */
};

struct CUevent_st {
    bool live = true, timed = true, recorded = false;
    host_point point = { nullptr, 0 };
    std::shared_ptr<double> milliseconds = std::make_shared<double>(0);
    std::shared_ptr<host_capture> capture;
    std::vector<size_t> frontier;
};

/* The stream of a handle; NULL when there is no such stream. */
CUstream_st *host_stream_of(cudaStream_t handle);
/* The stream of handle 0. */
CUstream_st *host_legacy_stream(void);
const std::vector<CUstream_st *> &host_streams(void);

/* Puts work on a stream, or into its capture. */
cudaError_t host_put(CUstream_st *stream, host_work work);
cudaError_t host_put_nodes(CUstream_st *stream, std::shared_ptr<const host_nodes> nodes,
                           std::vector<host_point> after);
/* Runs queued work until the stream, or every stream, has none left. */
void host_drain(CUstream_st *stream);
void host_drain_all(void);
/* One piece of queued work; false: there is none. */
bool host_step(void);
/* A number below n, from the seed of the deferred mode. */
uint64_t host_random(uint64_t n);
void host_reseed(uint64_t seed);

/* ---- captures */

/* A potentially unsafe call while a capture forbids it: the error, and the captures are lost. */
cudaError_t host_capture_forbids(void);
/* Work on the legacy stream while a blocking stream captures: the same. */
cudaError_t host_capture_forbids_legacy(void);
/* The capture is lost; returns `error`. */
cudaError_t host_capture_lost(host_capture &capture, cudaError_t error);
cudaError_t host_capture_put(CUstream_st *stream, host_work work);

/* ---- memory */

/* While one of these lives, host code may touch device memory. */
class host_memory_open
{
  public:
    host_memory_open()
    {
        tlm_host_memory_open();
    }
    ~host_memory_open()
    {
        tlm_host_memory_close();
    }
    host_memory_open(const host_memory_open &) = delete;
    host_memory_open &operator=(const host_memory_open &) = delete;
};

/* Is the whole range inside one live allocation of pinned memory? */
bool host_is_pinned(const void *address, size_t bytes);

/* ---- what is held, for the leak report */

/* Objects of handles are never freed: a dead one can be told from a new one. */
template <typename object>
object *host_keep(object *made)
{
    static std::vector<object *> *kept = new std::vector<object *>;
    kept->push_back(made);
    return made;
}

struct host_held {
    const char *what;
    size_t count;
    size_t bytes;
};

host_held host_held_device(void);
host_held host_held_pinned(void);
host_held host_held_streams(void);
host_held host_held_events(void);
host_held host_held_graphs(void);
host_held host_held_execs(void);
host_held host_held_libraries(void);
host_held host_held_cublas(void);

#endif
