/* test_rows_part.c - rows sent to two children against a plain loop, over many lengths, cuts and missing values, with and
 * without vector instructions. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/rows_part.h"
#include "ml/cpu/simd.h"

#include <string.h>

enum { LINES = 300, PITCH = 48, MOST = 290, GUARD = 20, SEEDS = 400 };

struct lists {
    int32_t rows[MOST + 2 * GUARD];
    int64_t words[MOST + 2 * GUARD];
};

static struct rows_parted part_want(const struct rows_part *p, uint8_t up, uint8_t cut,
                                    struct lists *to)
{
    struct rows_parted out = { 0 };
    int32_t hi = p->n;

    for (int32_t i = 0; i < p->n; i++) {
        uint8_t b = p->bins[p->rows[i] * p->pitch];
        bool is_left = (uint8_t)(b + up) <= cut;
        int32_t at = GUARD + (is_left ? out.n_left++ : --hi);
        to->rows[at] = p->rows[i];
        to->words[at] = p->words[i];
        out.left += is_left ? p->words[i] : 0;
        out.has_missing |= b == 255;
    }
    return out;
}

static void lists_guard(struct lists *l)
{
    for (int i = 0; i < MOST + 2 * GUARD; i++) {
        l->rows[i] = -7;
        l->words[i] = -7;
    }
}

/* The same bins, brought together before. */
static void check_picked(const struct rows_part *p, int at, uint8_t up, uint8_t cut,
                         const struct rows_parted *is, struct lists *got, const struct lists *want)
{
    static uint8_t picked[MOST + 8][8];
    struct rows_part q = *p;

    for (int32_t i = 0; i < p->n; i++)
        picked[i][at] = p->bins[p->rows[i] * p->pitch];
    lists_guard(got);
    q.bins = &picked[0][at];
    struct rows_parted out = rows_part_picked(&q, at, up, cut);
    assert_true(out.n_left == is->n_left && out.left == is->left &&
                out.has_missing == is->has_missing);
    assert_memory_equal(got, want, sizeof *got);
}

static void rows_go_where_a_plain_loop_sends_them(void **state)
{
    static uint8_t table[LINES * PITCH];
    static int32_t rows[MOST];
    static int64_t words[MOST];
    static struct lists want, got;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng r;
        rng_init(&r, seed, 1);
        int32_t n = 1 + (int32_t)(seed < 150 ? seed : seed * 37 % MOST);
        for (size_t i = 0; i < sizeof table; i++)
            table[i] = (uint8_t)(rng_below(&r, 20) == 0 && seed % 3 ? 255 : rng_below(&r, 255));
        for (int i = 0; i < n; i++) {
            rows[i] = (int32_t)rng_below(&r, LINES);
            words[i] = 1 + rng_below(&r, 9) + ((int64_t)rng_below(&r, 9) << 32);
        }
        uint8_t up = seed % 2, cut = (uint8_t)(up + rng_below(&r, seed % 5 ? 255 : 3));
        for (enum simd_level level = SIMD_PLAIN; level <= simd_best(); level++) {
            simd_force(level);
            lists_guard(&want);
            lists_guard(&got);
            const struct rows_part p = {
                table + seed % PITCH, PITCH, rows, words, n, seed & 4, got.rows + GUARD,
                got.words + GUARD
            };
            struct rows_parted is = part_want(&p, up, cut, &want), out = rows_part(&p, up, cut);
            assert_int_equal(out.n_left, is.n_left);
            assert_true(out.left == is.left && out.has_missing == is.has_missing);
            assert_memory_equal(&got, &want, sizeof got);
            check_picked(&p, (int)(seed % 8), up, cut, &is, &got, &want);
        }
    }
    simd_force(simd_best());
}

static void marked_rows_go_left(void **state)
{
    static int32_t rows[MOST];
    static int64_t words[MOST];
    static struct lists want, got;
    uint64_t marks[MOST / 64 + 1];

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng r;
        rng_init(&r, seed, 2);
        int32_t n = 1 + (int32_t)(seed < 150 ? seed : seed * 37 % MOST), lo = 0, hi = n;
        lists_guard(&want);
        memset(marks, 0, sizeof marks);
        for (int32_t i = 0; i < n; i++) {
            bool is_left = rng_below(&r, 8) < seed % 9;
            int32_t at = GUARD + (is_left ? lo++ : --hi);
            marks[i / 64] |= (uint64_t)is_left << i % 64;
            want.rows[at] = rows[i] = i;
            want.words[at] = words[i] = 1 + rng_below(&r, 9) + ((int64_t)rng_below(&r, 9) << 32);
        }
        for (enum simd_level level = SIMD_PLAIN; level <= simd_best(); level++) {
            const struct rows_part p = { .rows = rows,
                                         .words = words,
                                         .n = n,
                                         .to_rows = got.rows + GUARD,
                                         .to_words = got.words + GUARD };
            simd_force(level);
            lists_guard(&got);
            rows_part_marked(&p, marks);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_go_where_a_plain_loop_sends_them),
        cmocka_unit_test(marked_rows_go_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
