/* hist.c - the hot loop of boosting: for every (row, column), one byte read and one 64-bit add
 * (hist.h).
 *
 * A core finishes one store a cycle, so no arrangement makes more than one add a cycle; all else
 * is to come near that. Rows lie scattered in memory, so they are taken in blocks of BLOCK: a
 * block's rows are copied side by side and their words unpacked, then the adds run in tiles of
 * some 13 columns, whose histograms (27 KiB) stay in the first-level cache. While the first tile
 * runs, which leaves the way to memory free, the rows of the next block are fetched. Rows that lie
 * side by side already are used where they are. A table of one tile is not worth a copy: its rows
 * are added where they lie. Called by ml/boost/boost_grow.c. */
#include "ml/cpu/hist.h"

#include "ml/cpu/simd.h"

#include <stdbool.h>
#include <string.h>
#ifdef SIMD_WIDE
#include <immintrin.h>
#endif

/* AHEAD: rows between a prefetch and its use. BLOCK: rows of a block. WIDE, WIDE_MOST: columns of a
 * block; the last one also takes what would be too little for one of its own. TILE: columns of a
 * tile, about; TILE_MOST: so many are still one tile. LINE: bytes of a line of the cache. */
enum { AHEAD = 32, BLOCK = 1024, WIDE = 64, WIDE_MOST = 80, TILE = 13, TILE_MOST = 20, LINE = 64 };
/* Columns from a list: LISTED_TILE or WIDE of them in one pass. NEAR_BYTES: rows spread over less
 * than this are taken to stay in the caches between passes. */
enum { LISTED_TILE = 16, NEAR_BYTES = 8 << 20 };

/* Rows that lie side by side, `pitch` bytes apart, and their words. next: as many rows of the table
 * (its bins, its stride), which are fetched while these are added. */
struct hist_block {
    const uint8_t *bins;
    int64_t pitch;
    const int64_t *word;
    int n;
    const uint8_t *table;
    int64_t stride;
    const int32_t *next;
};

/* Adds v to the bins of eight columns. They are loaded at once and parted in a register: a core has
 * room for three reads and writes of memory a cycle, and an add takes two. */
static inline __attribute__((always_inline)) void add8(int64_t *h, const uint8_t *x, int64_t v)
{
    uint64_t w;

    memcpy(&w, x, sizeof w);
    h[0 * HIST_PITCH + (uint8_t)w] += v;
    h[1 * HIST_PITCH + (uint8_t)(w >> 8)] += v;
    w >>= 16;
    h[2 * HIST_PITCH + (uint8_t)w] += v;
    h[3 * HIST_PITCH + (uint8_t)(w >> 8)] += v;
    w >>= 16;
    h[4 * HIST_PITCH + (uint8_t)w] += v;
    h[5 * HIST_PITCH + (uint8_t)(w >> 8)] += v;
    w >>= 16;
    h[6 * HIST_PITCH + (uint8_t)w] += v;
    h[7 * HIST_PITCH + (w >> 8)] += v;
}

/* Adds v to the bins of n columns. n, at most TILE_MOST, is a constant where it is called, so that
 * no loop is left. */
static inline __attribute__((always_inline)) void add_row(int64_t *h, const uint8_t *x, int64_t v,
                                                          int n)
{
    int at = n / 8 * 8, rest = n % 8;

    if (n >= 8)
        add8(h, x, v);
    if (n >= 16)
        add8(h + 8 * HIST_PITCH, x + 8, v);
    h += at * HIST_PITCH;
    x += at;
    if (rest & 4) {
        h[0 * HIST_PITCH + x[0]] += v;
        h[1 * HIST_PITCH + x[1]] += v;
        h[2 * HIST_PITCH + x[2]] += v;
        h[3 * HIST_PITCH + x[3]] += v;
        h += 4 * HIST_PITCH;
        x += 4;
    }
    if (rest & 2) {
        h[0 * HIST_PITCH + x[0]] += v;
        h[1 * HIST_PITCH + x[1]] += v;
        h += 2 * HIST_PITCH;
        x += 2;
    }
    if (rest & 1)
        h[x[0]] += v;
}

/* Adds a block's rows, n columns from number `col`. fetches: fetches the next rows, too, into the
 * second-level cache; both ends of each, because it may lie on two lines. Both are constants where
 * it is called. */
static inline __attribute__((always_inline)) void add_block(const struct hist_block *b, int col,
                                                            int64_t *hist, int n, int fetches)
{
    const uint8_t *x = b->bins + col, *table = b->table;
    const int64_t *word = b->word, *end = word + b->n;
    const int32_t *next = b->next;
    int64_t pitch = b->pitch, stride = b->stride;

    for (; word < end; word++, x += pitch) {
        if (fetches) {
            const uint8_t *to_come = table + *next++ * stride;
            __builtin_prefetch(to_come, 0, 2);
            __builtin_prefetch(to_come + pitch - 1, 0, 2);
        }
        add_row(hist, x, *word, n);
    }
}

/* Adds n_rows rows where they lie. r->n: the rows that may be prefetched. */
static inline __attribute__((always_inline)) void add_lying(const struct hist_rows *r, int n_rows,
                                                            int col, int64_t *hist, int n)
{
    const uint8_t *bins = r->bins + col;
    const int32_t *rows = r->rows;
    const uint32_t *q = r->q;
    int64_t stride = r->stride, last = r->n - 1;

    for (int64_t i = 0; i < n_rows; i++) {
        int64_t row = rows[i], next = rows[i + AHEAD < last ? i + AHEAD : last];
        __builtin_prefetch(bins + next * stride);
        __builtin_prefetch(q + next);
        add_row(hist, bins + row * stride, hist_word(q[row]), n);
    }
}

#define EACH_WIDTH(X) \
    X(1)              \
    X(2)              \
    X(3)              \
    X(4)              \
    X(5)              \
    X(6)              \
    X(7)              \
    X(8)              \
    X(9)              \
    X(10)             \
    X(11)             \
    X(12)             \
    X(13)             \
    X(14)             \
    X(15)             \
    X(16)             \
    X(17)             \
    X(18)             \
    X(19)             \
    X(20)
#define FIRST_CASE(n)                \
    case n:                          \
        add_block(b, 0, hist, n, 1); \
        break;
#define BLOCK_CASE(n)                  \
    case n:                            \
        add_block(b, col, hist, n, 0); \
        break;
#define LYING_CASE(n)                       \
    case n:                                 \
        add_lying(r, n_rows, col, hist, n); \
        break;

/* The first tile of several. */
static void tile_first(const struct hist_block *b, int n, int64_t *hist)
{
    switch (n) {
        EACH_WIDTH(FIRST_CASE)
    }
}

static void tile_block(const struct hist_block *b, int col, int n, int64_t *hist)
{
    switch (n) {
        EACH_WIDTH(BLOCK_CASE)
    }
}

static void tile_lying(const struct hist_rows *r, int n_rows, int col, int n, int64_t *hist)
{
    switch (n) {
        EACH_WIDTH(LYING_CASE)
    }
}

/* Copies `wide` bytes of n rows, a multiple of 8, from column `col` on, and unpacks their words. */
static void rows_copy(const struct hist_rows *r, int n, int col, int wide, uint8_t *to,
                      int64_t *word)
{
    const uint8_t *bins = r->bins + col;
    int64_t last = r->n - 1;

    for (int64_t i = 0; i < n; i++, to += wide) {
        int64_t row = r->rows[i], next = r->rows[i + AHEAD < last ? i + AHEAD : last];
        const uint8_t *x = bins + row * r->stride;
        int j = 0;
        __builtin_prefetch(bins + next * r->stride);
        __builtin_prefetch(bins + next * r->stride + wide - 1);
        __builtin_prefetch(r->q + next);
        for (; j + 16 <= wide; j += 16)
            memcpy(to + j, x + j, 16);
        if (j < wide)
            memcpy(to + j, x + j, 8);
        word[i] = hist_word(r->q[row]);
    }
}

#ifdef SIMD_WIDE
/* The same for up to LINE bytes, which end up LINE bytes apart: one store a row. */
SIMD_WIDE static void rows_copy_wide(const struct hist_rows *r, int n, int col, int wide,
                                     uint8_t *to, int64_t *word)
{
    const uint8_t *bins = r->bins + col;
    int64_t last = r->n - 1;
    __mmask64 in = ~0ull >> (LINE - wide);

    for (int64_t i = 0; i < n; i++, to += LINE) {
        int64_t row = r->rows[i], next = r->rows[i + AHEAD < last ? i + AHEAD : last];
        __builtin_prefetch(bins + next * r->stride);
        __builtin_prefetch(bins + next * r->stride + wide - 1);
        __builtin_prefetch(r->q + next);
        _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(in, bins + row * r->stride));
        word[i] = hist_word(r->q[row]);
    }
}
#endif

/* Copies n_cols columns of n rows, from column `col` on; returns how far apart the copies lie. */
static int64_t block_copy(const struct hist_rows *r, int n, int col, int n_cols, uint8_t *to,
                          int64_t *word)
{
    int wide = (n_cols + 7) / 8 * 8;

#ifdef SIMD_WIDE
    if (wide > LINE / 2 && wide <= LINE && simd_level() == SIMD_AVX512) {
        rows_copy_wide(r, n, col, wide, to, word);
        return LINE;
    }
#endif
    rows_copy(r, n, col, wide, to, word);
    return wide;
}

/* Adds more columns than one tile has, tile by tile; the tiles are about as wide as each other. */
static void tiles_add(const struct hist_block *b, int n_cols, int64_t *hist)
{
    int tiles = (n_cols + TILE - 1) / TILE;

    for (int j = 0, n; j < n_cols; j += n, tiles--) {
        n = (n_cols - j + tiles - 1) / tiles;
        if (j == 0)
            tile_first(b, n, hist);
        else
            tile_block(b, j, n, hist + (int64_t)j * HIST_PITCH);
    }
}

/* Adds up to WIDE_MOST columns, block by block. */
static void add_wide(struct hist_rows r, int col, int n_cols, int64_t *hist)
{
    _Alignas(LINE) uint8_t copy[BLOCK * WIDE_MOST];
    int64_t word[BLOCK];

    for (int n; r.n > 0; r.rows += n, r.n -= n) {
        n = r.n < BLOCK ? (int)r.n : BLOCK;
        bool is_run = r.rows[n - 1] - r.rows[0] == n - 1;
        struct hist_block b = {
            r.bins + r.rows[0] * r.stride + col, r.stride, word, n, r.bins + col, r.stride,
            r.rows + (r.n >= 2 * n ? n : 0)
        };
        if (is_run) {
            for (int i = 0; i < n; i++)
                word[i] = hist_word(r.q[r.rows[0] + i]);
        } else if (n_cols > TILE_MOST) {
            b.bins = copy;
            b.pitch = block_copy(&r, n, col, n_cols, copy, word);
        }
        if (n_cols > TILE_MOST)
            tiles_add(&b, n_cols, hist);
        else if (is_run)
            tile_block(&b, 0, n_cols, hist);
        else
            tile_lying(&r, n, col, n_cols, hist);
    }
}

static void add_dense(const struct hist_rows *r, int col, int n_cols, int64_t *hist)
{
    for (int j = 0, n; j < n_cols; j += n) {
        n = n_cols - j <= WIDE_MOST ? n_cols - j : WIDE;
        add_wide(*r, col + j, n, hist + (int64_t)j * HIST_PITCH);
    }
}

/* Row numbers ascend, so the distance between the first and the last row bounds what a pass
 * touches. */
static int is_far(const struct hist_rows *r)
{
    return (r->rows[r->n - 1] - r->rows[0]) * r->stride > NEAR_BYTES;
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
    int tile = is_far(r) ? WIDE : LISTED_TILE;
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

SIMD_BODY void total_all_body(const uint32_t *q, int64_t n, int64_t *sum)
{
    int64_t all = 0;

    for (int64_t i = 0; i < n; i++)
        all += hist_word(q[i]);
    *sum = all;
}
SIMD_KERNEL_STATIC(total_all, (const uint32_t *q, int64_t n, int64_t *sum), (q, n, sum))

int64_t hist_total_all(const uint32_t *q, int64_t n)
{
    int64_t sum;

    total_all(q, n, &sum);
    return sum;
}
