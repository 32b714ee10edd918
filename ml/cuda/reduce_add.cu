/* reduce_add.cu - the addition in a sum over ranks (reduce.c): in the order of the ranks, so that its bits are those of the
 * sums between threads and between runners. */
#include "ml/cuda/gpu.h"
#include "ml/cuda/nccl.h"

enum { ADD_THREADS = 256, ADD_BLOCKS = 1024 };

__global__ void reduce_add_kernel(float *x, const float *part, int64_t n, int64_t stride, int rank,
                                  int ranks)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float sum = rank == 0 ? x[i] : part[i];
        for (int k = 1; k < ranks; k++)
            sum += k == rank ? x[i] : part[k * stride + i];
        x[i] = sum;
    }
}

extern "C" int cuda_reduce_add(cudaStream_t stream, float *x, const float *part, int64_t n,
                               int64_t stride, int rank, int ranks, struct err *err)
{
    int64_t blocks = (n + ADD_THREADS - 1) / ADD_THREADS;

    if (n == 0)
        return 0;
    LAUNCH(reduce_add_kernel, (unsigned)(blocks < ADD_BLOCKS ? blocks : ADD_BLOCKS), ADD_THREADS, 0,
           stream, x, part, n, stride, rank, ranks);
    return cuda_try(cudaGetLastError(), err);
}
