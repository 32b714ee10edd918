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

static void products_are_those_of_plain_loops_on_every_instruction_set(void **state)
{
    static struct made m;
    static float in[ROWS * STRIDE], forth[ROWS * STRIDE], back[COLS * STRIDE];
    static float want_forth[ROWS * STRIDE], want_back[COLS * STRIDE];
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
        memset(forth, 0, sizeof forth);
        memset(back, 0, sizeof back);
        sparse_times(&m.x, in, STRIDE, forth, STRIDE);
        sparse_transposed_times(&m.x, in, STRIDE, back, STRIDE);
        assert_memory_equal(forth, want_forth, sizeof forth);
        assert_memory_equal(back, want_back, sizeof back);
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
