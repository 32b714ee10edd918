/* cuts_two.c - see cuts_two.h. All cuts are scored nearly, sixteen at a time, and those near the
 * best one exactly (cuts_bits.h). A column that is not better than another one ends before that. */
#include "ml/cpu/cuts_two.h"

#include "base/base.h"
#include "ml/cpu/cuts_bits.h"

#ifdef SIMD_BITS

enum { BINS = 256, EIGHT = 8, SIXTEEN = 16, WIDE = 64, ROWS = 128 };

bool cuts_two_is_fast(const struct cuts_node *node)
{
    return simd_has_bits() && node->n <= NEAR_MOST;
}

/* Running sums of eight. */
BITS_INLINE __m512i eight_sum(__m512i v)
{
    const __m512i none = _mm512_setzero_si512();

    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, none, 7));
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, none, 6));
    return _mm512_add_epi64(v, _mm512_alignr_epi64(v, none, 4));
}

/* Sums up n bins, a multiple of sixteen, and clears them. Returns the least near value. */
BITS_INLINE float hist_near(int64_t *hist, int n, const struct cuts_node *node, int64_t *sums,
                            float *near)
{
    const __m512i low = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0),
                  high = _mm512_add_epi32(low, _mm512_set1_epi32(1)), last = _mm512_set1_epi64(7);
    __m512i before = _mm512_setzero_si512();
    __m512 least = _mm512_set1_ps(INFINITY);

    for (int b = 0; b < n; b += SIXTEEN) {
        __m512i x = eight_sum(_mm512_loadu_si512(hist + b)),
                y = eight_sum(_mm512_loadu_si512(hist + b + EIGHT));
        _mm512_storeu_si512(hist + b, _mm512_setzero_si512());
        _mm512_storeu_si512(hist + b + EIGHT, _mm512_setzero_si512());
        y = _mm512_add_epi64(y, _mm512_permutexvar_epi64(last, x));
        x = _mm512_add_epi64(x, before);
        y = _mm512_add_epi64(y, before);
        before = _mm512_permutexvar_epi64(last, y);
        _mm512_storeu_si512(sums + b, x);
        _mm512_storeu_si512(sums + b + EIGHT, y);
        __m512 v = near_half(node, _mm512_cvtepi32_ps(_mm512_permutex2var_epi32(x, low, y)),
                             _mm512_cvtepi32_ps(_mm512_permutex2var_epi32(x, high, y)));
        _mm512_storeu_ps(near + b, v);
        least = _mm512_min_ps(least, v);
    }
    return _mm512_reduce_min_ps(least);
}

/* Bit k: near[k] is up to the limit, of sixteen. */
BITS_INLINE uint32_t near_of(const float *near, float limit)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(near), _mm512_set1_ps(limit), _CMP_LE_OQ);
}

SIMD_BITS void cuts_two_hist(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
                             struct cuts_best *best)
{
    int64_t sums[BINS];
    float near[BINS], least;
    int n = (n_bins + SIXTEEN - 1) / SIXTEEN * SIXTEEN, top_at = -1;
    double top = best->score;

    least = hist_near(hist, n, node, sums, near);
    best->is_better = false;
    if (near_is_worse(node, least, best->score))
        return;
    for (int b = 0; b < n; b += SIXTEEN) {
        for (uint32_t m = near_of(near + b, near_limit(node, least)); m; m &= m - 1) {
            int at = b + __builtin_ctz(m);
            double score = score_two(node, (double)(int32_t)sums[at], (double)(sums[at] >> 32));
            if (score > top) {
                top = score;
                top_at = at;
            }
        }
    }
    if (top_at < 0)
        return;
    int next = top_at;
    while (next < n && sums[next] == sums[top_at])
        next++;
    *best = (struct cuts_best){ .score = top,
                                .col = col,
                                .bin = next < n ? (top_at + next) / 2 : top_at,
                                .missing_left = false,
                                .is_better = true };
}

/* The least of the rows' bins that is above `bin`; 255 = none. */
BITS_INLINE int bin_after(const uint8_t *bins, int n, int bin)
{
    int least = CUTS_MISSING;

    for (int i = 0; i < n; i += WIDE) {
        __m512i row = _mm512_loadu_si512(bins + i);
        uint64_t all = _bzhi_u64(~0ull, (unsigned)MIN(n - i, WIDE));
        least =
            MIN(least,
                least_bin(row, _mm512_mask_cmpgt_epu8_mask(all, row, _mm512_set1_epi8((char)bin))));
    }
    return least;
}

BITS_INLINE __m512 floats_of(const uint8_t *bytes)
{
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)bytes)));
}

SIMD_BITS void cuts_two_sums(const uint8_t *bins, const uint8_t *left, const uint8_t *ones, int n,
                             const struct cuts_node *node, int col, struct cuts_best *best)
{
    float near[ROWS], least;
    __m512 leasts = _mm512_set1_ps(INFINITY);
    double top = best->score;
    int top_bin = -1;

    for (int i = 0; i < n; i += SIXTEEN) {
        __mmask16 in = (__mmask16)_bzhi_u32(0xffff, (unsigned)MIN(n - i, SIXTEEN));
        __m512 v = near_half(node, floats_of(left + i), floats_of(ones + i));
        v = _mm512_mask_mov_ps(_mm512_set1_ps(INFINITY), in, v);
        _mm512_storeu_ps(near + i, v);
        leasts = _mm512_min_ps(leasts, v);
    }
    least = _mm512_reduce_min_ps(leasts);
    best->is_better = false;
    if (near_is_worse(node, least, best->score))
        return;
    for (int i = 0; i < n; i += SIXTEEN) {
        for (uint32_t m = near_of(near + i, near_limit(node, least)); m; m &= m - 1) {
            int at = i + __builtin_ctz(m);
            double score = score_two(node, left[at], ones[at]);
            if (score > top || (score == top && top_bin > bins[at])) {
                top = score;
                top_bin = bins[at];
            }
        }
    }
    if (top_bin < 0)
        return;
    *best = cut_at(top, col, top_bin, bin_after(bins, n, top_bin));
}

#else

bool cuts_two_is_fast(const struct cuts_node *node)
{
    (void)node;
    return false;
}

void cuts_two_hist(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
                   struct cuts_best *best)
{
    (void)hist, (void)n_bins, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

void cuts_two_sums(const uint8_t *bins, const uint8_t *left, const uint8_t *ones, int n,
                   const struct cuts_node *node, int col, struct cuts_best *best)
{
    (void)bins, (void)left, (void)ones, (void)n, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

#endif
