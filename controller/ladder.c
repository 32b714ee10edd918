/* ladder.c - two numberings of a ladder's levels. */
#include "controller/ladder.h"

#include "base/mem.h"

bool ladder_is_short(const struct problem *p, int64_t number, const struct family *f)
{
    return f->adds_folds > 0 && p->data.holdout && !p->is_undecided && p->short_from > 0 &&
           number >= p->short_from;
}

int ladder_top(const struct family *f, bool is_short)
{
    return MAX(f->levels - is_short, 1);
}

int ladder_to_scheduler(const struct family *f, bool is_short, int level)
{
    return is_short && level >= f->adds_folds ? level - 1 : level;
}

int ladder_to_family(const struct family *f, bool is_short, int level)
{
    return is_short && level >= f->adds_folds - 1 ? level + 1 : level;
}

bool ladder_is_whole(const struct problem *p, const struct family *f, const double *params,
                     int level)
{
    struct family_plan plan;

    if (level < 1 || level > f->levels || p->is_undecided)
        return false;
    f->plan(params, level, &plan);
    return plan.folds == 0 || p->data.holdout;
}
