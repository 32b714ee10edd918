/* cuts_bits.h - what the kernels of cuts with bit instructions share: bins of rows in registers, and
 * scores of two classes that are nearly right. Private to cuts_*.c.
 *
 * A score takes a division and runs in doubles, but few cuts are near the best one. So half of the
 * impurity is computed in floats first. All numbers up to NEAR_MOST are floats themselves; what
 * follows are six operations on numbers that are not negative, with a relative error of at most
 * 2^-21 together, and half of the impurity is at most n / 4. So the best cut lies within n 2^-20 of
 * the least near value with room to spare, and only such cuts are scored in doubles. */
#ifndef ML_CPU_CUTS_BITS_H
#define ML_CPU_CUTS_BITS_H

#include "ml/cpu/cut.h"
#include "ml/cpu/simd.h"

#ifdef SIMD_BITS
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

#define BITS_INLINE SIMD_BITS static inline __attribute__((always_inline))

enum { NEAR_MOST = 1 << 22 };

/* The least bin among the rows of the set `of`, 255 if it is empty. SSE4.1 finds the minimum of
 * eight 16-bit words in one instruction, so the 64 bytes are halved down to eight words first. */
BITS_INLINE uint8_t least_bin(__m512i row, uint64_t of)
{
    __m512i v = _mm512_mask_mov_epi8(_mm512_set1_epi8(-1), of, row);
    __m256i y = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    /* the lesser of two bytes, in the lower one */
    x = _mm_min_epu8(x, _mm_srli_epi16(x, 8));
    x = _mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(0xff)));
    return (uint8_t)_mm_cvtsi128_si32(x);
}

/* Half of the impurity of sixteen cuts, nearly; infinite where a cut is not allowed. ln, ls: weight
 * and weight of class 1 to the left. */
BITS_INLINE __m512 near_half(const struct cuts_node *node, __m512 ln, __m512 ls)
{
    __m512 rn = _mm512_set1_ps((float)node->n) - ln, rs = _mm512_set1_ps((float)node->s) - ls,
           least = _mm512_set1_ps((float)node->least), mixed_l = ls * (ln - ls),
           mixed_r = rs * (rn - rs), both = ln * rn, inverse = _mm512_rcp14_ps(both);
    __mmask16 is_cut =
        _mm512_cmp_ps_mask(ln, least, _CMP_GE_OQ) & _mm512_cmp_ps_mask(rn, least, _CMP_GE_OQ);

    inverse = inverse * (_mm512_set1_ps(2.0f) - both * inverse);
    return _mm512_mask_mov_ps(_mm512_set1_ps(INFINITY), is_cut,
                              (mixed_l * rn + mixed_r * ln) * inverse);
}

/* Whether no cut whose near value is at least `least` scores above `score`. */
static inline bool near_is_worse(const struct cuts_node *node, float least, double score)
{
    double n = (double)node->n;

    return n - 2.0 * ((double)least - n * 0x1p-20) <= score;
}

/* Cuts up to this near value may be the best one. */
static inline float near_limit(const struct cuts_node *node, float least)
{
    return least + (float)node->n * 0x1p-20f;
}

/* A cut at bin `bin` of rows without missing values, moved midway to the next bin that holds rows;
 * CUTS_MISSING = there is none. */
static inline struct cuts_best cut_at(double score, int col, int bin, int next)
{
    return (struct cuts_best){ .score = score,
                               .col = col,
                               .bin = next < CUTS_MISSING ? (bin + next) / 2 : bin,
                               .missing_left = false,
                               .is_better = true };
}

/* The score of one cut: the formula of cuts_weigh in cuts.c with the same order of operations. */
static inline double score_two(const struct cuts_node *node, double ln, double ls)
{
    double n = (double)node->n, rn = n - ln, rs = (double)node->s - ls;
    double mixed_l = ls * (ln - ls), mixed_r = rs * (rn - rs);

    return n - 2.0 * (mixed_l * rn + mixed_r * ln) / (ln * rn);
}
#endif
#endif
