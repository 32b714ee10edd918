/* test_target_unit.c - targets that are learnt in a unit of their own: which one is taken, that
 * nothing is lost on the way there and back, that scores and model files speak the table's unit. */
#include "tests/ml/csv_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/fit/fit.h"
#include "ml/fit/fit_unit.h"
#include "ml/model/artifact.h"
#include "ml/model/model.h"

#include <math.h>
#include <string.h>

enum { ROWS = 600 };

/* y = what `of` makes of a signal of x and a noise. */
static struct frame *table(double (*of)(double signal, double noise))
{
    char hash[SHA256_HEX];
    struct buf b;
    struct rng r;

    rng_init(&r, 7, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "x,z,y\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        double x = rng_unit(&r) * 4 - 2, noise = rng_unit(&r) - 0.5;
        assert_int_equal(buf_addf(&b, NULL, "%.6f,%.6f,%.9g\n", x, rng_unit(&r), of(x, noise)), 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    buf_fini(&b);
    return f;
}

static double far_off(double signal, double noise)
{
    return 1.7e9 + 50 * signal + 10 * noise;
}

static double of_many_sizes(double signal, double noise)
{
    return exp(1 + 1.2 * signal + noise);
}

static double with_zeros(double signal, double noise)
{
    return signal + noise < -1 ? 0 : exp(1 + signal + noise);
}

/* skewed, but its errors do not grow with it */
static double with_even_errors(double signal, double noise)
{
    return 20 + exp(1.3 * signal) + 12 * noise;
}

/* counts by a weak signal: large trees learn the long tail of their errors by heart */
static double weak_counts(double signal, double noise)
{
    return fmax(floor(0.5 * signal - 1 + 2 * pow((0.5 + noise) / (0.5 - noise), 0.35)), 0);
}

static double ordinary(double signal, double noise)
{
    return 3 + signal + noise;
}

static struct ml_data *opened(const struct frame *f, enum metric_id metric)
{
    struct err err = { 0 };
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "",
                                       .task = ML_REGRESSION,
                                       .metric = metric,
                                       .folds = 3,
                                       .split_seed = 1 };
    struct ml_data *d = fit_data_open(&spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static void the_unit_follows_the_target(void **state)
{
    static const struct {
        double (*of)(double signal, double noise);
        enum metric_id metric;
        enum target_kind want;
    } cases[] = {
        { ordinary, METRIC_RMSE, TARGET_PLAIN },    { far_off, METRIC_RMSE, TARGET_SHIFTED },
        { of_many_sizes, METRIC_RMSE, TARGET_LOG }, { with_even_errors, METRIC_RMSE, TARGET_PLAIN },
        { weak_counts, METRIC_RMSE, TARGET_PLAIN }, { with_zeros, METRIC_POISSON, TARGET_PLAIN },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = table(cases[i].of);
        struct ml_data *d = opened(f, cases[i].metric);
        if (d->unit.kind != cases[i].want)
            fail_msg("case %zu: unit %d", i, (int)d->unit.kind);
        ml_data_close(d);
        frame_close(f);
    }
}

static void there_and_back_is_the_same(void **state)
{
    static const struct target_unit units[] = { { TARGET_PLAIN, 0, 1 },
                                                { TARGET_SHIFTED, 1.7e9, 1 },
                                                { TARGET_LOG, 0, 1 },
                                                { TARGET_LOG, 0.5, 1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        double y = units[i].kind == TARGET_SHIFTED ? 1.7e9 + 12.375 : 12.375;
        float back = target_back(&units[i], (float)target_learnt(&units[i], y));
        assert_true(fabs((double)back + target_shift(&units[i]) - y) < 1e-5);
        assert_true(isnan(target_learnt(&units[i], (double)NAN)));
    }
    assert_false(target_unit_ok(&(struct target_unit){ TARGET_LOG, 0, 0 }));
    assert_false(target_unit_ok(&(struct target_unit){ TARGET_LOG, (double)INFINITY, 1 }));
    assert_false(target_unit_ok(&(struct target_unit){ (enum target_kind)9, 0, 1 }));
}

/* The file of a trial of the family, and the trial's score. */
static struct artifact *shipped(struct ml_data *d, const char *family, double *score)
{
    const struct family *f = family_find(family);
    double params[FAMILY_MAX_PARAMS];
    struct fit_result *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };
    struct buf file;

    buf_init(&file, ARTIFACT_MAX_BYTES);
    family_defaults(f, params);
    if (strcmp(family, "mlp") == 0) /* enough to tell one unit from another */
        params[family_param_find(f, "epochs")] = 32;
    struct fit_trial *t = fit_trial_open(d, f, params, 1, false, &err);
    if (!t || fit_trial_advance(t, fit_trial_levels(t), NULL, &err) < 0 ||
        fit_trial_ship(t, &file, &err) < 0 || fit_trial_result(t, r, &err) < 0)
        fail_msg("%s: %s", family, err.text);
    *score = r->score;
    struct artifact *a = artifact_load(file.data, file.len, &err);
    if (!a)
        fail_msg("%s", err.text);
    fit_trial_close(t);
    buf_fini(&file);
    mem_free(r);
    return a;
}

/* RMSE of the file on its own training table, in the table's unit. */
static double rmse_of(const struct artifact *a, const struct frame *f)
{
    struct artifact_view *v = artifact_view_new(a, f, NULL);
    static double y[ROWS];
    static float p[ROWS];
    double sum = 0;

    assert_non_null(v);
    frame_numbers(f, frame_find(f, "y"), 0, ROWS, y);
    assert_int_equal(artifact_predict(v, 0, ROWS, p, NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        double e = (double)p[i] + target_shift(&artifact_info(a)->unit) - y[i];
        sum += e * e;
    }
    artifact_view_free(v);
    return sqrt(sum / ROWS);
}

static void a_file_predicts_in_the_unit_of_the_table(void **state)
{
    static const char *const families[] = { "boost", "linear", "forest", "mlp" };
    static double (*const of[])(double, double) = { far_off, of_many_sizes };
    /* the spread of the noise, and of what is left of it by a factor */
    static const double within[] = { 12, 8 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct frame *f = table(of[i]);
        struct ml_data *d = opened(f, METRIC_RMSE);
        for (size_t k = 0; k < ARRAY_LEN(families); k++) {
            double score = 0;
            struct artifact *a = shipped(d, families[k], &score);
            assert_int_equal(artifact_info(a)->unit.kind, d->unit.kind);
            assert_true(artifact_info(a)->unit.by == d->unit.by);
            assert_non_null(strstr(artifact_info(a)->schema_json, "\"target_unit\":{\"kind\":"));
            double is = rmse_of(a, f);
            if (!(is < within[i] && score < within[i] && is < 1.2 * score))
                fail_msg("%s: RMSE %g, validation %g", families[k], is, score);
            artifact_close(a);
        }
        ml_data_close(d);
        frame_close(f);
    }
}

/* Base and values add up to the prediction, or to its logarithm before smearing. */
static void explanations_add_up_in_every_unit(void **state)
{
    static double (*const of[])(double, double) = { far_off, of_many_sizes };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct frame *f = table(of[i]);
        struct ml_data *d = opened(f, METRIC_RMSE);
        double score = 0, phi[4 * 3];
        struct artifact *a = shipped(d, "boost", &score);
        struct artifact_view *v = artifact_view_new(a, f, NULL);
        const struct target_unit *u = &artifact_info(a)->unit;
        float p[4];
        assert_int_equal(prep_inputs(artifact_prep(a)), 2);
        assert_int_equal(artifact_predict(v, 0, 4, p, NULL), 0);
        assert_int_equal(artifact_explain(v, 0, 4, (const int[4]){ 0 }, phi, NULL), 0);
        for (int r = 0; r < 4; r++) {
            double sum = phi[r * 3] + phi[r * 3 + 1] + phi[r * 3 + 2];
            double want =
                u->kind == TARGET_LOG ? log((double)p[r] / u->smear) : (double)p[r] + u->by;
            assert_true(fabs(sum - want) < 1e-4 * (1 + fabs(want) * 1e-3));
        }
        artifact_view_free(v);
        artifact_close(a);
        ml_data_close(d);
        frame_close(f);
    }
}

/* What a model file says besides (intervals) makes its format a newer one. */
static void a_plain_target_is_not_written_down(void **state)
{
    struct frame *f = table(ordinary);
    struct ml_data *d = opened(f, METRIC_RMSE);
    double score = 0;
    struct artifact *a = shipped(d, "boost", &score);

    (void)state;
    assert_true(adjust_most_level(artifact_info(a)->adjust) > 0);
    assert_null(strstr(artifact_info(a)->schema_json, "target_unit"));
    artifact_close(a);
    ml_data_close(d);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_follows_the_target),
        cmocka_unit_test(there_and_back_is_the_same),
        cmocka_unit_test(a_file_predicts_in_the_unit_of_the_table),
        cmocka_unit_test(explanations_add_up_in_every_unit),
        cmocka_unit_test(a_plain_target_is_not_written_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
