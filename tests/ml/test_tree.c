/* test_tree.c - both walks of ml/cpu/tree.h against one row followed by hand: random trees of 1 to 256 leaves with splits by
 * number, by number with missing values to the left, and by set; lengths around the blocks; every instruction set. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/simd.h"
#include "ml/cpu/tree.h"

#include <stdbool.h>

enum { COLS = 13, STRIDE = 16, ROWS = 1100, SETS = 9, LEAVES = (TREE_WIDE_NODES + 1) / 2 };

struct random_tree {
    struct tree t;
    struct tree_node nodes[TREE_WIDE_NODES];
    float values[TREE_WIDE_NODES];
    int16_t set_of[TREE_WIDE_NODES];
    uint64_t sets[SETS][4];
};

/* A random leaf is split until there are enough; kids come after their parents. */
static void tree_fill(struct random_tree *rt, struct rng *r, int leaves, bool has_sets)
{
    int depth[TREE_WIDE_NODES] = { 0 };

    memset(rt, 0, sizeof *rt);
    rt->t = (struct tree){ .n_nodes = 1,
                           .n_sets = has_sets ? SETS : 0,
                           .nodes = rt->nodes,
                           .values = rt->values,
                           .set_of = has_sets ? rt->set_of : NULL,
                           .sets = has_sets ? rt->sets : NULL };
    for (int i = 0; i < SETS * 4; i++)
        rt->sets[i / 4][i % 4] = (uint64_t)rng_u32(r) << 32 | rng_u32(r);
    rt->nodes[0].bin = 255;
    while (rt->t.n_nodes < 2 * leaves - 1) {
        int at = (int)rng_below(r, (uint32_t)rt->t.n_nodes), kid = rt->t.n_nodes;
        if (rt->nodes[at].left != at)
            continue;
        rt->nodes[at] = (struct tree_node){ .col = rng_below(r, COLS),
                                            .bin = (uint8_t)rng_below(r, 255),
                                            .add = (uint8_t)rng_below(r, 2),
                                            .left = (uint16_t)kid };
        for (int k = kid; k < kid + 2; k++) {
            rt->nodes[k] = (struct tree_node){ .bin = 255, .left = (uint16_t)k };
            depth[k] = depth[at] + 1;
            rt->t.depth = MAX(rt->t.depth, depth[k]);
        }
        rt->t.n_nodes += 2;
    }
    for (int i = 0; i < rt->t.n_nodes; i++) {
        bool is_set = has_sets && rt->nodes[i].left != i && rng_below(r, 3) == 0;
        rt->values[i] = (float)rng_normal(r);
        rt->set_of[i] = (int16_t)(is_set ? (int)rng_below(r, SETS) : -1);
    }
}

static float value_of(const struct tree *t, const uint8_t *x)
{
    int at = 0;

    while (t->nodes[at].left != at) {
        const struct tree_node *nd = &t->nodes[at];
        uint8_t v = x[nd->col];
        int set = t->n_sets ? t->set_of[at] : -1;
        bool right =
            set < 0 ? (uint8_t)(v + nd->add) > nd->bin : !(t->sets[set][v >> 6] >> (v & 63) & 1);
        at = nd->left + right;
    }
    return t->values[at];
}

static uint8_t rows_of[ROWS * STRIDE + 64], columns[COLS * ROWS];

static void rows_fill(struct rng *r)
{
    for (int i = 0; i < ROWS; i++) {
        for (int c = 0; c < COLS; c++) {
            uint8_t v = (uint8_t)(rng_below(r, 8) ? rng_below(r, 255) : 255);
            rows_of[i * STRIDE + c] = columns[c * ROWS + i] = v;
        }
    }
}

static void both_walks_end_at_the_same_leaf(void **state)
{
    static const int lengths[] = { 0, 1, 31, 511, 512, 513, ROWS };
    static struct random_tree rt;
    struct rng r;

    (void)state;
    rng_init(&r, 3, 3);
    rows_fill(&r);
    for (int trial = 0; trial < 60; trial++) {
        uint32_t most = trial / 6 % 2 ? 70 : LEAVES; /* up to 64 there is a table */
        int leaves = trial < 3 ? trial + 1 : trial < 6 ? LEAVES : 1 + (int)rng_below(&r, most);
        int64_t n = lengths[trial % (int)ARRAY_LEN(lengths)];
        tree_fill(&rt, &r, leaves, trial % 2);
        simd_force((enum simd_level)MIN(trial / 2 % 3, (int)simd_best()));
        float by_row[ROWS], by_column[ROWS];
        for (int i = 0; i < ROWS; i++)
            by_row[i] = by_column[i] = (float)i;
        tree_add(&rt.t, rows_of, STRIDE, NULL, n, by_row);
        tree_add_columns(&rt.t, columns, ROWS, n, by_column);
        for (int i = 0; i < ROWS; i++) {
            float want = i < n ? (float)i + value_of(&rt.t, rows_of + i * STRIDE) : (float)i;
            assert_true(by_row[i] == want && by_column[i] == want);
        }
    }
    simd_force(simd_best());
}

static void listed_rows_and_no_others_are_walked(void **state)
{
    static struct random_tree rt;
    int32_t rows[ROWS];
    float f[ROWS] = { 0 };
    struct rng r;
    int n = 0;

    (void)state;
    rng_init(&r, 5, 5);
    rows_fill(&r);
    tree_fill(&rt, &r, 40, true);
    for (int i = 0; i < ROWS; i++) {
        if (i % 7 == 3)
            rows[n++] = i;
    }
    tree_add(&rt.t, rows_of, STRIDE, rows, n, f);
    for (int i = 0; i < ROWS; i++)
        assert_true(f[i] == (i % 7 == 3 ? value_of(&rt.t, rows_of + i * STRIDE) : 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_walks_end_at_the_same_leaf),
        cmocka_unit_test(listed_rows_and_no_others_are_walked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
