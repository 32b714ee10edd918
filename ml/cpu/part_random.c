/* part_random.c - see part_random.h. The bins of a column fill a register, and the rows to either
 * side are the bits of a word, so a class is counted by one instruction. There are two ways: with
 * the bit instructions of AVX-512, and with AVX2, where two registers hold the bins. */
#include "ml/cpu/part_random.h"

#include "base/base.h"
#include "ml/cpu/part.h"
#include "ml/cpu/part_middle.h"
#include "ml/cpu/simd.h"
#include "ml/math/forest_math.h"

#include <float.h>

bool part_few_is_fast(void)
{
    return part_middle_is_there();
}

#ifdef SIMD_MIDDLE
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum { MISSING = 255 };

/* What both ways share is compiled once more in each of them, so that it counts bits in one
 * instruction. */
INLINE void two_take(struct part_few *f, uint64_t ones, int n)
{
    f->n = n;
    f->is_two = true;
    f->n_classes = 1;
    f->rows[0] = ones;
    f->total[0] = __builtin_popcountll(ones);
}

INLINE void many_take(struct part_few *f, const int32_t *ends, int n_classes)
{
    uint64_t before = 0;

    f->n = ends[n_classes - 1];
    f->is_two = false;
    f->n_classes = n_classes;
    for (int k = 0; k < n_classes; k++) {
        uint64_t until = part_bits(ends[k]);
        f->rows[k] = until & ~before;
        f->total[k] = __builtin_popcountll(f->rows[k]);
        before = until;
    }
}

/* Scores the cut that sends these rows left, and takes it if it is better. */
INLINE void try_cut(const struct part_few *f, uint64_t left, bool missing_left,
                    struct part_few_cut *best)
{
    int64_t n = __builtin_popcountll(left), l2 = 0, r2 = 0;
    double score;

    if (n < f->least || f->n - n < f->least)
        return;
    if (f->is_two) {
        int64_t s = __builtin_popcountll(left & f->rows[0]);
        score = rf_two_gini(n, s, f->n - n, f->total[0] - s);
    } else {
        for (int k = 0; k < f->n_classes; k++) {
            int64_t x = __builtin_popcountll(left & f->rows[k]), rest = f->total[k] - x;
            l2 += x * x;
            r2 += rest * rest;
        }
        score = rf_many_gini(n, l2, f->n - n, r2);
    }
    if (score > best->score) {
        best->score = score;
        best->missing_left = missing_left;
    }
}

INLINE struct part_few_cut tries(const struct part_few *f, uint64_t left, uint64_t missing, int bin)
{
    struct part_few_cut best = { .score = -DBL_MAX, .bin = (uint8_t)bin };

    try_cut(f, left, false, &best);
    if (missing)
        try_cut(f, left | missing, true, &best);
    return best;
}

/* ---- AVX2 ---- */

SIMD_MIDDLE static void two_middle(struct part_few *f, const uint8_t *ones, int n)
{
    uint64_t zero;

    part_middle_mark(ones, n, 0, 0, &zero);
    two_take(f, ~zero & part_bits(n), n);
}

SIMD_MIDDLE static void many_middle(struct part_few *f, const int32_t *ends, int n_classes)
{
    many_take(f, ends, n_classes);
}

/* The rows of missing values: one more than 255 is 0. */
static uint64_t missing_middle(const uint8_t *bins, int n)
{
    uint64_t missing;

    part_middle_mark(bins, n, 1, 0, &missing);
    return missing;
}

SIMD_MIDDLE static struct part_few_cut number_middle(const struct part_few *f, const uint8_t *bins,
                                                     int col, const uint32_t *places,
                                                     const uint32_t *coarse)
{
    struct part_range range = part_middle_range(bins, f->n);
    bool has_missing = range.top == MISSING;
    int lo = range.least, hi = range.most - 1, cut = lo;
    uint64_t left;

    if (hi < 0 || (lo == hi && !has_missing))
        return (struct part_few_cut){ .score = -DBL_MAX };
    if (lo < hi) {
        uint64_t key = rf_cut_key(f->key, col);
        cut = places ? MIN(part_middle_place(coarse, places, rf_random_place(places, key, lo, hi)),
                           hi - 1)
                     : rf_random_cut(NULL, key, lo, hi);
    }
    part_middle_mark(bins, f->n, 0, (uint8_t)cut, &left);
    return tries(f, left, has_missing ? missing_middle(bins, f->n) : 0, cut);
}

SIMD_MIDDLE static struct part_few_cut set_middle(const struct part_few *f, const uint8_t *bins,
                                                  uint64_t left, bool has_missing)
{
    return tries(f, left, has_missing ? missing_middle(bins, f->n) : 0, 0);
}

/* ---- AVX-512 ---- */

#define BITS_INLINE SIMD_BITS static inline __attribute__((always_inline))

SIMD_BITS static void two_fast(struct part_few *f, const uint8_t *ones, int n)
{
    __m512i v = _mm512_maskz_loadu_epi8(part_bits(n), ones);

    two_take(f, _mm512_test_epi8_mask(v, v), n);
}

SIMD_BITS static void many_fast(struct part_few *f, const int32_t *ends, int n_classes)
{
    many_take(f, ends, n_classes);
}

/* The lesser of all bytes. */
BITS_INLINE int least_of(__m512i v)
{
    __m256i y = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    x = _mm_min_epu8(x, _mm_srli_epi16(x, 8));
    return _mm_cvtsi128_si32(_mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(255)))) & 255;
}

/* The last of sixteen places that is at most `at`; -1 = none. */
BITS_INLINE int last_of(const uint32_t *places, uint32_t at)
{
    return __builtin_popcount(
               _mm512_cmple_epu32_mask(_mm512_loadu_si512(places), _mm512_set1_epi32((int)at))) -
           1;
}

/* rf_random_cut of lo < hi. Empty bins have the place of the next one, so the last bin may lie past
 * the range. */
BITS_INLINE int cut_draw(uint64_t key, const uint32_t *places, const uint32_t *coarse, int lo,
                         int hi)
{
    if (!places)
        return rf_random_cut(NULL, key, lo, hi);
    uint32_t at = rf_random_place(places, key, lo, hi);
    int from = PART_PLACES * last_of(coarse, at);
    return MIN(from + last_of(places + from, at), hi - 1);
}

SIMD_BITS static struct part_few_cut number_fast(const struct part_few *f, const uint8_t *bins,
                                                 int col, const uint32_t *places,
                                                 const uint32_t *coarse)
{
    struct part_few_cut best = { .score = -DBL_MAX };
    const __m512i most = _mm512_set1_epi8(-1);
    uint64_t all = part_bits(f->n);
    __m512i v = _mm512_mask_loadu_epi8(most, all, bins);
    uint64_t missing = _mm512_cmpeq_epi8_mask(v, most) & all;
    /* the largest bin is the least complement */
    int lo = least_of(v),
        hi = MISSING - least_of(_mm512_xor_si512(_mm512_maskz_mov_epi8(all & ~missing, v), most)),
        cut;

    if (missing == all || (lo == hi && !missing))
        return best;
    cut = lo == hi ? lo : cut_draw(rf_cut_key(f->key, col), places, coarse, lo, hi);
    best.bin = (uint8_t)cut;
    uint64_t left = _mm512_cmple_epu8_mask(v, _mm512_set1_epi8((char)cut)) & all;
    try_cut(f, left, false, &best);
    if (missing)
        try_cut(f, left | missing, true, &best);
    return best;
}

SIMD_BITS static struct part_few_cut set_fast(const struct part_few *f, const uint8_t *bins,
                                              uint64_t left, bool has_missing)
{
    struct part_few_cut best = { .score = -DBL_MAX };

    try_cut(f, left, false, &best);
    if (has_missing)
        try_cut(f,
                left | (_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bins), _mm512_set1_epi8(-1)) &
                        part_bits(f->n)),
                true, &best);
    return best;
}

/* ---- the two ways ---- */

void part_few_two(struct part_few *f, const uint8_t *ones, int n)
{
    if (simd_has_bits())
        two_fast(f, ones, n);
    else
        two_middle(f, ones, n);
}

void part_few_many(struct part_few *f, const int32_t *ends, int n_classes)
{
    if (simd_has_bits())
        many_fast(f, ends, n_classes);
    else
        many_middle(f, ends, n_classes);
}

struct part_few_cut part_few_number(const struct part_few *f, const uint8_t *bins, int col,
                                    const uint32_t *places, const uint32_t *coarse)
{
    return simd_has_bits() ? number_fast(f, bins, col, places, coarse)
                           : number_middle(f, bins, col, places, coarse);
}

struct part_few_cut part_few_set(const struct part_few *f, const uint8_t *bins, uint64_t left,
                                 bool has_missing)
{
    return simd_has_bits() ? set_fast(f, bins, left, has_missing)
                           : set_middle(f, bins, left, has_missing);
}

#else

void part_few_two(struct part_few *f, const uint8_t *ones, int n)
{
    (void)f, (void)ones, (void)n;
    CHECK(!"called where it is not fast");
}

void part_few_many(struct part_few *f, const int32_t *ends, int n_classes)
{
    (void)f, (void)ends, (void)n_classes;
    CHECK(!"called where it is not fast");
}

struct part_few_cut part_few_number(const struct part_few *f, const uint8_t *bins, int col,
                                    const uint32_t *places, const uint32_t *coarse)
{
    (void)f, (void)bins, (void)col, (void)places, (void)coarse;
    CHECK(!"called where it is not fast");
}

struct part_few_cut part_few_set(const struct part_few *f, const uint8_t *bins, uint64_t left,
                                 bool has_missing)
{
    (void)f, (void)bins, (void)left, (void)has_missing;
    CHECK(!"called where it is not fast");
}

#endif
