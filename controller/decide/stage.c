/* stage.c - where a first network stops, and whether it goes on (stage.h). */
#include "controller/decide/stage.h"

#include "controller/decide/budget.h"
#include "controller/decide/share.h"
#include "controller/state/trial.h"

#include <math.h>

/* PART_FOLDS: with fewer folds the part costs too much of the whole: its epochs are 7 of 15, of one
 * fold. */
enum { WHOLE_SHARE = 24, PART_FOLDS = 3 };
/* Parts of the time left that the rest may take, of one that is far behind and of one that chance may
 * have put there. */
static const double FAR_SHARE = 0.5, NEAR_SHARE = 0.8;
/* Standard errors of its score on the fold within which it is not behind. With a quarter of the labels
 * flipped a network had .875 of what boosting had won and ended far ahead: it was 1.3 errors behind. */
static const double ERRORS = 2;
/* A network goes on if it has won this much of what the best trial has won over the baseline. On boxes
 * it had .75 at its stop and .82 in the end, which is far behind; where networks are as good as the
 * best, as with noisy labels and sparse counts, it had .95 and more. */
static const double WON = 0.8;

static int64_t whole_us(const struct study *st, const struct config *c, int top)
{
    return budget_fold_us(st, c, top) * st->problem.shape.folds;
}

int stage_first(const struct study *st, const struct config *c, int to)
{
    if (!share_decides(st) || !st->spec.budget_time_ms || !c->family->has_partial_levels ||
        to < 2 || st->problem.shape.folds < PART_FOLDS)
        return to;
    return whole_us(st, c, to) / 1000 > st->spec.budget_time_ms / WHOLE_SHARE ? to - 1 : to;
}

/* Whether the rest takes at most this part of the time left, by the measured time of the part, so that the
 * speed of the machine and its load count. */
static bool fits(struct study *st, int64_t number, double share)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct config c;

    if (trial_config(st, number, &c, NULL) < 0 || !c.family || t->level < 1)
        return true;
    double part = (double)budget_fold_us(st, &c, t->level);
    double need_ms = (double)t->work_us / 1000 * ((double)whole_us(st, &c, t->max_level) / part);
    return need_ms < share * (double)(budget_left(st) - budget_reserve(st));
}

struct sched_decision stage_next(struct study *st, int64_t number, double score)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct sched_decision go_on = { SCHED_RUN_TO, t->max_level };

    if (!st->families[t->family]->has_partial_levels || !share_decides(st) ||
        !st->spec.budget_time_ms)
        return go_on;
    double chance = isfinite(t->score_se) ? study_gain(st, ERRORS * t->score_se) : 0;
    double won = share_part_won(st, score);
    bool is_near = share_part_won(st, score + chance) >= 1;
    bool goes_on = won >= 1 || (is_near && fits(st, number, NEAR_SHARE)) ||
                   (won >= WON && fits(st, number, FAR_SHARE));
    return goes_on ? go_on : (struct sched_decision){ SCHED_STOP, 0 };
}
