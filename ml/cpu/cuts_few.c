/* cuts_few.c - the cuts of at most 64 rows, each row's bin a cut. The rows left of a cut are 64 bits; what a class weighs there
 * is the number of bits that they share with its rows, once for each binary digit of the weights. */
#include "ml/cpu/cuts_few.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <float.h>

#ifdef SIMD_BITS

#include <immintrin.h>

enum { LANES = 8, DIGITS = 8 };

/* The rows of one class by the digits of their weights. */
struct digits {
    uint64_t rows[DIGITS];
};

struct few {
    __m512i row;  /* the bins */
    uint64_t all; /* the rows there are */
    int n, n_digits;
    uint64_t left[CUTS_FEW]; /* the rows left of each row's bin */
    double score[CUTS_FEW];
};

static inline uint64_t bits_below(int n)
{
    return n >= CUTS_FEW ? ~0ull : (1ull << n) - 1;
}

SIMD_BITS static inline __attribute__((always_inline)) void few_open(struct few *f,
                                                                     const uint8_t *bins, int n)
{
    f->n = n;
    f->all = bits_below(n);
    f->row = _mm512_maskz_loadu_epi8(f->all, bins);
    for (int i = 0; i < n; i++)
        f->left[i] = _mm512_mask_cmple_epu8_mask(f->all, f->row, _mm512_set1_epi8((char)bins[i]));
    for (int i = n; i % LANES; i++)
        f->left[i] = f->left[0]; /* a cut more than once does no harm */
}

/* Weights of all rows as digits. Returns how many there are. */
SIMD_BITS static inline __attribute__((always_inline)) int digits_of(const struct few *f,
                                                                     const uint8_t *weight,
                                                                     struct digits *d)
{
    __m512i w = _mm512_maskz_loadu_epi8(f->all, weight);
    int n = 0;

    while (n < DIGITS && _mm512_test_epi8_mask(w, _mm512_set1_epi8((char)(0xff << n)))) {
        d->rows[n] = _mm512_test_epi8_mask(w, _mm512_set1_epi8((char)(1 << n)));
        n++;
    }
    return n;
}

/* What the rows of `of` among them weigh left of eight cuts. */
SIMD_BITS static inline __attribute__((always_inline)) __m512d weigh_left(__m512i left,
                                                                          const struct digits *d,
                                                                          int n_digits, uint64_t of)
{
    __m512i sum = _mm512_setzero_si512();

    for (int p = 0; p < n_digits; p++) {
        __m512i in = _mm512_and_si512(left, _mm512_set1_epi64((long long)(d->rows[p] & of)));
        sum = _mm512_add_epi64(sum, _mm512_slli_epi64(_mm512_popcnt_epi64(in), (unsigned)p));
    }
    return _mm512_cvtepi64_pd(sum);
}

/* Scores of cuts with too little on a side give way. */
SIMD_BITS static inline __attribute__((always_inline)) __m512d score_keep(
    struct few *f, int at, __m512d score, __m512d ln, __m512d rn, const struct cuts_node *node,
    __m512d top)
{
    __m512d least = _mm512_set1_pd((double)node->least);
    __mmask8 is_cut =
        _mm512_cmp_pd_mask(ln, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(rn, least, _CMP_GE_OQ);

    score = _mm512_mask_mov_pd(_mm512_set1_pd(-DBL_MAX), is_cut, score);
    _mm512_storeu_pd(f->score + at, score);
    return _mm512_max_pd(top, score);
}

SIMD_BITS static inline __attribute__((always_inline)) uint8_t least_bin(__m512i row, uint64_t of)
{
    __m512i v = _mm512_mask_mov_epi8(_mm512_set1_epi8(-1), of, row);
    __m256i y = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    x = _mm_min_epu8(x, _mm_srli_epi16(x, 8)); /* the lesser of two bytes, in the lower one */
    x = _mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(0xff)));
    return (uint8_t)_mm_cvtsi128_si32(x);
}

/* The smallest bin among the cuts with the best score, midway to the next one. */
SIMD_BITS static inline __attribute__((always_inline)) void few_take(const struct few *f,
                                                                     __m512d tops, int col,
                                                                     struct cuts_best *best)
{
    double top = _mm512_reduce_max_pd(tops);
    uint64_t is_top = 0;

    best->is_better = top > best->score;
    if (!best->is_better)
        return;
    for (int at = 0; at < f->n; at += LANES)
        is_top |= (uint64_t)_mm512_cmp_pd_mask(_mm512_loadu_pd(f->score + at), _mm512_set1_pd(top),
                                               _CMP_EQ_OQ)
                  << at;
    uint8_t bin = least_bin(f->row, is_top & f->all),
            next = least_bin(
                f->row, _mm512_mask_cmpgt_epu8_mask(f->all, f->row, _mm512_set1_epi8((char)bin)));
    best->score = top;
    best->bin = next < CUTS_MISSING ? (bin + next) / 2 : bin;
    best->col = col;
    best->missing_left = false;
}

SIMD_BITS void cuts_few_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                            const struct cuts_node *node, int col, struct cuts_best *best)
{
    struct few f;
    struct digits all, class_1;
    __m512d n_all = _mm512_set1_pd((double)node->n), s_all = _mm512_set1_pd((double)node->s),
            two = _mm512_set1_pd(2.0), top = _mm512_set1_pd(-DBL_MAX);

    few_open(&f, bins, n);
    int n_digits = digits_of(&f, weight, &all), n_ones = digits_of(&f, ones, &class_1);
    for (int at = 0; at < n; at += LANES) {
        __m512i left = _mm512_loadu_si512(f.left + at);
        __m512d ln = weigh_left(left, &all, n_digits, ~0ull),
                ls = weigh_left(left, &class_1, n_ones, ~0ull), rn = n_all - ln, rs = s_all - ls,
                mixed_l = ls * (ln - ls), mixed_r = rs * (rn - rs),
                score = n_all - two * (mixed_l * rn + mixed_r * ln) / (ln * rn);
        top = score_keep(&f, at, score, ln, rn, node, top);
    }
    few_take(&f, top, col, best);
}

/* n_digits: a constant where it is small, which it nearly always is. */
SIMD_BITS static inline __attribute__((always_inline)) void few_many(
    struct few *f, const struct digits *all, int n_digits, const int32_t *ends,
    const int32_t *total, int n_classes, const struct cuts_node *node, int col,
    struct cuts_best *best)
{
    __m512d n_all = _mm512_set1_pd((double)node->n), top = _mm512_set1_pd(-DBL_MAX);

    for (int at = 0; at < f->n; at += LANES) {
        __m512i left = _mm512_loadu_si512(f->left + at);
        __m512d ln = _mm512_setzero_pd(), squares = ln, rests = ln;
        uint64_t before = 0;
        for (int k = 0; k < n_classes; k++) {
            uint64_t until = bits_below(ends[k]);
            __m512d x = weigh_left(left, all, n_digits, until & ~before),
                    rest = _mm512_set1_pd((double)total[k]) - x;
            ln += x;
            squares += x * x;
            rests += rest * rest;
            before = until;
        }
        __m512d rn = n_all - ln, score = (squares * rn + rests * ln) / (ln * rn);
        top = score_keep(f, at, score, ln, rn, node, top);
    }
    few_take(f, top, col, best);
}

SIMD_BITS void cuts_few_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                             const int32_t *total, int n_classes, const struct cuts_node *node,
                             int col, struct cuts_best *best)
{
    struct few f;
    struct digits all;

    few_open(&f, bins, ends[n_classes - 1]);
    int n_digits = digits_of(&f, weight, &all);
    if (n_digits == 1)
        few_many(&f, &all, 1, ends, total, n_classes, node, col, best);
    else if (n_digits == 2)
        few_many(&f, &all, 2, ends, total, n_classes, node, col, best);
    else
        few_many(&f, &all, n_digits, ends, total, n_classes, node, col, best);
}

#else

void cuts_few_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                  const struct cuts_node *node, int col, struct cuts_best *best)
{
    (void)bins, (void)weight, (void)ones, (void)n, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

void cuts_few_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                   const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                   struct cuts_best *best)
{
    (void)bins, (void)weight, (void)ends, (void)total, (void)n_classes, (void)node, (void)col;
    (void)best;
    CHECK(!"called where it is not fast");
}

#endif
