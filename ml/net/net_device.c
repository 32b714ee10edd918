/* net_device.c - which lanes go to a device, and the group that holds them there. Lanes share what they have on the device
 * (net_lane.group, counted): it outlives each of them and ends with the last. A slot that a lane leaves is given to the next
 * one without opening the group anew, where its network is no larger than those that the group was opened for. */
#include "ml/net/net_device_group.h"

#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

/* LANES: that train together, at most. STEPS_MOST: queued at a time. FEEDS_SPARE: orders held beside those of the lanes that
 * the group was opened for. HELD_ROWS: rows scored at a time. */
enum { LANES = 256, STEPS_MOST = 256, FEEDS_SPARE = 2, HELD_ROWS = 8192, NET_ROWS_MOST = 1 << 30 };
/* Operations queued at a time: a hundredth of a second of a device that makes 2e12 of them a second, which is slow. */
#define CHUNK_FLOPS 2e10
/* Operations of one step of all lanes. */
#define STEP_FLOPS 2e11

/* ---- what can go there ---- */

/* Dense blocks, of which the first may have scales; with the parts that follow from it, and nothing else. */
static bool net_suits(const struct net *n)
{
    int parts = 0;

    if (n->n > ML_NET_LAYERS || n->in.h != 1 || n->in.w != 1)
        return false;
    for (int i = 0; i < n->n; i++) {
        const struct net_block *b = &n->block[i];
        if (b->kind != NET_DENSE || b->is_linear != (i + 1 == n->n) || (i > 0 && b->scales) ||
            b->adds || (b->scales && b->at_scales != 0) || b->from.h != 1 || b->from.w != 1)
            return false;
        parts += 2 + b->scales;
    }
    for (int i = 0; i < n->n_parts; i++) {
        if (n->part[i].role != NET_WEIGHTS && n->part[i].role != NET_BIASES &&
            n->part[i].role != NET_SCALES)
            return false;
    }
    return parts == n->n_parts;
}

bool net_device_suits(const struct ml_data *d, const struct net_lane *l)
{
    const struct ml_compute *on = d->spec.device;

    return on && on->ops->net && !l->weight && !l->is_refused && d->rows < NET_ROWS_MOST &&
           net_suits(&l->head.net) && (!l->reduce || net_team_suits(l)) && !l->recipe.augment &&
           l->part == NET_PART;
}

/* ---- leaving and fetching ---- */

void net_group_close(struct net_group *v)
{
    for (int i = 0; v->held && i < v->in.slots; i++)
        net_group_forget(v, i);
    if (v->g)
        v->ops->close(v->g);
    v->g = NULL;
    mem_free(v->lanes);
    mem_free(v->by);
    mem_free(v->until);
    mem_free(v->feeds);
    mem_free(v->feed_of);
    mem_free(v->marks);
    mem_free(v->ends);
    mem_free(v->held);
    mem_try_free(v->rows);
    mem_try_free(v->targets);
    mem_try_free(v->steps);
    mem_try_free(v->told);
    *v = (struct net_group){ .n_refs = v->n_refs,
                             .hosts = v->hosts,
                             .devices = v->devices,
                             .on = v->on,
                             .ops = v->ops,
                             .table = v->table,
                             .source = v->source,
                             .lanes_most = v->lanes_most };
}

static void group_release(struct net_group *v)
{
    if (--v->n_refs > 0)
        return;
    net_group_close(v);
    net_team_part(v);
    if (v->table)
        v->ops->table_free(v->table);
    mem_free(v);
}

void net_device_leave(struct net_lane *l)
{
    struct net_group *v = l->group;

    l->group = NULL;
    l->away = NET_HERE;
    if (!v)
        return;
    if (l->slot >= 0) {
        net_group_forget(v, l->slot);
        v->lanes[l->slot] = NULL;
    }
    l->slot = -1;
    group_release(v);
}

int net_device_fetch(struct net_lane *l, bool with_optimiser, struct err *err)
{
    struct net_group *v = l->group;
    int copies = with_optimiser ? NET_STATES : 1;

    if (l->away == NET_HERE || (l->away == NET_MOMENTS_AWAY && !with_optimiser))
        return 0;
    if (v->ops->lane_get(v->g, l->slot, ML_NET_NOW, copies, l->now, err) < 0 ||
        (l->has_whole && v->ops->lane_get(v->g, l->slot, ML_NET_KEPT, copies, l->whole, err) < 0))
        return -1;
    l->away = with_optimiser ? NET_HERE : NET_MOMENTS_AWAY;
    return 0;
}

int64_t net_device_bytes(const struct net_lane *l)
{
    return l->group ? l->group->bytes / l->group->n_refs : 0;
}

/* Takes the lanes that are not in this call out of their slots; NULL = all lanes. */
static int slots_clear(struct net_group *v, struct lane *const *lanes, int n, struct err *err)
{
    for (int i = 0; v->g && i < v->in.slots; i++) {
        struct net_lane *l = v->lanes[i];
        bool is_here = false;
        for (int k = 0; lanes && k < n; k++)
            is_here = is_here || lanes[k]->state == l;
        if (!l || is_here)
            continue;
        if (net_device_fetch(l, true, err) < 0)
            return -1;
        if (lanes) {
            net_device_leave(l);
        } else {
            l->slot = -1;
            v->lanes[i] = NULL;
        }
    }
    return 0;
}

/* ---- opening a group ---- */

static double flops(const struct net_lane *l)
{
    return 6.0 * (double)l->head.net.size * (double)l->work.rows;
}

/* Widens `in` to what the lane needs. */
static void in_widen(struct ml_net_in *in, const struct net_lane *l)
{
    const struct net *n = &l->head.net;

    in->layers = n->n;
    in->has_parts |= l->part_grad != NULL;
    in->is_team |= l->reduce != NULL;
    in->has_norms = 1;
    in->size = MAX(in->size, n->size);
    in->batch = MAX(in->batch, l->work.rows);
    in->feed_rows = MAX(in->feed_rows, MAX(l->r.n_train, MIN(l->r.n_held, HELD_ROWS)));
    in->score_rows = MAX(in->score_rows, MIN(l->r.n_held, HELD_ROWS));
    in->outputs = net_outputs(n);
    in->pad[0] = MAX(in->pad[0], n->in.pad);
    for (int i = 0; i < n->n; i++)
        in->pad[i + 1] = MAX(in->pad[i + 1], n->block[i].to.pad);
}

/* Parts of the largest batch. */
static int parts_most(const struct net_lane *l)
{
    return (int)net_parts((l->r.n_train + l->batches - 1) / l->batches);
}

static void in_make(const struct net_group *v, struct lane *const *lanes, int n,
                    struct ml_net_in *in)
{
    double of_step = 1;
    int feeds = 0, parts = 1;

    *in = (struct ml_net_in){ .table = v->table, .slots = n };
    for (int i = 0; i < n; i++) {
        const struct net_lane *l = lanes[i]->state;
        bool is_new = true;
        in_widen(in, l);
        of_step += flops(l);
        parts = MAX(parts, parts_most(l));
        for (int k = 0; k < i; k++) {
            const struct net_lane *other = lanes[k]->state;
            is_new = is_new && !(other->order_seed == l->order_seed &&
                                 lanes[k]->steps_done == lanes[i]->steps_done);
        }
        feeds += is_new;
    }
    in->feeds = MIN(n, feeds + FEEDS_SPARE) + 1;
    in->steps = v->on->batch > 0 ? v->on->batch
                                 : (int)MAX(1.0, MIN((double)STEPS_MOST, CHUNK_FLOPS / of_step));
    /* the parts of a batch are queued together */
    in->steps = MAX(in->steps, parts);
}

static bool in_fits(const struct ml_net_in *in, const struct net_lane *l)
{
    struct ml_net_in wide = *in;
    bool fits = true;

    in_widen(&wide, l);
    for (int i = 0; i <= ML_NET_LAYERS; i++)
        fits = fits && wide.pad[i] == in->pad[i];
    return fits && wide.layers == in->layers && wide.outputs == in->outputs &&
           wide.has_parts == in->has_parts && wide.is_team == in->is_team &&
           wide.has_norms == in->has_norms && wide.size == in->size && wide.batch == in->batch &&
           wide.feed_rows == in->feed_rows && wide.score_rows == in->score_rows;
}

static int rooms_take(struct net_group *v, struct err *err)
{
    const struct ml_net_in *in = &v->in;
    size_t slots = (size_t)in->slots, rows = (size_t)in->feed_rows,
           steps = slots * (size_t)in->steps;

    v->lanes = mem_array(slots, sizeof(void *));
    v->by = mem_array(slots, sizeof(void *));
    v->until = mem_array(slots, sizeof *v->until);
    v->feeds = mem_array((size_t)in->feeds, sizeof *v->feeds);
    v->feed_of = mem_array(slots, sizeof *v->feed_of);
    v->marks = mem_array(slots, sizeof *v->marks);
    v->ends = mem_array(slots, sizeof *v->ends);
    v->held = mem_array(slots, sizeof(void *));
    v->rows = mem_try_alloc(rows * sizeof *v->rows);
    v->targets = mem_try_alloc(rows * sizeof *v->targets);
    v->steps = mem_try_alloc(steps * sizeof *v->steps);
    v->told = mem_try_alloc(steps * sizeof *v->told);
    v->bytes = (int64_t)(rows * 8 + steps * (sizeof *v->steps + sizeof *v->told));
    if (v->rows && v->targets && v->steps && v->told)
        return 0;
    return err_set(err, ERR_NOMEM, "no memory for the steps of %d networks", in->slots);
}

/* The first matrix of all rows of the table, as the family makes it. */
static int table_make(struct net_group *v, const struct ml_data *d, const struct net_lane *l,
                      struct err *err)
{
    const struct net *n = &l->head.net;

    if (v->table)
        return 0;
    float *x = mem_try_zalloc((size_t)(d->rows * n->in.pad) * sizeof *x);
    if (!x)
        return err_set(err, ERR_NOMEM, "no memory for the rows of a table");
    l->head.kind->rows(&l->source, n, NULL, 0, d->rows, x);
    int rc = v->ops->table_new(v->on->ctx, x, d->rows, n->in.pad, &v->table, err);
    mem_try_free(x);
    v->source = l->source;
    return rc;
}

static int group_make(struct ml_data *d, struct net_group *v, struct lane *const *lanes, int n,
                      struct err *err)
{
    if (table_make(v, d, lanes[0]->state, err) < 0)
        return -1;
    in_make(v, lanes, n, &v->in);
    if (rooms_take(v, err) < 0 || v->ops->open(v->on->ctx, &v->in, &v->g, err) < 0) {
        net_group_close(v);
        return -1;
    }
    log_debug("net.device lanes=%d layers=%d parameters=%" PRId64 " bytes=%" PRId64, n,
              v->in.layers, v->in.size, v->ops->bytes(&v->in));
    return 0;
}

static int group_open(struct ml_data *d, struct net_group *v, struct lane *const *lanes, int n,
                      struct err *err)
{
    if (slots_clear(v, NULL, 0, err) < 0)
        return -1;
    net_group_close(v);
    int rc = group_make(d, v, lanes, n, err);
    if (v->hosts && net_team_meet(v, rc, err) < 0) {
        net_group_close(v);
        return -1;
    }
    return rc;
}

/* ---- filling slots ---- */

static void describe(const struct net_lane *l, struct ml_net_lane *out)
{
    static const enum ml_net_loss loss_of[] = { [NET_LOSS_CLASSES] = ML_NET_CLASSES,
                                                [NET_LOSS_SQUARE] = ML_NET_SQUARE,
                                                [NET_LOSS_QUANTILE] = ML_NET_QUANTILE };
    const struct net *n = &l->head.net;

    *out = (struct ml_net_lane){ .size = n->size,
                                 .seed = l->seed,
                                 .n_layers = n->n,
                                 .has_scales = n->block[0].scales,
                                 .loss = loss_of[l->loss],
                                 .optimizer = l->recipe.optimizer,
                                 .clip = l->recipe.clip,
                                 .quantile = l->quantile,
                                 .smoothing = (float)l->recipe.smoothing };
    for (int i = 0; i < n->n; i++) {
        const struct net_block *b = &n->block[i];
        out->layer[i] = (struct ml_net_layer){ .in = b->from.c,
                                               .in_pad = b->from.pad,
                                               .out = b->to.c,
                                               .pad = b->to.pad,
                                               .weights = b->at_weights,
                                               .bias = b->at_bias,
                                               .scale = b->scale,
                                               .act = b->act,
                                               .drops = b->drops };
    }
}

static int slot_fill(struct net_group *v, int slot, struct net_lane *l, struct err *err)
{
    struct ml_net_lane lane;

    if (l->group != v) {
        if (net_device_fetch(l, true, err) < 0)
            return -1;
        net_device_leave(l);
        l->group = v;
        v->n_refs++;
    }
    l->part_at = 0; /* a batch that the CPU left between two parts begins anew */
    describe(l, &lane);
    if (v->ops->lane_put(v->g, slot, &lane, l->now, l->has_whole ? l->whole : NULL, err) < 0)
        return -1;
    l->slot = slot;
    v->lanes[slot] = l;
    net_group_forget(v, slot);
    return 0;
}

static bool is_in(const struct net_group *v, const struct net_lane *l)
{
    return v->g && l->group == v && l->slot >= 0;
}

/* Sees that all lanes have slots: those that they have, free ones, those of lanes that are not in this call, or a group that
 * is opened anew. */
static int group_hold(struct ml_data *d, struct net_group *v, struct lane *const *lanes, int n,
                      struct err *err)
{
    int n_new = 0, n_free = 0, slot = 0;
    bool fits = v->g;

    for (int i = 0; v->g && i < v->in.slots; i++)
        n_free += !v->lanes[i];
    for (int i = 0; i < n; i++) {
        n_new += !is_in(v, lanes[i]->state);
        fits = fits && in_fits(&v->in, lanes[i]->state);
    }
    if (fits && n_new == 0)
        return 0;
    if (fits && n <= v->in.slots) {
        if (n_new > n_free && slots_clear(v, lanes, n, err) < 0)
            return -1;
    } else if (group_open(d, v, lanes, n, err) < 0) {
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (is_in(v, lanes[i]->state))
            continue;
        while (v->lanes[slot])
            slot++;
        CHECK(slot < v->in.slots);
        if (slot_fill(v, slot, lanes[i]->state, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- a call ---- */

static struct net_group *group_new(const struct ml_compute *on)
{
    struct net_group *v = mem_zalloc(sizeof *v);

    v->on = on;
    v->ops = on->ops->net;
    v->lanes_most = LANES;
    v->n_refs = 1;
    return v;
}

/* The group that one of the call's lanes has, or a new one; counted. Networks of another depth, or rows of another source, have
 * another group. */
static struct net_group *group_of(struct ml_data *d, struct lane *lanes, int n,
                                  const struct net_lane *like)
{
    for (int i = 0; i < n; i++) {
        const struct net_lane *l = lanes[i].state;
        struct net_group *v = l->group;
        if (v && v->source.x == like->source.x && l->head.net.n == like->head.net.n) {
            v->n_refs++;
            return v;
        }
    }
    struct net_group *v = group_new(d->spec.device);
    v->hosts = like->reduce;
    return v;
}

struct call {
    struct ml_data *d;
    struct lane *lanes;
    int n;
    int64_t *until; /* [n] */
    bool *is_through;
};

/* Lanes that can train with lane `first`, itself included, as many as go at once. */
static int part_pick(const struct call *c, int first, const struct net_group *v, struct lane **part,
                     int *places)
{
    const struct net_lane *like = c->lanes[first].state;
    double sum = 0;
    int m = 0;

    for (int i = first; i < c->n && m < v->lanes_most; i++) {
        const struct net_lane *l = c->lanes[i].state;
        if (c->is_through[i] || l->head.net.n != like->head.net.n ||
            net_outputs(&l->head.net) != net_outputs(&like->head.net) ||
            (m > 0 && (l->reduce || sum + flops(l) > STEP_FLOPS)))
            continue; /* the sums over ranks are those of one lane */
        sum += flops(l);
        places[m] = i;
        part[m++] = &c->lanes[i];
    }
    return m;
}

/* As net_group_train; 2 = no memory on the device. */
static int part_run(const struct call *c, struct net_group *v, struct lane **part,
                    const int *places, int m, const struct ml_stop *stop, struct err *err)
{
    struct err why = { 0 };

    if (group_hold(c->d, v, part, m, &why) < 0) {
        if (err && why.code != ERR_NOMEM)
            *err = why;
        return why.code == ERR_NOMEM ? 2 : -1;
    }
    memset(v->by, 0, (size_t)v->in.slots * sizeof(void *));
    for (int i = 0; i < m; i++) {
        const struct net_lane *l = part[i]->state;
        v->by[l->slot] = part[i];
        v->until[l->slot] = c->until[places[i]];
    }
    int rc = net_group_train(v, stop, err);
    memset(v->by, 0, (size_t)v->in.slots * sizeof(void *));
    return rc;
}

/* As part_run, for lane `first` and those that train with it. */
static int part_try(const struct call *c, int first, struct lane **part, int *places,
                    const struct ml_stop *stop, struct err *err)
{
    struct net_group *v = group_of(c->d, c->lanes, c->n, c->lanes[first].state);
    int m = part_pick(c, first, v, part, places);
    int rc = part_run(c, v, part, places, m, stop, err);

    while (rc == 2 && m > 1) {
        v->lanes_most = (m + 1) / 2;
        m = part_pick(c, first, v, part, places);
        rc = part_run(c, v, part, places, m, stop, err);
    }
    for (int i = 0; i < m; i++)
        c->is_through[places[i]] = true;
    group_release(v);
    return rc;
}

static int64_t until_of(const struct lane *lane, int64_t steps)
{
    const struct net_lane *l = lane->state;
    int64_t most = lane->max_steps ? MIN(l->recipe.epochs, lane->max_steps) : l->recipe.epochs;

    return MIN(lane->steps_done + steps, most);
}

int net_device_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                       const struct ml_stop *stop, struct err *err)
{
    int rc = 1;

    for (int i = 0; i < n; i++) {
        if (!lanes[i].state || !net_device_suits(d, lanes[i].state))
            return 0;
    }
    if (n < 1)
        return 0;
    struct call c = { d, lanes, n, mem_array((size_t)n, sizeof *c.until),
                      mem_array((size_t)n, sizeof *c.is_through) };
    struct lane **part = mem_array((size_t)n, sizeof(void *));
    int *places = mem_array((size_t)n, sizeof *places);
    for (int i = 0; i < n; i++) {
        c.until[i] = until_of(&lanes[i], steps);
        c.is_through[i] = lanes[i].failed || lanes[i].is_done || lanes[i].steps_done >= c.until[i];
    }
    for (int i = 0; i < n && rc == 1; i++) {
        if (!c.is_through[i])
            rc = part_try(&c, i, part, places, stop, err);
    }
    if (rc == 2) {
        log_warn("net.device err=\"its memory does not hold a network: trained on the CPU\"");
        for (int i = 0; i < n; i++)
            ((struct net_lane *)lanes[i].state)->is_refused = true;
    }
    mem_free(c.until);
    mem_free(c.is_through);
    mem_free(part);
    mem_free(places);
    return rc == 2 ? 0 : rc < 0 ? -1 : 1;
}
