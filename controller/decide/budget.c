/* budget.c - time and trials of studies (budget.h). Times are on the controller's monotonic clock.
 *
 * The reserve is the largest of: 1 s; 3 % of the budget; 1.5 times the longest time that a model
 * took to arrive. If there may be an ensemble, 0.8 s more are for making it, or twice the longest
 * time that a model took to arrive, because a machine with other work reads and writes its members
 * as slowly, or what the ensemble took that was made while the search went on; and while trials are
 * paused 3 % (at most 3 s) for completing its members. Budgets below 10 s reserve 10 %, but at least
 * 200 ms, or 300 ms while there is no model but the baseline's. After a holdout the winner is fitted
 * once more on all rows. For that, 1.2 times its estimated time is reserved, if the estimate is at
 * most 30 % of the budget; otherwise no refit is planned for, and the best trial's own model ships.
 * Nothing reserves more than 40 % of the budget.
 *
 * hard = the end of the budget minus a fifth of the smallest reserve, and at least 100 ms before
 * the end. It does not move with the measured costs, because a costly trial that becomes the best
 * near the end must not shorten the time of those that are ending with it. If there is no model at
 * all, hard lies 200 ms after the end; users are promised that a study ends within half a second of
 * its time.
 *
 * A study on a small table (at most SMALL_ROWS rows) with a limit in time, whose spec has no stop
 * rule, ends when the best score is old: no gain in 200 trials, in half of all trials and for half
 * of the time given. Searching on would fit the validation rows and not the problem. In an
 * automatic space the trials of the family that is best are counted, because hundreds of linear
 * trials of a millisecond say nothing about what a network may still gain. */
#include "controller/decide/budget.h"

#include "base/str.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>

enum {
    SHORT_BUDGET_MS = 10000,
    SMALL_ROWS = 10000,
    PATIENCE_TRIALS = 200,
    LEAD_SHARE = 3, /* where validation is auto, the family that time is planned by gets a third, */
    /* but after a holdout two thirds: a large table may have time for one such trial only */
    HELD_SHARE = 3,
    HELD_SHARES = 2,
    OTHERS_SHARE = 10, /* beside the lead family, others get a tenth of the time for a trial */
    PATH_SHARE = 4,    /* paths of penalties, of which a part says nothing, a quarter */
    /* and networks a third: the epochs of the first one are planned for an eighth, which a machine that
     * is shared takes two or three times as long for */
    PARTIAL_SHARE = 3,
    /* and half where it stops once on its way (stage.h): it goes on only if it is worth that */
    STAGED_SHARE = 2,
    STEEP_TIMES = 2,
    NO_MODEL_MS = 200, /* beyond the end, for the first model */
    ENSEMBLE_MS = 800,
    ENSEMBLE_SHARE = 40, /* but at most a fortieth of the budget, */
    SLOW_SHARE = 20,     /* and where models arrive slowly a twentieth; */
    TAKEN_SHARE = 12,    /* a twelfth, where the one before took so long */
    MEMBERS_MS = 3000,   /* for paused trials that complete as its members, */
    MEMBERS_SHARE = 33,  /* but at most 3 % */
};

int64_t budget_left(const struct study *st)
{
    return st->spec.budget_time_ms ? MAX(st->spec.budget_time_ms - study_used_ms(st), 0)
                                   : INT64_MAX;
}

/* The trial trained on folds - 1 of `folds` parts of the rows, the refit trains on all of them.
 * Forward in time its folds trained on 1 to `folds` of folds + 1 parts. */
int64_t budget_refit_ms(const struct study *st)
{
    const struct msg_data *d = &st->problem.data;
    int64_t best = board_best(st);

    if (!st->problem.is_ready || !problem_refits(&st->problem) || st->problem.is_undecided || !best)
        return 0;
    if (d->time_column[0] && !d->holdout)
        return st->trials[best - 1].fit_us * 2 / MAX(d->folds, 1) / 1000;
    if (d->time_column[0])
        return st->trials[best - 1].fit_us * (d->folds + 1) / MAX(d->folds, 1) / 1000;
    return st->trials[best - 1].fit_us * d->folds / MAX(d->folds - 1, 1) / 1000;
}

static int64_t least_reserve(const struct study *st)
{
    int64_t budget = st->spec.budget_time_ms;
    /* While there is only the baseline, the trial that is cut must have time to deliver its
     * model. */
    int64_t least = st->n_board > 1 ? 200 : 300;

    return budget < SHORT_BUDGET_MS ? MAX(least, budget / 10) : MAX(1000, budget * 3 / 100);
}

/* It takes 100 to 600 ms where nobody else computes. */
int64_t budget_ensemble_ms(const struct study *st)
{
    bool makes_one =
        st->spec.ensemble > 0 && st->problem.is_ready && !st->problem.data.time_column[0];
    int64_t budget = st->spec.budget_time_ms;

    if (!makes_one)
        return 0;
    int64_t ms =
        MAX(MIN(ENSEMBLE_MS, budget / ENSEMBLE_SHARE), MIN(2 * st->keep_ms, budget / SLOW_SHARE));
    return MAX(ms, MIN(st->early.took_ms, budget / TAKEN_SHARE));
}

/* For paused trials that complete at the end (rescue.h). */
static int64_t members_ms(const struct study *st)
{
    int64_t budget = st->spec.budget_time_ms;

    return budget_ensemble_ms(st) > 0 && !problem_refits(&st->problem) &&
                   budget >= SHORT_BUDGET_MS && st->n_paused > 0
               ? MIN(MEMBERS_MS, budget / MEMBERS_SHARE)
               : 0;
}

int64_t budget_reserve(const struct study *st)
{
    int64_t budget = st->spec.budget_time_ms, refit = budget_refit_ms(st) * 6 / 5;
    int64_t least = least_reserve(st);
    int64_t last = budget_ensemble_ms(st) + members_ms(st);
    int64_t base = MIN(MAX(least, st->keep_ms * 3 / 2) + last, budget * 2 / 5);

    return refit <= budget * 3 / 10 ? MAX(base, MIN(refit + least / 2 + last, budget * 2 / 5))
                                    : base;
}

/* Monotonic ms at which the budget is used up; INT64_MAX = there is no limit, or the clock
 * stands. */
static int64_t end_ms(const struct study *st)
{
    if (!st->spec.budget_time_ms || st->clock_from < 0)
        return INT64_MAX;
    return st->clock_from + st->spec.budget_time_ms - st->used_base;
}

int64_t budget_cut_ms(const struct study *st)
{
    int64_t end = end_ms(st);

    return end == INT64_MAX ? end : end - budget_reserve(st);
}

int64_t budget_hard_ms(const struct study *st)
{
    int64_t end = end_ms(st);

    if (end == INT64_MAX)
        return end;
    return st->n_board > 0 ? end - MAX(100, least_reserve(st) / 5) : end + NO_MODEL_MS;
}

bool budget_fits_refit(const struct study *st)
{
    int64_t left = budget_hard_ms(st);

    if (!st->problem.is_ready || !problem_refits(&st->problem) || !board_best(st))
        return false;
    return left == INT64_MAX || left - ctl_now(st->ctl) > budget_refit_ms(st);
}

const struct config *budget_yardstick(const struct study *st)
{
    const struct config *best = NULL;
    int64_t most = 0;

    CHECK(st->space.n_families > 0);
    for (int i = 0; i < st->space.n_families; i++) {
        const struct config *c = &st->space.first[i];
        if (st->space.is_auto && c->family->is_lead)
            return c;
        int64_t cost = family_level_cost(c->family, &st->problem.shape, c->params, 0,
                                         ladder_levels(&st->problem, c->family));

        if (!best || cost > most) {
            best = c;
            most = cost;
        }
    }
    return best;
}

int64_t budget_fold_us(const struct study *st, const struct config *c, int to)
{
    struct family_shape fold = st->problem.shape;

    fold.folds = 1;
    return family_level_cost(c->family, &fold, c->params, 0, to);
}

bool budget_lead_is_dear(const struct study *st)
{
    const struct config *c = budget_yardstick(st);

    if (!st->spec.budget_time_ms || !st->space.is_auto || !c->family->is_lead)
        return false;
    return budget_fold_us(st, c, ladder_levels(&st->problem, c->family)) / 1000 >
           st->spec.budget_time_ms / LEAD_SHARE;
}

/* How much of the time a trial of this family gets at most. */
static int64_t share_of(const struct study *st, const struct trial_mem *t)
{
    const struct family *f = st->families[t->family], *lead = budget_yardstick(st)->family;
    bool is_dear = budget_lead_is_dear(st);
    int64_t all = st->spec.budget_time_ms;

    if (f == lead)
        return st->problem.data.holdout && !is_dear ? all * HELD_SHARES / HELD_SHARE
                                                    : all / LEAD_SHARE;
    if (f->has_partial_levels)
        return all /
               (t->source == SRC_FIRST && t->run_to < t->max_level ? STAGED_SHARE : PARTIAL_SHARE);
    /* The first points of a path of penalties say as little as the first epochs of a network. */
    if (ladder_levels(&st->problem, f) == 1)
        return all / (is_dear ? LEAD_SHARE : PATH_SHARE);
    return all / (lead->is_lead ? OTHERS_SHARE : LEAD_SHARE);
}

int64_t budget_trial_ms(const struct study *st, const struct trial_mem *t)
{
    bool is_lead = st->families[t->family] == budget_yardstick(st)->family;
    int64_t own = st->spec.trial_time_ms, share = share_of(st, t);

    /* On a large table a slow family could hold its device until the end of the study. It is cut
     * instead, and its best result so far counts. Folds that a user asked for take their time. */
    if (!share || !st->space.is_auto || t->source == SRC_CONFIRM ||
        (is_lead && st->spec.validation != VAL_AUTO && !st->problem.data.holdout))
        return own;
    return own ? MIN(own, share) : share;
}

int64_t budget_steep_ms(const struct study *st, const struct trial_mem *t)
{
    const struct family *f = st->families[t->family];
    int64_t ms = budget_trial_ms(st, t), own = st->spec.trial_time_ms;

    if (ms == own || f == budget_yardstick(st)->family || f->has_partial_levels ||
        ladder_levels(&st->problem, f) > 1)
        return 0;
    return own ? MIN(own, ms * STEEP_TIMES) : ms * STEEP_TIMES;
}

bool budget_allows_trial(const struct study *st)
{
    int64_t made = st->is_deterministic ? st->search->plan.next_number - 1 : st->n_trials;

    CHECK(st->search && made >= 0);
    if (made >= st->ctl->conf.max_trials)
        return false; /* the study ends; trial_create would refuse each further trial */
    return !st->spec.budget_trials || made < st->spec.budget_trials;
}

/* How many trials in a row without a gain end the study; 0 = no such rule applies. */
static int64_t patience(const struct study *st)
{
    const struct spec *s = &st->spec;
    int64_t ended = st->n_trials - st->count[TS_QUEUED] - st->count[TS_RUNNING];

    if (s->stop_no_gain_trials >= 0)
        return s->stop_no_gain_trials;
    if (s->has_stop_score || !s->budget_time_ms || st->problem.data.rows > SMALL_ROWS)
        return 0;
    return MAX(PATIENCE_TRIALS, ended / 2);
}

/* Without a rule of the user's, time that was given is used while a gain may still come: half of it
 * must have brought none. Read from the rows, so that a restart finds the same. */
static bool is_late(const struct study *st, int64_t ended_at)
{
    return st->spec.stop_no_gain_trials >= 0 ||
           ended_at - st->search->gain_at >= st->spec.budget_time_ms / 2;
}

/* Whether a trial of this family says that the best score is old: all do where a user set the rule,
 * and while nothing is better than the baseline. */
static bool is_counted(const struct study *st, int8_t family)
{
    int8_t best = st->search->best_family;

    return st->spec.stop_no_gain_trials >= 0 || !st->space.is_auto || best == 0 || family == best;
}

void budget_note_end(struct study *st, int64_t number, double score, int64_t ended_at)
{
    const struct spec *s = &st->spec;
    int8_t family = trial_mem(st, number)->family;

    st->search->since_gain += is_counted(st, family);
    if (!isnan(score) && (isnan(st->search->best_score) ||
                          study_gain(st, score) > study_gain(st, st->search->best_score))) {
        st->search->best_score = score;
        st->search->best_family = family;
        st->search->since_gain = 0;
        st->search->gain_at = ended_at;
    }
    if (s->has_stop_score && !isnan(st->search->best_score) &&
        study_gain(st, st->search->best_score) >= study_gain(st, s->stop_score))
        st->search->closing = "the score was reached";
    if (patience(st) && st->search->since_gain >= patience(st) && is_late(st, ended_at))
        st->search->closing = "no gain in many trials";
}

bool budget_is_over(const struct study *st)
{
    return st->row.state == SS_RUNNING && ctl_now(st->ctl) >= budget_cut_ms(st);
}
