/* gpu.h - what a kernel file includes: the CUDA runtime under nvcc, or the emulation of tests/cuda
 * where tests are built for a machine without a GPU (ASSAY_EMULATE).
 *
 * Rules that keep one source right for both: kernels are C plus LAUNCH; no early return before a
 * barrier; no collective operation in divergent code; atomics on int, unsigned, unsigned long long
 * and float only. */
#ifndef ML_CUDA_GPU_H
#define ML_CUDA_GPU_H

#ifdef ASSAY_EMULATE
#include ASSAY_EMULATE /* the emulation's header, named by the build */
#else
#include <cuda_runtime.h>
#define GPU_RUN(kernel, grid, block, smem, stream, ...) \
    kernel<<<(grid), (block), (smem), (stream)>>>(__VA_ARGS__)
#define DYN_SHARED(type, name)                                    \
    extern __shared__ __align__(16) unsigned char gpu_dyn_smem[]; \
    type *name = (type *)gpu_dyn_smem
#endif

#include "ml/cuda/cuda.h"
#include "ml/cuda/trace.h"

/* A statement. The launcher calls cudaGetLastError once, after all of its launches. */
#define LAUNCH(kernel, grid, block, smem, stream, ...)                   \
    do {                                                                 \
        if (cuda_is_traced)                                              \
            cuda_launching(stream);                                      \
        GPU_RUN(kernel, (grid), (block), (smem), (stream), __VA_ARGS__); \
        if (cuda_is_traced)                                              \
            cuda_launched(#kernel, (stream));                            \
    } while (0)

#endif
