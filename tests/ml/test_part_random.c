/* test_part_random.c - random cuts of few rows that lie column by column against plain loops with the arithmetic of
 * forest_math.h, bit for bit, with AVX2 and with AVX-512: two and several classes, missing values, places of two kinds, sets
 * of rows. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/part.h"
#include "ml/cpu/part_random.h"
#include "ml/cpu/simd.h"
#include "ml/math/forest_math.h"

#include <float.h>
#include <string.h>

enum { SEEDS = 4000, BINS = 256, MISSING = 255, CLASSES = 9 };

struct node {
    int n, n_classes;
    uint8_t bins[PART_FEW_ROWS + 64], ones[PART_FEW_ROWS];
    int32_t ends[CLASSES], of[PART_FEW_ROWS];
    uint32_t places[BINS], coarse[PART_PLACES];
    bool is_ranked;
    struct part_few few;
};

static void node_draw(struct node *d, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed, 1);
    memset(d, 0, sizeof *d);
    d->n_classes = 2 + (int)(seed % (CLASSES - 1));
    d->n = 1 + (int)rng_below(&r, PART_FEW_ROWS);
    d->n = MAX(d->n, d->n_classes);
    uint32_t n_bins = 1 + rng_below(&r, seed % 3 ? 254 : 3),
             missing = seed % 2 ? 0 : rng_below(&r, 90);
    for (int i = 0; i < d->n; i++) {
        d->bins[i] = (uint8_t)(rng_below(&r, 100) < missing ? MISSING : rng_below(&r, n_bins));
        d->ones[i] = (uint8_t)rng_below(&r, 2);
        d->of[i] = d->n_classes == 2 ? d->ones[i] : i * d->n_classes / d->n;
        d->ends[d->of[i]] = i + 1;
    }
    d->is_ranked = seed % 4;
    for (uint32_t b = 0, sum = 0; b < BINS; b++)
        d->places[b] = sum += 1 + rng_below(&r, 4) * rng_below(&r, 2);
    for (int k = 0; k < PART_PLACES; k++)
        d->coarse[k] = d->places[k * PART_PLACES];
    if (d->n_classes == 2)
        part_few_two(&d->few, d->ones, d->n);
    else
        part_few_many(&d->few, d->ends, d->n_classes);
    d->few.least = 1 + (int)(seed % 5 ? 0 : rng_below(&r, 9));
    d->few.key = seed * 0x9e3779b97f4a7c15ull;
}

static void plain_try(const struct node *d, uint64_t left, bool missing_left,
                      struct part_few_cut *best)
{
    int64_t x[CLASSES] = { 0 }, all[CLASSES] = { 0 }, n = 0, l2 = 0, r2 = 0;

    for (int i = 0; i < d->n; i++) {
        bool is_left = d->bins[i] == MISSING && missing_left ? true : left >> i & 1;
        n += is_left;
        x[d->of[i]] += is_left;
        all[d->of[i]]++;
    }
    if (n < d->few.least || d->n - n < d->few.least)
        return;
    for (int k = 0; k < d->n_classes; k++) {
        l2 += x[k] * x[k];
        r2 += (all[k] - x[k]) * (all[k] - x[k]);
    }
    double score = d->n_classes == 2 ? rf_two_gini(n, x[1], d->n - n, all[1] - x[1])
                                     : rf_many_gini(n, l2, d->n - n, r2);
    if (score > best->score) {
        best->score = score;
        best->missing_left = missing_left;
    }
}

static void check(const struct part_few_cut *got, const struct part_few_cut *want)
{
    assert_true(got->score == want->score && got->missing_left == want->missing_left);
    assert_true(want->score == -DBL_MAX || got->bin == want->bin);
}

static void check_number(const struct node *d, int col)
{
    struct part_few_cut want = { .score = -DBL_MAX }, got;
    int lo = MISSING, hi = -1;
    bool has_missing = false;
    uint64_t left = 0;

    for (int i = 0; i < d->n; i++) {
        has_missing = has_missing || d->bins[i] == MISSING;
        lo = MIN(lo, d->bins[i]);
        hi = d->bins[i] < MISSING ? MAX(hi, d->bins[i]) : hi;
    }
    if (hi >= 0 && (lo < hi || has_missing)) {
        want.bin = (uint8_t)rf_random_cut(d->is_ranked ? d->places : NULL,
                                          rf_cut_key(d->few.key, col), lo, hi);
        for (int i = 0; i < d->n; i++)
            left |= (uint64_t)(d->bins[i] <= want.bin) << i;
        for (int side = 0; side <= (int)has_missing; side++)
            plain_try(d, left, side, &want);
    }
    got = part_few_number(&d->few, d->bins, col, d->is_ranked ? d->places : NULL, d->coarse);
    check(&got, &want);
}

static void check_set(const struct node *d, uint64_t seed)
{
    struct part_few_cut want = { .score = -DBL_MAX }, got;
    bool has_missing = memchr(d->bins, MISSING, (size_t)d->n) != NULL;
    uint64_t left = 0;

    for (int i = 0; i < d->n; i++)
        left |= (uint64_t)(d->bins[i] < MISSING && (d->bins[i] * 7 + seed) % 3 == 0) << i;
    for (int side = 0; side <= (int)has_missing; side++)
        plain_try(d, left, side, &want);
    got = part_few_set(&d->few, d->bins, left, has_missing);
    check(&got, &want);
}

static void random_cuts_of_few_rows_are_those_of_plain_loops(void **state)
{
    static struct node d;

    (void)state;
    if (!part_few_is_fast()) /* an older CPU, or a build for a sanitizer */
        skip();
    for (int level = SIMD_AVX2; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        assert_true(part_few_is_fast());
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            node_draw(&d, seed);
            check_number(&d, (int)(seed % 40));
            check_set(&d, seed);
        }
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cuts_of_few_rows_are_those_of_plain_loops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
