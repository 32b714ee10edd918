/* mlp.c - the family `mlp` behind the lane interface (ml/model/model.h): a lane's memory, its predictions, the steps that it
 * keeps. Training and inference go through the same passes (net.c), and a row's score does not depend on the rows beside
 * it, so that they agree bit for bit. One thread per lane. */
#include "ml/net/mlp_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/family/family_tables.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* ---- lanes ---- */

static void lane_free(struct mlp_lane *l)
{
    fold_rows_fini(&l->r);
    mem_try_free(l->label);
    mem_try_free(l->target);
    mem_try_free(l->order);
    mem_try_free(l->now);
    mem_try_free(l->whole);
    mem_try_free(l->best);
    mem_try_free(l->grad);
    mem_try_free(l->batch_label);
    mem_try_free(l->batch_target);
    net_work_fini(&l->work);
    mem_free(l);
}

static void *take(struct mlp_lane *l, int64_t n)
{
    l->bytes += n * 4;
    return mem_try_zalloc((size_t)n * 4);
}

static void targets_fill(const struct ml_data *d, struct mlp_lane *l)
{
    struct mlp_head *h = &l->head;

    if (l->label) {
        for (int64_t i = 0; i < l->r.n_train; i++)
            l->label[i] = (int32_t)d->y[l->r.train[i]];
        return;
    }
    target_scale(d, &l->r, &h->mean, &h->spread);
    h->lo = h->hi = d->y[l->r.train[0]];
    for (int64_t i = 0; i < l->r.n_train; i++) {
        double y = d->y[l->r.train[i]];
        h->lo = fmin(h->lo, y);
        h->hi = fmax(h->hi, y);
        l->target[i] = (float)(y / h->spread - h->mean / h->spread);
    }
}

/* What the network lowers follows from the metric that chooses between models. */
static void loss_choose(const struct ml_data *d, struct mlp_lane *l)
{
    double q = metric_info(d->spec.metric)->quantile;

    l->loss = d->spec.task != ML_REGRESSION ? MLP_CLASSES : q > 0 ? MLP_QUANTILE : MLP_SQUARE;
    l->quantile = (float)q;
}

static int lane_memory(struct mlp_lane *l, int64_t batch, bool is_number, struct err *err)
{
    int64_t n = l->r.n_train, size = l->head.net.size;

    l->batches = MAX(1, (n + batch / 2) / batch);
    int64_t most = (n + l->batches - 1) / l->batches;
    l->order = take(l, n);
    l->label = is_number ? NULL : take(l, n);
    l->target = is_number ? take(l, n) : NULL;
    l->batch_label = take(l, most);
    l->batch_target = take(l, most);
    l->now = take(l, 3 * size);
    l->whole = take(l, 3 * size);
    l->grad = take(l, size);
    if (!l->order || !(l->label || l->target) || !l->batch_label || !l->batch_target || !l->now ||
        !l->whole || !l->grad)
        return err_set(err, ERR_NOMEM, "mlp: no memory for %lld parameters", (long long)size);
    return net_work_init(&l->work, &l->head.net, most, true, err);
}

static int mlp_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    struct mlp_lane *l = mem_zalloc(sizeof *l);
    const double *p = lane->params;

    l->x = ml_data_dense(d, err);
    if (!l->x || fold_rows_init(&l->r, d, lane->fold, lane->share, err) < 0)
        goto fail;
    l->head.task = d->spec.task;
    l->head.spread = 1;
    uint64_t fold = (uint64_t)((int64_t)lane->fold + 1); /* FOLD_ALL is 0 */
    l->seed = rng_mix(lane->seed, fold);
    l->order_seed = rng_mix(d->spec.split_seed, fold);
    net_shape(&l->head.net, l->x->cols, d->n_outputs, (int)p[MLP_LAYERS], (int)p[MLP_WIDTH],
              (enum layer_act)(int)p[MLP_ACTIVATION]);
    loss_choose(d, l);
    if (lane_memory(l, (int64_t)p[MLP_BATCH], d->spec.task == ML_REGRESSION, err) < 0)
        goto fail;
    l->bytes += (int64_t)sizeof *l + l->work.bytes + (l->r.n_train + l->r.n_held) * 4;
    targets_fill(d, l);
    net_start(&l->head.net, l->seed, l->now);
    lane->state = l;
    return 0;
fail:
    lane_free(l);
    return -1;
}

static void mlp_close(struct lane *lane)
{
    if (lane->state)
        lane_free(lane->state);
    lane->state = NULL;
}

static int64_t mlp_bytes(const struct lane *lane)
{
    const struct mlp_lane *l = lane->state;

    return l->bytes;
}

static int mlp_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                       const struct ml_stop *stop, struct err *err)
{
    (void)d, (void)err;
    for (int i = 0; i < n; i++) {
        struct lane *lane = &lanes[i];
        int64_t most = (int64_t)lane->params[MLP_EPOCHS], target = lane->steps_done + steps;
        most = lane->max_steps ? MIN(most, lane->max_steps) : most;
        if (lane->failed || lane->is_done)
            continue;
        if (!mlp_train(lane->state, lane, MIN(target, most), stop))
            return 0;
        lane->is_done = lane->steps_done >= most;
    }
    return 0;
}

/* The engine calls this at the best point of the curve so far, when the lane stands at its end. */
static int mlp_keep(struct lane *lane, struct err *err)
{
    struct mlp_lane *l = lane->state;

    if (!l->best)
        l->best = take(l, l->head.net.size);
    if (!l->best)
        return err_set(err, ERR_NOMEM, "mlp: no memory to keep the best epoch");
    memcpy(l->best, mlp_weights_at(l, lane, lane->steps_done),
           (size_t)l->head.net.size * sizeof *l->best);
    l->best_step = lane->steps_done;
    return 0;
}

/* ---- predictions ---- */

void mlp_rows(const struct net *n, const struct prep_dense *x, const int32_t *rows, int64_t from,
              int64_t count, float *out)
{
    int64_t pad = n->layer[0].in_pad;

    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * pad, x->x + (rows ? rows[i] : from + i) * x->stride,
               (size_t)pad * sizeof *out);
    layer_clip(out, count * pad);
}

/* Scores of a tile become probabilities or numbers of the target. */
static void scores_out(const struct mlp_head *h, const float *z, int64_t rows, float *out)
{
    const struct net_layer *last = &h->net.layer[h->net.n - 1];

    for (int64_t i = 0; i < rows; i++, z += last->pad, out += last->out) {
        if (h->task == ML_REGRESSION) {
            double y = h->mean + h->spread * (double)*z;
            *out = (float)(y < h->lo ? h->lo : y > h->hi ? h->hi : y);
        } else if (last->out == 1) {
            *out = fm_sigmoid(*z);
        } else {
            float top = z[0], all = 0;
            for (int k = 1; k < last->out; k++)
                top = z[k] > top ? z[k] : top;
            for (int k = 0; k < last->out; k++) {
                out[k] = fm_exp(z[k] - top);
                all += out[k];
            }
            for (int k = 0; k < last->out; k++)
                out[k] /= all;
        }
    }
}

int mlp_predict(const struct mlp_head *h, const float *w, const struct prep_dense *x,
                const int32_t *rows, int64_t count, float *out, struct err *err)
{
    struct net_work k;

    if (net_work_init(&k, &h->net, MIN(count, MLP_TILE), false, err) < 0)
        return -1;
    for (int64_t at = 0; at < count; at += MLP_TILE) {
        int64_t n = MIN(MLP_TILE, count - at);
        mlp_rows(&h->net, x, rows ? rows + at : NULL, at, n, k.x);
        net_forward(&h->net, w, &k, n, NULL);
        scores_out(h, k.z[h->net.n - 1], n, out + at * h->net.layer[h->net.n - 1].out);
    }
    net_work_fini(&k);
    return 0;
}

static int mlp_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps,
                               float *out, struct err *err)
{
    const struct mlp_lane *l = lane->state;

    (void)d;
    return mlp_predict(&l->head, mlp_weights_at(l, lane, steps), l->x, l->r.held, l->r.n_held, out,
                       err);
}

static int mlp_predict_held(struct ml_data *d, const struct lane *lane, float *out, struct err *err)
{
    return mlp_predict_held_at(d, lane, lane->steps_done, out, err);
}

const struct model_ops model_mlp = {
    .family = &family_mlp,
    .open = mlp_open,
    .close = mlp_close,
    .advance = mlp_advance,
    .keep = mlp_keep,
    .predict_held = mlp_predict_held,
    .predict_held_at = mlp_predict_held_at,
    .save = mlp_save,
    .save_training = mlp_save_training,
    .load = mlp_load,
    .bytes = mlp_bytes,
    .predictor_load = mlp_predictor_load,
    .predictor_free = mlp_predictor_free,
    .predict = mlp_predictor_predict,
};
