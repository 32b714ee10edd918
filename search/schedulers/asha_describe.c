/* asha_describe.c - the rungs of asha as rows, for the page and the API (describe in scheduler.h).
 * Rows are sorted by ladder, then by bracket and rung, so that a page of them does not change with
 * the order in which trials started. */
#include "search/schedulers/asha.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Bracket b begins at rung b of the ladder, so its own rungs count from there. */
static struct sched_rung row_of(const struct asha_ladder *l, int b, int k)
{
    const struct rung *r = &l->tracks[b].rungs[k];

    return (struct sched_rung){ .family = l->family,
                                .max_level = l->max_level,
                                .bracket = b,
                                .rung = k - b,
                                .level = l->rungs.level[k],
                                .best = r->n > 0 ? r->entries[0].value : NAN };
}

/* Counts the trials of bracket b by what they do at each rung. */
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

    return a->family != b->family ? (a->family > b->family) - (a->family < b->family)
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
