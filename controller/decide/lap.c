/* lap.c - which paused trial goes on when the time is nearly over (lap.h). The scheduler is not told:
 * to it the trial waits, and then has ended. */
#include "controller/decide/lap.h"

#include "controller/decide/budget.h"
#include "controller/decide/propose.h"
#include "controller/decide/share.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"

#include <math.h>

/* Laps begin in the last part of the time; what is left is LEAST to MOST quarters of what the trial
 * needs. Earlier, new trials are worth more; later, it would be cut. */
enum { LAST_PART = 3, LEAST = 5, MOST = 12 };

/* The place of the family that most likely ships; 0 = none yet. */
static int leader_of(const struct study *st)
{
    int64_t best = 0;
    struct shares s;

    if (st->n_families == 2)
        return 1; /* the baseline and the one that is searched */
    if (share_decides(st)) {
        share_make(st, &s);
        return s.leader;
    }
    best = board_best(st);
    return best ? st->trials[best - 1].family : 0;
}

/* It waits at a rung, and its checkpoint is that of the rung. */
static bool may_go_on(const struct trial_mem *t, int family)
{
    return t->state == TS_PAUSED && t->family == family && t->level >= 1 &&
           t->checkpoint_level == t->level && t->level < t->max_level && isfinite(t->score) &&
           t->work_us > 0;
}

/* Whether a is higher on its ladder than b, or as high and better. */
static bool is_before(const struct study *st, const struct trial_mem *a, const struct trial_mem *b)
{
    return a->level != b->level ? a->level > b->level
                                : study_gain(st, a->score) > study_gain(st, b->score);
}

int64_t lap_best_paused(const struct study *st, int family)
{
    int64_t best = 0;

    for (int64_t k = 1; k <= st->n_trials; k++) {
        const struct trial_mem *t = &st->trials[k - 1];
        if (may_go_on(t, family) && (!best || is_before(st, t, &st->trials[best - 1])))
            best = k;
    }
    return best;
}

double lap_need_ms(struct study *st, int64_t number, struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct config c;

    if (trial_config(st, number, &c, err) < 0)
        return (double)NAN;
    if (!c.family)
        return INFINITY;
    double done = (double)propose_cost(st, &c, 0, t->level),
           more = (double)propose_cost(st, &c, t->level, t->max_level);
    return (double)t->work_us / 1000 * more / fmax(done, 1);
}

int lap_wanted(struct study *st, int64_t *number, struct err *err)
{
    int64_t left = budget_left(st) - budget_reserve(st);

    if (!st->spec.budget_time_ms || st->count[TS_PAUSED] == 0 || st->spec.is_own ||
        left * LAST_PART > st->spec.budget_time_ms)
        return 0;
    int family = leader_of(st);
    if (!family || st->families[family]->has_partial_levels)
        return 0;
    *number = lap_best_paused(st, family);
    if (!*number)
        return 0;
    double need_ms = lap_need_ms(st, *number, err);
    if (isnan(need_ms))
        return -1;
    return (double)left * 4 >= need_ms * LEAST && (double)left * 4 <= need_ms * MOST;
}
