/* rows.c - ranges and left sums of 64 columns at once over the rows of a node (rows.h).
 *
 * Sums run in bytes, 64 columns in one vector, because a byte sum adds 64 columns in one
 * instruction and a 32-bit sum only 16. `room` counts how much weight the byte sums can still take;
 * before it runs out they are added to the 32-bit sums. A row that weighs more than 255 is added on
 * its own. */
#include "ml/cpu/rows.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <string.h>

/* AHEAD: rows between a prefetch and its use. BYTE_ROOM: the largest sum that a byte holds. HALF:
 * bytes of a register of AVX2. */
enum { AHEAD = 32, BYTE_ROOM = 255, HALF = 32 };

/* A vector of 64 bytes, and the same at any address. */
typedef uint8_t bytes __attribute__((vector_size(ROWS_WIDE)));
typedef uint8_t any_bytes __attribute__((vector_size(ROWS_WIDE), aligned(1), may_alias));
/* and half as many, because gcc compares vectors wider than the CPU's registers byte by byte */
typedef uint8_t half __attribute__((vector_size(HALF)));
typedef uint8_t any_half __attribute__((vector_size(HALF), aligned(1), may_alias));

/* The line of the node's i-th row. */
SIMD_BODY const uint8_t *line_of(const struct row_list *r, int64_t i)
{
    return r->lines + r->rows[i] * r->pitch;
}

/* Prefetches the row AHEAD places after row i; at the end of the list, the last one. */
SIMD_BODY void fetch(const struct row_list *r, int64_t i)
{
    if (r->is_far)
        __builtin_prefetch(line_of(r, i + AHEAD < r->n ? i + AHEAD : r->n - 1));
}

SIMD_BODY uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

SIMD_BODY uint8_t greater(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

/* 1 + bin wraps to 0 for a missing value (255), so that the maximum of it leaves missing values
 * out. */
SIMD_BODY void range_four(const uint8_t *restrict a, const uint8_t *restrict b,
                          const uint8_t *restrict c, const uint8_t *restrict d,
                          struct rows_range *restrict out)
{
    for (int j = 0; j < ROWS_WIDE; j++) {
        uint8_t low = lesser(lesser(a[j], b[j]), lesser(c[j], d[j])),
                high = greater(greater(a[j], b[j]), greater(c[j], d[j])),
                up = greater(greater((uint8_t)(a[j] + 1), (uint8_t)(b[j] + 1)),
                             greater((uint8_t)(c[j] + 1), (uint8_t)(d[j] + 1)));
        out->least[j] = lesser(low, out->least[j]);
        out->top[j] = greater(high, out->top[j]);
        out->most[j] = greater(up, out->most[j]);
    }
}

/* Four rows at a time, so that the result goes through memory seldom. Where fewer are left, a row
 * is repeated: its range does not change. */
SIMD_BODY void rows_range_body(const struct row_list *from, struct rows_range *out)
{
    const struct row_list r = *from;

    memset(out, 0, sizeof *out);
    memset(out->least, 255, sizeof out->least);
    for (int64_t i = 0; i < r.n; i += 4) {
        for (int k = 0; k < 4; k++)
            fetch(&r, i + k);
        range_four(line_of(&r, i), line_of(&r, MIN(i + 1, r.n - 1)),
                   line_of(&r, MIN(i + 2, r.n - 1)), line_of(&r, MIN(i + 3, r.n - 1)), out);
    }
}

SIMD_KERNEL(rows_range, (const struct row_list *r, struct rows_range *out), (r, out))

/* Adds the byte sums to the 32-bit sums. */
SIMD_BODY void pour(uint32_t *to, const uint8_t *from)
{
    for (int j = 0; j < ROWS_WIDE; j++)
        to[j] += from[j];
}

/* Adds one row whose weight does not fit into a byte. */
SIMD_BODY void heavy(uint32_t *to, const uint8_t *line, const uint8_t *cut, uint32_t weight)
{
    for (int j = 0; j < ROWS_WIDE; j++)
        to[j] += line[j] <= cut[j] ? weight : 0;
}

/* Adds rows from i on to byte sums while their weights have room: n of the weights, s of those of
 * class 1 where `is_two`, which is a constant. Returns the first row that was not added. This form
 * is for AVX-512. */
SIMD_BODY int64_t add_wide(const struct row_list *r, int64_t i, const uint8_t *cuts, bool is_two,
                           int *room, uint8_t *n, uint8_t *s)
{
    bytes cut = *(const any_bytes *)cuts, weight = { 0 }, ones = { 0 };

    for (int w; i < r->n && (w = (int)(r->words[i] & 0xffff)) <= *room; i++) {
        *room -= w;
        fetch(r, i);
        bytes is_left = (bytes)(*(const any_bytes *)line_of(r, i) <= cut);
        weight += is_left & (uint8_t)w;
        if (is_two)
            ones += is_left & (uint8_t)(r->words[i] >> 32);
    }
    memcpy(n, &weight, sizeof weight);
    if (is_two)
        memcpy(s, &ones, sizeof ones);
    return i;
}

/* The same for shorter registers. */
SIMD_BODY int64_t add_halves(const struct row_list *r, int64_t i, const uint8_t *cuts, bool is_two,
                             int *room, uint8_t *n, uint8_t *s)
{
    half low = *(const any_half *)cuts, high = *(const any_half *)(cuts + HALF);
    half weight = { 0 }, weight_high = { 0 }, ones = { 0 }, ones_high = { 0 };

    for (int w; i < r->n && (w = (int)(r->words[i] & 0xffff)) <= *room; i++) {
        const uint8_t *line = line_of(r, i), one = (uint8_t)(r->words[i] >> 32);
        *room -= w;
        fetch(r, i);
        half is_left = (half)(*(const any_half *)line <= low);
        half is_left_high = (half)(*(const any_half *)(line + HALF) <= high);
        weight += is_left & (uint8_t)w;
        weight_high += is_left_high & (uint8_t)w;
        if (is_two) {
            ones += is_left & one;
            ones_high += is_left_high & one;
        }
    }
    memcpy(n, &weight, sizeof weight);
    memcpy(n + HALF, &weight_high, sizeof weight_high);
    if (is_two) {
        memcpy(s, &ones, sizeof ones);
        memcpy(s + HALF, &ones_high, sizeof ones_high);
    }
    return i;
}

/* s is written only where `is_two`, which is a constant. */
SIMD_BODY void rows_left(const struct row_list *from, const uint8_t *cuts, uint32_t *n, uint32_t *s,
                         bool is_two)
{
    const struct row_list r = *from;
    bool is_wide = simd_level() == SIMD_AVX512;
    uint8_t weight[ROWS_WIDE], ones[ROWS_WIDE];
    int64_t i = 0;

    memset(n, 0, ROWS_WIDE * sizeof *n);
    if (is_two)
        memset(s, 0, ROWS_WIDE * sizeof *s);
    while (i < r.n) {
        int room = BYTE_ROOM;
        i = is_wide ? add_wide(&r, i, cuts, is_two, &room, weight, ones)
                    : add_halves(&r, i, cuts, is_two, &room, weight, ones);
        pour(n, weight);
        if (is_two)
            pour(s, ones);
        if (room < BYTE_ROOM || i == r.n)
            continue;
        heavy(n, line_of(&r, i), cuts, (uint32_t)(r.words[i] & 0xffff));
        if (is_two)
            heavy(s, line_of(&r, i), cuts, (uint32_t)(r.words[i] >> 32));
        i++;
    }
}

SIMD_BODY void rows_left_two_body(const struct row_list *r, const uint8_t *cut, uint32_t *n,
                                  uint32_t *s)
{
    rows_left(r, cut, n, s, true);
}

SIMD_BODY void rows_left_one_body(const struct row_list *r, const uint8_t *cut, uint32_t *n)
{
    rows_left(r, cut, n, n, false);
}

SIMD_KERNEL(rows_left_two, (const struct row_list *r, const uint8_t *cut, uint32_t *n, uint32_t *s),
            (r, cut, n, s))
SIMD_KERNEL(rows_left_one, (const struct row_list *r, const uint8_t *cut, uint32_t *n), (r, cut, n))
