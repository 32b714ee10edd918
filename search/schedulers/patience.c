/* patience.c - stops a trial that has not become better for `patience` points in a row (Optuna's
 * PatientPruner; the early stopping of most trainers). Better means by more than min_delta than its
 * own best value so far. A trial is judged only by its own values. NaN stops it at once.
 *
 * In the roster: home = the number of the ladder's levels, rung = the point that the trial runs to,
 * value = its best value, flags = points since then. */
#include "base/mem.h"
#include "search/schedulers/roster.h"
#include "search/schedulers/schedulers.h"
#include "search/schedulers/stop_points.h"

#include <math.h>
#include <string.h>

enum { OPT_PATIENCE, OPT_MIN_DELTA, OPT_INTERVAL, N_OPTIONS };

static const struct search_option patience_options[N_OPTIONS] = {
    [OPT_PATIENCE] = { "patience", 1, 200, 5, true,
                       "a trial is stopped after this many points without a better value" },
    [OPT_MIN_DELTA] = { "min_delta", 0, 1e9, 0, false,
                        "a value counts as better only if it exceeds the best by more than this" },
    [OPT_INTERVAL] = { "interval", 0, 1000000, 0, true,
                       "levels between two points; 0: a point at every level, on long ladders about 50 points" },
};

struct patience {
    struct scheduler base;
    double options[N_OPTIONS];
    struct roster roster;
};

static struct patience *of(struct scheduler *s)
{
    return (struct patience *)s;
}

/* The level of the point that the trial runs to. */
static int level_of(const struct patience *p, const struct roster_entry *e)
{
    return stop_point_level(e->home, (int)p->options[OPT_INTERVAL], e->rung);
}

static struct scheduler *patience_open(const struct search_setup *setup, struct err *err)
{
    struct patience *p = mem_zalloc(sizeof *p);

    (void)err;
    p->base = (struct scheduler){ &search_patience, setup->seed };
    if (setup->options)
        memcpy(p->options, setup->options, sizeof p->options);
    else
        search_options_default(patience_options, N_OPTIONS, p->options);
    return &p->base;
}

static void patience_close(struct scheduler *s)
{
    roster_fini(&of(s)->roster);
    mem_free(s);
}

static int patience_start(struct scheduler *s, int64_t trial, int family, int max_level,
                          struct err *err)
{
    struct patience *p = of(s);
    struct roster_entry *e = roster_find(&p->roster, trial);

    (void)family;
    if (max_level < 1)
        return err_set(err, ERR_ARG, "a ladder has at least one level, not %d", max_level);
    if (!e)
        e = roster_add(&p->roster, trial, max_level, 0);
    return level_of(p, e);
}

/* A running trial has passed its next point. The first value always counts as better. */
static void arrive(struct patience *p, struct roster_entry *e, double value)
{
    bool is_better = isnan(e->value) || value > e->value + p->options[OPT_MIN_DELTA];

    e->flags = is_better ? 0 : (uint8_t)(e->flags + 1);
    e->value = is_better ? value : e->value;
    if (isnan(value) || e->flags >= p->options[OPT_PATIENCE])
        roster_move(&p->roster, e, ROSTER_STOPPED);
    else
        e->rung++;
}

static int patience_report(struct scheduler *s, const struct observation *o,
                           struct sched_decision *out, struct err *err)
{
    struct patience *p = of(s);
    struct roster_entry *e = roster_find(&p->roster, o->trial);
    double value = isnan(o->value) ? NAN : o->value;

    if (!e)
        return roster_unknown(o->trial, err);
    if (o->state != OBS_RUNNING || o->level >= e->home)
        roster_move(&p->roster, e, ROSTER_ENDED);
    else if (e->state == ROSTER_RUNNING && o->level >= level_of(p, e))
        arrive(p, e, value);
    *out = (struct sched_decision){ SCHED_DONE, 0 };
    if (e->state == ROSTER_RUNNING)
        *out = (struct sched_decision){ SCHED_RUN_TO, level_of(p, e) };
    else if (e->state == ROSTER_STOPPED)
        out->action = SCHED_STOP;
    return 0;
}

static int patience_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                           struct err *err)
{
    (void)s, (void)n, (void)idle, (void)out, (void)err;
    return 0; /* nothing is ever paused */
}

static int patience_retire(struct scheduler *s, int n, bool closing, int64_t *trials,
                           struct err *err)
{
    (void)s, (void)n, (void)closing, (void)trials, (void)err;
    return 0;
}

const struct scheduler_ops search_patience = {
    .name = "patience",
    .help = "stops a trial that has not improved for some time",
    .options = patience_options,
    .n_options = N_OPTIONS,
    .open = patience_open,
    .close = patience_close,
    .start = patience_start,
    .report = patience_report,
    .resume = patience_resume,
    .retire = patience_retire,
};
