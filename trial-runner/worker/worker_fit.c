/* worker_fit.c - trials in a worker: opened (from a checkpoint where there is one), trained in slices towards a level,
 * scored, asked about, and then kept (artifact), paused (checkpoint), sent on to the next level or dropped. Limits are
 * checked between slices; the deadline is the slices' own. */
#include "trial-runner/worker/worker_private.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "trial-runner/worker/checkpoint.h"
#include "trial-runner/worker/params.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_SLICE_US = 30000,
    PROGRESS_EVERY_US = 1000000,
    PROGRESS_FIRST_US = 200000,
    SOON_US = 400000,
    SHORT_US = 400000
};
#define ARTIFACT_BUF_MAX  ((size_t)1 << 30)
#define MODEL_MAX         (ARTIFACT_BUF_MAX / 16 * 15) /* a slice grows less than the rest */
#define ARTIFACT_HELD_MAX ((size_t)4 << 20)            /* a larger one waits in a file */

static enum trial_reason reason_of(const struct err *err)
{
    switch (err->code) {
    case ERR_NOMEM:
    case ERR_TOOBIG:
        return TR_MEMORY;
    case ERR_ARG:
    case ERR_VERSION:
    case ERR_NOTFOUND:
        return TR_INVALID;
    case ERR_DEVICE:
    case ERR_IO:
    case ERR_FULL:
        return TR_DEVICE;
    case ERR_TIMEOUT:
        return TR_TIME;
    default:
        return TR_DIVERGED;
    }
}

static void models_close(struct worker *w, struct job *j)
{
    worker_memory_close(w, j);
    dataset_put(w->datasets, j->data);
    j->data = NULL;
}

void worker_fit_close(struct worker *w, struct job *j)
{
    models_close(w, j);
    buf_fini(&j->artifact);
    if (j->artifact_path)
        unlink(j->artifact_path);
    mem_free(j->artifact_path);
    j->artifact_path = NULL;
    j->state = JOB_DONE;
}

void worker_fit_fail(struct worker *w, struct job *j, const struct err *err)
{
    struct err changed = { 0 };

    if (dataset_unchanged(w->datasets, j->data, &changed) < 0)
        err = &changed; /* whatever came of it: the file is to blame, not the trial */
    worker_fail(w, j, reason_of(err), err->text);
    worker_fit_close(w, j);
}

/* ---- opening ---- */

static int open_fresh(struct job *j, struct err *err)
{
    j->fit = fit_trial_open(j->data, j->family, j->params, j->granted->seed,
                            j->run->grant.data.holdout, err);
    int resource = family_resource_find(j->run->grant.data.resource);
    if (!j->fit)
        return -1;
    if (resource < 0)
        return err_set(err, ERR_ARG, "resource \"%s\" is not known to this runner",
                       j->run->grant.data.resource);
    fit_trial_spends(j->fit, (enum family_resource)resource);
    return 0;
}

/* A checkpoint that cannot be used costs its work, not the trial. */
static int open_checkpoint(struct job *j, struct err *err)
{
    struct err why = { 0 };
    char key[32];
    const char *path = NULL;

    snprintf(key, sizeof key, "%" PRId64, j->trial);
    path = json_string_value(json_object_get(json_object_get(j->run->msg, "checkpoints"), key));
    if (!path || checkpoint_load(j->fit, path, &why) == 0)
        return 0;
    log_warn("checkpoint.unusable trial=%" PRId64 " err=\"%s\"", j->trial, why.text);
    fit_trial_close(j->fit);
    return open_fresh(j, err);
}

int worker_fit_open(struct worker *w, struct job *j, struct err *err)
{
    const struct msg_grant *g = &j->run->grant;
    int64_t rss = 0;

    if (params_parse(j->granted->config, &j->family, j->params, err) < 0 ||
        worker_open_device(w, err) < 0)
        return -1;
    if (worker_table(w, j, err) < 0)
        return -1;
    rss = g->trial_memory_bytes > 0 ? proc_rss_bytes(getpid()) : 0;
    j->alone_bytes = MAX(rss - datasets_shared_bytes(w->datasets), 0);
    return open_fresh(j, err) < 0 ? -1 : open_checkpoint(j, err);
}

/* ---- results ---- */

static char *detail_new(const struct job *j, const struct fit_result *r)
{
    json_t *curve = json_array();
    json_t *o = json_pack("{s:I, s:i, s:o, s:o, s:f}", "steps", (json_int_t)r->steps, "folds",
                          r->folds, "free", params_free_json_new(j->family, r->free_params),
                          "curve", curve, "growth", r->growth);
    char *text = NULL;

    CHECK(o);
    for (int i = 0; i < r->curve_points; i++) {
        json_t *point = json_array();

        json_array_append_new(point, json_integer((json_int_t)r->curve_step[i]));
        json_array_append_new(point, jsonx_real(r->curve_value[i]));
        json_array_append_new(curve, point);
    }
    text = jsonx_dump(o);
    json_decref(o);
    return text;
}

static void fill(struct msg_event *ev, const struct job *j, const struct fit_result *r)
{
    ev->level = r->level;
    ev->value = r->score;
    ev->se = r->se;
    ev->select_value = r->select;
    ev->test_value = r->test_score;
    ev->test_se = r->test_se;
    ev->fit_us = r->fit_us;
    ev->predict_ns_row = r->predict_ns_row;
    ev->model_bytes = r->model_bytes;
    ev->work_units = r->work_units;
    ev->peak_bytes = r->peak_bytes;
    ev->cut = j->cut;
    ev->detail = detail_new(j, r);
}

/* The model file, and its score on test rows: the trial's lanes are gone after this. */
static int ship(struct worker *w, struct job *j, struct err *err)
{
    char path[WORKER_PATH_BYTES];

    worker_memory_ships(w, j);
    buf_init(&j->artifact, ARTIFACT_BUF_MAX);
    if (fit_trial_ship(j->fit, &j->artifact, err) < 0)
        return -1;
    if (j->artifact.len <= ARTIFACT_HELD_MAX)
        return 0;
    worker_path(w, j, "artifact", path);
    if (checkpoint_file(path, &j->artifact, j->artifact_sha256, err) < 0)
        return -1;
    j->artifact_path = mem_strdup(path);
    buf_fini(&j->artifact);
    return 0;
}

void worker_fit_ask(struct worker *w, struct job *j)
{
    bool is_final = j->cut || j->to >= fit_trial_levels(j->fit);
    struct fit_result *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };
    struct msg_event ev;

    worker_beat(w, LONG_MS);
    worker_soon(w);
    bool is_told = (!is_final || ship(w, j, &err) == 0) && fit_trial_result(j->fit, r, &err) == 0;
    worker_memory_log(w, j, r);
    is_told = is_told && dataset_unchanged(w->datasets, j->data, &err) == 0;
    if (!is_told) {
        worker_fit_fail(w, j, &err);
    } else if (!isfinite(r->score)) {
        worker_fail(w, j, TR_DIVERGED, "its score is not a number");
        worker_fit_close(w, j);
    } else {
        msg_event_init(&ev);
        ev.type = is_final ? MSG_FINAL : MSG_RUNG;
        fill(&ev, j, r);
        worker_event(w, j, &ev, NULL);
        if (is_final)
            models_close(w, j);
        j->state = JOB_ASKED;
    }
    w->was_short = j->work_us < SHORT_US;
    mem_free(r);
}

static void cut(struct worker *w, struct job *j, enum trial_reason reason, const char *text)
{
    struct err err = { 0 };

    if (fit_trial_cut(j->fit, &err) < 0) {
        worker_fail(w, j, reason, text);
        worker_fit_close(w, j);
        return;
    }
    j->cut = true;
    worker_fit_ask(w, j);
}

/* ---- checkpoints ---- */

static int save(struct worker *w, struct job *j, enum msg_type type)
{
    char path[WORKER_PATH_BYTES];
    struct err err = { 0 };
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = type;
    ev.level = j->to;
    worker_path(w, j, "checkpoint", path);
    worker_beat(w, LONG_MS);
    if (dataset_unchanged(w->datasets, j->data, &err) < 0 ||
        checkpoint_save(j->fit, path, ev.blob, &err) < 0) {
        log_warn("checkpoint.failed trial=%" PRId64 " err=\"%s\"", j->trial, err.text);
        return -1;
    }
    j->saved_us = j->work_us;
    worker_event(w, j, &ev, path);
    return 0;
}

static void drain(struct worker *w, struct job *j)
{
    if (j->fit && j->work_us > 0)
        save(w, j, MSG_CHECKPOINT);
    worker_fail(w, j, TR_DRAINED, "the runner leaves");
    worker_fit_close(w, j);
}

/* ---- slices ---- */

static void progress(struct worker *w, struct job *j, int64_t now)
{
    double p = fit_trial_progress(j->fit);
    struct msg_event ev;

    if (p > 0 && (double)j->work_us * (1 - p) / p < SOON_US)
        worker_soon(w);
    if (now - j->progress_us < PROGRESS_EVERY_US)
        return;
    j->progress_us = now;
    msg_event_init(&ev);
    ev.type = MSG_PROGRESS;
    ev.level = j->to;
    ev.progress = p < 0 ? 0 : p > 1 ? 1 : p;
    ev.fit_us = j->work_us;
    worker_event(w, j, &ev, NULL);
}

/* No model file, nor a checkpoint, could hold more. */
static bool is_too_large(const struct job *j)
{
    char name[64];

    snprintf(name, sizeof name, "worker.model.%s", j->family->name);
    return fit_trial_file_bytes(j->fit) > (int64_t)MODEL_MAX || FAULT(name);
}

/* Over a limit: true, and the job has ended or asked. */
static bool is_over(struct worker *w, struct job *j)
{
    const struct msg_grant *g = &j->run->grant;
    char text[120], a[32], b[32];

    if (j->deadline_ms > 0 && worker_now_us(w) >= j->deadline_ms * 1000) {
        cut(w, j, TR_BUDGET, "the study's time ended before its first result");
        return true;
    }
    if (g->trial_time_ms > 0 && j->work_us >= g->trial_time_ms * 1000) {
        str_fmt_ms(g->trial_time_ms, a, sizeof a);
        snprintf(text, sizeof text, "no result within its limit of %s", a);
        cut(w, j, TR_TIME, text);
        return true;
    }
    if (worker_memory_is_full(w, j)) {
        str_fmt_bytes(fit_trial_bytes(j->fit), a, sizeof a);
        str_fmt_bytes(w->memory_bytes, b, sizeof b);
        snprintf(text, sizeof text, "no result within the worker's %s; it holds %s", b, a);
        cut(w, j, TR_MEMORY, text);
        return true;
    }
    if (is_too_large(j)) {
        log_info("model.full trial=%" PRId64 " family=%s", j->trial, j->family->name);
        cut(w, j, TR_MEMORY, "no result before its model was too large for a file");
        return true;
    }
    if (g->trial_memory_bytes > 0 && fit_trial_bytes(j->fit) > g->trial_memory_bytes) {
        str_fmt_bytes(fit_trial_bytes(j->fit), a, sizeof a);
        str_fmt_bytes(g->trial_memory_bytes, b, sizeof b);
        snprintf(text, sizeof text, "holds %s, its limit is %s", a, b);
        worker_fail(w, j, TR_MEMORY, text);
        worker_fit_close(w, j);
        return true;
    }
    return false;
}

static int64_t slice_end(const struct worker *w, struct job *j, int64_t now)
{
    const struct msg_grant *g = &j->run->grant;
    /* Short first slices: the first guess of the time left comes early, and small trials are never held up. */
    int64_t us = MIN(w->slice_ms * 1000, MAX(FIRST_SLICE_US, j->work_us));
    int64_t end = now + worker_memory_slice_us(w, j, us);

    end = MIN(end, now + MAX(w->checkpoint_ms * 1000 - (j->work_us - j->saved_us), 1000));
    if (g->trial_time_ms > 0)
        end = MIN(end, now + MAX(g->trial_time_ms * 1000 - j->work_us, 0));
    return j->deadline_ms > 0 ? MIN(end, j->deadline_ms * 1000) : end;
}

static bool hoards(const struct job *j)
{
    char name[64];

    snprintf(name, sizeof name, "worker.hoard.%s", j->family->name);
    return FAULT(name);
}

/* One slice: 1 = the level is reached, 0 = not yet, -1 = failed. */
static int slice(struct worker *w, struct job *j, struct err *err)
{
    struct ml_stop stop = { .now_us = worker_stop_clock,
                            .ctx = w,
                            .deadline_us = slice_end(w, j, worker_now_us(w)) };

    /* The first slice also builds what all trials on this data share, which has no steps to stop between. */
    worker_beat(w, j->work_us == 0 ? LONG_MS : SLICE_WORD_MS);
    if (hoards(j))
        worker_memory_hoard(w);
    if (FAULT("worker.slice"))
        return err_set(err, ERR_NOMEM, "injected");
    return worker_wave(w, j, &stop, err);
}

void worker_fit_mind(struct worker *w, struct job *j)
{
    progress(w, j, worker_now_us(w));
    if (j->work_us - j->saved_us >= w->checkpoint_ms * 1000 && save(w, j, MSG_CHECKPOINT) < 0)
        j->saved_us = j->work_us; /* not again at once */
}

/* Until the level is reached (1), the job has ended or asked (-1), or something interrupted (0). */
static int train(struct worker *w, struct job *j)
{
    struct err err = { 0 };

    for (;;) {
        int rc = slice(w, j, &err);

        if (rc < 0) {
            worker_fit_fail(w, j, &err);
            return -1;
        }
        if (rc == 1)
            return 1;
        if (wire_has_input(&w->wire))
            worker_poll(w, 0);
        if (j->stop || w->draining)
            return 0;
        worker_serve(w);
        w->interrupt = false;
        worker_memory_revise(w, j);
        if (is_over(w, j))
            return -1;
        worker_fit_mind(w, j);
    }
}

/* Room in memory for the level to come; false: the job has ended, asked, or waits. */
static bool admit(struct worker *w, struct job *j)
{
    struct err err = { 0 };
    int rc = worker_memory_admit(w, j, &err);

    if (rc == 0) {
        worker_fit_close(w, j);
        j->state = JOB_WAITING;
    } else if (rc < 0) {
        cut(w, j, TR_MEMORY, err.text); /* what it has reached before stands */
    }
    return rc > 0;
}

void worker_fit(struct worker *w, struct job *j)
{
    struct err err = { 0 };

    if (j->stop) {
        worker_fit_close(w, j);
        return;
    }
    if (w->draining) {
        drain(w, j);
        return;
    }
    worker_begin(w, j);
    if (w->was_short)
        worker_soon(w);
    /* With a checkpoint there is something to complete with; so the best paused trial of a study does at its end. */
    if (!j->fit && j->granted->from == 0 && j->deadline_ms > 0 &&
        worker_now_us(w) >= j->deadline_ms * 1000) {
        worker_fail(w, j, TR_BUDGET, "the study's time ended before it began");
        worker_fit_close(w, j);
        return;
    }
    if (!j->fit && worker_fit_open(w, j, &err) < 0) {
        worker_fit_fail(w, j, &err);
        return;
    }
    j->progress_us = worker_now_us(w) - PROGRESS_EVERY_US + PROGRESS_FIRST_US;
    if (!admit(w, j))
        return;
    if (train(w, j) == 1)
        worker_fit_ask(w, j);
    else if (j->state == JOB_RUNNING && j->stop)
        worker_fit_close(w, j);
    else if (j->state == JOB_RUNNING && w->draining)
        drain(w, j);
}

/* ---- answers ---- */

static void send_artifact(struct worker *w, struct job *j)
{
    char path[WORKER_PATH_BYTES];
    struct err err = { 0 };
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = MSG_COMPLETE;
    ev.level = j->to;
    ev.cut = j->cut;
    worker_beat(w, LONG_MS);
    if (j->artifact_path) {
        str_copy(path, sizeof path, j->artifact_path);
        str_copy(ev.blob, sizeof ev.blob, j->artifact_sha256);
        ev.model_bytes = io_file_bytes(path);
        mem_free(j->artifact_path);
        j->artifact_path = NULL; /* the supervisor's now */
    } else {
        worker_path(w, j, "artifact", path);
        ev.model_bytes = (int64_t)j->artifact.len;
        if (checkpoint_file(path, &j->artifact, ev.blob, &err) < 0) {
            worker_fail(w, j, reason_of(&err), err.text);
            return;
        }
    }
    worker_event(w, j, &ev, path);
}

static void serve_one(struct worker *w, struct job *j)
{
    bool is_final = !j->fit;

    if (!j->stop)
        worker_say_begin(w, j); /* who dies now dies of this one */
    if (!j->stop && j->answer == MSG_KEEP && is_final) {
        send_artifact(w, j);
    } else if (!j->stop && (j->answer == MSG_PAUSE || j->answer == MSG_KEEP)) {
        if (is_final || j->answer == MSG_KEEP || save(w, j, MSG_PAUSED) < 0)
            worker_fail(w, j, TR_DEVICE, "its checkpoint could not be written");
    }
    worker_fit_close(w, j);
}

void worker_serve(struct worker *w)
{
    for (struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            struct job *j = &r->jobs[i];

            if (j->state == JOB_ANSWERED || (j->state == JOB_ASKED && j->stop))
                serve_one(w, j);
        }
    }
}
