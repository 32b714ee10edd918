/* test_tabular.c - tables of known outcomes: refused when they are none, found by their points, and measured exactly. Against
 * brute force over random small tables. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/lab/tabular.h"

#include <math.h>

enum { ROUNDS = 60 };

static double uniform(struct rng *r, double lo, double hi)
{
    return lo + (hi - lo) * rng_unit(r);
}

static struct space *grid_space(struct rng *r, size_t *n)
{
    struct space *s = space_new();
    int d = 1 + (int)rng_below(r, 4);

    *n = 1;
    for (int i = 0; i < d; i++) {
        char name[20];
        int c = 1 + (int)rng_below(r, 5);
        snprintf(name, sizeof name, "p%d", i);
        if (rng_below(r, 2))
            spaces_choice(s, name, c, rng_below(r, 2));
        else
            spaces_int(s, name, 0, c - 1, 0, false);
        *n *= (size_t)c;
    }
    return s;
}

static struct tabular *random_grid(struct rng *r, bool is_minimised)
{
    size_t n = 0;
    struct space *s = grid_space(r, &n);
    float *v = mem_array(n, sizeof *v);

    for (size_t i = 0; i < n; i++)
        v[i] = rng_below(r, 9) ? (float)rng_normal(r) : NAN;
    v[rng_below(r, (uint32_t)n)] = 0.5f;
    struct tabular *t = tabular_grid_new("grid", s, is_minimised, v, n, NULL);
    assert_non_null(t);
    return t;
}

static void every_point_of_a_grid_has_its_own_entry(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct tabular *t = random_grid(&r, false);
        bool *hit = mem_array(t->n, sizeof *hit);
        double point[8], again[8];
        for (size_t i = 0; i < t->n; i++) {
            space_at(t->space, i, point);
            size_t at = tabular_find(t, point, NULL), rest = at;
            assert_true(at < t->n && !hit[at]);
            hit[at] = true;
            for (int p = t->space->n - 1; p >= 0; p--) { /* the last parameter is the fastest */
                size_t c = (size_t)param_size(&t->space->params[p]);
                again[p] = param_value(&t->space->params[p], (double)(rest % c));
                rest /= c;
            }
            assert_memory_equal(point, again, (size_t)t->space->n * sizeof *point);
        }
        mem_free(hit);
        tabular_free(t);
    }
}

static void the_measures_of_a_grid_are_those_of_its_values(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < ROUNDS; round++) {
        bool is_minimised = rng_below(&r, 2);
        struct tabular *t = random_grid(&r, is_minimised);
        size_t below = 0, above = 0, n = 0;
        double best = -INFINITY;
        for (size_t i = 0; i < t->n; i++) {
            double v = is_minimised ? -t->data[i] : t->data[i];
            if (isnan(v))
                continue;
            n++;
            best = fmax(best, v);
            below += v < t->median;
            above += v > t->median;
            assert_true(tabular_regret(t, v) >= 0);
        }
        assert_true(t->best == best);
        assert_true(2 * below <= n && 2 * above <= n);
        assert_true(tabular_regret(t, best) == 0);
        if (t->median < t->best)
            assert_true(fabs(tabular_regret(t, t->median) - 1) < 1e-12);
        assert_true(tabular_regret(t, NAN) == tabular_regret(t, t->worst));
        tabular_free(t);
    }
}

/* Mean regret of every set of two different entries. */
static double regret_of_pairs(const struct tabular *t)
{
    double sum = 0, pairs = 0;

    for (size_t a = 0; a < t->n; a++) {
        for (size_t b = 0; b < a; b++) {
            sum += tabular_regret(t, fmax(tabular_value(t, a, 1), tabular_value(t, b, 1)));
            pairs++;
        }
    }
    return sum / pairs;
}

static void expectation_of_random_is_exact(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < ROUNDS; round++) {
        struct tabular *t = random_grid(&r, rng_below(&r, 2));
        double one = 0;
        for (size_t i = 0; i < t->n; i++)
            one += tabular_regret(t, tabular_value(t, i, 1)) / (double)t->n;
        assert_true(fabs(tabular_random_regret(t, 1) - one) < 1e-9 * (1 + fabs(one)));
        if (t->n > 1) {
            double two = regret_of_pairs(t);
            assert_true(fabs(tabular_random_regret(t, 2) - two) < 1e-9 * (1 + fabs(two)));
        }
        assert_true(fabs(tabular_random_regret(t, t->n)) < 1e-12);
        assert_true(fabs(tabular_random_regret(t, 10 * t->n)) < 1e-12);
        tabular_free(t);
    }
}

static struct space *curve_space(void)
{
    struct space *s = space_new();

    spaces_float(s, "x", -2, 3, 0, false);
    spaces_float(s, "rate", 1e-4, 1e-1, 0, true);
    spaces_int(s, "units", 16, 512, 0, true);
    spaces_choice(s, "kind", 3, false);
    return s;
}

struct made {
    double *points;
    float *data;
};

static struct made curves_made(const struct space *s, struct rng *r, size_t n, int epochs)
{
    struct made m = { mem_array(n * (size_t)s->n, sizeof *m.points),
                      mem_array(n * (size_t)epochs * 2, sizeof *m.data) };

    for (size_t c = 0; c < n; c++) {
        float t = 0;
        spaces_point(s, r, m.points + c * (size_t)s->n);
        for (size_t e = 0; e < (size_t)epochs; e++) {
            t += (float)uniform(r, 0.1, 2);
            m.data[2 * (c * (size_t)epochs + e)] = (float)rng_normal(r);
            m.data[2 * (c * (size_t)epochs + e) + 1] = t;
        }
    }
    return m;
}

static double place(double v, double lo, double hi, bool is_log)
{
    return is_log ? log(v / lo) / log(hi / lo) : (v - lo) / (hi - lo);
}

static double distance(const double *a, const double *b)
{
    double x = place(a[0], -2, 3, false) - place(b[0], -2, 3, false);
    double y = place(a[1], 1e-4, 1e-1, true) - place(b[1], 1e-4, 1e-1, true);
    double z = place(a[2], 16, 512, true) - place(b[2], 16, 512, true);

    return x * x + y * y + z * z + (a[3] != b[3]);
}

static void a_point_finds_the_nearest_configuration_not_taken(void **state)
{
    enum { N = 40 };
    struct rng r;
    double points[N * 4], point[4];
    bool taken[N] = { false };

    (void)state;
    rng_init(&r, test_seed(), 4);
    struct space *s = curve_space();
    struct made m = curves_made(s, &r, N, 3);
    memcpy(points, m.points, sizeof points);
    struct tabular *t = tabular_curves_new("c", s, false, m.points, N, 3, m.data, NULL);
    assert_non_null(t);
    for (int k = 0; k < N; k++) {
        spaces_point(t->space, &r, point);
        size_t c = tabular_find(t, point, taken);
        assert_true(c < N && !taken[c]);
        for (size_t o = 0; o < N; o++)
            assert_true(taken[o] ||
                        distance(point, points + 4 * o) >= distance(point, points + 4 * c) - 1e-9);
        taken[c] = true;
    }
    assert_true(tabular_find(t, point, taken) == TABULAR_NONE);
    memset(taken, 0, sizeof taken);
    for (size_t c = 0; c < N; c++)
        assert_true(distance(points + 4 * c, points + 4 * tabular_find(t, points + 4 * c, taken)) ==
                    0);
    tabular_free(t);
}

static void the_best_until_an_epoch_never_falls(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    struct space *s = curve_space();
    struct made m = curves_made(s, &r, 50, 9);
    for (int i = 0; i < 200; i++)
        m.data[2 * rng_below(&r, 450)] = NAN;
    for (int e = 0; e < 9; e++)
        m.data[2 * e] = NAN;
    struct tabular *t = tabular_curves_new("c", s, true, m.points, 50, 9, m.data, NULL);
    assert_non_null(t);
    for (size_t c = 0; c < t->n; c++) {
        double best = NAN;
        for (int e = 1; e <= t->epochs; e++) {
            double v = tabular_value(t, c, e), b = tabular_best_until(t, c, e);
            if (isnan(best) || v > best)
                best = v;
            assert_true(b == best || (isnan(b) && isnan(best)));
            assert_true(tabular_seconds(t, c, e) > tabular_seconds(t, c, e - 1));
        }
        assert_true(isnan(best) || best <= t->best);
    }
    assert_true(isnan(tabular_best_until(t, 0, 9)));
    tabular_free(t);
}

static void what_is_no_table_is_refused(void **state)
{
    static const char *const wrong[] = { "sizes",    "all NaN", "infinite", "time falls",
                                         "time NaN", "outside", "no epochs" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct rng r;
        struct err err = { 0 };
        struct space *s = curve_space();
        int epochs = i == 6 ? 0 : 3;
        rng_init(&r, test_seed(), 6);
        struct made m = curves_made(s, &r, 4, 3);
        for (int k = 0; k < 24 && i == 1; k += 2)
            m.data[k] = NAN;
        if (i == 2)
            m.data[6] = -INFINITY;
        if (i == 3 || i == 4)
            m.data[9] = i == 3 ? m.data[7] : NAN;
        if (i == 5)
            m.points[5] = 1;
        assert_null(
            tabular_curves_new("c", s, false, m.points, i == 0 ? 0 : 4, epochs, m.data, &err));
        assert_int_equal(err.code, ERR_ARG);
        assert_true(err.text[0]);
    }
    struct space *s = space_new();
    spaces_int(s, "a", 0, 3, 0, false);
    float *v = mem_array(3, sizeof *v);
    assert_null(tabular_grid_new("g", s, false, v, 3, NULL));
    s = space_new();
    spaces_float(s, "a", 0, 3, 0, false);
    v = mem_array(3, sizeof *v);
    assert_null(tabular_grid_new("g", s, false, v, 3, NULL));
}

/* A branch of four values beside one of two: the entries of a branch repeat for every value of the
 * other, and a point without a parameter finds the one at its cell 0. */
static void branches_of_a_grid_hold_one_value_a_configuration(void **state)
{
    static const float legal[] = { 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 5, 6, 5, 6, 5, 6 };
    double point[3] = { 1, NAN, 1 };
    struct err err = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct space *s = space_new();
        struct param p = { .name = "a", .parent = 0, .kind = PARAM_INT, .hi = 3 };
        spaces_choice(s, "branch", 2, false);
        p.parent_mask = 1;
        assert_int_equal(space_add(s, &p, NULL), 1);
        p = (struct param){ .name = "b", .parent = 0, .kind = PARAM_INT, .hi = 1 };
        p.parent_mask = 2;
        assert_int_equal(space_add(s, &p, NULL), 2);
        float *v = mem_dup(legal, sizeof legal);
        v[14] = i == 0 ? 5 : 7;
        struct tabular *t = tabular_grid_new("g", s, false, v, ARRAY_LEN(legal), &err);
        assert_int_equal(t != NULL, i == 0);
        if (t) {
            assert_true(tabular_value(t, tabular_find(t, point, NULL), 1) == 6);
            assert_true(t->best == 6 && t->worst == 1);
        }
        tabular_free(t);
    }
    assert_non_null(strstr(err.text, "entry 14 is 7"));
}

static void ladders_rise_by_their_factor_to_the_top(void **state)
{
    int ladder[TABULAR_MAX_LEVELS];

    (void)state;
    assert_int_equal(tabular_ladder(81, 3, ladder), 5);
    assert_int_equal(ladder[0], 1);
    assert_int_equal(ladder[2], 9);
    assert_int_equal(ladder[4], 81);
    for (int epochs = 1; epochs <= 300; epochs++) {
        double eta = 1.25;
        for (int k = 0; k < 8; k++, eta *= 1.3) {
            int n = tabular_ladder(epochs, eta, ladder);
            assert_true(n >= 1 && n <= TABULAR_MAX_LEVELS);
            assert_int_equal(ladder[n - 1], epochs);
            assert_true(ladder[0] >= 1 && (n == TABULAR_MAX_LEVELS || ladder[0] <= eta + 0.5));
            for (int i = 1; i < n; i++)
                assert_true(ladder[i] > ladder[i - 1] &&
                            ladder[i] <= eta * (ladder[i - 1] + 0.5) + 0.5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_of_a_grid_has_its_own_entry),
        cmocka_unit_test(the_measures_of_a_grid_are_those_of_its_values),
        cmocka_unit_test(branches_of_a_grid_hold_one_value_a_configuration),
        cmocka_unit_test(expectation_of_random_is_exact),
        cmocka_unit_test(a_point_finds_the_nearest_configuration_not_taken),
        cmocka_unit_test(the_best_until_an_epoch_never_falls),
        cmocka_unit_test(what_is_no_table_is_refused),
        cmocka_unit_test(ladders_rise_by_their_factor_to_the_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
