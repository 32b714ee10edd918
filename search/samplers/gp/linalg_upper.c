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
    for (int k = 0; k < EIGHT; k++, a += EIGHT, b += EIGHT) {
        octo x = LA_OCTO(b);
        s[0] -= a[0] * x;
        s[1] -= a[1] * x;
        s[2] -= a[2] * x;
        s[3] -= a[3] * x;
        s[4] -= a[4] * x;
        s[5] -= a[5] * x;
        s[6] -= a[6] * x;
        s[7] -= a[7] * x;
    }
}

/* A block of the diagonal becomes its factor, with zeros below the diagonal; and the reciprocals of
 * the pivots. */
SIMD_BODY void corner_factor(octo *s, float floor, float *reciprocal)
{
    for (int r = 0; r < EIGHT; r++) {
        float pivot = s[r][r] > floor ? s[r][r] : floor, root = sqrtf(pivot);
        reciprocal[r] = 1 / root;
        s[r] *= reciprocal[r];
        s[r][r] = root;
        for (int q = 0; q < r; q++)
            s[r][q] = 0;
        for (int q = r + 1; q < EIGHT; q++)
            s[q] -= s[r][q] * s[r];
    }
}

/* Solves with the triangle `corner`, whose diagonal has the reciprocals. */
SIMD_BODY void corner_solve(const float *corner, const float *reciprocal, octo *s)
{
    for (int r = 0; r < EIGHT; r++) {
        s[r] *= reciprocal[r];
        for (int q = r + 1; q < EIGHT; q++)
            s[q] -= corner[r * EIGHT + q] * s[r];
    }
}

SIMD_BODY void la_upper_factor_body(float *u, int n, float floor)
{
    float reciprocal[EIGHT];
    octo s[EIGHT];

    for (int j = 0; j < n; j++) {
        float *corner = u + la_upper_at(n, j, j);
        for (int c = j; c < n; c++) {
            float *block = corner + (size_t)(c - j) * LA_BLOCK;
            memcpy(s, block, sizeof s);
            for (int k = 0; k < j; k++)
                take_product(u + la_upper_at(n, k, j), u + la_upper_at(n, k, c), s);
            if (c == j)
                corner_factor(s, floor, reciprocal);
            else
                corner_solve(corner, reciprocal, s);
            memcpy(block, s, sizeof s);
        }
    }
}

SIMD_KERNEL(la_upper_factor, (float *u, int n, float floor), (u, n, floor))

/* m = U'^-1, with zeros right of the diagonal. */
SIMD_BODY void invert(const float *u, int n, float *m)
{
    float reciprocal[EIGHT];

    for (int i = 0; i < n; i++) {
        const float *corner = u + la_upper_at(n, i, i);
        for (int r = 0; r < EIGHT; r++)
            reciprocal[r] = 1 / corner[r * EIGHT + r];
        for (int c = 0; c <= i; c++) {
            octo s[EIGHT] = { 0 };
            for (int r = 0; r < EIGHT && c == i; r++)
                s[r][r] = 1;
            for (int k = c; k < i; k++)
                take_product(u + la_upper_at(n, k, i), m + la_lower_at(k, c), s);
            corner_solve(corner, reciprocal, s);
            memcpy(m + la_lower_at(i, c), s, sizeof s);
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
            for (int r = 0; r < EIGHT; r++)
                s[r] = -s[r];
            memcpy(inverse + la_upper_at(n, i, c), s, sizeof s);
        }
    }
}

SIMD_KERNEL(la_upper_inverse, (const float *u, int n, float *m, float *inverse), (u, n, m, inverse))

/* Eight numbers of v less block' x. */
SIMD_BODY void take_rows(const float *block, const float *x, float *v)
{
    octo sum = LA_OCTO(v);

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
