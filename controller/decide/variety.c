/* variety.c - which paused trial becomes whole for the ensemble's sake (variety.h). Like a last lap
 * (lap.h), the scheduler is not told. */
#include "controller/decide/variety.h"

#include "controller/decide/budget.h"
#include "controller/decide/ensemble.h"
#include "controller/decide/lap.h"
#include "controller/decide/share.h"

#include <math.h>

/* A trial for the ensemble's sake may take one COST_SHARE-th of the time that is left, one that leads on
 * the first fold a LEADS_SHARE-th. */
enum { LAST_PART = 2, COST_SHARE = 4, LEADS_SHARE = 2 };
/* What it must have won over the baseline on the first fold, as a part of what the best has won. */
static const double LEAST_WON = .9;

static int64_t with_config(const struct study *st, uint64_t config)
{
    for (int64_t k = 1; k <= st->n_trials; k++) {
        if (st->trials[k - 1].config == config)
            return k;
    }
    return 0;
}

/* The best paused trial of the script with the other choice of what makes models of this family differ;
 * 0 = none, or one is more than paused. */
static int64_t other_choice(const struct study *st, int family)
{
    const struct family *f = st->families[family];
    int64_t best = 0;

    for (int i = 0; f->differs_by && i < st->search->script_pos; i++) {
        const struct config *c = &st->search->script[i].config;
        int64_t k = c->family == f && c->params[f->differs_by] != f->portfolio(0)[f->differs_by]
                        ? with_config(st, config_hash_of(c))
                        : 0;

        if (!k || st->trials[k - 1].state == TS_PRUNED)
            continue;
        if (st->trials[k - 1].state != TS_PAUSED)
            return 0;
        if (!best ||
            study_gain(st, st->trials[k - 1].score) > study_gain(st, st->trials[best - 1].score))
            best = k;
    }
    return best;
}

/* How many times its cost the time that is left must be; 0 = it stays where it is. After a holdout the
 * end of the time belongs to the refit of one model, which gains more than an ensemble does. */
static int cost_share(const struct study *st, const struct shares *s, int64_t number)
{
    double score = st->trials[number - 1].score;
    int64_t left = budget_left(st) - budget_reserve(st);

    if (s->leader && study_gain(st, score) > s->of[s->leader].first)
        return LEADS_SHARE;
    if (!ensemble_keeps(st) || problem_refits(&st->problem) ||
        left * LAST_PART > st->spec.budget_time_ms)
        return 0;
    return share_part_won(st, score) >= LEAST_WON ? COST_SHARE : 0;
}

int variety_wanted(struct study *st, int64_t *number, struct err *err)
{
    struct shares s;

    if (!st->spec.budget_time_ms || st->count[TS_PAUSED] == 0 || !share_decides(st))
        return 0;
    share_make(st, &s);
    for (int i = 1; i < st->n_families; i++) {
        bool has_none = s.of[i].whole == 0 && s.of[i].n_open == 0;
        int64_t best = has_none ? lap_best_paused(st, i) : i == s.leader ? other_choice(st, i) : 0;
        int times = best ? cost_share(st, &s, best) : 0;

        if (times == 0)
            continue;
        double need_ms = lap_need_ms(st, best, err);
        if (isnan(need_ms))
            return -1;
        if (need_ms * times > (double)(budget_left(st) - budget_reserve(st)))
            continue;
        *number = best;
        return 1;
    }
    return 0;
}
