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

void rows_pick_add(const struct rows_pick *p, const int64_t *words, int64_t *hist)
{
    uint8_t picked[BLOCK][ROWS_PICK];

    for (int64_t from = 0; from < p->n; from += BLOCK) {
        int64_t n = MIN(BLOCK, p->n - from);
        rows_pick_rows(p, from, from + n, picked);
        ADD_COLUMNS(block_add, picked, n, p->n_cols, words + from, hist)
    }
}

void rows_pick_add_bytes(const struct rows_pick *p, const uint16_t *words, uint16_t *hist)
{
    uint8_t picked[BLOCK][ROWS_PICK];

    for (int64_t from = 0; from < p->n; from += BLOCK) {
        int64_t n = MIN(BLOCK, p->n - from);
        rows_pick_rows(p, from, from + n, picked);
        ADD_COLUMNS(block_add_bytes, picked, n, p->n_cols, words + from, hist)
    }
}

/* ---- of picked rows ---- */

static void ranges_plain(const uint8_t (*picked)[ROWS_PICK], int64_t n, struct rows_pick_range *out)
{
    memset(out, 0, sizeof *out);
    memset(out->least, 255, sizeof out->least);
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < ROWS_PICK; j++) {
            uint8_t b = picked[i][j], up = (uint8_t)(b + 1);
            out->least[j] = MIN(out->least[j], b);
            out->most[j] = MAX(out->most[j], up);
            out->top[j] = MAX(out->top[j], b);
        }
    }
}

static void left_plain(const uint8_t (*picked)[ROWS_PICK], const int64_t *words, int64_t n,
                       const uint8_t *cut, uint32_t *count, uint32_t *ones)
{
    memset(count, 0, ROWS_PICK * sizeof *count);
    memset(ones, 0, ROWS_PICK * sizeof *ones);
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < ROWS_PICK; j++) {
            uint32_t is_left = picked[i][j] <= cut[j];
            count[j] += is_left;
            ones[j] += is_left & (uint32_t)(words[i] >> 32);
        }
    }
}

#ifdef SIMD_BITS
/* Bits of the bytes of the rows from i on that exist, of eight rows. */
SIMD_BITS static inline uint64_t bytes_of(int64_t i, int64_t n)
{
    return _bzhi_u64(~0ull, (unsigned)(ROWS_PICK * MIN(n - i, 8)));
}

SIMD_BITS static void eight_put(__m128i v, uint8_t *to)
{
    _mm_storel_epi64((__m128i *)(void *)to, v);
}

SIMD_BITS static __m128i least_eight(__m512i v)
{
    __m256i y = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    return _mm_min_epu8(x, _mm_srli_si128(x, 8));
}

SIMD_BITS static __m128i largest_eight(__m512i v)
{
    __m256i y = _mm256_max_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_max_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    return _mm_max_epu8(x, _mm_srli_si128(x, 8));
}

SIMD_BITS static void ranges_fast(const uint8_t (*picked)[ROWS_PICK], int64_t n,
                                  struct rows_pick_range *out)
{
    __m512i least = _mm512_set1_epi8(-1), most = _mm512_setzero_si512(), top = most;

    for (int64_t i = 0; i < n; i += 8) {
        uint64_t all = bytes_of(i, n);
        __m512i v = _mm512_maskz_loadu_epi8(all, picked[i]);
        least = _mm512_mask_min_epu8(least, all, least, v);
        top = _mm512_max_epu8(top, v);
        most = _mm512_mask_max_epu8(most, all, most, _mm512_add_epi8(v, _mm512_set1_epi8(1)));
    }
    eight_put(least_eight(least), out->least);
    eight_put(largest_eight(most), out->most);
    eight_put(largest_eight(top), out->top);
}

/* The sums of eight rows of eight bytes. */
SIMD_BITS static inline __m256i pour(__m512i v)
{
    __m512i s = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(v)),
                                 _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(v, 1)));
    __m256i y = _mm256_add_epi16(_mm512_castsi512_si256(s), _mm512_extracti64x4_epi64(s, 1));

    return _mm256_cvtepu16_epi32(
        _mm_add_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
}

/* Sums run in bytes, so they are poured out after 255 additions. */
SIMD_BITS static void left_fast(const uint8_t (*picked)[ROWS_PICK], const int64_t *words, int64_t n,
                                const uint8_t *cut, uint32_t *count, uint32_t *ones)
{
    enum { POUR = 8 * 255 };
    const __m512i cuts =
                      _mm512_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)cut)),
                  one = _mm512_set1_epi8(1), class_1 = _mm512_set1_epi64((int64_t)1 << 32);
    __m256i counts = _mm256_setzero_si256(), sums = counts;

    for (int64_t from = 0; from < n; from += POUR) {
        __m512i left = _mm512_setzero_si512(), left_ones = left;
        int64_t to = MIN(from + POUR, n);
        for (int64_t i = from; i < to; i += 8) {
            uint64_t all = bytes_of(i, to);
            uint64_t m =
                _mm512_mask_cmple_epu8_mask(all, _mm512_maskz_loadu_epi8(all, picked[i]), cuts);
            __m512i w = _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(255, (unsigned)MIN(to - i, 8)),
                                                 words + i);
            uint64_t of = _pdep_u64(_mm512_test_epi64_mask(w, class_1), 0x0101010101010101) * 255;
            left = _mm512_mask_add_epi8(left, m, left, one);
            left_ones = _mm512_mask_add_epi8(left_ones, m & of, left_ones, one);
        }
        counts = _mm256_add_epi32(counts, pour(left));
        sums = _mm256_add_epi32(sums, pour(left_ones));
    }
    _mm256_storeu_si256((__m256i *)(void *)count, counts);
    _mm256_storeu_si256((__m256i *)(void *)ones, sums);
}
#endif

void rows_pick_ranges(const uint8_t (*picked)[ROWS_PICK], int64_t n, struct rows_pick_range *out)
{
#ifdef SIMD_BITS
    if (simd_has_bits()) {
        ranges_fast(picked, n, out);
        return;
    }
#endif
    ranges_plain(picked, n, out);
}

void rows_pick_left(const uint8_t (*picked)[ROWS_PICK], const int64_t *words, int64_t n,
                    const uint8_t cut[ROWS_PICK], uint32_t count[ROWS_PICK],
                    uint32_t ones[ROWS_PICK])
{
#ifdef SIMD_BITS
    if (simd_has_bits()) {
        left_fast(picked, words, n, cut, count, ones);
        return;
    }
#endif
    left_plain(picked, words, n, cut, count, ones);
}
