/* test_artifact.c - the model file: equal parts give equal bytes, what is read back predicts what was trained, columns are
 * matched by name, and no cut, flip or forged table does more than be refused. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "ml/model/artifact.h"
#include "ml/model/artifact_private.h"
#include "ml/model/models.h"

#include <math.h>

/* A table whose first columns decide y; the same for all tests. */
static struct frame *train_table(void)
{
    char hash[SHA256_HEX];
    struct buf b;
    struct rng r;

    rng_init(&r, 11, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "a,kind,b,y\n", NULL), 0);
    for (int i = 0; i < 300; i++) {
        double a = rng_normal(&r), c = rng_normal(&r);
        const char *kind = a > 0.3 ? "high" : rng_below(&r, 2) ? "low" : "mid";
        int rc = i % 17
                     ? buf_addf(&b, NULL, "%.3f,%s,%.3f,%s\n", a, kind, c, a + c > 0 ? "yes" : "no")
                     : buf_addf(&b, NULL, ",%s,%.3f,%s\n", kind, c, a + c > 0 ? "yes" : "no");
        assert_int_equal(rc, 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    buf_fini(&b);
    return f;
}

static struct ml_data *opened(const struct ml_data_spec *spec)
{
    struct err err = { 0 };
    struct ml_data *d = ml_data_open(spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static struct ml_data *problem(const struct frame *f)
{
    return opened(&(struct ml_data_spec){ .frame = f,
                                          .target = "y",
                                          .positive = "yes",
                                          .task = ML_BINARY,
                                          .metric = METRIC_AUC,
                                          .folds = 3,
                                          .split_seed = 1 });
}

/* The same table, but its kind is asked for, of which there are three. */
static struct ml_data *problem_of_kinds(const struct frame *f)
{
    return opened(&(struct ml_data_spec){ .frame = f,
                                          .target = "kind",
                                          .task = ML_MULTICLASS,
                                          .metric = METRIC_LOGLOSS,
                                          .folds = 3,
                                          .split_seed = 1 });
}

/* What the next files do to their outputs; NULL = nothing. */
static const struct adjust *adjusts;

/* Two fold models of a family in one artifact. */
static struct buf ship(struct ml_data *d, const char *family, double score)
{
    const struct model_ops *ops = model_find(family);
    bool is_binary = d->spec.task == ML_BINARY;
    struct artifact_parts parts = { .task = d->spec.task,
                                    .target = is_binary ? "y" : "kind",
                                    .n_classes = d->n_classes,
                                    .classes = (const char *const *)d->classes,
                                    .family = family,
                                    .params_json = "{\"learning_rate\":0.1}",
                                    .metric = is_binary ? "auc" : "logloss",
                                    .score = score,
                                    .score_se = NAN,
                                    .adjust = adjusts,
                                    .prep = d->prep,
                                    .n_models = 2 };
    struct buf models[2], out;
    struct err err = { 0 };

    buf_init(&out, ARTIFACT_MAX_BYTES);
    for (int i = 0; i < 2; i++) {
        struct lane l = { .fold = i, .seed = 5, .level = 1, .max_steps = 20 };
        buf_init(&models[i], ARTIFACT_MAX_BYTES);
        family_defaults(ops->family, l.params);
        if (ops->open(d, &l, &err) < 0 || ops->advance(d, &l, 1, 20, NULL, &err) < 0 ||
            ops->save(&l, l.steps_done, &models[i], &err) < 0)
            fail_msg("%s", err.text);
        ops->close(&l);
    }
    parts.models = models;
    if (artifact_write(&parts, &out, &err) < 0)
        fail_msg("%s", err.text);
    buf_fini(&models[0]);
    buf_fini(&models[1]);
    return out;
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

static void what_is_told_comes_back(void **state)
{
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct buf b = ship(d, "boost", 0.875);
    struct artifact *a = loaded(&b);
    const struct artifact_info *i = artifact_info(a);

    (void)state;
    assert_int_equal(i->task, ML_BINARY);
    assert_string_equal(i->target, "y");
    assert_true(i->n_classes == 2 && i->n_models == 2 && i->score == 0.875 && isnan(i->score_se));
    assert_string_equal(i->classes[0], "no");
    assert_string_equal(i->classes[1], "yes");
    assert_string_equal(i->family, "boost");
    assert_string_equal(i->metric, "auc");
    assert_string_equal(
        i->schema_json,
        "{\"format\":1,\"task\":\"binary\",\"target\":\"y\",\"classes\":[\"no\",\"yes\"],\"family\":"
        "\"boost\",\"params\":{\"learning_rate\":0.1},\"models\":2,\"metric\":\"auc\",\"score\":0.875,"
        "\"score_se\":null,\"inputs\":[{\"name\":\"a\",\"type\":\"numeric\"},{\"name\":\"kind\","
        "\"type\":\"categorical\",\"levels\":[\"high\",\"low\",\"mid\"]},{\"name\":\"b\",\"type\":"
        "\"numeric\"}]}");
    assert_int_equal(prep_inputs(artifact_prep(a)), 3);
    artifact_close(a);
    buf_fini(&b);
    ml_data_close(d);
    frame_close(f);
}

static void predictions_are_the_mean_of_the_bag(void **state)
{
    static const char *const families[] = { "baseline", "linear", "boost" };
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    float bag[300], slice[300];

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(families); k++) {
        struct buf b = ship(d, families[k], NAN), again = ship(d, families[k], NAN);
        assert_int_equal(b.len, again.len); /* equal parts, equal bytes */
        assert_memory_equal(b.data, again.data, b.len);
        struct artifact *a = loaded(&b);
        predict_all(a, f, bag);
        struct artifact_view *v = artifact_view_new(a, f, NULL);
        for (int64_t from = 0; from < 300; from += 77) { /* few rows go another way than many */
            int64_t n = from + 77 > 300 ? 300 - from : 77;
            assert_int_equal(artifact_predict(v, from, n, slice + from, NULL), 0);
        }
        assert_memory_equal(bag, slice, sizeof(bag));
        artifact_view_free(v);
        int right = 0;
        for (int i = 0; i < 300; i++) {
            assert_true(bag[i] >= 0 && bag[i] <= 1);
            right += (bag[i] > 0.5f) == (d->y[i] == 1);
        }
        assert_true(right > (k == 0 ? 100 : 240));
        artifact_close(a);
        buf_fini(&b);
        buf_fini(&again);
    }
    ml_data_close(d);
    frame_close(f);
}

static void models_staged_one_by_one_make_the_same_mean(void **state)
{
    static const char *const families[] = { "linear", "boost", "forest" };
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct err err = { 0 };
    float bag[300] = { 0 }, one[300] = { 0 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(families); k++) {
        struct buf b = ship(d, families[k], NAN);
        struct artifact *a = loaded(&b), *s = artifact_load_staged(b.data, b.len, &err);
        double sum[300] = { 0 };
        predict_all(a, f, bag);
        assert_non_null(s);
        assert_int_equal(artifact_info(s)->n_models, 2);
        for (int again = 0; again < 2; again++) { /* in any order, any number of times */
            memset(sum, 0, sizeof sum);
            for (int m = 0; m < 2; m++) {
                assert_int_equal(artifact_stage(s, m, &err), 0);
                predict_all(s, f, one);
                for (int i = 0; i < 300; i++)
                    sum[i] += (double)one[i];
            }
        }
        for (int i = 0; i < 300; i++)
            one[i] = (float)(sum[i] / 2);
        assert_memory_equal(bag, one, sizeof bag);
        artifact_close(s);
        artifact_close(a);
        buf_fini(&b);
    }
    ml_data_close(d);
    frame_close(f);
}

static const struct adjust planted = {
    .calibrates = true, .slope = 1.75, .offset = -0.5, .threshold = 0.25
};

/* Each model's probabilities are calibrated, then their mean is taken. Only such a file has format 4. */
static void adjustments_are_kept_and_applied(void **state)
{
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct buf plain = ship(d, "boost", NAN);
    struct err err = { 0 };
    float one[300], want[300], got[300];
    double sum[300] = { 0 };

    (void)state;
    adjusts = &planted;
    struct buf b = ship(d, "boost", NAN);
    adjusts = NULL;
    assert_true(plain.data[8] == 1 && plain.data[12] == 1 && b.data[8] == 4 && b.data[12] == 4);
    struct artifact *a = loaded(&b), *s = artifact_load_staged(plain.data, plain.len, &err);
    const struct artifact_info *i = artifact_info(a);
    assert_true(i->adjust->calibrates && i->adjust->slope == 1.75 && i->adjust->offset == -0.5 &&
                i->adjust->threshold == 0.25);
    assert_non_null(strstr(i->schema_json, "\"score_se\":null,\"calibration\":{\"slope\":1.75,"
                                           "\"offset\":-0.5},\"threshold\":0.25,\"inputs\""));
    assert_true(adjust_is_plain(artifact_info(s)->adjust));
    for (int m = 0; m < 2; m++) {
        assert_int_equal(artifact_stage(s, m, &err), 0);
        predict_all(s, f, one);
        adjust_probabilities(&planted, one, 300);
        for (int row = 0; row < 300; row++)
            sum[row] += (double)one[row];
    }
    for (int row = 0; row < 300; row++)
        want[row] = (float)(sum[row] / 2);
    predict_all(a, f, got);
    assert_memory_equal(want, got, sizeof want);
    artifact_close(a);
    artifact_close(s);
    buf_fini(&b);
    buf_fini(&plain);
    ml_data_close(d);
    frame_close(f);
}

/* The mean of the models is raised to the power, and what explains a prediction adds up to it. Only such a
 * file has format 5. */
static void a_power_is_kept_applied_and_explained(void **state)
{
    static const struct adjust raised = { .calibrates = true,
                                          .slope = 1.75,
                                          .offset = -0.5,
                                          .power = 1.25 },
                               before = { .calibrates = true, .slope = 1.75, .offset = -0.5 };
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct err err = { 0 };
    float want[300] = { 0 }, got[300] = { 0 };

    (void)state;
    adjusts = &before;
    struct buf plain = ship(d, "boost", NAN);
    adjusts = &raised;
    struct buf b = ship(d, "boost", NAN);
    adjusts = NULL;
    assert_true(plain.data[8] == 4 && b.data[8] == 5 && b.data[12] == 5);
    struct artifact *a = loaded(&plain), *r = loaded(&b);
    assert_true(artifact_info(r)->adjust->power == 1.25);
    assert_non_null(
        strstr(artifact_info(r)->schema_json, "\"offset\":-0.5},\"power\":1.25,\"inputs\""));
    predict_all(a, f, want);
    predict_all(r, f, got);
    for (int i = 0; i < 300; i++) {
        double z = 1.25 * log((double)want[i] / (1 - (double)want[i]));
        assert_true(fabs((double)got[i] - 1 / (1 + exp(-z))) < 1e-5);
    }
    int columns = artifact_columns(r);
    double *out = calloc(300 * ((size_t)columns + 1), sizeof *out);
    struct artifact_view *v = artifact_view_new(r, f, &err);
    static int of[300];
    assert_int_equal(artifact_explain(v, 0, 300, of, out, &err), 0);
    for (int i = 0; i < 300; i++) {
        double sum = 0;
        for (int c = 0; c <= columns; c++)
            sum += out[i * (columns + 1) + c];
        assert_true(fabs(1 / (1 + exp(-sum)) - (double)got[i]) < 1e-4);
    }
    artifact_view_free(v);
    free(out);
    artifact_close(a);
    artifact_close(r);
    buf_fini(&b);
    buf_fini(&plain);
    ml_data_close(d);
    frame_close(f);
}

/* ---- ensembles ---- */

/* Files and what they predict alone. */
struct members {
    int n;
    struct buf file[3];
    struct artifact *a[3];
    float p[3][3 * 300];
};

static void members_make(struct members *m, struct ml_data *d, const struct frame *f,
                         const char *const *families, int n)
{
    m->n = n;
    for (int i = 0; i < n; i++) {
        m->file[i] = ship(d, families[i], NAN);
        m->a[i] = loaded(&m->file[i]);
        predict_all(m->a[i], f, m->p[i]);
    }
}

static void members_free(struct members *m)
{
    for (int i = 0; i < m->n; i++) {
        artifact_close(m->a[i]);
        buf_fini(&m->file[i]);
    }
}

static struct buf together(const struct members *m, const double *weight, bool is_pool)
{
    const struct artifact_together how = { .is_pool = is_pool, .score = 0.9, .se = NAN };
    struct artifact_part parts[3];
    struct err err = { 0 };
    struct buf out;

    buf_init(&out, ARTIFACT_MAX_BYTES);
    for (int i = 0; i < m->n; i++)
        parts[i] = (struct artifact_part){ weight[i], m->a[i], m->file[i].data, m->file[i].len };
    if (artifact_write_ensemble(parts, m->n, &how, &out, &err) < 0)
        fail_msg("%s", err.text);
    return out;
}

/* By the definition of pool.h. */
static double pooled(const struct members *m, const double *weight, int row, int classes, int of)
{
    double all = 0, want = 0;

    for (int c = 0; c < classes; c++) {
        double sum = 0;
        for (int i = 0; i < m->n; i++) {
            double p = classes > 2 ? (double)m->p[i][row * classes + c]
                       : c         ? (double)m->p[i][row]
                                   : 1 - (double)m->p[i][row];
            sum += weight[i] * log(fmax(p, 1e-5));
        }
        all += exp(sum);
        want = c == of ? exp(sum) : want;
    }
    return want / all;
}

/* What explains rows adds up to what is predicted: log-odds of two classes, else a probability. */
static void explained_rows_add_up(const struct artifact *a, const struct frame *f, const float *got,
                                  int classes, const int *of)
{
    struct err err = { 0 };
    int columns = artifact_columns(a);
    double *out = calloc(300 * ((size_t)columns + 1), sizeof *out);
    struct artifact_view *v = artifact_view_new(a, f, &err);

    assert_int_equal(artifact_explain(v, 0, 300, of, out, &err), 0);
    for (int i = 0; i < 300; i++) {
        double sum = 0, size = 0,
               p = classes > 2 ? (double)got[i * classes + of[i]] : (double)got[i];
        for (int c = 0; c <= columns; c++) {
            sum += out[i * (columns + 1) + c];
            size += c < columns ? fabs(out[i * (columns + 1) + c]) : 0;
        }
        if (!(fabs((classes > 2 ? sum : 1 / (1 + exp(-sum))) - p) < 1e-4))
            fail_msg("%d classes, row %d: %g for %g", classes, i, sum, p);
        assert_true(size > 0);
    }
    artifact_view_free(v);
    free(out);
}

static void a_pool_predicts_by_the_logs_of_its_members_and_is_explained(void **state)
{
    static const char *const families[] = { "boost", "linear", "extra_trees" };
    static const double weight[] = { 0.9, -0.35, 0.5 };
    struct frame *f = train_table();
    static int of[300];
    float got[3 * 300];

    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        struct ml_data *d = classes > 2 ? problem_of_kinds(f) : problem(f);
        struct members m = { 0 };
        for (int i = 0; i < 300; i++)
            of[i] = classes > 2 ? i % 3 : 0;
        members_make(&m, d, f, families, 3);
        struct buf b = together(&m, weight, true);
        struct artifact *a = loaded(&b);
        double told = 0;
        assert_int_equal(b.data[8], ARTIFACT_POOL_FORMAT);
        assert_true(artifact_is_pool(a) && artifact_members(a) == 3);
        artifact_member(a, 1, &told);
        assert_true(told == -0.35);
        assert_non_null(strstr(artifact_info(a)->schema_json, "\"rule\":\"pool\""));
        predict_all(a, f, got);
        for (int i = 0; i < 300; i++) {
            for (int c = 0; c < (classes > 2 ? classes : 1); c++) {
                double want = pooled(&m, weight, i, classes, classes > 2 ? c : 1);
                assert_true(fabs((double)got[classes > 2 ? i * classes + c : i] - want) < 1e-5);
            }
        }
        explained_rows_add_up(a, f, got, classes, of);
        artifact_close(a);
        buf_fini(&b);
        members_free(&m);
        ml_data_close(d);
    }
    frame_close(f);
}

/* A mean keeps its format and its rules; a network in a pool leaves its part to the base. */
static void means_and_networks_stay_what_they_were(void **state)
{
    static const char *const families[] = { "boost", "mlp" };
    static const double half[] = { 0.5, 0.5 }, pull[] = { 1.2, -0.3 };
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    static int of[300];
    struct members m = { 0 };
    float got[300] = { 0 };

    (void)state;
    members_make(&m, d, f, families, 2);
    struct buf b = together(&m, half, false), pool = together(&m, pull, true);
    struct artifact *a = loaded(&b), *p = loaded(&pool);
    assert_true(b.data[8] == ARTIFACT_ENSEMBLE_FORMAT && !artifact_is_pool(a));
    predict_all(a, f, got);
    for (int i = 0; i < 300; i++)
        assert_true(fabs((double)got[i] - ((double)m.p[0][i] + (double)m.p[1][i]) / 2) < 1e-6);
    explained_rows_add_up(a, f, got, 2, of);
    predict_all(p, f, got);
    explained_rows_add_up(p, f, got, 2, of);
    artifact_close(a);
    artifact_close(p);
    buf_fini(&b);
    buf_fini(&pool);
    members_free(&m);
    ml_data_close(d);
    frame_close(f);
}

/* Weights that a mean may not have, and those that no pool has. */
static void impossible_weights_are_refused(void **state)
{
    static const struct {
        double weight[2];
        bool is_pool, is_good;
    } cases[] = { { { 0.5, 0.5 }, false, true },   { { 0.5, 0.4 }, false, false },
                  { { 1.5, -0.5 }, false, false }, { { 1.5, -0.5 }, true, true },
                  { { 0.4, 0.4 }, true, true },    { { 0.5, 0 }, true, false },
                  { { 0.5, 101 }, true, false },   { { 0.5, NAN }, true, false } };
    static const char *const families[] = { "boost", "linear" };
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct members m = { 0 };

    (void)state;
    members_make(&m, d, f, families, 2);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        struct buf b = together(&m, cases[k].weight, cases[k].is_pool);
        struct err err = { 0 };
        struct artifact *a = artifact_load(b.data, b.len, &err);
        if ((a != NULL) != cases[k].is_good)
            fail_msg("case %zu: %s", k, a ? "read" : err.text);
        artifact_close(a);
        buf_fini(&b);
    }
    members_free(&m);
    ml_data_close(d);
    frame_close(f);
}

static void columns_are_matched_by_name(void **state)
{
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct buf b = ship(d, "boost", NAN);
    struct artifact *a = loaded(&b);
    struct err err = { 0 };
    float one[2], two[2];

    (void)state;
    struct frame *g = csv_frame("a,kind,b\n0.5,high,-1\n,new level,2\n", NULL);
    struct frame *h = csv_frame("extra,b,a,kind\nq,-1,0.5,high\nr,2,,\n", NULL);
    predict_all(a, g, one);
    predict_all(a, h, two); /* an unknown level counts as missing */
    assert_memory_equal(one, two, sizeof(one));
    frame_close(g);
    frame_close(h);
    g = csv_frame("a,b\n1,2\n", NULL);
    assert_null(artifact_view_new(a, g, &err));
    assert_string_equal(err.text, "column \"kind\" is missing");
    frame_close(g);
    artifact_close(a);
    buf_fini(&b);
    ml_data_close(d);
    frame_close(f);
}

/* Loads and, where that works, predicts: a sanitizer sees what the bytes can reach. */
static bool survives(const void *bytes, size_t n, const struct frame *f)
{
    struct err err = { 0 };
    float out[300 * 3];
    struct artifact *a = artifact_load(bytes, n, &err), *s = artifact_load_staged(bytes, n, NULL);
    bool is_whole = s != NULL;

    for (int m = 0; is_whole && m < artifact_info(s)->n_models; m++)
        is_whole = artifact_stage(s, m, NULL) == 0;
    artifact_close(s);
    assert_int_equal(is_whole, a != NULL); /* what is looked at later is not looked at less */
    if (!a) {
        assert_true(err.code != ERR_NONE && err.text[0]);
        return false;
    }
    struct artifact_view *v = artifact_view_new(a, f, NULL);
    if (v && artifact_info(a)->n_classes <= 3)
        (void)artifact_predict(v, 0, f->rows, out, NULL);
    artifact_view_free(v);
    artifact_close(a);
    return true;
}

/* Makes the checksums right again, so that damage reaches the parsers behind them. */
static void resign(uint8_t *bytes, size_t n)
{
    for (int i = 0; i < SECTIONS; i++) {
        uint8_t *entry = bytes + 20 + i * ARTIFACT_ENTRY_BYTES;
        uint64_t at = 0, len = 0;
        struct sha256 h;
        memcpy(&at, entry + 8, 8);
        memcpy(&len, entry + 16, 8);
        if (at > n || len > n - at)
            return;
        sha256_init(&h);
        sha256_add(&h, bytes + at, len);
        sha256_end(&h, entry + 24);
    }
}

static void damage_is_refused(void **state)
{
    static const char *const families[] = { "baseline", "linear", "boost" };
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 0);
    for (size_t k = 0; k < ARRAY_LEN(families); k++) {
        adjusts = k == 1 ? &planted : NULL;
        struct buf b = ship(d, families[k], 0.5);
        adjusts = NULL;
        uint8_t *bytes = mem_alloc(b.len + 1);
        for (size_t cut = 0; cut < b.len; cut += 1 + cut / 50)
            assert_false(survives(b.data, cut, f));
        for (int i = 0; i < 400; i++) { /* one wrong bit anywhere in a section is seen */
            memcpy(bytes, b.data, b.len);
            bytes[20 + rng_below(&r, (uint32_t)b.len - 20)] ^= (uint8_t)(1u << rng_below(&r, 8));
            assert_false(survives(bytes, b.len, f));
        }
        for (int i = 0; i < 3000; i++) { /* forged: checksums made right */
            memcpy(bytes, b.data, b.len);
            size_t head = 20 + SECTIONS * ARTIFACT_ENTRY_BYTES,
                   at = head + rng_below(&r, (uint32_t)(b.len - head));
            for (uint32_t hits = 1 + rng_below(&r, 4); hits > 0; hits--) {
                size_t hit = at + rng_below(&r, 16);
                bytes[MIN(hit, b.len - 1)] = rng_below(&r, 2) ? 0xff : (uint8_t)rng_u32(&r);
            }
            resign(bytes, b.len);
            (void)survives(bytes, b.len, f);
        }
        memcpy(bytes, b.data, b.len);
        bytes[b.len] = 0;
        assert_false(survives(bytes, b.len + 1, f));
        mem_free(bytes);
        buf_fini(&b);
    }
    ml_data_close(d);
    frame_close(f);
}

static void versions_and_strangers_are_told_apart(void **state)
{
    struct frame *f = train_table();
    struct ml_data *d = problem(f);
    struct buf b = ship(d, "baseline", NAN);
    struct err err = { 0 };
    char path[300];

    (void)state;
    b.data[12] = 9; /* minimum reader */
    assert_null(artifact_load(b.data, b.len, &err));
    assert_int_equal(err.code, ERR_VERSION);
    b.data[12] = 1;
    b.data[8] = 8; /* a later format that readers of format 1 may read */
    struct artifact *a = artifact_load(b.data, b.len, &err);
    assert_non_null(a);
    artifact_close(a);
    assert_int_equal(
        io_replace(test_path(path, sizeof(path), "m.assay"), b.data, b.len, 0600, NULL), 0);
    a = artifact_open(path, &err);
    assert_non_null(a);
    artifact_close(a);
    assert_int_equal(io_replace(path, "x,y\n1,2\n", 8, 0600, NULL), 0);
    assert_null(artifact_open(path, &err));
    assert_non_null(strstr(err.text, "m.assay: not a model file"));
    assert_null(artifact_open(test_path(path, sizeof(path), "none"), &err));
    assert_int_equal(err.code, ERR_NOTFOUND);
    buf_fini(&b);
    ml_data_close(d);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_comes_back),
        cmocka_unit_test(predictions_are_the_mean_of_the_bag),
        cmocka_unit_test(models_staged_one_by_one_make_the_same_mean),
        cmocka_unit_test(adjustments_are_kept_and_applied),
        cmocka_unit_test(a_power_is_kept_applied_and_explained),
        cmocka_unit_test(a_pool_predicts_by_the_logs_of_its_members_and_is_explained),
        cmocka_unit_test(means_and_networks_stay_what_they_were),
        cmocka_unit_test(impossible_weights_are_refused),
        cmocka_unit_test(columns_are_matched_by_name),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(versions_and_strangers_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
