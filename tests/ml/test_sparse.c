/* test_sparse.c - compares the products of a sparse matrix with plain loops on every instruction
 * set, bit for bit. */
#include "tests/unit.h"

#include "base/rng.h"
#include "ml/cpu/simd.h"
#include "ml/cpu/sparse.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 37, COLS = 23, STRIDE = 20 };

struct made {
    int64_t start[ROWS + 1];
    uint16_t col[ROWS * 5];
    float value[ROWS * 5];
    struct sparse x;
};

static void make(struct made *m)
{
    struct rng r;

    rng_init(&r, 3, 0);
    m->start[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        int n = (int)rng_below(&r, 6);
        m->start[i + 1] = m->start[i] + n;
        for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
            m->col[e] = (uint16_t)rng_below(&r, COLS);
            m->value[e] = (float)rng_normal(&r);
        }
    }
    m->x = (struct sparse){ ROWS, COLS, m->start, m->col, m->value };
}

/* All products with `wide` columns on this instruction set. */
static void assert_products(const struct made *m, int wide, const float *in,
                            const float *want_forth, const float *want_back)
{
    float forth[ROWS * STRIDE] = { 0 }, back[COLS * STRIDE] = { 0 }, columns[COLS * STRIDE] = { 0 };
    struct sparse_entry entry[ROWS * 5];
    int64_t start[COLS + 1];
    struct sparse_columns by = { .start = start, .entry = entry };

    sparse_columns_fill(&m->x, &by);
    assert_int_equal(by.cols, COLS);
    sparse_times(&m->x, wide, in, STRIDE, forth, STRIDE);
    sparse_transposed_times(&m->x, wide, in, STRIDE, back, STRIDE);
    sparse_columns_times(&by, wide, in, STRIDE, columns, STRIDE);
    for (int i = 0; i < ROWS; i++) {
        for (int c = 0; c < STRIDE; c++)
            assert_memory_equal(&forth[i * STRIDE + c],
                                c < wide ? &want_forth[i * STRIDE + c] : &(float){ 0 },
                                sizeof *forth);
    }
    for (int j = 0; j < COLS; j++) {
        for (int c = 0; c < STRIDE; c++) {
            const float *want = c < wide ? &want_back[j * STRIDE + c] : &(float){ 0 };
            assert_memory_equal(&back[j * STRIDE + c], want, sizeof *back);
            assert_memory_equal(&columns[j * STRIDE + c], want, sizeof *columns);
        }
    }
}

static void products_are_those_of_plain_loops_on_every_instruction_set(void **state)
{
    static struct made m;
    static float in[ROWS * STRIDE], want_forth[ROWS * STRIDE], want_back[COLS * STRIDE];
    struct rng r;

    (void)state;
    make(&m);
    rng_init(&r, 4, 0);
    for (int i = 0; i < ROWS * STRIDE; i++)
        in[i] = (float)rng_normal(&r);
    for (int i = 0; i < ROWS; i++) {
        for (int64_t e = m.start[i]; e < m.start[i + 1]; e++) {
            for (int c = 0; c < SPARSE_WIDE; c++) {
                want_forth[i * STRIDE + c] += m.value[e] * in[m.col[e] * STRIDE + c];
                want_back[m.col[e] * STRIDE + c] += m.value[e] * in[i * STRIDE + c];
            }
        }
    }
    for (enum simd_level level = SIMD_PLAIN; level <= simd_best(); level++) {
        simd_force(level);
        assert_products(&m, SPARSE_WIDE, in, want_forth, want_back);
        assert_products(&m, SPARSE_HALF, in, want_forth, want_back);
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_plain_loops_on_every_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
