/* mlp_train.c - one epoch of a network: the rows in a new order, cut into batches of nearly equal size, a step of the
 * optimiser for each. All draws are keyed by what they decide: the order of the rows by (split seed, fold, epoch), so that
 * trials on the same fold see the same batches; first parameters and dropout by the trial's seed and the fold. Stopping
 * between two batches and going on later gives equal bits. */
#include "ml/net/mlp_private.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* beta2 = 0.95 forgets large gradients within twenty batches instead of a thousand; RealMLP found it better on tables
 * (Holzmueller et al., NeurIPS 2024, table B.1). */
#define BETA1 0.9
#define BETA2 0.95
#define EPS   1e-8
/* Of the learning rate of the weights, from the same table: scales learn faster, biases slower. */
#define SCALES_RATE 6.0
#define BIASES_RATE 0.1

enum { CYCLES = 4 };

/* ---- schedules: of the share u of all epochs that are done, 0 <= u < 1 ---- */

/* Four cosine cycles, each twice as long as the one before ("coslog4" of RealMLP, section 3): the rate falls to 0 at
 * u = 1/15, 3/15, 7/15 and 1, which are the levels of the family's ladder (ml/family/family_net.c). */
static double cycles(double u)
{
    double turns = fm_log_d(1.0 + ((1 << CYCLES) - 1) * u) * 1.4426950408889634;

    return 0.5 * (1.0 - fm_cos_turns_d(turns));
}

/* Up to the full rate in the first third, down to 0 in the rest (Smith 2018). */
static double one_cycle(double u)
{
    return 0.5 * (1.0 - fm_cos_turns_d(u < 1.0 / 3.0 ? u * 1.5 : 0.5 + (u - 1.0 / 3.0) * 0.75));
}

static double rate_at(const double *params, double u)
{
    double rate = params[MLP_LEARNING_RATE];

    switch ((int)params[MLP_SCHEDULE]) {
    case 0:
        return rate * cycles(u);
    case 1:
        return rate * 0.5 * (1.0 + fm_cos_turns_d(0.5 * u));
    case 2:
        return rate * one_cycle(u);
    default:
        return rate;
    }
}

/* Dropout and decay: whole in the first half, then down to 0 along a cosine ("flat_cos" of RealMLP). */
static double late_fall(double u)
{
    return u < 0.5 ? 1.0 : 0.5 * (1.0 + fm_cos_turns_d(u - 0.5));
}

/* ---- batches ---- */

static void order_draw(struct mlp_lane *l, const struct lane *lane)
{
    struct rng rng;

    rng_init(&rng, l->order_seed, (uint64_t)lane->steps_done);
    for (int64_t i = 0; i < l->r.n_train; i++)
        l->order[i] = (int32_t)i;
    for (int64_t i = l->r.n_train - 1; i > 0; i--) {
        int64_t j = rng_below(&rng, (uint32_t)i + 1);
        int32_t swap = l->order[i];
        l->order[i] = l->order[j];
        l->order[j] = swap;
    }
}

static int64_t batch_begin(const struct mlp_lane *l, int64_t batch)
{
    return l->r.n_train * batch / l->batches;
}

static int64_t batch_take(struct mlp_lane *l, int64_t batch)
{
    int64_t from = batch_begin(l, batch), n = batch_begin(l, batch + 1) - from;
    int32_t row[MLP_TILE];

    for (int64_t at = 0; at < n; at += MLP_TILE) {
        int64_t m = MIN(MLP_TILE, n - at);
        for (int64_t i = 0; i < m; i++)
            row[i] = l->r.train[l->order[from + at + i]];
        mlp_rows(&l->head.net, l->x, row, 0, m, l->work.x + at * l->head.net.layer[0].in_pad);
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t place = l->order[from + i];
        if (l->label)
            l->batch_label[i] = l->label[place];
        else
            l->batch_target[i] = l->target[place];
    }
    return n;
}

static double loss_of(struct mlp_lane *l, const double *params, int64_t rows)
{
    const struct net *n = &l->head.net;
    const struct net_layer *last = &n->layer[n->n - 1];
    float *z = l->work.z[n->n - 1];

    switch (l->loss) {
    case MLP_CLASSES:
        return layer_loss_classes(z, l->batch_label, (float)params[MLP_SMOOTHING], rows, last->out,
                                  last->pad);
    case MLP_SQUARE:
        return layer_loss_square(z, l->batch_target, rows, last->pad);
    default:
        return layer_loss_quantile(z, l->batch_target, l->quantile, rows, last->pad);
    }
}

/* 1 / (1 - beta^t). */
static float bias_fix(double beta, int64_t t)
{
    return (float)(1.0 / (1.0 - fm_exp_d((double)t * fm_log_d(beta))));
}

static void optimise(struct mlp_lane *l, const double *params, double u, int64_t t)
{
    const struct net *n = &l->head.net;
    double rate = rate_at(params, u);
    float *w = l->now, *m = w + n->size, *v = m + n->size;
    struct layer_adam a = { .rate = (float)(rate * SCALES_RATE),
                            .beta1 = (float)BETA1,
                            .beta2 = (float)BETA2,
                            .eps = (float)EPS,
                            .fix_m = bias_fix(BETA1, t),
                            .fix_v = bias_fix(BETA2, t) };

    layer_adam(&a, w, l->grad, m, v, n->layer[0].in_pad);
    for (int i = 0; i < n->n; i++) {
        const struct net_layer *y = &n->layer[i];
        int64_t at = y->weights;
        a.rate = (float)rate;
        a.decay = (float)(params[MLP_DECAY] * late_fall(u));
        layer_adam(&a, w + at, l->grad + at, m + at, v + at, (int64_t)y->in * y->pad);
        at = y->bias;
        a.rate = (float)(rate * BIASES_RATE);
        a.decay = 0;
        layer_adam(&a, w + at, l->grad + at, m + at, v + at, y->pad);
    }
}

static int batch_train(struct mlp_lane *l, struct lane *lane)
{
    const struct net *n = &l->head.net;
    double epochs = lane->params[MLP_EPOCHS],
           u = ((double)lane->steps_done + (double)l->at / (double)l->batches) / epochs;
    int64_t rows = batch_take(l, l->at), t = lane->steps_done * l->batches + l->at + 1;
    struct net_drop drop = { (float)(lane->params[MLP_DROPOUT] * late_fall(u)), l->seed, t };

    net_forward(n, l->now, &l->work, rows, &drop);
    double loss = loss_of(l, lane->params, rows);
    if (!isfinite(loss))
        return err_set(&lane->why, ERR_ARG,
                       "mlp: the training diverged in epoch %lld: a smaller learning_rate may help",
                       (long long)lane->steps_done + 1);
    net_backward(n, l->now, &l->work, rows, drop.p > 0, l->grad);
    optimise(l, lane->params, u, t);
    return 0;
}

static bool epoch_is_sane(const struct mlp_lane *l)
{
    float sum = 0;

    for (int64_t i = 0; i < l->head.net.size; i++)
        sum += l->now[i] * 0.0f;
    return sum == 0.0f;
}

bool mlp_train(struct mlp_lane *l, struct lane *lane, int64_t target, const struct ml_stop *stop)
{
    while (lane->steps_done < target && !lane->failed) {
        if (ml_stop_now(stop))
            return false;
        if (l->at == 0) {
            memcpy(l->whole, l->now, (size_t)(3 * l->head.net.size) * sizeof *l->now);
            l->has_whole = true;
            order_draw(l, lane);
        }
        if (batch_train(l, lane) < 0) {
            lane->failed = true;
            break;
        }
        if (++l->at < l->batches)
            continue;
        l->at = 0;
        lane->steps_done++;
        if (!epoch_is_sane(l)) {
            err_set(&lane->why, ERR_ARG, "mlp: the weights overflowed in epoch %lld",
                    (long long)lane->steps_done);
            lane->failed = true;
        }
    }
    return true;
}

/* Within an epoch `whole` is the state after steps_done epochs, between two epochs the one before. */
const float *mlp_weights_at(const struct mlp_lane *l, const struct lane *lane, int64_t steps)
{
    if (steps == lane->steps_done)
        return l->at > 0 ? l->whole : l->now;
    if (steps == l->best_step)
        return l->best;
    CHECK(steps == lane->steps_done - 1 && l->at == 0 && l->has_whole);
    return l->whole;
}
