/* test_shap.c - Shapley values of random trees against their definition over all subsets of columns, of long paths against
 * the sum over subset sizes, and the quadrature against powers; bits depend neither on how rows are cut into calls nor on
 * the instruction set. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/model/shap.h"
#include "ml/prep/prep.h"

#include <math.h>

enum { MAX_NODES = 1300, MAX_SETS = 700 };

struct random_tree {
    struct shap_node nodes[MAX_NODES];
    uint64_t sets[MAX_SETS][4];
    float values[MAX_NODES * 2];
    int n_nodes, n_sets;
};

struct world { /* rows of a table with missing values and levels, as a view and as bins */
    struct rig *r;
    struct prep_view *v;
    struct prep_bins b;
    int cols;
};

static void world_open(struct world *w, struct rig_table *t)
{
    struct err err = { 0 };

    w->r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    w->v = prep_view_new(w->r->d->prep, w->r->frame, &err);
    assert_non_null(w->v);
    assert_int_equal(prep_bins_make(w->v, 0, w->r->frame->rows, &w->b, &err), 0);
    w->cols = prep_inputs(w->r->d->prep);
}

static void world_close(struct world *w)
{
    prep_bins_fini(&w->b);
    prep_view_free(w->v);
    rig_free(w->r);
}

/* A tree grown by splitting random leaves; kids share the rows of their parent at random. */
static void tree_draw(struct random_tree *t, const struct world *w, int leaves, int outputs,
                      struct rng *g)
{
    *t = (struct random_tree){ .n_nodes = 1 };
    t->nodes[0].rows = 3000;
    while (t->n_nodes < 2 * leaves - 1) {
        int at = (int)rng_below(g, (uint32_t)t->n_nodes);
        struct shap_node *nd = &t->nodes[at];
        if (nd->left || nd->rows < 2)
            continue;
        nd->col = rng_below(g, (uint32_t)w->cols);
        nd->set = -1;
        nd->left = t->n_nodes;
        nd->add = (uint8_t)rng_below(g, 2);
        nd->bin = (uint8_t)(rng_below(g, (uint32_t)w->b.n_bins[nd->col]) + nd->add);
        if (w->b.is_categorical[nd->col]) {
            nd->set = t->n_sets;
            for (int i = 0; i < 4; i++)
                t->sets[t->n_sets][i] = (uint64_t)rng_below(g, UINT32_MAX) * 0x9e3779b97f4a7c15u;
            t->n_sets++;
        }
        t->nodes[t->n_nodes].rows = 1 + (int)rng_below(g, (uint32_t)nd->rows - 1);
        t->nodes[t->n_nodes + 1].rows = nd->rows - t->nodes[t->n_nodes].rows;
        t->n_nodes += 2;
    }
    for (int i = 0; i < t->n_nodes * outputs; i++)
        t->values[i] = (float)rng_normal(g);
}

static bool goes_right(const struct random_tree *t, const struct shap_node *nd, uint8_t x)
{
    if (nd->set >= 0)
        return !(t->sets[nd->set][x / 64] >> x % 64 & 1);
    return x == 255 ? !nd->add : x + nd->add > nd->bin;
}

/* Algorithm 1 of Lundberg et al. 2020: columns in `set` are followed, the others averaged over. */
static double expectation(const struct random_tree *t, int at, const uint8_t *x, unsigned set,
                          int outputs, int k)
{
    const struct shap_node *nd = &t->nodes[at];

    if (!nd->left)
        return (double)t->values[at * outputs + k];
    if (set >> nd->col & 1)
        return expectation(t, nd->left + goes_right(t, nd, x[nd->col]), x, set, outputs, k);
    double l = (double)t->nodes[nd->left].rows / nd->rows;
    return l * expectation(t, nd->left, x, set, outputs, k) +
           (1 - l) * expectation(t, nd->left + 1, x, set, outputs, k);
}

/* The definition: the mean over all orders of what adding column i changes. */
static void shapley(const struct random_tree *t, const struct world *w, int64_t row, int outputs,
                    int k, double *phi)
{
    int n = w->cols;
    double f[256] = { 0 }, weight[8] = { 0 };

    assert_true(n <= 8);
    for (unsigned s = 0; s < 1u << n; s++)
        f[s] = expectation(t, 0, w->b.bins + row * w->b.stride, s, outputs, k);
    for (int size = 0; size < n; size++) { /* size! (n - size - 1)! / n! */
        weight[size] = 1.0 / n;
        for (int i = 1; i <= size; i++)
            weight[size] *= (double)i / (n - i);
    }
    for (int i = 0; i < n; i++) {
        phi[i] = 0;
        for (unsigned s = 0; s < 1u << n; s++) {
            if (!(s >> i & 1))
                phi[i] += weight[__builtin_popcount(s)] * (f[s | 1u << i] - f[s]);
        }
    }
    phi[n] = f[0];
}

struct given {
    struct random_tree *tree;
    int n, outputs;
};

static int give(void *ctx, int i, struct shap_tree *out, struct err *err)
{
    struct given *g = ctx;
    struct random_tree *t = &g->tree[i];

    (void)err;
    *out = (struct shap_tree){ .n_nodes = t->n_nodes,
                               .nodes = t->nodes,
                               .sets = (const uint64_t(*)[4])t->sets,
                               .values = t->values,
                               .n_outputs = g->outputs };
    return 0;
}

/* Rows take turns in the outputs they ask for. */
static double *explained(const struct world *w, struct given *g, int64_t step)
{
    static const double base[2] = { 5, -3 };
    const struct shap_trees trees = { g->n, g->outputs, w->cols, 2.0, base, give, g };
    int64_t rows = w->b.rows, width = w->cols + 1;
    double *out = mem_array((size_t)(rows * width), sizeof *out);
    int *of = mem_array((size_t)rows, sizeof *of);
    struct err err = { 0 };

    for (int64_t i = 0; i < rows; i++)
        of[i] = (int)(i * 7 / 3) % g->outputs;
    for (int64_t at = 0; at < rows; at += step) {
        const struct explain_rows some = { w->v, at, MIN(step, rows - at), of + at };
        if (shap_rows(&trees, &some, out + at * width, &err) < 0)
            fail_msg("%s", err.text);
    }
    mem_free(of);
    return out;
}

static void assert_by_definition(const struct world *w, struct given *g, const double *got,
                                 uint64_t seed)
{
    double want[2][8];

    for (int64_t i = 0; i < w->b.rows; i++) {
        int k = (int)(i * 7 / 3) % g->outputs;
        for (int t = 0; t < 2; t++)
            shapley(&g->tree[t], w, i, g->outputs, k, want[t]);
        for (int c = 0; c <= w->cols; c++, got++) {
            double sum = 2 * (want[0][c] + want[1][c]) + (c < w->cols ? 0 : k ? -3 : 5);
            if (fabs(*got - sum) > 1e-12)
                fail_msg("seed %d row %d column %d: %.17g, expected %.17g", (int)seed, (int)i, c,
                         *got, sum);
        }
    }
}

static void values_are_those_of_the_definition(void **state)
{
    struct random_tree *two = mem_array(2, sizeof *two);
    struct world w = { 0 };

    (void)state;
    world_open(&w, rig_mixed(ML_REGRESSION, 27, 0, 4));
    assert_int_equal(w.cols, 7);
    for (uint64_t seed = 0; seed < 25; seed++) {
        struct given g = { two, 2, 1 + (int)(seed % 2) };
        struct rng rng;
        rng_init(&rng, seed, 77);
        tree_draw(&two[0], &w, 1 + (int)seed, g.outputs, &rng);
        tree_draw(&two[1], &w, 2, g.outputs, &rng);
        double *got = explained(&w, &g, w.b.rows);
        assert_by_definition(&w, &g, got, seed);
        mem_free(got);
    }
    world_close(&w);
    mem_free(two);
}

/* A path through n columns that every row passes to its end: phi_i from the counts of subsets by size. */
static void path_values(const double *z, int n, int i, double *phi)
{
    double e[600] = { 1 }, weight = 1.0 / n, sum = 0;

    for (int j = 0, size = 0; j < n;
         j++) { /* e[k]: of prod_{j != i} (z_j + x), the coefficient of x^k */
        if (j == i)
            continue;
        for (int k = ++size; k >= 0; k--)
            e[k] = (k <= size - 1 ? e[k] * z[j] : 0) + (k ? e[k - 1] : 0);
    }
    for (int k = 0; k < n; k++) {
        sum += weight * e[k];
        weight *= (double)(k + 1) / MAX(n - k - 1, 1);
    }
    *phi = (1 - z[i]) * sum;
}

static void chain_make(struct random_tree *t, int n, struct rng *g, double *z)
{
    *t = (struct random_tree){ .n_nodes = 2 * n + 1 };
    t->nodes[0].rows = INT32_MAX;
    for (int i = 0, at = 0; i < n; i++, at = t->nodes[at].left) {
        struct shap_node *nd = &t->nodes[at];
        int32_t lost = 1 + (int32_t)(rng_unit(g) * (i < 9 ? 0.5 : 0.02) * nd->rows);
        *nd = (struct shap_node){ 2 * i + 1, nd->rows, -1, (uint32_t)i, 254, 1 };
        nd->bin = 255; /* nobody goes right */
        nd->add = 0;
        t->nodes[nd->left].rows = nd->rows - lost;
        t->nodes[nd->left + 1].rows = lost;
        z[i] = (double)(nd->rows - lost) / nd->rows;
    }
    t->values[2 * n - 1] = 1;
}

static void long_paths_are_exact_too(void **state)
{
    static const int lengths[] = { 1, 2, 3, 16, 17, 40, 100, 255, 256, 300, 512 };
    struct random_tree *t = mem_alloc(sizeof *t);
    struct rig_table *table = rig_table_new(5);
    struct world w = { 0 };
    struct rng rng;

    (void)state;
    rng_init(&rng, 3, 0);
    for (int c = 0; c < 521; c++) {
        double *x = rig_numbers(table);
        for (int i = 0; i < 5; i++)
            x[i] = rng_unit(&rng);
    }
    world_open(&w, table);
    assert_true(w.cols >= 513);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct given g = { t, 1, 1 };
        double z[600], want, total = 0;
        int n = lengths[i];
        chain_make(t, n, &rng, z);
        double *got = explained(&w, &g, 5);
        for (int c = 0; c < n; c++) {
            path_values(z, n, c, &want);
            total += got[c];
            if (fabs(got[c] - 2 * want) > 1e-11 * want + 1e-16)
                fail_msg("%d of %d: %.17g, expected %.17g", c, n, got[c], 2 * want);
        }
        assert_float_equal(total + got[w.cols], 2 + 5, 1e-12);
        mem_free(got);
    }
    struct given g = { t, 1, 1 };
    const struct shap_trees trees = { 1, 1, w.cols, 1, &(double){ 0 }, give, &g };
    struct err err = { 0 };
    const struct explain_rows one = { w.v, 0, 1, &(int){ 0 } };
    double z[600], *out = mem_array((size_t)w.cols + 1, sizeof *out);
    chain_make(t, 513, &rng, z);
    assert_int_equal(shap_rows(&trees, &one, out, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    t->nodes[3].rows = 0;
    assert_int_equal(shap_rows(&trees, &one, out, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    mem_free(out);
    world_close(&w);
    mem_free(t);
}

static void cuts_and_instructions_change_no_bit(void **state)
{
    struct random_tree *t = mem_alloc(sizeof *t);
    struct given g = { t, 1, 2 };
    struct world w = { 0 };
    struct rng rng;

    (void)state;
    rng_init(&rng, 12, 0);
    world_open(&w, rig_mixed(ML_REGRESSION, 61, 0, 9));
    tree_draw(t, &w, 40, 2, &rng);
    simd_force(SIMD_PLAIN);
    double *want = explained(&w, &g, w.b.rows);
    size_t bytes = (size_t)(w.b.rows * (w.cols + 1)) * sizeof *want;
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        for (int64_t step = 1; step < 30; step += 7) {
            simd_force((enum simd_level)level);
            double *got = explained(&w, &g, step);
            assert_memory_equal(got, want, bytes);
            mem_free(got);
        }
    }
    simd_force(simd_best());
    mem_free(want);
    world_close(&w);
    mem_free(t);
}

static void quadrature_integrates_powers(void **state)
{
    (void)state;
    for (int n = 1; n <= 128; n++) {
        double t[128], w[128];
        shap_quadrature(n, t, w);
        for (int i = 1; i < n; i++)
            assert_true(t[i] > t[i - 1]);
        assert_true(t[0] > 0 && t[n - 1] < 1);
        for (int power = 0; power < 2 * n; power += power < 5 ? 1 : 17) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += w[i] * pow(t[i], power);
            assert_float_equal(sum * (power + 1), 1.0, 1e-12);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_definition),
        cmocka_unit_test(long_paths_are_exact_too),
        cmocka_unit_test(cuts_and_instructions_change_no_bit),
        cmocka_unit_test(quadrature_integrates_powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
