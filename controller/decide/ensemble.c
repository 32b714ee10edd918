/* ensemble.c - whether there is to be an ensemble (ensemble.h). Called by decide.c, finish.c and
 * settle/, and by serve/dispatch.c for its grants. */
#include "controller/decide/ensemble.h"

#include "controller/decide/budget.h"
#include "controller/state/board.h"
#include "controller/state/ctl.h"
#include "controller/state/honest.h"
#include "controller/state/objective.h"
#include "controller/state/runner.h"

/* NEED_MS: less time than this is not worth a try; what is late costs nothing but the try.
 * EARLY_MS: the first early one, or half of the time; shorter ones than EARLY_LEAST_MS have none, and
 * after EARLY_LAST_PERCENT of the time the last one is near enough.
 * MODELS_BYTES: what a runner may have to download. */
enum { NEED_MS = 60, EARLY_MS = 60000, EARLY_LEAST_MS = 30000, EARLY_LAST_PERCENT = 80 };
#define MODELS_BYTES (INT64_C(768) << 20)

bool ensemble_keeps(const struct study *st)
{
    return st->spec.ensemble > 0 && !st->spec.is_own && st->problem.is_ready &&
           !st->problem.is_undecided && !st->problem.data.time_column[0] &&
           objective_count(st) <= 1;
}

static bool is_candidate(const struct study *st, int64_t number)
{
    const struct trial_mem *t = &st->trials[number - 1];

    /* the baseline, family 0, has nothing to add */
    return t->has_artifact && !t->is_part && t->family > 0;
}

int ensemble_candidates(const struct study *st, int64_t *out, int most)
{
    int64_t bytes = 0;
    int n = 0;

    for (int i = 0; i < st->n_board && n < most; i++) {
        int64_t more = st->trials[st->board[i] - 1].model_bytes;
        if (!is_candidate(st, st->board[i]) || (n > 0 && bytes + more > MODELS_BYTES))
            continue;
        bytes += more;
        out[n++] = st->board[i];
    }
    return n;
}

/* How much of the time is used when the next early one is to be made; INT64_MAX = never. */
static int64_t early_at_ms(const struct study *st)
{
    int64_t all = st->spec.budget_time_ms, at = EARLY_MS;

    if (all > 0 && all < EARLY_LEAST_MS)
        return INT64_MAX;
    if (st->early.tried_ms > 0)
        at = st->early.tried_ms * 2;
    else if (all > 0)
        at = MIN(EARLY_MS, all / 2);
    return all > 0 && at > all / 100 * EARLY_LAST_PERCENT ? INT64_MAX : at;
}

static bool may_be_early(const struct study *st)
{
    return st->row.state == SS_RUNNING && !st->is_deterministic && !st->early.task;
}

bool ensemble_is_due(const struct study *st)
{
    int64_t all = st->spec.budget_time_ms, used = study_used_ms(st);

    if (!may_be_early(st) || used < early_at_ms(st) ||
        (all > 0 && used > all / 100 * EARLY_LAST_PERCENT))
        return false;
    return st->n_board != st->early.n_board && ensemble_wants(st);
}

int64_t ensemble_due(const struct study *st)
{
    int64_t at = may_be_early(st) ? early_at_ms(st) : INT64_MAX, used = study_used_ms(st);

    return at < INT64_MAX && at > used ? ctl_now(st->ctl) + at - used : INT64_MAX;
}

bool ensemble_wants(const struct study *st)
{
    int64_t hard = budget_hard_ms(st), two[2], baseline = honest_baseline(st);

    /* Several models of which none is better than the baseline are no better together. */
    if (baseline && board_best(st) == baseline)
        return false;
    return ensemble_keeps(st) && runner_any_blends(st->ctl) &&
           (hard == INT64_MAX || hard - ctl_now(st->ctl) > NEED_MS) &&
           ensemble_candidates(st, two, 2) == 2;
}
