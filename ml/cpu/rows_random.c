/* rows_random.c - see rows_random.h. Eight columns of eight rows fill a register; what is done a
 * column is done for all eight at once. Only the search for the bin of a place is done one by one. */
#include "ml/cpu/rows_random.h"

#include "base/base.h"
#include "ml/cpu/part.h"
#include "ml/cpu/simd.h"

#include <float.h>
#include <stddef.h>

bool rows_random_is_fast(void)
{
    return simd_has_bits();
}

#ifdef SIMD_BITS
#include <immintrin.h>

#define BITS_INLINE SIMD_BITS static inline __attribute__((always_inline))

/* EIGHT: rows of a register. POUR: rows whose bytes may be added up. AHEAD: rows between a prefetch
 * and its use. */
enum { LINE = 64, EIGHT = 8, POUR = EIGHT * 255, AHEAD = 64, BINS = 256, MISSING = 255 };

/* A byte for each column: the least bin, the largest other than 255 (255 = none), and the largest of
 * all. */
struct ranges {
    __m128i least, most, top;
};

BITS_INLINE __m128i least_of(__m512i v)
{
    __m256i y = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    return _mm_min_epu8(x, _mm_srli_si128(x, 8));
}

BITS_INLINE __m128i largest_of(__m512i v)
{
    __m256i y = _mm256_max_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_max_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    return _mm_max_epu8(x, _mm_srli_si128(x, 8));
}

/* The columns of row number i, in the bytes of its place among eight. */
BITS_INLINE __m512i one_row(const struct rows_pick *p, const uint8_t *lines, int64_t i, int place,
                            __m512i at)
{
    const uint8_t *line = lines + p->rows[MIN(i, p->n - 1)] * p->pitch;

    if (p->is_far)
        __builtin_prefetch(lines + p->rows[MIN(i + AHEAD, p->n - 1)] * p->pitch);
    return _mm512_maskz_permutexvar_epi8(0xffull << (EIGHT * place), at, _mm512_loadu_si512(line));
}

BITS_INLINE __m512i any_of(__m512i a, __m512i b, __m512i c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0xfe);
}

/* Brings the columns together; the last row is repeated. */
BITS_INLINE struct ranges pick(const struct rows_random *r)
{
    const struct rows_pick *p = &r->pick;
    const uint8_t *lines = p->lines + p->cols[0] / LINE * LINE;
    uint64_t cols = 0;
    __m512i least = _mm512_set1_epi8(-1), top = _mm512_setzero_si512(), up = top;

    for (int j = 0; j < p->n_cols; j++)
        cols |= (uint64_t)(p->cols[j] % LINE) << (EIGHT * j);
    __m512i at = _mm512_set1_epi64((long long)cols);
    for (int64_t i = 0; i < p->n; i += EIGHT) {
        __m512i a = any_of(one_row(p, lines, i, 0, at), one_row(p, lines, i + 1, 1, at),
                           one_row(p, lines, i + 2, 2, at)),
                b = any_of(one_row(p, lines, i + 3, 3, at), one_row(p, lines, i + 4, 4, at),
                           one_row(p, lines, i + 5, 5, at)),
                v = any_of(a, b,
                           _mm512_or_si512(one_row(p, lines, i + 6, 6, at),
                                           one_row(p, lines, i + 7, 7, at)));
        _mm512_storeu_si512(r->picked[i], v);
        least = _mm512_min_epu8(least, v);
        top = _mm512_max_epu8(top, v);
        /* a missing value wraps round to 0 */
        up = _mm512_max_epu8(up, _mm512_add_epi8(v, _mm512_set1_epi8(1)));
    }
    return (struct ranges){ least_of(least), _mm_sub_epi8(largest_of(up), _mm_set1_epi8(1)),
                            largest_of(top) };
}

/* rf_mix of eight keys. */
BITS_INLINE __m512i mix(__m512i z)
{
    z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 30));
    z = _mm512_mullo_epi64(z, _mm512_set1_epi64((long long)0xbf58476d1ce4e5b9ull));
    z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 27));
    z = _mm512_mullo_epi64(z, _mm512_set1_epi64((long long)0x94d049bb133111ebull));
    return _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
}

/* The upper halves of rf_cut_key of the columns. */
BITS_INLINE __m512i draws_of(uint64_t key, __m512i cols)
{
    __m512i tag = _mm512_mullo_epi64(_mm512_add_epi64(cols, _mm512_set1_epi64(1)),
                                     _mm512_set1_epi64((long long)0x9e3779b97f4a7c15ull));

    return _mm512_srli_epi64(
        mix(_mm512_add_epi64(_mm512_set1_epi64((long long)(key ^ 0x63757473)), tag)), 32);
}

/* The last of sixteen places that is at most `place`; -1 = none. */
BITS_INLINE int last_of(const uint32_t *places, uint32_t place)
{
    return __builtin_popcount(
               _mm512_cmple_epu32_mask(_mm512_loadu_si512(places), _mm512_set1_epi32((int)place))) -
           1;
}

/* The cuts of the columns, a byte each (rf_random_cut). */
BITS_INLINE uint64_t cuts_draw(const struct rows_random *r, const struct ranges *range)
{
    __mmask8 in = (__mmask8)((1u << r->pick.n_cols) - 1);
    __m512i cols = _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(in, r->pick.cols)),
            lo = _mm512_cvtepu8_epi64(range->least), hi = _mm512_cvtepu8_epi64(range->most),
            u = draws_of(r->key, cols), first = _mm512_slli_epi64(cols, 8);
    /* the largest bin that may be the cut */
    uint64_t lasts = (uint64_t)_mm_cvtsi128_si64(
                 _mm_max_epu8(range->least, _mm_subs_epu8(range->most, _mm_set1_epi8(1)))),
             cuts = 0;
    uint32_t place[EIGHT];

    if (!r->places) {
        __m512i more = _mm512_srli_epi64(_mm512_mul_epu32(u, _mm512_sub_epi64(hi, lo)), 32);
        return (uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(_mm512_add_epi64(lo, more)));
    }
    __m512i low = _mm512_cvtepu32_epi64(
                _mm512_i64gather_epi32(_mm512_add_epi64(first, lo), r->places, 4)),
            high = _mm512_cvtepu32_epi64(
                _mm512_i64gather_epi32(_mm512_add_epi64(first, hi), r->places, 4)),
            more = _mm512_srli_epi64(_mm512_mul_epu32(u, _mm512_sub_epi64(high, low)), 32);
    _mm256_storeu_si256((__m256i *)(void *)place,
                        _mm512_cvtepi64_epi32(_mm512_add_epi64(low, more)));
    for (int j = 0; j < r->pick.n_cols; j++) {
        ptrdiff_t col = r->pick.cols[j];
        int from = PART_PLACES * last_of(r->coarse + col * PART_PLACES, place[j]);
        int bin = from + last_of(r->places + col * BINS + from, place[j]),
            last = (int)(lasts >> (EIGHT * j) & 255);
        cuts |= (uint64_t)MIN(bin, last) << (EIGHT * j);
    }
    return cuts;
}

/* The sums of eight rows of eight bytes. */
BITS_INLINE __m256i pour(__m512i v)
{
    __m512i s = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(v)),
                                 _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(v, 1)));
    __m256i y = _mm256_add_epi16(_mm512_castsi512_si256(s), _mm512_extracti64x4_epi64(s, 1));

    return _mm256_cvtepu16_epi32(
        _mm_add_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
}

struct sums {
    /* rows to the left, and rows of class 1 */
    __m256i n, ones;
};

BITS_INLINE struct sums left_sum(const struct rows_random *r, uint64_t cut)
{
    /* byte 4 of a word to all of its bytes */
    const __m512i class_1 = _mm512_set4_epi32(0x0c0c0c0c, 0x0c0c0c0c, 0x04040404, 0x04040404),
                  cuts = _mm512_set1_epi64((long long)cut), one = _mm512_set1_epi8(1);
    struct sums sums = { _mm256_setzero_si256(), _mm256_setzero_si256() };

    for (int64_t from = 0; from < r->pick.n; from += POUR) {
        __m512i n = _mm512_setzero_si512(), ones = n;
        int64_t to = MIN(from + POUR, r->pick.n);
        for (int64_t i = from; i < to; i += EIGHT) {
            unsigned rows = (unsigned)MIN(to - i, EIGHT);
            uint64_t m = _bzhi_u64(_mm512_cmple_epu8_mask(_mm512_loadu_si512(r->picked[i]), cuts),
                                   EIGHT * rows);
            __m512i w = _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(255, rows), r->words + i);
            n = _mm512_mask_add_epi8(n, m, n, one);
            ones = _mm512_mask_add_epi8(ones, m, ones, _mm512_shuffle_epi8(w, class_1));
        }
        sums.n = _mm256_add_epi32(sums.n, pour(n));
        sums.ones = _mm256_add_epi32(sums.ones, pour(ones));
    }
    return sums;
}

/* rf_two_gini of eight columns, with the same order of operations; -DBL_MAX where a side has too
 * few rows. */
BITS_INLINE __m512d scores_of(const struct rows_random *r, const struct sums *left)
{
    __m512d n = _mm512_set1_pd((double)r->pick.n), least = _mm512_set1_pd((double)r->least),
            ln = _mm512_cvtepi32_pd(left->n), ls = _mm512_cvtepi32_pd(left->ones), rn = n - ln,
            rs = _mm512_set1_pd((double)r->ones) - ls, mixed_l = ls * (ln - ls),
            mixed_r = rs * (rn - rs),
            score = n - _mm512_set1_pd(2.0) * (mixed_l * rn + mixed_r * ln) / (ln * rn);
    __mmask8 is_cut =
        _mm512_cmp_pd_mask(ln, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(rn, least, _CMP_GE_OQ);

    return _mm512_mask_mov_pd(_mm512_set1_pd(-DBL_MAX), is_cut, score);
}

/* Marks the rows that go left of the cut of column best->at. */
BITS_INLINE void mark(const struct rows_random *r, const struct rows_random_cut *best)
{
    /* adding one makes missing values 0 */
    const __m512i up = _mm512_set1_epi8(best->missing_left),
                  cuts = _mm512_add_epi8(_mm512_set1_epi8((char)best->bin), up);
    const uint64_t of = 0x0101010101010101ull << best->at;
    int64_t n = r->pick.n;

    for (int64_t from = 0; from < n; from += LINE) {
        uint64_t m = 0;
        for (int64_t i = from; i < MIN(from + LINE, n); i += EIGHT) {
            __m512i v = _mm512_add_epi8(_mm512_loadu_si512(r->picked[i]), up);
            m |= _pext_u64(_mm512_cmple_epu8_mask(v, cuts), of) << (i - from);
        }
        r->marks[from / LINE] = _bzhi_u64(m, (unsigned)MIN(n - from, LINE));
    }
}

/* The scores of the columns' cuts as they are with missing values to the left, where that is better.
 * Returns for which it is, and changes the sums there. */
BITS_INLINE __mmask8 missing_move(const struct rows_random *r, __mmask8 missing, struct sums *left,
                                  __m512d *score)
{
    struct sums present = left_sum(r, 0xfefefefefefefefeull), with;

    with.n =
        _mm256_add_epi32(left->n, _mm256_sub_epi32(_mm256_set1_epi32((int)r->pick.n), present.n));
    with.ones = _mm256_add_epi32(left->ones,
                                 _mm256_sub_epi32(_mm256_set1_epi32((int)r->ones), present.ones));
    __m512d moved = scores_of(r, &with);
    __mmask8 is_better = missing & _mm512_cmp_pd_mask(moved, *score, _CMP_GT_OQ);
    left->n = _mm256_mask_mov_epi32(left->n, is_better, with.n);
    left->ones = _mm256_mask_mov_epi32(left->ones, is_better, with.ones);
    *score = _mm512_mask_mov_pd(*score, is_better, moved);
    return is_better;
}

/* The columns that can be cut: two bins, or one and missing values. */
BITS_INLINE unsigned open_columns(const struct rows_random *r, const struct ranges *range,
                                  unsigned missing)
{
    unsigned in = (1u << r->pick.n_cols) - 1,
             has_bins = ~_mm_cmpeq_epi8_mask(range->least, _mm_set1_epi8(-1)),
             has_two = _mm_cmpneq_epi8_mask(range->least, range->most);

    return in & has_bins & (has_two | missing);
}

SIMD_BITS bool rows_random(const struct rows_random *r, struct rows_random_cut *best)
{
    struct ranges range = pick(r);
    unsigned missing = _mm_cmpeq_epi8_mask(range.top, _mm_set1_epi8(-1)),
             open = open_columns(r, &range, missing), to_left = 0;

    missing &= open;
    if (open == 0)
        return false;
    uint64_t cuts = cuts_draw(r, &range);
    struct sums left = left_sum(r, cuts);
    __m512d score = scores_of(r, &left);
    if (missing)
        to_left = missing_move(r, (__mmask8)missing, &left, &score);
    score = _mm512_mask_mov_pd(_mm512_set1_pd(-DBL_MAX), (__mmask8)open, score);
    double top = _mm512_reduce_max_pd(score);
    if (top <= best->score)
        return false;
    uint32_t n[EIGHT], ones[EIGHT];
    int at = __builtin_ctz(_mm512_cmp_pd_mask(score, _mm512_set1_pd(top), _CMP_EQ_OQ));
    _mm256_storeu_si256((__m256i *)(void *)n, left.n);
    _mm256_storeu_si256((__m256i *)(void *)ones, left.ones);
    *best = (struct rows_random_cut){ .score = top,
                                      .at = at,
                                      .bin = (uint8_t)(cuts >> (EIGHT * at)),
                                      .has_missing = missing >> at & 1,
                                      .missing_left = to_left >> at & 1,
                                      .n_left = n[at],
                                      .ones_left = ones[at] };
    mark(r, best);
    return true;
}

#else

bool rows_random(const struct rows_random *r, struct rows_random_cut *best)
{
    (void)r, (void)best;
    CHECK(!"called where it is not fast");
}

#endif
