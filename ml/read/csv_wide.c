/* csv_wide.c - the usual numbers of a column in vectors of AVX2.
 *
 * A field is loaded by its last 8 or 16 bytes, and what stands before the field is masked away. Its
 * digits are then right-aligned, so that the same multiplications give every field its value: pairs
 * of digits, pairs of those, and so on (Mula's method). Whether a group of fields is of the usual
 * form is one test for all of it; a group that is not is left to csv_col.c, which takes it row by
 * row and gives the same bits. Values are exact: whole numbers in integers, decimals as one division
 * of two exact doubles (csv_num.c). Called by csv_col.c. */
#include "ml/read/csv_wide.h"

#include "base/simd.h"
#include "ml/cells/csv_num.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2        __attribute__((target("avx2")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

/* A field: its length, and the place behind its last byte. */
struct field {
    const char *end;
    uint32_t n;
};

/* The field whose end is ends[0], without its quotes and its carriage return. */
AVX2_INLINE struct field field_at(const char *text, const uint32_t *ends, bool has_quotes,
                                  bool is_last)
{
    uint32_t from = ends[-1] + 1, to = ends[0];

    if (is_last && to > from && text[to - 1] == '\r')
        to--;
    if (has_quotes && text[from] == '"')
        from++, to--;
    return (struct field){ text + to, to - from };
}

AVX2_INLINE __m256i same(__m256i x, char c)
{
    return _mm256_cmpeq_epi8(x, _mm256_set1_epi8(c));
}

/* All ones where a byte of x, which is text - '0', is at most 9. */
AVX2_INLINE __m256i digits_in(__m256i x)
{
    return _mm256_cmpeq_epi8(_mm256_min_epu8(x, _mm256_set1_epi8(9)), x);
}

/* Digits by fours: 32 bytes to 8 numbers below 10,000. */
AVX2_INLINE __m256i fours(__m256i digits)
{
    __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(1 << 8 | 10));

    return _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 100));
}

/* Two vectors of fours to eights; per half: those of a, then those of b. */
AVX2_INLINE __m256i eights(__m256i a, __m256i b)
{
    return _mm256_madd_epi16(_mm256_packus_epi32(a, b), _mm256_set1_epi32(1 << 16 | 10000));
}

/* ---- whole numbers ---- */

enum { INTS = 8 };

/* keep[n]: the last n of 8 bytes. Longer fields are refused by their length. */
static const uint64_t keep[16] = {
    0,
    0xff00000000000000,
    0xffff000000000000,
    0xffffff0000000000,
    0xffffffff00000000,
    0xffffffffff000000,
    0xffffffffffff0000,
    0xffffffffffffff00,
    0xffffffffffffffff,
};

AVX2_INLINE __m128i last_bytes_of_two(struct field a, struct field b)
{
    __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)(a.end - 8));
    __m128i m = _mm_loadl_epi64((const __m128i *)(const void *)(keep + (a.n & 15)));

    x = _mm_castpd_si128(
        _mm_loadh_pd(_mm_castsi128_pd(x), (const double *)(const void *)(b.end - 8)));
    m = _mm_castpd_si128(
        _mm_loadh_pd(_mm_castsi128_pd(m), (const double *)(const void *)(keep + (b.n & 15))));
    return _mm_and_si128(x, m);
}

AVX2_INLINE __m256i last_bytes(struct field a, struct field b, struct field c, struct field d)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(last_bytes_of_two(a, b)),
                                   last_bytes_of_two(c, d), 1);
}

/* Four fields: what is none of their bytes (0), their minus signs, and bytes that speak against the
 * usual form. */
struct ints_seen {
    __m256i none, minus, wrong, digits;
};

AVX2_INLINE struct ints_seen ints_see(__m256i x)
{
    const __m256i top = _mm256_set1_epi64x((int64_t)0xff00000000000000);
    struct ints_seen s = { .none = same(x, 0), .minus = same(x, '-') };
    __m256i from_zero = _mm256_sub_epi8(x, _mm256_set1_epi8('0')), is_digit = digits_in(from_zero);
    /* a byte whose byte before is none, or lies in another field, is the first */
    __m256i first = _mm256_or_si256(_mm256_slli_epi64(s.none, 8), _mm256_set1_epi64x(0xff));
    __m256i after_minus = _mm256_slli_epi64(s.minus, 8);
    __m256i lone_minus = _mm256_and_si256(s.minus, top);
    __m256i bad_minus = _mm256_or_si256(_mm256_andnot_si256(first, s.minus), lone_minus);
    /* a first digit 0 with others after it, or a sign before it, as in "007" and "-0" */
    __m256i lead = _mm256_or_si256(_mm256_andnot_si256(top, first), after_minus);
    __m256i bad_zero = _mm256_and_si256(same(x, '0'), lead);
    __m256i known = _mm256_or_si256(_mm256_or_si256(s.none, s.minus), is_digit);

    s.wrong = _mm256_or_si256(_mm256_or_si256(bad_minus, bad_zero),
                              _mm256_xor_si256(known, _mm256_set1_epi8(-1)));
    s.digits = _mm256_and_si256(from_zero, is_digit);
    return s;
}

/* Eight fields; false = at least one is of another form. */
AVX2_INLINE bool ints_group(const char *text, const uint32_t *ends, int64_t step, bool has_quotes,
                            bool is_last, int32_t *out)
{
    struct field f[INTS];
    uint32_t lengths = 0;

    for (int i = 0; i < INTS; i++) {
        f[i] = field_at(text, ends + i * step, has_quotes, is_last);
        lengths |= f[i].n + 7;
    }
    struct ints_seen a = ints_see(last_bytes(f[0], f[1], f[4], f[5]));
    struct ints_seen b = ints_see(last_bytes(f[2], f[3], f[6], f[7]));
    __m256i wrong = _mm256_or_si256(a.wrong, b.wrong);
    if (lengths > 15 || !_mm256_testz_si256(wrong, wrong))
        return false;
    __m256i v = eights(fours(a.digits), fours(b.digits)), zero = _mm256_setzero_si256();
    __m256i plus = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi64(a.minus, zero)),
                          _mm256_castsi256_ps(_mm256_cmpeq_epi64(b.minus, zero)), 0x88));
    __m256i high_none = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a.none), _mm256_castsi256_ps(b.none), 0xdd));
    __m256i minus = _mm256_xor_si256(plus, _mm256_set1_epi8(-1));
    v = _mm256_sub_epi32(_mm256_xor_si256(v, minus), minus);
    v = _mm256_blendv_epi8(v, _mm256_set1_epi32(FRAME_INT_MISSING),
                           _mm256_srai_epi32(high_none, 31));
    _mm256_storeu_si256((__m256i *)(void *)out, v);
    return true;
}

AVX2_INLINE int64_t ints_run(const struct csv_run *run, int32_t *out, bool has_quotes, bool is_last)
{
    const char *text = run->rows->text;
    const uint32_t *ends = run->rows->ends + run->at;
    int64_t k = 0;

    while (k + INTS <= run->n &&
           ints_group(text, ends + k * run->step, run->step, has_quotes, is_last, out + k))
        k += INTS;
    return k;
}

/* ---- decimals ---- */

enum { DOUBLES = 4, LONGEST = 16 };

/* 16 bytes from `n` on keep the last n of 16. */
static const uint8_t keep_last[2 * LONGEST] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

/* 16 bytes from 15 - p on move the bytes before byte p one up, over it: they are p + 1 times "one
 * less than my place", then "my place". Both are made by adding the place. */
static const uint8_t one_less[2 * LONGEST] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
};

AVX2_INLINE __m256i two_halves(const void *low, const void *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* Two fields as bits, 16 a field: what they hold and where. */
struct two {
    __m256i fours;
    uint32_t minus, zeros, first, point;
    /* digits after the point */
    unsigned part[2];
    bool fits;
};

AVX2_INLINE struct two two_see(struct field a, struct field b)
{
    const __m256i place = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i x = _mm256_and_si256(two_halves(a.end - LONGEST, b.end - LONGEST),
                                 two_halves(keep_last + a.n, keep_last + b.n));
    __m256i from_zero = _mm256_sub_epi8(x, _mm256_set1_epi8('0')), is_digit = digits_in(from_zero);
    uint32_t digits = (uint32_t)_mm256_movemask_epi8(is_digit);
    struct two t = { .minus = (uint32_t)_mm256_movemask_epi8(same(x, '-')),
                     .zeros = (uint32_t)_mm256_movemask_epi8(same(x, '0')),
                     .point = (uint32_t)_mm256_movemask_epi8(same(x, '.')) };
    uint32_t none = (uint32_t)_mm256_movemask_epi8(same(x, 0));
    uint32_t low = t.point & 0xffff, high = t.point >> 16;

    /* the lowest byte of each field */
    t.first = 1u << (LONGEST - a.n) | 1u << 16 << (LONGEST - b.n);
    /* One point a field, with a digit on both sides; a minus sign only in front. */
    t.fits = low && high && !(low & (low - 1)) && !(high & (high - 1)) && !(t.point & 0x80018001) &&
             !(t.point & ~(digits << 1)) && !(t.point & ~(digits >> 1)) && !(t.minus & ~t.first) &&
             (digits | t.minus | t.point | none) == UINT32_MAX;
    unsigned at_low = (unsigned)__builtin_ctz(low | 0x8000),
             at_high = (unsigned)__builtin_ctz(high | 0x8000);
    t.part[0] = 15 - at_low;
    t.part[1] = 15 - at_high;
    __m256i move = _mm256_add_epi8(place, two_halves(one_less + t.part[0], one_less + t.part[1]));
    t.fours = fours(_mm256_shuffle_epi8(_mm256_and_si256(from_zero, is_digit), move));
    return t;
}

/* Bit 0 and 1: the field's text is not what "%.15g" gives, as far as it is seen from the digits
 * alone: a zero at the end, or needless ones in front. */
AVX2_INLINE unsigned two_odd(const struct two *t)
{
    uint32_t lead = (t->first & ~t->minus) | (t->first & t->minus) << 1;
    uint32_t odd = (t->zeros & 0x80008000) | (t->zeros & lead & ~(t->point >> 1));

    return (odd & 0xffff ? 1u : 0) | (odd >> 16 ? 2u : 0);
}

AVX2_INLINE unsigned two_minus(const struct two *t)
{
    return (t->minus & 0xffff ? 1u : 0) | (t->minus >> 16 ? 2u : 0);
}

/* Four fields; false = at least one is of another form. *odd: a bit for each spelling that must be
 * kept. */
AVX2_INLINE bool doubles_group(const struct field f[DOUBLES], double *out, unsigned *odd)
{
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256d sign = _mm256_set1_pd(-0.0), scale = _mm256_setr_pd(1e8, 1, 1e8, 1);
    /* fields 0 and 2, and 1 and 3, so that the halves of `eights` hold neighbours */
    struct two even = two_see(f[0], f[2]), uneven = two_see(f[1], f[3]);

    if (!even.fits || !uneven.fits)
        return false;
    __m256i e = eights(even.fours, uneven.fours);
    __m256d low = _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(e)), scale);
    __m256d high = _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(e, 1)), scale);
    __m256d whole = _mm256_permute4x64_pd(_mm256_hadd_pd(low, high), 0xd8);
    __m256d v =
        _mm256_div_pd(whole, _mm256_setr_pd(csv_tens[even.part[0]], csv_tens[uneven.part[0]],
                                            csv_tens[even.part[1]], csv_tens[uneven.part[1]]));
    unsigned small =
        (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(v, _mm256_set1_pd(0.0001), _CMP_LT_OQ));
    unsigned o = two_odd(&even), u = two_odd(&uneven), m = two_minus(&even), n = two_minus(&uneven);
    *odd = small | (o & 1) | (u & 1) << 1 | (o & 2) << 1 | (u & 2) << 2;
    int64_t minus = (m & 1) | (n & 1) << 1 | (m & 2) << 1 | (n & 2) << 2;
    __m256i is_minus = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(minus), bits), bits);
    v = _mm256_xor_pd(v, _mm256_and_pd(_mm256_castsi256_pd(is_minus), sign));
    _mm256_storeu_pd(out, v);
    return true;
}

AVX2_INLINE int64_t doubles_run(struct csv_col *col, const struct csv_run *run, int64_t place,
                                bool has_quotes, bool is_last)
{
    const uint32_t *ends = run->rows->ends + run->at;
    int64_t k = 0;

    for (; k + DOUBLES <= run->n; k += DOUBLES) {
        struct field f[DOUBLES];
        unsigned odd = 0;
        bool is_long = false;
        for (int i = 0; i < DOUBLES; i++) {
            f[i] = field_at(run->rows->text, ends + (k + i) * run->step, has_quotes, is_last);
            is_long |= f[i].n - 3 > LONGEST - 3;
        }
        if (is_long || !doubles_group(f, col->doubles + place + k, &odd))
            break;
        for (odd = col->note ? 0 : odd; odd; odd &= odd - 1) {
            int i = __builtin_ctz(odd);
            csv_col_odd(col, place + k + i, f[i].end - f[i].n, f[i].n);
        }
    }
    return k;
}

#define PICK(CALL, ...)                                                                    \
    (run->rows->has_quotes                                                                 \
         ? (run->is_last ? CALL(__VA_ARGS__, true, true) : CALL(__VA_ARGS__, true, false)) \
         : (run->is_last ? CALL(__VA_ARGS__, false, true) : CALL(__VA_ARGS__, false, false)))

AVX2 static int64_t wide_ints(const struct csv_run *run, int32_t *out)
{
    return PICK(ints_run, run, out);
}

AVX2 static int64_t wide_doubles(struct csv_col *col, const struct csv_run *run, int64_t place)
{
    return PICK(doubles_run, col, run, place);
}

/* The very first field of a text has no end before it. */
static bool may_be_wide(const struct csv_run *run)
{
    return run->at > 0 && !run->rows->is_single && simd_level() >= SIMD_AVX2;
}

int64_t csv_wide_ints(struct csv_col *col, const struct csv_run *run, int64_t place)
{
    return may_be_wide(run) ? wide_ints(run, col->ints + place) : 0;
}

int64_t csv_wide_doubles(struct csv_col *col, const struct csv_run *run, int64_t place)
{
    return may_be_wide(run) ? wide_doubles(col, run, place) : 0;
}

#else

int64_t csv_wide_ints(struct csv_col *col, const struct csv_run *run, int64_t place)
{
    (void)col, (void)run, (void)place;
    return 0;
}

int64_t csv_wide_doubles(struct csv_col *col, const struct csv_run *run, int64_t place)
{
    (void)col, (void)run, (void)place;
    return 0;
}

#endif
