/* test_part.c - parting rows column by column against plain loops, over many lengths and seeds, both ways of moving bytes. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/part.h"
#include "ml/cpu/part_rows.h"
#include "ml/cpu/simd.h"

#include <string.h>

enum { MOST = 400, PITCH = 512, COLS = 5, SEEDS = 300 };

struct rows {
    uint8_t from[COLS * PITCH + 2 * PART_WIDE], to[COLS * PITCH + 2 * PART_WIDE];
    uint64_t masks[MOST / PART_WIDE + 1];
    bool is_left[MOST];
    int n, n_left;
};

static void rows_draw(struct rows *r, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, 1);
    r->n = seed < 130 ? 1 + (int)seed : 1 + (int)rng_below(&rng, MOST);
    for (size_t i = 0; i < sizeof r->from; i++)
        r->from[i] = (uint8_t)(rng_below(&rng, 8) == 0 ? 255 : rng_below(&rng, seed & 1 ? 256 : 5));
    memset(r->to, 77, sizeof r->to);
}

static void rows_check(struct rows *r, int64_t marked)
{
    int n_left = 0;

    for (int i = 0; i < r->n; i++) {
        assert_int_equal(r->masks[i / PART_WIDE] >> i % PART_WIDE & 1, r->is_left[i]);
        n_left += r->is_left[i];
    }
    for (int i = r->n; i % PART_WIDE; i++)
        assert_int_equal(r->masks[i / PART_WIDE] >> i % PART_WIDE & 1, 0);
    assert_int_equal(marked, n_left);
    r->n_left = n_left;
}

static void each_way(void (*check)(uint64_t seed))
{
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            check(seed);
    }
    simd_force(simd_best());
}

/* ---- marks ---- */

static void check_marks(uint64_t seed)
{
    static struct rows r;
    struct rng rng;
    uint64_t set[4];

    rows_draw(&r, seed);
    rng_init(&rng, seed, 2);
    uint8_t up = rng_below(&rng, 2) == 1, cut = (uint8_t)rng_below(&rng, 256);
    for (int i = 0; i < r.n; i++)
        r.is_left[i] = (uint8_t)(r.from[i] + up) <= cut;
    rows_check(&r, part_mark(r.from, r.n, up, cut, r.masks));
    for (int w = 0; w < 4; w++)
        set[w] = rng_u64(&rng);
    for (int i = 0; i < r.n; i++)
        r.is_left[i] = set[r.from[i] >> 6] >> (r.from[i] & 63) & 1;
    rows_check(&r, part_mark_set(r.from, r.n, set, r.masks));
}

static void marks_are_where_a_bin_is_at_most_the_cut_or_in_the_set(void **state)
{
    (void)state;
    each_way(check_marks);
}

/* ---- moving ---- */

static void check_column(const struct rows *r, int j, bool has_left, bool has_right)
{
    const uint8_t *from = r->from + (ptrdiff_t)j * PITCH, *to = r->to + (ptrdiff_t)j * PITCH;
    int left = 0, right = r->n_left;

    for (int i = 0; i < r->n; i++) {
        int at = r->is_left[i] ? left++ : right++;
        assert_int_equal(to[at], (r->is_left[i] ? has_left : has_right) ? from[i] : 77);
    }
    for (int i = r->n; i < PITCH; i++)
        assert_int_equal(to[i], 77);
}

static void check_moves(uint64_t seed)
{
    static struct rows r;
    bool has_left = seed % 3 != 1, has_right = seed % 3 != 2;

    rows_draw(&r, seed);
    for (int i = 0; i < r.n; i++)
        r.is_left[i] = r.from[i] <= (seed & 1 ? 128 : 2);
    rows_check(&r, part_mark(r.from, r.n, 0, seed & 1 ? 128 : 2, r.masks));
    const struct part_columns c = { r.from, has_left ? r.to : NULL,
                                    has_right ? r.to + r.n_left : NULL, PITCH, COLS };
    part_move(&c, r.n, r.masks);
    for (int j = 0; j < COLS; j++)
        check_column(&r, j, has_left, has_right);
}

static void each_side_keeps_its_order_and_nothing_else_is_written(void **state)
{
    (void)state;
    each_way(check_moves);
}

/* ---- sums ---- */

static void check_sums(uint64_t seed)
{
    static struct rows r;
    struct part_range range, want = { 255, 0, 0 };
    int64_t all = 0, count = 0, sum = 0;
    struct rng rng;

    rows_draw(&r, seed);
    rng_init(&rng, seed, 3);
    int from = (int)rng_below(&rng, (uint32_t)r.n),
        to = from + (int)rng_below(&rng, (uint32_t)(r.n - from + 1));
    for (int i = 0; i < r.n; i++) {
        uint8_t x = r.from[i];
        r.is_left[i] = x <= 3;
        all += x;
        count += i >= from && i < to && r.is_left[i];
        sum += i >= from && i < to && r.is_left[i] ? r.from[PITCH + i] : 0;
        want.least = MIN(want.least, x);
        want.top = MAX(want.top, x);
        want.most = x < 255 ? MAX(want.most, (uint8_t)(x + 1)) : want.most;
    }
    rows_check(&r, part_mark(r.from, r.n, 0, 3, r.masks));
    assert_int_equal(part_sum(r.from, r.n), all);
    assert_int_equal(part_count(r.masks, from, to), count);
    assert_int_equal(part_sum_marked(r.from + PITCH, r.masks, from, to), sum);
    range = part_range_of(r.from, r.n);
    assert_int_equal(range.least, want.least);
    assert_int_equal(range.most, want.most);
    assert_int_equal(range.top, want.top);
}

static void check_runs(uint64_t seed)
{
    enum { RUNS = 6 };
    static struct rows r;
    int32_t ends[RUNS], marked[RUNS], sum[RUNS];
    struct rng rng;

    rows_draw(&r, seed);
    rng_init(&rng, seed, 4);
    for (int k = 0; k < RUNS; k++) /* some of no rows */
        ends[k] = k == RUNS - 1 ? r.n : (int32_t)((int64_t)r.n * k / RUNS);
    part_mark(r.from, r.n, 0, (uint8_t)rng_below(&rng, 255), r.masks);
    part_runs(r.from + PITCH, r.masks, ends, RUNS, marked, sum);
    for (int k = 0, from = 0; k < RUNS; from = ends[k++]) {
        assert_int_equal(marked[k], part_count(r.masks, from, ends[k]));
        assert_int_equal(sum[k], part_sum_marked(r.from + PITCH, r.masks, from, ends[k]));
    }
}

static void check_place(uint64_t seed)
{
    uint32_t places[256], coarse[PART_PLACES], at;
    struct rng rng;
    int want = 0;

    rng_init(&rng, seed, 5);
    for (uint32_t i = 0, sum = 0; i < 256; i++)
        places[i] = sum += rng_below(&rng, seed % 3 ? 3 : 1u << 24);
    for (int i = 0; i < PART_PLACES; i++)
        coarse[i] = places[i * PART_PLACES];
    at = seed % 9 ? places[0] + rng_below(&rng, 1 + places[255] - places[0]) : UINT32_MAX;
    for (int i = 0; i < 256; i++)
        want = places[i] <= at ? i : want;
    assert_int_equal(part_place(coarse, places, at), want);
}

static void the_last_place_up_to_a_limit_is_found(void **state)
{
    (void)state;
    each_way(check_place);
}

static void runs_of_rows_are_counted_apart(void **state)
{
    (void)state;
    each_way(check_runs);
}

static void sums_counts_and_ranges_are_those_of_plain_loops(void **state)
{
    (void)state;
    each_way(check_sums);
}

/* Lengths around the blocks, rows side by side and scattered, and a whole side empty. */
static void check_row_numbers(uint64_t seed)
{
    enum { TABLE = 1200 };
    uint8_t column[TABLE], is_left[256];
    int32_t rows[TABLE], spare[TABLE], want[TABLE], n = 0, n_left = 0, at = 0;
    struct rng rng;

    rng_init(&rng, seed, 3);
    int n_rows = (int)rng_below(&rng, TABLE + 1), share = (int)rng_below(&rng, 5);
    int scattered = seed & 1 ? n_rows : (int)rng_below(&rng, (uint32_t)n_rows + 1);
    for (int b = 0; b < 256; b++)
        is_left[b] = (int)rng_below(&rng, 4) < share;
    for (int i = 0; i < n_rows; i++) {
        column[i] = (uint8_t)rng_below(&rng, 256);
        rows[n] = i;
        n += i >= scattered || rng_below(&rng, 2);
    }
    for (int side = 1; side >= 0; side--) {
        for (int i = 0; i < n; i++) {
            if (is_left[column[rows[i]]] == side)
                want[at++] = rows[i];
        }
        n_left = side ? at : n_left;
    }
    assert_int_equal(part_rows(column, is_left, rows, n, spare), n_left);
    assert_memory_equal(rows, want, (size_t)n * sizeof *rows);
}

static void row_numbers_go_to_their_side_in_order(void **state)
{
    (void)state;
    each_way(check_row_numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_where_a_bin_is_at_most_the_cut_or_in_the_set),
        cmocka_unit_test(each_side_keeps_its_order_and_nothing_else_is_written),
        cmocka_unit_test(sums_counts_and_ranges_are_those_of_plain_loops),
        cmocka_unit_test(runs_of_rows_are_counted_apart),
        cmocka_unit_test(row_numbers_go_to_their_side_in_order),
        cmocka_unit_test(the_last_place_up_to_a_limit_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
