/* hist.c - the hot loop of boosting: for every (row, column), one byte read and one 64-bit add
 * (hist.h).
 *
 * Eight bins come with one 8-byte load. Two things bound the speed. First, a core finishes one
 * store a cycle, so no arrangement makes more than one add a cycle. Second, rows come from memory,
 * so rows and gradients are prefetched. Rows that lie far apart would leave the cache between two
 * passes, so they are read once for 64 columns, whose histograms (132 KiB) then live in the
 * second-level cache. Rows near each other are read in tiles of 16 columns, whose histograms (33
 * KiB) nearly fit the first-level cache. Called by ml/boost/boost_grow.c. */
#include "ml/cpu/hist.h"

#include "ml/cpu/simd.h"

#include <string.h>
#ifdef SIMD_WIDE
#include <immintrin.h>
#endif

/* AHEAD: rows between a prefetch and its use. NEAR_BYTES: rows spread over less than this are taken
 * to stay in the caches between tiles. */
enum { AHEAD = 16, NEAR_BYTES = 8 << 20 };

static inline __attribute__((always_inline)) uint64_t load8(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Adds v to the bins of eight columns. x: their eight bins, the first in the lowest byte. */
static inline __attribute__((always_inline)) void add8(int64_t *h, uint64_t x, int64_t v)
{
    h[0 * HIST_PITCH + (x & 255)] += v;
    h[1 * HIST_PITCH + (x >> 8 & 255)] += v;
    h[2 * HIST_PITCH + (x >> 16 & 255)] += v;
    h[3 * HIST_PITCH + (x >> 24 & 255)] += v;
    h[4 * HIST_PITCH + (x >> 32 & 255)] += v;
    h[5 * HIST_PITCH + (x >> 40 & 255)] += v;
    h[6 * HIST_PITCH + (x >> 48 & 255)] += v;
    h[7 * HIST_PITCH + (x >> 56)] += v;
}

/* The same for the first n columns of the eight, n < 8. */
static inline __attribute__((always_inline)) void add_few(int64_t *h, uint64_t x, int64_t v, int n)
{
    for (int j = 0; j < n; j++, x >>= 8)
        h[j * HIST_PITCH + (x & 255)] += v;
}

/* One pass over the rows: `eights` full groups of 8 columns and `few` more (a constant, so that its
 * loop unrolls). */
static inline __attribute__((always_inline)) void add_pass(const struct hist_rows *r, int col,
                                                           int eights, int few, int64_t *hist)
{
    const uint8_t *base = r->bins + col;
    const int32_t *rows = r->rows;
    const uint32_t *q = r->q;
    int64_t stride = r->stride, n = r->n;

    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows[i], next = rows[i + AHEAD < n ? i + AHEAD : n - 1];
        const uint8_t *p = base + row * stride;
        int64_t v = hist_word(q[row]), *h = hist;

        __builtin_prefetch(base + next * stride);
        __builtin_prefetch(q + next);
        for (int e = 0; e < eights; e++, h += 8 * HIST_PITCH)
            add8(h, load8(p + e * 8), v);
        if (few)
            add_few(h, load8(p + eights * 8), v, few);
    }
}

/* The commonest pass, compiled on its own with both counts constant. */
static __attribute__((noinline)) void add_tile16(const struct hist_rows *r, int col, int64_t *hist)
{
    add_pass(r, col, 2, 0, hist);
}

#define FEW_CASE(n)                        \
    case n:                                \
        add_pass(r, col, eights, n, hist); \
        break;

/* A pass over any number of columns: the remainder of eight becomes a constant through the
 * switch. */
static void add_any(const struct hist_rows *r, int col, int n_cols, int64_t *hist)
{
    int eights = n_cols / 8;

    switch (n_cols % 8) {
        FEW_CASE(0)
        FEW_CASE(1)
        FEW_CASE(2)
        FEW_CASE(3)
        FEW_CASE(4)
        FEW_CASE(5)
        FEW_CASE(6)
        FEW_CASE(7)
    }
}

/* Row numbers ascend, so the distance between the first and the last row bounds what a pass
 * touches. */
static int is_far(const struct hist_rows *r)
{
    return (r->rows[r->n - 1] - r->rows[0]) * r->stride > NEAR_BYTES;
}

static void add_dense(const struct hist_rows *r, int col, int n_cols, int64_t *hist)
{
    int tile = is_far(r) ? HIST_WIDE : HIST_TILE, j = 0;

    /* The last tile also takes what would be too little for a pass of its own. */
    while (n_cols - j > 0) {
        int n = n_cols - j <= tile + tile / 4 ? n_cols - j : tile;
        if (n == HIST_TILE)
            add_tile16(r, col + j, hist + (int64_t)j * HIST_PITCH);
        else
            add_any(r, col + j, n, hist + (int64_t)j * HIST_PITCH);
        j += n;
    }
}

/* Columns that were sampled: the list of their numbers is read once per row and tile. */
static void add_listed(const struct hist_rows *r, const int32_t *cols, int n_cols, int64_t *hist)
{
    for (int64_t i = 0; i < r->n; i++) {
        int64_t row = r->rows[i], next = r->rows[i + AHEAD < r->n ? i + AHEAD : r->n - 1];
        const uint8_t *p = r->bins + row * r->stride;
        int64_t v = hist_word(r->q[row]);
        int64_t *h = hist;
        int j = 0;

        __builtin_prefetch(r->bins + next * r->stride + cols[0]);
        __builtin_prefetch(r->q + next);
        for (; j + 4 <= n_cols; j += 4, h += 4 * HIST_PITCH) {
            h[p[cols[j]]] += v;
            h[HIST_PITCH + p[cols[j + 1]]] += v;
            h[2 * HIST_PITCH + p[cols[j + 2]]] += v;
            h[3 * HIST_PITCH + p[cols[j + 3]]] += v;
        }
        for (; j < n_cols; j++, h += HIST_PITCH)
            h[p[cols[j]]] += v;
    }
}

void hist_add(const struct hist_rows *r, const int32_t *cols, int n_cols, int is_dense,
              int64_t *hist)
{
    if (n_cols == 0 || r->n == 0)
        return;
    if (is_dense) {
        add_dense(r, cols[0], n_cols, hist);
        return;
    }
    int tile = is_far(r) ? HIST_WIDE : HIST_TILE;
    for (int j = 0; j < n_cols; j += tile)
        add_listed(r, cols + j, n_cols - j < tile ? n_cols - j : tile,
                   hist + (int64_t)j * HIST_PITCH);
}

void hist_clear(int64_t *hist, const int *n_bins, int n_cols)
{
    for (int j = 0; j < n_cols; j++, hist += HIST_PITCH) {
        memset(hist, 0, (size_t)n_bins[j] * sizeof *hist);
        hist[HIST_MISSING] = 0;
    }
}

/* A column of 256 bins has its word of missing values among the first n_bins; it must not be
 * subtracted twice. */
SIMD_BODY void hist_subtract_body(int64_t *from, const int64_t *what, const int *n_bins, int n_cols)
{
    for (int j = 0; j < n_cols; j++, from += HIST_PITCH, what += HIST_PITCH) {
        for (int b = 0; b < n_bins[j]; b++)
            from[b] -= what[b];
        if (n_bins[j] <= HIST_MISSING)
            from[HIST_MISSING] -= what[HIST_MISSING];
    }
}
SIMD_KERNEL(hist_subtract, (int64_t * from, const int64_t *what, const int *n_bins, int n_cols),
            (from, what, n_bins, n_cols))

#ifdef SIMD_WIDE
/* Sixteen rows at a time. Stores of whole vectors write past the rows found so far, but never past
 * the rows that have been read, so they stay inside `out`. */
SIMD_WIDE static int64_t rows_used_wide(const uint32_t *q, int64_t n, int32_t *out, int64_t *done)
{
    __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i step = _mm512_set1_epi32(16);
    int64_t i = 0, m = 0;

    for (; i + 16 <= n; i += 16) {
        __m512i word = _mm512_loadu_si512(q + i);
        __mmask16 used = _mm512_test_epi32_mask(word, word);
        _mm512_storeu_si512(out + m, _mm512_maskz_compress_epi32(used, row));
        m += __builtin_popcount(used);
        row = _mm512_add_epi32(row, step);
    }
    *done = i;
    return m;
}
#endif

int64_t hist_rows_used(const uint32_t *q, int64_t n, int32_t *out)
{
    int64_t i = 0, m = 0;

#ifdef SIMD_WIDE
    if (simd_level() == SIMD_AVX512)
        m = rows_used_wide(q, n, out, &i);
#endif
    for (; i < n; i++) {
        out[m] = (int32_t)i;
        m += q[i] != 0;
    }
    return m;
}

/* Two sums, so that an add need not wait for the one before. The order does not matter: the sums
 * are of integers. */
int64_t hist_total(const uint32_t *q, const int32_t *rows, int64_t n)
{
    int64_t a = 0, b = 0, i = 0;

    for (; i + 2 <= n; i += 2) {
        a += hist_word(q[rows[i]]);
        b += hist_word(q[rows[i + 1]]);
    }
    if (i < n)
        a += hist_word(q[rows[i]]);
    return a + b;
}
