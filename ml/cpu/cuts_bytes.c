/* cuts_bytes.c - see cuts_bytes.h. Few rows leave most bins empty. So the running sums of the bins
 * that hold rows are brought together first, and only these are scored: nearly, sixteen at a time,
 * and those near the best one exactly (cuts_bits.h). */
#include "ml/cpu/cuts_bytes.h"

#include "base/base.h"
#include "ml/cpu/cuts_bits.h"

#include <string.h>

bool cuts_bytes_is_fast(void)
{
    return simd_has_bits();
}

#ifdef SIMD_BITS

/* WIDE: bins that a register holds. */
enum { BINS = 256, WIDE = 32, SIXTEEN = 16, WORDS = BINS / 64, LOW = 255 };

/* The bins that hold rows, in their order. */
struct held {
    int n;
    /* bit b: bin b holds rows */
    uint64_t bits[WORDS];
    /* weight and weight of class 1 up to and with the bin; a whole register may be read */
    uint16_t sums[BINS + WIDE];
};

/* Running sums of 32 numbers: inside the four parts of a register by doubling the distance, then
 * over the parts. */
BITS_INLINE __m512i wide_sum(__m512i v)
{
    const __m512i last = _mm512_set_epi16(23, 23, 23, 23, 23, 23, 23, 23, 15, 15, 15, 15, 15, 15,
                                          15, 15, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0),
                  before = _mm512_set_epi16(15, 15, 15, 15, 15, 15, 15, 15, 7, 7, 7, 7, 7, 7, 7, 7,
                                            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 2));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 8));
    v = _mm512_add_epi16(v, _mm512_maskz_permutexvar_epi16(0xffffff00, last, v));
    return _mm512_add_epi16(v, _mm512_maskz_permutexvar_epi16(0xffff0000, before, v));
}

/* Sums up n bins and clears them. */
BITS_INLINE void held_find(uint16_t *hist, int n, struct held *h)
{
    const __m512i last = _mm512_set1_epi16(WIDE - 1);
    __m512i before = _mm512_setzero_si512();

    h->n = 0;
    for (int b = 0; b < n; b += WIDE) {
        __m512i v = _mm512_loadu_si512(hist + b);
        uint32_t m = _mm512_test_epi16_mask(v, v);
        _mm512_storeu_si512(hist + b, _mm512_setzero_si512());
        h->bits[b / 64] |= (uint64_t)m << (b & 63);
        v = _mm512_add_epi16(wide_sum(v), before);
        before = _mm512_permutexvar_epi16(last, v);
        _mm512_storeu_si512(h->sums + h->n, _mm512_maskz_compress_epi16(m, v));
        h->n += __builtin_popcount(m);
    }
}

/* The bin of the at-th that holds rows. */
BITS_INLINE int held_bin(const struct held *h, int at)
{
    int word = 0;

    for (int n; at >= (n = __builtin_popcountll(h->bits[word])); word++)
        at -= n;
    return word * 64 + (int)__builtin_ctzll(_pdep_u64(1ull << at, h->bits[word]));
}

/* Places past the last bin that holds rows have nothing to the left and are no cuts. Returns
 * the least near value. */
BITS_INLINE float held_near(const struct held *h, const struct cuts_node *node, float *near)
{
    __m512 least = _mm512_set1_ps(INFINITY);

    for (int i = 0; i < h->n; i += SIXTEEN) {
        __m512i x =
            _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(h->sums + i)));
        __m512 v = near_half(node, _mm512_cvtepi32_ps(_mm512_and_si512(x, _mm512_set1_epi32(LOW))),
                             _mm512_cvtepi32_ps(_mm512_srli_epi32(x, 8)));
        _mm512_storeu_ps(near + i, v);
        least = _mm512_min_ps(least, v);
    }
    return _mm512_reduce_min_ps(least);
}

SIMD_BITS void cuts_bytes(uint16_t *hist, int n_bins, const struct cuts_node *node, int col,
                          struct cuts_best *best)
{
    struct held h;
    float near[BINS];
    double top = best->score;
    int top_at = -1;

    memset(h.bits, 0, sizeof h.bits);
    held_find(hist, n_bins, &h);
    /* whole registers are scored: no weight to the left is no cut */
    _mm512_storeu_si512(h.sums + h.n, _mm512_setzero_si512());
    float least = held_near(&h, node, near);
    best->is_better = false;
    if (near_is_worse(node, least, best->score))
        return;
    __m512 limit = _mm512_set1_ps(near_limit(node, least));
    for (int i = 0; i < h.n; i += SIXTEEN) {
        for (uint32_t m = _mm512_cmp_ps_mask(_mm512_loadu_ps(near + i), limit, _CMP_LE_OQ); m;
             m &= m - 1) {
            int at = i + __builtin_ctz(m);
            double score = score_two(node, h.sums[at] & LOW, h.sums[at] >> 8);
            top_at = score > top ? at : top_at;
            top = score > top ? score : top;
        }
    }
    if (top_at < 0)
        return;
    *best = (struct cuts_best){ .score = top,
                                .col = col,
                                .bin = (held_bin(&h, top_at) + held_bin(&h, top_at + 1)) / 2,
                                .missing_left = false,
                                .is_better = true };
}

#else

void cuts_bytes(uint16_t *hist, int n_bins, const struct cuts_node *node, int col,
                struct cuts_best *best)
{
    (void)hist, (void)n_bins, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

#endif
