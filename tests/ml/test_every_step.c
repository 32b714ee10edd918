/* test_every_step.c - a table that makes every preparation step work at once: trials on it are
 * deterministic, and a trial that was stopped, saved and loaded between any two slices ends with the
 * same bits; the steps' memory is counted, and they are shared by trials that choose alike. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/fit_rig.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/fit/fit.h"
#include "ml/fit/fit_unit.h"
#include "ml/model/model.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { ROWS = 1600, LEVELS = 100, CODES = 40 };

static double effect(int of, int salt)
{
    return sin(of * 12.9898 * (of + 1) + salt * 78.233) * 2;
}

static void row_put(struct buf *b, struct rng *r, int i)
{
    static const char *const words[] = { "quick", "slow",   "bright", "dark",  "river",
                                         "stone", "window", "garden", "night", "paper" };
    static const char *const tags[] = { "red", "blue", "green", "black" };
    int city = (int)rng_below(r, LEVELS), code = (int)rng_below(r, CODES), day = i % 700;
    int few = (int)rng_below(r, 12), hour = (int)rng_below(r, 24), word[6], tag[2];
    int wide = 1 + (int)rng_below(r, 90), high = 1 + (int)rng_below(r, 90);
    double p = rng_unit(r) * 4 - 2, q = rng_unit(r) * 4 - 2, y = 0;
    double heavy = exp(rng_unit(r) * 18 - 9), huge = rng_unit(r) * 600 - 300;

    for (int k = 0; k < 6; k++)
        word[k] = (int)rng_below(r, 10);
    for (int k = 0; k < 2; k++)
        tag[k] = (int)rng_below(r, 4);
    y = effect(city, 1) + 7 * effect(code, 2) + effect(few, 3) + (p > q) * 40 + effect(hour, 4) +
        (word[0] == 3 || word[1] == 3) * 20 + (tag[0] == 1) + rng_unit(r) + log(heavy) / 9 +
        (wide + high) / 5.0;
    int rc = buf_addf(b, NULL, "%.6f,%.6f,%.6g,%.4ge%d,c%d,f%d,%d,", p, q, heavy, 1 + rng_unit(r),
                      (int)huge, city, few, code * 17 + 3);
    for (int d = 0; d < 2 && rc == 0; d++)
        rc = buf_addf(b, NULL, "20%02d-%02d-%02d %02d:15:00,", 18 + day / 350 + d,
                      1 + day / 30 % 12, 1 + (day + d * few) % 28, (hour + d) % 24);
    for (int k = 0; k < 6 && rc == 0; k++)
        rc = buf_addf(b, NULL, "%s%s", k ? " " : "", words[word[k]]);
    if (rc == 0)
        rc = buf_addf(b, NULL, " %d,%s|%s,%dx%d,%.6f\n", i, tags[tag[0]], tags[tag[1]], wide, high,
                      y);
    assert_int_equal(rc, 0);
}

static struct frame *table(void)
{
    char hash[SHA256_HEX];
    struct buf b;
    struct rng r;

    rng_init(&r, 21, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(
        buf_adds(&b, "p,q,heavy,huge,city,few,code,begin,end,text,tags,size,y\n", NULL), 0);
    for (int i = 0; i < ROWS; i++)
        row_put(&b, &r, i);
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    buf_fini(&b);
    return f;
}

static struct ml_data *opened(const struct frame *f)
{
    struct err err = { 0 };
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "",
                                       .task = ML_REGRESSION,
                                       .metric = METRIC_RMSE,
                                       .folds = 2,
                                       .split_seed = 1 };
    struct ml_data *d = fit_data_open(&spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static void set(const struct family *f, double *params, const char *name, double v)
{
    int at = family_param_find(f, name);

    if (at >= 0)
        params[at] = v;
}

/* levels: the choice of prep_levels. */
static struct fit_trial *trial_of(struct ml_data *d, const char *family, int levels)
{
    const struct family *f = family_find(family);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    family_defaults(f, params);
    set(f, params, "prep_levels", levels);
    set(f, params, "prep_few_levels", 1);
    set(f, params, "rounds", 10);
    set(f, params, "trees", 4);
    set(f, params, "epochs", 2);
    struct fit_trial *t = fit_trial_open(d, f, params, 1, false, &err);
    if (!t)
        fail_msg("%s: %s", family, err.text);
    return t;
}

static struct buf saved(struct fit_trial *t)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, 1u << 28);
    if (fit_trial_save(t, &b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static struct buf shipped(struct fit_trial *t)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, 1u << 28);
    if (fit_trial_artifact(t, &b, &err) < 0)
        fail_msg("%s", err.text);
    fit_trial_close(t);
    return b;
}

static void same_bytes(struct buf a, struct buf b, const char *what)
{
    if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
        fail_msg("%s: %zu and %zu bytes differ", what, a.len, b.len);
    buf_fini(&a);
    buf_fini(&b);
}

static void every_step_makes_an_input(void **state)
{
    static const char *const words[] = { "levels", "codes", "date", "between", "words",
                                         "text",   "items", "pair", "effects", "figures" };
    struct frame *f = table();
    struct ml_data *d = opened(f);
    struct fit_trial *t = trial_of(d, "boost", 1);
    const struct prep *p = fit_trial_data(t)->prep;

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(words); k++) {
        int n = 0;
        for (int i = 0; i < prep_inputs(p); i++)
            n += prep_input_step(p, i) && strcmp(prep_input_step(p, i), words[k]) == 0;
        for (int i = 0; i < prep_inputs(p) && n == 0; i++)
            print_message("%s\n", prep_input_name(p, i));
        if (n == 0)
            fail_msg("no input is made by the step \"%s\"", words[k]);
    }
    fit_trial_close(t);
    ml_data_close(d);
    frame_close(f);
}

/* Trains in slices of random length; after each of them the trial is saved, closed, and loaded into
 * a trial on the table opened anew, as after a crash. */
static struct buf resumed(const struct frame *f, const char *family)
{
    struct err err = { 0 };
    struct rig_stop stop;
    struct ml_data *d = opened(f);
    struct fit_trial *t = trial_of(d, family, 1);
    int rc = 0, slices = 0;

    rig_stop_init(&stop, test_seed(), 20000);
    for (; rc == 0 && slices < 60; slices++) {
        rc = fit_trial_advance(t, fit_trial_levels(t), &stop.stop, &err);
        rig_stop_next(&stop);
        struct buf b = saved(t);
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        fit_trial_close(t);
        if (slices < 2) {
            ml_data_close(d);
            d = opened(f);
        }
        t = trial_of(d, family, 1);
        assert_int_equal(fit_trial_load(t, &in, &err), 0);
        same_bytes(saved(t), b, family);
    }
    if (rc != 1)
        fail_msg("%s: %d after %d slices: %s", family, rc, slices, err.text);
    struct buf out = shipped(t);
    ml_data_close(d);
    return out;
}

static void trials_are_deterministic_and_resume_bit_for_bit(void **state)
{
    static const char *const families[] = { "boost", "linear", "forest", "mlp" };
    struct frame *f = table();
    struct err err = { 0 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(families); k++) {
        struct buf out[2];
        for (int round = 0; round < 2; round++) {
            struct ml_data *d = opened(f);
            struct fit_trial *t = trial_of(d, families[k], 1);
            if (fit_trial_advance(t, fit_trial_levels(t), NULL, &err) != 1)
                fail_msg("%s: %s", families[k], err.text);
            out[round] = shipped(t);
            ml_data_close(d);
        }
        struct buf third = resumed(f, families[k]);
        assert_int_equal(out[0].len, third.len);
        assert_memory_equal(out[0].data, third.data, third.len);
        buf_fini(&third);
        same_bytes(out[0], out[1], families[k]);
    }
    frame_close(f);
}

static double seconds_to_open(struct ml_data *d, int levels, struct fit_trial **out)
{
    clock_t from = clock();

    *out = trial_of(d, "boost", levels);
    return (double)(clock() - from) / CLOCKS_PER_SEC;
}

/* The first trial with a choice pays for its steps; the others with the same choice share them. */
static void trials_that_choose_alike_share_their_steps(void **state)
{
    enum { TRIALS = 10 };
    struct frame *f = table();
    struct ml_data *d = opened(f);
    struct fit_trial *first, *t[TRIALS];
    double once = seconds_to_open(d, 1, &first), all = 0;
    int64_t bytes = ml_data_shared_bytes(fit_trial_data(first));

    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        all += seconds_to_open(d, 1, &t[i]);
        assert_ptr_equal(fit_trial_data(t[i])->prep, fit_trial_data(first)->prep);
    }
    assert_int_equal(ml_data_shared_bytes(fit_trial_data(first)), bytes);
    print_message(
        "preparation with every step: %.3f s for the first trial, %.4f s for each other\n", once,
        all / TRIALS);
    assert_true(all / TRIALS < once / 2);
    for (int i = 0; i < TRIALS; i++)
        fit_trial_close(t[i]);
    fit_trial_close(first);
    ml_data_close(d);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_makes_an_input),
        cmocka_unit_test(trials_are_deterministic_and_resume_bit_for_bit),
        cmocka_unit_test(trials_that_choose_alike_share_their_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
