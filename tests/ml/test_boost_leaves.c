/* test_boost_leaves.c - the values of leaves from sums of one pass over all rows equal those leaf by leaf, bit for bit; and
 * where this is not done. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/boost/boost.h"
#include "ml/cpu/grad.h"

#include <math.h>

enum { MOST_LEAVES = 300 };

struct grown {
    struct boost_work wk;
    struct boost_lane l;
};

/* A tree of one split into `leaves` leaves, as if nodes had many children: rows go to a leaf at random, one in `out` to
 * none; its gradients are no numbers. */
static struct grown *grown_new(int64_t rows, int leaves, uint32_t out, uint64_t seed)
{
    struct grown *t = mem_zalloc(sizeof *t);
    struct boost_work *wk = &t->wk;
    int32_t *leaf = mem_array((size_t)rows, sizeof *leaf), at = 0;
    struct rng r;

    rng_init(&r, seed, 1);
    t->l.rows = rows;
    t->l.loss = BOOST_LOGISTIC;
    t->l.p.l1 = seed % 2 ? 0.5 : 0;
    t->l.p.l2 = 1;
    wk->g = mem_array((size_t)rows, sizeof *wk->g);
    wk->h = mem_array((size_t)rows, sizeof *wk->h);
    wk->rows = mem_array((size_t)rows, sizeof *wk->rows);
    wk->spare = mem_array((size_t)rows, sizeof *wk->spare);
    wk->nodes = mem_zalloc(((size_t)leaves + 1) * sizeof *wk->nodes);
    wk->g_scale = wk->h_scale = 1024;
    wk->nodes[0].kid[0] = wk->nodes[0].kid[1] = 1;
    wk->n_nodes = leaves + 1;
    wk->n_leaves = leaves;
    for (int k = 1; k <= leaves; k++)
        wk->nodes[k] = (struct grow_node){ .kid = { -1, -1 } };
    for (int64_t i = 0; i < rows; i++) {
        leaf[i] = rng_below(&r, out) == 0 ? -1 : (int32_t)rng_below(&r, (uint32_t)leaves);
        wk->g[i] = leaf[i] < 0 ? NAN : (float)rng_normal(&r);
        wk->h[i] = leaf[i] < 0 ? NAN : (float)rng_unit(&r);
        wk->nodes[leaf[i] + 1].n += leaf[i] >= 0;
    }
    for (int k = 1; k <= leaves; at += wk->nodes[k++].n)
        wk->nodes[k].from = at;
    for (int k = 1; k <= leaves; k++)
        wk->nodes[k].n = 0;
    for (int64_t i = 0; i < rows; i++) {
        struct grow_node *nd = &wk->nodes[leaf[i] + 1];
        if (leaf[i] >= 0)
            wk->rows[nd->from + nd->n++] = (int32_t)i;
    }
    wk->n_rows = at;
    mem_free(leaf);
    return t;
}

static void grown_free(struct grown *t)
{
    mem_free(t->wk.g);
    mem_free(t->wk.h);
    mem_free(t->wk.rows);
    mem_free(t->wk.spare);
    mem_free(t->wk.nodes);
    mem_free(t);
}

static void sums_at_once_are_those_leaf_by_leaf(void **state)
{
    static const struct {
        int64_t rows;
        int leaves;
        uint32_t out;
    } cases[] = { { BOOST_SUM_ROWS * 5 / 4, 64, 6 },
                  { BOOST_SUM_ROWS * 2 - 1, GRAD_LEAVES, 3 },
                  { BOOST_SUM_ROWS + 5001, 4, 1000 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct grown *t = grown_new(cases[i].rows, cases[i].leaves, cases[i].out, i);
        assert_true(boost_loss_leaves(&t->wk, &t->l));
        for (int k = 1; k <= cases[i].leaves; k++) {
            const struct grow_node *nd = &t->wk.nodes[k];
            double want = boost_loss_leaf(&t->wk, &t->l, t->wk.rows + nd->from, nd->n),
                   got = boost_loss_step(&t->wk, &t->l, nd->sums);
            assert_memory_equal(&got, &want, sizeof got);
        }
        grown_free(t);
    }
}

static void few_rows_many_leaves_and_other_losses_go_leaf_by_leaf(void **state)
{
    struct grown *few = grown_new(BOOST_SUM_ROWS - 1, 64, UINT32_MAX, 1),
                 *many = grown_new(BOOST_SUM_ROWS + 5001, MOST_LEAVES, 1000, 1),
                 *sample = grown_new(BOOST_SUM_ROWS * 5, 64, 2, 1);

    (void)state;
    assert_false(boost_loss_leaves(&few->wk, &few->l));
    assert_false(boost_loss_leaves(&many->wk, &many->l));
    sample->wk.n_rows = BOOST_SUM_ROWS * 2; /* less than half of the table's */
    assert_false(boost_loss_leaves(&sample->wk, &sample->l));
    sample->wk.n_rows = BOOST_SUM_ROWS * 3;
    sample->l.loss = BOOST_QUANTILE;
    assert_false(boost_loss_leaves(&sample->wk, &sample->l));
    grown_free(few);
    grown_free(many);
    grown_free(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_at_once_are_those_leaf_by_leaf),
        cmocka_unit_test(few_rows_many_leaves_and_other_losses_go_leaf_by_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
