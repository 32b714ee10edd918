/* bracket_state.c - the bytes of synchronous brackets, and their rungs for those who look. Saved are the roster, the ladders
 * and what of a bracket does not follow from its plan and its trials; a state is believed only when every trial stands where
 * its bracket is, so that what is loaded can go on. */
#include "search/contract/state.h"
#include "search/schedulers/bracket.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { VERSION = 1 };

/* ---- rows for those who look ---- */

static void bracket_rows(const struct bracket_table *t, const struct bracket *b,
                         const struct bracket_plan *p, struct sched_rung *rows)
{
    const struct bracket_ladder *l = &t->ladders[b->ladder];

    for (int k = 0; k < p->n; k++) {
        rows[k] = (struct sched_rung){ .group = l->group,
                                       .max_level = l->max_level,
                                       .bracket = b->nth,
                                       .rung = k,
                                       .level = p->level[k],
                                       .size = p->size[k],
                                       .best = b->best[k] };
    }
    for (size_t i = 0; i < b->members.n; i++) {
        const struct roster_entry *e = roster_find(&t->roster, b->members.ids[i]);
        bool is_called = e->state == ROSTER_CALLED; /* it still pauses at the rung below */
        int rung = e->rung - is_called;
        for (int k = 0; k < rung; k++)
            rows[k].n_promoted++;
        rows[rung].n_running += e->state == ROSTER_RUNNING;
        rows[rung].n_waiting += e->state == ROSTER_PAUSED || is_called;
        rows[rung].n_done +=
            e->state == ROSTER_LOST || e->state == ROSTER_STOPPED || e->state == ROSTER_ENDED;
    }
}

static int ladder_order(const void *x, const void *y)
{
    const struct bracket_ladder *a = *(struct bracket_ladder *const *)x;
    const struct bracket_ladder *b = *(struct bracket_ladder *const *)y;

    return a->group != b->group ? (a->group > b->group) - (a->group < b->group)
                                : (a->max_level > b->max_level) - (a->max_level < b->max_level);
}

/* Rows of one ladder's brackets; at: the position of the first one. Returns the position past the last. */
static int describe_ladder(const struct bracket_table *t, int ladder, int at, int first, int n,
                           struct sched_rung *out)
{
    for (int i = 0; i < t->n_brackets; i++) {
        const struct bracket *b = &t->brackets[i];
        struct sched_rung rows[RUNG_MAX] = { { 0 } };
        struct bracket_plan plan;
        if (b->ladder != ladder)
            continue;
        bracket_plan_of(t, b, &plan);
        if (at < first + n && at + plan.n > first)
            bracket_rows(t, b, &plan, rows);
        for (int k = 0; k < plan.n; k++, at++) {
            if (at >= first && at - first < n)
                out[at - first] = rows[k];
        }
    }
    return at;
}

int bracket_describe(const struct scheduler *s, int first, int n, struct sched_rung *out)
{
    const struct bracket_table *t = (const struct bracket_table *)s;
    struct bracket_ladder **order =
        mem_array((size_t)t->n_ladders, sizeof(struct bracket_ladder *));
    int at = 0;

    for (int i = 0; i < t->n_ladders; i++)
        order[i] = &t->ladders[i];
    qsort(order, (size_t)t->n_ladders, sizeof(struct bracket_ladder *), ladder_order);
    for (int i = 0; i < t->n_ladders; i++)
        at = describe_ladder(t, (int)(order[i] - t->ladders), at, first, n, out);
    mem_free(order);
    return at;
}

/* ---- saving ---- */

static struct state_head head_of(const struct bracket_table *t)
{
    return (struct state_head){ t->base.ops->name, VERSION,
                                state_fingerprint(t->options, t->n_options), t->base.seed };
}

static int bracket_put(const struct bracket_table *t, const struct bracket *b, struct buf *out,
                       struct err *err)
{
    struct bracket_plan plan;

    bracket_plan_of(t, b, &plan);
    if (buf_put_u32(out, (uint32_t)b->ladder, err) < 0 ||
        buf_put_u32(out, (uint32_t)b->rung, err) < 0 || buf_put_u8(out, b->is_closed, err) < 0 ||
        buf_put_u64(out, (uint64_t)b->n_in, err) < 0)
        return -1;
    for (int k = 0; k < plan.n; k++) {
        if (buf_put_f64(out, b->best[k], err) < 0)
            return -1;
    }
    return 0;
}

int bracket_save(const struct scheduler *s, struct buf *out, struct err *err)
{
    const struct bracket_table *t = (const struct bracket_table *)s;
    struct state_head head = head_of(t);

    if (state_put(out, &head, err) < 0 || roster_save(&t->roster, out, err) < 0 ||
        buf_put_u32(out, (uint32_t)t->n_ladders, err) < 0)
        return -1;
    for (int i = 0; i < t->n_ladders; i++) {
        if (buf_put_u32(out, (uint32_t)t->ladders[i].group, err) < 0 ||
            buf_put_u32(out, (uint32_t)t->ladders[i].max_level, err) < 0)
            return -1;
    }
    if (buf_put_u32(out, (uint32_t)t->n_brackets, err) < 0)
        return -1;
    for (int i = 0; i < t->n_brackets; i++) {
        if (bracket_put(t, &t->brackets[i], out, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- loading ---- */

static int damaged(struct err *err)
{
    return err_set(err, ERR_ARG, "saved state is damaged: brackets and trials differ");
}

static int ladders_load(struct bracket_table *t, struct view *in, struct err *err)
{
    uint32_t n = 0, group = 0, max_level = 0;

    if (view_u32(in, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) { /* a false count ends at the end of the bytes */
        if (view_u32(in, &group, err) < 0 || view_u32(in, &max_level, err) < 0)
            return -1;
        if (max_level < 1 || max_level > INT32_MAX)
            return damaged(err);
        int before = t->n_ladders;
        (void)bracket_ladder_at(t, (int)group, (int)max_level);
        if (t->n_ladders == before)
            return damaged(err);
    }
    return 0;
}

static int bracket_get(struct bracket_table *t, struct view *in, struct err *err)
{
    uint32_t ladder = 0, rung = 0;
    struct bracket_plan plan;
    uint8_t is_closed = 0;
    uint64_t n_in = 0;

    if (view_u32(in, &ladder, err) < 0 || view_u32(in, &rung, err) < 0 ||
        view_u8(in, &is_closed, err) < 0 || view_u64(in, &n_in, err) < 0)
        return -1;
    /* Only the last of a ladder may still fill. */
    if (ladder >= (uint32_t)t->n_ladders || is_closed > 1 || n_in > t->roster.n ||
        t->ladders[ladder].filling >= 0)
        return damaged(err);
    struct bracket *b = bracket_add(t, (int)ladder);
    bracket_plan_of(t, b, &plan);
    bool is_full = plan.size[0] > 0 && (int64_t)n_in == plan.size[0];
    if (rung >= (uint32_t)plan.n || (plan.size[0] && (int64_t)n_in > plan.size[0]) ||
        (is_full && is_closed) || (!is_full && !is_closed && rung > 0))
        return damaged(err);
    b->rung = (int)rung;
    b->is_closed = is_closed;
    b->n_in = (int64_t)n_in;
    if (is_full || is_closed)
        t->ladders[ladder].filling = -1;
    for (int k = 0; k < plan.n; k++) {
        if (view_f64(in, &b->best[k], err) < 0)
            return -1;
    }
    return 0;
}

/* Gives each trial to its bracket. */
static int member_add(struct bracket_table *t, const struct roster_entry *e, struct err *err)
{
    if (e->home >= t->n_brackets)
        return damaged(err);
    struct bracket *b = &t->brackets[e->home];
    bool is_here = e->rung == b->rung;
    bool is_pending = e->state == ROSTER_RUNNING || e->state == ROSTER_CALLED;
    if (e->rung > b->rung || ((is_pending || e->state == ROSTER_PAUSED) && !is_here) ||
        (e->state == ROSTER_CALLED && e->rung == 0) || e->flags > BRACKET_FINAL ||
        (e->flags && (e->state != ROSTER_ENDED || isnan(e->value))) ||
        (e->state == ROSTER_PAUSED && isnan(e->value)))
        return damaged(err);
    b->n_pending += is_pending;
    id_set_add(&b->members, e->trial);
    if (e->state == ROSTER_CALLED)
        id_set_add(&t->called, e->trial);
    if (e->state == ROSTER_LOST)
        id_set_add(&t->lost, e->trial);
    return 0;
}

/* A bracket that no longer fills either has somebody to wait for or nobody waits in it. */
static int members_load(struct bracket_table *t, struct err *err)
{
    for (size_t i = 0; i < t->roster.n; i++) {
        if (member_add(t, &t->roster.entries[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < t->roster.n; i++) {
        const struct roster_entry *e = &t->roster.entries[i];
        const struct bracket *b = &t->brackets[e->home];
        bool is_filling = t->ladders[b->ladder].filling == e->home;
        if (e->state == ROSTER_PAUSED && !is_filling && b->n_pending == 0)
            return damaged(err);
    }
    for (int i = 0; i < t->n_brackets; i++) {
        if (t->brackets[i].n_in > (int64_t)t->brackets[i].members.n)
            return damaged(err);
    }
    return 0;
}

int bracket_load(struct scheduler *s, struct view *in, struct err *err)
{
    struct bracket_table *t = (struct bracket_table *)s;
    struct state_head head = head_of(t);
    uint32_t n = 0;

    if (state_check(in, &head, err) < 0 || roster_load(&t->roster, in, err) < 0 ||
        ladders_load(t, in, err) < 0 || view_u32(in, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (bracket_get(t, in, err) < 0)
            return -1;
    }
    return members_load(t, err) < 0 ? -1 : state_end(in, err);
}
