/* worker_wave.c - trials of one grant that share kernel launches on a GPU. The present job (w->now)
 * is the one whose limits are checked. The other jobs of its run join it if their family can be
 * trained this way. They are opened and announced like any job, and one that reaches its level asks
 * at once. A trial's result does not depend on which others join, and its time is an equal share of
 * the slice; but checkpoints are due by the whole time, because a crash costs the device that. On a
 * CPU a wave is always one trial. */
#include "trial-runner/worker/worker_private.h"

#include "base/base.h"
#include "ml/fit/fit.h"

struct wave {
    struct job *jobs[FIT_TOGETHER];
    struct fit_trial *trials[FIT_TOGETHER];
    int to[FIT_TOGETHER], rc[FIT_TOGETHER];
    struct err errs[FIT_TOGETHER];
    int n;
};

/* May this other job of the run join? Its deadline must not have passed, because nobody checks it
 * during the slice. */
static bool may_come(const struct worker *w, const struct job *j, const struct job *other)
{
    return other != j && !other->is_task && other->granted && !other->stop && !other->is_alone &&
           (other->state == JOB_WAITING || (other->state == JOB_RUNNING && other->fit)) &&
           (other->deadline_ms <= 0 || worker_now_us(w) < other->deadline_ms * 1000);
}

/* Opens a job that joins, if it is not open yet. False if it failed, or found no room; in the
 * second case it waits until it can run alone. */
static bool come(struct worker *w, struct job *j)
{
    struct err err = { 0 };

    if (j->fit)
        return true;
    worker_beat(w, LONG_MS);
    worker_say_begin(w, j);
    if (worker_fit_open(w, j, &err) < 0) {
        worker_fit_fail(w, j, &err);
        return false;
    }
    if (worker_memory_joins(w, j))
        return true;
    worker_fit_close(w, j);
    j->state = JOB_WAITING;
    j->is_alone = true;
    return false;
}

static void wave_add(struct wave *wv, struct job *j)
{
    CHECK(wv->n < FIT_TOGETHER && j->fit);
    wv->jobs[wv->n] = j;
    wv->trials[wv->n] = j->fit;
    wv->to[wv->n++] = j->to;
}

static void wave_gather(struct worker *w, struct job *j, struct wave *wv)
{
    wave_add(wv, j);
    if (!w->compute.ops || w->draining || !fit_trial_fuses(j->fit))
        return;
    for (int i = 0; i < j->run->n_jobs && wv->n < FIT_TOGETHER; i++) {
        struct job *other = &j->run->jobs[i];
        if (may_come(w, j, other) && come(w, other))
            wave_add(wv, other);
    }
}

int worker_wave(struct worker *w, struct job *j, const struct ml_stop *stop, struct err *err)
{
    struct wave wv = { 0 };

    wave_gather(w, j, &wv);
    int64_t before = worker_now_us(w);
    if (wv.n == 1)
        wv.rc[0] = fit_trial_advance(j->fit, j->to, stop, err);
    else
        fit_trials_advance(wv.trials, wv.to, wv.n, stop, wv.rc, wv.errs);
    int64_t all_us = worker_now_us(w) - before, us = all_us / wv.n;
    if (wv.n > 1 && err)
        *err = wv.errs[0];
    j->work_us += us;
    j->unsaved_us += all_us;
    for (int i = 1; i < wv.n; i++) {
        struct job *other = wv.jobs[i];
        other->work_us += us;
        other->unsaved_us += all_us;
        if (wv.rc[i] < 0)
            worker_fit_fail(w, other, &wv.errs[i]);
        else if (wv.rc[i] > 0)
            worker_fit_ask(w, other);
        else {
            worker_memory_revise(w, other);
            worker_fit_mind(w, other);
        }
    }
    return wv.rc[0];
}
