/* test_linalg.c - factor, solves and inverse against the products that define them, over random matrices of every size up
 * to 40, padded strides included; a matrix without full rank still factors. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "base/simd.h"
#include "search/samplers/gp/linalg.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { STRIDE = 44, MAX_N = 40 };

enum { MATRIX = MAX_N * STRIDE };

static double a[MATRIX], l[MATRIX];
static float u[MATRIX], inverse[MATRIX], work[MATRIX]; /* in blocks */

/* The order of sums that linalg.h promises: four interleaved partial sums, the rest to the first. */
static double plain_dot(const double *x, const double *y, int n)
{
    double s[4] = { 0 };
    int whole = n / 4 * 4;

    for (int i = 0; i < n; i++)
        s[i < whole ? i % 4 : 0] += x[i] * y[i];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* a = b b' + ridge I with b of `rank` columns; l = its factor. */
static void factored(struct rng *r, int n, int rank, double ridge)
{
    static double b[MAX_N * STRIDE];

    for (int i = 0; i < n; i++)
        for (int k = 0; k < rank; k++)
            b[i * STRIDE + k] = rng_normal(r);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = i == j ? ridge : 0;
            for (int k = 0; k < rank; k++)
                sum += b[i * STRIDE + k] * b[j * STRIDE + k];
            a[i * STRIDE + j] = l[i * STRIDE + j] = sum;
        }
        la_cholesky_rows(l, STRIDE, i, i + 1, 1e-9);
    }
}

static void the_factor_times_its_transpose_is_the_matrix(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int n = 1; n <= MAX_N; n++) {
        factored(&r, n, n, 0.1);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                assert_true(fabs(la_dot(l + i * STRIDE, l + j * STRIDE, j + 1) -
                                 a[i * STRIDE + j]) < 1e-10 * n);
    }
}

static void solves_undo_the_matrix(void **state)
{
    double x[MAX_N], v[MAX_N];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int n = 1; n <= MAX_N; n++) {
        factored(&r, n, n, 0.5);
        for (int i = 0; i < n; i++)
            x[i] = rng_normal(&r);
        for (int i = 0; i < n; i++)
            v[i] = la_dot(a + i * STRIDE, x, n);
        la_solve_lower(l, STRIDE, 0, n / 2, v); /* in two parts */
        la_solve_lower(l, STRIDE, n / 2, n, v);
        la_solve_lower_transposed(l, STRIDE, n, v);
        for (int i = 0; i < n; i++)
            assert_true(fabs(v[i] - x[i]) < 1e-7);
    }
}

static float *element(float *upper, int blocks, int i, int j)
{
    return upper + la_upper_at(blocks, i / 8, j / 8) + (size_t)(i % 8 * 8 + j % 8);
}

/* u: a, filled up with the unit matrix to whole blocks. Returns the number of blocks in a row. */
static int upper_of(int n)
{
    int blocks = (n + 7) / 8;

    for (int i = 0; i < 8 * blocks; i++)
        for (int j = i / 8 * 8; j < 8 * blocks; j++)
            *element(u, blocks, i, j) = i < n && j < n ? (float)a[i * STRIDE + j] : i == j;
    return blocks;
}

/* In single precision, in shares of the largest number: the condition of these matrices is below
 * 2,000. */
static void upper_factors_and_inverses_undo_the_matrix(void **state)
{
    float v[8 * MAX_N] = { 0 }, w[8 * MAX_N];
    double x[MAX_N] = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int n = 1; n <= MAX_N; n++) {
        factored(&r, n, n, 0.5);
        int blocks = upper_of(n);
        la_upper_factor(u, blocks, 1e-6F);
        for (int i = 0; i < n; i++)
            for (int j = i / 8 * 8; j < n; j++)
                assert_true(fabs((double)*element(u, blocks, i, j) -
                                 (j < i ? 0 : l[j * STRIDE + i])) < 1e-3);
        for (int i = 0; i < n; i++)
            x[i] = rng_normal(&r);
        for (int i = 0; i < 8 * blocks; i++)
            v[i] = i < n ? (float)la_dot(a + i * STRIDE, x, n) : 0;
        la_upper_inverse(u, blocks, work, inverse);
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += (double)*element(inverse, blocks, MIN(i, j), MAX(i, j)) * (double)v[j];
            assert_true(fabs(sum - x[i]) < 5e-3);
        }
        la_upper_solve(u, blocks, v);
        la_transposed_times(work, blocks, v, w);
        for (int i = 0; i < 8 * blocks; i++)
            assert_true(fabs((double)w[i] - (i < n ? x[i] : 0)) < 5e-3);
    }
}

static void upper_factors_have_the_same_bits_everywhere(void **state)
{
    static float kept[2][MATRIX];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int n = 1; n <= MAX_N; n += 7) {
        factored(&r, n, n, 0.5);
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            int blocks = upper_of(n);
            size_t size = la_lower_at(blocks, 0) * sizeof *u;
            la_upper_factor(u, blocks, 1e-6F);
            la_upper_inverse(u, blocks, work, inverse);
            if (level == SIMD_PLAIN) {
                memcpy(kept[0], u, size);
                memcpy(kept[1], inverse, size);
            }
            assert_memory_equal(u, kept[0], size);
            assert_memory_equal(inverse, kept[1], size);
        }
    }
    simd_force(simd_best());
}

static void a_matrix_without_full_rank_still_factors(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int n = 2; n <= MAX_N; n++) {
        factored(&r, n, n / 2, 0);
        for (int i = 0; i < n; i++)
            assert_true(l[i * STRIDE + i] > 0 && isfinite(l[i * STRIDE + i]));
    }
}

/* The order that linalg.h promises for a row: the whole fours of products are summed and taken away,
 * then the rest one by one, and what is left is multiplied by the reciprocal of the diagonal. */
static double plain_row(const double *row, const double *v, int i)
{
    int whole = i / 4 * 4;
    double rest = v[i] - plain_dot(row, v, whole);

    for (int k = whole; k < i; k++)
        rest -= row[k] * v[k];
    return rest * (1 / row[i]);
}

/* The same bits as one row after another, wherever the solve starts. */
static void rows_side_by_side_change_no_bit(void **state)
{
    double want[MAX_N], got[MAX_N];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 4);
    factored(&r, MAX_N, MAX_N, 0.5);
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (int n = 1; n <= MAX_N; n++) {
            int from = (int)rng_below(&r, (uint32_t)n);
            for (int i = 0; i < MAX_N; i++)
                want[i] = got[i] = rng_normal(&r);
            for (int i = from; i < n; i++)
                want[i] = plain_row(l + i * STRIDE, want, i);
            la_solve_lower(l, STRIDE, from, n, got);
            assert_memory_equal(got, want, sizeof want);
        }
    }
    simd_force(simd_best());
}

static void two_right_sides_are_solved_as_one_after_the_other(void **state)
{
    double want[2][MAX_N], got[2][MAX_N];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    factored(&r, MAX_N, MAX_N, 0.5);
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        for (int n = 0; n <= MAX_N; n++) {
            for (int i = 0; i < 2 * MAX_N; i++)
                want[i / MAX_N][i % MAX_N] = got[i / MAX_N][i % MAX_N] = rng_normal(&r);
            simd_force(SIMD_PLAIN);
            la_solve_lower(l, STRIDE, 0, n, want[0]);
            la_solve_lower(l, STRIDE, 0, n, want[1]);
            simd_force((enum simd_level)level);
            la_solve_lower_two(l, STRIDE, n, got[0], got[1]);
            assert_memory_equal(got, want, sizeof want);
        }
    }
    simd_force(simd_best());
}

/* A row that is solved and then ended has the bits of the factor's. */
static void a_row_is_ended_by_its_pivot(void **state)
{
    double want[STRIDE];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    factored(&r, MAX_N, MAX_N, 0.5);
    for (int i = 0; i < MAX_N; i++) {
        double *row = l + i * STRIDE;
        memcpy(want, row, sizeof want);
        memcpy(row, a + i * STRIDE, ((size_t)i + 1) * sizeof *row);
        la_solve_lower(l, STRIDE, 0, i, row);
        la_cholesky_pivot(l, STRIDE, i, 1e-9);
        assert_memory_equal(row, want, sizeof want);
        row[i] = -1;
        la_cholesky_pivot(l, STRIDE, i, 1e-9);
        assert_true(row[i] == sqrt(1e-9));
        row[i] = want[i];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_factor_times_its_transpose_is_the_matrix),
        cmocka_unit_test(solves_undo_the_matrix),
        cmocka_unit_test(upper_factors_and_inverses_undo_the_matrix),
        cmocka_unit_test(upper_factors_have_the_same_bits_everywhere),
        cmocka_unit_test(a_matrix_without_full_rank_still_factors),
        cmocka_unit_test(rows_side_by_side_change_no_bit),
        cmocka_unit_test(two_right_sides_are_solved_as_one_after_the_other),
        cmocka_unit_test(a_row_is_ended_by_its_pivot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
