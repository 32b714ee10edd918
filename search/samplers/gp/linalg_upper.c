/* linalg_upper.c - upper factors in single precision, by blocks of eight rows and columns: eight
 * numbers of a row are one vector, and a block's eight rows stand side by side. A block is the sum of
 * products of blocks, one after the other, then a triangle of eight, so that nearly all of the time
 * goes to products that do not wait for each other. */
#include "search/samplers/gp/linalg.h"

#include "base/simd.h"

#include <math.h>
#include <string.h>

enum { EIGHT = 8 };

typedef la_octo octo;

/* s less a' b, of blocks a and b. */
SIMD_BODY void take_product(const float *a, const float *b, octo *s)
{
    octo s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3], s4 = s[4], s5 = s[5], s6 = s[6], s7 = s[7];

#pragma GCC unroll 8
    for (int k = 0; k < EIGHT; k++, a += EIGHT, b += EIGHT) {
        octo x = LA_OCTO(b);
        s0 -= a[0] * x;
        s1 -= a[1] * x;
        s2 -= a[2] * x;
        s3 -= a[3] * x;
        s4 -= a[4] * x;
        s5 -= a[5] * x;
        s6 -= a[6] * x;
        s7 -= a[7] * x;
    }
    s[0] = s0;
    s[1] = s1;
    s[2] = s2;
    s[3] = s3;
    s[4] = s4;
    s[5] = s5;
    s[6] = s6;
    s[7] = s7;
}

/* A block of the diagonal becomes its factor, with zeros below the diagonal; and the reciprocals of
 * the pivots. Each row waits for the one before, so the roots are only taken when all is eliminated. */
SIMD_BODY void corner_factor(octo *s, float floor, float *reciprocal)
{
    const la_octo_mask lanes = { 0, 1, 2, 3, 4, 5, 6, 7 };
    float pivot[EIGHT], root[EIGHT];

#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++) {
        pivot[r] = s[r][r] > floor ? s[r][r] : floor;
        octo share = s[r] * (1 / pivot[r]);
#pragma GCC unroll 8
        for (int q = r + 1; q < EIGHT; q++)
            s[q] -= share[q] * s[r];
    }
    for (int r = 0; r < EIGHT; r++) {
        root[r] = sqrtf(pivot[r]);
        reciprocal[r] = 1 / root[r];
    }
#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++) {
        octo row = s[r] * reciprocal[r], diagonal = (octo){ 0 } + root[r];
        s[r] = (octo)(((la_octo_mask)row & (lanes > r)) | ((la_octo_mask)diagonal & (lanes == r)));
    }
}

/* Solves with the triangle `corner`, whose diagonal has the reciprocals. */
SIMD_BODY void corner_solve(const float *corner, const float *reciprocal, octo *s)
{
#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++) {
        s[r] *= reciprocal[r];
#pragma GCC unroll 8
        for (int q = r + 1; q < EIGHT; q++)
            s[q] -= corner[r * EIGHT + q] * s[r];
    }
}

SIMD_BODY void block_load(const float *from, octo *s)
{
#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++)
        s[r] = LA_OCTO(from + r * EIGHT);
}

SIMD_BODY void block_store(const octo *s, float *to)
{
#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++)
        *(octo *)(to + r * EIGHT) = s[r];
}

SIMD_BODY void la_upper_factor_body(float *u, int n, float floor)
{
    float reciprocal[EIGHT] = { 0 };
    octo s[EIGHT];

    for (int j = 0; j < n; j++) {
        float *corner = u + la_upper_at(n, j, j);
        for (int c = j; c < n; c++) {
            float *block = corner + (size_t)(c - j) * LA_BLOCK;
            block_load(block, s);
            for (int k = 0; k < j; k++)
                take_product(u + la_upper_at(n, k, j), u + la_upper_at(n, k, c), s);
            if (c == j)
                corner_factor(s, floor, reciprocal);
            else
                corner_solve(corner, reciprocal, s);
            block_store(s, block);
        }
    }
}

SIMD_KERNEL(la_upper_factor, (float *u, int n, float floor), (u, n, floor))

SIMD_BODY void unit_block(octo *s)
{
    const la_octo_mask lanes = { 0, 1, 2, 3, 4, 5, 6, 7 };
    octo ones = { 1, 1, 1, 1, 1, 1, 1, 1 };

#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++)
        s[r] = (octo)((la_octo_mask)ones & (lanes == r));
}

/* m = U'^-1, with zeros right of the diagonal. */
SIMD_BODY void invert(const float *u, int n, float *m)
{
    float reciprocal[EIGHT] = { 0 };

    for (int i = 0; i < n; i++) {
        const float *corner = u + la_upper_at(n, i, i);
        for (int r = 0; r < EIGHT; r++)
            reciprocal[r] = 1 / corner[r * EIGHT + r];
        for (int c = 0; c <= i; c++) {
            octo s[EIGHT] = { 0 };
            if (c == i)
                unit_block(s);
            for (int k = c; k < i; k++)
                take_product(u + la_upper_at(n, k, i), m + la_lower_at(k, c), s);
            corner_solve(corner, reciprocal, s);
            block_store(s, m + la_lower_at(i, c));
        }
    }
}

/* inverse = m' m. */
SIMD_BODY void la_upper_inverse_body(const float *u, int n, float *m, float *inverse)
{
    invert(u, n, m);
    for (int i = 0; i < n; i++) {
        for (int c = i; c < n; c++) {
            octo s[EIGHT] = { 0 };
            for (int k = c; k < n; k++)
                take_product(m + la_lower_at(k, i), m + la_lower_at(k, c), s);
#pragma GCC unroll 8
            for (int r = 0; r < EIGHT; r++)
                s[r] = -s[r];
            block_store(s, inverse + la_upper_at(n, i, c));
        }
    }
}

SIMD_KERNEL(la_upper_inverse, (const float *u, int n, float *m, float *inverse), (u, n, m, inverse))

/* Eight numbers of v less block' x. */
SIMD_BODY void take_rows(const float *block, const float *x, float *v)
{
    octo sum = LA_OCTO(v);

#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++)
        sum -= x[r] * LA_OCTO(block + r * EIGHT);
    *(octo *)v = sum;
}

SIMD_BODY void la_upper_solve_body(const float *u, int n, float *v)
{
    float x[EIGHT], reciprocal[EIGHT];

    for (int i = 0; i < n; i++) {
        const float *corner = u + la_upper_at(n, i, i);
        octo left = LA_OCTO(v + i * EIGHT);
        for (int r = 0; r < EIGHT; r++)
            reciprocal[r] = 1 / corner[r * EIGHT + r];
#pragma GCC unroll 8
        for (int r = 0; r < EIGHT; r++) {
            x[r] = left[r] * reciprocal[r];
            left -= x[r] * LA_OCTO(corner + r * EIGHT);
        }
        memcpy(v + i * EIGHT, x, sizeof x);
        for (int c = i + 1; c < n; c++)
            take_rows(u + la_upper_at(n, i, c), x, v + c * EIGHT);
    }
}

SIMD_KERNEL(la_upper_solve, (const float *u, int n, float *v), (u, n, v))

SIMD_BODY void la_transposed_times_body(const float *m, int n, const float *v, float *out)
{
    float x[EIGHT];

    memset(out, 0, (size_t)n * EIGHT * sizeof *out);
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < EIGHT; r++)
            x[r] = -v[i * EIGHT + r];
        for (int c = 0; c <= i; c++)
            take_rows(m + la_lower_at(i, c), x, out + c * EIGHT);
    }
}

SIMD_KERNEL(la_transposed_times, (const float *m, int n, const float *v, float *out),
            (m, n, v, out))
