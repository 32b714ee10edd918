/* asha_rival.c - compares families at their lowest rung. ASHA ranks each ladder (family) only
 * within itself, but a trial that goes on takes time from the other families. On a table that
 * boosting fits better than forests, the forests would still cost as much as all boosting trials.
 *
 * If ladders are short, each level is a whole fit, scored on the same rows, so the lowest rungs of
 * all ladders can be put into one list. A ladder is behind if its best waiting trial is not in the
 * best 1/eta of that list. A level of a long ladder is a share of a fit, which says nothing about
 * another family, so long ladders are left out. So are short ladders of the same kind, as networks
 * have them, whose lowest level is a few epochs (search_setup.partial). */
#include "search/schedulers/asha.h"

#include "base/bisect.h"

#include <math.h>

static bool is_contender(const struct asha *a, const struct asha_ladder *l)
{
    bool is_partial = l->family >= 0 && l->family < 64 && (a->partial >> l->family & 1);

    return !is_partial && l->rungs.n > 1 && l->max_level <= a->rule.per_level;
}

/* How many entries of a rung are better than the value. NaN, from a failed trial, is the worst. */
static size_t better_than(const struct rung *r, double value)
{
    size_t at;

    BISECT(at, r->n, isnan(value) ? !isnan(r->entries[at].value) : r->entries[at].value > value);
    return at;
}

/* Whether the value is not among the best 1/eta of the list. A ladder that is alone in it is never
 * behind. */
static bool is_outranked(const struct asha *a, const struct asha_ladder *l, double value)
{
    size_t n = 0, better = 0;

    for (int i = 0; i < a->n_ladders; i++) {
        const struct rung *r = &a->ladders[i].tracks[0].rungs[0];

        if (!is_contender(a, &a->ladders[i]))
            continue;
        n += r->n;
        better += better_than(r, value);
    }
    return n > l->tracks[0].rungs[0].n && better >= MAX(n / (size_t)a->rule.eta, 1);
}

bool asha_is_behind(const struct asha *a, const struct asha_ladder *l)
{
    const struct rung *own = &l->tracks[0].rungs[0];

    return own->first_open < own->n && is_contender(a, l) &&
           is_outranked(a, l, own->entries[own->first_open].value);
}
