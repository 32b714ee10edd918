/* confirm.c - which trial is confirmed, and when (confirm.h).
 *
 * It is the trial that would ship if the search ended now. A third of the time is left to others
 * first, because a better one may come that makes it needless. The confirmation must fit into what is
 * left, by the time that the trial took for each of its folds. */
#include "controller/decide/confirm.h"

#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"

enum { WAITS_SHARE = 3 };

/* The time that all folds take with what the trial trained until it was cut. */
static int64_t needed_ms(const struct study *st, const json_t *info, const struct trial_mem *t)
{
    json_int_t folds = MAX(json_integer_value(json_object_get(info, "folds")), 1);

    return t->fit_us / folds * st->problem.data.folds / 1000 * 5 / 4;
}

/* A forest that was cut is known with the trees that it had. */
static void as_it_was(const json_t *info, struct config *c)
{
    const json_t *trees = json_object_get(json_object_get(info, "free"), "trees");
    int at = family_param_find(c->family, "trees");

    if (at >= 0 && json_is_number(trees) && json_number_value(trees) >= 1)
        c->params[at] = json_number_value(trees);
}

int confirm_wanted(struct study *st, int64_t *number, struct config *c, struct err *err)
{
    int64_t left = budget_left(st) - budget_reserve(st), best = board_best(st);
    const struct trial_mem *t = best ? trial_mem(st, best) : NULL;
    struct trial_row row = { 0 };

    if (!t || !t->is_part || t->confirm || !st->spec.budget_time_ms ||
        left > st->spec.budget_time_ms / WAITS_SHARE * (WAITS_SHARE - 1))
        return 0;
    if (trial_load(st, best, &row, err) < 0)
        return -1;
    json_t *info = trial_info(&row);
    bool fits = needed_ms(st, info, t) < left;
    int rc = fits ? trial_config(st, best, c, err) : 0;
    if (rc == 0 && fits && c->family)
        as_it_was(info, c);
    json_decref(info);
    trial_row_fini(&row);
    *number = best;
    return rc < 0 ? -1 : fits && c->family;
}
