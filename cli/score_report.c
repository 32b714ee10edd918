/* score_report.c - makes the report of score.h. Scores come from ml/metric/, the rest is counted
 * here. Weights count everywhere but in the numbers of rows. */
#include "cli/score.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/metric/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A score that the model is shown to have, with the predictions as this metric takes them. */
struct reporting {
    const struct artifact_info *info;
    const struct scored *s;
    const struct score_how *how;
    int *class; /* [n] the class that is predicted; NULL for numbers */
    json_t *out;
};

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static double weight_of(const struct scored *s, int64_t i)
{
    return s->weight ? s->weight[i] : 1.0;
}

static int class_of(const struct reporting *r, const float *p)
{
    int best = 0;

    if (r->info->task == ML_BINARY)
        return (double)p[0] > r->how->threshold;
    for (int k = 1; k < r->s->width; k++)
        if (p[k] > p[best])
            best = k;
    return best;
}

/* ---- scores ---- */

/* Metrics of the predicted class see the threshold as certainty; metrics of the size of a number
 * see predictions and truth with the shift that was taken from both. Else the predictions are taken
 * as they are. NULL = no memory. */
static float *suited(const struct reporting *r, enum metric_id id, double *y)
{
    const struct scored *s = r->s;
    float *p = mem_try_alloc((size_t)s->n * sizeof *p);

    for (int64_t i = 0; p && i < s->n; i++) {
        if (metric_info(id)->target != METRIC_TARGET_ANY) {
            p[i] = (float)((double)s->pred[i] + s->shift);
            y[i] = s->y[i] + s->shift;
        } else {
            p[i] = (float)r->class[i];
        }
    }
    return p;
}

static bool needs_suiting(const struct reporting *r, enum metric_id id)
{
    const struct metric_info *m = metric_info(id);

    return (r->info->task == ML_BINARY && !m->is_smooth) ||
           (m->target != METRIC_TARGET_ANY && r->s->shift != 0);
}

/* A metric that these rows do not allow, such as auc of one class, is left out. */
static int add_score(struct reporting *r, json_t *list, enum metric_id id, struct err *err)
{
    const struct scored *s = r->s;
    bool is_suited = needs_suiting(r, id);
    double value = 0, se = 0, *y = is_suited ? mem_try_alloc((size_t)s->n * sizeof *y) : NULL;
    float *p = is_suited && y ? suited(r, id, y) : NULL;
    struct err why = { 0 };
    int rc = 0;

    if (is_suited && (!y || !p))
        rc = err_set(err, ERR_NOMEM, "no memory to score %lld rows", (long long)s->n);
    bool has_own_y = is_suited && metric_info(id)->target != METRIC_TARGET_ANY;
    if (rc == 0 &&
        metric_score_weighted(id, r->info->task, is_suited ? p : s->pred, has_own_y ? y : s->y,
                              s->weight, s->n, MAX(r->info->n_classes, 1), &value, &se, &why) < 0) {
        if (why.code != ERR_ARG)
            rc = err_set(err, why.code, "%s", why.text);
    } else if (rc == 0) {
        json_array_append_new(list,
                              json_pack("{s:s, s:b, s:o, s:o}", "metric", metric_info(id)->name,
                                        "larger_is_better", metric_info(id)->larger_is_better,
                                        "score", number(value), "se", number(se)));
    }
    mem_try_free(y);
    mem_try_free(p);
    return rc;
}

/* The model's own metric stands first. */
static int add_scores(struct reporting *r, struct err *err)
{
    json_t *list = json_array();
    enum metric_id own;

    json_object_set_new(r->out, "scores", list);
    if (metric_parse(r->info->metric, &own, err) < 0 || add_score(r, list, own, err) < 0)
        return -1;
    for (int id = 0; id < METRICS; id++) {
        const struct metric_info *m = metric_info((enum metric_id)id);
        if (id != (int)own && (m->tasks & (int)r->info->task) && m->quantile == 0 &&
            add_score(r, list, (enum metric_id)id, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- classes ---- */

struct confused {
    int is, as;
    int64_t rows;
};

static int by_rows(const void *va, const void *vb)
{
    const struct confused *a = va, *b = vb;

    if (a->rows != b->rows)
        return a->rows > b->rows ? -1 : 1;
    return a->is != b->is ? a->is - b->is : a->as - b->as;
}

static void add_confused(struct reporting *r, const int64_t *count)
{
    int k = r->info->n_classes, n = 0;
    struct confused *all = mem_array((size_t)k * (size_t)k, sizeof *all);
    json_t *list = json_array();

    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            if (i != j && count[(size_t)i * (size_t)k + (size_t)j] > 0)
                all[n++] = (struct confused){ i, j, count[(size_t)i * (size_t)k + (size_t)j] };
    qsort(all, (size_t)n, sizeof *all, by_rows);
    for (int i = 0; i < MIN(n, SCORE_MAX_CONFUSED); i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I}", "true", r->info->classes[all[i].is], "predicted",
                            r->info->classes[all[i].as], "rows", (json_int_t)all[i].rows));
    json_object_set_new(r->out, "confused", list);
    mem_free(all);
}

static void add_matrix(struct reporting *r, const int64_t *count)
{
    size_t k = (size_t)r->info->n_classes;
    json_t *rows = json_array();

    for (size_t i = 0; i < k; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < k; j++)
            json_array_append_new(row, json_integer((json_int_t)count[i * k + j]));
        json_array_append_new(rows, row);
    }
    json_object_set_new(r->out, "confusion", rows);
}

/* Shares are weighted, numbers of rows are not. */
static void add_classes(struct reporting *r)
{
    const struct scored *s = r->s;
    size_t k = (size_t)r->info->n_classes;
    int64_t *count = mem_array(k * k, sizeof *count);
    int64_t *rows = mem_array(k, sizeof *rows), *predicted = mem_array(k, sizeof *predicted);
    double *is = mem_array(k, sizeof *is), *as = mem_array(k, sizeof *as),
           *hit = mem_array(k, sizeof *hit);
    json_t *list = json_array();

    for (int64_t i = 0; i < s->n; i++) {
        size_t t = (size_t)s->y[i], p = (size_t)r->class[i];
        count[t * k + p]++;
        rows[t]++;
        predicted[p]++;
        is[t] += weight_of(s, i);
        as[p] += weight_of(s, i);
        hit[t] += t == p ? weight_of(s, i) : 0;
    }
    for (size_t c = 0; c < k; c++)
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "class", r->info->classes[c], "rows",
                            (json_int_t)rows[c], "predicted", (json_int_t)predicted[c], "precision",
                            number(hit[c] / as[c]), "recall", number(hit[c] / is[c]), "f1",
                            number(2 * hit[c] / (is[c] + as[c]))));
    json_object_set_new(r->out, "classes", list);
    if (k <= SCORE_MAX_MATRIX)
        add_matrix(r, count);
    add_confused(r, count);
    mem_free(count);
    mem_free(rows);
    mem_free(predicted);
    mem_free(is);
    mem_free(as);
    mem_free(hit);
}

/* ---- numbers ---- */

static int by_value(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;

    return a < b ? -1 : a > b;
}

/* Quantiles are of the rows, by linear interpolation. */
static int add_residuals(struct reporting *r, struct err *err)
{
    static const double at[] = { 0.05, 0.25, 0.5, 0.75, 0.95 };
    const struct scored *s = r->s;
    double *e = mem_try_alloc((size_t)s->n * sizeof *e), sum = 0, all = 0, spread = 0;
    double n = (double)s->n;
    json_t *quantiles = json_object();

    if (!e) {
        json_decref(quantiles);
        return err_set(err, ERR_NOMEM, "no memory for %lld residuals", (long long)s->n);
    }
    for (int64_t i = 0; i < s->n; i++) {
        e[i] = s->y[i] - (double)s->pred[i];
        sum += weight_of(s, i) * e[i];
        all += weight_of(s, i);
    }
    for (int64_t i = 0; i < s->n; i++) {
        double d = weight_of(s, i) * (e[i] - sum / all);
        spread += d * d;
    }
    qsort(e, (size_t)s->n, sizeof *e, by_value);
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        double place = at[i] * (n - 1);
        int64_t low = (int64_t)place, high = MIN(low + 1, s->n - 1);
        char name[16];
        snprintf(name, sizeof name, "%g", at[i]);
        json_object_set_new(quantiles, name,
                            number(e[low] + (place - (double)low) * (e[high] - e[low])));
    }
    json_object_set_new(r->out, "residuals",
                        json_pack("{s:o, s:o, s:o}", "mean", number(sum / all), "se",
                                  number(sqrt(spread * n / (n - 1)) / all), "quantiles",
                                  quantiles));
    mem_try_free(e);
    return 0;
}

/* [{"level","inside","se","width"}]: the share of rows inside the model's intervals, and how wide these
 * are in the mean. */
static void add_intervals(struct reporting *r)
{
    static const double levels[] = { 0.5, 0.8, 0.9, 0.95 };
    const struct adjust *a = r->info->adjust;
    const struct scored *s = r->s;
    json_t *list = json_array();

    for (size_t k = 0; k < ARRAY_LEN(levels) && levels[k] <= adjust_most_level(a); k++) {
        double inside = 0, all = 0, squares = 0, width = 0, lower = 0, upper = 0;
        for (int64_t i = 0; i < s->n; i++) {
            double w = weight_of(s, i);
            adjust_interval(a, levels[k], (double)s->pred[i], &lower, &upper);
            inside += s->y[i] >= lower && s->y[i] <= upper ? w : 0;
            width += w * (upper - lower);
            squares += w * w;
            all += w;
        }
        double share = inside / all;
        json_array_append_new(list, json_pack("{s:f, s:o, s:o, s:o}", "level", levels[k], "inside",
                                              number(share), "se",
                                              number(sqrt(share * (1 - share) * squares) / all),
                                              "width", number(width / all)));
    }
    if (json_array_size(list) > 0)
        json_object_set(r->out, "intervals", list);
    json_decref(list);
}

/* ---- calibration ---- */

static json_t *groups_json(const struct calibration *c, double shift)
{
    json_t *list = json_array();

    for (int g = 0; g < c->n_groups; g++) {
        const struct calibration_group *o = &c->group[g];
        json_array_append_new(list, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "rows",
                                              (json_int_t)o->rows, "from", number(o->lo + shift),
                                              "to", number(o->hi + shift), "predicted",
                                              number(o->predicted + shift), "observed",
                                              number(o->observed + shift), "se", number(o->se)));
    }
    return list;
}

/* Of two classes: the positive one's probability. Of more: the predicted class's, and whether it
 * was right. Of numbers: the prediction. */
static void calibration_rows(const struct reporting *r, double *p, double *y)
{
    const struct scored *s = r->s;

    for (int64_t i = 0; i < s->n; i++) {
        if (r->info->task == ML_MULTICLASS) {
            p[i] = (double)s->pred[i * s->width + r->class[i]];
            y[i] = r->class[i] == (int)s->y[i];
        } else {
            p[i] = (double)s->pred[i];
            y[i] = s->y[i];
        }
    }
}

static int add_calibration(struct reporting *r, struct err *err)
{
    const struct scored *s = r->s;
    enum ml_task task = r->info->task;
    double *p = mem_try_alloc((size_t)s->n * sizeof *p),
           *y = mem_try_alloc((size_t)s->n * sizeof *y);
    struct calibration c = { 0 };
    int rc = -1;

    if (!p || !y) {
        err_set(err, ERR_NOMEM, "no memory to sort %lld rows", (long long)s->n);
    } else {
        calibration_rows(r, p, y);
        rc = calibration_of(p, y, s->weight, s->n, task != ML_REGRESSION, r->how->groups, &c, err);
    }
    if (rc == 0)
        json_object_set_new(
            r->out, "calibration",
            json_pack("{s:s, s:o, s:o, s:o, s:o}", "of",
                      task == ML_BINARY       ? r->info->classes[1]
                      : task == ML_MULTICLASS ? "the predicted class"
                                              : r->info->target,
                      "groups", groups_json(&c, task == ML_REGRESSION ? s->shift : 0), "error",
                      number(c.error), "intercept",
                      number(c.intercept + (task == ML_REGRESSION ? s->shift * (1 - c.slope) : 0)),
                      "slope", number(c.slope)));
    calibration_fini(&c);
    mem_try_free(p);
    mem_try_free(y);
    return rc;
}

/* ---- the report ---- */

static const char *task_name(enum ml_task task)
{
    return task == ML_BINARY ? "binary" : task == ML_MULTICLASS ? "multiclass" : "regression";
}

json_t *score_report(const struct artifact_info *info, const struct scored *s,
                     const struct score_how *how, struct err *err)
{
    struct reporting r = { .info = info, .s = s, .how = how };
    int rc = 0;

    r.out =
        json_pack("{s:{s:s, s:i, s:s, s:o, s:o}, s:s, s:s, s:I, s:{s:I, s:I, s:I, s:s?}}", "model",
                  "family", info->family, "models", info->n_models, "metric", info->metric, "score",
                  number(info->score), "se", number(info->score_se), "target", info->target, "task",
                  task_name(info->task), "rows", (json_int_t)s->n, "left_out", "no_target",
                  (json_int_t)s->n_no_target, "unknown_class", (json_int_t)s->n_unknown,
                  "no_weight", (json_int_t)s->n_no_weight, "unknown_such_as", s->unknown);
    if (info->task != ML_REGRESSION) {
        r.class = mem_try_alloc((size_t)s->n * sizeof *r.class);
        if (!r.class)
            rc = err_set(err, ERR_NOMEM, "no memory for %lld rows", (long long)s->n);
        for (int64_t i = 0; rc == 0 && i < s->n; i++)
            r.class[i] = class_of(&r, s->pred + i * s->width);
    }
    if (rc == 0)
        rc = add_scores(&r, err);
    if (rc == 0 && info->task != ML_REGRESSION)
        add_classes(&r);
    if (rc == 0 && info->task == ML_REGRESSION)
        rc = add_residuals(&r, err);
    if (rc == 0 && info->task == ML_REGRESSION)
        add_intervals(&r);
    if (rc == 0 && info->task == ML_BINARY)
        json_object_set_new(r.out, "threshold", number(how->threshold));
    if (rc == 0)
        rc = add_calibration(&r, err);
    mem_try_free(r.class);
    if (rc < 0) {
        json_decref(r.out);
        return NULL;
    }
    return r.out;
}
