/* gemm.c - see gemm.h. A tile of C stays in registers while p runs over the whole inner dimension: 8 rows x 32 columns with
 * AVX-512, 6 x 16 with AVX2. The panel of B that a column of tiles reads (32 columns, k rows) fits the first cache for the
 * widths of small networks, and is read again for every tile of rows. */
#include "ml/cpu/gemm.h"

#include "ml/cpu/simd.h"

#include <math.h>
#include <string.h>

enum { WIDE_ROWS = 8, MIDDLE_ROWS = 6, PLAIN_COLS = GEMM_PAD };

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define GEMM_X86    1
#define GEMM_WIDE   __attribute__((target("avx512f,fma")))
#define GEMM_MIDDLE __attribute__((target("avx2,fma")))
#define GEMM_INLINE static inline __attribute__((always_inline))

/* One tile of `rows` x (16 * vectors) of C at row i, column j. Both counts are constants wherever this is called, so that
 * the loops over them are unrolled and the sums are registers. */
GEMM_WIDE GEMM_INLINE void tile_wide(const struct gemm *g, int64_t i, int64_t j, const int rows,
                                     const int vectors)
{
    __m512 sum[WIDE_ROWS][2];
    const float *a = g->a + i * g->a_row, *b = g->b + j;

#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (int64_t p = 0; p < g->k; p++, a += g->a_col, b += g->b_row) {
        __m512 x = _mm512_loadu_ps(b), y = vectors > 1 ? _mm512_loadu_ps(b + 16) : x;
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            __m512 v = _mm512_set1_ps(a[r * g->a_row]);
            sum[r][0] = _mm512_fmadd_ps(v, x, sum[r][0]);
            if (vectors > 1)
                sum[r][1] = _mm512_fmadd_ps(v, y, sum[r][1]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        _mm512_storeu_ps(g->c + (i + r) * g->c_row + j, sum[r][0]);
        if (vectors > 1)
            _mm512_storeu_ps(g->c + (i + r) * g->c_row + j + 16, sum[r][1]);
    }
}

GEMM_WIDE GEMM_INLINE void panel_wide(const struct gemm *g, int64_t j, const int vectors)
{
    int64_t i = 0;

    for (; i + WIDE_ROWS <= g->m; i += WIDE_ROWS)
        tile_wide(g, i, j, WIDE_ROWS, vectors);
    if (g->m - i >= 4) {
        tile_wide(g, i, j, 4, vectors);
        i += 4;
    }
    for (; i < g->m; i++)
        tile_wide(g, i, j, 1, vectors);
}

GEMM_WIDE static void gemm_wide(const struct gemm *g)
{
    int64_t j = 0;

    for (; j + 32 <= g->n; j += 32)
        panel_wide(g, j, 2);
    if (j < g->n)
        panel_wide(g, j, 1);
}

/* One tile of `rows` x 16 of C, in two vectors of eight. */
GEMM_MIDDLE GEMM_INLINE void tile_middle(const struct gemm *g, int64_t i, int64_t j, const int rows)
{
    __m256 sum[MIDDLE_ROWS][2];
    const float *a = g->a + i * g->a_row, *b = g->b + j;

#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm256_setzero_ps();
    for (int64_t p = 0; p < g->k; p++, a += g->a_col, b += g->b_row) {
        __m256 x = _mm256_loadu_ps(b), y = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m256 v = _mm256_set1_ps(a[r * g->a_row]);
            sum[r][0] = _mm256_fmadd_ps(v, x, sum[r][0]);
            sum[r][1] = _mm256_fmadd_ps(v, y, sum[r][1]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        _mm256_storeu_ps(g->c + (i + r) * g->c_row + j, sum[r][0]);
        _mm256_storeu_ps(g->c + (i + r) * g->c_row + j + 8, sum[r][1]);
    }
}

GEMM_MIDDLE static void gemm_middle(const struct gemm *g)
{
    for (int64_t j = 0; j < g->n; j += 16) {
        int64_t i = 0;
        for (; i + MIDDLE_ROWS <= g->m; i += MIDDLE_ROWS)
            tile_middle(g, i, j, MIDDLE_ROWS);
        for (; i < g->m; i++)
            tile_middle(g, i, j, 1);
    }
}
#endif

/* fmaf is correctly rounded wherever the C library is, so these are the bits of the vectors above. */
static void gemm_plain(const struct gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j += PLAIN_COLS) {
            const float *a = g->a + i * g->a_row, *b = g->b + j;
            float sum[PLAIN_COLS] = { 0 };
            for (int64_t p = 0; p < g->k; p++, a += g->a_col, b += g->b_row) {
                for (int v = 0; v < PLAIN_COLS; v++)
                    sum[v] = fmaf(*a, b[v], sum[v]);
            }
            memcpy(g->c + i * g->c_row + j, sum, sizeof sum);
        }
    }
}

void gemm(const struct gemm *g)
{
#ifdef GEMM_X86
    enum simd_level level = simd_level();

    if (level == SIMD_AVX512 && __builtin_cpu_supports("fma")) {
        gemm_wide(g);
        return;
    }
    if (level >= SIMD_AVX2 && __builtin_cpu_supports("fma")) {
        gemm_middle(g);
        return;
    }
#endif
    gemm_plain(g);
}

enum { BLOCK = 16 };

void gemm_transpose(const float *from, int64_t rows, int64_t cols, int64_t cols_pad, float *to,
                    int64_t rows_pad)
{
    for (int64_t j0 = 0; j0 < cols; j0 += BLOCK) {
        int64_t j1 = j0 + BLOCK < cols ? j0 + BLOCK : cols;
        for (int64_t i0 = 0; i0 < rows; i0 += BLOCK) {
            int64_t i1 = i0 + BLOCK < rows ? i0 + BLOCK : rows;
            for (int64_t j = j0; j < j1; j++) {
                for (int64_t i = i0; i < i1; i++)
                    to[j * rows_pad + i] = from[i * cols_pad + j];
            }
        }
        for (int64_t j = j0; j < j1; j++) {
            for (int64_t i = rows; i < rows_pad; i++)
                to[j * rows_pad + i] = 0;
        }
    }
}
