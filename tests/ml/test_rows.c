/* test_rows.c - ranges and left sums of 64 columns against plain loops, over many seeds, lengths, weights (also beyond a
 * byte) and on every instruction set. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/rows.h"
#include "ml/cpu/simd.h"

#include <string.h>

enum { LINES = 290, PITCH = 80, SEEDS = 70 };

struct table {
    uint8_t lines[LINES * PITCH + ROWS_WIDE];
    int32_t rows[LINES];
    int64_t words[LINES];
    struct row_list list;
};

static void table_fill(struct table *t, uint64_t seed, int n)
{
    struct rng r;

    rng_init(&r, seed, 1);
    for (size_t i = 0; i < sizeof t->lines; i++)
        t->lines[i] = (uint8_t)(rng_below(&r, 20) == 0 ? 255 : rng_below(&r, seed & 1 ? 256 : 3));
    for (int i = 0; i < n; i++) {
        int64_t w = 1 + (int64_t)(seed % 3 == 2 ? rng_below(&r, i % 50 ? 9 : 65535) : 0);
        t->rows[i] = (int32_t)rng_below(&r, LINES);
        t->words[i] = w + (rng_below(&r, 2) ? w << 32 : 0);
    }
    t->list = (struct row_list){ t->lines, PITCH, t->rows, t->words, n, seed & 4 };
}

static int length_of(uint64_t seed)
{
    return seed < 40 ? 1 + (int)seed : 1 + (int)(seed * 37 % LINES);
}

static void check_range(const struct table *t, const struct rows_range *got)
{
    for (int j = 0; j < ROWS_WIDE; j++) {
        int least = 255, most = 0, top = 0;
        for (int i = 0; i < t->list.n; i++) {
            int x = t->lines[t->rows[i] * PITCH + j];
            least = MIN(least, x);
            most = x < 255 ? MAX(most, x + 1) : most;
            top = MAX(top, x);
        }
        assert_int_equal(got->least[j], least);
        assert_int_equal(got->most[j], most);
        assert_int_equal(got->top[j], top);
    }
}

static void ranges_leave_missing_values_out(void **state)
{
    static struct table t;
    struct rows_range got;

    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            table_fill(&t, seed, length_of(seed));
            rows_range(&t.list, &got);
            check_range(&t, &got);
        }
    }
    simd_force(simd_best());
}

static void check_sums(const struct table *t, const uint8_t *cut)
{
    uint32_t n_left[ROWS_WIDE], s_left[ROWS_WIDE], n_only[ROWS_WIDE];

    rows_left_two(&t->list, cut, n_left, s_left);
    rows_left_one(&t->list, cut, n_only);
    for (int j = 0; j < ROWS_WIDE; j++) {
        int64_t sum = 0;
        for (int i = 0; i < t->list.n; i++)
            sum += t->lines[t->rows[i] * PITCH + j] <= cut[j] ? t->words[i] : 0;
        assert_int_equal(n_left[j], sum & 0xffffffff);
        assert_int_equal(s_left[j], sum >> 32);
        assert_int_equal(n_only[j], n_left[j]);
    }
}

static void left_sums_are_those_of_a_plain_loop(void **state)
{
    static struct table t;
    uint8_t cut[ROWS_WIDE];

    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            table_fill(&t, seed, length_of(seed));
            for (int j = 0; j < ROWS_WIDE; j++)
                cut[j] = (uint8_t)(seed & 1 ? j * 4 % 255 : j & 1);
            check_sums(&t, cut);
        }
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_leave_missing_values_out),
        cmocka_unit_test(left_sums_are_those_of_a_plain_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
