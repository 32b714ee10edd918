/* test_tpe_split.c - good and bad against a plain sort of the trials, over random histories with levels, failures and odd
 * values; thinning keeps its numbers; fronts come before what they dominate. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/insight/pareto.h"
#include "search/samplers/tpe/tpe_front.h"
#include "search/samplers/tpe/tpe_split.h"

#include <math.h>

enum { ROUNDS = 60, N_JOINT = 4, TOP = 3 };

static void tell(struct history *h, int64_t trial, enum obs_state state, int level, double value)
{
    struct observation o = { .trial = trial, .state = state, .level = level };

    o.max_level = TOP;
    o.value = value;
    (void)history_observe(h, &o);
}

/* Trials that climb some levels; every fifth fails, every seventh is silent. */
static void any_history(struct history *h, const struct space *s, int n, struct rng *r)
{
    double point[16];

    history_init(h, s);
    for (int trial = 1; trial <= n; trial++) {
        spaces_point(s, r, point);
        (void)history_add(h, trial, point);
        int reached = trial % 7 == 0 ? 0 : 1 + (int)rng_below(r, TOP);
        for (int level = 1; level <= reached; level++)
            tell(h, trial, level == TOP ? OBS_COMPLETED : OBS_RUNNING, level,
                 rng_below(r, 9) ? floor(rng_unit(r) * 20) : NAN);
        if (trial % 5 == 0)
            tell(h, trial, OBS_FAILED, reached, NAN);
    }
}

static int modelled(const struct history *h)
{
    for (int below = 0; below < TOP; below++) {
        const struct history_ranking *b = history_ranking(h, below);
        if (b && b->n >= 8)
            return below;
    }
    return -1;
}

/* a stands before b: came to the level, or nearer to it; then by value, then by trial. */
static bool before(const struct history *h, int a, int b, int below)
{
    const struct history_row *x = &h->rows[a], *y = &h->rows[b];
    int p = MAX(x->reports[0].below, below), q = MAX(y->reports[0].below, below);

    if (p != q)
        return p < q;
    double v = history_at(h, a, p)->value, w = history_at(h, b, q)->value;
    v = isnan(v) ? -INFINITY : v;
    w = isnan(w) ? -INFINITY : w;
    return v != w ? v > w : x->trial < y->trial;
}

static bool holds(const int *rows, int n, int row)
{
    for (int i = 0; i < n; i++) {
        if (rows[i] == row)
            return true;
    }
    return false;
}

static void the_good_ones_are_the_first_tenth(void **state)
{
    struct space *s = spaces_mixed();
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct tpe_split split;
        struct history h;
        int verdicts = 0;
        any_history(&h, s, 40 + (int)rng_below(&r, 300), &r);
        tpe_split_init(&split);
        assert_true(tpe_split_make(&split, &h, N_JOINT, 1, 10, 1));
        for (int row = 0; row < h.n; row++) {
            const struct history_row *t = &h.rows[row];
            bool has_verdict = t->n_reports > 0 || t->state == OBS_FAILED;
            bool is_good = holds(split.good, split.n_good, row);
            verdicts += has_verdict;
            assert_int_equal(has_verdict, is_good + holds(split.bad, split.n_bad, row));
            assert_false(is_good && t->state == OBS_FAILED);
            for (int i = 0; !is_good && has_verdict && t->state != OBS_FAILED && i < split.n_good;
                 i++)
                assert_true(before(&h, split.good[i], row, modelled(&h)));
        }
        assert_int_equal(split.n, verdicts);
        assert_int_equal(split.n_good, MIN((verdicts + 9) / 10, 25));
        assert_false(tpe_split_make(&split, &h, N_JOINT, 1, verdicts + 1, 1));
        tpe_split_fini(&split);
        history_fini(&h);
    }
    space_free(s);
}

static void long_histories_are_thinned_evenly_and_stably(void **state)
{
    struct space *s = spaces_chain(2);
    struct tpe_split a, b;
    struct history h;
    double point[2] = { 0, NAN };
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 2);
    history_init(&h, s);
    for (int trial = 1; trial <= 5500; trial++) {
        (void)history_add(&h, trial, point);
        tell(&h, trial, OBS_COMPLETED, TOP, rng_unit(&r));
    }
    tpe_split_init(&a);
    tpe_split_init(&b);
    assert_true(tpe_split_make(&a, &h, 2, 1, 10, 1));
    assert_int_equal(a.n_good, 25);
    assert_in_range(a.n_bad, 900, 1000);
    assert_true(fabs(a.thinned * a.n_bad - 5475) <= a.thinned);
    for (int part = 0; part < 5; part++) { /* each fifth of the study has its share */
        int n = 0;
        for (int i = 0; i < a.n_bad; i++)
            n += h.rows[a.bad[i]].trial > part * 1100 &&
                 h.rows[a.bad[i]].trial <= part * 1100 + 1100;
        assert_in_range(n, a.n_bad / 5 - 5, a.n_bad / 5 + 5);
    }
    (void)history_add(&h, 6000, point); /* a bad one more changes one place at most */
    tell(&h, 6000, OBS_COMPLETED, TOP, -1);
    assert_true(tpe_split_make(&b, &h, 2, 1, 10, 1));
    int changed = 0;
    for (int i = 0; i < b.n_bad; i++)
        changed += !holds(a.bad, a.n_bad, b.bad[i]);
    assert_true(changed <= 1);
    tpe_split_fini(&a);
    tpe_split_fini(&b);
    history_fini(&h);
    space_free(s);
}

/* Trials without a value, failed ones, make no more good. */
static void with_noise_up_to_three_times_as_many_are_good(void **state)
{
    static const struct {
        double noise;
        int trials, good;
    } cases[] = { { 0, 100, 10 },   { 0.25, 100, 20 }, { 0.5, 100, 30 }, { 0.9, 100, 30 },
                  { 0.5, 400, 75 }, { 0, 400, 25 },    { 0.5, -100, 15 } };
    struct space *s = spaces_chain(2);
    double point[2] = { 0, NAN };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        struct tpe_split split;
        struct history h;
        history_init(&h, s);
        for (int trial = 1; trial <= abs(cases[c].trials); trial++) {
            bool fails = cases[c].trials < 0 && trial % 2;
            (void)history_add(&h, trial, point);
            tell(&h, trial, fails ? OBS_FAILED : OBS_COMPLETED, TOP, fails ? NAN : trial);
        }
        tpe_split_init(&split);
        split.noise = cases[c].noise;
        assert_true(tpe_split_make(&split, &h, 2, 1, 10, 1));
        assert_int_equal(split.n_good, cases[c].good);
        for (int i = 0; i < split.n_good; i++)
            assert_true(h.rows[split.good[i]].state == OBS_COMPLETED);
        tpe_split_fini(&split);
        history_fini(&h);
    }
    space_free(s);
}

/* ---- several objectives ---- */

static void nothing_good_is_dominated_by_something_left_out(void **state)
{
    static const double odd[] = { NAN, INFINITY, 1e308, -1e308 };
    double values[300 * 3];
    int rows[300], out[50];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < ROUNDS; round++) {
        int n = 1 + (int)rng_below(&r, 300), m = 2 + (int)rng_below(&r, 2);
        int want = 1 + (int)rng_below(&r, 50);
        for (int i = 0; i < n * m; i++)
            values[i] = rng_below(&r, 50) ? floor(30 * rng_unit(&r)) : odd[rng_below(&r, 4)];
        for (int i = 0; i < n; i++)
            rows[i] = 1000 + i;
        int got = tpe_front_best(values, rows, n, m, want, out);
        assert_true(got <= want && got >= MIN(MIN(want, n), 32));
        for (int i = 0; i < got; i++) {
            assert_false(holds(out, i, out[i]));
            for (int k = 0; k < n; k++)
                assert_false(!holds(out, got, 1000 + k) &&
                             pareto_dominates(values + (size_t)k * (size_t)m,
                                              values + (size_t)(out[i] - 1000) * (size_t)m, m));
        }
    }
}

static void a_tie_is_broken_by_volume(void **state)
{
    /* Along a line: the middle covers most, then one of the ends, which add more than a neighbour does. */
    const double values[] = { 0, 10, 5, 5, 5.1, 4.9, 10, 0, 4.9, 5.1 };
    const int rows[] = { 0, 1, 2, 3, 4 };
    int out[3];

    (void)state;
    assert_int_equal(tpe_front_best(values, rows, 5, 2, 3, out), 3);
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1] + out[2], 0 + 3);
}

static void a_long_history_keeps_its_front(void **state)
{
    enum { N = 20000 };
    double *values = mem_array((size_t)N * 2, sizeof *values);
    int *rows = mem_array(N, sizeof *rows), out[50];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 4);
    for (int i = 0; i < N; i++) { /* inside the circle; each thousandth on it, spread evenly */
        bool is_best = i % 1000 == 7;
        int place = i / 1000;
        double x = is_best ? (place + 0.5) * 1000 / N : rng_unit(&r);
        double y = sqrt(1 - x * x), size = is_best ? 1 : 0.9 * rng_unit(&r);
        values[2 * i] = x * size;
        values[2 * i + 1] = y * size;
        rows[i] = i;
    }
    assert_int_equal(tpe_front_best(values, rows, N, 2, 50, out), 50);
    for (int i = 0; i < N / 1000; i++)
        assert_true(holds(out, 50, 1000 * i + 7));
    mem_free(values);
    mem_free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_ones_are_the_first_tenth),
        cmocka_unit_test(long_histories_are_thinned_evenly_and_stably),
        cmocka_unit_test(with_noise_up_to_three_times_as_many_are_good),
        cmocka_unit_test(nothing_good_is_dominated_by_something_left_out),
        cmocka_unit_test(a_tie_is_broken_by_volume),
        cmocka_unit_test(a_long_history_keeps_its_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
