/* gemm.h - the matrix product of small networks, in single precision.
 *
 * Every element of the result is one chain of fused multiply-adds over p = 0, 1, ... k - 1,
 * starting from 0:
 *   c(i, j) = fma(a(i, k-1), b(k-1, j), ... fma(a(i, 0), b(0, j), 0))
 * A fused multiply-add is rounded once, exactly as C's fmaf, so every instruction set and every
 * tiling gives the same bits. This is the one kernel of ml/cpu that uses fused multiply-adds: here
 * they double the speed. Called by ml/net/. Allocates nothing and cannot fail. */
#ifndef ML_CPU_GEMM_H
#define ML_CPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

enum { GEMM_PAD = 16 };

/* C = A B with C of m x n. The strides let A be read transposed: a(i, p) = a[i * a_row + p *
 * a_col]. Rows of B and C are contiguous; n is a multiple of GEMM_PAD. C overlaps neither A nor B.
 * k may be 0, then C becomes 0. */
struct gemm {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_col;
    const float *b;
    int64_t b_row;
    float *c;
    int64_t c_row;
    bool goes_on; /* the chains start from what C holds instead of 0 */
};
void gemm(const struct gemm *g);

/* to[j * rows_pad + i] = from[i * cols_pad + j] for i < rows, j < cols; the rest of each row of
 * `to` becomes 0. */
void gemm_transpose(const float *from, int64_t rows, int64_t cols, int64_t cols_pad, float *to,
                    int64_t rows_pad);

#endif
