/* boost.c - the boost family behind the lane interface (model.h): opens lanes on the shared bins,
 * runs rounds, predicts held-out rows from scores that are kept up to date, saves and loads
 * forests, and predicts from saved bytes.
 *
 * The score of a row is always base + the values of its leaves in the order of the trees, one float
 * addition each, so training, loading and inference give equal bits. One thread trains the lanes of
 * a trial, one lane after another. Called through model_boost. */
#include "ml/boost/boost.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/family/family_params.h"
#include "ml/family/family_tables.h"
#include "ml/model/models.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* BOOST_FORMAT: of the model bytes that are written; older ones are read. CHUNK: rows that are
 * predicted at a time, so that the scores of a chunk stay in the cache. */
enum { BOOST_FORMAT = 3, FINEST_BINS = 255, CHUNK = 2048 };

/* ---- lanes ---- */

/* v: the trial's parameters, by enum; level: the rung of the ladder, on which the learning rate
 * depends. An l1 of at most 1e-4, the lower end of its logarithmic range, stands for none. */
static void params_read(const double *v, int level, struct boost_params *p)
{
    static const int bins[] = { 63, 127, FINEST_BINS };

    *p = (struct boost_params){
        .learning_rate = boost_rate_at(v, level),
        .leaves = (int)v[BOOST_LEAVES],
        .depth = (int)v[BOOST_DEPTH],
        .min_leaf = (int)v[BOOST_MIN_LEAF],
        .row_sample = v[BOOST_ROW_SAMPLE],
        .col_sample = v[BOOST_COL_SAMPLE],
        .col_level = v[BOOST_COL_LEVEL],
        .l1 = v[BOOST_L1] > 1e-4 ? v[BOOST_L1] : 0.0,
        .l2 = v[BOOST_L2],
        .min_hessian = v[BOOST_MIN_HESSIAN],
        .max_bins = bins[(int)v[BOOST_BINS]],
        .is_depth_wise = v[BOOST_GROW] > 0,
        .is_random = v[BOOST_RANDOM] > 0,
        .cat_smooth = v[BOOST_CAT_SMOOTH],
        .max_onehot = (int)v[BOOST_MAX_ONEHOT],
    };
}

static void lane_free(struct boost_lane *l)
{
    if (!l)
        return;
    mem_try_free(l->f);
    mem_try_free(l->y);
    mem_try_free(l->w);
    fold_rows_fini(&l->r);
    mem_free(l->base);
    forest_fini(&l->forest);
    boost_work_free(l->work);
    boost_device_leave(l);
    mem_free(l);
}

static void scores_reset(struct boost_lane *l)
{
    for (int k = 0; k < l->outputs; k++) {
        for (int64_t i = 0; i < l->rows; i++)
            l->f[k * l->rows + i] = (float)l->base[k];
    }
}

static int boost_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    struct boost_lane *l = mem_zalloc(sizeof *l);
    size_t rows = (size_t)d->rows;

    params_read(lane->params, lane->level, &l->p);
    l->task = d->spec.task;
    l->seed = rng_mix(rng_mix(lane->seed, 0x626f6f7374ull), (uint64_t)lane->fold + 1);
    l->rows = d->rows;
    l->monotone = d->monotone;
    l->outputs = l->forest.outputs = d->n_outputs;
    l->fold = lane->fold;
    l->fine = ml_data_bins(d, l->fold, FINEST_BINS, err);
    l->base = mem_array((size_t)l->outputs, sizeof *l->base);
    l->f = mem_try_alloc(rows * (size_t)l->outputs * sizeof *l->f);
    l->y = mem_try_alloc(rows * sizeof *l->y);
    l->w = mem_try_alloc(rows * sizeof *l->w);
    if (!l->fine || !ml_data_columns(d, l->fold, FINEST_BINS, err) ||
        fold_rows_init(&l->r, d, lane->fold, lane->share, err) < 0) {
        lane_free(l);
        return -1;
    }
    if (!l->f || !l->y || !l->w) {
        lane_free(l);
        return err_set(err, ERR_NOMEM, "boost: no memory for the scores of %" PRId64 " rows",
                       d->rows);
    }
    /* rows that are not for training have weight 0 and no target */
    memset(l->w, 0, rows * sizeof *l->w);
    memset(l->y, 0, rows * sizeof *l->y);
    for (int64_t i = 0; i < l->r.n_train; i++)
        l->w[l->r.train[i]] = (float)ml_data_weight(d, l->r.train[i]);
    l->is_weighted = d->weight != NULL;
    if (boost_loss_open(l, lane->params, d, err) < 0) {
        lane_free(l);
        return -1;
    }
    scores_reset(l);
    lane->state = l;
    return 0;
}

static void boost_close(struct lane *lane)
{
    lane_free(lane->state);
    lane->state = NULL;
}

static int64_t boost_held_bytes(const struct lane *lane)
{
    const struct boost_lane *l = lane->state;

    return (int64_t)sizeof *l + l->rows * (4 * l->outputs + 12) + l->r.n_held * 4 +
           l->forest.bytes + l->forest.n_trees * (int64_t)sizeof *l->forest.trees +
           (l->work ? l->work->bytes : 0) + boost_device_bytes(l->device);
}

static int64_t boost_model_bytes(const struct lane *lane)
{
    const struct boost_lane *l = lane->state;

    return l->forest.bytes;
}

/* ---- training ---- */

/* The bins that the lane trains on. */
static int lane_bins(struct ml_data *d, struct boost_lane *l, struct err *err)
{
    if (l->columns)
        return 0;
    l->bins = l->p.max_bins == FINEST_BINS ? l->fine : ml_data_bins(d, l->fold, l->p.max_bins, err);
    l->columns = l->bins ? ml_data_columns(d, l->fold, l->p.max_bins, err) : NULL;
    return l->columns ? 0 : -1;
}

/* The workspace of the trial: that of the lane that owns one, else a new one, which the first lane
 * that can train owns. NULL without an error: no lane can train. */
static struct boost_work *work_of(struct ml_data *d, struct lane *lanes, int n, struct err *err)
{
    struct boost_lane *first = NULL;

    for (int i = 0; i < n; i++) {
        struct boost_lane *l = lanes[i].state;
        if (l && l->work)
            return l->work;
        first = first || !l || lanes[i].failed ? first : l;
    }
    if (!first)
        return NULL;
    if (lane_bins(d, first, err) == 0)
        first->work = boost_work_new(first, first->bins, first->columns, err);
    return first->work;
}

/* Rounds until the lane has `target` steps. false = asked to stop; a half-done round stays in the
 * workspace. A lane that runs out of memory fails alone. */
static bool lane_advance(void *ctx, struct lane *lane, int64_t target, const struct ml_stop *stop)
{
    struct boost_work *wk = ctx;
    struct boost_lane *l = lane->state;

    /* each fold may have bins of its own */
    wk->bins = l->bins;
    wk->columns = l->columns;
    while (lane->steps_done < target) {
        if (ml_stop_now(stop))
            return false;
        int rc = boost_round(wk, l, lane->steps_done, stop);
        if (rc == 0)
            return false;
        if (rc < 0) {
            lane->failed = true;
            err_set(&lane->why, ERR_NOMEM, "boost: no memory for more trees");
            return true;
        }
        lane->steps_done++;
        l->f_version++;
    }
    lane->is_done = lane->max_steps && lane->steps_done >= lane->max_steps;
    return true;
}

static bool has_params_of(const struct lane *a, const struct lane *b)
{
    for (size_t i = 0; i < ARRAY_LEN(a->params); i++) {
        if (a->params[i] != b->params[i])
            return false;
    }
    return true;
}

/* Whether the lanes are folds of one trial. A workspace is made for the parameters of one trial, so
 * on the CPU lanes of several trials cannot advance in one call. */
static bool is_one_trial(const struct lane *lanes, int n)
{
    for (int i = 1; i < n; i++) {
        if (lanes[i].seed != lanes[0].seed || lanes[i].level != lanes[0].level ||
            !has_params_of(&lanes[i], &lanes[0]))
            return false;
    }
    return true;
}

static bool boost_fuses(const struct ml_data *d, const struct lane *lane)
{
    return lane->state && boost_device_suits(d, lane->state);
}

static int boost_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                         const struct ml_stop *stop, struct err *err)
{
    int on_device = boost_device_advance(d, lanes, n, steps, stop, err);

    if (on_device != 0 || !is_one_trial(lanes, n))
        return on_device >= 0 ? 0 : -1;
    struct boost_work *wk = work_of(d, lanes, n, err);
    if (!wk)
        return -1;
    for (int i = 0; i < n; i++) {
        if (lanes[i].state && !lanes[i].failed && lane_bins(d, lanes[i].state, err) < 0)
            return -1;
    }
    lanes_in_turn(lanes, n, wk->busy, steps, lane_advance, wk, stop);
    return 0;
}

/* ---- predictions ---- */

static int boost_predict_held(struct ml_data *d, const struct lane *lane, float *out,
                              struct err *err)
{
    const struct boost_lane *l = lane->state;
    float *f = mem_try_alloc((size_t)(CHUNK * l->outputs) * sizeof *f);

    (void)d;
    if (!f)
        return err_set(err, ERR_NOMEM, "boost: no memory for predictions");
    for (int64_t from = 0; from < l->r.n_held; from += CHUNK) {
        int64_t n = MIN(CHUNK, l->r.n_held - from);
        for (int k = 0; k < l->outputs; k++) {
            for (int64_t i = 0; i < n; i++)
                f[k * CHUNK + i] = l->f[k * l->rows + l->r.held[from + i]];
        }
        struct boost_scores s = { l->outputs, l->y_mean, l->y_scale, f, CHUNK };
        boost_loss_predict(l->loss, &s, n, out + from * l->outputs);
    }
    mem_try_free(f);
    return 0;
}

static int boost_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps,
                                 float *out, struct err *err)
{
    const struct boost_lane *l = lane->state;
    float *f = mem_try_alloc((size_t)l->rows * sizeof *f * (size_t)l->outputs);

    (void)d;
    CHECK(steps <= lane->steps_done);
    if (!f)
        return err_set(err, ERR_NOMEM, "boost: no memory for predictions");
    for (int k = 0; k < l->outputs; k++) {
        for (int64_t i = 0; i < l->r.n_held; i++)
            f[k * l->rows + l->r.held[i]] = (float)l->base[k];
    }
    for (int t = 0; t < steps * l->outputs; t++)
        tree_add(&l->forest.trees[t], l->fine->bins, l->fine->stride, l->r.held, l->r.n_held,
                 f + (t % l->outputs) * l->rows);
    /* The scores of held-out rows move to the front of each output. `held` is ascending, so this
     * never overwrites a score that is still to be read. */
    for (int k = 0; k < l->outputs; k++) {
        for (int64_t i = 0; i < l->r.n_held; i++)
            f[k * l->rows + i] = f[k * l->rows + l->r.held[i]];
    }
    for (int64_t from = 0; from < l->r.n_held; from += CHUNK) {
        struct boost_scores s = { l->outputs, l->y_mean, l->y_scale, f + from, l->rows };
        boost_loss_predict(l->loss, &s, MIN(CHUNK, l->r.n_held - from), out + from * l->outputs);
    }
    mem_try_free(f);
    return 0;
}

/* ---- bytes ---- */

static int boost_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err)
{
    const struct boost_lane *l = lane->state;

    CHECK(steps <= lane->steps_done);
    if (buf_put_u32(out, BOOST_FORMAT, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->outputs, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->fine->cols, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->loss, err) < 0 || buf_put_f64(out, l->y_mean, err) < 0 ||
        buf_put_f64(out, l->y_scale, err) < 0)
        return -1;
    for (int k = 0; k < l->outputs; k++) {
        if (buf_put_f64(out, l->base[k], err) < 0)
            return -1;
    }
    return forest_save(&l->forest, (int)steps * l->outputs, l->fine->cols, out, err);
}

/* The head of the model bytes. The caller sets the first three members to what it expects, and
 * head_load sets the rest. */
struct head {
    enum ml_task task;
    int outputs, cols;
    enum boost_loss loss;
    double mean, scale;
};

/* Reads and checks the head, for training (boost_load) and inference (predictor_load). base gets
 * `outputs` doubles. Formats 1 and 2 did not name the loss; they had only the default one of the
 * task. Returns the format, or -1. */
static int head_load(struct view *in, struct head *h, double *base, struct err *err)
{
    uint32_t format = 0, k = 0, c = 0, loss = boost_loss_auto(h->task, METRIC_RMSE);

    if (view_u32(in, &format, err) < 0)
        return -1;
    if (format < 1 || format > BOOST_FORMAT)
        return err_set(err, ERR_VERSION, "boost: format %u, this program reads 1 to %d", format,
                       BOOST_FORMAT);
    if (view_u32(in, &k, err) < 0 || view_u32(in, &c, err) < 0 ||
        (format > 2 && view_u32(in, &loss, err) < 0) || view_f64(in, &h->mean, err) < 0 ||
        view_f64(in, &h->scale, err) < 0)
        return -1;
    if (k != (uint32_t)h->outputs || c != (uint32_t)h->cols)
        return err_set(err, ERR_ARG,
                       "boost: a model of %u outputs and %u columns, expected %d and %d", k, c,
                       h->outputs, h->cols);
    if (loss >= BOOST_LOSSES || !boost_loss_suits((enum boost_loss)loss, h->task))
        return err_set(err, ERR_ARG, "boost: loss %u does not suit the task", loss);
    h->loss = (enum boost_loss)loss;
    for (int i = 0; i < h->outputs; i++) {
        if (view_f64(in, &base[i], err) < 0)
            return -1;
        if (!isfinite(base[i]))
            return err_set(err, ERR_ARG, "boost: a base score is not a number");
    }
    if (!isfinite(h->mean) || !isfinite(h->scale))
        return err_set(err, ERR_ARG, "boost: target scale is not a number");
    return (int)format;
}

/* Continues a lane from saved bytes: the trees are read, and the scores of all rows are computed
 * anew from them. */
static int boost_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err)
{
    struct boost_lane *l = lane->state;
    struct head h = { .task = l->task, .outputs = l->outputs, .cols = l->fine->cols };

    (void)d;
    forest_fini(&l->forest);
    l->forest.outputs = l->outputs;
    if (l->work && l->work->busy == l)
        l->work->busy = NULL;
    int format = head_load(in, &h, l->base, err);
    if (format < 0)
        return -1;
    if (h.loss != l->loss)
        return err_set(err, ERR_ARG, "boost: a model of another loss");
    l->y_mean = h.mean;
    l->y_scale = h.scale;
    if (forest_load(&l->forest, l->outputs, l->fine->cols, format, in, err) < 0)
        return -1;
    scores_reset(l);
    for (int t = 0; t < l->forest.n_trees; t++)
        boost_scores_add(l, &l->forest.trees[t], l->f + (t % l->outputs) * l->rows);
    l->f_version++;
    lane->steps_done = l->forest.n_trees / l->outputs;
    lane->is_done = false;
    return 0;
}

/* ---- inference ---- */

/* A chunk of at least so many rows is predicted column by column: laying a tree out for that costs
 * about as much as walking this many rows one by one. */
enum { WIDE_FROM = 128 };

/* A loaded model, for inference. */
struct predictor {
    enum boost_loss loss;
    int outputs;
    double mean, scale, *base;
    struct boost_forest forest;
};

static void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    mem_free(p->base);
    forest_fini(&p->forest);
    mem_free(p);
}

static struct predictor *predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err)
{
    struct predictor *p = mem_zalloc(sizeof *p);
    struct head h = { .task = task, .outputs = n_outputs, .cols = prep_inputs(prep) };

    p->outputs = n_outputs;
    p->base = mem_array((size_t)n_outputs, sizeof *p->base);
    int format = head_load(in, &h, p->base, err);
    if (format < 0 || forest_load(&p->forest, n_outputs, h.cols, format, in, err) < 0) {
        predictor_free(p);
        return NULL;
    }
    p->loss = h.loss;
    p->mean = h.mean;
    p->scale = h.scale;
    return p;
}

static int predict(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err)
{
    float *f = mem_try_alloc((size_t)(CHUNK * p->outputs) * sizeof *f);
    int rc = f ? 0 : err_set(err, ERR_NOMEM, "boost: no memory for predictions");

    for (int64_t at = 0; at < n && rc == 0; at += CHUNK) {
        int64_t m = MIN(CHUNK, n - at);
        struct prep_bins b = { 0 };
        if (prep_bins_make(v, from + at, m, &b, err) < 0 || prep_bins_columns(&b, err) < 0) {
            prep_bins_fini(&b);
            rc = -1;
            break;
        }
        for (int k = 0; k < p->outputs; k++) {
            for (int64_t i = 0; i < m; i++)
                f[k * CHUNK + i] = (float)p->base[k];
        }
        for (int t = 0; t < p->forest.n_trees; t++) {
            const struct tree *tree = &p->forest.trees[t];
            float *to = f + (t % p->outputs) * CHUNK;
            if (m >= WIDE_FROM && tree->n_nodes <= TREE_WIDE_NODES)
                tree_add_columns(tree, b.columns, m, m, to);
            else
                tree_add(tree, b.bins, b.stride, NULL, m, to);
        }
        struct boost_scores s = { p->outputs, p->mean, p->scale, f, CHUNK };
        boost_loss_predict(p->loss, &s, m, out + at * p->outputs);
        prep_bins_fini(&b);
    }
    mem_try_free(f);
    return rc;
}

/* ---- explanation ---- */

/* Whether the target was standardised, so that a prediction is mean + scale * score. The score is
 * base + the values of the leaves. */
static bool is_scaled(const struct predictor *p)
{
    return boost_loss_suits(p->loss, ML_REGRESSION) && p->loss != BOOST_POISSON;
}

static int importance(const struct predictor *p, const struct prep *prep, double *out,
                      struct err *err)
{
    (void)prep;
    return boost_gains(&p->forest, is_scaled(p) ? p->scale * p->scale : 1.0, out, err);
}

static int explain(const struct predictor *p, const struct prep *prep,
                   const struct explain_rows *rows, double *out, struct err *err)
{
    double target = p->mean + p->scale * p->base[0];

    return is_scaled(p) ? boost_shap(&p->forest, &target, p->scale, prep, rows, out, err)
                        : boost_shap(&p->forest, p->base, 1.0, prep, rows, out, err);
}

static enum explain_link link_of(const struct predictor *p)
{
    return p->loss == BOOST_LOGISTIC  ? EXPLAIN_LOG_ODDS
           : p->loss == BOOST_POISSON ? EXPLAIN_LOG
                                      : EXPLAIN_SAME;
}

const struct model_ops model_boost = {
    .family = &family_boost,
    .open = boost_open,
    .close = boost_close,
    .advance = boost_advance,
    .fuses = boost_fuses,
    .predict_held = boost_predict_held,
    .predict_held_at = boost_predict_held_at,
    .save = boost_save,
    .load = boost_load,
    .bytes = boost_held_bytes,
    .model_bytes = boost_model_bytes,
    .file_share = 0.5,
    .load_share = 1.05,
    .predictor_load = predictor_load,
    .predictor_free = predictor_free,
    .predict = predict,
    .importance = importance,
    .explain = explain,
    .explain_link = link_of,
};
