/* test_hist.c - histograms against a plain sum over rows: many numbers of columns, near and far rows (a pitch so large that
 * they count as far), columns dense from any multiple of 8 or listed, and parts that subtract to the rest. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/hist.h"
#include "ml/cpu/simd.h"

enum { ROWS = 160, COLS = 150, NEAR = 160, FAR = 65536 };

struct table {
    uint8_t *bins;
    int64_t stride;
    int32_t rows[ROWS];
    uint32_t q[ROWS];
    int n_bins[COLS];
};

static struct table table_new(uint64_t seed, int64_t stride)
{
    struct table t = { .bins = calloc(ROWS, (size_t)stride), .stride = stride };
    struct rng r;

    rng_init(&r, seed, 4);
    for (int c = 0; c < COLS; c++)
        t.n_bins[c] = 1 + (int)rng_below(&r, 255);
    for (int i = 0; i < ROWS; i++) {
        t.rows[i] = i;
        t.q[i] = rng_u32(&r) & 0xffff3fffu;
        for (int c = 0; c < COLS; c++)
            t.bins[i * stride + c] = rng_below(&r, 9) == 0
                                         ? HIST_MISSING
                                         : (uint8_t)rng_below(&r, (uint32_t)t.n_bins[c]);
    }
    return t;
}

/* Bins that count: 0..n_bins-1 and the missing one. */
static void assert_column(const struct table *t, const struct hist_rows *h, int col,
                          const int64_t *hist)
{
    int64_t want[256] = { 0 };

    for (int64_t i = 0; i < h->n; i++)
        want[t->bins[h->rows[i] * t->stride + col]] += hist_word(t->q[h->rows[i]]);
    for (int b = 0; b < 256; b++) {
        if (b < t->n_bins[col] || b == HIST_MISSING)
            assert_int_equal(hist[b], want[b]);
    }
}

static void histograms_are_the_sums_of_their_rows(void **state)
{
    static int64_t hist[COLS * HIST_PITCH];

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct table t = table_new(seed, seed % 4 == 3 ? FAR : NEAR);
        struct rng r;
        int32_t cols[COLS], some[ROWS];
        int n = 0, is_dense = seed & 1;
        rng_init(&r, seed, 5);
        int from = is_dense ? 8 * (int)rng_below(&r, 4) : 0;
        int n_cols = 1 + (int)rng_below(&r, (uint32_t)(COLS - from));
        for (int j = 0; j < n_cols; j++)
            cols[j] = is_dense ? from + j : (int32_t)rng_below(&r, COLS);
        for (int i = 0; i < ROWS; i++) {
            if (seed % 5 == 0 || rng_below(&r, 3) == 0)
                some[n++] = i;
        }
        struct hist_rows h = { t.bins, t.stride, some, n, t.q };
        int n_bins[COLS];
        for (int j = 0; j < n_cols; j++)
            n_bins[j] = t.n_bins[cols[j]];
        hist_clear(hist, n_bins, n_cols);
        hist_add(&h, cols, n_cols, is_dense, hist);
        for (int j = 0; j < n_cols; j++)
            assert_column(&t, &h, cols[j], hist + j * HIST_PITCH);
        free(t.bins);
    }
}

/* Blocks of rows that lie side by side, blocks of scattered rows, and both in one node; as many
 * columns as make one tile, several, and more than a block has. */
static void rows_of_many_blocks_are_summed(void **state)
{
    enum { MANY = 5000, WIDEST = 152 };
    static uint8_t bins[MANY * WIDEST];
    static uint32_t q[MANY];
    static int32_t rows[MANY];
    static int64_t hist[WIDEST * HIST_PITCH];
    static const int widths[] = { 3, 12, 20, 21, 50, 80, 81, 150 };
    int32_t cols[WIDEST];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 7);
    for (int64_t i = 0; i < MANY * WIDEST; i++)
        bins[i] = (uint8_t)rng_below(&r, 256);
    for (int j = 0; j < WIDEST; j++)
        cols[j] = j;
    for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
        for (int scattered = 0; scattered < MANY; scattered += 2400) {
            int n = 0, n_bins[WIDEST];
            for (int i = 0; i < MANY; i++) {
                q[i] = rng_u32(&r) & 0xffff3fffu;
                rows[n] = i;
                n += i >= scattered || rng_below(&r, 3) == 0;
            }
            for (int j = 0; j < widths[w]; j++)
                n_bins[j] = 256;
            struct hist_rows h = { bins, WIDEST, rows, n, q };
            hist_clear(hist, n_bins, widths[w]);
            hist_add(&h, cols, widths[w], 1, hist);
            for (int j = 0; j < widths[w]; j++) {
                int64_t want[256] = { 0 };
                for (int i = 0; i < n; i++)
                    want[bins[rows[i] * WIDEST + j]] += hist_word(q[rows[i]]);
                assert_memory_equal(hist + (int64_t)j * HIST_PITCH, want, sizeof want);
            }
        }
    }
}

static void a_part_subtracted_leaves_the_rest(void **state)
{
    static int64_t all[COLS * HIST_PITCH], part[COLS * HIST_PITCH];

    (void)state;
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        struct table t = table_new(77, NEAR);
        int32_t cols[COLS], some[ROWS], others[ROWS];
        int n = 0, m = 0;
        simd_force((enum simd_level)level);
        for (int j = 0; j < COLS; j++)
            cols[j] = j;
        for (int i = 0; i < ROWS; i++)
            *(i % 3 ? &others[m++] : &some[n++]) = i;
        struct hist_rows h = { t.bins, t.stride, t.rows, ROWS, t.q };
        hist_clear(all, t.n_bins, COLS), hist_clear(part, t.n_bins, COLS);
        hist_add(&h, cols, COLS, 1, all);
        h.rows = some, h.n = n;
        hist_add(&h, cols, COLS, 1, part);
        hist_subtract(all, part, t.n_bins, COLS);
        h.rows = others, h.n = m;
        for (int j = 0; j < COLS; j++)
            assert_column(&t, &h, j, all + j * HIST_PITCH);
        free(t.bins);
    }
    simd_force(simd_best());
}

static void no_rows_and_no_columns_add_nothing(void **state)
{
    struct table t = table_new(1, NEAR);
    int64_t hist[2 * HIST_PITCH] = { 0 }, zero[2 * HIST_PITCH] = { 0 };
    int32_t cols[2] = { 0, 1 };
    struct hist_rows h = { t.bins, t.stride, t.rows, 0, t.q };

    (void)state;
    hist_add(&h, cols, 2, 1, hist);
    h.n = ROWS;
    hist_add(&h, cols, 0, 0, hist);
    assert_memory_equal(hist, zero, sizeof hist);
    assert_int_equal(hist_total(t.q, t.rows, 0), 0);
    assert_int_equal(hist_total_all(t.q, 0), 0);
    free(t.bins);
}

/* Nothing behind the room for n rows is touched. */
static void used_rows_are_those_with_a_word(void **state)
{
    enum { MOST = 203 };
    uint32_t q[MOST];
    int32_t out[MOST + 1];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int trial = 0; trial < 600; trial++) {
        int n = trial < 40 ? trial : (int)rng_below(&r, MOST + 1), want = 0;
        uint32_t share = rng_below(&r, 101); /* 0: none, 100: all */
        for (int i = 0; i < n; i++)
            q[i] = rng_below(&r, 100) < share ? 1u << rng_below(&r, 32) : 0;
        out[n] = -7;
        simd_force((enum simd_level)(trial % ((int)simd_best() + 1)));
        int64_t got = hist_rows_used(q, n, out);
        assert_int_equal(hist_total_all(q, n), hist_total(q, out, got));
        for (int i = 0; i < n; i++) {
            if (q[i] != 0) {
                assert_true(want < got);
                assert_int_equal(out[want++], i);
            }
        }
        assert_int_equal(got, want);
        assert_int_equal(out[n], -7);
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_are_the_sums_of_their_rows),
        cmocka_unit_test(rows_of_many_blocks_are_summed),
        cmocka_unit_test(a_part_subtracted_leaves_the_rest),
        cmocka_unit_test(used_rows_are_those_with_a_word),
        cmocka_unit_test(no_rows_and_no_columns_add_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
