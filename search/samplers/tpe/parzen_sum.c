/* parzen_sum.c - see parzen_sum.h. Loops of plain C for the vectoriser (base/simd.h). */
#include "search/samplers/tpe/parzen_sum.h"

#include "base/simd.h"

#include <stdint.h>
#include <string.h>

enum { FOUR = 4 };

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

#define QUAD_AT(x) (*(const quad *)(x))

/* 1 for active points, otherwise 0: a factor costs less than a comparison in the inner loop. */
SIMD_BODY void find_active(const double *x, int lanes, double *is_active)
{
    for (int c = 0; c < lanes; c++)
        is_active[c] = x[c] >= 0;
}

SIMD_BODY void sum_line(double *restrict logs, const double *restrict place,
                        const double *restrict norm, int n, const double *restrict x,
                        double inverse, int lanes)
{
    double is_active[PARZEN_BATCH];

    find_active(x, lanes, is_active);
    for (int k = 0; k < n; k++, logs += PARZEN_BATCH) {
        if (place[k] < 0)
            continue;
        for (int c = 0; c < lanes; c++) {
            double z = (x[c] - place[k]) * inverse;
            logs[c] += is_active[c] * (norm[k] - z * z / 2);
        }
    }
}

SIMD_BODY void sum_cells(double *restrict logs, const double *restrict place, int n,
                         const double *restrict table, int lanes)
{
    for (int k = 0; k < n; k++, logs += PARZEN_BATCH) {
        const double *row = table + (int)(place[k] + 1) * PARZEN_BATCH;

        for (int c = 0; c < lanes; c++)
            logs[c] += row[c];
    }
}

SIMD_BODY void set_cells(double *restrict logs, const double *restrict place, int n,
                         const double *restrict table, int lanes)
{
    for (int k = 0; k < n; k++, logs += PARZEN_BATCH) {
        const double *row = table + (int)(place[k] + 1) * PARZEN_BATCH;

        for (int c = 0; c < lanes; c++)
            logs[c] = row[c];
    }
}

/* Rows at..at+3 of the table, of four points from c on: a square of 4 x 4 is turned. */
SIMD_BODY void turn_four(const double *const *columns, int at, int c, double *table)
{
    quad a = QUAD_AT(columns[c] + at), b = QUAD_AT(columns[c + 1] + at);
    quad d = QUAD_AT(columns[c + 2] + at), e = QUAD_AT(columns[c + 3] + at);
    quad ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    quad ab_next = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    quad de = __builtin_shufflevector(d, e, 0, 4, 2, 6);
    quad de_next = __builtin_shufflevector(d, e, 1, 5, 3, 7);
    double *to = table + at * PARZEN_BATCH + c;

    *(quad *)to = __builtin_shufflevector(ab, de, 0, 1, 4, 5);
    *(quad *)(to + PARZEN_BATCH) = __builtin_shufflevector(ab_next, de_next, 0, 1, 4, 5);
    *(quad *)(to + 2 * PARZEN_BATCH) = __builtin_shufflevector(ab, de, 2, 3, 6, 7);
    *(quad *)(to + 3 * PARZEN_BATCH) = __builtin_shufflevector(ab_next, de_next, 2, 3, 6, 7);
}

/* The last four rows may be written twice. */
SIMD_BODY void parzen_turn_body(const double *const *columns, int n, double *table)
{
    for (int at = 0; at < n && n >= FOUR; at += FOUR) {
        for (int c = 0; c < PARZEN_BATCH; c += FOUR)
            turn_four(columns, at + FOUR <= n ? at : n - FOUR, c, table);
    }
    for (int at = 0; at < n && n < FOUR; at++) {
        for (int c = 0; c < PARZEN_BATCH; c++)
            table[at * PARZEN_BATCH + c] = columns[c][at];
    }
}

SIMD_BODY void sum_category(double *restrict logs, const double *restrict place, int n,
                            const double *restrict x, double same, double other, int lanes)
{
    double is_active[PARZEN_BATCH];

    find_active(x, lanes, is_active);
    for (int k = 0; k < n; k++, logs += PARZEN_BATCH) {
        if (place[k] < 0)
            continue;
#pragma GCC unroll 1
        for (int c = 0; c < lanes; c++)
            logs[c] += is_active[c] * (x[c] == place[k] ? same : other);
    }
}

SIMD_BODY void sum_top(const double *restrict logs, int n, double *restrict top, int lanes)
{
    for (int k = 0; k < n; k++, logs += PARZEN_BATCH) {
#pragma GCC unroll 1
        for (int c = 0; c < lanes; c++)
            top[c] = logs[c] > top[c] ? logs[c] : top[c];
    }
}

/* exp(x) for x in [-700, 0]: 2^k e^r with |r| <= ln 2 / 2, and the series of e^r up to r^9. It has
 * no call and no division, so that loops vectorise. */
SIMD_BODY double quick_exp(double x)
{
    const double magic = 0x1.8p52; /* adding and subtracting it rounds to an integer */
    double shifted = x * 0x1.71547652b82fep0 + magic, k = shifted - magic, scale = 0;
    double r = x - k * 0x1.62e42fefa39efp-1;
    double y =
        1 +
        r * (1 +
             r * (1.0 / 2 +
                  r * (1.0 / 6 +
                       r * (1.0 / 24 +
                            r * (1.0 / 120 +
                                 r * (1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 +
                                                                         r * (1.0 / 362880)))))))));
    uint64_t bits = 0;

    memcpy(&bits, &shifted, sizeof bits); /* the low bits hold k */
    bits = (bits + 1023) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return y * scale;
}

SIMD_BODY void sum_exp(const double *restrict logs, const double *restrict weight, int n,
                       const double *restrict top, double *restrict sum, int lanes)
{
    for (int k = 0; k < n; k++, logs += PARZEN_BATCH) {
        for (int c = 0; c < lanes; c++) {
            double d = logs[c] - top[c];
            d = d > -700 ? d : -700;
            sum[c] += weight[k] * quick_exp(d);
        }
    }
}

/* Each kernel with a number of points that the compiler knows. */
#define PARZEN_KERNEL(name, inner, params, ...) \
    SIMD_BODY void name##_body params           \
    {                                           \
        if (lanes <= PARZEN_FEW)                \
            inner(__VA_ARGS__, PARZEN_FEW);     \
        else                                    \
            inner(__VA_ARGS__, PARZEN_BATCH);   \
    }                                           \
    SIMD_KERNEL(name, params, (__VA_ARGS__, lanes))

PARZEN_KERNEL(parzen_sum_line, sum_line,
              (double *logs, const double *place, const double *norm, int n, const double *x,
               double inverse, int lanes),
              logs, place, norm, n, x, inverse)
PARZEN_KERNEL(parzen_sum_cells, sum_cells,
              (double *logs, const double *place, int n, const double *table, int lanes), logs,
              place, n, table)
PARZEN_KERNEL(parzen_set_cells, set_cells,
              (double *logs, const double *place, int n, const double *table, int lanes), logs,
              place, n, table)
PARZEN_KERNEL(parzen_sum_category, sum_category,
              (double *logs, const double *place, int n, const double *x, double same, double other,
               int lanes),
              logs, place, n, x, same, other)
PARZEN_KERNEL(parzen_sum_top, sum_top, (const double *logs, int n, double *top, int lanes), logs, n,
              top)
PARZEN_KERNEL(parzen_sum_exp, sum_exp,
              (const double *logs, const double *weight, int n, const double *top, double *sum,
               int lanes),
              logs, weight, n, top, sum)
SIMD_KERNEL(parzen_turn, (const double *const *columns, int n, double *table), (columns, n, table))
