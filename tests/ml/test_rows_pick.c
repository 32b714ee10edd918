/* test_rows_pick.c - columns brought together and their histograms against plain loops, over many lengths and columns, with
 * and without vector instructions. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/rows_pick.h"
#include "ml/cpu/simd.h"

#include <string.h>

enum { LINES = 300, PITCH = 128, MOST = 5000, SEEDS = 200 };

static uint8_t table[LINES * PITCH + 64];
static int32_t rows[MOST], cols[ROWS_PICK];
static uint8_t picked[MOST + ROWS_PICK][ROWS_PICK];
static int64_t words[MOST];

static struct rows_pick pick_make(uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed, 1);
    int n = 1 + (int)(seed < 130 ? seed : seed * 377 % MOST), n_cols = 1 + (int)(seed % ROWS_PICK);
    for (size_t i = 0; i < sizeof table; i++)
        table[i] = (uint8_t)rng_below(&r, 256);
    for (int i = 0; i < n; i++) {
        rows[i] = (int32_t)rng_below(&r, LINES);
        words[i] = 1 + rng_below(&r, 9) + ((int64_t)rng_below(&r, 9) << 32);
    }
    for (int j = 0; j < n_cols; j++)
        cols[j] = (int32_t)(seed % 3 == 0 ? rng_below(&r, PITCH)
                                          : seed % 3 * 64 - 64 + rng_below(&r, 64));
    return (struct rows_pick){ table, PITCH, rows, n, seed & 4, cols, n_cols };
}

static void check_bins(const struct rows_pick *p)
{
    static uint8_t by_row[MOST][ROWS_PICK], by_col[ROWS_PICK][ROWS_PICK_FEW];
    int64_t from = p->n / 3;
    bool is_few = p->n <= ROWS_PICK_FEW;

    rows_pick_rows(p, from, p->n, by_row);
    if (is_few)
        rows_pick_columns(p, by_col);
    for (int64_t i = 0; i < p->n; i++) {
        for (int j = 0; j < p->n_cols; j++) {
            uint8_t want = table[rows[i] * PITCH + cols[j]];
            assert_true(i < from || by_row[i - from][j] == want);
            assert_true(!is_few || by_col[j][i] == want);
        }
    }
}

static void check_sums(const struct rows_pick *p)
{
    static int64_t got[ROWS_PICK + 1][256], want[ROWS_PICK + 1][256];

    memset(got, 0, sizeof got);
    memset(want, 0, sizeof want);
    rows_pick_add(p, words, picked, got[0]);
    for (int64_t i = 0; i < p->n; i++) {
        for (int j = 0; j < p->n_cols; j++) {
            want[j][table[rows[i] * PITCH + cols[j]]] += words[i];
            assert_int_equal(picked[i][j], table[rows[i] * PITCH + cols[j]]);
        }
    }
    assert_memory_equal(got, want, sizeof got);
}

/* Sums of 16 bits may wrap round. */
static void check_byte_sums(const struct rows_pick *p)
{
    static uint16_t got[ROWS_PICK + 1][256], want[ROWS_PICK + 1][256], few[MOST];

    memset(got, 0, sizeof got);
    memset(want, 0, sizeof want);
    for (int64_t i = 0; i < p->n; i++)
        few[i] = (uint16_t)(words[i] | words[i] >> 24);
    rows_pick_add_bytes(p, few, picked, got[0]);
    for (int64_t i = 0; i < p->n; i++) {
        for (int j = 0; j < p->n_cols; j++) {
            uint16_t *to = &want[j][table[rows[i] * PITCH + cols[j]]];
            *to = (uint16_t)(*to + few[i]);
        }
    }
    assert_memory_equal(got, want, sizeof got);
}

static void columns_are_those_of_a_plain_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rows_pick p = pick_make(seed);
        for (enum simd_level level = SIMD_PLAIN; level <= simd_best(); level++) {
            simd_force(level);
            check_bins(&p);
            check_sums(&p);
            check_byte_sums(&p);
        }
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_a_plain_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
