/* check_blas.h - a yardstick for the products of ml/cuda/net_product.cu: how long cuBLAS takes for the same ones (for
 * `make gpu-bench`). cuBLAS adds in another order, so no model is trained with it. Its library is opened at run time; a machine
 * without it has no yardstick. */
#ifndef ML_CUDA_CHECK_BLAS_H
#define ML_CUDA_CHECK_BLAS_H

#include "ml/cuda/check.h"
#include "ml/ops/ops.h"

#include <dlfcn.h>
#include <stddef.h>

typedef int blas_gemm_fn(void *handle, int turn_a, int turn_b, int m, int n, int k,
                         const float *alpha, const float *a, int lda, long long stride_a,
                         const float *b, int ldb, long long stride_b, const float *beta, float *c,
                         int ldc, long long stride_c, int batch);

struct blas {
    void *library, *handle;
    blas_gemm_fn *gemm;
    int (*close)(void *handle);
    int (*get)(int n, int size, const void *from, int step, void *to, int step_to);
};

/* Returns 0, or -1 where there is no cuBLAS. Uses the device that is current. */
static inline int blas_open(struct blas *b)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                         "libcublas.so" };
    int (*open)(void **handle) = NULL;

    *b = (struct blas){ 0 };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !b->library; i++)
        b->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!b->library)
        return -1;
    *(void **)&open = dlsym(b->library, "cublasCreate_v2");
    *(void **)&b->close = dlsym(b->library, "cublasDestroy_v2");
    *(void **)&b->gemm = dlsym(b->library, "cublasSgemmStridedBatched");
    *(void **)&b->get = dlsym(b->library, "cublasGetVector");
    if (open && b->close && b->gemm && b->get && open(&b->handle) == 0)
        return 0;
    dlclose(b->library);
    return -1;
}

static inline void blas_close(struct blas *b)
{
    b->close(b->handle);
    dlclose(b->library);
}

/* Waits for what was queued: a copy that is not asynchronous comes after it. */
static inline int blas_wait(struct blas *b, const float *any)
{
    float one;

    return b->get(1, (int)sizeof one, any, 1, &one, 1);
}

/* One layer of so many networks: the forward product, the gradient of the weights, and below the first layer that of what it
 * read. Matrices are row-major, which cuBLAS reads as their transposes. x, y: [lanes][rows][in], [lanes][rows][out];
 * w: [lanes][in][out]. */
static inline int blas_layer(struct blas *b, int lanes, int rows, int in, int out, float *x,
                             float *w, float *y, int is_first)
{
    static const float one = 1, zero = 0;
    long long of_x = (long long)rows * in, of_y = (long long)rows * out, of_w = (long long)in * out;
    int bad = b->gemm(b->handle, 0, 0, out, rows, in, &one, w, out, of_w, x, in, of_x, &zero, y,
                      out, of_y, lanes);

    bad += b->gemm(b->handle, 0, 1, out, in, rows, &one, y, out, of_y, x, in, of_x, &zero, w, out,
                   of_w, lanes);
    if (!is_first)
        bad += b->gemm(b->handle, 1, 0, in, rows, out, &one, w, out, of_w, y, out, of_y, &zero, x,
                       in, of_x, lanes);
    return bad;
}

#endif
