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
    struct gemm g = { m, n, k, a, a_row, a_col, b, n, c, c_row };

    assert_non_null(before);
    memcpy(before, c, (size_t)((m + 1) * c_row) * sizeof *c);
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
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            for (size_t k = 0; k < ARRAY_LEN(inner); k++)
                check_shape(&rng, rows[i], cols[(i + k) % ARRAY_LEN(cols)], inner[k], (i + k) & 1);
        }
    }
    simd_force(simd_best());
}

static void a_transposed_matrix_is_padded_with_zeros(void **state)
{
    enum { ROWS = 21, COLS = 37, COLS_PAD = 48, ROWS_PAD = 32 };
    float *to = malloc(sizeof *to * COLS * ROWS_PAD);
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 2);
    float *from = drawn(&rng, ROWS * COLS_PAD);
    assert_non_null(to);
    gemm_transpose(from, ROWS, COLS, COLS_PAD, to, ROWS_PAD);
    for (int j = 0; j < COLS; j++) {
        for (int i = 0; i < ROWS_PAD; i++) {
            float want = i < ROWS ? from[i * COLS_PAD + j] : 0.0f;
            assert_memory_equal(&to[j * ROWS_PAD + i], &want, sizeof want);
        }
    }
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_instructions_gives_the_chain_of_fused_products),
        cmocka_unit_test(a_transposed_matrix_is_padded_with_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
