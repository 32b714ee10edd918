/* rescue.c - completes the best paused trial. Nothing of it need outlast a restart: a trial that is queued while its study
 * finishes is cancelled then, and the best completed one ships. */
#include "controller/decide/rescue.h"

#include "base/log.h"
#include "controller/decide/budget.h"
#include "controller/problem/config.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"

#include <inttypes.h>
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
    struct trial_row row = { 0 };
    struct config c;
    int rc = trial_load(st, number, &row, err);

    if (rc == 0 && row.checkpoint[0] && row.checkpoint_level == row.level &&
        row.level < row.max_level && config_parse_text(&c, row.config, NULL) == 0)
        rc = ladder_is_whole(&st->problem, c.family, c.params, row.level);
    trial_row_fini(&row);
    return rc;
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

int rescue_begin(struct study *st, struct err *err)
{
    int64_t now = ctl_now(st->ctl), hard = budget_hard_ms(st), number = 0;
    struct trial_row row = { 0 };

    st->rescue = 0;
    if (st->count[TS_PAUSED] == 0 || !st->problem.is_ready || !st->sampler ||
        (hard != INT64_MAX && hard - now < NEED_MS))
        return 0;
    number = pick(st, err);
    if (number <= 0)
        return (int)number;
    int rc = trial_load(st, number, &row, err);
    if (rc == 0) {
        row.run_to = row.level + 1; /* beyond its checkpoint; it will not train */
        row.reason = TR_NONE;
        log_info("study.rescue study=%" PRId64 " number=%" PRId64, st->row.id, number);
        rc = trial_move(st, &row, TE_PROMOTE, json_pack("{s:i}", "to", row.run_to), NULL, err);
    }
    trial_row_fini(&row);
    if (rc < 0)
        return -1;
    st->rescue = number;
    st->rescue_until = MIN(now + WAIT_MS, hard);
    return 0;
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
