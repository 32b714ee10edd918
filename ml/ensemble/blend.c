/* blend.c - selects the ensemble that ships and checks its score on folds that did not select it
 * (blend.h). */
#include "ml/ensemble/blend.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/metric/metric_folds.h"

#include <math.h>
#include <string.h>

/* STEPS, BAGS: measured on the shared tables, docs/measurements/2026-11-23.md. PARTS: the folds are
 * judged in at most so many parts. BLOCKS: of each fold, left out one after another. */
enum { STEPS = 25, BAGS = 4, PARTS = ADJUST_PARTS, BLOCKS = 8, FOLDS = PREDICTIONS_MOST_FOLDS };

struct blending {
    const struct blend_in *in;
    const struct predictions *first;
    /* [held.n][outputs] nested predictions of the ensemble and of the best single model */
    float *ensemble, *single;
    /* rows of one fold, gathered */
    float *p;
    double *y, *weight;
    /* [held.n] which rows select */
    uint8_t *use;
    /* [models][folds] each model's score by fold */
    double *scores;
};

/* ---- scores ---- */

/* The metric of the rows of a fold, but for those of block `without` (-1 = all). Returns their number,
 * with their targets in b->y, and the weight of all in *size; -1 where it is undefined. */
static int64_t fold_score(struct blending *b, const float *p, int fold, int without, double *value,
                          double *se, double *size)
{
    const struct predictions *f = b->first;
    int64_t n = 0, seen = 0;
    size_t row = (size_t)f->outputs;

    *size = 0;
    for (int64_t i = 0; i < f->held.n; i++) {
        if (f->held.fold[i] != fold || (int)(seen++ % BLOCKS) == without)
            continue;
        memcpy(b->p + (size_t)n * row, p + (size_t)i * row, row * sizeof *p);
        b->y[n] = f->held.y[i];
        b->weight[n] = f->held.weight ? f->held.weight[i] : 1;
        *size += b->weight[n];
        n++;
    }
    if (n == 0)
        return -1;
    int rc =
        metric_score_weighted(f->metric, f->task, b->p, b->y, f->held.weight ? b->weight : NULL, n,
                              MAX(f->classes, 1), value, se, NULL);
    return rc < 0 || isnan(*value) ? -1 : n;
}

/* The mean over the folds, weighted by rows, as trials are scored. */
static void mean_score(struct blending *b, const float *p, double *score, double *se)
{
    const struct predictions *first = b->first;
    struct metric_folds m;
    double value = 0, error = 0, size = 0;

    metric_folds_begin(&m, first->metric, first->task, b->in->err_together);
    for (int f = 0; f < first->folds; f++) {
        int64_t n = fold_score(b, p, f, -1, &value, &error, &size);
        if (n > 0)
            metric_folds_add(&m, size, value, error, b->y, n);
    }
    metric_folds_end(&m, score, se);
}

/* How much better p is than q in the fold without a block; NaN = undefined. */
static double fold_gain(struct blending *b, const float *p, const float *q, int fold, int without,
                        double *size)
{
    double sign = metric_info(b->first->metric)->larger_is_better ? 1 : -1, x = 0, y = 0, se = 0;

    if (fold_score(b, p, fold, without, &x, &se, size) < 0 ||
        fold_score(b, q, fold, without, &y, &se, size) < 0)
        return (double)NAN;
    return sign * (x - y);
}

/* The error of a fold's gain, by the jackknife. */
static double gain_error(struct blending *b, int fold)
{
    double parts[BLOCKS], mean = 0, square = 0, rest = 0;
    int n = 0;

    for (int k = 0; k < BLOCKS; k++) {
        parts[n] = fold_gain(b, b->ensemble, b->single, fold, k, &rest);
        if (!isnan(parts[n]))
            mean += parts[n++];
    }
    for (int k = 0; k < n; k++)
        square += (parts[k] - mean / n) * (parts[k] - mean / n);
    return n > 1 ? sqrt(square * (n - 1) / n) : 0;
}

static void gain_of(struct blending *b, struct blend *out)
{
    struct folds folds = { .err_together = b->in->err_together };
    double size = 0;

    for (int f = 0; f < b->first->folds; f++) {
        double gain = fold_gain(b, b->ensemble, b->single, f, -1, &size);
        if (!isnan(gain))
            folds_add(&folds, size, gain, gain_error(b, f));
    }
    out->gain = folds_mean(&folds);
    out->gain_se = folds_error(&folds);
}

/* ---- adjustments ---- */

static int part_of(const struct blending *b, int fold)
{
    return fold % MIN(b->first->folds, PARTS);
}

/* Learns from every so-many-th of the held-out rows p[held.n][outputs]. */
static int learn(const struct blending *b, const float *p, struct adjust *all, struct adjust *part,
                 struct err *err)
{
    const struct predictions *f = b->first;
    size_t k = (size_t)f->outputs;
    int64_t every = (f->held.n * f->outputs + ADJUST_VALUES - 1) / ADJUST_VALUES, n = 0;

    every += every % ADJUST_PARTS == 0; /* parts may come in turn */
    for (int64_t i = 0; i < f->held.n; i += every, n++) {
        memmove(b->p + (size_t)n * k, p + (size_t)i * k, k * sizeof *p);
        b->y[n] = f->held.y[i];
        b->weight[n] = f->held.weight ? f->held.weight[i] : 1;
        b->use[n] = (uint8_t)part_of(b, f->held.fold[i]);
    }
    const struct adjust_rows rows = { .task = f->task,
                                      .metric = f->metric,
                                      .outputs = f->outputs,
                                      .classes = f->classes,
                                      .n = n,
                                      .p = b->p,
                                      .y = b->y,
                                      .weight = f->held.weight ? b->weight : NULL,
                                      .part = b->use,
                                      .parts = MIN(f->folds, PARTS) };
    return adjust_fit(&rows, all, part, err);
}

/* Adjusts p in place, each row by what the rows of other parts taught. all: what ships. */
static int adjust_held(const struct blending *b, float *p, struct adjust *all, struct err *err)
{
    const struct predictions *f = b->first;
    struct adjust part[ADJUST_PARTS];
    int rc = learn(b, p, all, part, err);

    for (int64_t i = 0; i < f->held.n && rc == 0; i++) {
        const struct adjust *a = &part[part_of(b, f->held.fold[i])];
        adjust_probabilities(a, p + i * f->outputs, 1);
        adjust_decide(a, f->metric, f->task, p + i * f->outputs, 1);
    }
    for (int k = 0; k < ADJUST_PARTS; k++)
        adjust_fini(&part[k]);
    return rc;
}

/* ---- selection ---- */

static int select_without(const struct blending *b, int part, double *weight, struct err *err)
{
    const struct predictions *f = b->first;
    struct greedy g = { .models = b->in->models,
                        .n_models = b->in->n,
                        .use = b->use,
                        .most = b->in->most,
                        .steps = STEPS,
                        .bags = BAGS,
                        .seed = b->in->seed };

    /* of very many rows a random part selects; all of them judge */
    double share = (double)greedy_most_rows(f, b->in->n) / (double)f->held.n;
    struct rng rng;

    rng_init(&rng, b->in->seed, 1);
    for (int64_t i = 0; i < f->held.n; i++) {
        bool is_drawn = share >= 1 || rng_unit(&rng) < share;
        b->use[i] = is_drawn && part_of(b, f->held.fold[i]) != part;
    }
    return greedy_select(&g, weight, err);
}

/* Mean of the models' predictions by weight, in the order of the models. */
static void mix(const struct blending *b, const double *weight, int64_t row, float *out)
{
    int k = b->first->outputs;

    for (int o = 0; o < k; o++) {
        double sum = 0;
        for (int m = 0; m < b->in->n; m++) {
            if (weight[m] > 0)
                sum += weight[m] * (double)b->in->models[m]->held.p[row * k + o];
        }
        out[o] = (float)sum;
    }
}

/* The model with the best mean score over the folds of other parts; equal ones: the first. */
static int best_without(const struct blending *b, const double *sizes, int part)
{
    double sign = metric_info(b->first->metric)->larger_is_better ? 1 : -1, top = 0;
    int best = 0;
    bool has = false;

    for (int m = 0; m < b->in->n; m++) {
        double sum = 0, all = 0;
        for (int f = 0; f < b->first->folds; f++) {
            double v = b->scores[m * b->first->folds + f];
            if (part_of(b, f) == part || isnan(v))
                continue;
            sum += sizes[f] * v;
            all += sizes[f];
        }
        if (all > 0 && (!has || sign * sum / all > top)) {
            has = true;
            top = sign * sum / all;
            best = m;
        }
    }
    return best;
}

/* Fills b->scores. Where a threshold decides about the metric, each model has its own. Overwrites
 * b->single. */
static int score_models(struct blending *b, double *sizes, struct err *err)
{
    const struct predictions *f = b->first;
    size_t floats = (size_t)(f->held.n * f->outputs);
    bool is_decided = adjust_decides(f->metric, f->task);
    double se = 0;

    for (int m = 0; m < b->in->n; m++) {
        const float *p = b->in->models[m]->held.p;
        struct adjust all = { 0 };
        if (is_decided) {
            memcpy(b->single, p, floats * sizeof *p);
            if (adjust_held(b, b->single, &all, err) < 0)
                return -1;
            p = b->single;
        }
        adjust_fini(&all);
        for (int k = 0; k < f->folds; k++) {
            double *v = &b->scores[m * f->folds + k];
            if (fold_score(b, p, k, -1, v, &se, &sizes[k]) < 0)
                *v = (double)NAN;
        }
    }
    return 0;
}

/* Fills b->ensemble and b->single part by part. */
static int nest(struct blending *b, struct err *err)
{
    const struct predictions *f = b->first;
    double weight[GREEDY_MOST_MODELS], sizes[FOLDS] = { 0 };
    size_t row = (size_t)f->outputs;

    if (score_models(b, sizes, err) < 0)
        return -1;
    for (int part = 0; part < MIN(f->folds, PARTS); part++) {
        int best = best_without(b, sizes, part);
        if (select_without(b, part, weight, err) < 0)
            return -1;
        for (int64_t i = 0; i < f->held.n; i++) {
            if (part_of(b, f->held.fold[i]) != part)
                continue;
            mix(b, weight, i, b->ensemble + (size_t)i * row);
            memcpy(b->single + (size_t)i * row, b->in->models[best]->held.p + (size_t)i * row,
                   row * sizeof(float));
        }
    }
    return 0;
}

/* Weighted mean of what the members predict for the test rows. Where it is calibrated, their powers do
 * not count, as in the model file (ml/model/artifact.h). */
static int test_mean(const struct blending *b, const struct blend *out, float *p, struct err *err)
{
    const struct predicted_rows *t = &b->first->test;
    size_t values = (size_t)(t->n * b->first->outputs);
    double *sum = mem_try_zalloc((values + 1) * sizeof *sum);

    if (!sum)
        return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)t->n);
    for (int m = 0; m < b->in->n; m++) {
        struct adjust bag = { 0 };
        if (!(out->weight[m] > 0))
            continue;
        memcpy(p, b->in->models[m]->test.p, values * sizeof *p);
        if (!out->adjust.calibrates)
            adjust_of_power(b->in->models[m]->power, b->first->outputs, &bag);
        adjust_probabilities(&bag, p, t->n);
        adjust_fini(&bag);
        for (size_t i = 0; i < values; i++)
            sum[i] += out->weight[m] * (double)p[i];
    }
    for (size_t i = 0; i < values; i++)
        p[i] = (float)sum[i];
    mem_try_free(sum);
    return 0;
}

static int test_score(const struct blending *b, struct blend *out, struct err *err)
{
    const struct predicted_rows *t = &b->first->test;
    int k = b->first->outputs;

    out->test = out->test_se = (double)NAN;
    if (t->n == 0)
        return 0;
    float *p = mem_try_alloc((size_t)(t->n * k) * sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)t->n);
    if (test_mean(b, out, p, err) < 0) {
        mem_try_free(p);
        return -1;
    }
    adjust_probabilities(&out->adjust, p, t->n);
    adjust_decide(&out->adjust, b->first->metric, b->first->task, p, t->n);
    if (metric_score_weighted(b->first->metric, b->first->task, p, t->y, t->weight, t->n,
                              MAX(b->first->classes, 1), &out->test, &out->test_se, NULL) < 0)
        out->test = out->test_se = (double)NAN;
    mem_try_free(p);
    return 0;
}

/* Whether the ensemble ships by its gain. */
static bool is_enough(const struct blending *b, const struct blend *out)
{
    if (b->first->held.n < GREEDY_FEW_ROWS && !b->in->is_holdout)
        return out->gain > BLEND_FEW_MARGIN * out->gain_se;
    return out->gain > 0 && out->gain > BLEND_MARGIN * out->gain_se;
}

static int blend(struct blending *b, struct blend *out, struct err *err)
{
    struct adjust single = { 0 };
    int rc = nest(b, err);

    if (rc == 0)
        rc = select_without(b, -1, out->weight, err);
    if (rc == 0)
        rc = adjust_held(b, b->single, &single, err);
    if (rc == 0)
        rc = adjust_held(b, b->ensemble, &out->adjust, err);
    adjust_fini(&single);
    if (rc < 0)
        return -1;
    for (int m = 0; m < b->in->n; m++)
        out->members += out->weight[m] > 0;
    mean_score(b, b->ensemble, &out->score, &out->se);
    mean_score(b, b->single, &out->single, &out->single_se);
    gain_of(b, out);
    out->is_better = out->members > 1 && is_enough(b, out);
    return test_score(b, out, err);
}

void blend_fini(struct blend *b)
{
    adjust_fini(&b->adjust);
}

int blend_make(const struct blend_in *in, struct blend *out, struct err *err)
{
    const struct predictions *f = in->models[0];
    struct blending b = { .in = in, .first = f };
    size_t rows = (size_t)f->held.n, floats = rows * (size_t)f->outputs;
    int rc = -1;

    CHECK(in->n >= 1 && in->n <= GREEDY_MOST_MODELS && in->most >= 1);
    *out = (struct blend){ .score = (double)NAN };
    for (int m = 1; m < in->n; m++) {
        if (!predictions_match(f, in->models[m]))
            return err_set(err, ERR_ARG, "the predictions of two trials are not of the same rows");
    }
    b.ensemble = mem_try_alloc(floats * sizeof *b.ensemble);
    b.single = mem_try_alloc(floats * sizeof *b.single);
    b.p = mem_try_alloc(floats * sizeof *b.p);
    b.y = mem_try_alloc(rows * sizeof *b.y);
    b.weight = mem_try_alloc(rows * sizeof *b.weight);
    b.use = mem_try_alloc(rows);
    b.scores = mem_array((size_t)in->n * (size_t)f->folds, sizeof *b.scores);
    if (!b.ensemble || !b.single || !b.p || !b.y || !b.weight || !b.use)
        err_set(err, ERR_NOMEM, "no memory to combine %d models of %zu rows", in->n, rows);
    else
        rc = blend(&b, out, err);
    mem_try_free(b.ensemble);
    mem_try_free(b.single);
    mem_try_free(b.p);
    mem_try_free(b.y);
    mem_try_free(b.weight);
    mem_try_free(b.use);
    mem_free(b.scores);
    return rc;
}
