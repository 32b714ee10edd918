/* net_train.c - one epoch of a network: the rows in a new order, cut into batches of nearly equal size, a step of the
 * optimiser for each. The gradient of a batch of more than NET_PART rows is the sum of those of its parts, in their order, so
 * that memory is bounded. All draws are keyed by what they decide: the order of the rows by (split seed, fold, epoch), so that
 * trials on the same fold see the same batches; first parameters and dropout by the trial's seed and the fold. Stopping
 * between two batches and going on later gives equal bits. */
#include "ml/net/net_lane.h"

#include "base/base.h"
#include "base/fault.h"
#include "base/rng.h"
#include "ml/cpu/optim.h"
#include "ml/math/fmath.h"
#include "ml/ops/ops_reduce.h"

#include <math.h>
#include <string.h>

/* The families' default beta2 = 0.95 forgets large gradients within twenty batches instead of a thousand; RealMLP found it
 * better on tables (Holzmueller et al., NeurIPS 2024, table B.1). */
#define EPS 1e-8
/* Of a batch in the averages that follow it. */
#define RUNNING_SHARE 0.1f
/* Of the learning rate of the weights, from the same table: scales learn faster. */
#define SCALES_RATE      6.0
#define FREQUENCIES_RATE 0.1

/* ---- batches ---- */

void net_order(struct net_lane *l, const struct lane *lane)
{
    struct rng rng;

    if (l->order_epoch == lane->steps_done)
        return;
    l->order_epoch = lane->steps_done;
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

static int64_t batch_begin(const struct net_lane *l, int64_t batch)
{
    return l->r.n_train * batch / l->batches;
}

static void batch_take(struct net_lane *l, int64_t from, int64_t n)
{
    int32_t row[NET_TILE];

    for (int64_t at = 0; at < n; at += NET_TILE) {
        int64_t m = MIN(NET_TILE, n - at);
        for (int64_t i = 0; i < m; i++)
            row[i] = l->r.train[l->order[from + at + i]];
        float *x = l->work.x + at * net_floats(&l->head.net.in);
        l->head.kind->rows(&l->source, &l->head.net, row, 0, m, x);
        if (l->work.codes)
            l->head.kind->codes(&l->source, &l->head.net, row, 0, m,
                                l->work.codes + at * net_code_width(&l->head.net));
        if (l->recipe.augment && l->head.kind->augment)
            l->head.kind->augment(l, row, m, x);
    }
    int members = net_members_of(&l->head.net);
    for (int64_t i = 0; i < n * members; i++) {
        int32_t place = l->order[from + i / members];
        if (l->label)
            l->batch_label[i] = l->label[place];
        else
            l->batch_target[i] = l->target[place];
    }
}

/* The mean loss of `rows` rows from place `at` of what goes through the network; z becomes its
 * derivatives. */
static double losses(const struct net_lane *l, float *z, int64_t at, int64_t rows)
{
    const struct net *n = &l->head.net;
    int64_t pad = n->block[n->n - 1].to.pad;

    switch (l->loss) {
    case NET_LOSS_CLASSES:
        return layer_loss_classes(z, l->batch_label + at, (float)l->recipe.smoothing, rows,
                                  net_outputs(n), pad);
    case NET_LOSS_SQUARE:
        return layer_loss_square(z, l->batch_target + at, rows, pad);
    default:
        return layer_loss_quantile(z, l->batch_target + at, l->quantile, rows, pad);
    }
}

/* The rows stand in l->order from place `from` on. With weights each row's loss and derivatives are
 * multiplied by its own, which are 1 on average over all training rows. */
static double loss_of(struct net_lane *l, int64_t from, int64_t rows)
{
    const struct net *n = &l->head.net;
    int64_t pad = n->block[n->n - 1].to.pad, members = net_members_of(n), all = rows * members;
    float *z = net_scores(n, &l->work);
    double sum = 0;

    if (!l->weight)
        return losses(l, z, 0, all);
    for (int64_t i = 0; i < all; i++) {
        float w = l->weight[l->order[from + i / members]], *zi = z + i * pad;
        sum += (double)w * losses(l, zi, i, 1);
        for (int64_t k = 0; k < pad; k++)
            zi[k] *= w / (float)all;
    }
    return sum / (double)all;
}

/* 1 / (1 - beta^t). */
static float bias_fix(double beta, int64_t t)
{
    return (float)(1.0 / (1.0 - fm_exp_d((double)t * fm_log_d(beta))));
}

void net_step_plan(const struct net_lane *l, const struct lane *lane, int64_t batch,
                   struct net_step *out)
{
    const double faster[] = { [NET_WEIGHTS] = 1.0,        [NET_BIASES] = l->recipe.bias_rate,
                              [NET_SCALES] = SCALES_RATE, [NET_FREQUENCIES] = FREQUENCIES_RATE,
                              [NET_ADAPTERS] = 1.0,       [NET_VECTORS] = 1.0 };
    double u =
        ((double)lane->steps_done + (double)batch / (double)l->batches) / (double)l->recipe.epochs;
    double rate = net_rate_at(&l->recipe, u), fall = net_late_fall(u);

    out->from = batch_begin(l, batch);
    out->rows = batch_begin(l, batch + 1) - out->from;
    out->number = lane->steps_done * l->batches + batch + 1;
    out->dropout = (float)(l->recipe.dropout * fall);
    float fix_m = bias_fix(l->recipe.momentum, out->number),
          fix_v = bias_fix(l->recipe.beta2, out->number);
    for (int role = 0; role < NET_ROLES; role++)
        out->adam[role] =
            (struct layer_adam){ .rate = (float)(rate * faster[role]),
                                 .decay =
                                     role == NET_WEIGHTS ? (float)(l->recipe.decay * fall) : 0.0f,
                                 .beta1 = (float)l->recipe.momentum,
                                 .beta2 = (float)l->recipe.beta2,
                                 .eps = (float)EPS,
                                 .fix_m = fix_m,
                                 .fix_v = fix_v };
}

/* Without what is no gradient. */
static double gradient_squares(const struct net_lane *l)
{
    const struct net *n = &l->head.net;
    double sum = optim_squares(l->grad, n->size);

    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        if (p->role == NET_RUNNING)
            sum -= optim_squares(l->grad + p->at, (int64_t)p->rows * p->pad);
    }
    return sum > 0 ? sum : 0;
}

/* A gradient that is longer than the recipe allows is shortened (Pascanu et al., ICML 2013). */
static void clip(struct net_lane *l)
{
    if (l->recipe.clip <= 0)
        return;
    float factor = om_clip(optim_squares(l->grad, l->head.net.size), l->recipe.clip);
    if (factor < 1.0f)
        optim_scale(l->grad, factor, l->head.net.size);
}

/* What predicting uses of batch norm: an average over the last batches. */
static void follow(float *w, const float *seen, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        w[i] += RUNNING_SHARE * (seen[i] - w[i]);
}

/* The gradients of the paper are sums over rows, those of a batch are means, so they are multiplied by the rows.
 * alpha and l2 were chosen on generated tables (docs/DECISIONS.md, "Networks on tables"). */
static void sparse_step(const struct net_step *s, float *w, const float *g, float *m, float *v,
                        int64_t n)
{
    static const struct om_ftrl ftrl = { .alpha = 3.0f, .beta = 1.0f, .l1 = 0.0f, .l2 = 1.0f };

    optim_ftrl(&ftrl, w, g, (float)s->rows, m, v, n);
}

static void optimise(struct net_lane *l, const struct net_step *s)
{
    const struct net *n = &l->head.net;
    float *w = l->now, *m = w + n->size, *v = m + n->size;

    clip(l);
    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        int64_t at = p->at;
        if (p->role == NET_RUNNING) {
            follow(w + at, l->grad + at, (int64_t)p->rows * p->pad);
            continue;
        }
        if (p->role == NET_SPARSE)
            sparse_step(s, w + at, l->grad + at, m + at, v + at, (int64_t)p->rows * p->pad);
        if (p->role >= NET_ROLES)
            continue;
        optim_step(l->recipe.optimizer, &s->adam[p->role],
                   p->role != NET_BIASES && p->role != NET_SCALES, w + at, l->grad + at, m + at,
                   v + at, (int64_t)p->rows * p->pad);
    }
}

void net_fail_loss(const struct net_lane *l, struct lane *lane)
{
    lane->failed = true;
    err_set(&lane->why, ERR_DIVERGED,
            "%s: the training diverged in epoch %lld: a smaller learning_rate may help",
            l->head.kind->family->name, (long long)lane->steps_done + 1);
}

void net_fail_weights(const struct net_lane *l, struct lane *lane)
{
    lane->failed = true;
    err_set(&lane->why, ERR_DIVERGED,
            "%s: the weights overflowed in epoch %lld: a smaller learning_rate may help",
            l->head.kind->family->name, (long long)lane->steps_done);
}

/* The mean loss of `rows` rows from place `from` of the batch on; `drop` is for the way back. */
static double part_forward(struct net_lane *l, const struct net_step *s, int64_t from, int64_t rows,
                           struct net_drop *drop)
{
    *drop = (struct net_drop){ s->dropout, l->seed, s->number, from };
    batch_take(l, s->from + from, rows);
    net_forward(&l->head.net, l->now, &l->work, rows, drop);
    return loss_of(l, s->from + from, rows);
}

static double part_train(struct net_lane *l, const struct net_step *s, int64_t from, int64_t rows,
                         float *grad)
{
    struct net_drop drop;
    double loss = part_forward(l, s, from, rows, &drop);

    if (isfinite(loss))
        net_backward(&l->head.net, l->now, &l->work, rows, &drop, grad);
    return loss;
}

int64_t net_parts(int64_t rows)
{
    return (rows + NET_PART - 1) / NET_PART;
}

int64_t net_part_begin(int64_t rows, int64_t part)
{
    return rows * part / net_parts(rows);
}

/* What `rows` rows from place `from` on add to the loss and the gradient of the batch. They go through the network in parts of
 * nearly equal size. False = stopped between two parts, from where the next call goes on. stop may be NULL. */
static bool parts_train(struct net_lane *l, const struct net_step *s, int64_t from, int64_t rows,
                        const struct ml_stop *stop, double *out)
{
    int64_t parts = (rows + l->part - 1) / l->part, size = l->head.net.size;
    double loss = l->part_at > 0 ? l->part_loss : 0;

    if (l->part_at == 0)
        memset(l->grad, 0, (size_t)size * sizeof *l->grad);
    for (int64_t i = l->part_at; i < parts && isfinite(loss); i++) {
        if (i > l->part_at && ml_stop_now(stop)) {
            l->part_at = i;
            l->part_loss = loss;
            return false;
        }
        int64_t at = rows * i / parts, n = rows * (i + 1) / parts - at;
        double share = (double)n / (double)s->rows;
        loss += share * part_train(l, s, from + at, n, l->part_grad);
        if (isfinite(loss))
            optim_add(l->grad, l->part_grad, (float)share, size);
    }
    l->part_at = 0;
    *out = loss;
    return true;
}

/* ---- with other ranks (net_team.c) ---- */

/* The gradient of block i sets out for the other ranks. */
static int block_sum(struct net_lane *l, int i, struct err *err)
{
    int64_t at = 0, n = net_block_floats(&l->head.net, i, &at);

    return n > 0 ? l->reduce->ops->sum(l->reduce, l->grad + at, n, err) : 0;
}

/* Backward through the rows of one part, whose gradients are `share` of the batch's; each block's sets out while those below it
 * are computed. */
static int blocks_back(struct net_lane *l, const struct net_drop *drop, int64_t rows, double share,
                       struct err *err)
{
    const struct net *n = &l->head.net;

    for (int i = n->n - 1; i >= 0; i--) {
        int64_t at = 0, floats = net_block_floats(n, i, &at);
        net_backward_block(n, l->now, &l->work, rows, drop, i, l->grad);
        optim_scale(l->grad + at, (float)share, floats);
        if (block_sum(l, i, err) < 0)
            return -1;
    }
    return 0;
}

/* The gradient and the loss of the batch, of which this rank computes its share. Every rank makes the same sums, whatever it
 * finds, because the others wait for it; what is not finite is then so for all of them. */
static int team_gradient(struct net_lane *l, const struct net_step *s, bool stops, double *loss,
                         struct err *err)
{
    struct ml_reduce *r = l->reduce;
    int64_t from = s->rows * r->rank / r->ranks, rows = s->rows * (r->rank + 1) / r->ranks - from;
    double share = (double)rows / (double)s->rows;
    struct net_drop drop;
    int rc = 0;

    if (rows > 0 && rows <= l->part) {
        *loss = share * part_forward(l, s, from, rows, &drop);
        rc = blocks_back(l, &drop, rows, share, err);
    } else {
        (void)parts_train(l, s, from, rows, NULL, loss);
        for (int i = l->head.net.n - 1; i >= 0 && rc == 0; i--)
            rc = block_sum(l, i, err);
    }
    float words[] = { (float)*loss, stops ? 1.0f : 0.0f };
    if (rc < 0 || r->ops->sum(r, words, ARRAY_LEN(words), err) < 0 || r->ops->wait(r, err) < 0)
        return -1;
    *loss = (double)words[0];
    l->team_stops = words[1] > 0.0f;
    return 0;
}

static void fail_rank(struct net_lane *l, struct lane *lane, const struct err *why)
{
    lane->failed = true;
    err_set(&lane->why, why->code, "%s: %s", l->head.kind->family->name, why->text);
}

/* ---- a step ---- */

/* False = stopped between two parts of the batch, which goes on from there. */
static bool batch_train(struct net_lane *l, struct lane *lane, bool stops,
                        const struct ml_stop *stop)
{
    struct net_step s;
    struct err err = { 0 };
    double loss = 0;

    net_step_plan(l, lane, l->at, &s);
    if (l->reduce && l->reduce->rank + 1 == l->reduce->ranks && FAULT("net.rank")) {
        err_set(&err, ERR_DEVICE, "the last rank gave up");
        l->reduce->ops->leave(l->reduce, "it gave up");
        fail_rank(l, lane, &err);
        return true;
    }
    if (l->reduce && team_gradient(l, &s, stops, &loss, &err) < 0) {
        fail_rank(l, lane, &err);
        return true;
    }
    if (!l->reduce && s.rows <= l->part)
        loss = part_train(l, &s, 0, s.rows, l->grad);
    else if (!l->reduce && !parts_train(l, &s, 0, s.rows, stop, &loss))
        return false;
    if (lane->log && isfinite(loss))
        net_note_step(l, &s, loss, sqrt(gradient_squares(l)));
    if (isfinite(loss))
        optimise(l, &s);
    else
        net_fail_loss(l, lane);
    return true;
}

static bool epoch_is_sane(const struct net_lane *l)
{
    float sum = 0;

    for (int64_t i = 0; i < l->head.net.size; i++)
        sum += l->now[i] * 0.0f;
    return sum == 0.0f;
}

bool net_train(struct net_lane *l, struct lane *lane, int64_t target, const struct ml_stop *stop)
{
    while (lane->steps_done < target && !lane->failed) {
        bool stops = ml_stop_now(stop);
        if (stops && !l->reduce)
            return false;
        if (l->at == 0) {
            memcpy(l->whole, l->now, (size_t)(NET_STATES * l->head.net.size) * sizeof *l->now);
            l->has_whole = true;
        }
        net_order(l, lane);
        if (!batch_train(l, lane, stops, stop))
            return false;
        if (lane->failed)
            break;
        if (++l->at == l->batches) {
            l->at = 0;
            lane->steps_done++;
            if (lane->log)
                net_note_epoch(l, lane);
            if (!epoch_is_sane(l))
                net_fail_weights(l, lane);
        }
        if (l->reduce && l->team_stops)
            return false;
    }
    return true;
}

/* Within an epoch `whole` is the state after steps_done epochs, between two epochs the one before. */
const float *net_weights_at(const struct net_lane *l, const struct lane *lane, int64_t steps)
{
    if (steps == lane->steps_done)
        return l->at > 0 ? l->whole : l->now;
    if (steps == l->best_step)
        return l->best;
    CHECK(steps == lane->steps_done - 1 && l->at == 0 && l->has_whole);
    return l->whole;
}
