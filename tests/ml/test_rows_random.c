/* test_rows_random.c - random cuts of several columns at once against plain loops over one column after another with the
 * arithmetic of forest_math.h, bit for bit: numbers of rows from 1 on, missing values, ties, places of two kinds. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/part.h"
#include "ml/cpu/rows_random.h"
#include "ml/math/forest_math.h"

#include <float.h>
#include <string.h>

enum { LINES = 400, PITCH = 64, MOST = 5000, COLS = 50, SEEDS = 1500, BINS = 256, MISSING = 255 };

static uint8_t table[LINES * PITCH + 64];
static int32_t rows[MOST], cols[ROWS_PICK];
static int64_t words[MOST];
static uint32_t places[COLS * BINS], coarse[COLS * PART_PLACES];
static uint8_t picked[MOST + ROWS_PICK][ROWS_PICK];
static uint64_t marks[MOST / 64 + 1];

/* Columns of few or many bins, constant ones, and ones with missing values. */
static void table_draw(struct rng *r, uint64_t seed)
{
    for (int j = 0; j < PITCH; j++) {
        uint32_t n_bins = 1 + rng_below(r, j % 3 ? 254 : 3),
                 missing = j % 5 == 0 && seed % 2 ? 1 + rng_below(r, 100) : 0;
        for (int i = 0; i < LINES; i++)
            table[i * PITCH + j] =
                (uint8_t)(rng_below(r, 100) < missing ? MISSING : rng_below(r, n_bins));
    }
    for (int j = 0; j < COLS; j++) {
        for (uint32_t b = 0, sum = 0; b < BINS; b++)
            places[j * BINS + (int)b] = j % 4 == 0 ? b : (sum += rng_below(r, 4) * rng_below(r, 2));
        for (int k = 0; k < PART_PLACES; k++)
            coarse[j * PART_PLACES + k] = places[j * BINS + k * PART_PLACES];
    }
}

static struct rows_random random_make(uint64_t seed)
{
    struct rng r;
    int64_t ones = 0;

    rng_init(&r, seed, 1);
    table_draw(&r, seed);
    int n = 1 + (int)(seed < 700 ? seed % 140 : seed * 377 % MOST),
        n_cols = 1 + (int)(seed % ROWS_PICK);
    for (int i = 0; i < n; i++) {
        rows[i] = (int32_t)rng_below(&r, LINES);
        words[i] = 1 + ((int64_t)rng_below(&r, 2) << 32);
        ones += words[i] >> 32;
    }
    for (int j = 0; j < n_cols; j++)
        cols[j] = (int32_t)rng_below(&r, COLS);
    return (struct rows_random){ .pick = { table, PITCH, rows, n, seed & 4, cols, n_cols },
                                 .words = words,
                                 .ones = ones,
                                 .least = 1 + (int64_t)(seed % 3 ? 0 : rng_below(&r, 9)),
                                 .key = seed * 0x9e3779b97f4a7c15ull,
                                 .places = seed % 7 ? places : NULL,
                                 .coarse = coarse,
                                 .picked = picked,
                                 .marks = marks };
}

static bool goes_left(uint8_t bin, int cut, bool missing_left)
{
    return bin == MISSING ? missing_left : bin <= cut;
}

/* Scores the cut with missing values on one side; takes it if it is better. */
static void plain_try(const struct rows_random *r, int j, int cut, bool has_missing, bool left,
                      struct rows_random_cut *best)
{
    int64_t n = 0, s = 0;

    for (int64_t i = 0; i < r->pick.n; i++) {
        bool is_left = goes_left(table[rows[i] * PITCH + cols[j]], cut, left);
        n += is_left;
        s += is_left ? words[i] >> 32 : 0;
    }
    if (n < r->least || r->pick.n - n < r->least)
        return;
    double score = rf_two_gini(n, s, r->pick.n - n, r->ones - s);
    if (score > best->score)
        *best = (struct rows_random_cut){ score, j,           (uint8_t)cut, has_missing,
                                          left,  (uint32_t)n, (uint32_t)s };
}

static struct rows_random_cut plain(const struct rows_random *r, double beat)
{
    struct rows_random_cut best = { .score = beat, .at = -1 };

    for (int j = 0; j < r->pick.n_cols; j++) {
        int lo = MISSING, hi = -1;
        bool has_missing = false;
        for (int64_t i = 0; i < r->pick.n; i++) {
            int b = table[rows[i] * PITCH + cols[j]];
            has_missing = has_missing || b == MISSING;
            lo = MIN(lo, b);
            hi = b < MISSING ? MAX(hi, b) : hi;
        }
        if (hi < 0 || (lo == hi && !has_missing))
            continue;
        int cut = rf_random_cut(r->places ? places + (ptrdiff_t)cols[j] * BINS : NULL,
                                rf_cut_key(r->key, cols[j]), lo, hi);
        for (int left = 0; left <= (int)has_missing; left++)
            plain_try(r, j, cut, has_missing, left, &best);
    }
    return best;
}

static void the_best_random_cut_is_that_of_plain_loops(void **state)
{
    int better = 0, with_missing = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS && rows_random_is_fast(); seed++) {
        struct rows_random r = random_make(seed);
        double beat = seed % 5 == 4 ? (double)r.pick.n * .52 : -DBL_MAX;
        struct rows_random_cut want = plain(&r, beat), got = { .score = beat, .at = -1 };
        assert_int_equal(rows_random(&r, &got), want.at >= 0);
        assert_true(got.score == want.score && got.at == want.at && got.bin == want.bin);
        assert_true(got.n_left == want.n_left && got.ones_left == want.ones_left);
        assert_true(got.has_missing == want.has_missing && got.missing_left == want.missing_left);
        for (int64_t i = 0; want.at >= 0 && i < (r.pick.n + 63) / 64 * 64; i++)
            assert_int_equal(marks[i / 64] >> i % 64 & 1,
                             i < r.pick.n && goes_left(table[rows[i] * PITCH + cols[want.at]],
                                                       want.bin, want.missing_left));
        better += want.at >= 0;
        with_missing += want.missing_left;
    }
    assert_true(!rows_random_is_fast() || (better > SEEDS / 2 && with_missing > SEEDS / 50));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_random_cut_is_that_of_plain_loops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
