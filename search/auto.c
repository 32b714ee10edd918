/* auto.c - the rule that auto.h states. */
#include "search/auto.h"

#include <inttypes.h>
#include <stdio.h>

/* A grid is only better than a model if it is sure to be finished. Without a limit of trials that
 * holds for a few points. */
enum { GRID_UNLIMITED = 32 };

/* Parameters that are searched and have more than one value. */
static int dimensions(const struct space *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++)
        n += s->params[i].axis != AXIS_FREE && param_size(&s->params[i]) > 1;
    return n;
}

struct auto_choice auto_sampler(const struct auto_facts *f)
{
    double points = space_search_size(f->space);
    double most = f->budget_trials ? (double)f->budget_trials : GRID_UNLIMITED;
    int d = dimensions(f->space);
    struct auto_choice c = { .name = "tpe" };

    if (points <= most) {
        c.name = "grid";
        (void)snprintf(c.why, sizeof c.why, "the space has %.0f point%s: all of them are tried",
                       points, points == 1 ? "" : "s");
        return c;
    }
    if (f->n_objectives > 1) {
        (void)snprintf(c.why, sizeof c.why, "%d objectives are searched for together",
                       f->n_objectives);
        return c;
    }
    if (f->by_family) {
        c.name = "families";
        (void)snprintf(c.why, sizeof c.why,
                       "%d parameters to search, of families that share the time", d);
        return c;
    }
    if (f->max_level < 2 && d > 0 && d <= AUTO_DUO_PARAMS)
        c.name = "duo";
    if (f->parallel > 1)
        (void)snprintf(c.why, sizeof c.why, "%d parameters to search with %d trials in flight", d,
                       f->parallel);
    else
        (void)snprintf(c.why, sizeof c.why, "%d parameters to search", d);
    return c;
}

struct auto_choice auto_scheduler(const struct auto_facts *f)
{
    struct auto_choice c = { .name = "none" };

    if (f->max_level < 2) {
        (void)snprintf(c.why, sizeof c.why, "no family in the space has a rung below its top");
    } else if (f->budget_trials && f->budget_trials < AUTO_MIN_TRIALS) {
        (void)snprintf(c.why, sizeof c.why,
                       "%" PRId64 " trials are too few to promote the best of them",
                       f->budget_trials);
    } else if (f->n_objectives > 1) {
        (void)snprintf(c.why, sizeof c.why, "rungs are ranked by one number, not by %d objectives",
                       f->n_objectives);
    } else {
        c.name = "asha";
        (void)snprintf(c.why, sizeof c.why,
                       "ladders have up to %d levels: only the better trials climb them",
                       f->max_level);
    }
    return c;
}
