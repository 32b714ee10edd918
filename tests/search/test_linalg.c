/* test_linalg.c - factor, solves and inverse against the products that define them, over random matrices of every size up
 * to 40, padded strides included; a matrix without full rank still factors. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "base/simd.h"
#include "search/samplers/gp/linalg.h"

#include <math.h>
#include <stdbool.h>

enum { STRIDE = 44, MAX_N = 40 };

enum { MATRIX = MAX_N * STRIDE };

static double a[MATRIX], l[MATRIX], u[MATRIX], inverse[MATRIX], work[MATRIX];

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
        la_cholesky_row(l, STRIDE, i, 1e-9);
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

/* u: the upper triangle of a, filled up with the unit matrix to whole blocks of 8. Returns the size. */
static int upper_of(int n)
{
    int whole = (n + 7) / 8 * 8;

    for (int i = 0; i < whole; i++)
        for (int j = i; j < whole; j++)
            u[i * STRIDE + j] = i < n && j < n ? a[i * STRIDE + j] : i == j;
    return whole;
}

static void upper_factors_and_inverses_undo_the_matrix(void **state)
{
    double x[MAX_N] = { 0 }, v[MAX_N] = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int n = 1; n <= MAX_N; n++) {
        factored(&r, n, n, 0.5);
        int whole = upper_of(n);
        la_upper_factor(u, STRIDE, whole, 1e-9);
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++)
                assert_true(fabs(u[i * STRIDE + j] - l[j * STRIDE + i]) < 1e-8);
        for (int i = 0; i < whole; i++)
            x[i] = i < n ? rng_normal(&r) : 0;
        for (int i = 0; i < whole; i++)
            v[i] = i < n ? la_dot(a + i * STRIDE, x, n) : 0;
        la_upper_inverse(u, STRIDE, whole, work, inverse);
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += inverse[MIN(i, j) * STRIDE + MAX(i, j)] * v[j];
            assert_true(fabs(sum - x[i]) < 1e-7);
        }
        la_upper_solve(u, STRIDE, whole, v);
        la_upper_solve_back(u, STRIDE, whole, v);
        for (int i = 0; i < whole; i++)
            assert_true(fabs(v[i] - x[i]) < 1e-7);
    }
}

/* Whether the upper triangles of u and inverse are what was kept; the first time they are kept. */
static bool is_as_kept(int whole, double *kept, bool is_first)
{
    bool is_same = true;

    for (int i = 0; i < whole; i++) {
        for (int j = i; j < whole; j++) {
            double *at = kept + (size_t)(2 * (i * STRIDE + j));
            at[0] = is_first ? u[i * STRIDE + j] : at[0];
            at[1] = is_first ? inverse[i * STRIDE + j] : at[1];
            is_same = is_same && at[0] == u[i * STRIDE + j] && at[1] == inverse[i * STRIDE + j];
        }
    }
    return is_same;
}

static void upper_factors_have_the_same_bits_everywhere(void **state)
{
    static double kept[2 * MATRIX];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int n = 1; n <= MAX_N; n += 7) {
        factored(&r, n, n, 0.5);
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            int whole = upper_of(n);
            la_upper_factor(u, STRIDE, whole, 1e-9);
            la_upper_inverse(u, STRIDE, whole, work, inverse);
            assert_true(is_as_kept(whole, kept, level == SIMD_PLAIN));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_factor_times_its_transpose_is_the_matrix),
        cmocka_unit_test(solves_undo_the_matrix),
        cmocka_unit_test(upper_factors_and_inverses_undo_the_matrix),
        cmocka_unit_test(upper_factors_have_the_same_bits_everywhere),
        cmocka_unit_test(a_matrix_without_full_rank_still_factors),
        cmocka_unit_test(rows_side_by_side_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
