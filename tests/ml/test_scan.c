/* test_scan.c - the numeric scan against one bin after another with scan_score, for every instruction set: any number of bins,
 * mostly full or mostly empty, with and without missing rows. Bounds: test_boost_bound.c. */
#include "tests/unit.h"

#include "base/rng.h"
#include "ml/cpu/hist.h"
#include "ml/cpu/scan.h"
#include "ml/cpu/simd.h"

struct column {
    int64_t hist[HIST_PITCH];
    int n_bins;
    struct scan_node node;
};

static struct column column_new(uint64_t seed)
{
    struct column c = { 0 };
    struct rng g;

    rng_init(&g, seed, 11);
    c.n_bins = 1 + (int)rng_below(&g, 255);
    c.node = (struct scan_node){ .l1 = 10.0 * rng_below(&g, 3),
                                 .l2 = rng_below(&g, 50),
                                 .min_h = 1 + rng_below(&g, 30) };
    if (seed % 16 == 0) /* products of such sums leave the range of floats */
        c.node.l2 = 1e20;
    uint32_t empty = rng_below(&g, 4), grain = 1 + rng_below(&g, 200);
    int has_missing = rng_below(&g, 2) == 0;
    for (int i = 0; i <= c.n_bins; i++) {
        int b = i < c.n_bins ? i : HIST_MISSING;
        if ((b == HIST_MISSING && !has_missing) || rng_below(&g, 1u << (2 * empty)) > 0)
            continue;
        int64_t grad = (int64_t)rng_below(&g, 2 * grain + 1) - grain; /* a coarse grain ties */
        c.hist[b] = grad * (INT64_C(1) << 32) + 1 + (int64_t)rng_below(&g, grain);
        c.node.total += c.hist[b];
    }
    for (int b = c.n_bins; b < HIST_PITCH; b++) {
        if (b != HIST_MISSING) /* only the words of bins are kept clean */
            c.hist[b] = (int64_t)rng_u64(&g);
    }
    return c;
}

static void plain_side(const struct column *c, int64_t sum, int add, struct scan_best *best)
{
    int64_t missing = c->hist[HIST_MISSING];

    for (int b = 0; b < (missing ? c->n_bins : c->n_bins - 1); b++) {
        sum += c->hist[b];
        double score = scan_score(&c->node, sum, c->node.l2);
        if (score > best->score)
            *best = (struct scan_best){
                .score = score,
                .bin = b,
                .add = missing ? add : scan_is_left_heavy(&c->node, sum),
                .left = sum,
            };
    }
}

static void numeric_splits_are_those_of_a_plain_loop(void **state)
{
    int found = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct column c = column_new(seed);
        struct scan_best want = { .score = -1 };
        plain_side(&c, 0, 0, &want);
        if (c.hist[HIST_MISSING])
            plain_side(&c, c.hist[HIST_MISSING], 1, &want);
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            struct scan_best got = { .score = -1 };
            simd_force((enum simd_level)level);
            assert_int_equal(scan_numeric(&c.node, c.hist, c.n_bins, &got), want.score >= 0);
            assert_memory_equal(&got.score, &want.score, sizeof got.score);
            assert_int_equal(got.bin, want.bin);
            assert_int_equal(got.add, want.add);
            assert_int_equal(got.left, want.left);
        }
        found += want.score >= 0;
    }
    simd_force(simd_best());
    assert_in_range(found, 1000, 2990); /* both happen */
}

static void a_score_that_is_only_reached_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct column c = column_new(seed);
        struct scan_best best = { .score = -1 };
        if (!scan_numeric(&c.node, c.hist, c.n_bins, &best))
            continue;
        struct scan_best same = best;
        same.col = 7;
        assert_int_equal(scan_numeric(&c.node, c.hist, c.n_bins, &same), 0);
        assert_true(same.col == 7 && same.bin == best.bin && same.left == best.left);
    }
}

/* Of another column's best score, which may lie just below this one's, at it, or above it. */
static void only_a_higher_score_is_taken(void **state)
{
    const double steps[] = { -1e-3, -1e-6, -1e-15, 0, 1e-15, 1e-6, 1e-3 };

    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct column c = column_new(seed);
        struct scan_best want = { .score = -1 };
        if (!scan_numeric(&c.node, c.hist, c.n_bins, &want))
            continue;
        for (size_t i = 0; i < 7 * (1 + (size_t)simd_best()); i++) {
            struct scan_best got = { .score = want.score * (1 + steps[i % 7]), .bin = -7 };
            int is_better = want.score > got.score;
            simd_force((enum simd_level)(i / 7));
            assert_int_equal(scan_numeric(&c.node, c.hist, c.n_bins, &got), is_better);
            assert_int_equal(got.bin, is_better ? want.bin : -7);
        }
        simd_force(simd_best());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_splits_are_those_of_a_plain_loop),
        cmocka_unit_test(only_a_higher_score_is_taken),
        cmocka_unit_test(a_score_that_is_only_reached_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
