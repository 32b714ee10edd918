/* test_forest_trees.c - the kept trees of a forest: cut by gain and number of leaves as best-first growth by the book would have
 * grown them, written and read back, damaged. */
#include "tests/ml/forest_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/model/models.h"

#include <string.h>

/* ---- impurity and leaves ---- */

struct plain_tree {
    struct rf_tree t;
    bool is_split[4000];
};

/* Best first by the book: of all leaves that may be split, the one of largest gain, again and again. */
static void plain_best_first(struct plain_tree *p, double min_gain, int64_t max_leaves)
{
    bool is_in[4000] = { true };

    memset(p->is_split, 0, sizeof p->is_split);
    for (int64_t leaves = 1; max_leaves == 0 || leaves < max_leaves; leaves++) {
        int best = -1;
        for (int i = 0; i < p->t.n; i++) {
            const struct rf_node *nd = &p->t.nodes[i];
            bool may = is_in[i] && !p->is_split[i] && nd->left && (double)nd->gain >= min_gain;
            if (may && (best < 0 || nd->gain > p->t.nodes[best].gain))
                best = i;
        }
        if (best < 0)
            return;
        p->is_split[best] = true;
        is_in[p->t.nodes[best].left] = is_in[p->t.nodes[best].left + 1] = true;
    }
}

/* Node a of the plain tree and node b of the cut one are roots of the same. */
static void assert_same_subtree(const struct plain_tree *p, const struct rf_tree *cut, int a, int b,
                                int *n)
{
    const struct rf_node *x = &p->t.nodes[a], *y = &cut->nodes[b];

    ++*n;
    assert_int_equal(x->rows, y->rows);
    assert_true(p->t.values[a] == cut->values[b]);
    assert_int_equal(p->is_split[a], y->left != 0);
    if (!y->left)
        return;
    assert_true(x->col == y->col && x->bin == y->bin && x->gain == y->gain);
    assert_same_subtree(p, cut, x->left, y->left, n);
    assert_same_subtree(p, cut, x->left + 1, y->left + 1, n);
}

static struct rf_tree grown(const struct forest_lane *l, struct ml_data *d, int number)
{
    struct forest_work w = { 0 };
    struct err err = { 0 };
    struct rf_tree t;

    assert_int_equal(forest_work_take(&w, d, l, &err), 0);
    assert_int_equal(rf_grow(w.grow, l->seed, number, NULL, &t), 1);
    struct forest_work *heap = mem_dup(&w, sizeof w);
    forest_work_free(heap);
    return t;
}

static void cuts_by_gain_and_leaves_are_best_first_by_the_book(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct rig *r = forest_table(seed % 2 ? ML_BINARY : ML_REGRESSION, 400, seed);
        double params[FAMILY_MAX_PARAMS];
        forest_params("forest", params);
        struct lane l = rig_lane(r, "forest", params, FOLD_ALL, 0);
        struct plain_tree *p = mem_zalloc(sizeof *p);
        p->t = grown(l.state, r->d, (int)seed);
        struct rf_tree cut = grown(l.state, r->d, (int)seed);
        assert_true(p->t.n < 4000 && p->t.n > 30);
        double some_gain = (double)p->t.nodes[p->t.nodes[0].left].gain / 3;
        double min_gain = seed % 3 ? some_gain : 0;
        int64_t leaves = seed % 4 ? 1 + (int64_t)seed * 3 : 0;
        int n = 0;
        plain_best_first(p, min_gain, leaves);
        assert_int_equal(rf_tree_cut(&cut, 1, min_gain, leaves), 0);
        assert_same_subtree(p, &cut, 0, 0, &n);
        assert_int_equal(n, cut.n);
        rf_tree_fini(&cut);
        rf_tree_fini(&p->t);
        mem_free(p);
        rig_lane_close("forest", &l);
        rig_free(r);
    }
}

/* The first split of best-first growth is the root's: two leaves are depth one, bit for bit. */
static void two_leaves_are_a_depth_of_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        struct rig *r = forest_table(forest_tasks[i / 2], 300, i);
        double by_leaves[FAMILY_MAX_PARAMS], by_depth[FAMILY_MAX_PARAMS];
        forest_params(family, by_leaves);
        forest_params(family, by_depth);
        by_leaves[FOREST_MAX_LEAVES] = 2;
        by_depth[FOREST_DEPTH] = 1;
        by_depth[FOREST_MIN_SPLIT] = 2;
        struct lane a = rig_lane(r, family, by_leaves, 0, 8),
                    b = rig_lane(r, family, by_depth, 0, 8);
        assert_same_bufs(rig_lane_bytes(family, &a, 8), rig_lane_bytes(family, &b, 8));
        rig_lane_close(family, &a);
        rig_lane_close(family, &b);
        by_leaves[FOREST_MAX_LEAVES] = 0;
        by_leaves[FOREST_MIN_IMPURITY] = 1; /* more than any split can gain */
        by_depth[FOREST_DEPTH] = 1;
        by_depth[FOREST_MIN_SPLIT] = 1000;
        struct lane c = rig_lane(r, family, by_leaves, 0, 160),
                    e = rig_lane(r, family, by_depth, 0, 8);
        assert_same_bufs(rig_lane_bytes(family, &c, 160), rig_lane_bytes(family, &e, 8));
        rig_lane_close(family, &c);
        rig_lane_close(family, &e);
        rig_free(r);
    }
}

/* ---- bytes ---- */

static void bytes_read_back_are_the_tree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct rig *r = forest_table(forest_tasks[seed % 3], 500, seed);
        int k = r->d->n_outputs, cols = prep_inputs(r->d->prep);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct rf_bytes b;
        struct rf_flat f;
        forest_params("forest", params);
        struct lane l = rig_lane(r, "forest", params, FOLD_ALL, 0);
        struct rf_tree t = grown(l.state, r->d, 3);
        assert_int_equal(rf_bytes_of_tree(&t, k, &b), 0);
        assert_int_equal(rf_flat_read(&f, b.data, b.len, k, cols, true, NULL, &err), 0);
        assert_int_equal(f.n, t.n);
        for (int i = 0; i < t.n; i++) {
            const struct rf_node *nd = &t.nodes[i];
            assert_int_equal(f.rows[i], nd->rows);
            assert_int_equal(f.depth[i], nd->depth);
            assert_int_equal(f.nodes[i].left, nd->left ? nd->left : i);
            for (int c = 0, at = 0; c < k; c++) {
                const struct rf_share *s = k > 1 ? &f.shares[f.share_at[2 * i]] : NULL;
                bool is_here = s && at < (int)f.share_at[2 * i + 1] && (int)s[at].class == c;
                float v = k == 1 ? f.values[i] : is_here ? s[at].share : 0;
                at += is_here;
                assert_true(v == t.values[i * k + c]);
            }
        }
        rf_flat_fini(&f);
        mem_try_free(b.data);
        rf_tree_fini(&t);
        rig_lane_close("forest", &l);
        rig_free(r);
    }
}

/* Flipped and cut bytes are refused, or predict something; never more. */
static void damaged_models_do_no_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks); i++) {
        struct rig *r = forest_table(forest_tasks[i], 60, i);
        const struct model_ops *ops = model_find("forest");
        double params[FAMILY_MAX_PARAMS];
        struct rng rng;
        int refused = 0;
        forest_params("forest", params);
        struct lane l = rig_lane(r, "forest", params, FOLD_ALL, forest_steps(params, 2));
        struct buf b = rig_lane_bytes("forest", &l, l.steps_done);
        struct prep_view *v = prep_view_new(r->d->prep, r->frame, NULL);
        float out[60 * 4];
        rng_init(&rng, i, 5);
        for (int n = 0; n < 3000; n++) {
            struct buf bad;
            buf_init(&bad, b.len);
            assert_int_equal(buf_add(&bad, b.data, b.len, NULL), 0);
            size_t len = n % 3 ? b.len : rng_below(&rng, (uint32_t)b.len);
            for (uint32_t flips = rng_below(&rng, 3) + (n % 3 > 0); flips > 0; flips--)
                bad.data[rng_below(&rng, (uint32_t)b.len)] ^= (char)(1 << rng_below(&rng, 8));
            struct view in = { (const uint8_t *)bad.data, len, 0 };
            struct err err = { 0 };
            struct predictor *p =
                ops->predictor_load(r->d->prep, r->d->n_outputs, forest_tasks[i], &in, &err);
            refused += !p;
            assert_true(p || err.text[0]);
            if (p)
                assert_int_equal(ops->predict(p, v, 0, 60, out, &err), 0);
            ops->predictor_free(p);
            buf_fini(&bad);
        }
        assert_true(refused > 500);
        prep_view_free(v);
        buf_fini(&b);
        rig_lane_close("forest", &l);
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_by_gain_and_leaves_are_best_first_by_the_book),
        cmocka_unit_test(two_leaves_are_a_depth_of_one),
        cmocka_unit_test(bytes_read_back_are_the_tree),
        cmocka_unit_test(damaged_models_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
