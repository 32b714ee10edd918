/* scan_middle.c - see scan_middle.h. Every score that counts is the same expression of doubles as in
 * scan.c. Dividing takes longer than all else, so scores are first taken with a reciprocal of 12
 * bits; only places near the largest are divided, and none where that one is below the best of
 * earlier columns by more. Called once per (node, column). */
#include "ml/cpu/scan_middle.h"

#ifdef SIMD_MIDDLE

#include <immintrin.h>
#include <stddef.h>

#define MIDDLE_INLINE SIMD_MIDDLE static inline __attribute__((always_inline))

enum { FOUR = 4 };
/* Twice as much as a rough score may be wrong, and a little more. */
#define NEAR 0x1p-10

/* What the scores of a node's pairs are computed from, in every lane. */
struct lanes {
    __m256d gt, ht, l1, minus_l1, l2, min_h;
    bool is_shrunk;
};

MIDDLE_INLINE __m256i four_load(const int64_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* Running sums within the vector in two doubling steps, then those of before are added. */
SIMD_MIDDLE void scan_middle_sums(const int64_t *hist, int end, struct scan_middle *out)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i before = zero;
    int n = 0;

    for (int b = 0; b < end; b += FOUR) {
        __m256i v = four_load(hist + b);
        int in = end - b < FOUR ? (1 << (end - b)) - 1 : 15,
            used = ~_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(v, zero))) & in;
        if (!used)
            continue;
        v = _mm256_add_epi64(v, _mm256_slli_si256(v, 8));
        __m256i low = _mm256_blend_epi32(zero, _mm256_permute4x64_epi64(v, 0x55), 0xf0),
                sum = _mm256_add_epi64(_mm256_add_epi64(v, low), before);
        before = _mm256_permute4x64_epi64(sum, 0xff);
        _mm256_storeu_si256((__m256i *)(void *)(out->sum + (ptrdiff_t)n * FOUR), sum);
        out->bin[n] = (uint8_t)b;
        out->used[n++] = (uint8_t)used;
    }
    out->n = n;
}

MIDDLE_INLINE struct lanes lanes_of(const struct scan_node *nd)
{
    return (struct lanes){ _mm256_set1_pd(hist_g(nd->total)),
                           _mm256_set1_pd((double)(int32_t)hist_h(nd->total)),
                           _mm256_set1_pd(nd->l1),
                           _mm256_set1_pd(-nd->l1),
                           _mm256_set1_pd(nd->l2),
                           _mm256_set1_pd(nd->min_h),
                           nd->l1 > 0.0 };
}

MIDDLE_INLINE __m256d shrunk(const struct lanes *c, __m256d g)
{
    __m256d up = _mm256_and_pd(_mm256_cmp_pd(g, c->l1, _CMP_GT_OQ), _mm256_sub_pd(g, c->l1)),
            down =
                _mm256_and_pd(_mm256_cmp_pd(g, c->minus_l1, _CMP_LT_OQ), _mm256_add_pd(g, c->l1));

    return _mm256_add_pd(up, down);
}

/* The numerators and denominators of four scores, by the operations of scan_scores in scan.c, and
 * which pairs are allowed. Without l1, T(g) is g. */
MIDDLE_INLINE __m256d scores_four(const struct lanes *c, __m256i sum, __m256d *top, __m256d *under)
{
    const __m256i halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    __m256i parts = _mm256_permutevar8x32_epi32(sum, halves);
    __m256d hl = _mm256_cvtepi32_pd(_mm256_castsi256_si128(parts)),
            gl = _mm256_cvtepi32_pd(_mm256_extracti128_si256(parts, 1));
    __m256d gr = _mm256_sub_pd(c->gt, gl), hr = _mm256_sub_pd(c->ht, hl);

    if (c->is_shrunk) {
        gl = shrunk(c, gl);
        gr = shrunk(c, gr);
    }
    __m256d a = _mm256_add_pd(hl, c->l2), b = _mm256_add_pd(hr, c->l2);
    *top = _mm256_add_pd(_mm256_mul_pd(_mm256_mul_pd(gl, gl), b),
                         _mm256_mul_pd(_mm256_mul_pd(gr, gr), a));
    *under = _mm256_mul_pd(a, b);
    return _mm256_and_pd(_mm256_cmp_pd(hl, c->min_h, _CMP_GE_OQ),
                         _mm256_cmp_pd(hr, c->min_h, _CMP_GE_OQ));
}

MIDDLE_INLINE double largest_of(__m256d v)
{
    __m128d two = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

    return _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)));
}

/* Rough scores of four pairs; -1 where one is not allowed or not in `used`. */
MIDDLE_INLINE __m256d rough_four(const struct lanes *c, __m256i sum, __m256d used)
{
    __m256d top, under, in = _mm256_and_pd(scores_four(c, sum, &top, &under), used);
    __m256d over = _mm256_cvtps_pd(_mm_rcp_ps(_mm256_cvtpd_ps(under)));

    return _mm256_blendv_pd(_mm256_set1_pd(-1.0), _mm256_mul_pd(top, over), in);
}

MIDDLE_INLINE __m256d used_four(int used)
{
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);

    return _mm256_castsi256_pd(
        _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(used), bit), bit));
}

/* Without missing values an empty bin need not be told from others: it scores as the one before it,
 * which comes first, or is not allowed, as the first of all. Only the last four bins may be followed
 * by words that are none. */
SIMD_MIDDLE int scan_middle_best(const struct scan_node *nd, const struct scan_middle *s,
                                 int64_t missing, double *score)
{
    const __m256d none = _mm256_set1_pd(-1.0), all = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
    const __m256i more = _mm256_set1_epi64x(missing);
    struct lanes c = lanes_of(nd);
    __m256d rough[64], most = none, top, under;
    int at = -1, k = 0;

    for (; k < s->n - 1 && !missing; k++) {
        rough[k] = rough_four(&c, four_load(s->sum + (ptrdiff_t)k * FOUR), all);
        most = _mm256_max_pd(most, rough[k]);
    }
    for (; k < s->n; k++) {
        __m256i sum = _mm256_add_epi64(four_load(s->sum + (ptrdiff_t)k * FOUR), more);
        rough[k] = rough_four(&c, sum, used_four(s->used[k]));
        most = _mm256_max_pd(most, rough[k]);
    }
    double largest = largest_of(most), best = *score;
    if (largest * (1.0 + NEAR) <= best)
        return -1;
    __m256d least = _mm256_set1_pd(largest * (1.0 - NEAR));
    for (k = 0; k < s->n; k++) {
        __m256d near = _mm256_cmp_pd(rough[k], least, _CMP_GE_OQ);
        double exact[FOUR];
        if (!_mm256_movemask_pd(near))
            continue;
        __m256i sum = _mm256_add_epi64(four_load(s->sum + (ptrdiff_t)k * FOUR), more);
        (void)scores_four(&c, sum, &top, &under);
        _mm256_storeu_pd(exact, _mm256_blendv_pd(none, _mm256_div_pd(top, under), near));
        for (int j = 0; j < FOUR; j++) {
            at = exact[j] > best ? k * FOUR + j : at;
            best = exact[j] > best ? exact[j] : best;
        }
    }
    *score = best;
    return at;
}

#endif
