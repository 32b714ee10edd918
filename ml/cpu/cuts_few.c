/* cuts_few.c - cuts of at most 64 rows, where each row's bin is a cut (cuts_few.h).
 *
 * The rows to the left of a cut are a set of 64 bits. The weight of a class to the left is found by
 * counting the bits that this set shares with the rows of the class, once for each binary digit of
 * the weights. */
#include "ml/cpu/cuts_few.h"

#include "base/base.h"
#include "ml/cpu/cuts_bits.h"

#include <float.h>

bool cuts_few_is_fast(void)
{
    return simd_has_bits();
}

#ifdef SIMD_BITS

/* NEAR_AT_ONCE: cuts that are scored in floats at once. So few are scored in doubles at once. */
enum { LANES = 8, NEAR_AT_ONCE = 16 };

/* ---- what the columns have in common ---- */

static inline uint64_t bits_below(int n)
{
    return n >= CUTS_FEW ? ~0ull : (1ull << n) - 1;
}

/* Splits the weights of n rows into binary digits. Returns the number of digits. */
BITS_INLINE int digits_of(const uint8_t *weight, int n, uint64_t *digits)
{
    __m512i w = _mm512_maskz_loadu_epi8(bits_below(n), weight);
    int used = 0;

    while (used < CUTS_DIGITS && _mm512_test_epi8_mask(w, _mm512_set1_epi8((char)(0xff << used)))) {
        digits[used] = _mm512_test_epi8_mask(w, _mm512_set1_epi8((char)(1 << used)));
        used++;
    }
    return used;
}

SIMD_BITS void cuts_few_two(struct cuts_few *f, const uint8_t *weight, const uint8_t *ones, int n)
{
    uint64_t digits[CUTS_DIGITS];

    f->is_two = true;
    f->n = n;
    f->n_digits = digits_of(weight, n, f->rows[0]);
    int used = digits_of(ones, n, digits);
    for (int p = 0; p < f->n_digits; p++)
        f->rows[1][p] = p < used ? digits[p] : 0;
}

SIMD_BITS void cuts_few_many(struct cuts_few *f, const uint8_t *weight, const int32_t *ends,
                             const int32_t *total, int n_classes)
{
    uint64_t digits[CUTS_DIGITS], before = 0;

    f->is_two = false;
    f->n = ends[n_classes - 1];
    f->n_classes = n_classes;
    f->n_digits = digits_of(weight, f->n, digits);
    for (int k = 0; k < n_classes; k++) {
        uint64_t until = bits_below(ends[k]);
        for (int p = 0; p < f->n_digits; p++)
            f->rows[k][p] = digits[p] & until & ~before;
        f->total[k] = total[k];
        before = until;
    }
}

/* ---- a column ---- */

struct cuts {
    /* the rows' bins */
    __m512i row;
    /* bit i is set for every row i < n */
    uint64_t all;
    /* how many cuts: at each row's bin, or where bins are fewer than rows, at each bin */
    int n;
    bool is_by_bin;
    /* for each cut, the set of rows to the left */
    uint64_t left[CUTS_FEW];
    double score[CUTS_FEW];
};

BITS_INLINE void cuts_open(struct cuts *c, const uint8_t *bins, int n_rows, int n_bins)
{
    int n = MIN(n_rows, n_bins);

    c->n = n;
    c->is_by_bin = n_bins < n_rows;
    c->all = bits_below(n_rows);
    c->row = _mm512_maskz_loadu_epi8(c->all, bins);
    for (int i = 0; i < n; i++)
        c->left[i] = _mm512_mask_cmple_epu8_mask(
            c->all, c->row, _mm512_set1_epi8((char)(c->is_by_bin ? i : bins[i])));
    for (int i = n; i % LANES; i++)
        /* Places past the last cut repeat the first one, because scoring a cut twice changes
         * nothing. */
        c->left[i] = c->left[0];
}

/* The weight of one class to the left of eight cuts. */
BITS_INLINE __m512i count_left(__m512i left, const uint64_t *digits, int n_digits)
{
    __m512i sum = _mm512_setzero_si512();

    for (int p = 0; p < n_digits; p++) {
        __m512i in = _mm512_and_si512(left, _mm512_set1_epi64((long long)digits[p]));
        sum = _mm512_add_epi64(sum, _mm512_slli_epi64(_mm512_popcnt_epi64(in), (unsigned)p));
    }
    return sum;
}

BITS_INLINE __m512d weigh_left(__m512i left, const uint64_t *digits, int n_digits)
{
    return _mm512_cvtepi64_pd(count_left(left, digits, n_digits));
}

/* Two times eight whole numbers as floats. */
BITS_INLINE __m512 floats_of(__m512i a, __m512i b)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtepi64_ps(a)), _mm512_cvtepi64_ps(b),
                              1);
}

/* Stores eight scores from c->score[at] on and returns the running maximum. Cuts with less than the
 * least weight on a side get -DBL_MAX. ln, rn: weights to the left and right. */
BITS_INLINE __m512d score_keep(struct cuts *c, int at, __m512d score, __m512d ln, __m512d rn,
                               const struct cuts_node *node, __m512d top)
{
    __m512d least = _mm512_set1_pd((double)node->least);
    __mmask8 is_cut =
        _mm512_cmp_pd_mask(ln, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(rn, least, _CMP_GE_OQ);

    score = _mm512_mask_mov_pd(_mm512_set1_pd(-DBL_MAX), is_cut, score);
    _mm512_storeu_pd(c->score + at, score);
    return _mm512_max_pd(top, score);
}

/* Takes the cut with the smallest bin among those with the best score, moved midway to the next bin
 * that holds rows. */
BITS_INLINE void cuts_take(const struct cuts *c, __m512d tops, int col, struct cuts_best *best)
{
    double top = _mm512_reduce_max_pd(tops);
    uint64_t is_top = 0;

    best->is_better = top > best->score;
    if (!best->is_better)
        return;
    for (int at = 0; at < c->n; at += LANES)
        is_top |= (uint64_t)_mm512_cmp_pd_mask(_mm512_loadu_pd(c->score + at), _mm512_set1_pd(top),
                                               _CMP_EQ_OQ)
                  << at;
    /* of bins without rows the cut is that of the bin before, which comes first */
    uint8_t bin = c->is_by_bin ? (uint8_t)__builtin_ctzll(is_top)
                               : least_bin(c->row, is_top & c->all),
            next = least_bin(
                c->row, _mm512_mask_cmpgt_epu8_mask(c->all, c->row, _mm512_set1_epi8((char)bin)));
    best->score = top;
    best->bin = next < CUTS_MISSING ? (bin + next) / 2 : bin;
    best->col = col;
    best->missing_left = false;
}

/* Eight cuts for two classes, by the formula of cuts_weigh in cuts.c with the same order of
 * operations. */
BITS_INLINE __m512d eight_two(const struct cuts_few *f, struct cuts *c, int at,
                              const struct cuts_node *node, int n_digits, __m512d top)
{
    __m512d n_all = _mm512_set1_pd((double)node->n), s_all = _mm512_set1_pd((double)node->s),
            two = _mm512_set1_pd(2.0);
    __m512i left = _mm512_loadu_si512(c->left + at);
    __m512d ln = weigh_left(left, f->rows[0], n_digits),
            ls = weigh_left(left, f->rows[1], n_digits), rn = n_all - ln, rs = s_all - ls,
            mixed_l = ls * (ln - ls), mixed_r = rs * (rn - rs),
            score = n_all - two * (mixed_l * rn + mixed_r * ln) / (ln * rn);

    return score_keep(c, at, score, ln, rn, node, top);
}

/* Near values of all cuts, sixteen at a time (cuts_bits.h). Returns the least. Places past the last
 * cut repeat one. */
BITS_INLINE float near_two(const struct cuts_few *f, struct cuts *c, const struct cuts_node *node,
                           int n_digits, float *near)
{
    __m512 least = _mm512_set1_ps(INFINITY);

    for (int at = c->n; at % NEAR_AT_ONCE; at++)
        c->left[at] = c->left[0];
    for (int at = 0; at < c->n; at += NEAR_AT_ONCE) {
        __m512i a = _mm512_loadu_si512(c->left + at), b = _mm512_loadu_si512(c->left + at + LANES);
        __m512 ln = floats_of(count_left(a, f->rows[0], n_digits),
                              count_left(b, f->rows[0], n_digits)),
               ls = floats_of(count_left(a, f->rows[1], n_digits),
                              count_left(b, f->rows[1], n_digits)),
               v = near_half(node, ln, ls);
        _mm512_storeu_ps(near + at, v);
        least = _mm512_min_ps(least, v);
    }
    return _mm512_reduce_min_ps(least);
}

/* Scores all cuts for two classes; where they are many, those that are near the best one. */
BITS_INLINE void cut_two(const struct cuts_few *f, struct cuts *c, const struct cuts_node *node,
                         int n_digits, int col, struct cuts_best *best)
{
    __m512d top = _mm512_set1_pd(-DBL_MAX);
    float near[CUTS_FEW];

    if (c->n <= NEAR_AT_ONCE) {
        for (int at = 0; at < c->n; at += LANES)
            top = eight_two(f, c, at, node, n_digits, top);
        cuts_take(c, top, col, best);
        return;
    }
    float least = near_two(f, c, node, n_digits, near);
    best->is_better = false;
    if (near_is_worse(node, least, best->score))
        return;
    __m256 limit = _mm256_set1_ps(near_limit(node, least));
    for (int at = 0; at < c->n; at += LANES) {
        if (_mm256_cmp_ps_mask(_mm256_loadu_ps(near + at), limit, _CMP_LE_OQ))
            top = eight_two(f, c, at, node, n_digits, top);
        else
            _mm512_storeu_pd(c->score + at, _mm512_set1_pd(-DBL_MAX));
    }
    cuts_take(c, top, col, best);
}

/* The same for more classes, by the formula of many_weigh. */
BITS_INLINE void cut_many(const struct cuts_few *f, struct cuts *c, const struct cuts_node *node,
                          int n_digits, int col, struct cuts_best *best)
{
    __m512d n_all = _mm512_set1_pd((double)node->n), top = _mm512_set1_pd(-DBL_MAX);

    for (int at = 0; at < c->n; at += LANES) {
        __m512i left = _mm512_loadu_si512(c->left + at);
        __m512d ln = _mm512_setzero_pd(), squares = ln, rests = ln;
        for (int k = 0; k < f->n_classes; k++) {
            __m512d x = weigh_left(left, f->rows[k], n_digits),
                    rest = _mm512_set1_pd(f->total[k]) - x;
            ln += x;
            squares += x * x;
            rests += rest * rest;
        }
        __m512d rn = n_all - ln, score = (squares * rn + rests * ln) / (ln * rn);
        top = score_keep(c, at, score, ln, rn, node, top);
    }
    cuts_take(c, top, col, best);
}

/* The number of digits is passed as a constant where it is small, which it nearly always is, so
 * that the loop over digits unrolls. */
SIMD_BITS void cuts_few_cut(const struct cuts_few *f, const uint8_t *bins, int n_bins,
                            const struct cuts_node *node, int col, struct cuts_best *best)
{
    struct cuts c;

    cuts_open(&c, bins, f->n, n_bins);
    if (f->is_two && f->n_digits == 1)
        cut_two(f, &c, node, 1, col, best);
    else if (f->is_two)
        cut_two(f, &c, node, f->n_digits, col, best);
    else if (f->n_digits == 1)
        cut_many(f, &c, node, 1, col, best);
    else if (f->n_digits == 2)
        cut_many(f, &c, node, 2, col, best);
    else
        cut_many(f, &c, node, f->n_digits, col, best);
}

#else

void cuts_few_two(struct cuts_few *f, const uint8_t *weight, const uint8_t *ones, int n)
{
    (void)f, (void)weight, (void)ones, (void)n;
    CHECK(!"called where it is not fast");
}

void cuts_few_many(struct cuts_few *f, const uint8_t *weight, const int32_t *ends,
                   const int32_t *total, int n_classes)
{
    (void)f, (void)weight, (void)ends, (void)total, (void)n_classes;
    CHECK(!"called where it is not fast");
}

void cuts_few_cut(const struct cuts_few *f, const uint8_t *bins, int n_bins,
                  const struct cuts_node *node, int col, struct cuts_best *best)
{
    (void)f, (void)bins, (void)n_bins, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

#endif
