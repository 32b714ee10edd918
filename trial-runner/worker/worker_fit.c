/* worker_fit.c - trials in a worker. A trial is opened, from a checkpoint if there is one, and
 * trained in slices towards its level. Then it is scored, the controller is asked, and by its
 * answer the trial is kept (its model file is uploaded), paused (checkpoint), sent on to the next
 * level or dropped. Limits are checked between slices; the deadline ends a slice by itself. */
#include "trial-runner/worker/worker_private.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "trial-runner/worker/checkpoint.h"
#include "trial-runner/worker/detail.h"
#include "trial-runner/worker/params.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* FIRST_SLICE_US: the first slice; later ones are as long as the trial has worked, up to slice_ms.
 * PROGRESS_FIRST_US: when the first progress message comes, which shows quickly that work goes on.
 * SOON_US: `soon` is sent when about so much work is left, the way of a message and a fetch.
 * SHORT_US: after a trial shorter than this, `soon` is sent when the next one begins.
 * SHIP_FREE_US: the part of making a model for which the controller's reserve is enough.
 * JUDGED_SHARE: a path is judged after so small a part of its time (worker_fit_gives_up). */
enum {
    FIRST_SLICE_US = 30000,
    PROGRESS_EVERY_US = 1000000,
    PROGRESS_FIRST_US = 200000,
    SOON_US = 400000,
    SHORT_US = 400000,
    SHIP_FREE_US = 200000,
    JUDGED_SHARE = 4
};
/* worker_fit_gives_up: standard errors of the best score. */
static const double BEHIND_ERRORS = 2;
/* The model must stay below ARTIFACT_BUF_MAX. It is checked between slices against MODEL_MAX,
 * because no slice adds a sixteenth. A model file above ARTIFACT_HELD_MAX waits on disk for its
 * answer. */
#define ARTIFACT_BUF_MAX  ((size_t)1 << 30)
#define MODEL_MAX         (ARTIFACT_BUF_MAX / 16 * 15)
#define ARTIFACT_HELD_MAX ((size_t)4 << 20)
/* Trials on tables with more rows than fit keep none. */
#define PREDICTIONS_MAX ((size_t)16 << 20)

enum trial_reason worker_fit_reason(const struct err *err)
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
    worker_rank_end(j, NULL);
    models_close(w, j);
    buf_fini(&j->artifact);
    buf_fini(&j->predictions);
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
        err =
            &changed; /* a file has changed: it is to blame for whatever happened, not the trial */
    bool is_rank_lost = j->link && worker_rank_lost(w, j, err);
    if (!j->stop)
        worker_fail(w, j, is_rank_lost ? TR_RANK_LOST : worker_fit_reason(err), err->text);
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

static int open_joined(struct worker *w, struct job *j, struct err *err)
{
    return open_fresh(j, err) < 0 ? -1 : worker_rank_join(w, j, err);
}

/* A checkpoint that cannot be used costs the work in it, but the trial starts afresh; if several
 * devices train it, they must all begin with the same, so the attempt fails. */
static int open_checkpoint(struct worker *w, struct job *j, struct err *err)
{
    struct err why = { 0 };
    char key[32];
    const char *path = NULL;

    snprintf(key, sizeof key, "%" PRId64, j->granted->trial);
    path = json_string_value(json_object_get(json_object_get(j->run->msg, "checkpoints"), key));
    if (!path || checkpoint_load(j->fit, path, &why) == 0)
        return 0;
    log_warn("checkpoint.unusable trial=%" PRId64 " err=\"%s\"", j->trial, why.text);
    if (j->link)
        return err_set(err, ERR_DEVICE, "its checkpoint cannot be used: %s", why.text);
    fit_trial_close(j->fit);
    return open_joined(w, j, err);
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
    return open_joined(w, j, err) < 0 ? -1 : open_checkpoint(w, j, err);
}

/* ---- results ---- */

static void fill(struct msg_event *ev, struct job *j, const struct fit_result *r)
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
    const struct ml_rows_spec by = dataset_rows_spec(&j->run->grant.data);
    /* every study has a baseline, and it ends soon: its report tells the warnings, too */
    bool warns = str_eq(j->family->name, "baseline");
    ev->detail =
        detail_result_new(j->family, r, fit_trial_data(j->fit), warns ? j->data : NULL, &by);
    ev->epochs = detail_epochs_new(j->fit, DETAIL_EPOCHS, &j->told_epoch);
}

/* Writes what the trial predicted beside its model. Without it the trial is no worse: it only is no
 * member of an ensemble. */
static void predictions_keep(struct job *j, const struct predictions *p)
{
    struct err err = { 0 };

    if (p->held.n == 0)
        return;
    buf_init(&j->predictions, PREDICTIONS_MAX);
    if (predictions_write(p, &j->predictions, &err) == 0)
        return;
    log_debug("predictions.none trial=%" PRId64 " err=\"%s\"", j->trial, err.text);
    buf_fini(&j->predictions);
}

/* Makes the model file and scores it on the test rows. It frees the trial's lanes on the way, so
 * the trial cannot be trained further. */
static int ship(struct worker *w, struct job *j, struct err *err)
{
    struct predictions told = { 0 };
    char path[WORKER_PATH_BYTES];

    worker_memory_ships(w, j);
    buf_init(&j->artifact, ARTIFACT_BUF_MAX);
    if (j->run->grant.keeps_predictions)
        fit_trial_keeps(j->fit, &told);
    int rc = fit_trial_ship(j->fit, &j->artifact, err);
    if (rc == 0)
        predictions_keep(j, &told);
    predictions_fini(&told);
    if (rc < 0)
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

/* What making a model takes on this machine as it is loaded now. */
static void note_ship(struct worker *w, const struct job *j, int64_t took_us)
{
    int64_t study = j->run->grant.study;

    if (w->ship_study != study)
        w->best = (double)NAN;
    w->ship_us = w->ship_study == study ? MAX(w->ship_us, took_us) : took_us;
    w->ship_study = study;
}

static double sign_of(const struct job *j)
{
    return metric_info(j->data->spec.metric)->larger_is_better ? 1 : -1;
}

static void note_best(struct worker *w, const struct job *j, const struct fit_result *r)
{
    if (j->cut || !isfinite(r->score) ||
        (!isnan(w->best) && sign_of(j) * (r->score - w->best) <= 0))
        return;
    w->best = r->score;
    w->best_se = isfinite(r->se) ? r->se : 0;
}

void worker_fit_ask(struct worker *w, struct job *j)
{
    int64_t from_us = worker_now_us(w);
    bool is_final = j->cut || j->to >= fit_trial_levels(j->fit);
    struct fit_result *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };
    struct msg_event ev;
    double block[FIT_BLOCKS], order = 0;

    CHECK(j->state == JOB_RUNNING);
    worker_beat(w, LONG_MS);
    int n_blocks =
        is_final ? fit_trial_blocks(j->fit, block, &order) : 0; /* before the lanes are closed */
    if (is_final)
        worker_rank_end(j, NULL); /* nothing is left for the other ranks to do */
    if (!j->link)
        worker_soon(w);
    bool is_told = (!is_final || ship(w, j, &err) == 0) && fit_trial_result(j->fit, r, &err) == 0;
    if (is_final)
        note_ship(w, j, worker_now_us(w) - from_us);
    if (is_final && is_told)
        note_best(w, j, r);
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
        r->n_blocks = n_blocks;
        r->order = order;
        memcpy(r->block, block, (size_t)n_blocks * sizeof *block);
        fill(&ev, j, r);
        worker_event(w, j, &ev, NULL);
        if (is_final)
            models_close(w, j);
        j->state = JOB_ASKED;
    }
    w->was_short = j->work_us < SHORT_US;
    mem_free(r);
}

/* Ends the trial early with its best score so far. If it has none, it fails with this reason. */
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

int worker_fit_save(struct worker *w, struct job *j, enum msg_type type)
{
    char path[WORKER_PATH_BYTES];
    struct err err = { 0 };
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = type;
    /* a checkpoint on the way lies above the last complete level, from where it goes on */
    ev.level = type == MSG_PAUSED ? j->to : fit_trial_level(j->fit);
    worker_path(w, j, "checkpoint", path);
    worker_beat(w, LONG_MS);
    if (dataset_unchanged(w->datasets, j->data, &err) < 0 ||
        checkpoint_save(j->fit, path, ev.blob, &err) < 0) {
        log_warn("checkpoint.failed trial=%" PRId64 " err=\"%s\"", j->trial, err.text);
        return -1;
    }
    j->unsaved_us = 0;
    ev.epochs = detail_epochs_new(j->fit, DETAIL_EPOCHS, &j->told_epoch);
    worker_event(w, j, &ev, path);
    return 0;
}

static void drain(struct worker *w, struct job *j)
{
    if (j->fit && j->work_us > 0)
        worker_fit_save(w, j, MSG_CHECKPOINT);
    worker_fail(w, j, TR_DRAINED, "the runner is shutting down");
    worker_fit_close(w, j);
}

/* ---- slices ---- */

static void progress(struct worker *w, struct job *j, int64_t now)
{
    double p = fit_trial_progress(j->fit);
    struct msg_event ev;
    int64_t told = 0;

    if (p > 0 && (double)j->work_us * (1 - p) / p < SOON_US &&
        (!j->link || j->to >= fit_trial_levels(j->fit)))
        worker_soon(w);
    if (now - j->progress_us < PROGRESS_EVERY_US)
        return;
    j->progress_us = now;
    msg_event_init(&ev);
    ev.type = MSG_PROGRESS;
    ev.level = j->to;
    ev.progress = p < 0 ? 0 : p > 1 ? 1 : p;
    ev.fit_us = j->work_us;
    ev.epochs = detail_epochs_new(j->fit, DETAIL_EPOCHS_SOON, &told);
    if (told == j->told_epoch) {
        mem_free(ev.epochs);
        ev.epochs = NULL;
    }
    j->told_epoch = told;
    worker_event(w, j, &ev, NULL);
}

/* Is the model about to become larger than a model file or a checkpoint may be? */
static bool is_too_large(const struct job *j)
{
    char name[64];

    snprintf(name, sizeof name, "worker.model.%s", j->family->name);
    return fit_trial_file_bytes(j->fit) > (int64_t)MODEL_MAX || FAULT(name);
}

int64_t worker_fit_cut_us(const struct worker *w, const struct job *j)
{
    bool is_long = w->ship_study == j->run->grant.study && w->ship_us > SHIP_FREE_US &&
                   j->work_us > w->ship_us;

    return j->deadline_ms * 1000 - (is_long ? w->ship_us - SHIP_FREE_US : 0);
}

/* How long the trial may compute; 0 = there is no limit. A score that gets better fast is worth a longer one,
 * while as much as the shorter one is left of the study's time. On a machine with much other work a model may
 * need that to be delivered, and without it nothing but the baseline did ship. */
static int64_t limit_us(const struct worker *w, const struct job *j)
{
    const struct msg_grant *g = &j->run->grant;
    int64_t us = g->trial_time_ms * 1000, end_us = j->deadline_ms * 1000 - us;
    bool goes_on = us > 0 && g->trial_steep_ms > g->trial_time_ms && j->work_us >= us && j->fit &&
                   (j->deadline_ms <= 0 || worker_now_us(w) < end_us) && fit_trial_is_steep(j->fit);

    return goes_on ? g->trial_steep_ms * 1000 : us;
}

bool worker_fit_gives_up(const struct worker *w, const struct job *j, double reach)
{
    const struct msg_grant *g = &j->run->grant;
    double best = sign_of(j) * w->best;

    return g->trial_steep_ms > g->trial_time_ms && w->ship_study == g->study &&
           j->work_us * JUDGED_SHARE >= g->trial_time_ms * 1000 &&
           sign_of(j) * reach < best - BEHIND_ERRORS * w->best_se; /* false for NaN */
}

static bool is_hopeless(const struct worker *w, const struct job *j)
{
    double all = (double)j->run->grant.trial_time_ms * 1000, spent = (double)j->work_us;

    if (!j->fit || spent <= 0 || spent > all)
        return false;
    return worker_fit_gives_up(w, j, fit_trial_reach(j->fit, (all - spent) / spent));
}

/* True if a limit is exceeded; then the job has ended or asked. */
static bool is_over(struct worker *w, struct job *j)
{
    const struct msg_grant *g = &j->run->grant;
    char text[160], a[32], b[32];

    if (j->deadline_ms > 0 && worker_now_us(w) >= worker_fit_cut_us(w, j)) {
        cut(w, j, TR_BUDGET, "the study's time ended before its first result");
        return true;
    }
    if (g->trial_time_ms > 0 && j->work_us >= limit_us(w, j)) {
        str_fmt_ms(g->trial_time_ms, a, sizeof a);
        snprintf(text, sizeof text, "no result within the trial's time limit of %s", a);
        cut(w, j, TR_TIME, text);
        return true;
    }
    if (is_hopeless(w, j)) {
        log_info("trial.hopeless trial=%" PRId64 " work_us=%" PRId64, j->trial, j->work_us);
        cut(w, j, TR_TIME, "it would not come near the best trial within its time limit");
        return true;
    }
    if (worker_memory_is_full(w, j)) {
        str_fmt_bytes(fit_trial_bytes(j->fit), a, sizeof a);
        str_fmt_bytes(w->memory_bytes, b, sizeof b);
        snprintf(text, sizeof text,
                 "no result within the worker's %s of memory; the trial holds %s", b, a);
        cut(w, j, TR_MEMORY, text);
        return true;
    }
    if (is_too_large(j)) {
        log_info("model.full trial=%" PRId64 " family=%s", j->trial, j->family->name);
        cut(w, j, TR_MEMORY, "no result before the model became too large for a file");
        return true;
    }
    if (g->trial_memory_bytes > 0 && fit_trial_bytes(j->fit) > g->trial_memory_bytes) {
        str_fmt_bytes(fit_trial_bytes(j->fit), a, sizeof a);
        str_fmt_bytes(g->trial_memory_bytes, b, sizeof b);
        snprintf(text, sizeof text, "the trial holds %s of memory, but its limit is %s", a, b);
        worker_fail(w, j, TR_MEMORY, text);
        worker_fit_close(w, j);
        return true;
    }
    return false;
}

/* When the next slice ends: by its length, at the next checkpoint, or at a limit of time. */
static int64_t slice_end(const struct worker *w, struct job *j, int64_t now)
{
    const struct msg_grant *g = &j->run->grant;
    /* First slices are short: then the first estimate of the time left comes early, and a small
     * trial is not delayed by the checks at the end of a long one. */
    int64_t us = MIN(w->slice_ms * 1000, MAX(FIRST_SLICE_US, j->work_us));
    int64_t end = now + worker_memory_slice_us(w, j, us);

    end = MIN(end, now + MAX(w->checkpoint_ms * 1000 - j->unsaved_us, 1000));
    if (g->trial_time_ms > 0)
        end = MIN(end, now + MAX(limit_us(w, j) - j->work_us, 0));
    return j->deadline_ms > 0 ? MIN(end, worker_fit_cut_us(w, j)) : end;
}

static bool hoards(const struct job *j)
{
    char name[64];

    snprintf(name, sizeof name, "worker.hoard.%s", j->family->name);
    return FAULT(name);
}

/* Computes one slice: 1 = the level is reached, 0 = not yet, -1 = it failed. */
static int slice(struct worker *w, struct job *j, struct err *err)
{
    struct ml_stop stop = { .now_us = worker_stop_clock,
                            .ctx = w,
                            .deadline_us = slice_end(w, j, worker_now_us(w)) };

    /* The first slice also builds what all trials on this table share, which cannot be
     * interrupted. */
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
    if (j->unsaved_us >= w->checkpoint_ms * 1000 && worker_fit_save(w, j, MSG_CHECKPOINT) < 0)
        j->unsaved_us = 0; /* so that it is not tried again at once */
}

/* Trains until the level is reached (1), the job has ended or asked (-1), or it is interrupted
 * (0). */
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

/* Makes room in memory for the level. False: the job has ended, has asked, or waits. */
static bool admit(struct worker *w, struct job *j)
{
    struct err err = { 0 };
    int rc = worker_memory_admit(w, j, &err);

    if (rc == 0) {
        worker_fit_close(w, j);
        j->state = JOB_WAITING;
    } else if (rc < 0) {
        cut(w, j, TR_MEMORY, err.text); /* the result of the level before stands */
    }
    return rc > 0;
}

/* The ranks did not meet, or the trial was stopped meanwhile. */
static void rank_trouble(struct worker *w, struct job *j, const struct err *err)
{
    if (j->stop)
        worker_fit_close(w, j);
    else if (w->draining)
        drain(w, j);
    else
        worker_fit_fail(w, j, err);
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
    if (w->was_short && !j->run->grant.ranks)
        worker_soon(w);
    /* A trial with a checkpoint may begin after the deadline, because it can complete with the
     * score it had: so does the best paused trial of a study at the study's end. */
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
    if (worker_rank_meet(w, j, &err) < 0 || worker_rank_go(j, &err) < 0) {
        rank_trouble(w, j, &err);
        return;
    }
    if (train(w, j) == 1)
        worker_fit_ask(w, j);
    else if (j->state == JOB_RUNNING && j->stop)
        worker_fit_close(w, j);
    else if (j->state == JOB_RUNNING && w->draining)
        drain(w, j);
}
