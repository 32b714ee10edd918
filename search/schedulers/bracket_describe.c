/* bracket_describe.c - the rungs of synchronous brackets as rows, for the page and the API
 * (describe in scheduler.h), sorted by ladder and then in the order in which the brackets
 * opened. */
#include "search/schedulers/bracket.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* All rungs of one bracket, with its trials counted by what they do there. */
static void bracket_rows(const struct bracket_table *t, const struct bracket *b,
                         const struct bracket_plan *p, struct sched_rung *rows)
{
    const struct bracket_ladder *l = &t->ladders[b->ladder];

    for (int k = 0; k < p->n; k++) {
        rows[k] = (struct sched_rung){ .family = l->family,
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

    return a->family != b->family ? (a->family > b->family) - (a->family < b->family)
                                  : (a->max_level > b->max_level) - (a->max_level < b->max_level);
}

/* Rows of one ladder's brackets; at: the position of the first one. Returns the position past the
 * last. */
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
