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

/* The place of the at-th bit that is set. */
BITS_INLINE int bit_of(const uint64_t *bits, int at)
{
    int word = 0;

    for (int n; at >= (n = __builtin_popcountll(bits[word])); word++)
        at -= n;
    return word * 64 + (int)__builtin_ctzll(_pdep_u64(1ull << at, bits[word]));
}

/* The cut between the bin with rows number `at` and the next one, in the middle of those without rows. */
BITS_INLINE struct cuts_best cut_behind(const uint64_t *bits, int at, int col, double score)
{
    return (struct cuts_best){ .score = score,
                               .col = col,
                               .bin = (bit_of(bits, at) + bit_of(bits, at + 1)) / 2,
                               .missing_left = false,
                               .is_better = true };
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
    *best = cut_behind(h.bits, top_at, col, top);
}

/* ---- several classes ---- */

/* BYTES: bins that a register holds. */
enum { BYTES = 64 };

struct held_many {
    int n;
    uint64_t bits[WORDS];
    /* weight of each class up to and with the bin */
    uint8_t sums[CUTS_BYTES_CLASSES][BINS + BYTES];
    /* Over the classes: weight to the left, the sum of its squares, and of those of the rest. With a
     * weight of at most 255 these fit. */
    uint16_t left[BINS + WIDE], squares[BINS + WIDE], rests[BINS + WIDE];
};

/* Bytes a, b, c and d, each for a quarter of a register. */
BITS_INLINE __m512i quarters(char a, char b, char c, char d)
{
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi8(a)), _mm_set1_epi8(b), 1)),
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi8(c)), _mm_set1_epi8(d), 1), 1);
}

/* Running sums of 64 bytes. */
BITS_INLINE __m512i bytes_sum(__m512i v)
{
    v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 1));
    v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 2));
    v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 8));
    v = _mm512_add_epi8(v, _mm512_maskz_permutexvar_epi8(~0ull << 16, quarters(0, 15, 31, 47), v));
    return _mm512_add_epi8(v,
                           _mm512_maskz_permutexvar_epi8(~0ull << 32, quarters(0, 0, 15, 31), v));
}

/* Sums up n bins of each class and clears them. */
BITS_INLINE void many_find(uint8_t *hist, int n, int n_classes, struct held_many *h)
{
    const __m512i last = _mm512_set1_epi8(BYTES - 1);
    uint8_t before[CUTS_BYTES_CLASSES] = { 0 };

    h->n = 0;
    for (int b = 0; b < n; b += BYTES) {
        __m512i any = _mm512_setzero_si512();
        for (int k = 0; k < n_classes; k++)
            any = _mm512_or_si512(any, _mm512_loadu_si512(hist + k * BINS + b));
        uint64_t m = _mm512_test_epi8_mask(any, any);
        h->bits[b / BYTES] = m;
        for (int k = 0; m && k < n_classes; k++) {
            __m512i v = _mm512_loadu_si512(hist + k * BINS + b);
            _mm512_storeu_si512(hist + k * BINS + b, _mm512_setzero_si512());
            v = _mm512_add_epi8(bytes_sum(v), _mm512_set1_epi8((char)before[k]));
            before[k] = (uint8_t)_mm_cvtsi128_si32(
                _mm512_castsi512_si128(_mm512_permutexvar_epi8(last, v)));
            _mm512_storeu_si512(h->sums[k] + h->n, _mm512_maskz_compress_epi8(m, v));
        }
        h->n += __builtin_popcountll(m);
    }
}

/* For a class of weight t with x of it to the left, (t - x)^2 = t^2 - 2 t x + x^2: modulo 2^16, as
 * the sum is below that. */
BITS_INLINE void many_left(const int32_t *total, int n_classes, struct held_many *h)
{
    int own = 0;

    for (int k = 0; k < n_classes; k++)
        own += total[k] * total[k];
    for (int i = 0; i < h->n; i += WIDE) {
        __m512i left = _mm512_setzero_si512(), squares = left, mixed = left;
        for (int k = 0; k < n_classes; k++) {
            __m512i x = _mm512_cvtepu8_epi16(
                _mm256_loadu_si256((const __m256i *)(const void *)(h->sums[k] + i)));
            left = _mm512_add_epi16(left, x);
            squares = _mm512_add_epi16(squares, _mm512_mullo_epi16(x, x));
            mixed = _mm512_add_epi16(
                mixed, _mm512_mullo_epi16(x, _mm512_set1_epi16((int16_t)(2 * total[k]))));
        }
        _mm512_storeu_si512(h->left + i, left);
        _mm512_storeu_si512(h->squares + i, squares);
        _mm512_storeu_si512(
            h->rests + i,
            _mm512_sub_epi16(_mm512_add_epi16(_mm512_set1_epi16((int16_t)own), squares), mixed));
    }
}

BITS_INLINE __m512 reals_of(const uint16_t *v)
{
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)v)));
}

/* The scores in floats. All numbers below 2^24 are floats themselves, and so all but the quotient is
 * exact: of two cuts the better one in doubles is no worse here. Returns the largest; 0 = none. */
BITS_INLINE float many_near(const struct held_many *h, const struct cuts_node *node, float *near)
{
    const __m512 n = _mm512_set1_ps((float)node->n), least = _mm512_set1_ps((float)node->least);
    __m512 most = _mm512_setzero_ps();

    for (int i = 0; i < h->n; i += SIXTEEN) {
        __m512 ln = reals_of(h->left + i), rn = n - ln,
               v = (reals_of(h->squares + i) * rn + reals_of(h->rests + i) * ln) / (ln * rn);
        __mmask16 is_cut = _mm512_cmp_ps_mask(ln, least, _CMP_GE_OQ) &
                           _mm512_cmp_ps_mask(rn, least, _CMP_GE_OQ) &
                           (__mmask16)_bzhi_u32(0xffff, (unsigned)MIN(h->n - i, SIXTEEN));
        v = _mm512_maskz_mov_ps(is_cut, v);
        _mm512_storeu_ps(near + i, v);
        most = _mm512_max_ps(most, v);
    }
    return _mm512_reduce_max_ps(most);
}

/* The formula of many_weigh in cuts.c. */
BITS_INLINE double many_score(const struct held_many *h, const struct cuts_node *node, int at)
{
    double ln = h->left[at], rn = (double)node->n - ln;

    return (h->squares[at] * rn + h->rests[at] * ln) / (ln * rn);
}

SIMD_BITS void cuts_bytes_many(uint8_t *hist, int n_bins, const int32_t *total, int n_classes,
                               const struct cuts_node *node, int col, struct cuts_best *best)
{
    struct held_many h;
    float near[BINS];
    double top = best->score;
    int top_at = -1;

    memset(h.bits, 0, sizeof h.bits);
    many_find(hist, n_bins, n_classes, &h);
    many_left(total, n_classes, &h);
    float most = many_near(&h, node, near);
    best->is_better = false;
    if (most == 0.0f || (double)most * (1.0 + 0x1p-22) <= best->score)
        return;
    for (int i = 0; i < h.n; i += SIXTEEN) {
        for (uint32_t m =
                 _mm512_cmp_ps_mask(_mm512_loadu_ps(near + i), _mm512_set1_ps(most), _CMP_EQ_OQ);
             m; m &= m - 1) {
            int at = i + __builtin_ctz(m);
            double score = many_score(&h, node, at);
            top_at = score > top ? at : top_at;
            top = score > top ? score : top;
        }
    }
    if (top_at < 0)
        return;
    *best = cut_behind(h.bits, top_at, col, top);
}

#else

void cuts_bytes(uint16_t *hist, int n_bins, const struct cuts_node *node, int col,
                struct cuts_best *best)
{
    (void)hist, (void)n_bins, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

void cuts_bytes_many(uint8_t *hist, int n_bins, const int32_t *total, int n_classes,
                     const struct cuts_node *node, int col, struct cuts_best *best)
{
    (void)hist, (void)n_bins, (void)total, (void)n_classes, (void)node, (void)col, (void)best;
    CHECK(!"called where it is not fast");
}

#endif
