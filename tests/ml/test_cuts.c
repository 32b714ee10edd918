/* test_cuts.c - the best cut of a column against every cut weighed one by one in plain C, bit for bit, from histograms and
 * from few rows, over many seeds, on every instruction set. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/cuts.h"
#include "ml/cpu/cuts_bytes.h"
#include "ml/cpu/cuts_few.h"
#include "ml/cpu/simd.h"

#include <float.h>
#include <string.h>

enum { SEEDS = 300, MAX_ROWS = 400, BYTE_ROWS = 80 }; /* BYTE_ROWS: of weight 3 at most 255 */

struct rows {
    int n, n_bins;
    uint8_t bins[MAX_ROWS], weight[MAX_ROWS], ones[MAX_ROWS];
    struct cuts_node node;
};

/* Few levels and coarse weights give many equal scores. */
static struct rows rows_draw(uint64_t seed, int n, bool with_missing)
{
    struct rows r = { .n = n };
    struct rng g;

    rng_init(&g, seed, 1);
    r.n_bins = 1 + (int)rng_below(&g, seed % 3 ? 255 : 6);
    for (int i = 0; i < n; i++) {
        r.bins[i] = with_missing && rng_below(&g, 5) == 0
                        ? CUTS_MISSING
                        : (uint8_t)rng_below(&g, (uint32_t)r.n_bins);
        r.weight[i] = (uint8_t)(1 + (seed & 1 ? rng_below(&g, 3) : 0));
        r.ones[i] = rng_below(&g, 2) ? r.weight[i] : 0;
        r.node.n += r.weight[i];
        r.node.s += r.ones[i];
    }
    r.node.least = 1 + (int64_t)(seed % 4 == 3 ? rng_below(&g, 9) : 0);
    return r;
}

static double score_of(const struct rows *r, int cut, bool missing_left, double *right_weight)
{
    double l = 0, s = 0, n = (double)r->node.n, all = (double)r->node.s;

    for (int i = 0; i < r->n; i++) {
        if (r->bins[i] == CUTS_MISSING ? missing_left : r->bins[i] <= cut) {
            l += r->weight[i];
            s += r->ones[i];
        }
    }
    *right_weight = n - l;
    if (l < (double)r->node.least || n - l < (double)r->node.least)
        return -DBL_MAX;
    double mixed_l = s * (l - s), mixed_r = (all - s) * (n - l - (all - s));
    return n - 2.0 * (mixed_l * (n - l) + mixed_r * l) / (l * (n - l));
}

static bool is_present(const struct rows *r, int bin)
{
    return memchr(r->bins, bin, (size_t)r->n) != NULL;
}

static struct cuts_best plain(const struct rows *r, double beat)
{
    struct cuts_best best = { .score = beat };
    int bin = 0, next = 0;

    for (int cut = 0; cut < CUTS_MISSING; cut++) {
        for (int left = 0; left < 2 && (is_present(r, cut) || cut == 0); left++) {
            double w, score = score_of(r, cut, left, &w);
            if (score <= best.score)
                continue;
            best = (struct cuts_best){ score, 7, 0, left, true };
            bin = cut;
        }
    }
    for (next = bin + 1; next < CUTS_MISSING && !is_present(r, next);)
        next++;
    best.bin = best.is_better ? (next < CUTS_MISSING ? (bin + next) / 2 : bin) : best.bin;
    return best;
}

static void check(const struct cuts_best *got, const struct cuts_best *want)
{
    assert_int_equal(got->is_better, want->is_better);
    assert_true(got->score == want->score);
    if (want->is_better) {
        assert_int_equal(got->bin, want->bin);
        assert_int_equal(got->col, 7);
        assert_int_equal(got->missing_left, want->missing_left);
    }
}

static void histograms_give_the_best_cut_of_all(void **state)
{
    int64_t hist[256] = { 0 };

    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct rows r = rows_draw(seed, 1 + (int)(seed * 7 % MAX_ROWS), seed & 2);
            double beat = seed % 5 == 4 ? (double)r.node.n * 0.55 : -DBL_MAX;
            struct cuts_best want = plain(&r, beat), got = { .score = beat };
            for (int i = 0; i < r.n; i++)
                hist[r.bins[i]] += r.weight[i] | (int64_t)r.ones[i] << 32;
            cuts_hist(hist, r.n_bins, &r.node, 7, &got);
            check(&got, &want);
            for (int b = 0; b < 256; b++)
                assert_int_equal(hist[b], 0);
        }
    }
    simd_force(simd_best());
}

/* The vectors score in floats first. */
static void large_nodes_have_one_cut_on_every_instruction_set(void **state)
{
    static int64_t hist[256], copy[256];

    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct rng r;
        struct cuts_node node = { .least = 1 + (int64_t)(seed % 3) };
        struct cuts_best want = { 0 };
        rng_init(&r, seed, 7);
        uint32_t most = 1u << (1 + seed % 22), share = 1 + rng_below(&r, 1000);
        memset(hist, 0, sizeof hist);
        for (int b = 0; b < 255; b++) {
            int64_t n = rng_below(&r, 3) ? rng_below(&r, most) : 0, s = n * share / 1000;
            hist[b] = n | s << 32;
            node.n += n;
            node.s += s;
        }
        double start = seed % 2 ? -1e300 : (double)node.n * 0.5;
        for (enum simd_level level = SIMD_PLAIN; level <= simd_best(); level++) {
            struct cuts_best got = { .score = start };
            simd_force(level);
            memcpy(copy, hist, sizeof copy);
            cuts_hist(copy, 255, &node, 3, &got);
            want = level == SIMD_PLAIN ? got : want;
            assert_true(got.is_better == want.is_better && got.score == want.score);
            assert_true(got.bin == want.bin && got.missing_left == want.missing_left);
            assert_true(copy[0] == 0 && copy[254] == 0);
        }
    }
    simd_force(simd_best());
}

static void few_rows_give_the_best_cut_of_all(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct rows r =
                rows_draw(seed, 1 + (int)(seed % (seed & 1 ? BYTE_ROWS : CUTS_ROWS)), false);
            double beat = seed % 5 == 4 ? (double)r.node.n * 0.55 : -DBL_MAX;
            struct cuts_best want = plain(&r, beat), got = { .score = beat };
            cuts_rows(r.bins, r.weight, r.ones, r.n, &r.node, 7, &got);
            check(&got, &want);
            if (r.n > CUTS_FEW || !cuts_few_is_fast())
                continue;
            struct cuts_few few;
            got = (struct cuts_best){ .score = beat };
            cuts_few_two(&few, r.weight, r.ones, r.n);
            cuts_few_cut(&few, r.bins, r.n_bins, &r.node, 7, &got);
            check(&got, &want);
        }
    }
    simd_force(simd_best());
}

static void bytes_give_the_best_cut_of_all(void **state)
{
    uint16_t hist[256] = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < 4 * SEEDS && cuts_bytes_is_fast(); seed++) {
        struct rows r =
            rows_draw(seed, 1 + (int)(seed * 7 % (seed & 1 ? BYTE_ROWS : CUTS_BYTES_MOST)), false);
        double beat = seed % 5 == 4 ? (double)r.node.n * 0.55 : -DBL_MAX;
        struct cuts_best want = plain(&r, beat), got = { .score = beat };
        for (int i = 0; i < r.n; i++)
            hist[r.bins[i]] = (uint16_t)(hist[r.bins[i]] + (r.weight[i] | r.ones[i] << 8));
        cuts_bytes(hist, r.n_bins, &r.node, 7, &got);
        check(&got, &want);
        for (int b = 0; b < 256; b++)
            assert_int_equal(hist[b], 0);
    }
}

/* ---- several classes ---- */

enum { CLASSES = 5 };

struct many {
    struct rows r;
    int32_t ends[CLASSES], total[CLASSES];
};

/* Every class has at least one row; rows stand class by class. */
static struct many many_draw(uint64_t seed, int n, bool with_missing)
{
    struct many m = { .r = rows_draw(seed, n, with_missing) };

    for (int k = 0, i = 0; k < CLASSES; k++) {
        m.ends[k] = k == CLASSES - 1 ? n : n * (k + 1) / CLASSES;
        for (; i < m.ends[k]; i++)
            m.total[k] += m.r.weight[i];
    }
    return m;
}

static double many_score(const struct many *m, int cut, bool missing_left)
{
    double l = 0, l2 = 0, r2 = 0, n = (double)m->r.node.n;

    for (int k = 0, i = 0; k < CLASSES; k++) {
        double x = 0;
        for (; i < m->ends[k]; i++) {
            if (m->r.bins[i] == CUTS_MISSING ? missing_left : m->r.bins[i] <= cut)
                x += m->r.weight[i];
        }
        l += x;
        l2 += x * x;
        r2 += (m->total[k] - x) * (m->total[k] - x);
    }
    if (l < (double)m->r.node.least || n - l < (double)m->r.node.least)
        return -DBL_MAX;
    return (l2 * (n - l) + r2 * l) / (l * (n - l));
}

static struct cuts_best many_plain(const struct many *m)
{
    struct cuts_best best = { .score = -DBL_MAX };
    int bin = 0, next = 0;

    for (int cut = 0; cut < CUTS_MISSING; cut++) {
        for (int left = 0; left < 2 && (is_present(&m->r, cut) || cut == 0); left++) {
            double score = many_score(m, cut, left);
            if (score <= best.score)
                continue;
            best = (struct cuts_best){ score, 7, 0, left, true };
            bin = cut;
        }
    }
    for (next = bin + 1; next < CUTS_MISSING && !is_present(&m->r, next);)
        next++;
    best.bin = best.is_better ? (next < CUTS_MISSING ? (bin + next) / 2 : bin) : best.bin;
    return best;
}

static void histograms_of_several_classes_give_the_best_cut_of_all(void **state)
{
    static int32_t hist[CLASSES * 256];

    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct many m = many_draw(seed, CLASSES + (int)(seed * 7 % 300), seed & 2);
            struct cuts_best want = many_plain(&m), got = { .score = -DBL_MAX };
            for (int k = 0, i = 0; k < CLASSES; k++) {
                for (; i < m.ends[k]; i++)
                    hist[k * 256 + m.r.bins[i]] += m.r.weight[i];
            }
            cuts_hist_many(hist, m.r.n_bins, m.total, CLASSES, &m.r.node, 7, &got);
            check(&got, &want);
            for (int b = 0; b < CLASSES * 256; b++)
                assert_int_equal(hist[b], 0);
        }
    }
    simd_force(simd_best());
}

static void few_rows_of_several_classes_give_the_best_cut_of_all(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct many m = many_draw(
                seed, CLASSES + (int)(seed % (seed & 1 ? BYTE_ROWS : CUTS_ROWS - CLASSES + 1)),
                false);
            struct cuts_best want = many_plain(&m), got = { .score = -DBL_MAX };
            cuts_rows_many(m.r.bins, m.r.weight, m.ends, m.total, CLASSES, &m.r.node, 7, &got);
            check(&got, &want);
            if (m.r.n > CUTS_FEW || !cuts_few_is_fast())
                continue;
            struct cuts_few few;
            got = (struct cuts_best){ .score = -DBL_MAX };
            cuts_few_many(&few, m.r.weight, m.ends, m.total, CLASSES);
            cuts_few_cut(&few, m.r.bins, m.r.n_bins, &m.r.node, 7, &got);
            check(&got, &want);
        }
    }
    simd_force(simd_best());
}

static void bytes_of_several_classes_give_the_best_cut_of_all(void **state)
{
    uint8_t hist[CLASSES][256] = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < 4 * SEEDS && cuts_bytes_is_fast(); seed++) {
        int most = seed & 1 ? BYTE_ROWS : CUTS_BYTES_MOST - CLASSES;
        struct many m = many_draw(seed, CLASSES + (int)(seed * 7 % (uint64_t)most), false);
        struct cuts_best want = many_plain(&m), got = { .score = -DBL_MAX };
        if (seed % 5 == 4)
            got.score = want.score;
        for (int k = 0, i = 0; k < CLASSES; k++) {
            for (; i < m.ends[k]; i++)
                hist[k][m.r.bins[i]] = (uint8_t)(hist[k][m.r.bins[i]] + m.r.weight[i]);
        }
        cuts_bytes_many(hist[0], m.r.n_bins, m.total, CLASSES, &m.r.node, 7, &got);
        want.is_better = want.is_better && seed % 5 != 4;
        check(&got, &want);
        for (int b = 0; b < CLASSES * 256; b++)
            assert_int_equal(hist[b / 256][b % 256], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_give_the_best_cut_of_all),
        cmocka_unit_test(large_nodes_have_one_cut_on_every_instruction_set),
        cmocka_unit_test(few_rows_give_the_best_cut_of_all),
        cmocka_unit_test(bytes_give_the_best_cut_of_all),
        cmocka_unit_test(histograms_of_several_classes_give_the_best_cut_of_all),
        cmocka_unit_test(few_rows_of_several_classes_give_the_best_cut_of_all),
        cmocka_unit_test(bytes_of_several_classes_give_the_best_cut_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
