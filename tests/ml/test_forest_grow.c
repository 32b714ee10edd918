/* test_forest_grow.c - trees of a forest against plain routing and exhaustive search, over random tables of every kind of
 * target, with missing values and categories; and what makes free axes exact: a smaller depth or a larger split size is
 * the same tree, cut. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/part.h"
#include "ml/cpu/simd.h"
#include "ml/forest/forest.h"

#include <math.h>
#include <string.h>

enum { COLS = 6, STRIDE = 16, MAX_ROWS = 700 };

struct table {
    uint8_t by_row[MAX_ROWS * STRIDE + 64], is_categorical[COLS];
    int n_bins[COLS];
    int32_t at[MAX_ROWS], y[MAX_ROWS];
    struct rf_data d;
};

/* Columns 0, 1 numbers, 2 numbers with missing values, 3 a category of five levels with missing ones, 4 constant, 5 all missing. */
static struct table *table_new(uint64_t seed, int rows, int n_classes)
{
    struct table *t = mem_zalloc(sizeof *t);
    struct rng r;

    rng_init(&r, seed, 1);
    for (int i = 0; i < rows; i++) {
        uint8_t *x = t->by_row + (size_t)i * STRIDE;
        x[0] = (uint8_t)rng_below(&r, 200);
        x[1] = (uint8_t)rng_below(&r, 7);
        x[2] = rng_below(&r, 4) ? (uint8_t)rng_below(&r, 90) : RF_MISSING;
        x[3] = rng_below(&r, 9) ? (uint8_t)rng_below(&r, 5) : RF_MISSING;
        x[4] = 3;
        x[5] = RF_MISSING;
        int signal = (x[0] > 90) + (x[2] < 40) + (x[3] == 1 || x[3] == 4) + (int)rng_below(&r, 2);
        t->y[i] = n_classes ? signal % n_classes : signal * 1000 + (int)rng_below(&r, 500) - 700;
        t->at[i] = i;
    }
    static const int n_bins[COLS] = { 200, 7, 90, 5, 4, 1 };
    memcpy(t->n_bins, n_bins, sizeof n_bins);
    t->is_categorical[3] = 1;
    t->d = (struct rf_data){ .by_row = t->by_row,
                             .stride = STRIDE,
                             .at = t->at,
                             .rows = rows,
                             .cols = COLS,
                             .n_bins = t->n_bins,
                             .is_categorical = t->is_categorical,
                             .n_classes = n_classes,
                             .y = t->y };
    return t;
}

static struct rf_params whole(enum rf_criterion c)
{
    return (struct rf_params){ .criterion = c,
                               .max_samples = 1,
                               .n_visit = COLS,
                               .max_depth = 1000,
                               .min_split = 2,
                               .min_leaf = 1 };
}

static struct rf_tree grow(const struct table *t, const struct rf_params *p, uint64_t seed,
                           int number)
{
    struct err err = { 0 };
    struct rf_tree tree;
    struct rf_work *w = rf_work_new(&t->d, p, &err);

    assert_non_null(w);
    assert_int_equal(rf_grow(w, seed, number, NULL, &tree), 1);
    rf_work_free(w);
    return tree;
}

static bool goes_left(const struct rf_tree *t, const struct rf_node *nd, const uint8_t *x)
{
    uint8_t b = x[nd->col];

    if (nd->set >= 0)
        return t->sets[nd->set][b >> 6] >> (b & 63) & 1;
    return b == RF_MISSING ? nd->missing_left : b <= nd->bin;
}

struct kind {
    int n_classes;
    enum rf_criterion criterion;
};
static const struct kind kinds[] = {
    { 2, RF_GINI }, { 2, RF_ENTROPY }, { 3, RF_GINI }, { 3, RF_ENTROPY }, { 0, RF_SQUARED },
};

/* ---- rows and values ---- */

static void check_node(const struct table *t, const struct rf_tree *tree, int at, const bool *in)
{
    const struct rf_node *nd = &tree->nodes[at];
    double count[3] = { 0 }, sum = 0, n = 0;
    bool left[MAX_ROWS] = { 0 }, right[MAX_ROWS] = { 0 };

    for (int i = 0; i < t->d.rows; i++) {
        if (!in[i])
            continue;
        n++;
        sum += t->y[i];
        count[t->d.n_classes ? t->y[i] : 0]++;
        bool is_left = nd->left && goes_left(tree, nd, t->by_row + (size_t)i * STRIDE);
        left[i] = is_left;
        right[i] = !is_left;
    }
    assert_true(n > 0);
    assert_int_equal(nd->rows, (int)n);
    if (t->d.n_classes == 0)
        assert_true(tree->values[at] == (float)(sum / n));
    else if (t->d.n_classes == 2)
        assert_true(tree->values[at] == (float)(count[1] / n));
    for (int k = 0; t->d.n_classes == 3 && k < 3; k++)
        assert_true(tree->values[at * 3 + k] == (float)(count[k] / n));
    if (nd->left) {
        assert_true(nd->left > at);
        check_node(t, tree, nd->left, left);
        check_node(t, tree, nd->left + 1, right);
    }
}

static void every_node_holds_the_rows_that_are_routed_to_it_and_their_mean(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const struct kind *k = &kinds[seed % ARRAY_LEN(kinds)];
        struct table *t = table_new(seed, 1 + (int)(seed * 17 % MAX_ROWS), k->n_classes);
        struct rf_params p = whole(k->criterion);
        bool all[MAX_ROWS];
        p.is_extra = seed & 1;
        p.n_visit = 1 + (int)(seed % COLS);
        p.min_leaf = 1 + (int)(seed % 3);
        struct rf_tree tree = grow(t, &p, seed, 0);
        memset(all, 1, sizeof all);
        check_node(t, &tree, 0, all);
        rf_tree_fini(&tree);
        mem_free(t);
    }
}

/* ---- the best split ---- */

static double plain_score(const struct table *t, enum rf_criterion c, const bool *in, bool side,
                          const bool *is_left)
{
    double count[3] = { 0 }, sum = 0, n = 0, score = 0;

    for (int i = 0; i < t->d.rows; i++) {
        if (in[i] && is_left[i] == side) {
            n++;
            sum += t->y[i];
            count[t->d.n_classes ? t->y[i] : 0]++;
        }
    }
    if (n < 1)
        return -INFINITY;
    if (c == RF_SQUARED)
        return sum * sum / n;
    for (int k = 0; k < t->d.n_classes; k++)
        score += c == RF_GINI   ? count[k] * count[k] / n
                 : count[k] > 0 ? count[k] * log(count[k] / n)
                                : 0;
    return score;
}

static double pair_of(const struct table *t, enum rf_criterion c, const bool *in,
                      const bool *is_left)
{
    return plain_score(t, c, in, true, is_left) + plain_score(t, c, in, false, is_left);
}

/* Every cut of every number with missing values on both sides; every subset of the category's levels. */
static double exhaustive(const struct table *t, enum rf_criterion c, const bool *in)
{
    double best = -INFINITY;
    bool left[MAX_ROWS];

    for (int col = 0; col < COLS; col++) {
        int choices = t->is_categorical[col] ? 64 : 2 * t->n_bins[col];
        for (int k = 0; k < choices; k++) {
            for (int i = 0; i < t->d.rows; i++) {
                uint8_t b = t->by_row[(size_t)i * STRIDE + (size_t)col];
                int level = b == RF_MISSING ? 5 : b;
                left[i] = t->is_categorical[col] ? k >> level & 1
                          : b == RF_MISSING      ? k & 1
                                                 : b <= k / 2;
            }
            best = fmax(best, pair_of(t, c, in, left));
        }
    }
    return best;
}

static void the_root_is_split_as_well_as_exhaustive_search_can(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        const struct kind *k = &kinds[seed % ARRAY_LEN(kinds)];
        struct table *t = table_new(seed + 100, 40 + (int)(seed * 7), k->n_classes);
        struct rf_params p = whole(k->criterion);
        bool all[MAX_ROWS], left[MAX_ROWS], none[MAX_ROWS] = { 0 };
        p.max_depth = 1;
        struct rf_tree tree = grow(t, &p, seed, 0);
        memset(all, 1, sizeof all);
        for (int i = 0; i < t->d.rows; i++)
            left[i] = goes_left(&tree, &tree.nodes[0], t->by_row + (size_t)i * STRIDE);
        double got = pair_of(t, k->criterion, all, left), best = exhaustive(t, k->criterion, all);
        double own = plain_score(t, k->criterion, all, false, none);
        assert_int_equal(tree.n, 3);
        assert_true(got <= best + 1e-9 * fabs(best));
        /* Of three classes the subsets of a category are searched along one order only. */
        if (k->n_classes != 3 || tree.nodes[0].set < 0)
            assert_true(got >= best - 1e-9 * fabs(best) || k->n_classes == 3);
        assert_true(fabs(tree.nodes[0].gain - (got - own) / (double)t->d.rows) <=
                    1e-4 * fabs(got - own) / (double)t->d.rows + 1e-6);
        rf_tree_fini(&tree);
        mem_free(t);
    }
}

static void two_rows_of_two_classes_part_wherever_they_differ(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct kind *k = &kinds[seed % 4];
        struct table *t = table_new(seed, 2, k->n_classes);
        struct rf_params p = whole(k->criterion);
        bool differ = memcmp(t->by_row, t->by_row + STRIDE, COLS) != 0, all[MAX_ROWS] = { 1, 1 };
        t->y[0] = (int32_t)(seed & 1);
        t->y[1] = 1 - t->y[0];
        p.is_extra = seed & 8;
        p.n_visit = 1 + (int)(seed % COLS);
        p.min_leaf = 1 + (seed % 7 == 6);
        struct rf_tree tree = grow(t, &p, seed, 0);
        assert_int_equal(tree.n, differ && p.min_leaf == 1 ? 3 : 1);
        check_node(t, &tree, 0, all);
        if (tree.n == 3)
            assert_true(fabs((double)tree.nodes[0].gain -
                             (k->criterion == RF_GINI ? 0.5 : log(2.0))) < 1e-6);
        rf_tree_fini(&tree);
        mem_free(t);
    }
}

/* ---- free axes ---- */

static void check_is_cut(const struct rf_tree *small, int a, const struct rf_tree *large, int b,
                         const struct rf_params *p, int outputs)
{
    const struct rf_node *x = &small->nodes[a], *y = &large->nodes[b];

    assert_int_equal(x->rows, y->rows);
    assert_memory_equal(small->values + a * outputs, large->values + b * outputs,
                        (size_t)outputs * sizeof(float));
    if (y->depth >= p->max_depth || y->rows < p->min_split || !y->left) {
        assert_int_equal(x->left, 0);
        return;
    }
    assert_true(x->left > 0);
    assert_true(x->col == y->col && x->bin == y->bin && x->gain == y->gain &&
                (x->set < 0) == (y->set < 0));
    check_is_cut(small, x->left, large, y->left, p, outputs);
    check_is_cut(small, x->left + 1, large, y->left + 1, p, outputs);
}

static void a_smaller_depth_or_larger_split_size_is_the_same_tree_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        const struct kind *k = &kinds[seed % ARRAY_LEN(kinds)];
        struct table *t = table_new(seed + 200, MAX_ROWS, k->n_classes);
        struct rf_params p = whole(k->criterion);
        p.is_extra = seed & 1;
        p.is_bootstrap = seed & 2;
        p.max_samples = seed & 4 ? 0.7 : 1;
        p.n_visit = 2;
        struct rf_tree large = grow(t, &p, seed, 3);
        p.max_depth = 2 + (int)(seed % 5);
        p.min_split = 2 + (int)(seed % 4) * 9;
        struct rf_tree small = grow(t, &p, seed, 3);
        check_is_cut(&small, 0, &large, 0, &p, rf_outputs(&t->d));
        rf_tree_fini(&small);
        rf_tree_fini(&large);
        mem_free(t);
    }
}

static void trees_differ_by_number_and_seed_and_by_nothing_else(void **state)
{
    struct table *t = table_new(5, MAX_ROWS, 2);
    struct rf_params p = whole(RF_GINI);

    (void)state;
    p.is_bootstrap = true;
    p.n_visit = 2;
    struct rf_tree a = grow(t, &p, 1, 0), b = grow(t, &p, 1, 0), c = grow(t, &p, 1, 1),
                   d = grow(t, &p, 2, 0);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.values, b.values, (size_t)a.n * sizeof *a.values);
    assert_true(a.n != c.n || memcmp(a.values, c.values, (size_t)a.n * sizeof *a.values) != 0);
    assert_true(a.n != d.n || memcmp(a.values, d.values, (size_t)a.n * sizeof *a.values) != 0);
    rf_tree_fini(&a);
    rf_tree_fini(&b);
    rf_tree_fini(&c);
    rf_tree_fini(&d);
    mem_free(t);
}

static void every_instruction_set_grows_the_same_tree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const struct kind *k = &kinds[seed % ARRAY_LEN(kinds)];
        struct table *t = table_new(seed + 300, MAX_ROWS, k->n_classes);
        struct rf_params p = whole(k->criterion);
        p.is_extra = seed & 1;
        p.is_bootstrap = seed & 2;
        p.n_visit = 2;
        struct rf_tree best = grow(t, &p, seed, 0);
        for (int level = 0; level < (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            struct rf_tree tree = grow(t, &p, seed, 0);
            assert_int_equal(tree.n, best.n);
            assert_memory_equal(tree.nodes, best.nodes, (size_t)tree.n * sizeof *tree.nodes);
            rf_tree_fini(&tree);
        }
        simd_force(simd_best());
        rf_tree_fini(&best);
        mem_free(t);
    }
}

/* Rows in lines and rows by columns, best cuts and random ones, with few and many classes. */
static void a_narrow_table_grows_the_same_tree_by_columns(void **state)
{
    static const int classes[] = { 2, 3, 2, 7, 40 };

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct table *t =
            table_new(seed + 900, seed % 3 ? MAX_ROWS : 1 + (int)seed, classes[seed % 5]);
        struct rf_params p = whole(seed % 4 < 2 ? RF_GINI : RF_ENTROPY);
        for (int i = 0; i < t->d.rows && t->d.n_classes > 3; i++)
            t->y[i] = (t->y[i] * 11 + i % 5) % t->d.n_classes;
        p.is_extra = seed & 1;
        p.is_bootstrap = seed % 3;
        p.n_visit = 1 + (int)(seed % 4);
        p.min_leaf = seed % 7 ? 1 : 4;
        p.max_depth = seed % 11 ? 1000 : 5;
        part_force(false);
        struct rf_tree lines = grow(t, &p, seed, 0);
        part_force(true);
        struct rf_tree columns = grow(t, &p, seed, 0);
        part_unforce();
        assert_int_equal(columns.n, lines.n);
        assert_int_equal(columns.n_sets, lines.n_sets);
        assert_memory_equal(columns.nodes, lines.nodes, (size_t)lines.n * sizeof *lines.nodes);
        assert_memory_equal(columns.values, lines.values,
                            (size_t)lines.n * (size_t)rf_outputs(&t->d) * sizeof *lines.values);
        for (int i = 0; i < lines.n_sets; i++)
            assert_memory_equal(columns.sets[i], lines.sets[i], sizeof lines.sets[i]);
        rf_tree_fini(&lines);
        rf_tree_fini(&columns);
        mem_free(t);
    }
}

static void a_table_that_tells_nothing_is_one_leaf(void **state)
{
    (void)state;
    for (int rows = 1; rows < 5; rows++) {
        struct table *t = table_new(9, rows, 2);
        struct rf_params p = whole(RF_GINI);
        t->d.cols = 1; /* the constant column */
        for (int i = 0; i < rows; i++)
            t->by_row[(size_t)i * STRIDE] = 3;
        struct rf_tree tree = grow(t, &p, 1, 0);
        assert_int_equal(tree.n, 1);
        p.is_extra = true;
        rf_tree_fini(&tree);
        tree = grow(t, &p, 1, 0);
        assert_int_equal(tree.n, 1);
        rf_tree_fini(&tree);
        mem_free(t);
    }
}

/* A clock that passes the deadline at its n-th reading. */
static int64_t reading(void *ctx)
{
    return --*(int *)ctx <= 0;
}

/* One piece of work between two stops, over and over: a tree that began again could not end. */
static void a_stopped_tree_goes_on_to_the_same(void **state)
{
    struct table *t = table_new(7, MAX_ROWS, 3);
    struct rf_params p = whole(RF_GINI);
    struct err err = { 0 };
    struct rf_tree tree, plain = grow(t, &p, 3, 1);
    struct rf_work *w = rf_work_new(&t->d, &p, &err);
    int rc = 0, stops = 0;

    (void)state;
    for (; rc == 0; stops++) {
        int left = 2;
        struct ml_stop stop = { .now_us = reading, .ctx = &left, .deadline_us = 1 };
        rc = rf_grow(w, 3, 1, &stop, &tree);
        assert_true(rc == 1 || (!tree.nodes && !tree.values && !tree.sets));
    }
    assert_true(stops > 1);
    assert_int_equal(tree.n, plain.n);
    assert_memory_equal(tree.values, plain.values, (size_t)tree.n * 3 * sizeof(float));
    rf_work_free(w);
    rf_tree_fini(&tree);
    rf_tree_fini(&plain);
    mem_free(t);
}

static void another_tree_drops_the_half_grown_one(void **state)
{
    struct table *t = table_new(8, MAX_ROWS, 2);
    struct rf_params p = whole(RF_GINI);
    struct err err = { 0 };
    struct rf_tree tree, first = grow(t, &p, 3, 1), second = grow(t, &p, 3, 2), none;
    struct rf_work *w = rf_work_new(&t->d, &p, &err);
    int left = 2;
    struct ml_stop stop = { .now_us = reading, .ctx = &left, .deadline_us = 1 };

    (void)state;
    assert_int_equal(rf_grow(w, 3, 1, &stop, &tree), 0);
    assert_int_equal(rf_grow(w, 3, 2, NULL, &tree), 1);
    assert_int_equal(tree.n, second.n);
    assert_memory_equal(tree.nodes, second.nodes, (size_t)tree.n * sizeof *tree.nodes);
    rf_recycle(w, &tree);
    assert_null(tree.nodes);
    assert_int_equal(rf_grow(w, 3, 1, NULL, &tree), 1);
    assert_int_equal(tree.n, first.n);
    assert_memory_equal(tree.nodes, first.nodes, (size_t)tree.n * sizeof *tree.nodes);
    left = 2;
    assert_int_equal(rf_grow(w, 3, 4, &stop, &none), 0); /* freed with the work space */
    rf_work_free(w);
    rf_tree_fini(&tree);
    rf_tree_fini(&first);
    rf_tree_fini(&second);
    mem_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_holds_the_rows_that_are_routed_to_it_and_their_mean),
        cmocka_unit_test(the_root_is_split_as_well_as_exhaustive_search_can),
        cmocka_unit_test(two_rows_of_two_classes_part_wherever_they_differ),
        cmocka_unit_test(a_smaller_depth_or_larger_split_size_is_the_same_tree_cut),
        cmocka_unit_test(trees_differ_by_number_and_seed_and_by_nothing_else),
        cmocka_unit_test(every_instruction_set_grows_the_same_tree),
        cmocka_unit_test(a_narrow_table_grows_the_same_tree_by_columns),
        cmocka_unit_test(a_table_that_tells_nothing_is_one_leaf),
        cmocka_unit_test(a_stopped_tree_goes_on_to_the_same),
        cmocka_unit_test(another_tree_drops_the_half_grown_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
