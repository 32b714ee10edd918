/* fit_together.c - several trials trained in the same launches of a device.
 *
 * Each trial goes from check point to check point as it would alone (fit.c). Between two check
 * points of any member the lanes of all members go to the family in one call, by as many steps as
 * the nearest check point is away. A trial's result does not depend on which others train with it.
 * Called by the worker of a device. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/clk.h"
#include "base/mem.h"

/* One trial of the group. */
struct member {
    struct fit_trial *t;
    int level, folds, point;
    /* the step of its next point */
    int64_t step;
    /* as fit_trial_advance: 0 = still training */
    int rc;
    /* takes part in the call at hand */
    bool is_in;
    struct err *err;
};

/* Takes finished points until lanes must be trained. Sets rc when the level is reached or a point
 * fails. */
static void point_next(struct member *m)
{
    struct fit_run *r = m->t->run;

    while (m->rc == 0) {
        struct fit_choice c = fit_choose(m->t, r, m->folds);
        m->point = c.points;
        m->step = fit_point_step(r, c.points);
        if (c.is_final)
            m->rc = 1;
        else if (fit_lanes_aim(r, m->folds, m->step))
            return;
        else if (fit_point_take(m->t, r, m->folds, m->point, m->err) < 0)
            m->rc = -1;
    }
}

/* A grid is left out: its lanes must stop at whole counts, which differ from trial to trial. */
bool fit_trial_fuses(const struct fit_trial *t)
{
    bool fuses = t->ops->fuses && !(t->run && t->run->plan.n_counts > 0);

    for (int f = 0; fuses && t->run && f < t->run->n_lanes; f++)
        fuses = t->ops->fuses(t->d, &t->run->lanes[f]);
    return fuses;
}

/* Chooses the members of the next call and its number of steps: the distance to the nearest check
 * point of any of them, so that none trains past its own. */
static int members_pick(struct member *m, int n, int64_t *steps)
{
    int n_in = 0;

    *steps = INT64_MAX;
    for (int i = 0; i < n; i++) {
        m[i].is_in = m[i].rc == 0 && fit_trial_fuses(m[i].t);
        n_in += m[i].is_in;
        for (int f = 0; m[i].is_in && f < m[i].folds; f++) {
            const struct lane *l = &m[i].t->run->lanes[f];
            if (!l->is_done)
                *steps = MIN(*steps, m[i].step - l->steps_done);
        }
    }
    return n_in;
}

/* One call for the lanes of all members that take part. The lanes are copied together for it and
 * back again. False = an error, or no lane has moved (the call was stopped, or the device cannot
 * train them together). */
static bool lanes_go(struct member *m, int n, int64_t steps, struct lane *lanes,
                     const struct ml_stop *stop)
{
    struct member *first = NULL;
    struct err err = { 0 };
    struct clk clk;
    int k = 0, n_in = 0;
    bool has_moved = false;

    for (int i = 0; i < n; i++) {
        for (int f = 0; m[i].is_in && f < m[i].folds; f++)
            lanes[k++] = m[i].t->run->lanes[f];
        first = first || !m[i].is_in ? first : &m[i];
        n_in += m[i].is_in;
    }
    clk_init_system(&clk);
    int64_t before = clk_now_us(&clk);
    int rc = first->t->ops->advance(first->t->d, lanes, k, steps, stop, &err);
    int64_t us = (clk_now_us(&clk) - before) / n_in;
    k = 0;
    for (int i = 0; i < n; i++) {
        for (int f = 0; m[i].is_in && f < m[i].folds; f++) {
            CHECK(lanes[k].state == m[i].t->run->lanes[f].state); /* in the order they went in */
            has_moved = has_moved || lanes[k].steps_done > m[i].t->run->lanes[f].steps_done;
            m[i].t->run->lanes[f] = lanes[k++];
        }
        if (!m[i].is_in)
            continue;
        m[i].t->run->since_us += us;
        if (rc < 0) {
            m[i].rc = -1;
            *m[i].err = err;
        } else if (fit_lanes_there(m[i].t->run, m[i].folds, m[i].step, m[i].err) < 0) {
            m[i].rc = -1;
        }
    }
    return rc >= 0 && has_moved;
}

/* Begins the level of every trial. Returns how many lanes they have in all. All trials are of one
 * family and one table. */
static int members_begin(struct member *m, struct fit_trial *const *trials, const int *levels,
                         int n, struct err *errs)
{
    int n_lanes = 0;

    for (int i = 0; i < n; i++) {
        CHECK(trials[i]->f == trials[0]->f && trials[i]->d == trials[0]->d);
        m[i] = (struct member){ .t = trials[i], .level = levels[i], .err = &errs[i] };
        if (trials[i]->level >= levels[i]) {
            m[i].rc = 1;
            continue;
        }
        m[i].folds = fit_level_begin(trials[i], levels[i], &errs[i]);
        m[i].rc = m[i].folds < 0 ? -1 : 0;
        n_lanes += MAX(m[i].folds, 0);
    }
    return n_lanes;
}

void fit_trials_advance(struct fit_trial *const *trials, const int *levels, int n,
                        const struct ml_stop *stop, int *rc, struct err *errs)
{
    struct member m[FIT_TOGETHER];
    struct clk clk;
    int64_t steps = 0;
    int n_went = 1;

    CHECK(n >= 1 && n <= FIT_TOGETHER);
    clk_init_system(&clk);
    int64_t before = clk_now_us(&clk);
    int n_lanes = members_begin(m, trials, levels, n, errs);
    struct lane *lanes = mem_array((size_t)n_lanes + 1, sizeof *lanes);
    for (;;) {
        for (int i = 0; i < n; i++)
            point_next(&m[i]);
        int n_in = members_pick(m, n, &steps);
        if (m[0].rc != 0 || !m[0].is_in || ml_stop_now(stop))
            break;
        n_went = MAX(n_went, n_in);
        if (!lanes_go(m, n, steps, lanes, stop))
            break;
    }
    mem_free(lanes);
    /* Members that advanced together share the time evenly: there is no measure of what each one
     * took. */
    int64_t us = (clk_now_us(&clk) - before) / n_went;
    for (int i = 0; i < n; i++) {
        if (m[i].level > m[i].t->level)
            fit_level_end(m[i].t, m[i].level, m[i].rc > 0, us);
        rc[i] = m[i].rc;
    }
    /* The device could not take the lanes together: the first trial goes on alone. */
    if (rc[0] == 0 && !m[0].is_in)
        rc[0] = fit_trial_advance(trials[0], levels[0], stop, &errs[0]);
}
