/* emu.h - CUDA on a CPU, for tests: the kernels of ml/cuda run unchanged, every CUDA thread a fiber, blocks one after another (in the order of the threads).
 * It checks what a GPU does not: threads of a block that wait at different barriers, partial-mask collectives that would
 * hang, host code that touches device memory (it is unreadable once the host has waited for the stream), reads of fresh memory (it is
 * filled with 0xff). Fibers run forward, backward or in a seeded random order (emu_order): results must not depend on it.
 *
 * The runtime calls below are the subset that ml/cuda/device.c uses; streams run at once. Included through ml/cuda/gpu.h
 * (C++) or ml/cuda/cuda.h (C) when ASSAY_EMULATE is defined. One OS thread. */
#ifndef TESTS_CUDA_EMU_H
#define TESTS_CUDA_EMU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t;
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
typedef void *cudaGraph_t;
typedef void *cudaGraphExec_t;
enum {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorStubLibrary = 34,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorNotReady = 600
};
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { cudaStreamNonBlocking = 1 };
enum { cudaEventDisableTiming = 2 };
enum { cudaStreamCaptureModeThreadLocal = 1 };
enum { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
struct cudaDeviceProp {
    char name[256];
    int major, minor;
};

cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int index);
cudaError_t cudaDeviceGetAttribute(int *out, int attribute, int index);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaMalloc(void **out, size_t n);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
/* Streams run at once, so an event has happened when it is recorded. */
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned flags);
/* A graph is the list of launches between the two calls; copies cannot be recorded. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t rc);

/* nccl_emu.c: a function of an NCCL whose ranks are processes of one machine; NULL = it has none of that name. */
void *emu_nccl_find(const char *name);

/* For tests. */
enum emu_order { EMU_FORWARD, EMU_BACKWARD, EMU_RANDOM };
void emu_order_set(enum emu_order order, uint64_t seed);
int emu_device_bytes_live(void); /* allocations not yet freed */
unsigned long long emu_launches(void);
void emu_fail_malloc(int nth);      /* the nth cudaMalloc from now finds no memory; 0 = none */
void emu_fail_malloc_from(int nth); /* and all after it */
int emu_malloc_failed(void);        /* it came to that */

#ifdef __cplusplus
}

/* ---- what a kernel sees ---- */

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __shared__ static thread_local

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct emu_uint3 {
    unsigned x, y, z;
};

struct emu_warp {
    uint32_t arrived, exited, generation;
    uint64_t slot[32];
};
enum emu_state { EMU_READY, EMU_AT_BARRIER, EMU_AT_WARP, EMU_DONE };
struct emu_fiber {
    void *stack_pointer;
    emu_uint3 thread;
    unsigned linear;
    emu_state state;
    uint32_t warp_generation;
    int site, line;
};
struct emu_block {
    const char *kernel;
    emu_uint3 index;
    dim3 grid, size;
    unsigned threads, live, arrived;
    int barrier_site;
    emu_fiber *fibers;
    emu_warp *warps;
    unsigned char *dynamic;
    void *scheduler; /* saved stack pointer */
    void (*body)(void *);
    void *arg;
};
extern emu_fiber *emu_self;
extern emu_block *emu_here;

#define threadIdx (emu_self->thread)
#define blockIdx  (emu_here->index)
#define blockDim  (emu_here->size)
#define gridDim   (emu_here->grid)

/* A barrier is known by its site, not its line: two on one line are two. */
void emu_barrier(int site, int line);
void emu_warp_wait(uint32_t mask, int line);
#define __syncthreads()        emu_barrier(__COUNTER__, __LINE__)
#define __syncwarp(mask)       emu_warp_wait((mask), __LINE__)
#define DYN_SHARED(type, name) type *name = (type *)emu_here->dynamic

void emu_launch(const char *kernel, dim3 grid, dim3 block, size_t dynamic_bytes,
                void (*body)(void *), void *arg);
/* While a graph is recorded a launch is only written down, with a copy of its arguments. */
bool emu_is_recording(void);
void emu_record(const char *kernel, dim3 grid, dim3 block, size_t dynamic_bytes,
                void (*body)(void *), void (*drop)(void *), void *arg);
template <class F>
void emu_run(const char *kernel, dim3 grid, dim3 block, size_t dynamic_bytes, F f)
{
    if (emu_is_recording()) {
        emu_record(
            kernel, grid, block, dynamic_bytes, [](void *p) { (*(F *)p)(); },
            [](void *p) { delete (F *)p; }, new F(f));
        return;
    }
    emu_launch(
        kernel, grid, block, dynamic_bytes, [](void *p) { (*(F *)p)(); }, &f);
}
#define GPU_RUN(kernel, grid, block, smem, stream, ...) \
    ((void)(stream), emu_run(#kernel, (grid), (block), (smem), [=] { kernel(__VA_ARGS__); }))

/* Warp collectives: publish, wait for the mask, read, wait again. */
template <class T>
T emu_exchange(uint32_t mask, T value, int source, int line)
{
    static_assert(sizeof(T) <= 8, "collectives move at most 64 bits");
    emu_warp *w = &emu_here->warps[emu_self->linear / 32];
    uint64_t word = 0;
    __builtin_memcpy(&word, &value, sizeof(value));
    w->slot[emu_self->linear % 32] = word;
    emu_warp_wait(mask, line);
    T out = value;
    if (source >= 0 && source < 32 && ((mask >> source) & 1))
        __builtin_memcpy(&out, &w->slot[source], sizeof(out));
    emu_warp_wait(mask, line);
    return out;
}
#define __shfl_sync(m, v, s) emu_exchange((m), (v), (int)((s)&31), __LINE__)
#define __shfl_down_sync(m, v, d) \
    emu_exchange((m), (v), (int)(emu_self->linear & 31) + (int)(d), __LINE__)
#define __shfl_xor_sync(m, v, d) \
    emu_exchange((m), (v), (int)((emu_self->linear & 31) ^ (unsigned)(d)), __LINE__)

inline unsigned emu_ballot(uint32_t mask, int vote, int line)
{
    emu_warp *w = &emu_here->warps[emu_self->linear / 32];
    unsigned out = 0;
    w->slot[emu_self->linear % 32] = vote != 0;
    emu_warp_wait(mask, line);
    for (unsigned i = 0; i < 32; i++)
        if (((mask & ~w->exited) >> i & 1) &&
            emu_self->linear - emu_self->linear % 32 + i < emu_here->threads)
            out |= (unsigned)(w->slot[i] & 1) << i;
    emu_warp_wait(mask, line);
    return out;
}
#define __ballot_sync(m, v) emu_ballot((m), (v), __LINE__)
#define __popc(x)           __builtin_popcount(x)
#define __ffs(x)            __builtin_ffs(x)

inline int atomicAdd(int *p, int v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
inline unsigned atomicAdd(unsigned *p, unsigned v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
inline unsigned atomicOr(unsigned *p, unsigned v)
{
    return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}
inline unsigned atomicMin(unsigned *p, unsigned v)
{
    unsigned before = *p;
    *p = v < before ? v : before;
    return before;
}
inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
#endif
#endif
