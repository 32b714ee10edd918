/* trace.c - where the time on a device goes. With ASSAY_CUDA_TRACE in the environment every launch
 * is waited for and timed by kernel, and a kernel that fails is named. Slower than without, because
 * nothing overlaps. The counts belong to the process, which then must use one device from one
 * thread. Called by LAUNCH (gpu.h) and device.c. */
#include "ml/cuda/trace.h"

#include "ml/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* More kernels than there are; further ones would not be counted. */
enum { KERNELS_MOST = 64 };

int cuda_is_traced;

/* What was measured of each kernel, in the order of the first launches. */
static struct {
    /* the kernel's name in the launcher's source */
    const char *kernel;
    long launches;
    double seconds, longest;
} seen[KERNELS_MOST];
static int n_seen;
static double started;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cuda_trace_begin(void)
{
    cuda_is_traced = getenv("ASSAY_CUDA_TRACE") != NULL;
}

/* Waits for all earlier work, so that only the kernel itself is timed. */
void cuda_launching(cudaStream_t stream)
{
    cudaStreamSynchronize(stream);
    started = now_s();
}

/* Waits for the kernel and adds its time to that of its name. */
void cuda_launched(const char *kernel, cudaStream_t stream)
{
    cudaError_t rc = cudaStreamSynchronize(stream);
    double took = now_s() - started;
    int i = 0;

    if (rc != cudaSuccess)
        fprintf(stderr, "cuda.trace kernel=%s err=\"%s\"\n", kernel, cudaGetErrorString(rc));
    while (i < n_seen && strcmp(seen[i].kernel, kernel) != 0)
        i++;
    if (i == KERNELS_MOST)
        return;
    n_seen = i == n_seen ? i + 1 : n_seen;
    seen[i].kernel = kernel;
    seen[i].launches++;
    seen[i].seconds += took;
    seen[i].longest = took > seen[i].longest ? took : seen[i].longest;
}

void cuda_trace_print(FILE *out)
{
    double all = 0.0;

    for (int i = 0; i < n_seen; i++)
        all += seen[i].seconds;
    for (int i = 0; i < n_seen; i++)
        fprintf(out, "    %-20s %7ld launches %10.3f ms %5.1f%%  longest %.3f ms\n", seen[i].kernel,
                seen[i].launches, 1e3 * seen[i].seconds, 100.0 * seen[i].seconds / all,
                1e3 * seen[i].longest);
    memset(seen, 0, sizeof(seen));
    n_seen = 0;
}
