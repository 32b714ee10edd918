/* cuts_middle.c - see cuts_middle.h. Every row's bin is a cut, and 32 cuts fill a register, to which
 * the rows are added one after the other.
 *
 * Cuts are scored in floats first. The weights add up to at most 255, so all numbers of a score but
 * its last quotient are whole and below 2^24: floats hold them exactly. Rounding a quotient keeps
 * the order of quotients, so the best cut is among those whose quotient is the best in floats, and
 * only these are scored in doubles. A column that is not better than another one ends before that. */
#include "ml/cpu/cuts_middle.h"

#include "base/base.h"
#include "ml/cpu/cuts_bits.h"

#ifdef SIMD_MIDDLE

#include <immintrin.h>
#include <math.h>

#define MIDDLE_INLINE SIMD_MIDDLE static inline __attribute__((always_inline))

/* BLOCK: cuts of a register of bytes. EIGHT: of floats. HALF: of 16-bit numbers. */
enum { BLOCK = 32, HALF = 16, EIGHT = 8 };

/* How much a quotient may grow by rounding, with room to spare. */
#define ROUNDING 0x1p-22

/* What lies to the left of each cut: the weight; of two classes that of class 1, of several the
 * sums of the squared weights of the classes on either side. */
struct lefts {
    uint8_t bins[CUTS_ROWS], sum[CUTS_ROWS], ones[CUTS_ROWS];
    uint16_t squares[CUTS_ROWS], rests[CUTS_ROWS];
    float near[CUTS_ROWS];
};

MIDDLE_INLINE __m256i bytes_load(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

MIDDLE_INLINE void bytes_store(void *to, __m256i v)
{
    _mm256_storeu_si256((__m256i *)to, v);
}

/* Whole blocks of bins: places past the last row repeat the first, because scoring a cut twice does
 * no harm. */
MIDDLE_INLINE void bins_take(const uint8_t *bins, int n, struct lefts *l)
{
    const __m256i at = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
                  first = _mm256_set1_epi8((char)bins[0]);

    for (int i = 0; i < n; i += BLOCK) {
        __m256i is_row = _mm256_cmpgt_epi8(_mm256_set1_epi8((char)MIN(n - i, BLOCK)), at);
        bytes_store(l->bins + i, _mm256_blendv_epi8(first, bytes_load(bins + i), is_row));
    }
}

/* 255 in each cut that a row of this bin lies left of. */
MIDDLE_INLINE __m256i is_left(uint8_t bin, __m256i cuts)
{
    __m256i b = _mm256_set1_epi8((char)bin);

    return _mm256_cmpeq_epi8(_mm256_min_epu8(b, cuts), b);
}

MIDDLE_INLINE __m256i weigh(__m256i is_in, uint8_t weight)
{
    return _mm256_and_si256(is_in, _mm256_set1_epi8((char)weight));
}

MIDDLE_INLINE __m256 floats_of_bytes(const uint8_t *v)
{
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)v)));
}

MIDDLE_INLINE __m256 floats_of_shorts(const uint16_t *v)
{
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)v)));
}

MIDDLE_INLINE float largest_of(__m256 v)
{
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

/* Bit j: cut i + j, of eight, is `what` in floats. */
MIDDLE_INLINE unsigned near_bits(const struct lefts *l, int i, float what)
{
    return (unsigned)_mm256_movemask_ps(
        _mm256_cmp_ps(_mm256_loadu_ps(l->near + i), _mm256_set1_ps(what), _CMP_EQ_OQ));
}

/* Where both sides weigh enough. */
MIDDLE_INLINE __m256 is_cut(const struct cuts_node *node, __m256 ln, __m256 rn)
{
    __m256 least = _mm256_set1_ps((float)node->least);

    return _mm256_and_ps(_mm256_cmp_ps(ln, least, _CMP_GE_OQ),
                         _mm256_cmp_ps(rn, least, _CMP_GE_OQ));
}

/* The least of the bins above `bin`; 255 = none. */
MIDDLE_INLINE int bin_after(const struct lefts *l, int n, int bin)
{
    __m256i up = _mm256_set1_epi8((char)bin), least = _mm256_set1_epi8(-1);

    for (int i = 0; i < n; i += BLOCK) {
        __m256i v = bytes_load(l->bins + i), is_low = _mm256_cmpeq_epi8(_mm256_min_epu8(v, up), v);
        least = _mm256_min_epu8(least, _mm256_or_si256(v, is_low));
    }
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
    x = _mm_min_epu8(x, _mm_srli_epi16(x, 8));
    return _mm_cvtsi128_si32(_mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(255)))) & 255;
}

/* The formula of many_weigh in cuts.c. */
MIDDLE_INLINE double many_score(const struct lefts *l, const struct cuts_node *node, int at)
{
    double ln = l->sum[at], rn = (double)node->n - ln;

    return (l->squares[at] * rn + l->rests[at] * ln) / (ln * rn);
}

/* Scores the cuts that are `what` in floats, and takes the best of them if it beats *best: of equal
 * ones that of the least bin. is_two is a constant. */
MIDDLE_INLINE void best_take(const struct lefts *l, int n, float what, bool is_two,
                             const struct cuts_node *node, int col, struct cuts_best *best)
{
    double top = best->score;
    int bin = -1;

    for (int i = 0; i < n; i += EIGHT) {
        for (unsigned m = near_bits(l, i, what); m; m &= m - 1) {
            int at = i + __builtin_ctz(m);
            double score =
                is_two ? score_two(node, l->sum[at], l->ones[at]) : many_score(l, node, at);
            if (score > top || (score == top && bin > l->bins[at])) {
                top = score;
                bin = l->bins[at];
            }
        }
    }
    if (bin < 0)
        return;
    *best = cut_at(top, col, bin, bin_after(l, n, bin));
}

/* ---- two classes ---- */

/* Half of the impurity of all cuts, in floats; infinite where a cut is not allowed. Returns the
 * least. */
MIDDLE_INLINE float two_near(struct lefts *l, int n, const struct cuts_node *node)
{
    const __m256 none = _mm256_set1_ps(INFINITY), all = _mm256_set1_ps((float)node->n),
                 all_ones = _mm256_set1_ps((float)node->s);
    __m256 most = -none;

    for (int i = 0; i < n; i += EIGHT) {
        __m256 ln = floats_of_bytes(l->sum + i), ls = floats_of_bytes(l->ones + i), rn = all - ln,
               rs = all_ones - ls, v = (ls * (ln - ls) * rn + rs * (rn - rs) * ln) / (ln * rn);
        v = _mm256_blendv_ps(none, v, is_cut(node, ln, rn));
        _mm256_storeu_ps(l->near + i, v);
        most = _mm256_max_ps(most, -v);
    }
    return -largest_of(most);
}

SIMD_MIDDLE void cuts_middle_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones,
                                 int n, const struct cuts_node *node, int col,
                                 struct cuts_best *best)
{
    struct lefts l;

    bins_take(bins, n, &l);
    for (int at = 0; at < n; at += BLOCK) {
        __m256i cuts = bytes_load(l.bins + at), sum = _mm256_setzero_si256(), one = sum;
        for (int i = 0; i < n; i++) {
            __m256i is_in = is_left(bins[i], cuts);
            sum = _mm256_add_epi8(sum, weigh(is_in, weight[i]));
            one = _mm256_add_epi8(one, weigh(is_in, ones[i]));
        }
        bytes_store(l.sum + at, sum);
        bytes_store(l.ones + at, one);
    }
    float least = two_near(&l, n, node);
    best->is_better = false;
    if ((double)node->n - 2.0 * (double)least * (1.0 - ROUNDING) > best->score)
        best_take(&l, n, least, true, node, col, best);
}

/* ---- several classes ---- */

/* For a class of weight t with x of it to the left, (t - x)^2 = t^2 - 2 t x + x^2: modulo 2^16, as
 * the sum over the classes is below that. */
MIDDLE_INLINE void many_left(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                             const int32_t *total, int n_classes, int at, struct lefts *l)
{
    __m256i cuts = bytes_load(l->bins + at), sum = _mm256_setzero_si256(), low = sum, high = sum,
            low_mixed = sum, high_mixed = sum;
    int own = 0;

    for (int k = 0, i = 0; k < n_classes; k++) {
        __m256i x = _mm256_setzero_si256(), twice = _mm256_set1_epi16((int16_t)(2 * total[k]));
        for (; i < ends[k]; i++)
            x = _mm256_add_epi8(x, weigh(is_left(bins[i], cuts), weight[i]));
        __m256i a = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(x)),
                b = _mm256_cvtepu8_epi16(_mm256_extracti128_si256(x, 1));
        own += total[k] * total[k];
        sum = _mm256_add_epi8(sum, x);
        low = _mm256_add_epi16(low, _mm256_mullo_epi16(a, a));
        high = _mm256_add_epi16(high, _mm256_mullo_epi16(b, b));
        low_mixed = _mm256_add_epi16(low_mixed, _mm256_mullo_epi16(a, twice));
        high_mixed = _mm256_add_epi16(high_mixed, _mm256_mullo_epi16(b, twice));
    }
    __m256i owns = _mm256_set1_epi16((int16_t)own);
    bytes_store(l->sum + at, sum);
    bytes_store(l->squares + at, low);
    bytes_store(l->squares + at + HALF, high);
    bytes_store(l->rests + at, _mm256_sub_epi16(_mm256_add_epi16(owns, low), low_mixed));
    bytes_store(l->rests + at + HALF, _mm256_sub_epi16(_mm256_add_epi16(owns, high), high_mixed));
}

/* The scores of all cuts in floats; 0 where a cut is not allowed. Returns the largest. */
MIDDLE_INLINE float many_near(struct lefts *l, int n, const struct cuts_node *node)
{
    const __m256 all = _mm256_set1_ps((float)node->n);
    __m256 most = _mm256_setzero_ps();

    for (int i = 0; i < n; i += EIGHT) {
        __m256 ln = floats_of_bytes(l->sum + i), rn = all - ln,
               v = (floats_of_shorts(l->squares + i) * rn + floats_of_shorts(l->rests + i) * ln) /
                   (ln * rn);
        v = _mm256_and_ps(v, is_cut(node, ln, rn));
        _mm256_storeu_ps(l->near + i, v);
        most = _mm256_max_ps(most, v);
    }
    return largest_of(most);
}

SIMD_MIDDLE void cuts_middle_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                                  const int32_t *total, int n_classes, const struct cuts_node *node,
                                  int col, struct cuts_best *best)
{
    int n = ends[n_classes - 1];
    struct lefts l;

    bins_take(bins, n, &l);
    for (int at = 0; at < n; at += BLOCK)
        many_left(bins, weight, ends, total, n_classes, at, &l);
    float most = many_near(&l, n, node);
    best->is_better = false;
    if (most > 0.0f && (double)most * (1.0 + ROUNDING) > best->score)
        best_take(&l, n, most, false, node, col, best);
}

#else

void cuts_middle_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                     const struct cuts_node *node, int col, struct cuts_best *best)
{
    (void)bins, (void)weight, (void)ones, (void)n, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not there");
}

void cuts_middle_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                      const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                      struct cuts_best *best)
{
    (void)bins, (void)weight, (void)ends, (void)total, (void)n_classes, (void)node, (void)col,
        (void)best;
    CHECK(!"called where it is not there");
}

#endif
