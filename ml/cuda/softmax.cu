/* softmax.cu - softmax_rows (contract in ml/ops/ops.h). One thread per row: there are few classes,
 * and the contract's ascending sum leaves no parallelism inside a row, but there are plenty of
 * rows. */
#include "ml/cuda/gpu.h"
#include "ml/math/fmath.h"

/* z, p: [n][k] floats on the device, which may be the same array. Subtracting the largest value
 * first keeps exp from overflowing. */
__global__ void softmax_rows_kernel(const float *z, float *p, int64_t n, int k)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float *a = z + i * k;
        float *b = p + i * k;
        float top = a[0], sum = 0;
        for (int j = 1; j < k; j++)
            top = a[j] > top ? a[j] : top;
        for (int j = 0; j < k; j++) {
            b[j] = fm_exp(a[j] - top);
            sum += b[j];
        }
        for (int j = 0; j < k; j++)
            b[j] /= sum;
    }
}

/* 256 threads a block; at most 8 blocks for each multiprocessor, because the kernel's loop takes
 * further rows. */
extern "C" int cuda_softmax_rows(struct ml_ctx *c, const float *z, float *p, int64_t n, int k,
                                 struct err *err)
{
    int64_t blocks = (n + 255) / 256, most = 8LL * c->multiprocessors;

    if (n == 0)
        return 0;
    LAUNCH(softmax_rows_kernel, (unsigned)(blocks < most ? blocks : most), 256, 0, c->stream, z, p,
           n, k);
    return cuda_try(cudaGetLastError(), err);
}
