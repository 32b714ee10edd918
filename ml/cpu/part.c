/* part.c - parting rows column by column (part.h).
 *
 * Where the CPU can compress bytes in a register, 64 rows of a column move at once; with AVX2
 * sixteen do (part_middle.c). The plain way moves them one by one; it serves other machines, and
 * tests compare all three. Each public function, at the end of its part of the file, picks one. Where
 * fewer than FEW bytes are to be summed, the plain loop is as fast as setting up a vector. */
#include "ml/cpu/part.h"

#include "base/base.h"
#include "ml/cpu/part_middle.h"
#include "ml/cpu/simd.h"

#include <string.h>

/* Up to so many bytes are summed by the plain loop. */
enum { FEW = 8 };

#ifdef SIMD_BITS
#include <immintrin.h>
#endif

/* The answer that a test forces; -1 = none. */
static int forced = -1;

bool part_is_fast(void)
{
    return forced < 0 ? part_middle_is_there() : forced;
}

void part_force(bool is_fast)
{
    forced = is_fast;
}

void part_unforce(void)
{
    forced = -1;
}

/* ---- marks ---- */

static int64_t mark_plain(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut, uint64_t *masks)
{
    int64_t ones = 0;

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        uint64_t m = 0;
        int64_t until = MIN(PART_WIDE, n - from);
        for (int64_t i = 0; i < until; i++)
            m |= (uint64_t)((uint8_t)(bins[from + i] + up) <= cut) << i;
        masks[from / PART_WIDE] = m;
        ones += __builtin_popcountll(m);
    }
    return ones;
}

static int64_t mark_set_plain(const uint8_t *bins, int64_t n, const uint64_t set[4],
                              uint64_t *masks)
{
    int64_t ones = 0;

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        uint64_t m = 0;
        int64_t until = MIN(PART_WIDE, n - from);
        for (int64_t i = 0; i < until; i++)
            m |= (set[bins[from + i] >> 6] >> (bins[from + i] & 63) & 1) << i;
        masks[from / PART_WIDE] = m;
        ones += __builtin_popcountll(m);
    }
    return ones;
}

/* ---- moving ---- */

static void move_plain(const struct part_columns *c, int64_t n, const uint64_t *masks)
{
    for (int j = 0; j < c->cols; j++) {
        const uint8_t *from = c->from + j * c->pitch;
        uint8_t *left = c->left ? c->left + j * c->pitch : NULL,
                *right = c->right ? c->right + j * c->pitch : NULL;
        for (int64_t i = 0; i < n; i++) {
            bool is_left = masks[i / PART_WIDE] >> i % PART_WIDE & 1;
            if (is_left && left)
                *left++ = from[i];
            else if (!is_left && right)
                *right++ = from[i];
        }
    }
}

#ifdef SIMD_BITS

SIMD_BITS static int64_t mark_fast(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut,
                                   uint64_t *masks)
{
    __m512i ups = _mm512_set1_epi8((char)up), cuts = _mm512_set1_epi8((char)cut);
    int64_t ones = 0;

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        __m512i v = _mm512_add_epi8(_mm512_loadu_si512(bins + from), ups);
        uint64_t m = _mm512_cmple_epu8_mask(v, cuts) & part_bits(n - from);
        masks[from / PART_WIDE] = m;
        ones += __builtin_popcountll(m);
    }
    return ones;
}

/* The set is 32 bytes of 8 bins each. Byte bin / 8 of it is looked up by a permutation, then its
 * bit bin % 8 is tested. */
SIMD_BITS static int64_t mark_set_fast(const uint8_t *bins, int64_t n, const uint64_t set[4],
                                       uint64_t *masks)
{
    __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)set)),
            bit_of = _mm512_set1_epi64((long long)0x8040201008040201ull),
            seven = _mm512_set1_epi8(7), low = _mm512_set1_epi8(31);
    int64_t ones = 0;

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        __m512i v = _mm512_loadu_si512(bins + from),
                at = _mm512_and_si512(_mm512_srli_epi16(v, 3), low),
                bit = _mm512_shuffle_epi8(bit_of, _mm512_and_si512(v, seven));
        uint64_t m = _mm512_test_epi8_mask(_mm512_permutexvar_epi8(at, bytes), bit);
        m &= part_bits(n - from);
        masks[from / PART_WIDE] = m;
        ones += __builtin_popcountll(m);
    }
    return ones;
}

/* The same loop, compiled for a CPU that counts bits in one instruction. */
SIMD_BITS static int64_t count_fast(const uint64_t *masks, int64_t from, int64_t to)
{
    return part_ones(masks, from, to);
}

/* Moves rows at to at + 63 of every column. m: which of them go left; all: which of them exist.
 * left, right: where the first of them goes on either side, in the first column. Compressing packs
 * the wanted bytes to the front of the vector, and the masked store writes only those. */
SIMD_BITS static inline __attribute__((always_inline)) void block_move(const struct part_columns *c,
                                                                       int64_t at, uint64_t m,
                                                                       uint64_t all, uint8_t *left,
                                                                       uint8_t *right)
{
    const uint8_t *from = c->from + at;
    uint64_t rest = ~m & all, keep = _bzhi_u64(~0ull, (unsigned)__builtin_popcountll(m)),
             keep_rest = _bzhi_u64(~0ull, (unsigned)__builtin_popcountll(rest));

    for (int j = 0; j < c->cols; j++, from += c->pitch) {
        __m512i v = _mm512_loadu_si512(from);
        if (left) {
            _mm512_mask_storeu_epi8(left, keep, _mm512_maskz_compress_epi8(m, v));
            left += c->pitch;
        }
        if (right) {
            _mm512_mask_storeu_epi8(right, keep_rest, _mm512_maskz_compress_epi8(rest, v));
            right += c->pitch;
        }
    }
}

/* lo: rows sent left so far, so `at - lo` rows went right. */
SIMD_BITS static void move_fast(const struct part_columns *c, int64_t n, const uint64_t *masks)
{
    int64_t lo = 0;

    for (int64_t at = 0; at < n; at += PART_WIDE) {
        uint64_t m = masks[at / PART_WIDE], all = part_bits(n - at);
        if (c->left && c->right)
            block_move(c, at, m, all, c->left + lo, c->right + at - lo);
        else if (c->left)
            block_move(c, at, m, all, c->left + lo, NULL);
        else
            block_move(c, at, m, all, NULL, c->right + at - lo);
        lo += __builtin_popcountll(m);
    }
}

#endif

int64_t part_mark(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut, uint64_t *masks)
{
#ifdef SIMD_BITS
    if (simd_has_bits())
        return mark_fast(bins, n, up, cut, masks);
#endif
#ifdef SIMD_MIDDLE
    if (part_middle_is_there())
        return part_middle_mark(bins, n, up, cut, masks);
#endif
    return mark_plain(bins, n, up, cut, masks);
}

int64_t part_mark_set(const uint8_t *bins, int64_t n, const uint64_t set[4], uint64_t *masks)
{
#ifdef SIMD_BITS
    if (simd_has_bits())
        return mark_set_fast(bins, n, set, masks);
#endif
#ifdef SIMD_MIDDLE
    if (part_middle_is_there())
        return part_middle_mark_set(bins, n, set, masks);
#endif
    return mark_set_plain(bins, n, set, masks);
}

int64_t part_count(const uint64_t *masks, int64_t from, int64_t to)
{
#ifdef SIMD_BITS
    if (simd_has_bits())
        return count_fast(masks, from, to);
#endif
#ifdef SIMD_MIDDLE
    if (part_middle_is_there())
        return part_middle_count(masks, from, to);
#endif
    return part_ones(masks, from, to);
}

void part_move(const struct part_columns *c, int64_t n, const uint64_t *masks)
{
#ifdef SIMD_BITS
    if (simd_has_bits()) {
        move_fast(c, n, masks);
        return;
    }
#endif
#ifdef SIMD_MIDDLE
    if (part_middle_is_there()) {
        part_middle_move(c, n, masks);
        return;
    }
#endif
    move_plain(c, n, masks);
}

/* ---- sums ---- */

static int64_t sum_plain(const uint8_t *bytes, int64_t n)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

static int64_t sum_marked_plain(const uint8_t *bytes, const uint64_t *masks, int64_t from,
                                int64_t to)
{
    int64_t sum = 0;

    for (int64_t i = from; i < to; i++)
        sum += masks[i / PART_WIDE] >> i % PART_WIDE & 1 ? bytes[i] : 0;
    return sum;
}

static struct part_range range_plain(const uint8_t *bins, int64_t n)
{
    struct part_range r = { 255, 0, 0 };

    for (int64_t i = 0; i < n; i++) {
        uint8_t up = (uint8_t)(bins[i] + 1);
        r.least = MIN(r.least, bins[i]);
        r.most = MAX(r.most, up);
        r.top = MAX(r.top, bins[i]);
    }
    return r;
}

#ifdef SIMD_BITS

/* The minimum of 32 bytes. SSE4.1 finds the minimum of eight 16-bit words in one instruction, so
 * the lesser byte of each pair is taken first. */
SIMD_BITS static uint8_t least_of(__m256i v)
{
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    x = _mm_min_epu8(x, _mm_srli_epi16(x, 8));
    x = _mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(0xff)));
    return (uint8_t)_mm_cvtsi128_si32(x);
}

/* Joins the ranges of the 64 lanes. A maximum is the complement of the minimum of the
 * complements. */
SIMD_BITS static struct part_range lanes_range(__m512i least, __m512i most, __m512i top)
{
    __m256i l = _mm256_min_epu8(_mm512_castsi512_si256(least), _mm512_extracti64x4_epi64(least, 1)),
            m = _mm256_max_epu8(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1)),
            t = _mm256_max_epu8(_mm512_castsi512_si256(top), _mm512_extracti64x4_epi64(top, 1));

    return (struct part_range){ least_of(l), (uint8_t)~least_of(~m), (uint8_t)~least_of(~t) };
}

/* The sum of absolute differences from zero adds eight bytes to each 64-bit lane. */
SIMD_BITS static int64_t sum_fast(const uint8_t *bytes, int64_t n)
{
    __m512i sum = _mm512_setzero_si512();

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        __m512i v = _mm512_maskz_loadu_epi8(part_bits(n - from), bytes + from);
        sum = _mm512_add_epi64(sum, _mm512_sad_epu8(v, _mm512_setzero_si512()));
    }
    return _mm512_reduce_add_epi64(sum);
}

SIMD_BITS static int64_t sum_marked_fast(const uint8_t *bytes, const uint64_t *masks, int64_t from,
                                         int64_t to)
{
    __m512i sum = _mm512_setzero_si512();

    for (int64_t at = from / PART_WIDE * PART_WIDE; at < to; at += PART_WIDE) {
        uint64_t m = masks[at / PART_WIDE] & part_bits(to - at);
        m = at < from ? m & ~part_bits(from - at) : m;
        __m512i v = _mm512_maskz_loadu_epi8(m, bytes + at);
        sum = _mm512_add_epi64(sum, _mm512_sad_epu8(v, _mm512_setzero_si512()));
    }
    return _mm512_reduce_add_epi64(sum);
}

SIMD_BITS static int place_fast(const uint32_t *coarse, const uint32_t *places, uint32_t at)
{
    __m512i limit = _mm512_set1_epi32((int)at);
    int from = PART_PLACES *
               (__builtin_popcount(_mm512_cmple_epu32_mask(_mm512_loadu_si512(coarse), limit)) - 1);

    return from - 1 +
           __builtin_popcount(_mm512_cmple_epu32_mask(_mm512_loadu_si512(places + from), limit));
}

/* At most 64 rows. The bytes are split into binary digits, one word of bits for each digit; a sum
 * over a set of rows is then one count of bits for each digit. */
SIMD_BITS static void runs_few(const uint8_t *bytes, uint64_t mask, const int32_t *ends, int n_runs,
                               int32_t *marked, int32_t *sum)
{
    __m512i v = _mm512_maskz_loadu_epi8(part_bits(ends[n_runs - 1]), bytes);
    uint64_t digit[8];
    int digits = 0;

    while (digits < 8 && _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)(0xff << digits)))) {
        digit[digits] = _mm512_test_epi8_mask(v, _mm512_set1_epi8((char)(1 << digits)));
        digits++;
    }
    part_runs_count(digit, digits, mask, ends, n_runs, marked, sum);
}

SIMD_BITS static struct part_range range_fast(const uint8_t *bins, int64_t n)
{
    __m512i least = _mm512_set1_epi8(-1), most = _mm512_setzero_si512(), top = most,
            one = _mm512_set1_epi8(1);

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        uint64_t all = part_bits(n - from);
        __m512i v = _mm512_loadu_si512(bins + from);
        least = _mm512_mask_min_epu8(least, all, least, v);
        top = _mm512_mask_max_epu8(top, all, top, v);
        most = _mm512_mask_max_epu8(most, all, most, _mm512_add_epi8(v, one));
    }
    return lanes_range(least, most, top);
}

#endif

int64_t part_sum(const uint8_t *bytes, int64_t n)
{
#ifdef SIMD_BITS
    if (n > FEW && simd_has_bits())
        return sum_fast(bytes, n);
#endif
#ifdef SIMD_MIDDLE
    if (n > FEW && part_middle_is_there())
        return part_middle_sum(bytes, n);
#endif
    return sum_plain(bytes, n);
}

int64_t part_sum_marked(const uint8_t *bytes, const uint64_t *masks, int64_t from, int64_t to)
{
#ifdef SIMD_BITS
    if (to - from > FEW && simd_has_bits())
        return sum_marked_fast(bytes, masks, from, to);
#endif
#ifdef SIMD_MIDDLE
    if (to - from > FEW && part_middle_is_there())
        return part_middle_sum_marked(bytes, masks, from, to);
#endif
    return sum_marked_plain(bytes, masks, from, to);
}

int part_place(const uint32_t *coarse, const uint32_t *places, uint32_t at)
{
    int last = 0;

#ifdef SIMD_BITS
    if (simd_has_bits())
        return place_fast(coarse, places, at);
#endif
#ifdef SIMD_MIDDLE
    if (part_middle_is_there())
        return part_middle_place(coarse, places, at);
#endif
    for (int step = PART_PLACES * PART_PLACES / 2; step > 0; step /= 2)
        last += places[last + step] <= at ? step : 0;
    (void)coarse;
    return last;
}

void part_runs(const uint8_t *bytes, const uint64_t *masks, const int32_t *ends, int n_runs,
               int32_t *marked, int32_t *sum)
{
#ifdef SIMD_BITS
    if (ends[n_runs - 1] <= PART_WIDE && simd_has_bits()) {
        runs_few(bytes, masks[0], ends, n_runs, marked, sum);
        return;
    }
#endif
#ifdef SIMD_MIDDLE
    if (ends[n_runs - 1] <= PART_WIDE && part_middle_is_there()) {
        part_middle_runs(bytes, masks[0], ends, n_runs, marked, sum);
        return;
    }
#endif
    for (int32_t k = 0, from = 0; k < n_runs; from = ends[k++]) {
        marked[k] = (int32_t)part_count(masks, from, ends[k]);
        sum[k] = (int32_t)part_sum_marked(bytes, masks, from, ends[k]);
    }
}

struct part_range part_range_of(const uint8_t *bins, int64_t n)
{
#ifdef SIMD_BITS
    if (n > FEW && simd_has_bits())
        return range_fast(bins, n);
#endif
#ifdef SIMD_MIDDLE
    if (n > FEW && part_middle_is_there())
        return part_middle_range(bins, n);
#endif
    return range_plain(bins, n);
}
