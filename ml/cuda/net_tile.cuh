/* net_tile.cuh - one tile of a product of matrices, computed by one block: C(i, j) = fma chain over
 * p = 0, 1, ... k - 1 of A(i, p) B(p, j), starting from 0, as ml/cpu/gemm.h defines it. Which tile a
 * block takes and how the loads are staged does not show in a bit.
 *
 * Each of 128 threads holds 8 x 4 sums of the 64 x 64 tile in registers. Slices of 16 values of p
 * are staged in shared memory twice, so that the next one is loaded while this one is used. */
#ifndef ML_CUDA_NET_TILE_CUH
#define ML_CUDA_NET_TILE_CUH

#include "ml/cuda/gpu.h"

#include <math.h>

enum {
    TILE = 64,            /* rows and columns of C */
    TILE_K = 16,          /* values of p in a slice */
    TILE_THREADS = 128,   /* 16 across, 8 down */
    TILE_ROWS = 8,        /* of C, of a thread */
    TILE_COLS = 4,        /* the same */
    TILE_LINE = TILE + 4, /* floats from one p to the next in shared memory */
    TILE_LOADS = TILE * TILE_K / TILE_THREADS
};

struct alignas(16) net_f4 {
    float x, y, z, w;
};

/* A or B. Its outer index is i or j, its inner one p.
 *   runs along p:      element = at[row(outer) * stride + p]
 *   runs along outer:  element = at[row(p) * stride + outer]
 * where row(r) is rows[r], or r where rows is NULL. Rows are whole numbers of 16 floats that are
 * readable. Each element is multiplied by factors[p], or by factor where factors is NULL. */
struct net_operand {
    const float *at, *factors;
    const int32_t *rows;
    int64_t stride;
    float factor;
    int runs_along_p;
    /* outer indices beyond it give 0 */
    int n;
};

struct alignas(16) net_tile {
    float a[2][TILE_K * TILE_LINE], b[2][TILE_K * TILE_LINE];
};

/* Loads of this thread: eight floats, of an outer index and eight p, or of a p and eight outer
 * ones. */
__device__ __forceinline__ void net_fetch(const struct net_operand *m, int first, int p0, int k,
                                          float *to)
{
    int t = (int)threadIdx.x;
    int outer = m->runs_along_p ? first + t / 2 : first + t % 8 * TILE_LOADS;
    int p = m->runs_along_p ? p0 + t % 2 * TILE_LOADS : p0 + t / 8;
    int major = m->runs_along_p ? outer : p, minor = m->runs_along_p ? p : outer;
    const float *from = m->at;

    if (outer >= m->n || p >= k) {
        for (int i = 0; i < TILE_LOADS; i++)
            to[i] = 0;
        return;
    }
    from += (m->rows ? (int64_t)m->rows[major] : (int64_t)major) * m->stride + minor;
    for (int i = 0; i < TILE_LOADS; i += 4) {
        net_f4 v = *(const net_f4 *)(from + i);
        to[i] = v.x;
        to[i + 1] = v.y;
        to[i + 2] = v.z;
        to[i + 3] = v.w;
    }
    if (m->factors) {
        for (int i = 0; i < TILE_LOADS; i++) {
            int q = m->runs_along_p ? p + i : p;
            to[i] = q < k ? m->factors[q] * to[i] : 0;
        }
    } else {
        for (int i = 0; i < TILE_LOADS; i++)
            to[i] = m->factor * to[i];
    }
}

__device__ __forceinline__ void net_stage(const struct net_operand *m, const float *from, float *to)
{
    int t = (int)threadIdx.x;

    if (m->runs_along_p) {
        for (int i = 0; i < TILE_LOADS; i++)
            to[(t % 2 * TILE_LOADS + i) * TILE_LINE + t / 2] = from[i];
        return;
    }
    for (int i = 0; i < TILE_LOADS; i += 4)
        *(net_f4 *)(to + t / 8 * TILE_LINE + t % 8 * TILE_LOADS + i) =
            net_f4{ from[i], from[i + 1], from[i + 2], from[i + 3] };
}

__device__ __forceinline__ void net_slice(const float *a, const float *b,
                                          float sum[TILE_ROWS][TILE_COLS])
{
    int i0 = (int)threadIdx.x / 16 * TILE_ROWS, j0 = (int)threadIdx.x % 16 * TILE_COLS;
    net_f4 low = *(const net_f4 *)(a + i0), high = *(const net_f4 *)(a + i0 + 4);
    net_f4 across = *(const net_f4 *)(b + j0);
    float down[TILE_ROWS] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };

    for (int r = 0; r < TILE_ROWS; r++) {
        sum[r][0] = fmaf(down[r], across.x, sum[r][0]);
        sum[r][1] = fmaf(down[r], across.y, sum[r][1]);
        sum[r][2] = fmaf(down[r], across.z, sum[r][2]);
        sum[r][3] = fmaf(down[r], across.w, sum[r][3]);
    }
}

/* The sums of this thread for the tile that begins at row i0 and column j0 of C. All threads of the
 * block call it together. */
__device__ __forceinline__ void net_product(const struct net_operand *a,
                                            const struct net_operand *b, int i0, int j0, int k,
                                            struct net_tile *s, float sum[TILE_ROWS][TILE_COLS])
{
    float next_a[TILE_LOADS], next_b[TILE_LOADS];
    int now = 0;

    for (int r = 0; r < TILE_ROWS; r++) {
        for (int q = 0; q < TILE_COLS; q++)
            sum[r][q] = 0;
    }
    net_fetch(a, i0, 0, k, next_a);
    net_fetch(b, j0, 0, k, next_b);
    net_stage(a, next_a, s->a[0]);
    net_stage(b, next_b, s->b[0]);
    __syncthreads();
    for (int p0 = 0; p0 < k; p0 += TILE_K) {
        int n = k - p0 < TILE_K ? k - p0 : TILE_K;
        net_fetch(a, i0, p0 + TILE_K, k, next_a);
        net_fetch(b, j0, p0 + TILE_K, k, next_b);
        if (n == TILE_K) {
#pragma unroll
            for (int p = 0; p < TILE_K; p++)
                net_slice(s->a[now] + p * TILE_LINE, s->b[now] + p * TILE_LINE, sum);
        } else {
            for (int p = 0; p < n; p++)
                net_slice(s->a[now] + p * TILE_LINE, s->b[now] + p * TILE_LINE, sum);
        }
        now = 1 - now;
        net_stage(a, next_a, s->a[now]);
        net_stage(b, next_b, s->b[now]);
        __syncthreads();
    }
}

#endif
