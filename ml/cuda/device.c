/* device.c - devices, memory and copies of the CUDA half, and the table that it exports. Plain C;
 * no kernel here. A driver that is missing or too old, or no device, means zero devices and is no
 * error; every other failure is an error with CUDA's own words. */
#include "ml/cuda/cuda.h"
#include "ml/cuda/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that is used up is ERR_NOMEM, which fails only the trial; the rest is ERR_DEVICE. */
int cuda_check(cudaError_t rc, const char *what, const char *file, int line, struct err *err)
{
    if (rc == cudaSuccess)
        return 0;
    /* Clears the error, because otherwise the next launch would report it again. */
    cudaGetLastError();
    return err_set(err, rc == cudaErrorMemoryAllocation ? ERR_NOMEM : ERR_DEVICE, "%s (%s:%d): %s",
                   what, file, line, cudaGetErrorString(rc));
}

/* The number of devices; 0 where there is no driver that this program can use. */
static int cuda_count(int *n, struct err *err)
{
    cudaError_t rc = cudaGetDeviceCount(n);

    if (rc == cudaErrorInsufficientDriver || rc == cudaErrorNoDevice ||
        rc == cudaErrorStubLibrary) {
        cudaGetLastError();
        *n = 0;
        return 0;
    }
    return cuda_try(rc, err);
}

/* Name, memory and numeric class of a device. The class ("cuda-sm90") names the architecture,
 * because results are compared only between devices that are known to give equal bits. */
static int cuda_get_device(int index, struct ml_device *out, struct err *err)
{
    struct cudaDeviceProp prop;
    size_t free_bytes = 0, total_bytes = 0;

    if (cuda_try(cudaSetDevice(index), err) < 0 ||
        cuda_try(cudaGetDeviceProperties(&prop, index), err) < 0 ||
        cuda_try(cudaMemGetInfo(&free_bytes, &total_bytes), err) < 0)
        return -1;
    memset(out, 0, sizeof(*out));
    out->index = index;
    snprintf(out->name, sizeof(out->name), "%.63s", prop.name);
    snprintf(out->numeric_class, sizeof(out->numeric_class), "cuda-sm%d%d", prop.major, prop.minor);
    out->memory_bytes = (int64_t)total_bytes;
    out->free_bytes = (int64_t)free_bytes;
    return 0;
}

static void cuda_close(struct ml_ctx *c)
{
    if (!c)
        return;
    if (cuda_is_traced)
        cuda_trace_print(stderr);
    if (c->stream)
        cudaStreamDestroy(c->stream);
    free(c);
}

/* A context is one device and one stream; one thread at a time uses it. The stream does not wait
 * for the default stream, which nobody here uses. */
static struct ml_ctx *cuda_open(int index, struct err *err)
{
    struct ml_ctx *c = calloc(1, sizeof(*c));
    int shared = 0;

    if (!c) {
        err_set(err, ERR_NOMEM, "context");
        return NULL;
    }
    c->index = index;
    cuda_trace_begin();
    if (cuda_try(cudaSetDevice(index), err) < 0 ||
        cuda_try(cudaDeviceGetAttribute(&c->multiprocessors, cudaDevAttrMultiProcessorCount, index),
                 err) < 0 ||
        cuda_try(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index),
                 err) < 0 ||
        cuda_try(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking), err) < 0) {
        cuda_close(c);
        return NULL;
    }
    c->shared_bytes = (size_t)shared;
    return c;
}

/* Device memory, not cleared; never NULL, even for 0 bytes. */
static int cuda_alloc(struct ml_ctx *c, size_t bytes, void **out, struct err *err)
{
    (void)c;
    return cuda_try(cudaMalloc(out, bytes ? bytes : 1), err);
}

static void cuda_release(struct ml_ctx *c, void *p)
{
    (void)c;
    cudaFree(p);
}

/* The copy is queued: the caller keeps the source until cuda_wait. */
static int cuda_put(struct ml_ctx *c, void *device, const void *host, size_t bytes, struct err *err)
{
    return cuda_try(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, c->stream), err);
}

/* Returns when all that was queued is done, with the first error of any of it. */
static int cuda_wait(struct ml_ctx *c, struct err *err)
{
    return cuda_try(cudaStreamSynchronize(c->stream), err);
}

static int cuda_get(struct ml_ctx *c, void *host, const void *device, size_t bytes, struct err *err)
{
    if (cuda_try(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, c->stream), err) < 0)
        return -1;
    return cuda_wait(c, err);
}

/* What the other half of the program sees, by ml/ops/ops.h. abi keeps a library of another version
 * from being used. */
static const struct ml_ops ops = {
    .abi = ML_OPS_ABI,
    .backend = "cuda",
    .device_count = cuda_count,
    .device_get = cuda_get_device,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .put = cuda_put,
    .get = cuda_get,
    .wait = cuda_wait,
    .softmax_rows = cuda_softmax_rows,
    .hist_nodes = cuda_hist_nodes,
    .boost = &cuda_boost_ops,
    .forest = &cuda_forest_ops,
    .net = &cuda_net_ops,
    .nccl = &cuda_nccl_ops,
};

/* The only symbol that ml/ops/device.c looks up. */
const struct ml_ops *assay_cuda_ops(void);
const struct ml_ops *assay_cuda_ops(void)
{
    return &ops;
}
