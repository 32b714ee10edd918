/* median.c - the median rule: a trial is stopped if its best value so far is below the median of
 * what completed trials had at the same point. The option `average` says what of completed trials
 * is compared: 0 their values at the point (as Optuna's MedianPruner), 1 the average of their
 * values up to it (D. Golovin et al., Google Vizier, KDD 2017, section 3.2; NNI).
 *
 * 0 is the default because curves rise. An average up to a point lies below the values at the
 * point, so nearly every trial that rises late passes such a test, and most bad trials do too.
 * Trials are compared with those of the same family and ladder. Only completed trials count, so a
 * rule that stops many does not raise its own bar. Nothing is stopped before `startup` trials of
 * the ladder have completed, nor at the first `warmup` points.
 *
 * In the roster: home = ladder, rung = the point that the trial runs to, value = its best value.
 * Curves hold the values of running trials. */
#include "base/bisect.h"
#include "base/mem.h"
#include "search/schedulers/roster.h"
#include "search/schedulers/schedulers.h"
#include "search/schedulers/stop_points.h"

#include <math.h>
#include <string.h>

enum { OPT_STARTUP, OPT_WARMUP, OPT_INTERVAL, OPT_AVERAGE, N_OPTIONS };

static const struct search_option median_options[N_OPTIONS] = {
    [OPT_STARTUP] = { "startup", 1, 1000000, 5, true,
                      "completed trials that a ladder needs before a trial is stopped" },
    [OPT_WARMUP] = { "warmup", 0, 1000000, 0, true,
                     "number of first points at which no trial is stopped" },
    [OPT_INTERVAL] = { "interval", 0, 1000000, 0, true,
                       "levels between two points; 0: a point at every level, on long ladders about 50 points" },
    [OPT_AVERAGE] = { "average", 0, 1, 0, true,
                      "1: averages up to the point are compared; 0: the values at the point" },
};

/* What completed trials had at one point, in rising order, so that the median is the middle; NaN is
 * left out. */
struct bar {
    double *values;
    size_t n, cap;
};
struct ladder {
    int family, max_level, n_points;
    int64_t n_completed;
    /* [n_points] */
    struct bar *bars;
};
/* The values of a running trial, one for each point that it has passed. */
struct curve {
    int64_t trial;
    int n, cap;
    double *values;
};
struct median {
    struct scheduler base;
    double options[N_OPTIONS];
    struct roster roster;
    struct ladder *ladders;
    int n_ladders;
    struct curve *curves; /* in order of trials */
    size_t n_curves, cap_curves;
};

static struct median *of(struct scheduler *s)
{
    return (struct median *)s;
}

/* The level of the point that the trial runs to. */
static int level_of(const struct median *m, const struct roster_entry *e)
{
    return stop_point_level(m->ladders[e->home].max_level, (int)m->options[OPT_INTERVAL], e->rung);
}

static struct scheduler *median_open(const struct search_setup *setup, struct err *err)
{
    struct median *m = mem_zalloc(sizeof *m);

    (void)err;
    m->base = (struct scheduler){ &search_median, setup->seed };
    if (setup->options)
        memcpy(m->options, setup->options, sizeof m->options);
    else
        search_options_default(median_options, N_OPTIONS, m->options);
    return &m->base;
}

static void median_close(struct scheduler *s)
{
    struct median *m = of(s);

    for (int i = 0; i < m->n_ladders; i++) {
        for (int k = 0; k < m->ladders[i].n_points; k++)
            mem_free(m->ladders[i].bars[k].values);
        mem_free(m->ladders[i].bars);
    }
    for (size_t i = 0; i < m->n_curves; i++)
        mem_free(m->curves[i].values);
    mem_free(m->curves);
    mem_free(m->ladders);
    roster_fini(&m->roster);
    mem_free(m);
}

/* ---- curves and bars ---- */

/* The place of a trial's curve, or the place where it belongs. */
static size_t curve_place(const struct median *m, int64_t trial)
{
    size_t at;

    BISECT(at, m->n_curves, m->curves[at].trial < trial);
    return at;
}

static void curve_new(struct median *m, int64_t trial)
{
    size_t at = curve_place(m, trial);

    MEM_GROW(m->curves, m->n_curves, m->cap_curves);
    memmove(m->curves + at + 1, m->curves + at, (m->n_curves - at) * sizeof *m->curves);
    m->curves[at] = (struct curve){ .trial = trial };
    m->n_curves++;
}

static void curve_add(struct curve *c, double value)
{
    MEM_GROW(c->values, c->n, c->cap);
    c->values[c->n++] = value;
}

static void curve_drop(struct median *m, int64_t trial)
{
    size_t at = curve_place(m, trial);

    CHECK(at < m->n_curves && m->curves[at].trial == trial);
    mem_free(m->curves[at].values);
    memmove(m->curves + at, m->curves + at + 1, (m->n_curves - at - 1) * sizeof *m->curves);
    m->n_curves--;
}

static void bar_add(struct bar *b, double value)
{
    size_t at = b->n;

    if (isnan(value))
        return;
    MEM_GROW(b->values, b->n, b->cap);
    while (at > 0 && b->values[at - 1] > value)
        at--;
    memmove(b->values + at + 1, b->values + at, (b->n - at) * sizeof *b->values);
    b->values[at] = value;
    b->n++;
}

/* The median. Of an even number it is the lower of the two middle values, so no arithmetic is done
 * on infinities. */
static double bar_median(const struct bar *b)
{
    return b->n == 0 ? NAN : b->values[(b->n - 1) / 2];
}

/* Enters a completed trial at all points. At points that it skipped or never came to it counts with
 * its last value. */
static void complete(struct median *m, const struct roster_entry *e, double value)
{
    const struct curve *c = &m->curves[curve_place(m, e->trial)];
    struct ladder *l = &m->ladders[e->home];
    double sum = 0;

    for (int k = 0; k < l->n_points; k++) {
        double at = k < c->n ? c->values[k] : value;
        sum += at;
        bar_add(&l->bars[k], m->options[OPT_AVERAGE] != 0 ? sum / (k + 1) : at);
    }
    l->n_completed++;
}

/* ---- the scheduler ---- */

static struct ladder *ladder_at(struct median *m, int family, int max_level)
{
    for (int i = 0; i < m->n_ladders; i++) {
        if (m->ladders[i].family == family && m->ladders[i].max_level == max_level)
            return &m->ladders[i];
    }
    int n_points = stop_point_count(max_level, (int)m->options[OPT_INTERVAL]);
    m->ladders = mem_resize(m->ladders, (size_t)(m->n_ladders + 1) * sizeof *m->ladders);
    m->ladders[m->n_ladders] =
        (struct ladder){ .family = family,
                         .max_level = max_level,
                         .n_points = n_points,
                         .bars = mem_array((size_t)n_points, sizeof(struct bar)) };
    return &m->ladders[m->n_ladders++];
}

static int median_start(struct scheduler *s, int64_t trial, int family, int max_level,
                        struct err *err)
{
    struct median *m = of(s);
    struct roster_entry *e = roster_find(&m->roster, trial);

    if (max_level < 1)
        return err_set(err, ERR_ARG, "a ladder has at least one level, not %d", max_level);
    if (!e) {
        int home = (int)(ladder_at(m, family, max_level) - m->ladders);
        e = roster_add(&m->roster, trial, home, 0);
        curve_new(m, trial);
    }
    return level_of(m, e);
}

/* Whether the trial is to be stopped at its point. */
static bool is_bad(const struct median *m, const struct roster_entry *e)
{
    const struct ladder *l = &m->ladders[e->home];

    CHECK(e->rung >= 0 && e->rung < l->n_points);
    double median = bar_median(&l->bars[e->rung]);
    return l->n_completed >= (int64_t)m->options[OPT_STARTUP] &&
           e->rung >= (int)m->options[OPT_WARMUP] && e->value < median;
}

/* The trial runs no more, so its curve is not needed. */
static void stop(struct median *m, struct roster_entry *e, enum roster_state to)
{
    curve_drop(m, e->trial);
    roster_move(&m->roster, e, to);
}

/* A running trial has passed its next point. */
static void arrive(struct median *m, struct roster_entry *e, double value)
{
    curve_add(&m->curves[curve_place(m, e->trial)], value);
    if (isnan(e->value) || value > e->value)
        e->value = value;
    if (isnan(value) || is_bad(m, e))
        stop(m, e, ROSTER_STOPPED);
    else
        e->rung++;
}

static int median_report(struct scheduler *s, const struct observation *o,
                         struct sched_decision *out, struct err *err)
{
    struct median *m = of(s);
    struct roster_entry *e = roster_find(&m->roster, o->trial);
    double value = isnan(o->value) ? NAN : o->value;

    if (!e)
        return roster_unknown(o->trial, err);
    bool is_over = o->state != OBS_RUNNING || o->level >= m->ladders[e->home].max_level;
    if (is_over && e->state == ROSTER_RUNNING) {
        if ((o->state == OBS_COMPLETED || o->state == OBS_RUNNING) && !isnan(value))
            complete(m, e, value);
        stop(m, e, ROSTER_ENDED);
    } else if (is_over) {
        roster_move(&m->roster, e, ROSTER_ENDED);
    } else if (e->state == ROSTER_RUNNING && o->level >= level_of(m, e)) {
        arrive(m, e, value);
    }
    *out = (struct sched_decision){ SCHED_DONE, 0 };
    if (e->state == ROSTER_RUNNING)
        *out = (struct sched_decision){ SCHED_RUN_TO, level_of(m, e) };
    else if (e->state == ROSTER_STOPPED)
        out->action = SCHED_STOP;
    return 0;
}

static int median_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                         struct err *err)
{
    (void)s, (void)n, (void)idle, (void)out, (void)err;
    return 0; /* nothing is ever paused */
}

static int median_retire(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err)
{
    (void)s, (void)n, (void)closing, (void)trials, (void)err;
    return 0;
}

const struct scheduler_ops search_median = {
    .name = "median",
    .help =
        "stops a trial whose best value is below the median of the completed trials at the same point",
    .options = median_options,
    .n_options = N_OPTIONS,
    .open = median_open,
    .close = median_close,
    .start = median_start,
    .report = median_report,
    .resume = median_resume,
    .retire = median_retire,
};
