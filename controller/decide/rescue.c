/* rescue.c - completes the best paused trials (rescue.h). Nothing of it need outlast a restart: a
 * trial that is queued while its study finishes is then cancelled, and the best completed one ships.
 * Called by finish.c; dispatch.c grants the best one first. */
#include "controller/decide/rescue.h"

#include "controller/decide/budget.h"
#include "controller/decide/ensemble.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"

#include <math.h>

/* WAIT_MS: a runner that is there asks at once; with none, a stop by a user should not take longer.
 * NEED_MS: what one trial needs at least.
 * LOAD_SHARE: measured on california_housing, boosting: a quarter of the time of its fit.
 * LOOKS: trials that are not among so many best ones add nothing to an ensemble. */
enum { WAIT_MS = 3000, NEED_MS = 50, LOOKS = 8, LOAD_SHARE = 4 };

static bool beats(const struct study *st, int64_t number, int64_t other)
{
    const struct trial_mem *t = &st->trials[number - 1];

    return !isnan(t->score) &&
           (!other || study_gain(st, t->score) > study_gain(st, st->trials[other - 1].score));
}

/* What a paused trial can complete with: its model, scored on all rows or on those of some folds. */
enum has { HAS_NOTHING, HAS_ALL, HAS_SOME };

/* enum has, or -1. */
static int what_it_has(struct study *st, int64_t number, struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct config c;

    CHECK(t->state == TS_PAUSED);
    if (t->checkpoint_level < 1 || t->checkpoint_level != t->level || t->level >= t->max_level)
        return HAS_NOTHING;
    if (trial_config(st, number, &c, err) < 0)
        return -1;
    if (!c.family)
        return HAS_NOTHING;
    if (ladder_is_whole(&st->problem, c.family, c.params, t->level))
        return HAS_ALL;
    return family_level_is_redone(c.family, &st->problem.shape, c.params, t->level) ? HAS_NOTHING
                                                                                    : HAS_SOME;
}

/* After a holdout the time belongs to the refit of one model. */
static bool completes_many(const struct study *st)
{
    return ensemble_keeps(st) && !problem_refits(&st->problem);
}

/* The trial that a paused one must beat: the best, or the last of those that an ensemble looks at; 0 =
 * every trial will do. */
static int64_t rival(const struct study *st)
{
    if (!completes_many(st))
        return board_best(st);
    return st->n_board >= LOOKS ? st->board[LOOKS - 1] : 0;
}

/* What one takes: its checkpoint is loaded, which costs boosting a prediction of all rows, and its
 * model is sent. */
static int64_t needed_ms(const struct study *st, int64_t number)
{
    return MAX(st->trials[number - 1].fit_us / LOAD_SHARE / 1000, NEED_MS) + st->keep_ms;
}

/* How many of them, the best first, can complete before `hard` and leave time for the ensemble; one
 * can always try. */
static int fitting(const struct study *st, const int64_t *numbers, int n, int64_t hard)
{
    int devices = 0, idle = 0, fit = 0;

    if (hard == INT64_MAX)
        return n;
    runner_capacity(st->ctl, st->row.numeric_sig, &devices, &idle);
    int64_t left = (hard - budget_ensemble_ms(st) - ctl_now(st->ctl)) * MAX(devices, 1);
    for (; fit < n; fit++) {
        left -= needed_ms(st, numbers[fit]);
        if (fit > 0 && left < 0)
            break;
    }
    return fit;
}

/* Up to n of them, best first; returns how many, or -1. */
static int pick(struct study *st, int64_t *out, int n, struct err *err)
{
    int64_t least = rival(st);
    int found = 0;

    CHECK(n >= 1);
    for (int64_t k = 1; k <= st->n_trials; k++) {
        int rc = 0, at = 0;

        if (st->trials[k - 1].state != TS_PAUSED || !beats(st, k, found == n ? out[n - 1] : least))
            continue;
        if ((rc = what_it_has(st, k, err)) < 0)
            return -1;
        if (rc != HAS_ALL)
            continue;
        found = MIN(found + 1, n);
        for (at = found - 1; at > 0 && beats(st, k, out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = k;
    }
    return found;
}

/* Puts the best trial that was scored on some folds in front of the list, if it would ship. One is
 * enough, since an ensemble takes no such trials. Returns how many there are then, or -1. */
static int add_part(struct study *st, int64_t *numbers, int n, int most, struct err *err)
{
    int64_t best = 0, whole = n > 0 ? numbers[0] : 0;

    for (int64_t k = 1; k <= st->n_trials; k++) {
        const struct trial_mem *t = &st->trials[k - 1];
        int rc = 0;

        if (t->state != TS_PAUSED || !beats(st, k, best) || board_outdoes(st, t) ||
            (whole && !board_is_far_better(st, t, &st->trials[whole - 1])))
            continue;
        if ((rc = what_it_has(st, k, err)) < 0)
            return -1;
        best = rc == HAS_SOME ? k : best;
    }
    if (!best)
        return n;
    n = MIN(n + 1, most);
    for (int i = n - 1; i > 0; i--)
        numbers[i] = numbers[i - 1];
    numbers[0] = best;
    return n;
}

int rescue_next(struct study *st, struct actions *out, struct err *err)
{
    int64_t now = ctl_now(st->ctl), hard = budget_hard_ms(st);
    int64_t numbers[STUDY_MAX_RESCUE] = { 0 };
    int n = 0, most = completes_many(st) ? STUDY_MAX_RESCUE - st->n_rescue : 1;

    CHECK(st->row.state == SS_FINISHING);
    if (st->count[TS_PAUSED] == 0 || rescue_waits(st) || !st->problem.is_ready || !st->search ||
        st->n_rescue == STUDY_MAX_RESCUE || (hard != INT64_MAX && hard - now < NEED_MS))
        return 0;
    n = pick(st, numbers, most, err);
    n = n < 0 ? n : add_part(st, numbers, n, most, err);
    n = n > 0 ? fitting(st, numbers, n, hard) : n;
    for (int i = 0; i < n; i++) {
        struct action *a = action_add(out, ACT_RESCUE, numbers[i]);
        a->to = trial_mem(st, numbers[i])->level + 1; /* beyond its checkpoint; it will not train */
        a->until_ms = MIN(now + WAIT_MS, hard);
    }
    return n < 0 ? -1 : n > 0;
}

int64_t rescue_first(const struct study *st)
{
    for (int i = 0; i < st->n_rescue; i++) {
        if (st->trials[st->rescue[i] - 1].state == TS_QUEUED)
            return ctl_now(st->ctl) < st->rescue_until ? st->rescue[i] : 0;
    }
    return 0;
}

bool rescue_waits(const struct study *st)
{
    return rescue_first(st) > 0;
}

bool rescue_holds(const struct study *st, int64_t number)
{
    if (!rescue_waits(st) || st->trials[number - 1].state != TS_QUEUED)
        return false;
    for (int i = 0; i < st->n_rescue; i++) {
        if (st->rescue[i] == number)
            return true;
    }
    return false;
}

int64_t rescue_due(const struct study *st)
{
    return rescue_waits(st) ? st->rescue_until : INT64_MAX;
}
