/* artifact.c - reading a model file that may come from anyone, and predicting with it.
 *
 * Checked in this order: size, magic and version; the section table, whose sections must be exactly
 * ours and lie one after the other to the last byte; their checksums; then each section by its own
 * parser, which must use up all its bytes. Memory stays within a small multiple of the file. After
 * loading nothing refers to the bytes, except in a staged artifact. A loaded artifact is immutable;
 * a view binds it to a table. Called by the CLI, the worker and fit/. */
#include "ml/model/artifact.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/math/fmath.h"
#include "ml/model/artifact_private.h"
#include "ml/model/explain_adjust.h"
#include "ml/model/model.h"
#include "ml/model/models.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "damaged model file: %s", what);
}

/* The sections of a whole file, each checked against its checksum in the head. */
static int read_sections(const struct view *in, struct view *sections, struct err *err)
{
    struct artifact_place places[SECTIONS];

    if (artifact_head_read(in->data, in->len, in->len, places, err) < 0)
        return -1;
    for (int i = 0; i < SECTIONS; i++) {
        const struct artifact_place *p = &places[i];
        uint8_t is[SHA256_BYTES];
        struct sha256 h;

        sha256_init(&h);
        sha256_add(&h, in->data + p->at, p->n);
        sha256_end(&h, is);
        if (memcmp(is, p->digest, sizeof(is)) != 0)
            return broken(err, "the checksum of a section does not match");
        sections[i] = (struct view){ in->data + p->at, p->n, 0 };
    }
    return 0;
}

static int read_text(struct view *in, char **out, struct err *err)
{
    if (view_str(in, out, ARTIFACT_MAX_TEXT, err) < 0)
        return -1;
    return utf8_ok(*out, strlen(*out)) ? 0 : broken(err, "a text is not UTF-8");
}

/* The unit of the target, where the file says one. */
static int read_unit(struct artifact *a, struct view *in, bool has_unit, struct err *err)
{
    struct target_unit *u = &a->info.unit;
    uint8_t kind = 0;

    *u = (struct target_unit){ TARGET_PLAIN, 0, 1 };
    if (!has_unit)
        return 0;
    if (view_u8(in, &kind, err) < 0 || view_f64(in, &u->by, err) < 0 ||
        view_f64(in, &u->smear, err) < 0)
        return -1;
    u->kind = (enum target_kind)kind;
    return a->info.task == ML_REGRESSION && target_unit_ok(u)
               ? 0
               : broken(err, "the unit of its target is out of range");
}

/* How far its predictions may go, where the file says it. */
static int read_limits(struct artifact *a, struct view *in, struct err *err)
{
    struct target_limits *l = &a->info.limits;

    if (view_f64(in, &l->least, err) < 0 || view_f64(in, &l->most, err) < 0)
        return -1;
    bool is_single = strcmp(a->family, ARTIFACT_ENSEMBLE) != 0;
    return a->info.task == ML_REGRESSION && is_single && target_limits_ok(l)
               ? 0
               : broken(err, "the limits of its predictions are out of range");
}

static int read_info(struct artifact *a, struct view *in, struct err *err)
{
    uint32_t n = 0;
    uint8_t task = 0;

    if (view_u8(in, &task, err) < 0 || read_text(in, &a->target, err) < 0 ||
        read_text(in, &a->family, err) < 0 || read_text(in, &a->metric, err) < 0 ||
        view_f64(in, &a->info.score, err) < 0 || view_f64(in, &a->info.score_se, err) < 0 ||
        view_u32(in, &n, err) < 0)
        return -1;
    bool has_unit = (task & ARTIFACT_UNIT) != 0, is_adjusted = (task & ARTIFACT_ADJUST) != 0,
         has_limits = (task & ARTIFACT_LIMITS) != 0;
    a->is_pool = (task & ARTIFACT_POOL) != 0;
    task &= (uint8_t) ~(ARTIFACT_UNIT | ARTIFACT_ADJUST | ARTIFACT_POOL | ARTIFACT_LIMITS);
    bool fits = task == ML_BINARY       ? n == 2
                : task == ML_MULTICLASS ? n >= 2
                                        : task == ML_REGRESSION && n == 0;
    if (!fits || n > ARTIFACT_MAX_CLASSES)
        return broken(err, "its task and classes do not fit");
    if (a->is_pool && (task == ML_REGRESSION || strcmp(a->family, ARTIFACT_ENSEMBLE) != 0))
        return broken(err, "only an ensemble of classes is a pool");
    a->classes = mem_array(n + 1, sizeof(*a->classes));
    a->n_classes = (int)n;
    for (uint32_t i = 0; i < n; i++) {
        if (read_text(in, &a->classes[i], err) < 0)
            return -1;
    }
    a->n_outputs = task == ML_MULTICLASS ? (int)n : 1;
    a->info.task = (enum ml_task)task;
    if (read_unit(a, in, has_unit, err) < 0 || (has_limits && read_limits(a, in, err) < 0) ||
        (is_adjusted && adjust_load(&a->adjust, a->info.task, a->n_outputs, in, err) < 0) ||
        readings_load(&a->readings, in, err) < 0)
        return -1;
    a->info.adjust = &a->adjust;
    adjust_of_power(a->adjust.power, a->n_outputs, &a->bag);
    return in->pos == in->len ? 0 : broken(err, "bytes after its description");
}

static int read_schema(struct artifact *a, const struct view *in, struct err *err)
{
    if (memchr(in->data, 0, in->len) || !utf8_ok((const char *)in->data, in->len))
        return broken(err, "its schema is no text");
    a->schema = mem_try_alloc(in->len + 1);
    if (!a->schema)
        return err_set(err, ERR_NOMEM, "no memory for the schema");
    memcpy(a->schema, in->data, in->len);
    a->schema[in->len] = '\0';
    return 0;
}

static struct predictor *read_model(const struct artifact *a, struct view one, struct err *err)
{
    struct predictor *p = a->ops->predictor_load(a->prep, a->n_outputs, a->info.task, &one, err);

    if (p && one.pos != one.len) {
        broken(err, "bytes after a model");
        a->ops->predictor_free(p);
        return NULL;
    }
    return p;
}

static int read_models(struct artifact *a, struct view *in, struct err *err)
{
    uint32_t n = 0;

    if (strcmp(a->family, ARTIFACT_ENSEMBLE) == 0)
        return ensemble_read(a, in, err);
    a->ops = model_find(a->family);
    if (!a->ops)
        return err_set(err, ERR_VERSION,
                       "the model is of the family \"%.40s\", which this program does not have",
                       a->family);
    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n < 1 || n > ARTIFACT_MAX_MODELS || n > (in->len - in->pos) / 8)
        return broken(err, "impossible number of models");
    a->models = mem_array(n, sizeof(struct predictor *));
    if (a->is_staged)
        a->staged = mem_array(n, sizeof *a->staged);
    a->info.n_models = (int)n;
    for (uint32_t i = 0; i < n; i++) {
        const void *bytes = NULL;
        uint64_t len = 0;
        if (view_u64(in, &len, err) < 0 || view_bytes(in, &bytes, len, err) < 0)
            return -1;
        struct view one = { bytes, len, 0 };
        if (a->is_staged) {
            a->staged[i] = one;
            continue;
        }
        a->models[i] = read_model(a, one, err);
        if (!a->models[i])
            return -1;
        a->n_models++;
    }
    return in->pos == in->len ? 0 : broken(err, "bytes after the models");
}

static struct artifact *load(const void *bytes, size_t n, bool is_staged, struct err *err)
{
    struct artifact *a = mem_zalloc(sizeof(*a));
    struct view in = { bytes, n, 0 }, sections[SECTIONS] = { 0 };

    a->is_staged = is_staged;
    if (read_sections(&in, sections, err) < 0 || read_info(a, &sections[SECTION_INFO], err) < 0 ||
        read_schema(a, &sections[SECTION_SCHEMA], err) < 0)
        goto fail;
    /* each member has its own */
    bool is_ensemble = strcmp(a->family, ARTIFACT_ENSEMBLE) == 0;
    a->prep = is_ensemble ? NULL : prep_load(&sections[SECTION_PREP], err);
    if (!a->prep && !is_ensemble)
        goto fail;
    if (sections[SECTION_PREP].pos != sections[SECTION_PREP].len) {
        broken(err, "bytes after its preparation");
        goto fail;
    }
    if (read_models(a, &sections[SECTION_MODEL], err) < 0)
        goto fail;
    a->info.target = a->target;
    a->info.family = a->family;
    a->info.metric = a->metric;
    a->info.n_classes = a->n_classes;
    a->info.classes = (const char *const *)a->classes;
    a->info.schema_json = a->schema;
    return a;
fail:
    artifact_close(a);
    return NULL;
}

struct artifact *artifact_load(const void *bytes, size_t n, struct err *err)
{
    return load(bytes, n, false, err);
}

struct artifact *artifact_load_staged(const void *bytes, size_t n, struct err *err)
{
    struct artifact *a = load(bytes, n, true, err);

    if (a && a->ensemble) {
        artifact_close(a);
        err_set(err, ERR_CONFLICT, "the models of an ensemble cannot be loaded one by one");
        return NULL;
    }
    return a;
}

int artifact_stage(struct artifact *a, int model, struct err *err)
{
    CHECK(a->is_staged && model >= 0 && model < a->info.n_models);
    if (a->n_models > 0)
        a->ops->predictor_free(a->models[0]);
    a->n_models = 0;
    a->models[0] = read_model(a, a->staged[model], err);
    a->n_models = a->models[0] != NULL;
    return a->models[0] ? 0 : -1;
}

struct artifact *artifact_open(const char *path, struct err *err)
{
    struct artifact *a = NULL;
    struct buf bytes;

    if (io_read_file(path, ARTIFACT_MAX_BYTES, &bytes, err) < 0)
        return NULL;
    a = artifact_load(bytes.data, bytes.len, err);
    buf_fini(&bytes);
    if (!a)
        err_wrap(err, "%s", path);
    return a;
}

int artifact_adjust_read(const char *path, struct adjust *out, struct err *err)
{
    struct artifact *a = NULL;
    struct buf bytes;

    *out = (struct adjust){ 0 };
    if (io_read_file(path, ARTIFACT_MAX_BYTES, &bytes, err) < 0)
        return -1;
    a = load(bytes.data, bytes.len, true, err);
    if (a) {
        *out = a->adjust;
        a->adjust = (struct adjust){ 0 };
    }
    artifact_close(a);
    buf_fini(&bytes);
    return a ? 0 : err_wrap(err, "%s", path);
}

void artifact_close(struct artifact *a)
{
    if (!a)
        return;
    ensemble_free(a);
    for (int i = 0; i < a->n_models; i++)
        a->ops->predictor_free(a->models[i]);
    for (int i = 0; i < a->n_classes; i++)
        mem_free(a->classes[i]);
    mem_free(a->models);
    mem_free(a->staged);
    mem_free(a->classes);
    mem_free(a->target);
    mem_free(a->family);
    mem_free(a->metric);
    mem_try_free(a->schema);
    readings_fini(&a->readings);
    adjust_fini(&a->adjust);
    adjust_fini(&a->bag);
    prep_free(a->prep);
    mem_free(a);
}

const struct artifact_info *artifact_info(const struct artifact *a)
{
    return &a->info;
}

const struct reading *artifact_reading(const struct artifact *a, const char *column)
{
    const struct reading *r = NULL;

    for (int i = 0; i < artifact_members(a) && !r; i++)
        r = readings_find(&artifact_member(a, i, NULL)->readings, column);
    return r ? r : readings_find(&a->readings, column);
}

const struct prep *artifact_prep(const struct artifact *a)
{
    return artifact_members(a) > 0 ? artifact_member(a, 0, NULL)->prep : a->prep;
}

/* ---- predicting ---- */

struct artifact_view *artifact_view_new(const struct artifact *a, const struct frame *f,
                                        struct err *err)
{
    struct artifact_view *v = mem_alloc(sizeof(*v));

    *v = (struct artifact_view){ .artifact = a };
    if (!a->ensemble)
        v->rows = prep_view_new(a->prep, f, err);
    if (a->ensemble ? ensemble_view(v, f, err) == 0 : v->rows != NULL)
        return v;
    artifact_view_free(v);
    return NULL;
}

void artifact_view_free(struct artifact_view *v)
{
    if (!v)
        return;
    for (int i = 0; v->members && i < artifact_members(v->artifact); i++)
        artifact_view_free(v->members[i]);
    mem_free(v->members);
    prep_view_free(v->rows);
    mem_free(v);
}

/* The mean of the models, before it is raised to its power. */
static int mean_of_models(const struct artifact *a, const struct prep_view *rows, int64_t from,
                          int64_t n, float *out, struct err *err)
{
    size_t width = (size_t)n * (size_t)a->n_outputs;
    double *sum = mem_try_zalloc((width + 1) * sizeof(*sum));
    float *one = mem_try_alloc((width + 1) * sizeof(*one));
    int rc = 0;

    if (!sum || !one)
        rc = err_set(err, ERR_NOMEM, "no memory to predict %lld rows", (long long)n);
    /* Added up in the order of the folds: a fixed order of sums. */
    for (int m = 0; m < a->n_models && rc == 0; m++) {
        rc = a->ops->predict(a->models[m], rows, from, n, one, err);
        bool is_number = a->info.task == ML_REGRESSION;
        for (size_t i = 0; i < width && rc == 0 && is_number; i++)
            one[i] = target_predicted(&a->info.unit, &a->info.limits, one[i]);
        if (rc == 0)
            adjust_probabilities(&a->adjust, one, n);
        for (size_t i = 0; i < width && rc == 0; i++)
            sum[i] += (double)one[i];
    }
    for (size_t i = 0; i < width && rc == 0; i++)
        out[i] = (float)(sum[i] / a->n_models);
    mem_try_free(sum);
    mem_try_free(one);
    return rc;
}

int artifact_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err)
{
    const struct artifact *a = v->artifact;

    if (a->ensemble)
        return ensemble_predict(v, from, n, out, err);
    int rc = mean_of_models(a, v->rows, from, n, out, err);
    if (rc == 0 && !a->is_staged)
        artifact_raise(a, out, n);
    return rc;
}

void artifact_raise(const struct artifact *a, float *p, int64_t n)
{
    adjust_probabilities(&a->bag, p, n);
}

int artifact_outputs(const struct artifact *a)
{
    return a->n_outputs;
}

int artifact_view_shuffle(struct artifact_view *v, int column, const int32_t *order,
                          struct err *err)
{
    if (v->artifact->ensemble)
        return ensemble_shuffle(v, column, order, err);
    return prep_view_shuffle(v->rows, column, order, err);
}

/* ---- explaining ---- */

int artifact_importance(const struct artifact *a, double *out, struct err *err)
{
    if (a->ensemble)
        return ensemble_importance(a, out, err);
    int inputs = prep_inputs(a->prep), columns = prep_columns(a->prep), rc = 0;

    if (!a->ops->importance)
        return err_set(err, ERR_CONFLICT,
                       "a model of the family %s does not say what its columns are worth",
                       a->family);
    double *by_input = mem_array((size_t)inputs + 1, sizeof *by_input);
    for (int m = 0; m < a->n_models && rc == 0; m++)
        rc = a->ops->importance(a->models[m], a->prep, by_input, err);
    prep_by_column(a->prep, by_input, out);
    mem_free(by_input);
    for (int i = 0; i < columns && rc == 0; i++) {
        out[i] /= a->n_models;
        if (!(out[i] >= 0 && out[i] <= 1e300))
            rc = broken(err, "what a column is worth is out of range");
    }
    return rc < 0 ? -1 : 0;
}

int artifact_weights(const struct artifact *a, double *out, struct err *err)
{
    if (a->ensemble)
        return err_set(err, ERR_CONFLICT,
                       "an ensemble has no weight for each column: only linear models do");
    size_t n = (size_t)artifact_outputs(a) * ((size_t)prep_width(a->prep) + 1);

    if (!a->ops->weights)
        return err_set(
            err, ERR_CONFLICT,
            "a model of the family %s has no weight for each column: only linear models do",
            a->family);
    double *one = mem_try_alloc(n * sizeof *one);
    if (!one)
        return err_set(err, ERR_NOMEM, "no memory for %zu weights", n);
    memset(out, 0, n * sizeof *out);
    for (int m = 0; m < a->n_models; m++) {
        a->ops->weights(a->models[m], one);
        for (size_t i = 0; i < n; i++)
            out[i] += one[i] / a->n_models;
    }
    mem_try_free(one);
    explain_adjust_weights(&a->adjust, out, artifact_outputs(a), prep_width(a->prep));
    explain_adjust_weights(&a->bag, out, artifact_outputs(a), prep_width(a->prep));
    return 0;
}

enum explain_link artifact_link(const struct artifact *a)
{
    if (a->info.unit.kind == TARGET_LOG)
        return EXPLAIN_LOG;
    return a->ops->explain_link ? a->ops->explain_link(a->models[0]) : EXPLAIN_SAME;
}

/* What the values of a model add up to, where its probabilities are adjusted: families that have a
 * link explain several classes by their scores before softmax, the others by their probabilities. */
static enum explain_link adjusted_link(const struct artifact *a)
{
    return a->n_outputs > 1 && a->ops->explain_link ? EXPLAIN_LOG_ODDS : artifact_link(a);
}

/* A limit of predictions in what the values add up to. */
static double limit_of(const struct target_unit *u, enum explain_link link, double limit)
{
    if (link != EXPLAIN_LOG)
        return limit;
    return fm_log_d(fmax((limit + (u->kind == TARGET_LOG ? u->by : 0)) / u->smear, DBL_MIN));
}

/* One model's values, as its calibration and its limits have them. */
static int explain_model(const struct artifact *a, int m, const struct explain_rows *rows,
                         double *out, struct err *err)
{
    size_t values = (size_t)rows->n * (size_t)a->n_outputs;
    enum explain_link link = adjusted_link(a);
    float *p = NULL;
    int rc = a->ops->explain(a->models[m], a->prep, rows, out, err);

    if (rc == 0 && a->adjust.classes > 0 && link == EXPLAIN_SAME) {
        p = mem_try_alloc((values + 1) * sizeof *p);
        rc = p ? a->ops->predict(a->models[m], rows->v, rows->from, rows->n, p, err)
               : err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)rows->n);
    }
    if (rc == 0)
        rc = explain_adjust(&a->adjust, link, rows->of, p, prep_inputs(a->prep), rows->n, out, err);
    if (rc == 0 && target_limits_are(&a->info.limits))
        explain_limit(limit_of(&a->info.unit, link, a->info.limits.least),
                      limit_of(&a->info.unit, link, a->info.limits.most), prep_inputs(a->prep),
                      rows->n, out);
    mem_try_free(p);
    return rc;
}

/* The values of the mean of the models, as its power has them. */
static int explain_raise(const struct artifact *a, const struct explain_rows *rows, double *out,
                         struct err *err)
{
    enum explain_link link = adjusted_link(a);
    bool by_class = a->bag.classes > 0 && link == EXPLAIN_SAME;
    float *p = NULL;
    int rc = 0;

    if (!a->bag.calibrates)
        return 0;
    if (by_class) {
        p = mem_try_alloc(((size_t)(rows->n * a->n_outputs) + 1) * sizeof *p);
        rc = p ? mean_of_models(a, rows->v, rows->from, rows->n, p, err)
               : err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)rows->n);
    }
    if (rc == 0)
        rc = explain_adjust(&a->bag, link, rows->of, p, prep_inputs(a->prep), rows->n, out, err);
    mem_try_free(p);
    return rc;
}

/* By input: out[n][inputs + 1]. */
static int explain_inputs(const struct artifact *a, const struct explain_rows *rows, double *out,
                          struct err *err)
{
    int64_t n = rows->n;
    size_t width = (size_t)n * ((size_t)prep_inputs(a->prep) + 1);

    if (a->n_models == 1)
        return explain_model(a, 0, rows, out, err) < 0 ? -1 : explain_raise(a, rows, out, err);
    double *one = mem_try_alloc((width + 1) * sizeof(*one));
    struct explain_sums *sums = mem_try_zalloc((size_t)(n + 1) * sizeof(*sums));
    int rc =
        one && sums ? 0 : err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)n);
    enum explain_link link = artifact_link(a);

    memset(out, 0, width * sizeof(*out));
    for (int m = 0; m < a->n_models && rc == 0; m++) {
        rc = explain_model(a, m, rows, one, err);
        if (rc == 0)
            explain_bag_add(link, one, prep_inputs(a->prep), n, sums, out);
    }
    if (rc == 0)
        explain_bag_end(link, a->n_models, prep_inputs(a->prep), n, sums, out);
    if (rc == 0)
        rc = explain_raise(a, rows, out, err);
    mem_try_free(sums);
    mem_try_free(one);
    return rc;
}

int artifact_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err)
{
    const struct artifact *a = v->artifact;

    if (a->ensemble)
        return ensemble_explain(v, from, n, of, out, err);
    const struct explain_rows rows = { v->rows, from, n, of };
    int64_t inputs = prep_inputs(a->prep), columns = prep_columns(a->prep);

    if (!a->ops->explain)
        return err_set(err, ERR_CONFLICT, "single predictions of the family %s cannot be explained",
                       a->family);
    double *by_input = mem_try_alloc((size_t)(n * (inputs + 1) + 1) * sizeof *by_input);
    int rc = by_input ? explain_inputs(a, &rows, by_input, err)
                      : err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)n);
    for (int64_t i = 0; i < n && rc == 0; i++) {
        prep_by_column(a->prep, by_input + i * (inputs + 1), out + i * (columns + 1));
        /* the base brings the target back to where it was */
        out[i * (columns + 1) + columns] =
            by_input[i * (inputs + 1) + inputs] + target_shift(&a->info.unit);
    }
    mem_try_free(by_input);
    return rc;
}
