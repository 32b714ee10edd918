/* net_device_train.c - epochs of the lanes of a group on a device. A round is an epoch of every lane: lanes that have fewer
 * batches wait for the others at its end. Lanes in the same epoch of the same fold read one order of rows. Rates, dropout and
 * batches of each step come from the functions that the CPU uses (net_train.c). */
#include "ml/net/net_device_group.h"

#include "base/base.h"

#include <string.h>

static bool is_behind(const struct net_group *v, int slot)
{
    const struct lane *lane = v->by[slot];

    return lane && !lane->failed && lane->steps_done < v->until[slot];
}

/* ---- orders of rows ---- */

static bool feed_fits(const struct net_feed *f, const struct net_lane *l, const struct lane *lane)
{
    return f->order_seed == l->order_seed && f->epoch == lane->steps_done &&
           f->rows == l->r.n_train;
}

static int feed_fill(struct net_group *v, int feed, struct net_lane *l, const struct lane *lane,
                     struct err *err)
{
    net_order(l, lane);
    for (int64_t i = 0; i < l->r.n_train; i++) {
        int32_t place = l->order[i];
        v->rows[i] = l->r.train[place];
        if (l->label)
            v->targets[i] = l->label[place];
        else
            memcpy(&v->targets[i], &l->target[place], sizeof v->targets[i]);
    }
    v->feeds[feed].rows = -1; /* holds nothing while it is written */
    if (v->ops->feed_put(v->g, feed, v->rows, v->targets, l->r.n_train, err) < 0)
        return -1;
    v->feeds[feed] = (struct net_feed){ l->order_seed, lane->steps_done, l->r.n_train, false };
    return 0;
}

/* The feed with the lane's order; -1 = all are in use by other lanes of the round, -2 = error. */
static int feed_find(struct net_group *v, struct net_lane *l, const struct lane *lane,
                     struct err *err)
{
    int free = -1;

    for (int i = 0; i < v->in.feeds - 1; i++) {
        if (feed_fits(&v->feeds[i], l, lane)) {
            v->feeds[i].is_in_use = true;
            return i;
        }
        free = free < 0 && !v->feeds[i].is_in_use ? i : free;
    }
    if (free < 0)
        return -1;
    if (feed_fill(v, free, l, lane, err) < 0)
        return -2;
    v->feeds[free].is_in_use = true;
    return free;
}

/* ---- a round ---- */

/* Which lanes take part, and where their rows are; a lane for whose order there is no room waits for another round. The state
 * of those that begin an epoch is kept aside. */
static int round_begin(struct net_group *v, struct err *err)
{
    bool keeps = false;

    for (int i = 0; i < v->in.feeds - 1; i++)
        v->feeds[i].is_in_use = false;
    for (int i = 0; i < v->in.slots; i++) {
        struct net_lane *l = v->lanes[i];
        v->feed_of[i] = is_behind(v, i) ? feed_find(v, l, v->by[i], err) : -1;
        if (v->feed_of[i] < -1)
            return -1;
        v->marks[i] = v->feed_of[i] >= 0 && l->at == 0;
        keeps = keeps || v->marks[i];
    }
    if (keeps && v->ops->keep(v->g, v->marks, err) < 0)
        return -1;
    for (int i = 0; i < v->in.slots; i++) {
        if (v->feed_of[i] < 0)
            continue;
        v->lanes[i]->has_whole = v->lanes[i]->has_whole || v->marks[i];
        v->lanes[i]->away = NET_AWAY;
        net_group_forget(v, i);
    }
    return 0;
}

/* The parts of a batch, or of this rank's rows of it, if the device's steps have room for all of them; out: the first. Returns
 * their number, or 0. */
static int step_fill(const struct net_group *v, const struct net_lane *l, const struct lane *lane,
                     int64_t batch, int feed, int room, struct ml_net_step *out)
{
    static const enum net_role role_of[ML_NET_ROLES] = {
        [ML_NET_WEIGHTS] = NET_WEIGHTS, [ML_NET_BIASES] = NET_BIASES, [ML_NET_SCALES] = NET_SCALES
    };
    struct net_step s;
    int64_t first = 0, rows = 0;

    net_step_plan(l, lane, batch, &s);
    if (v->hosts)
        rows = net_team_rows(v, s.rows, &first);
    else
        rows = s.rows;
    int parts = (int)net_parts(rows);
    if (parts > room)
        return 0;
    struct ml_net_step step = { .from = s.from + first,
                                .stream = net_drop_stream(s.number),
                                .feed = feed,
                                .drop = s.dropout,
                                .beta1 = s.adam[0].beta1,
                                .beta2 = s.adam[0].beta2,
                                .eps = s.adam[0].eps,
                                .fix_m = s.adam[0].fix_m,
                                .fix_v = s.adam[0].fix_v,
                                .batch_rows = (int32_t)s.rows };
    for (int r = 0; r < ML_NET_ROLES; r++) {
        step.rate[r] = s.adam[role_of[r]].rate;
        step.decay[r] = s.adam[role_of[r]].decay;
    }
    for (int i = 0; i < parts; i++, out += v->in.slots) {
        int64_t before = net_part_begin(rows, i), n = net_part_begin(rows, i + 1) - before;
        *out = step;
        out->from += before;
        out->rows = (int32_t)n;
        out->rows_before = (int32_t)(first + before);
        out->share = (float)((double)n / (double)s.rows);
        out->part = parts == 1       ? (v->hosts ? ML_NET_ONLY_PART : ML_NET_WHOLE)
                    : i == 0         ? ML_NET_FIRST_PART
                    : i + 1 == parts ? ML_NET_LAST_PART
                                     : ML_NET_MIDDLE_PART;
    }
    return parts;
}

static bool is_training(const struct net_group *v, int slot)
{
    return v->feed_of[slot] >= 0 && !v->by[slot]->failed &&
           v->lanes[slot]->at < v->lanes[slot]->batches;
}

/* Whole batches of each lane, as many as one call of the device takes, or as are left in the round. Returns the steps. */
static int steps_fill(struct net_group *v)
{
    int slots = v->in.slots, n = 0;

    memset(v->steps, 0, (size_t)v->in.steps * (size_t)slots * sizeof *v->steps);
    for (int i = 0; i < slots; i++) {
        const struct net_lane *l = v->lanes[i];
        int used = 0, more = is_training(v, i);
        int64_t end = more ? l->batches : 0;
        if (more && v->hosts)
            end = MIN(end, l->at + net_team_batches(v, l));
        for (int64_t batch = more ? l->at : 0; more && batch < end; batch++) {
            more = step_fill(v, l, v->by[i], batch, v->feed_of[i], v->in.steps - used,
                             &v->steps[(int64_t)used * slots + i]);
            used += more;
        }
        n = MAX(n, used);
    }
    return n;
}

/* The loss of a batch from those of its parts; told: of the first, `stride` apart. Of several ranks' the last one tells it. */
static double loss_of(const struct net_group *v, const struct net_step *s, int64_t parts,
                      const struct ml_net_told *told)
{
    int stride = v->in.slots;
    double loss = 0;

    if (parts == 1 || v->hosts)
        return told[(parts - 1) * stride].loss;
    for (int64_t i = 0; i < parts; i++) {
        int64_t rows = net_part_begin(s->rows, i + 1) - net_part_begin(s->rows, i);
        loss += (double)rows / (double)s->rows * told[i * stride].loss;
    }
    return loss;
}

/* The lane has made `done` steps, which are whole batches unless it diverged. */
static void batches_count(struct net_group *v, int slot, int done)
{
    struct net_lane *l = v->lanes[slot];
    struct net_step s;

    for (int64_t at = 0, parts = 0; at < done; at += parts) {
        const struct ml_net_step *step = &v->steps[at * v->in.slots + slot];
        const struct ml_net_told *told = &v->told[at * v->in.slots + slot];
        parts = 1;
        if (step->part == ML_NET_WHOLE) { /* all that a note needs, without planning it again */
            s.from = step->from;
            s.rows = step->rows;
            s.adam[NET_WEIGHTS].rate = step->rate[ML_NET_WEIGHTS];
        } else {
            int64_t from = 0;
            net_step_plan(l, v->by[slot], l->at, &s);
            parts = net_parts(v->hosts ? net_team_rows(v, s.rows, &from) : s.rows);
        }
        if (at + parts > done)
            return;
        if (v->by[slot]->log)
            net_note_step(l, &s, loss_of(v, &s, parts, told),
                          told[(parts - 1) * v->in.slots].length);
        l->at++;
    }
}

static int steps_make(struct net_group *v, int n, struct err *err)
{
    int rc = v->team ? v->ops->team_steps(v->g, v->team, v->steps, n, v->ends, v->told, err)
                     : v->ops->steps(v->g, v->steps, n, v->ends, v->told, err);

    if (rc < 0)
        return -1;
    for (int i = 0; i < v->in.slots; i++) {
        if (!is_training(v, i))
            continue;
        batches_count(v, i, v->ends[i].done);
        if (v->ends[i].diverged)
            net_fail_loss(v->lanes[i], v->by[i]);
    }
    return 0;
}

/* Lanes at the end of their epoch stand between two epochs. */
static int round_end(struct net_group *v, struct err *err)
{
    uint8_t finite[ML_NET_SLOTS];
    bool is_any = false;

    for (int i = 0; i < v->in.slots; i++) {
        struct net_lane *l = v->lanes[i];
        v->marks[i] = v->feed_of[i] >= 0 && !v->by[i]->failed && l->at == l->batches;
        if (!v->marks[i])
            continue;
        l->at = 0;
        v->by[i]->steps_done++;
        if (v->by[i]->log)
            net_note_epoch(l, v->by[i]);
        is_any = true;
    }
    if (is_any && v->ops->finite(v->g, finite, err) < 0)
        return -1;
    for (int i = 0; i < v->in.slots; i++) {
        if (v->marks[i] && !finite[i])
            net_fail_weights(v->lanes[i], v->by[i]);
    }
    return 0;
}

static bool is_any_behind(const struct net_group *v)
{
    for (int i = 0; i < v->in.slots; i++) {
        if (is_behind(v, i))
            return true;
    }
    return false;
}

int net_group_train(struct net_group *v, const struct ml_stop *stop, struct err *err)
{
    /* ranks stop together, and therefore only after some steps */
    int is_stopped = !v->hosts && ml_stop_now(stop);

    while (!is_stopped && is_any_behind(v)) {
        int n = 0;
        if (round_begin(v, err) < 0)
            return -1;
        while (!is_stopped && (n = steps_fill(v)) > 0) {
            if (steps_make(v, n, err) < 0)
                return -1;
            is_stopped = net_team_agrees(v, ml_stop_now(stop), err);
            if (is_stopped < 0)
                return -1;
        }
        if (round_end(v, err) < 0)
            return -1;
    }
    return !is_any_behind(v);
}
