/* linear.c - the linear family behind the lane interface (model.h): the penalty path of a lane and
 * its predictions.
 *
 * Training, held-out rows and inference use the same product (ml/cpu/glm.h), so their scores agree
 * bit for bit. One thread trains the lanes of a trial, one lane after another. Called through
 * model_linear. */
#include "ml/linear/linear.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"
#include "ml/family/family_params.h"
#include "ml/family/family_tables.h"
#include "ml/linear/linear_file.h"
#include "ml/model/models.h"
#include "ml/model/split.h"

#include <math.h>
#include <string.h>

/* With fewer rows than columns the products of the columns that take part cost less than all. */
bool linear_uses_gram(const struct linear_lane *l)
{
    if (l->l1_ratio > 0 && l->r.n_train < l->cols)
        return false;
    return l->task == ML_REGRESSION &&
           l->cols <= (l->l1_ratio > 0 ? L1_GRAM_COLS : LINEAR_GRAM_COLS);
}

int64_t linear_weights(const struct linear_lane *l)
{
    return (int64_t)(l->cols + 1) * l->lanes;
}

/* ---- lanes ---- */

static void lane_free(struct linear_lane *l)
{
    if (!l)
        return;
    fold_rows_fini(&l->r);
    mem_try_free(l->label);
    mem_try_free(l->target);
    mem_try_free(l->weight);
    mem_try_free(l->z);
    mem_try_free(l->gram);
    for (size_t i = 0; i < ARRAY_LEN(l->path); i++)
        mem_try_free(l->path[i]);
    lbfgs_fini(&l->opt);
    l1_free(l->l1);
    gram_set_free(l->grams);
    mem_free(l);
}

/* A power of two above the largest |target| of the rows in folds. Dividing by it is exact, because
 * it changes the exponent only. */
static double target_unit(const struct ml_data *d)
{
    double top = 0;
    int exponent;

    for (int64_t i = 0; i < d->rows; i++)
        top = d->fold[i] < SPLIT_NONE ? fmax(top, fabs(d->y[i])) : top;
    frexp(top, &exponent);
    return ldexp(1.0, exponent < -1000 ? -1000 : exponent > 1023 ? 1023 : exponent);
}

/* Sets the targets of the training rows: class numbers, or standardised numbers. With a Gram matrix
 * the targets are read from the table instead, in units of l->unit. */
static int targets_take(const struct ml_data *d, struct linear_lane *l, struct err *err)
{
    size_t n = (size_t)l->r.n_train;

    if (l->task != ML_REGRESSION) {
        l->label = mem_try_alloc(n * sizeof *l->label);
        for (size_t i = 0; l->label && i < n; i++)
            l->label[i] = (int32_t)d->y[l->r.train[i]];
        l->bytes += (int64_t)(n * sizeof *l->label);
    } else if (linear_uses_gram(l)) {
        l->mean = 0;
        l->spread = l->unit = target_unit(d);
        return 0;
    } else {
        target_scale(d, &l->r, &l->mean, &l->spread);
        l->target = mem_try_alloc(n * sizeof *l->target);
        for (size_t i = 0; l->target && i < n; i++)
            l->target[i] = d->y[l->r.train[i]] / l->spread - l->mean / l->spread;
        l->bytes += (int64_t)(n * sizeof *l->target);
    }
    if (!l->label && !l->target)
        return err_set(err, ERR_NOMEM, "linear: no memory for %zu targets", n);
    return 0;
}

static int weights_take(const struct ml_data *d, struct linear_lane *l, struct err *err)
{
    size_t n = (size_t)l->r.n_train;

    l->n = (double)n;
    if (!d->weight)
        return 0;
    l->weight = mem_try_alloc(n * sizeof *l->weight);
    if (!l->weight)
        return err_set(err, ERR_NOMEM, "linear: no memory for %zu weights", n);
    l->n = 0;
    for (size_t i = 0; i < n; i++)
        l->n += l->weight[i] = d->weight[l->r.train[i]];
    l->bytes += (int64_t)(n * sizeof *l->weight);
    return 0;
}

static int linear_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    struct linear_lane *l = mem_zalloc(sizeof *l);

    l->task = d->spec.task;
    l->outputs = d->n_outputs;
    l->lanes = glm_lanes(l->outputs);
    l->x = ml_data_dense(d, lane->fold, err);
    l->spread = 1;
    l->l1_ratio = linear_l1_ratio(lane->params);
    l->is_relaxed = linear_is_relaxed(lane->params);
    if (!l->x || fold_rows_init(&l->r, d, lane->fold, lane->share, err) < 0)
        goto fail;
    l->cols = l->x->cols;
    l->bytes =
        (int64_t)sizeof *l + (l->r.n_train + l->r.n_held) * 4 + (int64_t)GLM_TILE * l->lanes * 8;
    l->z = mem_try_alloc((size_t)(GLM_TILE * l->lanes) * sizeof *l->z);
    if (!l->z) {
        err_set(err, ERR_NOMEM, "linear: no memory");
        goto fail;
    }
    if (targets_take(d, l, err) < 0 || weights_take(d, l, err) < 0)
        goto fail;
    if (!linear_uses_gram(l) && l->l1_ratio == 0) {
        if (lbfgs_init(&l->opt, linear_weights(l), err) < 0)
            goto fail;
        l->bytes += linear_weights(l) * (5 + 2 * LBFGS_MEMORY) * 8;
    }
    lane->state = l;
    return 0;
fail:
    lane_free(l);
    return -1;
}

static void linear_close(struct lane *lane)
{
    lane_free(lane->state);
    lane->state = NULL;
}

static int64_t linear_held_bytes(const struct lane *lane)
{
    const struct linear_lane *l = lane->state;

    return l->bytes + (l->l1 ? l->l1->bytes + l->l1->newton.bytes : 0) +
           (l->grams ? (l->grams->parts * (l->cols + 2) + GLM_TILE) * l->grams->wide * 8 : 0);
}

/* ---- training ---- */

/* Memory for the weights of a point of the path, filled with the solution of the point before. The
 * first point starts from zero, because starting its intercept at the base rate would save few
 * iterations. */
int linear_step_start(struct linear_lane *l, int step, struct err *err)
{
    int64_t n = linear_weights(l);

    l->path[step] = mem_try_zalloc((size_t)n * sizeof(double));
    if (!l->path[step])
        return err_set(err, ERR_NOMEM, "linear: no memory for %lld weights", (long long)n);
    l->bytes += n * 8;
    if (step > 0)
        memcpy(l->path[step], l->path[step - 1], (size_t)n * sizeof(double));
    return 0;
}

/* x * 0 is 0 for finite x, and NaN for infinities and NaN. */
static bool is_finite(const double *w, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += w[i] * 0.0;
    return sum == 0.0;
}

/* A point with an L1 penalty. A lane that was loaded finds out here whether its path has ended. */
static int l1_step(struct linear_lane *l, int step, const struct ml_stop *stop, struct err *err)
{
    const double *from = step ? l->path[step - 1] : NULL;

    if (!l->l1) {
        l->l1 = l1_new(l, l->l1_ratio, l->is_relaxed, err);
        if (!l->l1)
            return -1;
        l->l1->is_full = step > 1 && l1_is_end(l->l1, l->path[step - 2], from);
    }
    return l1_point(l->l1, l, linear_path_alpha(step + 1), step ? linear_path_alpha(step) : 1, from,
                    l->path[step], stop, err);
}

/* A point with an L2 penalty alone. */
static int l2_step(struct linear_lane *l, int step, const struct ml_stop *stop, struct err *err)
{
    double c = linear_path_c(step + 1);

    if (linear_uses_gram(l))
        return ridge_solve(l, c, l->path[step], err) < 0 ? -1 : 1;
    if (!l->opt.is_started)
        lbfgs_start(&l->opt, l->path[step]);
    if (!lbfgs_run(&l->opt, l, c, stop))
        return 0;
    memcpy(l->path[step], l->opt.w, (size_t)l->opt.size * sizeof(double));
    return 1;
}

/* Fits one point of the path. 1 = done, 0 = `stop` asked it to pause, -1 = failed. */
static int lane_step(struct linear_lane *l, int step, const struct ml_stop *stop, struct err *err)
{
    if (ml_stop_now(stop))
        return 0;
    if (!l->path[step] && linear_step_start(l, step, err) < 0)
        return -1;
    int rc = l->l1_ratio > 0 ? l1_step(l, step, stop, err) : l2_step(l, step, stop, err);
    if (rc > 0 && !is_finite(l->path[step], linear_weights(l)))
        return err_set(err, ERR_DIVERGED, "linear: the fit diverged");
    return rc;
}

/* Adds up the Gram matrices by fold if a lane needs them, once for all lanes of the call, and gives
 * every lane its own. 1 = done, 0 = `stop` asked it to pause, -1 = no memory. */
static int grams_ready(struct ml_data *d, struct lane *lanes, int n, const struct ml_stop *stop,
                       struct err *err)
{
    struct gram_set *g = NULL;
    struct linear_lane *needy = NULL;

    if (n > 1 && prep_is_by_fold(d->prep)) {
        /* the rows of each fold differ in some columns */
        int rc = 1;
        for (int i = 0; i < n && rc == 1; i++)
            rc = grams_ready(d, &lanes[i], 1, stop, err);
        return rc;
    }

    for (int i = 0; i < n; i++) {
        struct linear_lane *l = lanes[i].state;
        g = l->grams ? l->grams : g;
        if (linear_uses_gram(l) && !l->gram && !needy)
            needy = l;
    }
    if (!needy)
        return 1;
    if (!g)
        g = needy->grams = gram_set_new(d, needy->cols, lanes[0].share, err);
    if (!g)
        return -1;
    if (!gram_set_run(g, d, needy, stop))
        return 0;
    for (int i = 0; i < n; i++) {
        struct linear_lane *l = lanes[i].state;
        if (linear_uses_gram(l) && !l->gram && ridge_take_gram(g, d, lanes[i].fold, l, err) < 0)
            return -1;
    }
    return 1;
}

static int linear_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                          const struct ml_stop *stop, struct err *err)
{
    int rc = grams_ready(d, lanes, n, stop, err);

    for (int i = 0; i < n && rc > 0; i++) {
        struct lane *lane = &lanes[i];
        int64_t most = linear_path_steps(lane->params),
                target = MIN(lane->steps_done + steps, most);
        if (lane->max_steps)
            target = MIN(target, lane->max_steps);
        while (!lane->failed && !lane->is_done && lane->steps_done < target) {
            int got = lane_step(lane->state, (int)lane->steps_done, stop, &lane->why);
            if (got == 0)
                return 0;
            lane->failed = got < 0;
            lane->steps_done += got > 0;
        }
        lane->is_done = lane->is_done ||
                        lane->steps_done >= (lane->max_steps ? MIN(lane->max_steps, most) : most);
    }
    return rc < 0 ? -1 : 0;
}

/* ---- predictions ---- */

/* What prediction needs to know of a lane, or of its bytes. */
struct predictor {
    enum ml_task task;
    int outputs, lanes, cols;
    double mean, spread;
    double *w;
};

/* Scores of n rows, [n][lanes], to predictions, [n][outputs]; z is overwritten. */
static void scores_out(const struct predictor *p, double *z, int64_t n, float *out)
{
    if (p->task == ML_REGRESSION) {
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(p->mean + p->spread * z[i]);
        return;
    }
    glm_probabilities(z, n, p->outputs, p->lanes);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < p->outputs; k++)
            out[i * p->outputs + k] = (float)z[i * p->lanes + k];
    }
}

/* Predicts the rows of x named in `rows`; NULL = the first n. */
static int predict_rows(const struct predictor *p, const struct prep_dense *x, const int32_t *rows,
                        int64_t n, float *out, struct err *err)
{
    double *z = mem_try_alloc((size_t)(GLM_TILE * p->lanes) * sizeof *z);

    if (!z)
        return err_set(err, ERR_NOMEM, "linear: no memory for predictions");
    for (int64_t from = 0; from < n; from += GLM_TILE) {
        struct glm_rows r = { x->x + (rows ? 0 : from * x->stride),
                              x->stride,
                              p->cols,
                              p->lanes,
                              rows ? rows + from : NULL,
                              MIN(GLM_TILE, n - from) };
        glm_scores(&r, p->w, z);
        scores_out(p, z, r.n, out + from * p->outputs);
    }
    mem_try_free(z);
    return 0;
}

static int linear_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps,
                                  float *out, struct err *err)
{
    const struct linear_lane *l = lane->state;

    (void)d;
    CHECK(steps >= 1 && steps <= lane->steps_done);
    struct predictor p = { l->task, l->outputs, l->lanes,          l->cols,
                           l->mean, l->spread,  l->path[steps - 1] };
    return predict_rows(&p, l->x, l->r.held, l->r.n_held, out, err);
}

static int linear_predict_held(struct ml_data *d, const struct lane *lane, float *out,
                               struct err *err)
{
    return linear_predict_held_at(d, lane, lane->steps_done, out, err);
}

/* ---- inference ---- */

static void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    mem_try_free(p->w);
    mem_free(p);
}

static struct predictor *predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err)
{
    struct predictor *p = mem_zalloc(sizeof *p);
    struct linear_head h = { 0 };

    *p = (struct predictor){
        .task = task, .outputs = n_outputs, .lanes = glm_lanes(n_outputs), .cols = prep_width(prep)
    };
    int64_t n = (int64_t)(p->cols + 1) * p->lanes;
    p->w = mem_try_alloc((size_t)n * sizeof *p->w);
    if (!p->w) {
        err_set(err, ERR_NOMEM, "linear: no memory for %lld weights", (long long)n);
        goto fail;
    }
    if (linear_head_load(in, n_outputs, p->cols, &h, err) < 0)
        goto fail;
    if (h.steps == 0) {
        err_set(err, ERR_ARG, "linear: a model without weights");
        goto fail;
    }
    p->mean = h.mean;
    p->spread = h.spread;
    /* the weights of the last step are the model */
    for (uint32_t s = 0; s < h.steps; s++) {
        if (linear_weights_load(in, &h, p->w, n, n_outputs, p->lanes, err) < 0)
            goto fail;
    }
    return p;
fail:
    predictor_free(p);
    return NULL;
}

static int predict(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err)
{
    for (int64_t at = 0; at < n; at += GLM_TILE) {
        int64_t m = MIN(GLM_TILE, n - at);
        struct prep_dense x = { 0 };
        if (prep_dense_make(v, from + at, m, &x, err) < 0)
            return -1;
        int rc = predict_rows(p, &x, NULL, m, out + at * p->outputs, err);
        prep_dense_fini(&x);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* The importance of an input: the sum of |weight| over its dense columns. Dense columns are
 * standardised, so weights of different columns can be compared. */

static int importance(const struct predictor *p, const struct prep *prep, double *out,
                      struct err *err)
{
    (void)err;
    for (int i = 0; i < prep_inputs(prep); i++) {
        int at = 0, n = prep_dense_of(prep, i, &at);
        for (int64_t w = (int64_t)at * p->lanes; w < (int64_t)(at + n) * p->lanes; w++)
            out[i] += fabs(p->w[w] * p->spread);
    }
    return 0;
}

static void weights(const struct predictor *p, double *out)
{
    for (int k = 0; k < p->outputs; k++) {
        for (int j = 0; j <= p->cols; j++)
            *out++ = p->spread * p->w[(int64_t)j * p->lanes + k] + (j == p->cols ? p->mean : 0);
    }
}

/* SHAP values of one row for output k, one for each input, then the base value, which is the score
 * of the mean row: its dense columns are all 0. */
static void explain_row(const struct predictor *p, const struct prep *prep, const float *x, int k,
                        double *out)
{
    for (int i = 0; i < prep_inputs(prep); i++) {
        int at = 0, n = prep_dense_of(prep, i, &at);
        double sum = 0;
        for (int j = at; j < at + n; j++)
            sum += (double)x[j] * p->w[(int64_t)j * p->lanes + k];
        *out++ = p->spread * sum;
    }
    *out = p->mean + p->spread * p->w[(int64_t)p->cols * p->lanes + k];
}

/* SHAP values of a linear model, under the assumption that its columns are independent:
 * w (x - mean), summed over the dense columns of an input. */
static int explain(const struct predictor *p, const struct prep *prep,
                   const struct explain_rows *rows, double *out, struct err *err)
{
    int64_t width = (int64_t)prep_inputs(prep) + 1;

    for (int64_t at = 0; at < rows->n; at += GLM_TILE) {
        int64_t m = MIN(GLM_TILE, rows->n - at);
        struct prep_dense x = { 0 };
        if (prep_dense_make(rows->v, rows->from + at, m, &x, err) < 0)
            return -1;
        for (int64_t i = 0; i < m; i++)
            explain_row(p, prep, x.x + i * x.stride, rows->of[at + i], out + (at + i) * width);
        prep_dense_fini(&x);
    }
    return 0;
}

static enum explain_link link_of(const struct predictor *p)
{
    return p->task == ML_BINARY ? EXPLAIN_LOG_ODDS : EXPLAIN_SAME;
}

const struct model_ops model_linear = {
    .family = &family_linear,
    .open = linear_open,
    .close = linear_close,
    .advance = linear_advance,
    .predict_held = linear_predict_held,
    .predict_held_at = linear_predict_held_at,
    .save = linear_save,
    .load = linear_load,
    .bytes = linear_held_bytes,
    .predictor_load = predictor_load,
    .predictor_free = predictor_free,
    .predict = predict,
    .importance = importance,
    .weights = weights,
    .explain = explain,
    .explain_link = link_of,
};
