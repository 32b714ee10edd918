/* gemm.c - see gemm.h. A tile of C stays in registers while p runs over the inner dimension: 8 rows
 * x 32 columns with AVX-512, 6 x 16 with AVX2; smaller tiles end a panel. The panel of B that a
 * column of tiles reads stays in the first cache. Rows of a wide B are far apart and would displace
 * each other there, so such a panel is copied first, a block of rows at a time; every block but the
 * first starts from what C holds, which continues the chain of each element. */
#include "ml/cpu/gemm.h"

#include "ml/cpu/simd.h"

#include <math.h>
#include <string.h>

enum { WIDE_ROWS = 8, WIDE_COLS = 32, MIDDLE_ROWS = 6, PLAIN_COLS = GEMM_PAD };
/* Copying a panel pays when it is read by several tiles of rows and its rows are this many floats
 * apart (256 x 256 x 256: the same with and without; 256 x 512 x 512: 8% faster with it). PACK_K
 * rows of a panel are 24 KB. */
enum { PACK_ROWS = 64, PACK_STRIDE = 256, PACK_K = 256 };

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define GEMM_X86    1
#define GEMM_WIDE   __attribute__((target("avx512f,fma")))
#define GEMM_MIDDLE __attribute__((target("avx2,fma")))
#define GEMM_INLINE static inline __attribute__((always_inline))

/* One tile of `rows` x (16 * vectors) of C at row i, column j, starting from 0 or from what C
 * holds. Both counts are constants wherever this is called, so that the loops over them are
 * unrolled and the sums are registers. */
GEMM_WIDE GEMM_INLINE void tile_body(const struct gemm *g, int64_t i, int64_t j, const int rows,
                                     const int vectors, const bool goes_on)
{
    __m512 sum[WIDE_ROWS][2];
    const float *a = g->a + i * g->a_row, *b = g->b + j;
    float *c = g->c + i * g->c_row + j;

#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        sum[r][0] = goes_on ? _mm512_loadu_ps(c + r * g->c_row) : _mm512_setzero_ps();
        if (vectors > 1)
            sum[r][1] = goes_on ? _mm512_loadu_ps(c + r * g->c_row + 16) : _mm512_setzero_ps();
    }
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
        _mm512_storeu_ps(c + r * g->c_row, sum[r][0]);
        if (vectors > 1)
            _mm512_storeu_ps(c + r * g->c_row + 16, sum[r][1]);
    }
}

/* Each tile is a function of its own: together in one function they lack registers, which costs
 * 15%. */
#define TILE(rows, vectors, what, goes_on)                                         \
    GEMM_WIDE __attribute__((noinline)) static void tile_##rows##x##vectors##what( \
        const struct gemm *g, int64_t i, int64_t j)                                \
    {                                                                              \
        tile_body(g, i, j, rows, vectors, goes_on);                                \
    }
#define TILES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define TILE_KINDS(rows) \
    TILE(rows, 1, , false) TILE(rows, 1, _on, true) TILE(rows, 2, , false) TILE(rows, 2, _on, true)
TILES(TILE_KINDS)

typedef void tile_fn(const struct gemm *g, int64_t i, int64_t j);
#define NAME_1(rows)    tile_##rows##x1,
#define NAME_1_ON(rows) tile_##rows##x1_on,
#define NAME_2(rows)    tile_##rows##x2,
#define NAME_2_ON(rows) tile_##rows##x2_on,
/* By rows, from 1. */
static tile_fn *const tiles_1[] = { TILES(NAME_1) }, *const tiles_1_on[] = { TILES(NAME_1_ON) },
                      *const tiles_2[] = { TILES(NAME_2) },
                      *const tiles_2_on[] = { TILES(NAME_2_ON) };

/* All rows of a panel; those that are left after whole tiles make one tile more. */
static void panel_wide(const struct gemm *g, int64_t j, tile_fn *const *tiles)
{
    int64_t i = 0;

    for (; i + WIDE_ROWS <= g->m; i += WIDE_ROWS)
        tiles[WIDE_ROWS - 1](g, i, j);
    if (i < g->m)
        tiles[g->m - i - 1](g, i, j);
}

/* The same from copies of the panel, PACK_K of its rows after another. */
GEMM_WIDE static void panel_packed(const struct gemm *g, int64_t j)
{
    _Alignas(64) float panel[PACK_K * WIDE_COLS];

    for (int64_t p = 0; p < g->k; p += PACK_K) {
        struct gemm part = *g;
        const float *b = g->b + p * g->b_row + j;
        part.k = g->k - p < PACK_K ? g->k - p : PACK_K;
        part.a = g->a + p * g->a_col;
        part.b = panel;
        part.b_row = WIDE_COLS;
        part.c = g->c + j;
        for (int64_t q = 0; q < part.k; q++) {
            _mm512_store_ps(panel + q * WIDE_COLS, _mm512_loadu_ps(b + q * g->b_row));
            _mm512_store_ps(panel + q * WIDE_COLS + 16, _mm512_loadu_ps(b + q * g->b_row + 16));
        }
        panel_wide(&part, 0, p > 0 || g->goes_on ? tiles_2_on : tiles_2);
    }
}

GEMM_WIDE static void gemm_wide(const struct gemm *g)
{
    bool packs = g->m >= PACK_ROWS && g->b_row >= PACK_STRIDE && g->k > 0;
    int64_t j = 0;

    for (; j + WIDE_COLS <= g->n; j += WIDE_COLS) {
        if (packs)
            panel_packed(g, j);
        else
            panel_wide(g, j, g->goes_on ? tiles_2_on : tiles_2);
    }
    if (j < g->n)
        panel_wide(g, j, g->goes_on ? tiles_1_on : tiles_1);
}

/* One tile of `rows` x 16 of C, in two vectors of eight. */
GEMM_MIDDLE GEMM_INLINE void tile_middle(const struct gemm *g, int64_t i, int64_t j, const int rows)
{
    __m256 sum[MIDDLE_ROWS][2];
    const float *a = g->a + i * g->a_row, *b = g->b + j;
    float *c = g->c + i * g->c_row + j;

#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        sum[r][0] = g->goes_on ? _mm256_loadu_ps(c + r * g->c_row) : _mm256_setzero_ps();
        sum[r][1] = g->goes_on ? _mm256_loadu_ps(c + r * g->c_row + 8) : _mm256_setzero_ps();
    }
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
        _mm256_storeu_ps(c + r * g->c_row, sum[r][0]);
        _mm256_storeu_ps(c + r * g->c_row + 8, sum[r][1]);
    }
}

GEMM_MIDDLE static void gemm_middle(const struct gemm *g)
{
    for (int64_t j = 0; j < g->n; j += 16) {
        int64_t i = 0;
        for (; i + MIDDLE_ROWS <= g->m; i += MIDDLE_ROWS)
            tile_middle(g, i, j, MIDDLE_ROWS);
        switch (g->m - i) {
        case 5:
            tile_middle(g, i, j, 5);
            break;
        case 4:
            tile_middle(g, i, j, 4);
            break;
        case 3:
            tile_middle(g, i, j, 3);
            break;
        case 2:
            tile_middle(g, i, j, 2);
            break;
        case 1:
            tile_middle(g, i, j, 1);
            break;
        default:
            break;
        }
    }
}
#endif

/* fmaf is correctly rounded wherever the C library is, so these are the bits of the vectors
 * above. */
static void gemm_plain(const struct gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j += PLAIN_COLS) {
            const float *a = g->a + i * g->a_row, *b = g->b + j;
            float sum[PLAIN_COLS] = { 0 };
            if (g->goes_on)
                memcpy(sum, g->c + i * g->c_row + j, sizeof sum);
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

/* ---- transposing ---- */

enum { BLOCK = 8 };

/* A block of at most 8 x 8, at the edges. */
static void turn_part(const float *from, int64_t from_row, float *to, int64_t to_row, int64_t rows,
                      int64_t cols)
{
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t i = 0; i < rows; i++)
            to[j * to_row + i] = from[i * from_row + j];
    }
}

static void turn_plain(const float *from, int64_t rows, int64_t cols, int64_t from_row, float *to,
                       int64_t to_row)
{
    for (int64_t j = 0; j < cols; j += BLOCK) {
        for (int64_t i = 0; i < rows; i += BLOCK)
            turn_part(from + i * from_row + j, from_row, to + j * to_row + i, to_row,
                      rows - i < BLOCK ? rows - i : BLOCK, cols - j < BLOCK ? cols - j : BLOCK);
    }
}

#ifdef GEMM_X86
/* A block of 8 x 8: pairs, then fours of floats change places within each half, then the halves
 * themselves. */
GEMM_MIDDLE GEMM_INLINE void turn_block(const float *from, int64_t from_row, float *to,
                                        int64_t to_row)
{
    __m256 r[8], pair[8], four[8];

    for (int i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(from + i * from_row);
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        four[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        four[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
        four[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        four[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * to_row, _mm256_permute2f128_ps(four[i], four[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * to_row, _mm256_permute2f128_ps(four[i], four[i + 4], 0x31));
    }
}

GEMM_MIDDLE static void turn_middle(const float *from, int64_t rows, int64_t cols, int64_t from_row,
                                    float *to, int64_t to_row)
{
    for (int64_t j = 0; j < cols; j += BLOCK) {
        int64_t width = cols - j < BLOCK ? cols - j : BLOCK;
        for (int64_t i = 0; i < rows; i += BLOCK) {
            int64_t height = rows - i < BLOCK ? rows - i : BLOCK;
            if (width == BLOCK && height == BLOCK)
                turn_block(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
            else
                turn_part(from + i * from_row + j, from_row, to + j * to_row + i, to_row, height,
                          width);
        }
    }
}
#endif

void gemm_transpose(const float *from, int64_t rows, int64_t cols, int64_t cols_pad, float *to,
                    int64_t rows_pad)
{
#ifdef GEMM_X86
    if (simd_level() >= SIMD_AVX2)
        turn_middle(from, rows, cols, cols_pad, to, rows_pad);
    else
#endif
        turn_plain(from, rows, cols, cols_pad, to, rows_pad);
    for (int64_t j = 0; j < cols && rows < rows_pad; j++)
        memset(to + j * rows_pad + rows, 0, (size_t)(rows_pad - rows) * sizeof *to);
}
