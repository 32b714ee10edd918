/* test_boost_tree.c - trees as bytes: what a split gained and how many rows came to each node are kept, files from before
 * that are still read, and forged counts are refused. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "ml/boost/boost.h"

#include <math.h>

/* A split of column 1 of 3 at bin 7, its left kid split by a set, three leaves. */
static struct buf tree_by_hand(int format, uint32_t rows)
{
    struct buf b;

    buf_init(&b, 1000);
    buf_put_u32(&b, 1, NULL); /* trees */
    buf_put_u32(&b, 5, NULL); /* nodes */
    buf_put_u32(&b, 1, NULL); /* sets */
    for (int i = 0; i < 2; i++) {
        buf_put_u8(&b, i ? 2 : 1, NULL);
        buf_put_u8(&b, i ? 2 : 1, NULL);
        if (format > 1)
            buf_put_f32(&b, i ? 0.5f : 12.5f, NULL);
        if (i == 0)
            buf_put_u8(&b, 7, NULL);
        for (int w = 0; w < 4 && i; w++)
            buf_put_u64(&b, w ? 0 : 3, NULL);
    }
    for (int i = 0; i < 3; i++) {
        buf_put_u8(&b, 0, NULL);
        buf_put_f32(&b, (float)i + 1, NULL);
        if (format > 1)
            buf_put_u32(&b, i == 2 ? rows : 10u + (uint32_t)i, NULL);
    }
    return b;
}

static int load(const struct buf *b, int format, struct boost_forest *fo, struct err *err)
{
    struct view in = { (const uint8_t *)b->data, b->len, 0 };
    int rc = forest_load(fo, 1, 3, format, &in, err);

    if (rc == 0)
        assert_int_equal(in.pos, in.len);
    return rc;
}

static void gains_and_rows_come_back(void **state)
{
    struct boost_forest fo = { 0 };
    struct buf b = tree_by_hand(2, 30), again;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(load(&b, 2, &fo, &err), 0);
    const struct tree *t = &fo.trees[0];
    assert_true(t->rows[0] == 51 && t->rows[1] == 21 && t->rows[2] == 30);
    assert_true(t->rows[3] == 10 && t->rows[4] == 11);
    assert_true(t->values[0] == 12.5f && t->values[1] == 0.5f && t->values[2] == 3.0f);
    buf_init(&again, 1000);
    assert_int_equal(forest_save(&fo, 1, 3, &again, &err), 0);
    assert_int_equal(again.len, b.len);
    assert_memory_equal(again.data, b.data, b.len);
    forest_fini(&fo);
    buf_fini(&again);
    buf_fini(&b);
}

static void a_forest_of_format_1_predicts_and_knows_no_rows(void **state)
{
    const uint8_t bins[3][16] = { { 0, 8, 0 }, { 0, 7, 1 }, { 0, 0, 2 } };
    struct boost_forest fo = { 0 };
    struct buf b = tree_by_hand(1, 0);
    struct err err = { 0 };
    float f[3] = { 0 };

    (void)state;
    assert_int_equal(load(&b, 1, &fo, &err), 0);
    tree_add(&fo.trees[0], bins[0], 16, NULL, 3, f);
    assert_true(f[0] == 3 && f[1] == 1 && f[2] == 2);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fo.trees[0].rows[i], 0);
    forest_fini(&fo);
    buf_fini(&b);
}

static void more_rows_than_there_can_be_are_refused(void **state)
{
    static const uint32_t many[] = { INT32_MAX, INT32_MAX - 20, 0x80000000u, UINT32_MAX };
    struct boost_forest fo = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        struct buf b = tree_by_hand(2, many[i]);
        struct err err = { 0 };
        assert_int_equal(load(&b, 2, &fo, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        assert_non_null(strstr(err.text, "rows"));
        buf_fini(&b);
    }
    struct buf b = tree_by_hand(2, INT32_MAX - 21);
    assert_int_equal(load(&b, 2, &fo, NULL), 0);
    forest_fini(&fo);
    buf_fini(&b);
}

/* Two means, 0.5 of 4 rows and 10.5 of 6, about 6.5: the squares between them are 240, those of all rows 242.5. */
static void the_gain_of_a_split_is_the_loss_it_saves(void **state)
{
    struct rig_table *t = rig_table_new(10);
    double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];
    struct boost_lane *l;

    (void)state;
    for (int i = 0; i < 10; i++) {
        x[i] = i;
        y[i] = i < 4 ? i % 2 : 10 + i % 2;
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    family_defaults(family_find("boost"), params);
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    params[BOOST_MIN_LEAF] = 1;
    params[BOOST_L2] = 0;
    params[BOOST_LEAVES] = 2;
    struct lane lane = rig_lane(r, "boost", params, FOLD_ALL, 1);
    l = lane.state;
    const struct tree *tree = &l->forest.trees[0];
    assert_true(tree->n_nodes == 3 && tree->rows[0] == 10 && tree->rows[1] == 4 &&
                tree->rows[2] == 6);
    assert_float_equal((double)tree->values[0] * l->y_scale * l->y_scale, 240, 0.5);
    rig_lane_close("boost", &lane);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_and_rows_come_back),
        cmocka_unit_test(a_forest_of_format_1_predicts_and_knows_no_rows),
        cmocka_unit_test(more_rows_than_there_can_be_are_refused),
        cmocka_unit_test(the_gain_of_a_split_is_the_loss_it_saves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
