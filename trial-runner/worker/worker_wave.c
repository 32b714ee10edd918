/* worker_wave.c - the trials of a grant in the launches of one. The job under way is the one whose limits are looked at; on
 * a GPU the others of its run come along where the family can do that: they are opened and said to
 * be under way like any job, and one that reaches its level asks at once. What a trial comes to does not depend on who comes
 * along, nor does the time it is charged with count anybody else's share. */
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

static bool may_come(const struct worker *w, const struct job *j, const struct job *other)
{
    return other != j && other->granted && !other->stop && !other->is_alone &&
           (other->state == JOB_WAITING || (other->state == JOB_RUNNING && other->fit)) &&
           (other->deadline_ms <= 0 || worker_now_us(w) < other->deadline_ms * 1000);
}

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
    int64_t us = (worker_now_us(w) - before) / wv.n;
    if (wv.n > 1 && err)
        *err = wv.errs[0];
    j->work_us += us;
    for (int i = 1; i < wv.n; i++) {
        struct job *other = wv.jobs[i];
        other->work_us += us;
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
