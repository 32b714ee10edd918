/* csv_scan.c - one pass over raw text, 64 bytes at a time as bit masks: where the delimiters and
 * line feeds outside quotes are (the method of Langdale and Lemire, Parsing gigabytes of JSON per
 * second, 2019).
 *
 * Whether a byte is within quotes is the parity of the quotes before it (a doubled quote flips it
 * twice), so a prefix xor answers for 64 bytes at once. Strictness is two more masks: an opening
 * quote must follow a field end or a closing quote, and a closing quote must be followed by a field
 * end or an opening one. The masks come from AVX2 where the CPU has it, else from 8-byte words; the
 * code around them is the same. Called by csv.c. */
#include "ml/read/csv_scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct masks {
    uint64_t quote, delimiter, feed, cr, nul, high;
};

/* ---- bytes to masks ---- */

/* Bit i = byte i of x is 0, by an exact test for zero bytes. */
ALWAYS_INLINE uint64_t zero_bytes(uint64_t x)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7full;
    /* 0x80 where a byte is zero */
    uint64_t z = ~(((x & low) + low) | x | low);

    return ((z >> 7) * 0x0102040810204080ull) >> 56;
}

ALWAYS_INLINE void masks_portable(struct masks *m, const uint8_t *p, uint8_t delimiter)
{
    const uint64_t ones = 0x0101010101010101ull;

    *m = (struct masks){ 0 };
    for (int i = 0; i < 8; i++) {
        uint64_t w;
        memcpy(&w, p + i * 8, sizeof(w));
        m->quote |= zero_bytes(w ^ ones * '"') << (i * 8);
        m->delimiter |= zero_bytes(w ^ ones * delimiter) << (i * 8);
        m->feed |= zero_bytes(w ^ ones * '\n') << (i * 8);
        m->cr |= zero_bytes(w ^ ones * '\r') << (i * 8);
        m->nul |= zero_bytes(w) << (i * 8);
        m->high |= (w & ones * 0x80) != 0 ? 1ull << (i * 8) : 0;
    }
}

#if defined(__x86_64__)
#define TARGET_AVX2 __attribute__((target("avx2,bmi,popcnt")))

TARGET_AVX2 ALWAYS_INLINE uint64_t equal_avx2(__m256i a, __m256i b, uint8_t c)
{
    __m256i v = _mm256_set1_epi8((char)c);

    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, v)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, v)) << 32;
}

TARGET_AVX2 ALWAYS_INLINE void masks_avx2(struct masks *m, const uint8_t *p, uint8_t delimiter)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));

    m->quote = equal_avx2(a, b, '"');
    m->delimiter = equal_avx2(a, b, delimiter);
    m->feed = equal_avx2(a, b, '\n');
    m->cr = equal_avx2(a, b, '\r');
    m->nul = equal_avx2(a, b, 0);
    m->high = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
}
#endif

/* ---- masks to places ---- */

struct state {
    /* all ones when the step before ended within quotes */
    uint64_t inside;
    uint64_t may_open;   /* bit 0: the byte before allows an opening quote */
    uint64_t must_end;   /* bit 0: the byte before was a closing quote */
    uint64_t wants_feed; /* bit 0: the byte before was a carriage return outside quotes */
};

ALWAYS_INLINE uint64_t prefix_xor(uint64_t x)
{
    for (int shift = 1; shift < 64; shift *= 2)
        x ^= x << shift;
    return x;
}

/* Of two faults in one step the first is reported. */
ALWAYS_INLINE void fault_note(struct csv_scan *s, enum csv_scan_fault fault, uint64_t where,
                              size_t at)
{
    if (!where)
        return;
    at += (size_t)__builtin_ctzll(where);
    if (s->fault == CSV_SCAN_OK || at < s->fault_at) {
        s->fault = fault;
        s->fault_at = at;
    }
}

/* Field ends outside quotes. valid: the bytes of the step that belong to the text. */
ALWAYS_INLINE uint64_t step_quotes(struct csv_scan *s, struct state *st, const struct masks *m,
                                   size_t at)
{
    uint64_t inside = prefix_xor(m->quote) ^
                      st->inside; /* the opening quote is inside, the closing one outside */
    uint64_t opens = m->quote & inside, closes = m->quote & ~inside;
    uint64_t ends = (m->delimiter | m->feed) & ~inside, crs = m->cr & ~inside;
    uint64_t may_open = (ends | closes) << 1 | st->may_open;
    uint64_t must_end = closes << 1 | st->must_end, wants_feed = crs << 1 | st->wants_feed;

    fault_note(s, CSV_SCAN_QUOTE_OPEN, opens & ~may_open, at);
    fault_note(s, CSV_SCAN_QUOTE_CLOSE, must_end & ~(ends | opens | crs), at);
    fault_note(s, CSV_SCAN_CR, wants_feed & ~(m->feed & ~inside), at);
    s->has_quotes = s->has_quotes || m->quote;
    s->has_escapes = s->has_escapes || (opens & must_end);
    st->inside = (uint64_t)((int64_t)inside >> 63);
    st->may_open = (ends | closes) >> 63;
    st->must_end = closes >> 63;
    st->wants_feed = crs >> 63;
    return ends;
}

ALWAYS_INLINE uint64_t step_plain(struct csv_scan *s, struct state *st, const struct masks *m,
                                  size_t at)
{
    uint64_t ends = m->delimiter | m->feed;

    if (m->cr | st->wants_feed) {
        fault_note(s, CSV_SCAN_CR, (m->cr << 1 | st->wants_feed) & ~m->feed, at);
        st->wants_feed = m->cr >> 63;
    }
    st->may_open = ends >> 63;
    return ends;
}

/* Eight places are written at a time, needed or not: the branch of the loop is then nearly always
 * predicted right. FIRST gives the place of the lowest bit, and anything for 0. */
#define ENDS_PUT_BODY(FIRST)                                     \
    do {                                                         \
        unsigned n = (unsigned)__builtin_popcountll(ends);       \
        uint32_t *out = s->ends + s->n_ends;                     \
        for (unsigned done = 0; done < n; done += 8, out += 8) { \
            for (int i = 0; i < 8; i++) {                        \
                out[i] = (uint32_t)at + (uint32_t)FIRST(ends);   \
                ends &= ends - 1;                                \
            }                                                    \
        }                                                        \
        s->n_ends += n;                                          \
    } while (0)

ALWAYS_INLINE uint64_t first_portable(uint64_t bits)
{
    return (uint64_t)__builtin_ctzll(bits | 1ull << 63);
}

ALWAYS_INLINE void put_portable(struct csv_scan *s, uint64_t ends, size_t at)
{
    ENDS_PUT_BODY(first_portable);
}

#if defined(__x86_64__)
TARGET_AVX2 ALWAYS_INLINE void put_avx2(struct csv_scan *s, uint64_t ends, size_t at)
{
    ENDS_PUT_BODY(_tzcnt_u64);
}
#endif

/* Returns the ends of fields. */
ALWAYS_INLINE uint64_t step(struct csv_scan *s, struct state *st, const struct masks *m,
                            uint64_t valid, size_t at)
{
    uint64_t ends;

    fault_note(s, CSV_SCAN_NUL, m->nul & valid, at);
    if (m->quote | st->inside | st->must_end)
        ends = step_quotes(s, st, m, at);
    else
        ends = step_plain(s, st, m, at);
    s->has_high = s->has_high || m->high;
    s->n_lines += (size_t)__builtin_popcountll(ends & m->feed);
    s->n_feeds += (size_t)__builtin_popcountll(m->feed);
    return ends;
}

ALWAYS_INLINE void masks_cut(struct masks *m, uint64_t valid)
{
    m->quote &= valid, m->delimiter &= valid, m->feed &= valid, m->cr &= valid;
}

static void scan_begin(struct csv_scan *s, struct state *st)
{
    uint32_t *ends = s->ends;
    size_t cap = s->cap_ends;

    *s = (struct csv_scan){ .ends = ends, .cap_ends = cap };
    *st = (struct state){ .may_open = 1 };
}

/* Bytes past the end of the text must not count as what follows a quote or a carriage return. */
static void scan_end(struct csv_scan *s, const struct state *st, size_t n)
{
    s->in_quotes = st->inside != 0;
    if (s->fault != CSV_SCAN_OK && s->fault_at >= n)
        s->fault = CSV_SCAN_OK;
}

#define SCAN_BODY(MASKS, PUT)                                       \
    do {                                                            \
        struct state st;                                            \
        struct masks m;                                             \
        size_t at = 0;                                              \
        scan_begin(s, &st);                                         \
        for (; at + 64 <= n && s->fault == CSV_SCAN_OK; at += 64) { \
            MASKS(&m, text + at, (uint8_t)delimiter);               \
            PUT(s, step(s, &st, &m, ~0ull, at), at);                \
        }                                                           \
        if (at < n && s->fault == CSV_SCAN_OK) {                    \
            uint64_t valid = ~0ull >> (64 - (n - at));              \
            MASKS(&m, text + at, (uint8_t)delimiter);               \
            masks_cut(&m, valid);                                   \
            PUT(s, step(s, &st, &m, valid, at), at);                \
        }                                                           \
        scan_end(s, &st, n);                                        \
    } while (0)

void csv_scan_portable(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter)
{
    SCAN_BODY(masks_portable, put_portable);
}

#if defined(__x86_64__)
TARGET_AVX2 static void scan_avx2(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter)
{
    SCAN_BODY(masks_avx2, put_avx2);
}
#endif

void csv_scan(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("popcnt")) {
        scan_avx2(s, text, n, delimiter);
        return;
    }
#endif
    csv_scan_portable(s, text, n, delimiter);
}

/* ---- UTF-8 ---- */

static bool is_tail(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* Length of the valid sequence at p (with `left` bytes); 0 = none. No surrogates, no overlong
 * forms, at most U+10FFFF. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
    uint8_t c = p[0];

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    if (c < 0xe0)
        return left >= 2 && is_tail(p[1]) ? 2 : 0;
    if (c < 0xf0) {
        if (left < 3 || !is_tail(p[1]) || !is_tail(p[2]) || (c == 0xe0 && p[1] < 0xa0) ||
            (c == 0xed && p[1] > 0x9f))
            return 0;
        return 3;
    }
    if (left < 4 || !is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3]) ||
        (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
        return 0;
    return 4;
}

size_t csv_utf8_fault(const uint8_t *text, size_t n)
{
    const uint64_t top = 0x8080808080808080ull;
    size_t i = 0;

    while (i < n) {
        uint64_t w[4];
        if (n - i >= sizeof(w)) {
            memcpy(w, text + i, sizeof(w));
            if (((w[0] | w[1] | w[2] | w[3]) & top) == 0) {
                i += sizeof(w);
                continue;
            }
            size_t k = 0;
            while ((w[k] & top) == 0)
                k++;
            i += k * 8 + (size_t)__builtin_ctzll(w[k] & top) / 8;
        }
        size_t len = utf8_sequence(text + i, n - i);
        if (len == 0)
            return i;
        i += len;
    }
    return n;
}
