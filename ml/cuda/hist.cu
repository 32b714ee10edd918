/* hist.cu - hist_nodes (contract in ml/ops/ops.h): the histograms of all nodes of all lanes in one
 * launch.
 *
 * Grid = (column groups, row tiles, nodes). A block keeps the 256 bins of its columns in shared
 * memory as two 32-bit sums, g and h. It adds its rows with integer atomics (any order, equal
 * bits), and then adds the sums that are not zero to global memory as packed 64-bit words, again
 * whole numbers. A tile has so few rows that no 32-bit sum overflows: |g| and h are below 2^16, and
 * a tile has 2^14 rows. */
#include "ml/cuda/gpu.h"

/* HIST_GROUP: columns of a block; their sums fill 32 KiB of shared memory. */
enum { HIST_BINS = 256, HIST_GROUP = 16, HIST_TILE_ROWS = 16384, HIST_THREADS = 256 };

/* Node m has the rows from[m] to from[m + 1] of in.rows; its histogram is [cols][256] words. The
 * third dimension of the grid counts nodes, so tiles beyond a node's rows end at once. in.q holds
 * g, signed, in the upper 16 bits and h in the lower 16, by row number. */
__global__ void hist_nodes_kernel(struct ml_hist_in in, unsigned long long *hist)
{
    DYN_SHARED(int, sums); /* [2][group][256] */
    int first = (int)blockIdx.x * HIST_GROUP, node = (int)blockIdx.z;
    int width = in.cols - first < HIST_GROUP ? in.cols - first : HIST_GROUP;
    int cells = width * HIST_BINS;
    int64_t begin = in.from[node] + (int64_t)blockIdx.y * HIST_TILE_ROWS, end = in.from[node + 1];

    if (end > begin + HIST_TILE_ROWS)
        end = begin + HIST_TILE_ROWS;
    for (int i = (int)threadIdx.x; i < 2 * cells; i += (int)blockDim.x)
        sums[i] = 0;
    __syncthreads();
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        int32_t row = in.rows[i];
        const uint8_t *b = in.bins + row * in.stride + first;
        uint32_t word = in.q[row];
        int g = (int)(int16_t)(word >> 16), h = (int)(word & 0xffffu);
        for (int j = 0; j < width; j++) {
            atomicAdd(&sums[j * HIST_BINS + b[j]], g);
            atomicAdd(&sums[cells + j * HIST_BINS + b[j]], h);
        }
    }
    __syncthreads();
    unsigned long long *out = hist + ((size_t)node * (size_t)in.cols + (size_t)first) * HIST_BINS;
    for (int i = (int)threadIdx.x; i < cells; i += (int)blockDim.x) {
        long long g = sums[i], h = sums[cells + i];
        if (g != 0 || h != 0)
            atomicAdd(&out[i], (unsigned long long)(g * 4294967296LL + h));
    }
}

/* Clears `hist`, which is on the device, and queues the sums. in->max_rows: rows of the largest
 * node. */
extern "C" int cuda_hist_nodes(struct ml_ctx *c, const struct ml_hist_in *in, int64_t *hist,
                               struct err *err)
{
    size_t bytes = (size_t)in->n_nodes * (size_t)in->cols * HIST_BINS * sizeof(*hist);
    unsigned groups = (unsigned)((in->cols + HIST_GROUP - 1) / HIST_GROUP);
    unsigned tiles = (unsigned)((in->max_rows + HIST_TILE_ROWS - 1) / HIST_TILE_ROWS);

    if (in->n_nodes == 0 || in->cols == 0)
        return 0;
    if (cuda_try(cudaMemsetAsync(hist, 0, bytes, c->stream), err) < 0)
        return -1;
    if (tiles == 0)
        return 0;
    LAUNCH(hist_nodes_kernel, dim3(groups, tiles, (unsigned)in->n_nodes), HIST_THREADS,
           2 * HIST_GROUP * HIST_BINS * sizeof(int), c->stream, *in, (unsigned long long *)hist);
    return cuda_try(cudaGetLastError(), err);
}
