/* test_chol.c - the Cholesky factor whose lines come and go: solutions against the matrix itself, by plain loops; every
 * instruction set gives the same bits. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/chol.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 210, WIDE = 224 };

/* The matrix, the lines that the factor holds now, and the factor. */
struct rig_chol {
    double a[MOST * MOST], r[MOST * WIDE];
    int in[MOST];
    struct chol c;
};

static struct rig_chol *rig_chol_new(uint64_t seed)
{
    struct rig_chol *g = calloc(1, sizeof *g);
    double *x = malloc(2 * MOST * MOST * sizeof *x);
    struct rng r;

    rng_init(&r, seed, 1);
    for (int i = 0; i < 2 * MOST * MOST; i++)
        x[i] = rng_normal(&r);
    for (int i = 0; i < MOST; i++) {
        for (int j = 0; j < MOST; j++) {
            for (int k = 0; k < 2 * MOST; k++)
                g->a[i * MOST + j] += x[k * MOST + i] * x[k * MOST + j];
        }
    }
    free(x);
    g->c = (struct chol){ .r = g->r, .wide = WIDE };
    return g;
}

static bool take(struct rig_chol *g, int from, int more)
{
    int64_t n = g->c.n;

    for (int j = 0; j < more; j++)
        g->in[n + j] = from + j;
    for (int64_t i = 0; i < n + more; i++) {
        for (int64_t j = MAX(i, n); j < n + more; j++)
            g->r[i * WIDE + j] = g->a[g->in[i] * MOST + g->in[j]];
    }
    return chol_append(&g->c, more, 1e-10);
}

static void drop(struct rig_chol *g, int q)
{
    double scratch[MOST];

    chol_delete(&g->c, q, scratch);
    memmove(g->in + q, g->in + q + 1, (size_t)(g->c.n - q) * sizeof *g->in);
}

static void assert_solves(const struct rig_chol *g)
{
    double x[MOST];
    int n = (int)g->c.n;

    for (int i = 0; i < n; i++)
        x[i] = i % 5 - 1.7;
    chol_solve(&g->c, x);
    for (int i = 0; i < n; i++) {
        double sum = 0, want = i % 5 - 1.7;
        for (int j = 0; j < n; j++)
            sum += g->a[g->in[i] * MOST + g->in[j]] * x[j];
        assert_true(fabs(sum - want) < 1e-9);
    }
}

static void lines_come_and_go(void **state)
{
    static const int sizes[] = { 0, 1, 3, 8, 63, 64, 65, 130, 200 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct rig_chol *g = rig_chol_new(i + 1);
        assert_true(take(g, 0, sizes[i]));
        assert_solves(g);
        assert_true(take(g, sizes[i], 7));
        assert_solves(g);
        drop(g, 0);
        drop(g, (int)g->c.n / 2);
        drop(g, (int)g->c.n - 1);
        assert_solves(g);
        assert_true(take(g, sizes[i] + 7, 1));
        assert_solves(g);
        free(g);
    }
}

static void a_singular_matrix_is_told(void **state)
{
    struct rig_chol *g = rig_chol_new(1);

    (void)state;
    for (int i = 0; i < MOST; i++)
        g->a[i * MOST + 90] = g->a[i * MOST + 20];
    memcpy(g->a + 90 * MOST, g->a + 20 * MOST, MOST * sizeof *g->a);
    assert_true(take(g, 0, 90));
    assert_false(take(g, 90, 5));
    free(g);
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    enum simd_level best = simd_best();
    struct rig_chol *g[2];

    (void)state;
    if (best == SIMD_PLAIN)
        skip();
    for (int i = 0; i < 2; i++) {
        simd_force(i ? best : SIMD_PLAIN);
        g[i] = rig_chol_new(9);
        assert_true(take(g[i], 0, 150));
        drop(g[i], 31);
        assert_true(take(g[i], 150, 21));
    }
    for (int64_t i = 0; i < g[0]->c.n; i++)
        assert_memory_equal(g[0]->r + i * WIDE + i, g[1]->r + i * WIDE + i,
                            (size_t)(g[0]->c.n - i) * sizeof(double));
    free(g[0]);
    free(g[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_and_go),
        cmocka_unit_test(a_singular_matrix_is_told),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
