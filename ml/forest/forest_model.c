/* forest_model.c - the families forest and extra_trees behind the lane interface (model.h).
 *
 * A step is a tree under one pruning (family_plan's grid). Lanes stop at whole trees, and the sums
 * of the held-out rows under every pruning are kept up to date, so all answers up to a number of
 * trees come from the one pass that grew them. Trees are kept as bytes and do not depend on each
 * other: a saved lane goes on at its next tree. One thread per lane. Called through model_forest
 * and model_extra_trees. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/family/family_tables.h"
#include "ml/model/models.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FINEST_BINS = 255, Y_BITS = 30 };

/* ---- lanes ---- */

static void params_read(const double *v, bool is_extra, const struct ml_data *d, int cols,
                        struct forest_lane *l)
{
    bool is_regression = d->spec.task == ML_REGRESSION;

    l->n_axes = forest_axes(v, l->axes);
    l->min_gain = v[FOREST_MIN_IMPURITY];
    l->max_leaves = (int64_t)v[FOREST_MAX_LEAVES];
    l->p = (struct rf_params){
        .criterion = is_regression              ? RF_SQUARED
                     : v[FOREST_CRITERION] == 0 ? RF_GINI
                                                : RF_ENTROPY,
        .is_extra = is_extra,
        .is_bootstrap = !is_extra && v[FOREST_BOOTSTRAP] > 0,
        .max_samples = v[FOREST_MAX_SAMPLES],
        .n_visit = forest_visits(v, cols, is_regression),
        /* the last axis is the loosest in both */
        .max_depth = l->axes[l->n_axes - 1].depth,
        .min_split = l->axes[l->n_axes - 1].min_split,
        .min_leaf = (int)v[FOREST_MIN_LEAF],
    };
}

static void lane_free(struct forest_lane *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->n_trees; i++)
        mem_try_free(l->trees[i].data);
    mem_try_free(l->trees);
    mem_try_free(l->held);
    mem_try_free(l->up_to);
    mem_try_free(l->acc);
    forest_work_free(l->work);
    mem_free(l);
}

static size_t acc_floats(const struct forest_lane *l)
{
    return (size_t)l->n_held * (size_t)l->n_axes * (size_t)l->head.outputs;
}

/* Regression: z = (y - mean) / spread, as a whole number of y_unit's, at most 2^30 of them. */
static void scale_take(const struct ml_data *d, const struct fold_rows *r, struct forest_lane *l)
{
    double spread, top = 0;

    target_scale(d, r, &l->head.mean, &spread);
    for (int64_t i = 0; i < r->n_train; i++)
        top = fmax(top, fabs(d->y[r->train[i]] / spread - l->head.mean / spread));
    l->y_unit = ldexp(1.0, -Y_BITS);
    while (top > 0 && top / l->y_unit > ldexp(1.0, Y_BITS))
        l->y_unit *= 2.0;
    l->head.scale = spread * l->y_unit;
    /* the decrease is a share of the target's variance */
    l->min_gain /= l->y_unit * l->y_unit;
}

static int weights_take(const struct ml_data *d, const struct fold_rows *r, struct forest_lane *l,
                        struct err *err)
{
    double sum = 0;

    if (!d->weight)
        return 0;
    l->up_to = mem_try_alloc((size_t)r->n_train * sizeof *l->up_to);
    if (!l->up_to)
        return err_set(err, ERR_NOMEM, "forest: no memory for %" PRId64 " weights", r->n_train);
    for (int64_t i = 0; i < r->n_train; i++)
        l->up_to[i] = sum += d->weight[r->train[i]];
    l->p.up_to = l->up_to;
    return 0;
}

static int lane_rows(struct forest_lane *l, const struct ml_data *d, struct err *err)
{
    struct fold_rows r;

    if (fold_rows_init(&r, d, l->fold, l->share, err) < 0)
        return -1;
    l->n_train = r.n_train;
    l->n_held = r.n_held;
    l->held = r.held;
    r.held = NULL;
    l->head.least = 0.5 / (double)r.n_train;
    if (l->head.task == ML_REGRESSION)
        scale_take(d, &r, l);
    int rc = weights_take(d, &r, l, err);
    fold_rows_fini(&r);
    if (rc < 0)
        return -1;
    l->acc = mem_try_zalloc((acc_floats(l) + RF_WALK_SLACK) * sizeof *l->acc);
    if (!l->acc)
        return err_set(err, ERR_NOMEM, "forest: no memory for the sums of %" PRId64 " rows",
                       l->n_held);
    return 0;
}

static int lane_open(struct ml_data *d, struct lane *lane, bool is_extra, struct err *err)
{
    const struct prep_bins *b = ml_data_bins(d, lane->fold, FINEST_BINS, err);
    struct forest_lane *l;

    if (!b)
        return -1;
    if (b->cols >= RF_MAX_COLS || d->n_classes > RF_MAX_CLASSES)
        return err_set(err, ERR_ARG, "forest: %d columns and %d classes are more than it takes",
                       b->cols, d->n_classes);
    l = mem_zalloc(sizeof *l);
    params_read(lane->params, is_extra, d, b->cols, l);
    l->head = (struct forest_head){
        .task = d->spec.task, .outputs = d->n_outputs, .cols = b->cols, .scale = 1.0
    };
    l->seed = rng_mix(rng_mix(lane->seed, 0x666f72657374ull), (uint64_t)lane->fold + 1);
    l->fold = lane->fold;
    l->share = lane->share;
    l->bins = b;
    l->rows = d->rows;
    if (lane_rows(l, d, err) < 0) {
        lane_free(l);
        return -1;
    }
    lane->state = l;
    return 0;
}

static int forest_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    return lane_open(d, lane, false, err);
}

static int extra_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    return lane_open(d, lane, true, err);
}

static void forest_close(struct lane *lane)
{
    lane_free(lane->state);
    lane->state = NULL;
}

static int64_t forest_held_bytes(const struct lane *lane)
{
    const struct forest_lane *l = lane->state;

    return (int64_t)sizeof *l + l->n_held * 4 + (l->up_to ? l->n_train * 8 : 0) +
           (int64_t)(acc_floats(l) * sizeof *l->acc) + l->trees_cap * (int64_t)sizeof *l->trees +
           l->bytes + (l->work ? l->work->bytes : 0);
}

static int64_t forest_model_bytes(const struct lane *lane)
{
    const struct forest_lane *l = lane->state;

    return l->bytes + 8 * (int64_t)l->n_trees;
}

/* ---- the workspace ---- */

static void work_drop(struct forest_work *w)
{
    rf_work_free(w->grow);
    forest_device_free(w->device);
    mem_try_free(w->y);
    fold_rows_fini(&w->r);
    memset(w, 0, sizeof *w);
}

void forest_work_free(struct forest_work *w)
{
    if (w)
        work_drop(w);
    mem_free(w);
}

static void targets_take(const struct forest_work *w, const struct ml_data *d,
                         const struct forest_lane *l)
{
    double spread = l->head.scale / l->y_unit;

    for (int64_t i = 0; i < w->r.n_train; i++) {
        double y = d->y[w->r.train[i]];
        if (l->head.task == ML_REGRESSION)
            y = floor((y / spread - l->head.mean / spread) / l->y_unit + 0.5);
        w->y[i] = (int32_t)y;
    }
}

int forest_work_take(struct forest_work *w, struct ml_data *d, const struct forest_lane *l,
                     struct err *err)
{
    const struct prep_bins *b = l->bins;

    if (w->owner == l)
        return 0;
    work_drop(w);
    if (fold_rows_init(&w->r, d, l->fold, l->share, err) < 0)
        return -1;
    mem_try_free(w->r.held);
    w->r.held = NULL;
    int64_t n = w->r.n_train;
    w->y = mem_try_alloc((size_t)n * sizeof *w->y);
    if (!w->y)
        return err_set(err, ERR_NOMEM, "forest: no memory for %" PRId64 " targets", n);
    targets_take(w, d, l);
    w->d = (struct rf_data){ .by_row = b->bins,
                             .stride = b->stride,
                             .at = w->r.train,
                             .rows = n,
                             .cols = b->cols,
                             .n_bins = b->n_bins,
                             .is_categorical = b->is_categorical,
                             .n_classes = d->n_classes,
                             .y = w->y };
    w->grow = rf_work_new(&w->d, &l->p, err);
    if (!w->grow)
        return -1;
    w->bytes = (int64_t)sizeof *w + n * 8 + rf_work_bytes(w->grow);
    w->owner = l;
    return 0;
}

/* The workspace of the trial: the lane that has one lends it; else the first lane makes it. */
static struct forest_work *work_of(struct lane *lanes, int n)
{
    struct forest_lane *first = lanes[0].state;

    for (int i = 0; i < n; i++) {
        struct forest_lane *l = lanes[i].state;
        if (l->work)
            return l->work;
    }
    first->work = mem_zalloc(sizeof *first->work);
    return first->work;
}

/* ---- training ---- */

static int trees_reserve(struct forest_lane *l)
{
    if (l->n_trees < l->trees_cap)
        return 0;
    int cap = MAX(16, l->trees_cap * 2);
    struct rf_bytes *more = mem_try_alloc((size_t)cap * sizeof *more);
    if (!more)
        return -1;
    if (l->n_trees)
        memcpy(more, l->trees, (size_t)l->n_trees * sizeof *more);
    mem_try_free(l->trees);
    l->trees = more;
    l->trees_cap = cap;
    return 0;
}

/* Adds one more tree to the sums of the held-out rows. */
static int tree_score(struct forest_lane *l, const struct rf_bytes *b, struct err *err)
{
    struct rf_flat flat;

    if (rf_flat_read(&flat, b->data, b->len, l->head.outputs, l->head.cols, true, NULL, err) < 0)
        return -1;
    int rc = rf_walk_axes(&flat, l->head.outputs, l->axes, l->n_axes, l->bins->bins,
                          l->bins->stride, l->held, l->n_held, l->acc);
    rf_flat_fini(&flat);
    return rc < 0 ? err_set(err, ERR_NOMEM, "forest: no memory to score a tree") : 0;
}

/* Takes the bytes: adds them to the held-out sums, then to the list. Trees grown here need no
 * reading where nothing is scored. -1 = no memory, or the bytes are no tree. */
static int tree_take(struct forest_lane *l, struct rf_bytes *b, bool is_own, struct err *err)
{
    int rc = 0;

    if (trees_reserve(l) < 0)
        rc = err_set(err, ERR_NOMEM, "forest: no memory for more trees");
    else if (!is_own || l->n_held > 0)
        rc = tree_score(l, b, err);
    if (rc == 0) {
        l->trees[l->n_trees++] = *b;
        l->bytes += (int64_t)b->len;
        *b = (struct rf_bytes){ 0 };
    }
    mem_try_free(b->data);
    return rc;
}

/* Grows the next tree. 1 = done, 0 = stopped, -1 = failed. */
static int tree_add(struct ml_data *d, struct forest_work *w, struct forest_lane *l, int until,
                    const struct ml_stop *stop, struct err *err)
{
    struct rf_tree tree;
    struct rf_bytes b = { 0 };
    int rc = forest_device_grow(w, d, l, until, stop, &tree, err);

    if (rc == 2)
        rc = rf_grow(w->grow, l->seed, l->n_trees, stop, &tree);
    if (rc == 0 || (rc < 0 && err->code))
        return rc;
    if (rc > 0 && rf_tree_cut(&tree, l->head.outputs, l->min_gain, l->max_leaves) == 0 &&
        rf_bytes_of_tree(&tree, l->head.outputs, &b) == 0)
        rc = tree_take(l, &b, true, err) < 0 ? -1 : 1;
    else
        rc = err_set(err, ERR_NOMEM, "forest: no memory for a tree");
    rf_recycle(w->grow, &tree);
    return rc;
}

/* 1 = the target is reached (or the lane failed), 0 = stopped. */
struct turn {
    struct ml_data *d;
    struct forest_work *w;
};

static bool lane_advance(void *ctx, struct lane *lane, int64_t target, const struct ml_stop *stop)
{
    struct ml_data *d = ((struct turn *)ctx)->d;
    struct forest_work *w = ((struct turn *)ctx)->w;
    struct forest_lane *l = lane->state;
    int64_t trees = (target + l->n_axes - 1) / l->n_axes;
    int rc = 1;

    if (l->n_trees < trees && forest_work_take(w, d, l, &lane->why) < 0)
        rc = -1;
    while (rc > 0 && l->n_trees < trees)
        rc = tree_add(d, w, l, (int)trees, stop, &lane->why);
    if (w->grow)
        rf_recycled_free(w->grow);
    lane->steps_done = (int64_t)l->n_trees * l->n_axes;
    lane->is_done = lane->max_steps && lane->steps_done >= lane->max_steps;
    lane->failed = rc < 0;
    return rc != 0;
}

static int forest_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                          const struct ml_stop *stop, struct err *err)
{
    struct turn turn = { d, work_of(lanes, n) };

    (void)err;
    lanes_in_turn(lanes, n, turn.w->owner, steps, lane_advance, &turn, stop);
    return 0;
}

/* ---- predictions ---- */

/* The sums after fewer trees than there are: made again from the bytes. */
static int sums_of(const struct forest_lane *l, int64_t trees, const struct forest_axis *axis,
                   float *acc, struct err *err)
{
    for (int64_t t = 0; t < trees; t++) {
        struct rf_flat flat;
        if (rf_flat_read(&flat, l->trees[t].data, l->trees[t].len, l->head.outputs, l->head.cols,
                         true, NULL, err) < 0)
            return -1;
        int rc = rf_walk_axes(&flat, l->head.outputs, axis, 1, l->bins->bins, l->bins->stride,
                              l->held, l->n_held, acc);
        rf_flat_fini(&flat);
        if (rc < 0)
            return err_set(err, ERR_NOMEM, "forest: no memory for predictions");
    }
    return 0;
}

static int forest_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps,
                                  float *out, struct err *err)
{
    const struct forest_lane *l = lane->state;
    int64_t trees = (steps - 1) / l->n_axes + 1, axis = (steps - 1) % l->n_axes;
    size_t k = (size_t)l->head.outputs;

    (void)d;
    CHECK(steps >= 1 && trees <= l->n_trees);
    if (trees == l->n_trees) {
        forest_finish(&l->head, l->acc + (size_t)axis * k, (int64_t)k * l->n_axes, l->n_held, trees,
                      out);
        return 0;
    }
    float *acc = mem_try_zalloc(((size_t)l->n_held * k + RF_WALK_SLACK) * sizeof *acc);
    if (!acc)
        return err_set(err, ERR_NOMEM, "forest: no memory for predictions");
    int rc = sums_of(l, trees, &l->axes[axis], acc, err);
    if (rc == 0)
        forest_finish(&l->head, acc, (int64_t)k, l->n_held, trees, out);
    mem_try_free(acc);
    return rc;
}

static int forest_predict_held(struct ml_data *d, const struct lane *lane, float *out,
                               struct err *err)
{
    return forest_predict_held_at(d, lane, lane->steps_done, out, err);
}

/* ---- bytes ---- */

static int tree_save(const struct forest_lane *l, int tree, int64_t axis, struct buf *out,
                     struct err *err)
{
    struct rf_bytes cut = { 0 };
    const struct rf_bytes *b = &l->trees[tree];
    int rc = 0;

    if (axis < l->n_axes - 1) {
        rc = rf_bytes_cut(b, l->head.outputs, l->head.cols, &l->axes[axis], &cut, err);
        b = &cut;
    }
    if (rc == 0 && (buf_put_u64(out, b->len, err) < 0 || buf_add(out, b->data, b->len, err) < 0))
        rc = -1;
    mem_try_free(cut.data);
    return rc;
}

static int forest_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err)
{
    const struct forest_lane *l = lane->state;
    int64_t trees = steps > 0 ? (steps - 1) / l->n_axes + 1 : 0;

    CHECK(trees <= l->n_trees);
    if (buf_put_u32(out, RF_FORMAT, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->head.outputs, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->head.cols, err) < 0 ||
        buf_put_f64(out, l->head.mean, err) < 0 || buf_put_f64(out, l->head.scale, err) < 0 ||
        buf_put_f64(out, l->head.least, err) < 0 || buf_put_u32(out, (uint32_t)trees, err) < 0)
        return -1;
    for (int t = 0; t < (int)trees; t++) {
        if (tree_save(l, t, (steps - 1) % l->n_axes, out, err) < 0)
            return -1;
    }
    return 0;
}

int forest_head_load(struct forest_head *h, enum ml_task task, int outputs, int cols,
                     struct view *in, struct err *err)
{
    uint32_t format = 0, k = 0, c = 0;

    *h = (struct forest_head){ .task = task, .outputs = outputs, .cols = cols };
    if (view_u32(in, &format, err) < 0)
        return -1;
    if (format != RF_FORMAT)
        return err_set(err, ERR_VERSION, "forest: format %u, this program reads %d", format,
                       RF_FORMAT);
    if (view_u32(in, &k, err) < 0 || view_u32(in, &c, err) < 0 || view_f64(in, &h->mean, err) < 0 ||
        view_f64(in, &h->scale, err) < 0 || view_f64(in, &h->least, err) < 0 ||
        view_u32(in, &h->n_trees, err) < 0)
        return -1;
    if (k != (uint32_t)outputs || c != (uint32_t)cols || cols >= RF_MAX_COLS)
        return err_set(err, ERR_ARG,
                       "forest: a model of %u outputs and %u columns, expected %d and %d", k, c,
                       outputs, cols);
    if (!isfinite(h->mean) || !isfinite(h->scale) || !(h->least > 0 && h->least <= 0.5))
        return err_set(err, ERR_ARG, "forest: scale or least probability is out of range");
    if (h->n_trees > (in->len - in->pos) / 20)
        return err_set(err, ERR_ARG, "forest: %u trees in %zu bytes", h->n_trees,
                       in->len - in->pos);
    return 0;
}

int forest_tree_bytes(struct view *in, const void **data, size_t *len, struct err *err)
{
    uint64_t n = 0;

    if (view_u64(in, &n, err) < 0)
        return -1;
    if (n > in->len - in->pos)
        return err_set(err, ERR_ARG, "forest: a tree of %" PRIu64 " bytes", n);
    *len = (size_t)n;
    return view_bytes(in, data, *len, err);
}

static int tree_load(struct forest_lane *l, struct view *in, struct err *err)
{
    size_t len = 0;
    const void *data = NULL;

    if (forest_tree_bytes(in, &data, &len, err) < 0)
        return -1;
    struct rf_bytes b = { mem_try_alloc(len + 1), len };
    if (!b.data)
        return err_set(err, ERR_NOMEM, "forest: no memory for a tree of %zu bytes", len);
    memcpy(b.data, data, b.len);
    return tree_take(l, &b, false, err);
}

static int forest_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err)
{
    struct forest_lane *l = lane->state;
    struct forest_head h;

    (void)d;
    for (int i = 0; i < l->n_trees; i++)
        mem_try_free(l->trees[i].data);
    l->n_trees = 0;
    l->bytes = 0;
    memset(l->acc, 0, acc_floats(l) * sizeof *l->acc);
    if (forest_head_load(&h, l->head.task, l->head.outputs, l->head.cols, in, err) < 0)
        return -1;
    if (h.mean != l->head.mean || h.scale != l->head.scale || h.least != l->head.least)
        return err_set(err, ERR_ARG, "forest: a checkpoint of another table");
    for (uint32_t t = 0; t < h.n_trees; t++) {
        if (tree_load(l, in, err) < 0)
            return -1;
    }
    lane->steps_done = (int64_t)l->n_trees * l->n_axes;
    lane->is_done = false;
    return 0;
}

#define FOREST_OPS(which)                                                                     \
    .family = &family_##which, .close = forest_close, .advance = forest_advance,              \
    .predict_held = forest_predict_held, .predict_held_at = forest_predict_held_at,           \
    .save = forest_save, .load = forest_load, .bytes = forest_held_bytes,                     \
    .model_bytes = forest_model_bytes, .file_share = 1.05, .load_share = 2, .grow_share = 14, \
    .predictor_load = forest_predictor_load, .predictor_free = forest_predictor_free,         \
    .predict = forest_predict, .importance = forest_importance, .explain = forest_explain

const struct model_ops model_forest = { .open = forest_open, FOREST_OPS(forest) };
const struct model_ops model_extra_trees = { .open = extra_open, FOREST_OPS(extra_trees) };
