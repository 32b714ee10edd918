/* test_glm_pairs.c - products of pairs of columns and Gram matrices, narrow and wide, against plain loops; in single
 * precision to its digits. Every instruction set gives the same bits. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/glm.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 600, COLS = 150, STRIDE = 160, MOST = COLS + 16 };

static const struct kase {
    int rows, n, lines;         /* the first columns, and how many of them are paired with all */
    bool weighted, each, later; /* later: each column with those after its seven neighbours only */
} cases[] = {
    { 1, 1, 1, false, false, false },      { 7, 5, 5, true, false, false },
    { 300, 8, 3, false, false, false },    { 512, 63, 63, true, false, false },
    { 512, 64, 9, true, true, false },     { 300, 65, 65, false, false, false },
    { 512, 66, 66, true, true, false },    { 257, 150, 31, true, false, false },
    { 512, 150, 150, true, false, false }, { 400, 130, 130, true, true, true },
    { 90, 40, 40, true, true, true },
};

/* Rows of numbers, roots of their weights, and the columns of a case: every other one backwards. */
struct rig_pairs {
    float x[ROWS * STRIDE];
    double root[ROWS * 2], gram[MOST * MOST];
    int32_t rows[ROWS], col[MOST], line[MOST], which[MOST], first[MOST];
    struct glm_rows r;
    struct glm_pairs p;
};

static struct rig_pairs *rig_pairs_new(const struct kase *k)
{
    struct rig_pairs *g = calloc(1, sizeof *g);
    struct rng r;

    assert_non_null(g);
    rng_init(&r, 3, 1);
    for (int i = 0; i < ROWS; i++) {
        g->rows[i] = (i * 7) % ROWS;
        g->root[i] = 0.1 + rng_unit(&r);
        g->root[ROWS + i] = 0.1 + rng_unit(&r);
        for (int j = 0; j < COLS; j++)
            g->x[i * STRIDE + j] = (float)rng_normal(&r);
    }
    for (int j = 0; j < k->n; j++) {
        g->col[j] = j == 2 ? COLS : j;
        g->which[j] = j % 2;
    }
    for (int a = 0; a < k->lines; a++) {
        g->line[a] = a * (k->n / k->lines);
        g->first[a] = MIN(k->n, a / 7 * 7 + 7);
    }
    g->r = (struct glm_rows){
        .x = g->x, .stride = STRIDE, .cols = COLS, .lanes = 1, .rows = g->rows, .n = k->rows
    };
    g->p = (struct glm_pairs){ .col = g->col,
                               .n = k->n,
                               .line = g->line,
                               .n_lines = k->lines,
                               .first = k->later ? g->first : NULL,
                               .root = k->weighted ? g->root : NULL,

                               .roots = k->each ? 2 : 1,
                               .which = k->each ? g->which : NULL,
                               .wide = (k->n + 7) / 8 * 8 };
    return g;
}

/* The value of a column in a row of the tile. */
static double value(const struct rig_pairs *g, int64_t i, int j)
{
    double by = g->p.root ? g->p.root[i * g->p.roots + (g->p.which ? g->p.which[j] : 0)] : 1.0;

    return by * (g->col[j] < COLS ? (double)g->x[g->rows[i] * STRIDE + g->col[j]] : 1.0);
}

static void multiply(struct rig_pairs *g, bool single)
{
    double *tile = calloc(GLM_TILE * MOST, sizeof *tile);

    assert_non_null(tile);
    memset(g->gram, 0, sizeof g->gram);
    if (single)
        glm_pairs_single(&g->r, &g->p, (float *)tile, g->gram);
    else
        glm_pairs(&g->r, &g->p, tile, g->gram);
    free(tile);
}

/* What the sum of a pair may be off by its single or double precision. */
static void assert_pair(const struct rig_pairs *g, int a, int b, double share)
{
    double sum = 0, size = 0;

    for (int64_t i = 0; i < g->r.n; i++) {
        double v = value(g, i, a) * value(g, i, b);
        sum += v;
        size += fabs(v);
    }
    assert_true(fabs(g->gram[a * g->p.wide + b] - sum) <= share * size);
}

static void pairs_are_sums_of_products(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2 * ARRAY_LEN(cases); c++) {
        const struct kase *k = &cases[c / 2];
        struct rig_pairs *g = rig_pairs_new(k);
        multiply(g, c % 2);
        for (int a = 0; a < k->lines; a++) {
            int from = k->later ? g->first[a] : k->lines == k->n ? g->line[a] : 0;
            for (int j = from; j < k->n; j++)
                assert_pair(g, g->line[a], j, c % 2 ? 2e-6 : 1e-14);
        }
        free(g);
    }
}

/* Columns d and d + 1 of a Gram matrix are the target and ones. */
static double gram_value(const struct rig_pairs *g, const double *y, int64_t i, int j)
{
    int d = g->r.cols;
    double by = g->p.root ? g->root[i] : 1;

    return by * (j < d ? (double)g->x[g->rows[i] * STRIDE + j] : j == d ? y[i] : 1);
}

static void a_wide_gram_matrix_holds_target_and_ones(void **state)
{
    static const int widths[] = { 3, 61, 62, 63, 64, 70, 140 };
    double y[ROWS];

    (void)state;
    for (int i = 0; i < ROWS; i++)
        y[i] = i % 11 - 4;
    for (size_t c = 0; c < ARRAY_LEN(widths); c++) {
        struct rig_pairs *g = rig_pairs_new(&cases[c % 2 ? 8 : 5]);
        int d = g->r.cols = widths[c];
        int64_t wide = glm_gram_width(d);
        double *tile = calloc((size_t)(GLM_TILE * wide), sizeof *tile);
        assert_non_null(tile);
        glm_gram(&g->r, y, g->p.root, tile, g->gram);
        for (int64_t p = 0; p < (int64_t)(d + 2) * (d + 2); p++) {
            int a = (int)(p / (d + 2)), b = (int)(p % (d + 2));
            double sum = 0;
            for (int64_t i = 0; i < g->r.n; i++)
                sum += gram_value(g, y, i, a) * gram_value(g, y, i, b);
            assert_true(a > b || fabs(g->gram[a * wide + b] - sum) < 1e-9);
        }
        free(tile);
        free(g);
    }
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    enum simd_level best = simd_best();

    (void)state;
    if (best == SIMD_PLAIN)
        skip();
    for (size_t c = 0; c < 2 * ARRAY_LEN(cases); c++) {
        struct rig_pairs *plain = rig_pairs_new(&cases[c / 2]),
                         *fast = rig_pairs_new(&cases[c / 2]);
        simd_force(SIMD_PLAIN);
        multiply(plain, c % 2);
        simd_force(best);
        multiply(fast, c % 2);
        assert_memory_equal(plain->gram, fast->gram, sizeof plain->gram);
        free(plain);
        free(fast);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_sums_of_products),
        cmocka_unit_test(a_wide_gram_matrix_holds_target_and_ones),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
