/* blend.c - selects the ensemble that ships and checks its score on folds that did not select it
 * (blend.h). */
#include "ml/ensemble/blend.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/adjust/pool.h"
#include "ml/ensemble/pool_fit.h"
#include "ml/metric/metric_folds.h"

#include <math.h>
#include <string.h>

/* STEPS, BAGS: measured on the shared tables, docs/measurements/2026-11-23.md. PARTS: the folds are
 * judged in at most so many parts. BLOCKS: of each fold, left out one after another. */
enum { STEPS = 25, BAGS = 4, PARTS = ADJUST_PARTS, BLOCKS = 8, FOLDS = PREDICTIONS_MOST_FOLDS };

struct blending {
    const struct blend_in *in;
    const struct predictions *first;
    /* [held.n][outputs] nested predictions of the ensemble and of the best single model; pool: of the
     * other rule, NULL = there is none */
    float *ensemble, *single, *pool;
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

/* The error of a fold's gain of p over q, by the jackknife. */
static double gain_error(struct blending *b, const float *p, const float *q, int fold)
{
    double parts[BLOCKS], mean = 0, square = 0, rest = 0;
    int n = 0;

    for (int k = 0; k < BLOCKS; k++) {
        parts[n] = fold_gain(b, p, q, fold, k, &rest);
        if (!isnan(parts[n]))
            mean += parts[n++];
    }
    for (int k = 0; k < n; k++)
        square += (parts[k] - mean / n) * (parts[k] - mean / n);
    return n > 1 ? sqrt(square * (n - 1) / n) : 0;
}

/* How much better p is than q, with the error of that. */
static double gain_of(struct blending *b, const float *p, const float *q, double *se)
{
    struct folds folds = { .err_together = b->in->err_together };
    double size = 0;

    for (int f = 0; f < b->first->folds; f++) {
        double gain = fold_gain(b, p, q, f, -1, &size);
        if (!isnan(gain))
            folds_add(&folds, size, gain, gain_error(b, p, q, f));
    }
    *se = folds_error(&folds);
    return folds_mean(&folds);
}

static bool is_clear(double gain, double se, double margin)
{
    return gain > 0 && gain > margin * se;
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
    int64_t every = adjust_every(f->held.n, f->outputs), n = 0;

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
                                      .every = every,
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

/* Weights by the rows of all parts but one; -1 = of all. */
static int weigh_without(const struct blending *b, enum blend_rule rule, int part, double *weight,
                         struct err *err)
{
    if (rule == BLEND_MEAN)
        return select_without(b, part, weight, err);
    for (int64_t i = 0; i < b->first->held.n; i++)
        b->use[i] = part_of(b, b->first->held.fold[i]) != part;
    const struct pool_fit f = { .models = b->in->models,
                                .n_models = b->in->n,
                                .use = b->use,
                                .most = b->in->most,
                                .seed = b->in->seed };
    return pool_fit(&f, weight, err);
}

/* The models' predictions of a row as one, in the order of the models. */
static void mix(const struct blending *b, enum blend_rule rule, const double *weight, int64_t row,
                float *out)
{
    double logs[PREDICTIONS_MOST_CLASSES] = { 0 };
    int k = b->first->outputs;

    for (int m = 0; m < b->in->n && rule == BLEND_POOL; m++) {
        if (weight[m] != 0)
            pool_add(weight[m], b->in->models[m]->held.p + row * k, k, 1, logs);
    }
    if (rule == BLEND_POOL)
        pool_end(logs, k, 1, out);
    for (int o = 0; o < k && rule == BLEND_MEAN; o++) {
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

/* Fills b->single part by part. */
static int nest_single(struct blending *b, struct err *err)
{
    const struct predictions *f = b->first;
    double sizes[FOLDS] = { 0 };
    size_t row = (size_t)f->outputs;
    int best[ADJUST_PARTS];

    if (score_models(b, sizes, err) < 0)
        return -1;
    for (int part = 0; part < MIN(f->folds, PARTS); part++)
        best[part] = best_without(b, sizes, part);
    for (int64_t i = 0; i < f->held.n; i++)
        memcpy(b->single + (size_t)i * row,
               b->in->models[best[part_of(b, f->held.fold[i])]]->held.p + (size_t)i * row,
               row * sizeof(float));
    return 0;
}

/* Fills p[held.n][outputs] part by part with what models together predict by the rule. */
static int nest(struct blending *b, enum blend_rule rule, float *p, struct err *err)
{
    const struct predictions *f = b->first;
    double weight[GREEDY_MOST_MODELS];

    for (int part = 0; part < MIN(f->folds, PARTS); part++) {
        if (weigh_without(b, rule, part, weight, err) < 0)
            return -1;
        for (int64_t i = 0; i < f->held.n; i++) {
            if (part_of(b, f->held.fold[i]) == part)
                mix(b, rule, weight, i, p + i * f->outputs);
        }
    }
    return 0;
}

/* What the members predict for the test rows together. Where their mean is calibrated, their powers do
 * not count, as in the model file (ml/model/artifact.h). */
static int test_mix(const struct blending *b, const struct blend *out, float *p, struct err *err)
{
    const struct predicted_rows *t = &b->first->test;
    size_t values = (size_t)(t->n * b->first->outputs);
    double *sum = mem_try_zalloc((values + 1) * sizeof *sum);

    if (!sum)
        return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)t->n);
    for (int m = 0; m < b->in->n; m++) {
        struct adjust bag = { 0 };
        if (out->weight[m] == 0)
            continue;
        memcpy(p, b->in->models[m]->test.p, values * sizeof *p);
        if (out->rule == BLEND_POOL || !out->adjust.calibrates)
            adjust_of_power(b->in->models[m]->power, b->first->outputs, &bag);
        adjust_probabilities(&bag, p, t->n);
        adjust_fini(&bag);
        if (out->rule == BLEND_POOL)
            pool_add(out->weight[m], p, b->first->outputs, t->n, sum);
        for (size_t i = 0; i < values && out->rule == BLEND_MEAN; i++)
            sum[i] += out->weight[m] * (double)p[i];
    }
    if (out->rule == BLEND_POOL)
        pool_end(sum, b->first->outputs, t->n, p);
    for (size_t i = 0; i < values && out->rule == BLEND_MEAN; i++)
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
    if (test_mix(b, out, p, err) < 0) {
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
    bool is_few = b->first->held.n < GREEDY_FEW_ROWS;

    if (is_few && !b->in->is_holdout)
        return out->gain > BLEND_FEW_MARGIN * out->gain_se;
    return is_clear(out->gain, out->gain_se, BLEND_MARGIN);
}

static bool is_enough_for_refit(const struct blending *b, const struct blend *out)
{
    bool is_few = b->first->held.n < GREEDY_FEW_ROWS;
    double loss = metric_info(b->first->metric)->larger_is_better ? 1 - out->single : out->single;

    return is_few || !b->in->is_holdout || out->gain >= BLEND_REFIT_GAIN * loss;
}

/* Whether the pool is better than these predictions beyond doubt. */
static bool pool_beats(struct blending *b, const float *p)
{
    double se, gain = gain_of(b, b->pool, p, &se);

    return is_clear(gain, se, BLEND_POOL_MARGIN);
}

/* Takes the pool in the place of the mean where it is better than that and than the best single model,
 * each adjusted as it would ship. */
static int try_pool(struct blending *b, struct blend *out, struct err *err)
{
    struct adjust adjust = { 0 };

    if (nest(b, BLEND_POOL, b->pool, err) < 0 || adjust_held(b, b->pool, &adjust, err) < 0) {
        adjust_fini(&adjust);
        return -1;
    }
    if (!pool_beats(b, b->ensemble) || !pool_beats(b, b->single)) {
        adjust_fini(&adjust);
        return 0;
    }
    float *mean = b->ensemble;
    b->ensemble = b->pool;
    b->pool = mean;
    adjust_fini(&out->adjust);
    out->adjust = adjust;
    out->rule = BLEND_POOL;
    return 0;
}

static int blend(struct blending *b, struct blend *out, struct err *err)
{
    struct adjust single = { 0 };
    int rc = nest_single(b, err);

    if (rc == 0)
        rc = adjust_held(b, b->single, &single, err);
    adjust_fini(&single);
    if (rc == 0)
        rc = nest(b, BLEND_MEAN, b->ensemble, err);
    if (rc == 0)
        rc = adjust_held(b, b->ensemble, &out->adjust, err);
    if (rc == 0 && b->pool)
        rc = try_pool(b, out, err);
    if (rc < 0 || weigh_without(b, out->rule, -1, out->weight, err) < 0)
        return -1;
    for (int m = 0; m < b->in->n; m++)
        out->members += out->weight[m] != 0;
    mean_score(b, b->ensemble, &out->score, &out->se);
    mean_score(b, b->single, &out->single, &out->single_se);
    out->gain = gain_of(b, b->ensemble, b->single, &out->gain_se);
    out->is_better = out->members > 1 && is_enough(b, out);
    out->beats_refit = out->is_better && is_enough_for_refit(b, out);
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
    bool is_pooled = f->task != ML_REGRESSION && in->n > 1;
    b.pool = is_pooled ? mem_try_alloc(floats * sizeof *b.pool) : NULL;
    b.p = mem_try_alloc(floats * sizeof *b.p);
    b.y = mem_try_alloc(rows * sizeof *b.y);
    b.weight = mem_try_alloc(rows * sizeof *b.weight);
    b.use = mem_try_alloc(rows);
    b.scores = mem_array((size_t)in->n * (size_t)f->folds, sizeof *b.scores);
    if (!b.ensemble || !b.single || (is_pooled && !b.pool) || !b.p || !b.y || !b.weight || !b.use)
        err_set(err, ERR_NOMEM, "no memory to combine %d models of %zu rows", in->n, rows);
    else
        rc = blend(&b, out, err);
    mem_try_free(b.ensemble);
    mem_try_free(b.single);
    mem_try_free(b.pool);
    mem_try_free(b.p);
    mem_try_free(b.y);
    mem_try_free(b.weight);
    mem_try_free(b.use);
    mem_free(b.scores);
    return rc;
}
