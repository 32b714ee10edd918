/* rows_pick.c - see rows_pick.h.
 *
 * One permutation brings the wanted bytes of a line to the front of a register, from where eight of
 * them are stored at once. The plain way loads them one by one. */
#include "ml/cpu/rows_pick.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <string.h>
#ifdef SIMD_BITS
#include <immintrin.h>
#endif

/* AHEAD: rows between a prefetch and its use. BLOCK: rows that are added to histograms at a
 * time. */
enum { LINE = 64, AHEAD = 64, BLOCK = 128, BINS = 256 };

#define INLINE static inline __attribute__((always_inline))

bool rows_pick_is_fast(const int32_t *cols, int n_cols)
{
    for (int j = 1; j < n_cols; j++) {
        if (cols[j] / LINE != cols[0] / LINE)
            return false;
    }
    return simd_has_bits();
}

static void rows_plain(const struct rows_pick *p, int64_t from, int64_t to,
                       uint8_t (*out)[ROWS_PICK])
{
    for (int64_t i = from; i < to; i++) {
        const uint8_t *line = p->lines + p->rows[i] * p->pitch;
        for (int j = 0; j < p->n_cols; j++)
            out[i - from][j] = line[p->cols[j]];
    }
}

#ifdef SIMD_BITS
SIMD_BITS static void rows_fast(const struct rows_pick *p, int64_t from, int64_t to,
                                uint8_t (*out)[ROWS_PICK])
{
    const uint8_t *lines = p->lines + p->cols[0] / LINE * LINE;
    uint8_t cols[ROWS_PICK] = { 0 };

    for (int j = 0; j < p->n_cols; j++)
        cols[j] = (uint8_t)(p->cols[j] % LINE);
    __m512i at = _mm512_castsi128_si512(_mm_loadl_epi64((const __m128i *)(const void *)cols));
    for (int64_t i = from; i < to; i++) {
        __m512i v = _mm512_loadu_si512(lines + p->rows[i] * p->pitch);
        if (p->is_far)
            __builtin_prefetch(lines + p->rows[MIN(i + AHEAD, p->n - 1)] * p->pitch);
        _mm_storel_epi64((__m128i *)(void *)out[i - from],
                         _mm512_castsi512_si128(_mm512_permutexvar_epi8(at, v)));
    }
}

/* Byte 8 r + c goes to 8 c + r. */
SIMD_BITS static void columns_fast(const struct rows_pick *p, uint8_t (*out)[ROWS_PICK_FEW])
{
    uint8_t picked[ROWS_PICK_FEW][ROWS_PICK];
    const __m512i column = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i turn =
        _mm512_add_epi8(_mm512_set1_epi64(0x3830282018100800),
                        _mm512_mullo_epi64(column, _mm512_set1_epi64(0x0101010101010101)));

    rows_fast(p, 0, p->n, picked);
    for (int64_t i = 0; i < p->n; i += ROWS_PICK) {
        uint64_t eight[ROWS_PICK];
        _mm512_storeu_si512(eight, _mm512_permutexvar_epi8(turn, _mm512_loadu_si512(picked[i])));
        for (int j = 0; j < p->n_cols; j++)
            memcpy(out[j] + i, &eight[j], sizeof eight[j]);
    }
}
#endif

void rows_pick_rows(const struct rows_pick *p, int64_t from, int64_t to, uint8_t (*out)[ROWS_PICK])
{
#ifdef SIMD_BITS
    if (rows_pick_is_fast(p->cols, p->n_cols)) {
        rows_fast(p, from, to, out);
        return;
    }
#endif
    rows_plain(p, from, to, out);
}

void rows_pick_columns(const struct rows_pick *p, uint8_t (*out)[ROWS_PICK_FEW])
{
#ifdef SIMD_BITS
    if (rows_pick_is_fast(p->cols, p->n_cols)) {
        columns_fast(p, out);
        return;
    }
#endif
    for (int64_t i = 0; i < p->n; i++) {
        const uint8_t *line = p->lines + p->rows[i] * p->pitch;
        for (int j = 0; j < p->n_cols; j++)
            out[j][i] = line[p->cols[j]];
    }
}

/* Adds the words of n picked rows; n_cols is a constant. */
INLINE void block_add(uint8_t (*picked)[ROWS_PICK], int64_t n, int n_cols, const int64_t *words,
                      int64_t *hist)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t word = words[i];
        for (int j = 0; j < n_cols; j++)
            hist[j * BINS + picked[i][j]] += word;
    }
}

INLINE void block_add_bytes(uint8_t (*picked)[ROWS_PICK], int64_t n, int n_cols,
                            const uint16_t *words, uint16_t *hist)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t word = words[i];
        for (int j = 0; j < n_cols; j++) {
            uint16_t *h = &hist[j * BINS + picked[i][j]];
            *h = (uint16_t)(*h + word);
        }
    }
}

/* The number of columns becomes a constant. */
#define ADD_COLUMNS(add, picked, n, n_cols, words, hist) \
    switch (n_cols) {                                    \
    case 8:                                              \
        add(picked, n, 8, words, hist);                  \
        break;                                           \
    case 7:                                              \
        add(picked, n, 7, words, hist);                  \
        break;                                           \
    case 6:                                              \
        add(picked, n, 6, words, hist);                  \
        break;                                           \
    case 5:                                              \
        add(picked, n, 5, words, hist);                  \
        break;                                           \
    case 4:                                              \
        add(picked, n, 4, words, hist);                  \
        break;                                           \
    default:                                             \
        add(picked, n, n_cols, words, hist);             \
    }

void rows_pick_add(const struct rows_pick *p, const int64_t *words, uint8_t (*picked)[ROWS_PICK],
                   int64_t *hist)
{
    for (int64_t from = 0; from < p->n; from += BLOCK) {
        int64_t n = MIN(BLOCK, p->n - from);
        rows_pick_rows(p, from, from + n, picked + from);
        ADD_COLUMNS(block_add, picked + from, n, p->n_cols, words + from, hist)
    }
}

void rows_pick_add_bytes(const struct rows_pick *p, const uint16_t *words,
                         uint8_t (*picked)[ROWS_PICK], uint16_t *hist)
{
    for (int64_t from = 0; from < p->n; from += BLOCK) {
        int64_t n = MIN(BLOCK, p->n - from);
        rows_pick_rows(p, from, from + n, picked + from);
        ADD_COLUMNS(block_add_bytes, picked + from, n, p->n_cols, words + from, hist)
    }
}
