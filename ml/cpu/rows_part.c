/* rows_part.c - see rows_part.h.
 *
 * Where the CPU can compress a register, the bins of 64 rows are brought together and compared at
 * once, row numbers move by sixteen and words by eight. The plain way moves rows one by one; it
 * serves other machines and few rows. */
#include "ml/cpu/rows_part.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <stddef.h>

#ifdef SIMD_BITS
#include <immintrin.h>
#endif

/* AHEAD: rows between a prefetch and its use. Fewer than FEW rows are as fast one by one. */
enum { BLOCK = 64, AHEAD = 64, FEW = 16, EIGHT = 8, MISSING = 255 };

static inline void fetch(const struct rows_part *p, int32_t i)
{
    __builtin_prefetch(p->bins + p->rows[i + AHEAD < p->n ? i + AHEAD : i] * p->pitch);
}

static struct rows_parted part_plain(const struct rows_part *p, uint8_t up, uint8_t cut)
{
    int32_t lo = 0, hi = p->n - 1;
    int64_t sum = 0;
    bool has_missing = false;

    for (int32_t i = 0; i < p->n; i++) {
        int32_t row = p->rows[i];
        int64_t word = p->words[i];
        if (p->is_far)
            fetch(p, i);
        uint8_t b = p->bins[row * p->pitch];
        has_missing |= b == MISSING;
        int32_t is_left = (uint8_t)(b + up) <= cut;
        /* there is no branch here, because the CPU would predict it wrong half of the time */
        int32_t at = hi + ((lo - hi) & -is_left);
        p->to_rows[at] = row;
        p->to_words[at] = word;
        sum += word & -(int64_t)is_left;
        lo += is_left;
        hi -= 1 - is_left;
    }
    return (struct rows_parted){ lo, sum, has_missing };
}

#ifdef SIMD_BITS

#define BITS_INLINE SIMD_BITS static inline __attribute__((always_inline))

/* Where the next left row and the next right row go, and the sum of the left rows' words. */
struct ends {
    int32_t lo, hi;
    __m512i sum;
};

/* Eight words of the rows `left` and `right`, before the ends move. Returns how many are left. */
BITS_INLINE int32_t words_move(const struct rows_part *p, int32_t i, uint32_t left, uint32_t right,
                               int32_t lo, int32_t hi, __m512i *sum)
{
    const __m512i turn = _mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i v = _mm512_maskz_loadu_epi64((__mmask8)(left | right), p->words + i);
    uint32_t n_left = (uint32_t)__builtin_popcount(left),
             n_right = (uint32_t)__builtin_popcount(right);

    *sum = _mm512_mask_add_epi64(*sum, (__mmask8)left, *sum, v);
    _mm512_mask_storeu_epi64(p->to_words + lo, (__mmask8)((1u << n_left) - 1),
                             _mm512_maskz_compress_epi64((__mmask8)left, v));
    _mm512_mask_storeu_epi64(
        p->to_words + hi - 7, (__mmask8)(0xff00u >> n_right),
        _mm512_permutexvar_epi64(turn, _mm512_maskz_compress_epi64((__mmask8)right, v)));
    return (int32_t)n_left;
}

/* Sixteen rows. Bit k of left, right: row k goes there. */
BITS_INLINE void rows_move(const struct rows_part *p, int32_t i, uint32_t left, uint32_t right,
                           struct ends *to)
{
    const __m512i turn = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i v = _mm512_maskz_loadu_epi32((__mmask16)(left | right), p->rows + i);
    uint32_t n_left = (uint32_t)__builtin_popcount(left),
             n_right = (uint32_t)__builtin_popcount(right);
    int32_t lo = to->lo, hi = to->hi, first;

    _mm512_mask_storeu_epi32(p->to_rows + lo, (__mmask16)((1u << n_left) - 1),
                             _mm512_maskz_compress_epi32((__mmask16)left, v));
    _mm512_mask_storeu_epi32(
        p->to_rows + hi - 15, (__mmask16)(0xffff0000u >> n_right),
        _mm512_permutexvar_epi32(turn, _mm512_maskz_compress_epi32((__mmask16)right, v)));
    first = words_move(p, i, left & 0xff, right & 0xff, lo, hi, &to->sum);
    words_move(p, i + 8, left >> 8, right >> 8, lo + first, hi - __builtin_popcount(right & 0xff),
               &to->sum);
    to->lo += (int32_t)n_left;
    to->hi -= (int32_t)n_right;
}

SIMD_BITS static struct rows_parted part_fast(const struct rows_part *p, uint8_t up, uint8_t cut)
{
    const __m512i ups = _mm512_set1_epi8((char)up), cuts = _mm512_set1_epi8((char)cut);
    struct ends to = { 0, p->n - 1, _mm512_setzero_si512() };
    uint64_t missing = 0;
    uint8_t bins[BLOCK] = { 0 };

    for (int32_t from = 0; from < p->n; from += BLOCK) {
        int32_t n = MIN(BLOCK, p->n - from);
        uint64_t all = _bzhi_u64(~0ull, (unsigned)n);
        for (int32_t k = 0; k < n; k++) {
            if (p->is_far)
                fetch(p, from + k);
            bins[k] = p->bins[p->rows[from + k] * p->pitch];
        }
        __m512i v = _mm512_loadu_si512(bins);
        uint64_t left = _mm512_cmple_epu8_mask(_mm512_add_epi8(v, ups), cuts) & all;
        missing |= _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(-1)) & all;
        for (int32_t k = 0; k < n; k += 16)
            rows_move(p, from + k, (uint32_t)(left >> k) & 0xffff,
                      (uint32_t)((~left & all) >> k) & 0xffff, &to);
    }
    return (struct rows_parted){ to.lo, _mm512_reduce_add_epi64(to.sum), missing != 0 };
}

/* Bit k: byte `at` of the k-th eight bytes is up to the cut, of up to 64 rows. */
BITS_INLINE uint64_t picked_left(const uint8_t *picked, int n, uint64_t at, __m512i ups,
                                 __m512i cuts, uint64_t *missing)
{
    uint64_t left = 0;

    for (int k = 0; k < n; k += EIGHT) {
        __m512i v = _mm512_loadu_si512(picked + (ptrdiff_t)k * EIGHT);
        left |= _pext_u64(_mm512_cmple_epu8_mask(_mm512_add_epi8(v, ups), cuts), at) << k;
        *missing |= _pext_u64(_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(-1)), at) << k;
    }
    return left;
}

SIMD_BITS static struct rows_parted picked_fast(const struct rows_part *p, int at, uint8_t up,
                                                uint8_t cut)
{
    const __m512i ups = _mm512_set1_epi8((char)up), cuts = _mm512_set1_epi8((char)cut);
    struct ends to = { 0, p->n - 1, _mm512_setzero_si512() };
    uint64_t any_missing = 0, of = 0x0101010101010101ull << at;

    for (int32_t from = 0; from < p->n; from += BLOCK) {
        int32_t n = MIN(BLOCK, p->n - from);
        uint64_t all = _bzhi_u64(~0ull, (unsigned)n), missing = 0,
                 left = picked_left(p->bins - at + (ptrdiff_t)from * EIGHT, n, of, ups, cuts,
                                    &missing) &
                        all;
        any_missing |= missing & all;
        for (int32_t k = 0; k < n; k += 16)
            rows_move(p, from + k, (uint32_t)(left >> k) & 0xffff,
                      (uint32_t)((~left & all) >> k) & 0xffff, &to);
    }
    return (struct rows_parted){ to.lo, _mm512_reduce_add_epi64(to.sum), any_missing != 0 };
}

SIMD_BITS static void marked_fast(const struct rows_part *p, const uint64_t *marks)
{
    struct ends to = { 0, p->n - 1, _mm512_setzero_si512() };

    for (int32_t i = 0; i < p->n; i += 16) {
        uint32_t all = _bzhi_u32(0xffff, (unsigned)MIN(p->n - i, 16)),
                 left = (uint32_t)(marks[i / BLOCK] >> i % BLOCK) & 0xffff;
        rows_move(p, i, left, ~left & all, &to);
    }
}
#endif

void rows_part_marked(const struct rows_part *p, const uint64_t *marks)
{
#ifdef SIMD_BITS
    if (simd_has_bits()) {
        marked_fast(p, marks);
        return;
    }
#endif
    for (int32_t i = 0, lo = 0, hi = p->n - 1; i < p->n; i++) {
        int32_t at = marks[i / BLOCK] >> i % BLOCK & 1 ? lo++ : hi--;
        p->to_rows[at] = p->rows[i];
        p->to_words[at] = p->words[i];
    }
}

struct rows_parted rows_part_picked(const struct rows_part *p, int at, uint8_t up, uint8_t cut)
{
    struct rows_parted out = { 0 };

#ifdef SIMD_BITS
    if (simd_has_bits())
        return picked_fast(p, at, up, cut);
#endif
    (void)at;
    for (int32_t i = 0, hi = p->n; i < p->n; i++) {
        uint8_t b = p->bins[(ptrdiff_t)i * EIGHT];
        bool is_left = (uint8_t)(b + up) <= cut;
        int32_t to = is_left ? out.n_left++ : --hi;
        p->to_rows[to] = p->rows[i];
        p->to_words[to] = p->words[i];
        out.left += is_left ? p->words[i] : 0;
        out.has_missing |= b == MISSING;
    }
    return out;
}

struct rows_parted rows_part(const struct rows_part *p, uint8_t up, uint8_t cut)
{
#ifdef SIMD_BITS
    if (p->n >= FEW && simd_has_bits())
        return part_fast(p, up, cut);
#endif
    return part_plain(p, up, cut);
}
