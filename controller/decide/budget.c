/* budget.c - time and trials of studies. Times are the controller's monotonic clock; what is stored is used_ms, every second
 * of a study with a limit in time, so that a crash forgets at most a second of use. Time while the controller is down is
 * not charged.
 *
 * reserve = max(1 s, 3%, 1.5 x what finishing costs), for budgets under 10 s max(300 or 200 ms, 10%). What finishing costs is
 * measured: the longest time an artifact took to arrive. After a holdout there is the refit too: 1.2 x its estimate from
 * the best trial's own time, if that is at most 30% of the budget; a dearer one is not planned, and the best trial's own
 * model ships. hard = the end less a fifth of the smallest reserve (100 ms at least): what is not done by then is left out.
 * It stands still: a dear trial that becomes the best at the end must not take the time from those that end with it.
 * Only where there is no model at all the first one has 200 ms beyond the end: users are promised half a second.
 *
 * Small tables (10,000 rows at most) with a limit in time and no stop rule of the user's end when the best score is old:
 * no gain in 200 trials and in half of all. More search would fit the validation rows, not the problem.
 */
#include "controller/decide/budget.h"

#include "base/str.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"

#include <inttypes.h>
#include <math.h>

enum {
    SHORT_BUDGET_MS = 10000,
    SMALL_ROWS = 10000,
    PATIENCE_TRIALS = 200,
    OTHERS_SHARE = 10,
    NO_MODEL_MS = 200,
};

int64_t budget_left(const struct study *st)
{
    return st->spec.budget_time_ms ? MAX(st->spec.budget_time_ms - study_used_ms(st), 0)
                                   : INT64_MAX;
}

int64_t budget_refit_ms(const struct study *st)
{
    const struct msg_data *d = &st->problem.data;
    int64_t best = board_best(st);

    if (!st->problem.is_ready || !d->holdout || st->problem.is_undecided || !best)
        return 0;
    return st->trials[best - 1].fit_us * d->folds / MAX(d->folds - 1, 1) / 1000;
}

static int64_t least_reserve(const struct study *st)
{
    int64_t budget = st->spec.budget_time_ms;
    /* Before there is a model beside the baseline's, the one that is cut must come through. */
    int64_t least = st->n_board > 1 ? 200 : 300;

    return budget < SHORT_BUDGET_MS ? MAX(least, budget / 10) : MAX(1000, budget * 3 / 100);
}

int64_t budget_reserve(const struct study *st)
{
    int64_t budget = st->spec.budget_time_ms, refit = budget_refit_ms(st) * 6 / 5;
    int64_t least = least_reserve(st);
    int64_t base = MIN(MAX(least, st->keep_ms * 3 / 2), budget * 2 / 5);

    return refit <= budget * 3 / 10 ? MAX(base, MIN(refit + least / 2, budget * 2 / 5)) : base;
}

/* Monotonic time at which the budget is used up. */
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

int64_t budget_trial_ms(const struct study *st, const char *family)
{
    int64_t own = st->spec.trial_time_ms, share = st->spec.budget_time_ms / OTHERS_SHARE;

    /* On a large table a model that is tried for completeness must not hold its device to the end: its best so far counts. */
    if (!share || !st->space.is_auto || str_eq(family, budget_yardstick(st)->family->name))
        return own;
    return own ? MIN(own, share) : share;
}

bool budget_allows_trial(const struct study *st)
{
    int64_t made = st->is_deterministic ? st->plan.next_number - 1 : st->n_trials;

    if (made >= st->ctl->conf.max_trials)
        return false; /* so that it ends, instead of failing at every one that it asks for */
    return !st->spec.budget_trials || made < st->spec.budget_trials;
}

/* Trials without a gain that end the study; 0 = no such rule. */
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

void budget_note_end(struct study *st, double score)
{
    const struct spec *s = &st->spec;

    st->since_gain++;
    if (!isnan(score) &&
        (isnan(st->best_score) || study_gain(st, score) > study_gain(st, st->best_score))) {
        st->best_score = score;
        st->since_gain = 0;
    }
    if (s->has_stop_score && !isnan(st->best_score) &&
        study_gain(st, st->best_score) >= study_gain(st, s->stop_score))
        st->closing = "the score was reached";
    if (patience(st) && st->since_gain >= patience(st))
        st->closing = "no gain in many trials";
}

bool budget_is_over(const struct study *st)
{
    return st->row.state == SS_RUNNING && ctl_now(st->ctl) >= budget_cut_ms(st);
}
