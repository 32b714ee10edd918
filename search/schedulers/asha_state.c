/* asha_state.c - asha's bytes, and its rungs for those who look. Saved are the ladders with their windows, the roster and
 * what stands at each rung; rungs and levels follow from the options. A state is believed only when rungs and roster say the
 * same: each open place is a paused trial of the roster and each paused trial has one. */
#include "search/contract/state.h"
#include "search/schedulers/asha.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { VERSION = 1 };

/* ---- rows for those who look ---- */

static struct sched_rung row_of(const struct asha_ladder *l, int b, int k)
{
    const struct rung *r = &l->tracks[b].rungs[k];

    return (struct sched_rung){ .group = l->group,
                                .max_level = l->max_level,
                                .bracket = b,
                                .rung = k - b,
                                .level = l->rungs.level[k],
                                .best = r->n > 0 ? r->entries[0].value : NAN };
}

static void count_trials(const struct asha *a, int ladder, int b, struct sched_rung *rows)
{
    for (size_t i = 0; i < a->roster.n; i++) {
        const struct roster_entry *e = &a->roster.entries[i];
        if (e->home != ladder * ASHA_MAX_BRACKETS + b)
            continue;
        for (int k = b; k < e->rung; k++)
            rows[k - b].n_promoted++;
        rows[e->rung - b].n_running += e->state == ROSTER_RUNNING;
        rows[e->rung - b].n_waiting += e->state == ROSTER_PAUSED;
        rows[e->rung - b].n_done += e->state == ROSTER_STOPPED || e->state == ROSTER_ENDED;
    }
}

static int ladder_order(const void *x, const void *y)
{
    const struct asha_ladder *a = *(struct asha_ladder *const *)x;
    const struct asha_ladder *b = *(struct asha_ladder *const *)y;

    return a->group != b->group ? (a->group > b->group) - (a->group < b->group)
                                : (a->max_level > b->max_level) - (a->max_level < b->max_level);
}

int asha_describe(const struct scheduler *s, int first, int n, struct sched_rung *out)
{
    const struct asha *a = (const struct asha *)s;
    struct asha_ladder **order = mem_array((size_t)a->n_ladders, sizeof(struct asha_ladder *));
    int at = 0;

    for (int i = 0; i < a->n_ladders; i++)
        order[i] = &a->ladders[i];
    qsort(order, (size_t)a->n_ladders, sizeof(struct asha_ladder *), ladder_order);
    for (int i = 0; i < a->n_ladders; i++) {
        const struct asha_ladder *l = order[i];
        for (int b = 0; b < l->n_tracks; b++) {
            struct sched_rung rows[RUNG_MAX] = { { 0 } };
            for (int k = b; k < l->rungs.n; k++)
                rows[k - b] = row_of(l, b, k);
            count_trials(a, (int)(l - a->ladders), b, rows);
            for (int k = 0; k < l->rungs.n - b; k++, at++) {
                if (at >= first && at < first + n)
                    out[at - first] = rows[k];
            }
        }
    }
    mem_free(order);
    return at;
}

/* ---- saving ---- */

static struct state_head head_of(const struct asha *a)
{
    return (struct state_head){ a->base.ops->name, VERSION,
                                state_fingerprint(a->options, ASHA_OPTIONS), a->base.seed };
}

static int rung_save(const struct rung *r, struct buf *out, struct err *err)
{
    if (buf_put_u64(out, r->n, err) < 0 || buf_put_u64(out, (uint64_t)r->n_promoted, err) < 0)
        return -1;
    for (size_t i = 0; i < r->n; i++) {
        const struct rung_entry *e = &r->entries[i];
        if (buf_put_f64(out, e->value, err) < 0 || buf_put_u64(out, (uint64_t)e->trial, err) < 0 ||
            buf_put_u8(out, e->is_open, err) < 0)
            return -1;
    }
    return 0;
}

static int ladder_save(const struct asha_ladder *l, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, (uint32_t)l->group, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->max_level, err) < 0)
        return -1;
    for (int k = 0; k < l->rungs.n; k++) {
        if (trust_save(&l->trust[k], out, err) < 0)
            return -1;
    }
    for (int b = 0; b < l->n_tracks; b++) {
        for (int k = b; k < l->rungs.n; k++) {
            if (rung_save(&l->tracks[b].rungs[k], out, err) < 0)
                return -1;
        }
    }
    return 0;
}

int asha_save(const struct scheduler *s, struct buf *out, struct err *err)
{
    const struct asha *a = (const struct asha *)s;
    struct state_head head = head_of(a);

    if (state_put(out, &head, err) < 0 || roster_save(&a->roster, out, err) < 0 ||
        buf_put_u32(out, (uint32_t)a->n_ladders, err) < 0)
        return -1;
    for (int i = 0; i < a->n_ladders; i++) {
        if (ladder_save(&a->ladders[i], out, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- loading ---- */

static int damaged(struct err *err)
{
    return err_set(err, ERR_ARG, "saved state is damaged: rungs and trials differ");
}

/* An open place must be a trial that pauses just there with just that value. */
static bool is_paused_at(const struct asha *a, const struct rung_entry *p, int home, int k)
{
    const struct roster_entry *e = roster_find(&a->roster, p->trial);

    return e && e->state == ROSTER_PAUSED && e->home == home && e->rung == k &&
           e->value == p->value; /* NaN never pauses */
}

static int rung_load(const struct asha *a, struct rung *r, int home, int k, size_t *n_open,
                     struct view *in, struct err *err)
{
    uint64_t n = 0, n_promoted = 0;

    if (view_u64(in, &n, err) < 0 || view_u64(in, &n_promoted, err) < 0)
        return -1;
    if (n_promoted > a->roster.n)
        return damaged(err);
    r->n_promoted = (int64_t)n_promoted;
    for (uint64_t i = 0; i < n; i++) {
        struct rung_entry e = { 0 };
        uint64_t trial = 0;
        uint8_t is_open = 0;
        if (view_f64(in, &e.value, err) < 0 || view_u64(in, &trial, err) < 0 ||
            view_u8(in, &is_open, err) < 0)
            return -1;
        e.trial = (int64_t)trial;
        e.is_open = is_open != 0;
        if (is_open > 1 || (r->n > 0 && !rung_before(&r->entries[r->n - 1], &e)) ||
            (e.is_open && !is_paused_at(a, &e, home, k)))
            return damaged(err);
        rung_add(r, e);
        *n_open += e.is_open;
    }
    return 0;
}

static int ladder_load(struct asha *a, size_t *n_open, struct view *in, struct err *err)
{
    uint32_t group = 0, max_level = 0;
    int before = a->n_ladders;

    if (view_u32(in, &group, err) < 0 || view_u32(in, &max_level, err) < 0)
        return -1;
    if (max_level < 1 || max_level > INT32_MAX)
        return damaged(err);
    struct asha_ladder *l = asha_ladder_add(a, (int)group, (int)max_level);
    if (a->n_ladders == before)
        return damaged(err);
    for (int k = 0; k < l->rungs.n; k++) {
        if (trust_load(&l->trust[k], a->trust_least, in, err) < 0)
            return -1;
    }
    for (int b = 0; b < l->n_tracks; b++) {
        for (int k = b; k < l->rungs.n; k++) {
            if (rung_load(a, &l->tracks[b].rungs[k], before * ASHA_MAX_BRACKETS + b, k, n_open, in,
                          err) < 0)
                return -1;
        }
    }
    return 0;
}

/* Every trial stands on a ladder; those that pause are the open places, no more and no fewer. */
static int roster_check(const struct asha *a, size_t n_open, struct err *err)
{
    size_t n_paused = 0;

    for (size_t i = 0; i < a->roster.n; i++) {
        const struct roster_entry *e = &a->roster.entries[i];
        int ladder = e->home / ASHA_MAX_BRACKETS, b = e->home % ASHA_MAX_BRACKETS;
        if (ladder >= a->n_ladders || b >= a->ladders[ladder].n_tracks || e->rung < b ||
            e->rung >= a->ladders[ladder].rungs.n || e->flags > ASHA_FREE ||
            (e->flags && (e->rung == 0 || e->state != ROSTER_RUNNING)) ||
            (e->state == ROSTER_PAUSED && e->rung + 1 == a->ladders[ladder].rungs.n) ||
            e->state == ROSTER_CALLED || e->state == ROSTER_LOST)
            return damaged(err);
        n_paused += e->state == ROSTER_PAUSED;
        a->ladders[ladder].n_free[MAX(e->rung - 1, 0)] += e->flags;
    }
    return n_paused == n_open ? 0 : damaged(err);
}

int asha_load(struct scheduler *s, struct view *in, struct err *err)
{
    struct asha *a = (struct asha *)s;
    struct state_head head = head_of(a);
    size_t n_open = 0;
    uint32_t n = 0;

    if (state_check(in, &head, err) < 0 || roster_load(&a->roster, in, err) < 0 ||
        view_u32(in, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) { /* a false count ends at the end of the bytes */
        if (ladder_load(a, &n_open, in, err) < 0)
            return -1;
    }
    return roster_check(a, n_open, err) < 0 ? -1 : state_end(in, err);
}
