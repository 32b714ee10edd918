/* test_gemm.c - the product of gemm.h is the chain of fused multiply-adds that its header promises, bit for bit, with every
 * instruction set and every shape of the tiles' edges. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/gemm.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *drawn(struct rng *rng, int64_t n)
{
    float *p = malloc((size_t)n * sizeof *p);

    assert_non_null(p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)rng_normal(rng);
    return p;
}

/* a(i, p) with A stored as it is, or transposed. */
static void check_shape(struct rng *rng, int64_t m, int64_t n, int64_t k, bool is_turned)
{
    int64_t a_row = is_turned ? 1 : k + 3, a_col = is_turned ? m + 5 : 1, c_row = n + GEMM_PAD;
    float *a = drawn(rng, (m + 5) * (k + 5) + 40), *b = drawn(rng, (k + 1) * n),
          *c = drawn(rng, (m + 1) * c_row), *before = malloc((size_t)((m + 1) * c_row) * sizeof *c);
    struct gemm g = { m, n, k, a, a_row, a_col, b, n, c, c_row, false };

    assert_non_null(before);
    memcpy(before, c, (size_t)((m + 1) * c_row) * sizeof *c);
    /* every other time in two products, of which the second goes on from the first */
    int64_t half = is_turned ? k / 2 : 0;
    g.k = k - half;
    gemm(&g);
    g.a += g.k * a_col, g.b += g.k * n, g.k = half, g.goes_on = true;
    if (half > 0)
        gemm(&g);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum = fmaf(a[i * a_row + p * a_col], b[p * n + j], sum);
            assert_memory_equal(&c[i * c_row + j], &sum, sizeof sum);
        }
        assert_memory_equal(c + i * c_row + n, before + i * c_row + n, GEMM_PAD * sizeof *c);
    }
    assert_memory_equal(c + m * c_row, before + m * c_row, (size_t)c_row * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(before);
}

static void every_set_of_instructions_gives_the_chain_of_fused_products(void **state)
{
    static const int64_t rows[] = { 0, 1, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17 },
                         inner[] = { 0, 1, 2, 37 }, cols[] = { 16, 32, 48, 80 };
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 1);
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        /* wide enough for panels to be copied, in three parts of the inner dimension; and in none */
        check_shape(&rng, 67, 272, 530, level & 1);
        check_shape(&rng, 67, 272, 0, false);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            for (size_t k = 0; k < ARRAY_LEN(inner); k++)
                check_shape(&rng, rows[i], cols[(i + k) % ARRAY_LEN(cols)], inner[k], (i + k) & 1);
        }
    }
    simd_force(simd_best());
}

static void check_transpose(struct rng *rng, int64_t rows, int64_t cols, int64_t cols_pad,
                            int64_t rows_pad)
{
    float *from = drawn(rng, rows * cols_pad), *to = drawn(rng, (cols + 1) * rows_pad),
          *after = malloc((size_t)rows_pad * sizeof *after);

    assert_non_null(after);
    memcpy(after, to + cols * rows_pad, (size_t)rows_pad * sizeof *after);
    gemm_transpose(from, rows, cols, cols_pad, to, rows_pad);
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t i = 0; i < rows_pad; i++) {
            float want = i < rows ? from[i * cols_pad + j] : 0.0f;
            assert_memory_equal(&to[j * rows_pad + i], &want, sizeof want);
        }
    }
    assert_memory_equal(to + cols * rows_pad, after, (size_t)rows_pad * sizeof *after);
    free(from);
    free(to);
    free(after);
}

static void a_transposed_matrix_is_padded_with_zeros(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 2);
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        check_transpose(&rng, 21, 37, 48, 32);
        check_transpose(&rng, 16, 24, 32, 16);
        check_transpose(&rng, 1, 1, 16, 16);
        check_transpose(&rng, 8, 7, 16, 16);
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_instructions_gives_the_chain_of_fused_products),
        cmocka_unit_test(a_transposed_matrix_is_padded_with_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
