/* ladder.c - translates between the family's and the scheduler's count of levels; see ladder.h.
 *
 * Example of a family with four levels whose level 3 adds folds, on a holdout:
 *
 *   family      1  2  3  4
 *   scheduler   1  2  2  3     (to the family: 1 -> 1, 2 -> 3, 3 -> 4)
 *
 * Pure functions; they keep no state and depend on no clock. */
#include "controller/problem/ladder.h"

#include "base/mem.h"

int ladder_levels(const struct problem *p, const struct family *f)
{
    return family_levels(f, &p->shape);
}

bool ladder_is_short(const struct problem *p, int64_t number, const struct family *f)
{
    return f->adds_folds > 0 && family_resource_of(f, &p->shape) == FR_AUTO && p->data.holdout &&
           !p->is_undecided && p->short_from > 0 && number >= p->short_from;
}

int ladder_top(const struct problem *p, const struct family *f, bool is_short)
{
    CHECK(!is_short || f->adds_folds > 0);
    return MAX(ladder_levels(p, f) - is_short, 1);
}

int ladder_to_scheduler(const struct family *f, bool is_short, int level)
{
    CHECK(level >= 0 && (!is_short || f->adds_folds > 0)); /* 0: nothing was trained yet */
    return is_short && level >= f->adds_folds ? level - 1 : level;
}

int ladder_to_family(const struct family *f, bool is_short, int level)
{
    CHECK(level >= 0 && (!is_short || f->adds_folds > 0));
    return is_short && level >= f->adds_folds - 1 ? level + 1 : level;
}

bool ladder_is_whole(const struct problem *p, const struct family *f, const double *params,
                     int level)
{
    struct family_plan plan;

    if (level < 1 || level > ladder_levels(p, f) || p->is_undecided)
        return false;
    family_level_plan(f, &p->shape, params, level, &plan);
    return plan.share <= 0 && (plan.folds == 0 || p->data.holdout);
}
