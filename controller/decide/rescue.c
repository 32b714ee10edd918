/* rescue.c - completes the best paused trial. Nothing of it need outlast a restart: a trial that is queued while its study
 * finishes is then cancelled, and the best completed one ships. Called by finish.c. */
#include "controller/decide/rescue.h"

#include "controller/decide/budget.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"

#include <math.h>

/* A runner that is there asks at once; with none, a stop by a user should not take longer than this. */
enum { WAIT_MS = 3000, NEED_MS = 50 };

static bool beats(const struct study *st, int64_t number, int64_t other)
{
    const struct trial_mem *t = &st->trials[number - 1];

    return !isnan(t->score) &&
           (!other || study_gain(st, t->score) > study_gain(st, st->trials[other - 1].score));
}

/* 1, 0 = it has nothing to complete with, -1. */
static int can_complete(struct study *st, int64_t number, struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct config c;

    CHECK(t->state == TS_PAUSED);
    if (t->checkpoint_level < 1 || t->checkpoint_level != t->level || t->level >= t->max_level)
        return 0;
    if (trial_config(st, number, &c, err) < 0)
        return -1;
    return c.family && ladder_is_whole(&st->problem, c.family, c.params, t->level);
}

/* The best one there is: its number, 0, -1. */
static int64_t pick(struct study *st, struct err *err)
{
    int64_t best = board_best(st), found = 0;

    for (int64_t k = 1; k <= st->n_trials; k++) {
        int rc = 0;

        if (st->trials[k - 1].state != TS_PAUSED || !beats(st, k, found ? found : best))
            continue;
        if ((rc = can_complete(st, k, err)) < 0)
            return -1;
        if (rc == 1)
            found = k;
    }
    return found;
}

int rescue_next(struct study *st, struct actions *out, struct err *err)
{
    int64_t now = ctl_now(st->ctl), hard = budget_hard_ms(st), number = 0;
    struct action *a = NULL;

    CHECK(st->row.state == SS_FINISHING);
    if (st->count[TS_PAUSED] == 0 || rescue_waits(st) || !st->problem.is_ready || !st->search ||
        (hard != INT64_MAX && hard - now < NEED_MS))
        return 0;
    number = pick(st, err);
    if (number <= 0)
        return (int)number;
    a = action_add(out, ACT_RESCUE, number);
    a->to = trial_mem(st, number)->level + 1; /* beyond its checkpoint; it will not train */
    a->until_ms = MIN(now + WAIT_MS, hard);
    return 1;
}

bool rescue_waits(const struct study *st)
{
    return st->rescue && st->trials[st->rescue - 1].state == TS_QUEUED &&
           ctl_now(st->ctl) < st->rescue_until;
}

bool rescue_holds(const struct study *st, int64_t number)
{
    return st->rescue == number && rescue_waits(st);
}

int64_t rescue_due(const struct study *st)
{
    return rescue_waits(st) ? st->rescue_until : INT64_MAX;
}
