/* net_lane.c - a lane of a network behind the lane interface (ml/model/model.h): its memory, its predictions, the steps that
 * it keeps. Training and inference go through the same passes (net.c), and a row's score does not depend on the rows beside
 * it, so that they agree bit for bit. One thread per lane. */
#include "ml/net/net_lane.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

enum { PART_PRODUCTS = 1 << 28 }; /* multiplications of a part's forward pass */
/* Of all blocks, when rows are predicted: half a MiB, which stays in a core's cache and which the
 * allocator keeps between two calls (16 MiB made training of small tables a quarter slower, because
 * every epoch is scored); of images 16 MiB. */
enum { TILE_FLOATS = 1 << 17, TILE_FLOATS_IMAGES = 1 << 22 };

/* ---- lanes ---- */

static void lane_free(struct net_lane *l)
{
    net_device_leave(l);
    net_team_close(l);
    fold_rows_fini(&l->r);
    mem_try_free(l->label);
    mem_try_free(l->target);
    mem_try_free(l->order);
    mem_try_free(l->now);
    mem_try_free(l->whole);
    mem_try_free(l->best);
    mem_try_free(l->grad);
    mem_try_free(l->part_grad);
    mem_try_free(l->weight);
    mem_try_free(l->batch_label);
    mem_try_free(l->batch_target);
    net_work_fini(&l->work);
    mem_free(l);
}

static void *take(struct net_lane *l, int64_t n)
{
    l->bytes += n * 4;
    return mem_try_zalloc((size_t)n * 4);
}

static void targets_fill(const struct ml_data *d, struct net_lane *l)
{
    struct net_head *h = &l->head;

    for (int64_t i = 0; l->weight && i < l->r.n_train; i++)
        l->weight[i] = (float)d->weight[l->r.train[i]];
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
static void loss_choose(const struct ml_data *d, struct net_lane *l)
{
    double q = metric_info(d->spec.metric)->quantile;

    l->loss = d->spec.task != ML_REGRESSION ? NET_LOSS_CLASSES
              : q > 0                       ? NET_LOSS_QUANTILE
                                            : NET_LOSS_SQUARE;
    l->quantile = (float)q;
}

/* Images take long: so many of them that a part is done within some 50 ms. Their number follows from the shape alone. */
static int64_t part_rows(const struct net *n)
{
    int64_t products = 0;

    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        const struct net_size *to = &n->block[p->block].to;
        products += p->role == NET_WEIGHTS ? (int64_t)p->rows * p->pad * to->h * to->w : 0;
    }
    if (n->in.h == 1 && n->in.w == 1)
        return NET_PART;
    return MIN(NET_PART, MAX(1, PART_PRODUCTS / MAX(products, 1)));
}

static int lane_memory(struct net_lane *l, bool is_number, bool is_weighted, struct err *err)
{
    int64_t n = l->r.n_train, size = l->head.net.size, batch = l->recipe.batch;

    l->batches = MAX(1, (n + batch / 2) / batch);
    int64_t most = (n + l->batches - 1) / l->batches;
    l->order = take(l, n);
    l->label = is_number ? NULL : take(l, n);
    l->target = is_number ? take(l, n) : NULL;
    l->weight = is_weighted ? take(l, n) : NULL;
    l->part = part_rows(&l->head.net);
    bool has_parts = most > l->part;
    most = MIN(most, l->part);
    l->batch_label = take(l, most * net_members_of(&l->head.net));
    l->batch_target = take(l, most * net_members_of(&l->head.net));
    l->part_grad = has_parts ? take(l, size) : NULL;
    l->now = take(l, NET_STATES * size);
    l->whole = take(l, NET_STATES * size);
    l->grad = take(l, size);
    if (!l->order || !(l->label || l->target) || (is_weighted && !l->weight) || !l->batch_label ||
        !l->batch_target || !l->now || !l->whole || !l->grad || (has_parts && !l->part_grad))
        return err_set(err, ERR_NOMEM, "%s: no memory for %lld parameters",
                       l->head.kind->family->name, (long long)size);
    return net_work_init(&l->work, &l->head.net, most, true, err);
}

int net_lane_open_rank(const struct net_kind *kind, struct ml_data *d, struct lane *lane,
                       struct err *err)
{
    struct net_lane *l = mem_zalloc(sizeof *l);
    uint64_t fold = (uint64_t)((int64_t)lane->fold + 1); /* FOLD_ALL is 0 */

    l->head.kind = kind;
    l->head.task = d->spec.task;
    l->head.spread = 1;
    l->order_epoch = -1;
    l->slot = -1;
    kind->recipe(lane->params, &l->recipe);
    if (kind->source(d, lane, &l->source, err) < 0 ||
        fold_rows_init(&l->r, d, lane->fold, lane->share, err) < 0 ||
        kind->shape(&l->source, d->n_outputs, lane->params, &l->head.net, err) < 0)
        goto fail;
    l->seed = rng_mix(lane->seed, fold);
    l->order_seed = rng_mix(d->spec.split_seed, fold);
    loss_choose(d, l);
    if (lane_memory(l, d->spec.task == ML_REGRESSION, d->weight != NULL, err) < 0)
        goto fail;
    l->bytes += (int64_t)sizeof *l + l->work.bytes + (l->r.n_train + l->r.n_held) * 4;
    targets_fill(d, l);
    if (l->recipe.starts_narrow)
        net_start_narrow(&l->head.net, l->seed, l->now);
    else
        net_start(&l->head.net, l->seed, l->now);
    if (kind->start)
        kind->start(&l->source, &l->head.net, &l->r, l->now);
    lane->state = l;
    return 0;
fail:
    lane_free(l);
    return -1;
}

int net_lane_open(const struct net_kind *kind, struct ml_data *d, struct lane *lane,
                  struct err *err)
{
    if (net_lane_open_rank(kind, d, lane, err) < 0)
        return -1;
    struct net_lane *l = lane->state;
    int ranks = l->recipe.ranks;
    l->reduce = lane->reduce;
    if (l->reduce || ranks < 2 || net_team_open(d, lane, ranks, err) == 0)
        return 0;
    net_lane_close(lane);
    return -1;
}

void net_lane_close(struct lane *lane)
{
    if (lane->state)
        lane_free(lane->state);
    lane->state = NULL;
}

int64_t net_lane_bytes(const struct lane *lane)
{
    const struct net_lane *l = lane->state;

    return l->bytes + net_device_bytes(l) + net_team_bytes(l);
}

bool net_lane_fuses(const struct ml_data *d, const struct lane *lane)
{
    const struct net_lane *l = lane->state;

    return l && !l->reduce && net_device_suits(d, l);
}

/* Lanes of several trials come in one call for a device only (net_lane_fuses). */
static bool is_one_trial(const struct lane *lanes, int n)
{
    for (int i = 1; i < n; i++) {
        if (lanes[i].seed != lanes[0].seed)
            return false;
    }
    return true;
}

static int64_t most_steps(const struct lane *lane)
{
    const struct net_lane *l = lane->state;

    return lane->max_steps ? MIN(l->recipe.epochs, lane->max_steps) : l->recipe.epochs;
}

int net_lane_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                     const struct ml_stop *stop, struct err *err)
{
    int on_device = net_device_advance(d, lanes, n, steps, stop, err);

    for (int i = 0; i < n && on_device > 0; i++)
        lanes[i].is_done =
            lanes[i].is_done || (!lanes[i].failed && lanes[i].steps_done >= most_steps(&lanes[i]));
    if (on_device != 0)
        return on_device < 0 ? -1 : 0;
    if (!is_one_trial(lanes, n))
        return 0;
    for (int i = 0; i < n; i++) {
        struct lane *lane = &lanes[i];
        struct net_lane *l = lane->state;
        if (lane->failed || lane->is_done)
            continue;
        int64_t most = most_steps(lane), target = lane->steps_done + steps;
        if (net_device_fetch(l, true, err) < 0)
            return -1;
        net_device_leave(l);
        bool is_through = l->team ? net_team_train(l, lane, MIN(target, most), stop)
                                  : net_train(l, lane, MIN(target, most), stop);
        if (!is_through)
            return 0;
        lane->is_done = lane->steps_done >= most;
    }
    return 0;
}

/* The engine calls this at the best point of the curve so far, when the lane stands at its end. */
int net_lane_keep(struct lane *lane, struct err *err)
{
    struct net_lane *l = lane->state;

    if (net_device_fetch(l, false, err) < 0)
        return -1;
    if (!l->best)
        l->best = take(l, l->head.net.size);
    if (!l->best)
        return err_set(err, ERR_NOMEM, "%s: no memory to keep the best epoch",
                       l->head.kind->family->name);
    memcpy(l->best, net_weights_at(l, lane, lane->steps_done),
           (size_t)l->head.net.size * sizeof *l->best);
    l->best_step = lane->steps_done;
    return 0;
}

/* ---- predictions ---- */

void net_source_fini(struct net_source *s)
{
    prep_dense_fini(&s->own_x);
    prep_bins_fini(&s->own_bins);
    prep_images_fini(&s->own_images);
}

/* Adds to out what one member says of a row: probabilities, or the score of a number. */
static void member_out(const struct net_head *h, const float *z, int outputs, float *out)
{
    if (h->task == ML_REGRESSION) {
        *out += *z;
    } else if (outputs == 1) {
        *out += fm_sigmoid(*z);
    } else {
        float top = z[0], all = 0;
        for (int k = 1; k < outputs; k++)
            top = z[k] > top ? z[k] : top;
        for (int k = 0; k < outputs; k++)
            all += fm_exp(z[k] - top);
        for (int k = 0; k < outputs; k++)
            out[k] += fm_exp(z[k] - top) / all;
    }
}

void net_scores_out(const struct net_head *h, const float *z, int64_t pad, int64_t rows, float *out)
{
    int outputs = net_outputs(&h->net);
    int members = net_members_of(&h->net);

    for (int64_t i = 0; i < rows; i++, out += outputs) {
        for (int k = 0; k < outputs; k++)
            out[k] = 0;
        for (int m = 0; m < members; m++, z += pad)
            member_out(h, z, outputs, out);
        for (int k = 0; k < outputs; k++)
            out[k] /= (float)members;
        if (h->task == ML_REGRESSION) {
            double y = h->mean + h->spread * (double)*out;
            *out = (float)(y < h->lo ? h->lo : y > h->hi ? h->hi : y);
        }
    }
}

/* Rows that are predicted together: a row's score does not depend on them, their memory does. */
static int64_t tile_rows(const struct net *n)
{
    int64_t floats = net_floats(&n->in),
            most = n->in.h == 1 && n->in.w == 1 ? TILE_FLOATS : TILE_FLOATS_IMAGES;

    for (int i = 0; i < n->n; i++)
        floats += 2 * net_floats(&n->block[i].to);
    return MIN(NET_TILE, MAX(1, most / floats));
}

int net_predict(const struct net_head *h, const float *w, const struct net_source *s,
                const int32_t *rows, int64_t count, float *out, struct err *err)
{
    int64_t tile = tile_rows(&h->net);
    struct net_work k;

    if (net_work_init(&k, &h->net, MIN(count, tile), false, err) < 0)
        return -1;
    for (int64_t at = 0; at < count; at += tile) {
        int64_t n = MIN(tile, count - at);
        h->kind->rows(s, &h->net, rows ? rows + at : NULL, at, n, k.x);
        if (k.codes)
            h->kind->codes(s, &h->net, rows ? rows + at : NULL, at, n, k.codes);
        net_forward(&h->net, w, &k, n, NULL);
        net_scores_out(h, net_scores(&h->net, &k), h->net.block[h->net.n - 1].to.pad, n,
                       out + at * net_outputs(&h->net));
    }
    net_work_fini(&k);
    return 0;
}

int net_lane_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps, float *out,
                             struct err *err)
{
    struct net_lane *l = lane->state;

    (void)d;
    int rc = steps == lane->steps_done ? net_device_score(l, out, err) : 0;
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (net_device_fetch(l, false, err) < 0)
        return -1;
    return net_predict(&l->head, net_weights_at(l, lane, steps), &l->source, l->r.held, l->r.n_held,
                       out, err);
}

int net_lane_predict_held(struct ml_data *d, const struct lane *lane, float *out, struct err *err)
{
    return net_lane_predict_held_at(d, lane, lane->steps_done, out, err);
}
