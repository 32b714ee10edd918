/* test_simulate_conf.c - flags and specs become pairs of searchers with limits; whatever is wrong is named. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/simulate_conf.h"

static struct simulate_pair pairs[SIMULATE_MAX_PAIRS];

static struct tabular *table(bool is_grid)
{
    enum { N = 4, EPOCHS = 27 };
    struct space *s = space_new();
    struct param p = { .name = (char *)"x", .kind = PARAM_INT, .hi = N - 1, .parent = -1 };
    struct tabular *t = NULL;

    assert_int_equal(space_add(s, &p, NULL), 0);
    if (is_grid) {
        float *v = mem_array(N, sizeof *v);
        for (int i = 0; i < N; i++)
            v[i] = (float)i;
        t = tabular_grid_new("g", s, false, v, N, NULL);
    } else {
        double *points = mem_array(N, sizeof *points);
        float *data = mem_array((size_t)2 * N * EPOCHS, sizeof *data);
        for (int i = 0; i < N * EPOCHS; i++) {
            data[2 * i] = (float)i;
            data[2 * i + 1] = (float)(2 * (i % EPOCHS + 1)); /* 54 s in all */
            int at = i / EPOCHS;
            points[at] = at;
        }
        t = tabular_curves_new("c", s, false, points, N, EPOCHS, data, NULL);
    }
    assert_non_null(t);
    return t;
}

static int pairs_of(bool is_grid, const struct simulate_wish *w, const char *const *specs, int n,
                    struct err *err)
{
    struct tabular *t = table(is_grid);
    int rc = simulate_pairs(t, w, specs, n, pairs, err);

    tabular_free(t);
    return rc;
}

static void every_sampler_meets_every_scheduler(void **state)
{
    struct simulate_wish w = { .samplers = "random,sobol",
                               .schedulers = "none,asha:eta=4:brackets=2,asha",
                               .workers = 5,
                               .seed = 7 };

    (void)state;
    assert_int_equal(pairs_of(false, &w, NULL, 0, NULL), 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(pairs[i].conf.sampler->name, i < 3 ? "random" : "sobol");
        assert_string_equal(pairs[i].conf.scheduler->name, i % 3 == 0 ? "none" : "asha");
        assert_int_equal(pairs[i].conf.workers, 5);
        assert_int_equal(pairs[i].conf.seed, 7);
        assert_int_equal(pairs[i].conf.n_levels, 4); /* 1 3 9 27 */
        assert_true(pairs[i].conf.clock == 40 * 54.0 / 5);
    }
    const struct search_option *o = pairs[1].conf.scheduler->options;
    for (int k = 0; k < pairs[1].conf.scheduler->n_options; k++) {
        double v = pairs[1].conf.scheduler_options[k], d = pairs[2].conf.scheduler_options[k];
        assert_true(d == o[k].def);
        assert_true(v == (str_eq(o[k].name, "eta") ? 4 : str_eq(o[k].name, "brackets") ? 2 : d));
    }
}

static void what_is_not_said_has_a_default(void **state)
{
    struct simulate_wish w = { .workers = 0 };

    (void)state;
    assert_int_equal(pairs_of(true, &w, NULL, 0, NULL), 1);
    assert_int_equal(pairs[0].conf.workers, 1);
    assert_int_equal(pairs[0].conf.trials, 200);
    assert_true(pairs[0].conf.clock == 0);
    assert_string_equal(pairs[0].scheduler_text, "auto: none"); /* one level */
    assert_int_equal(pairs_of(false, &w, NULL, 0, NULL), 1);
    assert_int_equal(pairs[0].conf.workers, 8);
    assert_int_equal(pairs[0].conf.trials, 0);
    assert_true(pairs[0].conf.clock == 40 * 54.0 / 8);
    assert_string_equal(pairs[0].scheduler_text, "auto: asha");
}

static void limits_are_those_of_flags_then_of_the_spec(void **state)
{
    static const char spec[] =
        "dataset: some.csv\ntarget: y\nsampler: sobol\nscheduler: {kind: asha, eta: 2}\n"
        "budget: {time: 90s, trials: 33}\nparallel: 6\n";
    char path[300];
    const char *specs[] = { test_path(path, sizeof path, "s.yaml") };
    struct simulate_wish w = { .workers = 0 };

    (void)state;
    assert_int_equal(io_replace(path, spec, strlen(spec), 0600, NULL), 0);
    assert_int_equal(pairs_of(false, &w, specs, 1, NULL), 1);
    assert_string_equal(pairs[0].conf.sampler->name, "sobol");
    assert_string_equal(pairs[0].scheduler_text, "asha:eta=2");
    assert_true(pairs[0].conf.clock == 90 && pairs[0].conf.trials == 33);
    assert_int_equal(pairs[0].conf.workers, 6);
    w = (struct simulate_wish){
        .workers = 3, .trials = 5, .clock_ms = 7000, .samplers = "random", .ladder = "2,27"
    };
    assert_int_equal(pairs_of(false, &w, specs, 1, NULL), 2); /* the spec's and the flags' */
    for (int i = 0; i < 2; i++) {
        assert_string_equal(pairs[i].conf.sampler->name, i ? "random" : "sobol");
        assert_true(pairs[i].conf.clock == 7 && pairs[i].conf.trials == 5);
        assert_int_equal(pairs[i].conf.workers, 3);
        assert_int_equal(pairs[i].conf.n_levels, 2);
    }
    assert_int_equal(pairs_of(true, &(struct simulate_wish){ .workers = 0 }, specs, 1, NULL), 1);
    assert_true(pairs[0].conf.clock == 0); /* a grid has no times */
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        bool is_grid;
        struct simulate_wish w;
        const char *says;
    } cases[] = {
        { false, { .samplers = "randm" }, "\"randm\" is no sampler; did you mean random" },
        { false, { .schedulers = "asha2" }, "\"asha2\" is no scheduler; did you mean asha" },
        { false, { .samplers = "testhash" }, "no sampler" },
        { false, { .schedulers = "testhash" }, "no scheduler" },
        { false, { .schedulers = "asha:etta=3" }, "etta: unknown option; did you mean eta" },
        { false, { .schedulers = "asha:eta" }, "is not OPTION=NUMBER" },
        { false, { .schedulers = "asha:eta=x" }, "scheduler: " },
        { false, { .schedulers = "asha:eta=1000" }, "eta: must be from" },
        { false, { .samplers = "auto:x=1" }, "auto takes no options" },
        { false, { .samplers = "," }, "--sampler: names nothing" },
        { false, { .ladder = "1,3,9" }, "--ladder: must rise to the last epoch" },
        { false, { .ladder = "3,1,27" }, "--ladder: " },
        { false, { .ladder = "1,27,28" }, "--ladder: " },
        { false, { .ladder = "" }, "--ladder: " },
        { true, { .clock_ms = 5000 }, "--clock: a grid has no times" },
        { true, { .noise = "much" }, "--noise: \"much\" is no number" },
        { true, { .noise = "-1" }, "--noise: " },
        { false, { .noise = "0.3" }, "--noise: only a grid" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        int rc = pairs_of(cases[i].is_grid, &cases[i].w, NULL, 0, &err);
        if (rc >= 0 || !strstr(err.text, cases[i].says))
            print_error("case %zu: %s\n", i, err.text);
        assert_int_equal(rc, -1);
        assert_non_null(strstr(err.text, cases[i].says));
    }
    const char *none[] = { "/nowhere/spec.yaml" };
    struct simulate_wish w = { .workers = 0 };
    struct err err = { 0 };
    assert_int_equal(pairs_of(false, &w, none, 1, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
}

static void too_many_pairs_are_refused(void **state)
{
    struct simulate_wish w = { .samplers =
                                   "random,random,random,random,random,random,random,random,random",
                               .schedulers = "none,none,none,none,none,none,none,none" };

    (void)state;
    assert_int_equal(pairs_of(false, &w, NULL, 0, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sampler_meets_every_scheduler),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(limits_are_those_of_flags_then_of_the_spec),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(too_many_pairs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
