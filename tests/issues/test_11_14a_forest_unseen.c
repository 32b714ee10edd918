/* test_11_14a_forest_unseen.c - found by hand: forests and extra trees sent what their training rows never showed to the right of
 * every split, so that a column missing only at prediction, or a new level, got the most extreme answer there is (a bias of
 * 15 where the target's deviation is 4.6). */
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/forest/forest.h"

#include <math.h>

enum { COLS = 3, STRIDE = 16, ROWS = 600, TREES = 80, LEVELS = 9, UNIT = 1000 };

struct table {
    uint8_t by_row[ROWS * STRIDE + 64], is_categorical[COLS];
    int n_bins[COLS];
    int32_t at[ROWS], y[ROWS];
    double mean; /* of y */
    struct rf_data d;
};

/* The target (in UNITs) is the value of column 0, few of which are large, the square of the level in column 1, whose last one no
 * row has, and noise from column 2. Classes: whether it is above its mean. */
static struct table *table_new(int n_classes)
{
    struct table *t = mem_zalloc(sizeof *t);
    double sum = 0;
    struct rng r;

    rng_init(&r, 11, 1);
    for (int i = 0; i < ROWS; i++) {
        uint8_t *x = t->by_row + (size_t)i * STRIDE;
        double u = rng_unit(&r);
        x[0] = (uint8_t)(99.0 * u * u * u);
        x[1] = (uint8_t)rng_below(&r, LEVELS - 1);
        x[2] = (uint8_t)rng_below(&r, 50);
        t->y[i] = UNIT * (x[0] + x[1] * x[1] + x[2] / 10);
        t->at[i] = i;
        sum += t->y[i];
    }
    t->mean = sum / ROWS;
    for (int i = 0; n_classes && i < ROWS; i++)
        t->y[i] = t->y[i] > t->mean;
    static const int n_bins[COLS] = { 100, LEVELS, 50 };
    memcpy(t->n_bins, n_bins, sizeof n_bins);
    t->is_categorical[1] = 1;
    t->d = (struct rf_data){ .by_row = t->by_row,
                             .stride = STRIDE,
                             .at = t->at,
                             .rows = ROWS,
                             .cols = COLS,
                             .n_bins = t->n_bins,
                             .is_categorical = t->is_categorical,
                             .n_classes = n_classes,
                             .y = t->y };
    return t;
}

static float routed(const struct rf_tree *t, const uint8_t *x)
{
    int at = 0;

    while (t->nodes[at].left) {
        const struct rf_node *nd = &t->nodes[at];
        uint8_t b = x[nd->col];
        bool is_left = nd->set >= 0      ? t->sets[nd->set][b >> 6] >> (b & 63) & 1
                       : b == RF_MISSING ? nd->missing_left
                                         : b <= nd->bin;
        at = nd->left + !is_left;
    }
    return t->values[at];
}

/* How far off the forest is on average when one column of the training rows reads `bin` in place of what it held; in shares of
 * what the target spreads. */
static double bias(struct table *t, bool is_extra, int col, uint8_t bin)
{
    struct rf_params p = { .criterion = t->d.n_classes ? RF_GINI : RF_SQUARED,
                           .is_extra = is_extra,
                           .is_bootstrap = !is_extra,
                           .max_samples = 1,
                           .n_visit = 2,
                           .max_depth = 64,
                           .min_split = 2,
                           .min_leaf = 1 };
    double sum = 0, mean = 0, squares = 0;
    struct err err = { 0 };
    struct rf_work *w = rf_work_new(&t->d, &p, &err);

    assert_non_null(w);
    for (int number = 0; number < TREES; number++) {
        struct rf_tree tree;
        assert_int_equal(rf_grow(w, 5, number, NULL, &tree), 1);
        for (int i = 0; i < ROWS; i++) {
            uint8_t x[STRIDE];
            memcpy(x, t->by_row + (size_t)i * STRIDE, STRIDE);
            x[col] = bin;
            sum += (double)routed(&tree, x) / TREES;
        }
        rf_tree_fini(&tree);
    }
    rf_work_free(w);
    for (int i = 0; i < ROWS; i++)
        mean += (double)t->y[i] / ROWS;
    for (int i = 0; i < ROWS; i++)
        squares += pow((double)t->y[i] - mean, 2) / ROWS;
    return fabs(sum / ROWS - mean) / sqrt(squares);
}

static void check(int col, uint8_t bin)
{
    static const int classes[] = { 0, 2 };

    for (size_t c = 0; c < ARRAY_LEN(classes); c++) {
        struct table *t = table_new(classes[c]);
        for (int is_extra = 0; is_extra < 2; is_extra++) {
            double off = bias(t, is_extra, col, bin);
            if (off > 0.25)
                fail_msg("%s of %s is off by %.2f deviations of the target",
                         is_extra ? "extra trees" : "forest", classes[c] ? "classes" : "numbers",
                         off);
        }
        mem_free(t);
    }
}

static void a_number_missing_only_at_prediction_is_not_taken_for_the_largest(void **state)
{
    (void)state;
    check(0, RF_MISSING);
}

static void a_level_that_training_never_saw_gets_no_extreme_answer(void **state)
{
    (void)state;
    check(1, LEVELS - 1);
}

static void a_level_missing_only_at_prediction_gets_no_extreme_answer(void **state)
{
    (void)state;
    check(1, RF_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_missing_only_at_prediction_is_not_taken_for_the_largest),
        cmocka_unit_test(a_level_that_training_never_saw_gets_no_extreme_answer),
        cmocka_unit_test(a_level_missing_only_at_prediction_gets_no_extreme_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
