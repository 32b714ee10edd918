/* test_target_limits.c - how far predictions of numbers may go: which limits a target gives, that every way to a prediction
 * keeps them, that files without them stay as they were, and that forged ones are refused. */
#include "tests/ml/csv_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/artifact_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 400, STRANGE = 4 };

/* ---- which limits ---- */

static void limits_follow_the_target(void **state)
{
    static const struct target_unit plain = { TARGET_PLAIN, 0, 1 }, logs = { TARGET_LOG, 0, 1.5 },
                                    plus = { TARGET_LOG, 1, 1 };
    static const double e8 = 2980.9579870417283;
    const struct {
        double y[3];
        const struct target_unit *u;
        enum metric_id metric;
        double least, most;
    } cases[] = {
        { { 10, 12, 20 }, &plain, METRIC_RMSE, 0, 30 },
        { { -5, 0, 5 }, &plain, METRIC_MAE, -15, 15 },
        { { 0, 1, 2 }, &plain, METRIC_RMSE, -2, 4 }, /* below 0 is possible as far as it is known */
        { { 0, 1, 2 }, &plain, METRIC_POISSON, 0, 4 },
        { { 7, 7, 7 }, &plain, METRIC_RMSE, 0, 0 }, /* none */
        { { -1e38, 0, 3e38 }, &plain, METRIC_RMSE, -(double)FLT_MAX, (double)FLT_MAX },
        /* as far again leads further than a quarter of the logarithms' range, and the other way round */
        { { 10, 12, 20 }, &logs, METRIC_RMSE, 0, 30 },
        { { 1, 5, e8 }, &logs, METRIC_RMSE, 0, e8 * exp(2) },
        { { 0, 5, e8 - 1 }, &plus, METRIC_RMSLE, 0, e8 * exp(4) - 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const double y[5] = { cases[i].y[0], cases[i].y[1], 1e9, cases[i].y[2], NAN };
        static const uint8_t use[5] = { 1, 1, 0, 1, 0 };
        struct target_limits l = target_limits_of(y, use, 5, cases[i].u, cases[i].metric);
        double near = 1e-12 * (1 + fabs(cases[i].most));
        if (l.least != cases[i].least || !(fabs(l.most - cases[i].most) <= near))
            fail_msg("case %zu: %.17g to %.17g", i, l.least, l.most);
        assert_true(target_limits_are(&l) == (cases[i].least < cases[i].most));
    }
    struct target_limits l = target_limits_of(NULL, NULL, 0, &plain, METRIC_RMSE);
    assert_false(target_limits_are(&l));
}

static void what_is_not_finite_stays(void **state)
{
    static const struct target_unit plain = { TARGET_PLAIN, 0, 1 }, logs = { TARGET_LOG, 0, 1 };
    static const struct target_limits l = { -1, 8 }, none = { 0, 0 };

    (void)state;
    assert_true(target_predicted(&plain, &l, 3) == 3 && target_predicted(&plain, &l, 9) == 8);
    assert_true(target_predicted(&plain, &l, -2) == -1 && target_predicted(&plain, &none, 9) == 9);
    assert_true(target_predicted(&logs, &l, 800) == 8); /* its exponential is beyond a double */
    assert_true(isinf(target_predicted(&logs, &none, 800)));
    assert_true(isnan(target_predicted(&plain, &l, (float)NAN)));
    assert_true(isinf(target_predicted(&plain, &l, INFINITY)));
}

/* ---- every way to a prediction ---- */

/* y is the exponential of a line. */
static struct frame *table(void)
{
    char hash[SHA256_HEX];
    struct buf b;
    struct rng r;

    rng_init(&r, 7, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "x,z,y\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        double x = rng_unit(&r) * 4 - 2, noise = rng_unit(&r) - 0.5, y = exp(5 + 1.2 * x + noise);
        assert_int_equal(buf_addf(&b, NULL, "%.6f,%.6f,%.9g\n", x, rng_unit(&r), y), 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    buf_fini(&b);
    return f;
}

/* Two rows that lead anywhere, one a little outside of the table, one inside. */
static struct frame *strange_rows(void)
{
    return csv_frame("x,z,y\n60,0.5,100\n-60,0.5,100\n2.5,0.5,3000\n1,0.5,490\n", NULL);
}

static struct ml_data *opened(const struct frame *f, const struct frame *test)
{
    struct err err = { 0 };
    const struct ml_data_spec spec = { .frame = f,
                                       .test_frame = test,
                                       .target = "y",
                                       .positive = "",
                                       .task = ML_REGRESSION,
                                       .metric = METRIC_RMSE,
                                       .unit = { TARGET_LOG, 0, 1.1 },
                                       .folds = 3,
                                       .split_seed = 1 };
    struct ml_data *d = ml_data_open(&spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    assert_true(target_limits_are(&d->limits));
    return d;
}

/* A linear trial: its result, what it predicted out of fold (NULL = not asked for), its model file. */
static struct buf shipped(struct ml_data *d, struct fit_result *out, float *oof)
{
    const struct family *f = family_find("linear");
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct buf file;

    buf_init(&file, ARTIFACT_MAX_BYTES);
    family_defaults(f, params);
    struct fit_trial *t = fit_trial_open(d, f, params, 1, false, &err);
    if (!t || fit_trial_advance(t, fit_trial_levels(t), NULL, &err) != 1 ||
        (oof && fit_trial_oof(t, oof, &err) < 0) || fit_trial_ship(t, &file, &err) < 0 ||
        fit_trial_result(t, out, &err) < 0)
        fail_msg("%s", err.text);
    fit_trial_close(t);
    return file;
}

static struct artifact *loaded(const struct buf *b)
{
    struct err err = { 0 };
    struct artifact *a = artifact_load(b->data, b->len, &err);

    if (!a)
        fail_msg("%s", err.text);
    return a;
}

static void predict_all(const struct artifact *a, const struct frame *f, float *out)
{
    struct err err = { 0 };
    struct artifact_view *v = artifact_view_new(a, f, &err);

    if (!v || artifact_predict(v, 0, f->rows, out, &err) < 0)
        fail_msg("%s", err.text);
    artifact_view_free(v);
}

static void validation_is_held_to_the_limits(void **state)
{
    struct frame *f = table();
    struct ml_data *d = opened(f, NULL);
    static float oof[ROWS];
    struct fit_result *r = mem_zalloc(sizeof *r);
    int at_least = 0, at_most = 0;
    double sum = 0;

    (void)state;
    d->limits = (struct target_limits){ 100, 200 }; /* narrow, so that many rows are beyond */
    struct buf b = shipped(d, r, oof);
    for (int i = 0; i < ROWS; i++) {
        assert_true(oof[i] >= 100 && oof[i] <= 200);
        at_least += oof[i] == 100;
        at_most += oof[i] == 200;
        sum += ((double)oof[i] - d->truth[i]) * ((double)oof[i] - d->truth[i]);
    }
    assert_true(at_least > ROWS / 5 && at_most > ROWS / 5);
    assert_true(fabs(r->score - sqrt(sum / ROWS)) < 0.05 * r->score);
    buf_fini(&b);
    mem_free(r);
    ml_data_close(d);
    frame_close(f);
}

static void the_file_holds_its_predictions_to_the_limits(void **state)
{
    struct frame *f = table(), *strange = strange_rows();
    struct ml_data *d = opened(f, strange);
    struct fit_result *r = mem_zalloc(sizeof *r);
    struct buf b = shipped(d, r, NULL), old;
    struct artifact *a = loaded(&b);
    struct target_limits limits = d->limits;
    float p[STRANGE] = { 0 }, before[STRANGE] = { 0 };
    double sum = 0;
    static const double truth[STRANGE] = { 100, 100, 3000, 490 };

    (void)state;
    assert_true(b.data[8] == ARTIFACT_LIMITS_FORMAT && b.data[12] == ARTIFACT_LIMITS_FORMAT);
    assert_true(artifact_info(a)->limits.least == limits.least &&
                artifact_info(a)->limits.most == limits.most);
    assert_non_null(strstr(artifact_info(a)->schema_json, "\"target_limits\":{\"least\":0,"));
    predict_all(a, strange, p);
    assert_true(p[0] == (float)limits.most && p[1] >= 0 && p[1] < 1e-6f);
    for (int i = 0; i < STRANGE; i++)
        sum += ((double)p[i] - truth[i]) * ((double)p[i] - truth[i]);
    assert_true(fabs(r->test_score - sqrt(sum / STRANGE)) < 1e-6 * r->test_score);
    artifact_close(a);
    buf_fini(&b);
    /* as files were before there were limits */
    d->limits = (struct target_limits){ 0, 0 };
    old = shipped(d, r, NULL);
    assert_true(old.data[8] < ARTIFACT_LIMITS_FORMAT && old.data[12] < ARTIFACT_LIMITS_FORMAT);
    a = loaded(&old);
    assert_false(target_limits_are(&artifact_info(a)->limits));
    assert_null(strstr(artifact_info(a)->schema_json, "target_limits"));
    predict_all(a, strange, before);
    assert_true(before[0] > 1e20f && before[2] == p[2] && before[3] == p[3]);
    artifact_close(a);
    buf_fini(&old);
    mem_free(r);
    ml_data_close(d);
    frame_close(f);
    frame_close(strange);
}

static void members_and_explanations_keep_the_limits(void **state)
{
    struct frame *f = table(), *strange = strange_rows();
    struct ml_data *d = opened(f, NULL);
    struct fit_result *r = mem_zalloc(sizeof *r);
    struct buf b = shipped(d, r, NULL), both;
    struct artifact *a = loaded(&b);
    const struct artifact_part parts[2] = { { 0.5, a, b.data, b.len }, { 0.5, a, b.data, b.len } };
    const struct artifact_together how = { .score = 1, .se = 1 };
    float p[STRANGE] = { 0 }, together[STRANGE] = { 0 };
    double phi[STRANGE * 3] = { 0 };

    (void)state;
    predict_all(a, strange, p);
    struct artifact_view *v = artifact_view_new(a, strange, NULL);
    assert_int_equal(artifact_explain(v, 0, STRANGE, (const int[STRANGE]){ 0 }, phi, NULL), 0);
    for (int i = 0; i < STRANGE; i++) {
        double all = phi[i * 3] + phi[i * 3 + 1] + phi[i * 3 + 2];
        double want = log((double)p[i] / artifact_info(a)->unit.smear);
        if (!(fabs(all - want) < 1e-4 * (1 + fabs(want))))
            fail_msg("row %d: values add up to %g, not to %g", i, all, want);
    }
    assert_true(phi[0] > 0 && phi[3] < 0); /* x leads up, and down */
    artifact_view_free(v);
    buf_init(&both, ARTIFACT_MAX_BYTES);
    assert_int_equal(artifact_write_ensemble(parts, 2, &how, &both, NULL), 0);
    struct artifact *e = loaded(&both);
    predict_all(e, strange, together);
    assert_memory_equal(p, together, sizeof p);
    artifact_close(e);
    artifact_close(a);
    buf_fini(&both);
    buf_fini(&b);
    mem_free(r);
    ml_data_close(d);
    frame_close(f);
    frame_close(strange);
}

/* ---- forged files ---- */

/* The section "info", and its checksum made right. */
static uint8_t *info_of(const struct buf *b, uint64_t *len)
{
    uint64_t at = 0;

    memcpy(&at, b->data + 20 + 8, 8);
    memcpy(len, b->data + 20 + 16, 8);
    return (uint8_t *)b->data + at;
}

static void resign(const struct buf *b)
{
    uint64_t len = 0;
    const uint8_t *info = info_of(b, &len);
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, info, len);
    sha256_end(&h, (uint8_t *)b->data + 20 + 24);
}

static uint8_t *find(uint8_t *in, uint64_t len, const void *what, size_t n)
{
    for (uint64_t i = 0; i + n <= len; i++) {
        if (memcmp(in + i, what, n) == 0)
            return in + i;
    }
    fail_msg("the limits are not in the file");
    return NULL;
}

static void impossible_limits_are_refused(void **state)
{
    static const double cases[][2] = {
        { 5, 4 },         { 4, 4 },        { (double)NAN, 4 },      { 0, (double)NAN },
        { -INFINITY, 4 }, { 0, INFINITY }, { INFINITY, -INFINITY }, { 0, 0 },
    };
    struct frame *f = table();
    struct ml_data *d = opened(f, NULL);
    struct fit_result *r = mem_zalloc(sizeof *r);
    struct buf b = shipped(d, r, NULL);
    uint64_t len = 0;
    uint8_t *info = info_of(&b, &len), *at = find(info, len, &d->limits, sizeof d->limits);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        memcpy(at, cases[i], sizeof cases[i]);
        resign(&b);
        assert_null(artifact_load(b.data, b.len, &err));
        assert_int_equal(err.code, ERR_ARG);
        assert_string_equal(err.text,
                            "damaged model file: the limits of its predictions are out of range");
    }
    memcpy(at, &d->limits, sizeof d->limits);
    resign(&b);
    artifact_close(loaded(&b));
    info[0] &= (uint8_t)~ARTIFACT_LIMITS; /* without the bit, 16 bytes are too many */
    resign(&b);
    assert_null(artifact_load(b.data, b.len, NULL));
    buf_fini(&b);
    mem_free(r);
    ml_data_close(d);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_follow_the_target),
        cmocka_unit_test(what_is_not_finite_stays),
        cmocka_unit_test(validation_is_held_to_the_limits),
        cmocka_unit_test(the_file_holds_its_predictions_to_the_limits),
        cmocka_unit_test(members_and_explanations_keep_the_limits),
        cmocka_unit_test(impossible_limits_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
