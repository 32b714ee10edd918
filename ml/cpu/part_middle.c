/* part_middle.c - see part_middle.h. AVX2 has no instruction that packs the wanted bytes of a
 * register together. So sixteen rows move at a time: from their marks follows, by a table, which
 * bytes a shuffle takes, once for all columns. */
#include "ml/cpu/part_middle.h"

#ifdef SIMD_MIDDLE

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define MIDDLE_INLINE SIMD_MIDDLE static inline __attribute__((always_inline))

/* HALF: bytes of a register. SIXTEEN: rows that move at a time. BYTE: bits of one. */
enum { HALF = 32, SIXTEEN = 16, BYTE = 8, MISSING = 255 };

/* ---- registers and bits ---- */

MIDDLE_INLINE __m256i half_load(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

MIDDLE_INLINE uint64_t two_masks(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << HALF;
}

/* 255 in every byte whose bit is set. */
MIDDLE_INLINE __m256i bytes_of(uint32_t bits)
{
    const __m256i of = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2,
                                        2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3),
                  bit = _mm256_set1_epi64x((long long)0x8040201008040201ull);
    __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), of);

    return _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
}

/* 255 in the first n bytes. */
MIDDLE_INLINE __m256i bytes_first(int64_t n)
{
    const __m256i at = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);

    return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)MIN(n, HALF)), at);
}

/* ---- marks ---- */

MIDDLE_INLINE __m256i is_up_to(const uint8_t *bins, __m256i ups, __m256i cuts)
{
    __m256i v = _mm256_add_epi8(half_load(bins), ups);

    return _mm256_cmpeq_epi8(_mm256_min_epu8(v, cuts), v);
}

/* The set is 32 bytes of 8 bins each, in two tables of sixteen. */
MIDDLE_INLINE __m256i is_in_set(const uint8_t *bins, __m256i low, __m256i high)
{
    const __m256i bit_of = _mm256_set1_epi64x((long long)0x8040201008040201ull),
                  seven = _mm256_set1_epi8(7), fifteen = _mm256_set1_epi8(15);
    __m256i v = half_load(bins), at = _mm256_and_si256(_mm256_srli_epi16(v, 3), fifteen),
            /* the upper bins choose the upper table by their highest bit */
        bytes = _mm256_blendv_epi8(_mm256_shuffle_epi8(low, at), _mm256_shuffle_epi8(high, at), v),
            bit = _mm256_shuffle_epi8(bit_of, _mm256_and_si256(v, seven));

    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
}

/* a, b: of is_in_set or of is_up_to; is_set is a constant. */
MIDDLE_INLINE int64_t mark(const uint8_t *bins, int64_t n, bool is_set, __m256i a, __m256i b,
                           uint64_t *masks)
{
    int64_t ones = 0;

    for (int64_t from = 0; from < n; from += PART_WIDE) {
        const uint8_t *low = bins + from, *high = low + HALF;
        uint64_t m = is_set ? two_masks(is_in_set(low, a, b), is_in_set(high, a, b))
                            : two_masks(is_up_to(low, a, b), is_up_to(high, a, b));
        m &= part_bits(n - from);
        masks[from / PART_WIDE] = m;
        ones += __builtin_popcountll(m);
    }
    return ones;
}

SIMD_MIDDLE int64_t part_middle_mark(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut,
                                     uint64_t *masks)
{
    return mark(bins, n, false, _mm256_set1_epi8((char)up), _mm256_set1_epi8((char)cut), masks);
}

SIMD_MIDDLE int64_t part_middle_mark_set(const uint8_t *bins, int64_t n, const uint64_t set[4],
                                         uint64_t *masks)
{
    __m256i low = _mm256_set_epi64x((long long)set[1], (long long)set[0], (long long)set[1],
                                    (long long)set[0]),
            high = _mm256_set_epi64x((long long)set[3], (long long)set[2], (long long)set[3],
                                     (long long)set[2]);

    return mark(bins, n, true, low, high, masks);
}

SIMD_MIDDLE int64_t part_middle_count(const uint64_t *masks, int64_t from, int64_t to)
{
    return part_ones(masks, from, to);
}

/* ---- moving ---- */

#define PLACE(m, i) \
    ((uint64_t)((m) >> (i)&1) * (uint64_t)(i) << BYTE * __builtin_popcount((m) & ((1 << (i)) - 1)))
#define PLACES(m)                                                                        \
    (PLACE(m, 1) | PLACE(m, 2) | PLACE(m, 3) | PLACE(m, 4) | PLACE(m, 5) | PLACE(m, 6) | \
     ((m) >> 7 ? 7ull << BYTE * __builtin_popcount((m)&127) : 0))
#define PLACES_4(m)  PLACES(m), PLACES((m) + 1), PLACES((m) + 2), PLACES((m) + 3)
#define PLACES_16(m) PLACES_4(m), PLACES_4((m) + 4), PLACES_4((m) + 8), PLACES_4((m) + 12)
#define PLACES_64(m) PLACES_16(m), PLACES_16((m) + 16), PLACES_16((m) + 32), PLACES_16((m) + 48)
const uint64_t part_middle_order[256] = { PLACES_64(0), PLACES_64(64), PLACES_64(128),
                                          PLACES_64(192) };

/* What goes to one side of sixteen rows: how many, which ones, and where; to == NULL: not wanted. */
struct side {
    int n;
    /* fewer than sixteen bytes of the side are left, so what lies behind it must stay */
    bool is_last;
    __m128i rows, keep;
    uint8_t *to;
};

/* m: the rows of this side among sixteen; room: how many bytes of it are left to write. */
MIDDLE_INLINE void side_take(struct side *s, uint32_t m, uint8_t *to, int64_t room)
{
    int n = __builtin_popcount(m & 255);
    uint64_t low = part_middle_order[m & 255],
             high = part_middle_order[m >> BYTE] + 0x0808080808080808ull;

    s->to = to;
    s->n = n + __builtin_popcount(m >> BYTE);
    s->is_last = room < SIXTEEN;
    s->keep = _mm256_castsi256_si128(bytes_first(s->n));
    s->rows = _mm_set_epi64x((long long)(n ? high >> (64 - BYTE * n) : 0),
                             (long long)(n < BYTE ? low | high << BYTE * n : low));
    if (n == 0)
        s->rows = _mm_set_epi64x(0, (long long)high);
}

MIDDLE_INLINE __m128i side_there(const struct side *s)
{
    return _mm_loadu_si128((const __m128i *)(const void *)s->to);
}

MIDDLE_INLINE void side_write(struct side *s, __m128i v, __m128i there, bool is_last)
{
    __m128i out = _mm_shuffle_epi8(v, s->rows);

    _mm_storeu_si128((__m128i *)(void *)s->to,
                     is_last ? _mm_blendv_epi8(there, out, s->keep) : out);
}

/* Sixteen rows of every column. The last three are constants. */
MIDDLE_INLINE void sixteen_move(const struct part_columns *c, int64_t at, struct side *left,
                                struct side *right, bool has_left, bool has_right, bool is_last)
{
    const uint8_t *from = c->from + at;
    int64_t cols = c->cols, pitch = c->pitch;

    for (int64_t j = 0; j < cols; j++, from += pitch) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)from), l = v, r = v;
        /* both are read before either is written, because a read of bytes that were just written
         * waits for the write */
        if (has_left && is_last)
            l = side_there(left);
        if (has_right && is_last)
            r = side_there(right);
        if (has_left)
            side_write(left, v, l, is_last);
        if (has_right)
            side_write(right, v, r, is_last);
        left->to += pitch;
        right->to += pitch;
    }
}

/* lo: rows sent left so far, of n_left in all. */
MIDDLE_INLINE void move(const struct part_columns *c, int64_t n, const uint64_t *masks,
                        bool has_left, bool has_right)
{
    int64_t n_left = part_ones(masks, 0, n), lo = 0;

    for (int64_t at = 0; at < n; at += SIXTEEN) {
        uint32_t all = (uint32_t)part_bits(MIN(n - at, SIXTEEN)),
                 m = (uint32_t)(masks[at / PART_WIDE] >> at % PART_WIDE) & all;
        struct side left, right;
        side_take(&left, m, has_left ? c->left + lo : c->right, n_left - lo);
        side_take(&right, ~m & all, has_right ? c->right + (at - lo) : c->left,
                  n - n_left - (at - lo));
        if ((has_left && left.is_last) || (has_right && right.is_last))
            sixteen_move(c, at, &left, &right, has_left, has_right, true);
        else
            sixteen_move(c, at, &left, &right, has_left, has_right, false);
        lo += left.n;
    }
}

/* Up to sixteen rows, whose right ones come right behind the left ones: both sides are one shuffle
 * and one write. Two writes would wait for each other, because the second one first reads bytes that
 * the first one has just written. */
MIDDLE_INLINE void few_move(const struct part_columns *c, int64_t n, uint32_t m)
{
    const __m128i at = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const uint8_t *from = c->from;
    int64_t cols = c->cols, pitch = c->pitch;
    struct side left, right, both = { .keep = _mm256_castsi256_si128(bytes_first(n)) };

    side_take(&left, m, c->left, 0);
    side_take(&right, ~m & (uint32_t)part_bits(n), c->right, 0);
    /* a place below 0 takes no byte */
    both.rows = _mm_shuffle_epi8(right.rows, _mm_sub_epi8(at, _mm_set1_epi8((char)left.n)));
    both.rows = _mm_blendv_epi8(both.rows, left.rows, left.keep);
    both.to = c->left;
    for (int64_t j = 0; j < cols; j++, from += pitch, both.to += pitch)
        side_write(&both, _mm_loadu_si128((const __m128i *)(const void *)from), side_there(&both),
                   true);
}

SIMD_MIDDLE void part_middle_move(const struct part_columns *c, int64_t n, const uint64_t *masks)
{
    uint32_t m = (uint32_t)(n > 0 ? masks[0] & part_bits(n) : 0);

    if (n <= SIXTEEN && c->left && c->right == c->left + __builtin_popcount(m))
        few_move(c, n, m);
    else if (c->left && c->right)
        move(c, n, masks, true, true);
    else if (c->left)
        move(c, n, masks, true, false);
    else
        move(c, n, masks, false, true);
}

/* ---- sums ---- */

/* The sum of absolute differences from zero adds eight bytes to each 64-bit lane. */
MIDDLE_INLINE __m256i lanes_add(__m256i sum, __m256i v)
{
    return _mm256_add_epi64(sum, _mm256_sad_epu8(v, _mm256_setzero_si256()));
}

MIDDLE_INLINE int64_t lanes_sum(__m256i sum)
{
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));

    return _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1);
}

SIMD_MIDDLE int64_t part_middle_sum(const uint8_t *bytes, int64_t n)
{
    __m256i sum = _mm256_setzero_si256();

    for (int64_t from = 0; from < n; from += HALF)
        sum = lanes_add(sum, _mm256_and_si256(half_load(bytes + from), bytes_first(n - from)));
    return lanes_sum(sum);
}

SIMD_MIDDLE int64_t part_middle_sum_marked(const uint8_t *bytes, const uint64_t *masks,
                                           int64_t from, int64_t to)
{
    __m256i sum = _mm256_setzero_si256();

    for (int64_t at = from / PART_WIDE * PART_WIDE; at < to; at += PART_WIDE) {
        uint64_t m = masks[at / PART_WIDE] & part_bits(to - at);
        m = at < from ? m & ~part_bits(from - at) : m;
        sum = lanes_add(sum, _mm256_and_si256(half_load(bytes + at), bytes_of((uint32_t)m)));
        sum = lanes_add(
            sum, _mm256_and_si256(half_load(bytes + at + HALF), bytes_of((uint32_t)(m >> HALF))));
    }
    return lanes_sum(sum);
}

/* How many of sixteen numbers are at most as large. */
MIDDLE_INLINE int count_up_to(const uint32_t *numbers, __m256i at)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)numbers),
            b = _mm256_loadu_si256((const __m256i *)(const void *)(numbers + BYTE));
    int first =
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_min_epu32(a, at), a))),
        second =
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_min_epu32(b, at), b)));

    return __builtin_popcount((unsigned)(first | second << BYTE));
}

SIMD_MIDDLE int part_middle_place(const uint32_t *coarse, const uint32_t *places, uint32_t at)
{
    __m256i limit = _mm256_set1_epi32((int)at);
    int from = PART_PLACES * (count_up_to(coarse, limit) - 1);

    return from - 1 + count_up_to(places + from, limit);
}

/* The bytes are split into binary digits, one word of bits for each digit; a sum over a set of rows
 * is then one count of bits for each digit. */
SIMD_MIDDLE void part_middle_runs(const uint8_t *bytes, uint64_t mask, const int32_t *ends,
                                  int n_runs, int32_t *marked, int32_t *sum)
{
    int32_t n = ends[n_runs - 1];
    __m256i low = _mm256_and_si256(half_load(bytes), bytes_first(n)), high = _mm256_setzero_si256();
    uint64_t digit[BYTE];
    int digits = 0;

    if (n > HALF)
        high = _mm256_and_si256(half_load(bytes + HALF), bytes_first(n - HALF));
    /* the digit at hand is moved to the highest bit of each byte */
    for (__m256i any = _mm256_or_si256(low, high); digits < BYTE; digits++) {
        if (_mm256_testz_si256(any, _mm256_set1_epi8((char)(0xff << digits))))
            break;
        __m128i by = _mm_cvtsi32_si128(BYTE - 1 - digits);
        digit[digits] = two_masks(_mm256_sll_epi16(low, by), _mm256_sll_epi16(high, by));
    }
    part_runs_count(digit, digits, mask, ends, n_runs, marked, sum);
}

/* The minimum of 32 bytes. SSE4.1 finds the minimum of eight 16-bit words in one instruction, so
 * the lesser byte of each pair is taken first. */
MIDDLE_INLINE uint8_t least_of(__m256i v)
{
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    x = _mm_min_epu8(x, _mm_srli_epi16(x, BYTE));
    x = _mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(0xff)));
    return (uint8_t)_mm_cvtsi128_si32(x);
}

/* A maximum is the complement of the minimum of the complements. */
SIMD_MIDDLE struct part_range part_middle_range(const uint8_t *bins, int64_t n)
{
    const __m256i ones = _mm256_set1_epi8(-1), one = _mm256_set1_epi8(1);
    __m256i least = ones, most = _mm256_setzero_si256(), top = most;
    int64_t from = 0;

    for (; from + HALF <= n; from += HALF) {
        __m256i v = half_load(bins + from);
        least = _mm256_min_epu8(least, v);
        top = _mm256_max_epu8(top, v);
        most = _mm256_max_epu8(most, _mm256_add_epi8(v, one));
    }
    if (from < n) {
        __m256i in = bytes_first(n - from), v = half_load(bins + from);
        least = _mm256_min_epu8(least, _mm256_or_si256(v, _mm256_xor_si256(in, ones)));
        top = _mm256_max_epu8(top, _mm256_and_si256(v, in));
        most = _mm256_max_epu8(most, _mm256_and_si256(_mm256_add_epi8(v, one), in));
    }
    return (struct part_range){ least_of(least), (uint8_t)~least_of(_mm256_xor_si256(most, ones)),
                                (uint8_t)~least_of(_mm256_xor_si256(top, ones)) };
}

#endif
