/* message.c - one function for each type of message: rung, final, complete, paused, checkpoint,
 * failed (message.h).
 *
 * After a report at a rung the answer says what the trial does next. A live study asks its
 * scheduler at once. A deterministic study answers `pause` unless its plan has come to a decision
 * already.
 *
 * After the final report the answer is `keep` if the trial is among the best: the worker then
 * uploads the model and says `complete`. For all others the answer is `drop`, and the trial is
 * completed by that.
 *
 * If a worker died with several trials in it, nobody knows which of them was the cause: they all go
 * out again, in groups of half the size. A trial with which a worker died twice while it trained
 * alone, without a new level in between, has failed by its configuration. */
#include "controller/serve/message.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "controller/serve/believe.h"
#include "controller/serve/retry.h"
#include "controller/serve/table.h"
#include "controller/settle/settle.h"
#include "controller/state/board.h"
#include "controller/state/epochs.h"
#include "controller/state/lease.h"
#include "controller/state/pipelines.h"
#include "controller/state/quarantine.h"
#include "controller/state/trial.h"
#include "store/blob.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WARNINGS_MAX = 32,
    DETAIL_KEPT = 64 << 10, /* bytes of a message's detail; nothing is kept of a longer one */
    FAILURE_TEXT = 1000,    /* bytes of the sentence that is stored for a failed trial */
    CRASHES_ALONE_MAX = 2,
    OUTPUT_MOST = 128 << 20 /* bytes of a trial's output, over all its attempts */
};

/* ---- answers ---- */

void message_answer(struct trial_row *row, const struct msg_reply *reply)
{
    char text[80];

    snprintf(text, sizeof text, "{\"action\":\"%s\",\"to\":%d}", msg_action_name[reply->action],
             reply->to);
    mem_free(row->msg_answer);
    row->msg_answer = mem_strdup(text);
}

/* Changes the trial's state and stores the answer with it, so that the row is written once. */
static int move_answered(struct study *st, struct trial_row *row, enum trial_event ev, json_t *data,
                         const struct msg_reply *reply, struct err *err)
{
    message_answer(row, reply);
    if (trial_move(st, row, ev, data, NULL, err) < 0)
        return -1;
    row->has_answer = true;
    return 1;
}

/* ---- refusing ---- */

/* Puts the trial back into the queue: 0, or -1. */
static int requeue(struct study *st, struct trial_row *row, enum trial_reason reason,
                   const char *end_reason, struct err *err)
{
    row->reason = reason;
    json_t *data = json_pack("{s:s}", "reason", end_reason);
    return trial_move(st, row, TE_LOST, data, end_reason, err) < 0 ? -1 : 0;
}

/* Refuses a message that contradicts what the trial is doing. The runner drops the trial, which is
 * queued again, and the device is blamed as for a failure by the machine. */
static int refuse(struct study *st, struct trial_row *row, const struct msg_event *e,
                  const char *why, struct msg_reply *reply, struct err *err)
{
    const struct lease *l = lease_find(st->ctl, false, row->id);
    int rc = 0;

    log_warn("lane.refused trial=%" PRId64 " fence=%" PRId64 " type=%s why=\"%s\"", row->id,
             row->fence, msg_type_name[e->type], why);
    reply->action = MSG_STALE;
    mem_free(row->msg_answer);
    row->msg_answer = mem_strdup("{\"action\":\"stale\",\"to\":0}"); /* for a repeat */
    rc = l ? quarantine_failed(st->ctl, l->runner, l->device, row->id, err) : 1;
    if (rc < 0 || (rc == 0 && retry_failed(st, row->number, l, why, err) < 0))
        return -1;
    return requeue(st, row, TR_DEVICE, "refused", err);
}

/* 1, 0 = nobody uploaded it, -1. */
static int has_blob(struct study *st, const char *sha256, struct err *err)
{
    int64_t bytes = 0;

    return sha256[0] ? store_blob_has(st->ctl->store, sha256, &bytes, err) : 0;
}

/* ---- rungs ---- */

/* A worker reports the time since the checkpoint that it began with. The time before that is in the
 * row. */
static void info_set_fit(json_t *info, const struct msg_event *e)
{
    json_int_t before = json_integer_value(json_object_get(info, "paused_fit_us"));

    json_object_set_new(info, "fit_us", json_integer(before + (json_int_t)e->fit_us));
}

/* Copies these keys of a message's detail into the trial's info. */
static void info_add_detail(json_t *info, const char *detail, const char *const *keys, int n)
{
    json_t *o = NULL;

    if (!detail || strlen(detail) > DETAIL_KEPT)
        return;
    o = jsonx_load(detail, strlen(detail), "detail", NULL);
    for (int i = 0; json_is_object(o) && i < n; i++) {
        json_t *v = json_object_get(o, keys[i]);
        if (v)
            json_object_set(info, keys[i], v);
    }
    json_decref(o);
}

/* Records a report at a rung that is new. */
static int report_add(struct study *st, struct trial_row *row, const struct msg_event *e,
                      struct err *err)
{
    static const char *const growth[] = { "growth" };
    json_t *info = trial_info(row);

    info_set_fit(info, e);
    info_add_detail(info, e->detail, growth, 1);
    trial_info_set(row, info);
    return trial_report(st, row, e->level, e->value, e->se, err);
}

/* Decides what the trial does after its report at this level. is_new = false if the report repeats
 * one from before the trial was lost or paused. */
static int rung_decide(struct study *st, struct trial_row *row, const struct msg_event *e,
                       bool is_new, struct sched_decision *d, struct err *err)
{
    *d = (struct sched_decision){ SCHED_PAUSE, 0 };
    if (!study_is_open(st)) {
        d->action = SCHED_STOP;
        return 0;
    }
    if (!is_new && !st->is_deterministic)
        return 0; /* it was told to pause then, and it still is to pause */
    return settle_report(st, row->number, e->level, d, err);
}

static int on_rung(struct study *st, struct trial_row *row, const struct msg_event *e,
                   struct msg_reply *reply, struct err *err)
{
    struct sched_decision d = { SCHED_PAUSE, 0 };
    bool is_new = e->level > row->level;
    int64_t seq = row->msg_seq, number = row->number;

    if (e->level < 1 || e->level >= row->max_level || e->level > row->run_to)
        return refuse(st, row, e, "a rung beyond the level that it may run to", reply, err);
    if (is_new && report_add(st, row, e, err) < 0)
        return -1;
    if (is_new)
        row->crashes_alone = 0;   /* it has come past the place where its worker died */
    if (e->level < row->run_to) { /* it may go on: that was decided before it was lost */
        reply->action = MSG_RUN_TO;
        reply->to = row->run_to;
        return 1;
    }
    if (rung_decide(st, row, e, is_new, &d, err) < 0)
        return -1;
    /* The decision may have changed the row (pruned, or allowed to go on), so it is read again. */
    trial_row_fini(row);
    if (trial_load(st, number, row, err) < 0)
        return -1;
    row->msg_seq = seq;
    if (d.action == SCHED_RUN_TO) {
        row->run_to = MAX(row->run_to, d.to);
        reply->action = MSG_RUN_TO;
        reply->to = row->run_to;
    } else if (d.action == SCHED_PAUSE) {
        reply->action = MSG_PAUSE;
    } else {
        reply->action = MSG_STOP;
        row->reason = TR_STOPPED;
        if (row->state == TS_RUNNING && trial_move(st, row, TE_PRUNE, NULL, "stopped", err) < 0)
            return -1;
    }
    return 1;
}

static int on_paused(struct study *st, struct trial_row *row, const struct msg_event *e,
                     struct msg_reply *reply, struct err *err)
{
    int rc = has_blob(st, e->blob, err);
    json_t *info = NULL;

    if (rc < 0)
        return -1;
    if (rc == 0 || e->level < 1 || e->level > row->level)
        return refuse(st, row, e, "a pause without its checkpoint", reply, err);
    str_copy(row->checkpoint, sizeof row->checkpoint, e->blob);
    row->checkpoint_level = e->level;
    reply->action = MSG_OK;
    info = trial_info(row);
    json_object_set_new(info, "paused_fit_us",
                        json_integer(json_integer_value(json_object_get(info, "fit_us"))));
    trial_info_set(row, info);
    if (trial_move(st, row, TE_PAUSE, json_pack("{s:i}", "level", e->level), NULL, err) < 0)
        return -1;
    if (row->run_to <= row->level)
        return 1;
    /* The decision that it goes on was made while the checkpoint was on its way. */
    row->reason = TR_NONE;
    json_t *data = json_pack("{s:i}", "to", row->run_to);
    return trial_move(st, row, TE_PROMOTE, data, NULL, err) < 0 ? -1 : 1;
}

static int on_checkpoint(struct study *st, struct trial_row *row, const struct msg_event *e,
                         struct msg_reply *reply, struct err *err)
{
    int rc = has_blob(st, e->blob, err);

    if (rc < 0)
        return -1;
    if (rc == 0 || e->level < 0 || e->level > row->run_to)
        return refuse(st, row, e, "a checkpoint nobody uploaded", reply, err);
    str_copy(row->checkpoint, sizeof row->checkpoint, e->blob);
    row->checkpoint_level = e->level;
    reply->action = MSG_OK;
    return 1;
}

static int on_predictions(struct study *st, struct trial_row *row, const struct msg_event *e,
                          struct msg_reply *reply, struct err *err)
{
    int rc = has_blob(st, e->blob, err);

    if (rc < 0)
        return -1;
    if (rc == 0 || !row->msg_answer || !strstr(row->msg_answer, "\"keep\""))
        return refuse(st, row, e, "predictions that nobody asked for", reply, err);
    str_copy(row->predictions, sizeof row->predictions, e->blob);
    reply->action = MSG_OK;
    return 1;
}

/* ---- the end ---- */

/* Stores the pipeline that the message tells, and names it in the trial's info. */
static int take_pipeline(struct study *st, const struct trial_row *row, const char *detail,
                         json_t *info, struct err *err)
{
    char key[PIPELINE_KEY] = "";
    json_t *o = NULL;

    if (!detail || strlen(detail) > DETAIL_KEPT || !strstr(detail, "\"pipeline\""))
        return 0;
    o = jsonx_load(detail, strlen(detail), "detail", NULL);
    int rc = pipelines_take(st->ctl, row, o, key, err);
    if (rc == 0 && key[0])
        json_object_set_new(info, "pipeline", json_string(key));
    json_decref(o);
    return rc;
}

static int take_final(struct study *st, struct trial_row *row, const struct msg_event *e,
                      struct err *err)
{
    static const char *const kept[] = { "free",   "steps", "folds",  "curve",  "engine",
                                        "growth", "first", "values", "blocks", "order" };
    const struct lease *l = lease_find(st->ctl, false, row->id);
    json_t *info = trial_info(row);

    row->level = MAX(row->level, e->level);
    row->score = e->value;
    row->score_se = e->se;
    row->select_value = e->select_value;
    row->test_score = e->test_value;
    row->test_se = e->test_se;
    info_set_fit(info, e);
    json_object_set_new(info, "predict_ns_row", json_integer((json_int_t)e->predict_ns_row));
    json_object_set_new(info, "model_bytes", json_integer((json_int_t)e->model_bytes));
    json_object_set_new(info, "work_units", json_integer((json_int_t)e->work_units));
    json_object_set_new(info, "peak_bytes", json_integer((json_int_t)e->peak_bytes));
    json_object_set_new(info, "cut", json_boolean(e->cut));
    if (l) {
        json_object_set_new(info, "runner", json_integer((json_int_t)l->runner));
        json_object_set_new(info, "device", json_string(l->device));
    }
    info_add_detail(info, e->detail, kept, (int)ARRAY_LEN(kept));
    int rc = take_pipeline(st, row, e->detail, info, err);
    trial_info_set(row, info);
    return rc;
}

/* Takes the warnings that the baseline's report tells: at most WARNINGS_MAX of {code, column,
 * text}. */
static int take_warnings(struct study *st, const char *detail, struct err *err)
{
    static const char *const keys[] = { "code", "column", "text" };
    json_t *o = NULL, *list = NULL, *w = NULL;
    size_t i = 0;

    if (st->warnings || !detail || strlen(detail) > DETAIL_KEPT || !strstr(detail, "\"warnings\""))
        return 0;
    o = jsonx_load(detail, strlen(detail), "detail", NULL);
    list = json_object_get(o, "warnings");
    if (json_is_array(list))
        st->warnings = json_array();
    json_array_foreach(list, i, w)
    {
        json_t *one = json_object();
        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            json_t *v = json_object_get(w, keys[k]);
            json_object_set_new(one, keys[k], json_is_string(v) ? json_incref(v) : json_string(""));
        }
        if (i < WARNINGS_MAX)
            json_array_append(st->warnings, one);
        json_decref(one);
    }
    json_decref(o);
    return st->warnings ? study_save(st, err) : 0;
}

static json_t *final_data(const struct trial_row *row)
{
    json_t *info = trial_info(row), *values = json_object_get(info, "values");
    json_t *data = json_pack("{s:o, s:o, s:s}", "score", jsonx_real(row->score), "se",
                             jsonx_real(row->score_se), "family", row->family);

    if (values)
        json_object_set(data, "values", values);
    json_decref(info);
    return data;
}

static int fail_with(struct study *st, struct trial_row *row, enum trial_event ev,
                     enum trial_reason reason, const char *detail, struct err *err)
{
    char text[FAILURE_TEXT];

    row->reason = reason;
    mem_free(row->detail);
    row->detail = NULL;
    if (detail && detail[0]) {
        str_copy(text, sizeof text, detail);
        utf8_clean(text, sizeof text); /* it may have been cut in the middle of a letter */
        row->detail = mem_strdup(text);
    }
    json_t *data =
        json_pack("{s:s, s:s?}", "reason", trial_reason_name[reason], "detail", row->detail);
    return trial_move(st, row, ev, data, trial_reason_name[reason], err) < 0 ? -1 : 1;
}

/* The final report of the probe decides the validation: 1 = it is an ordinary final report of a
 * study with a holdout, 0 = the trial goes back to the queue, because it was fitted on one fold
 * only, -1. */
static int probe_final(struct study *st, struct trial_row *row, const struct msg_event *e,
                       struct msg_reply *reply, struct err *err)
{
    if (settle_validation(st, e->cut ? 0 : e->fit_us, err) < 0)
        return -1;
    if (st->problem.data.holdout && !e->cut)
        return 1;
    reply->action = MSG_STOP;
    return requeue(st, row, TR_NONE, "probe", err);
}

/* Whether the trial's artifact would be kept if the trial were completed now. */
static bool keeps(struct study *st, const struct trial_row *row, const struct msg_event *e)
{
    struct trial_mem t = *trial_mem(st, row->number);
    json_t *info = trial_info(row);

    t.score = row->score;
    t.score_se = row->score_se;
    t.fit_us = json_integer_value(json_object_get(info, "fit_us"));
    t.predict_ns = e->predict_ns_row;
    t.model_bytes = e->model_bytes;
    json_decref(info);
    return board_keeps(st, row->number, &t);
}

/* Whether a trial that was cut before all its folds were scored is too weak to count (board.h). */
static bool is_outdone(const struct study *st, const struct trial_row *row)
{
    struct trial_mem t = { .score = row->score, .score_se = row->score_se };

    t.first_score = trial_first_score(row);
    return trial_is_part(st, row) && board_outdoes(st, &t);
}

/* Whether a user's program told fewer values than its study has objectives. */
static bool lacks_values(const struct study *st, const char *detail)
{
    size_t wanted = st->spec.is_own ? (size_t)MAX(st->spec.n_objectives - 1, 0) : 0, have = 0;
    json_t *o = wanted > 0 && detail && strlen(detail) <= DETAIL_KEPT
                    ? jsonx_load(detail, strlen(detail), "detail", NULL)
                    : NULL;
    const json_t *list = json_object_get(o, "values");

    while (have < json_array_size(list) && json_is_number(json_array_get(list, have)))
        have++;
    bool lacks = wanted > 0 && (have != wanted || json_array_size(list) != wanted);
    json_decref(o);
    return lacks;
}

static int on_final(struct study *st, struct trial_row *row, const struct msg_event *e,
                    struct msg_reply *reply, struct err *err)
{
    struct lease *l = lease_find(st->ctl, false, row->id);

    if (e->level < 0 || e->level > row->max_level || (!e->cut && e->level > row->run_to))
        return refuse(st, row, e, "a level beyond the one that it may run to", reply, err);
    if (l && l->is_probe) {
        int rc = probe_final(st, row, e, reply, err);
        if (rc <= 0)
            return rc < 0 ? -1 : 1;
    }
    if (!isfinite(e->value)) {
        reply->action = MSG_DROP;
        return fail_with(st, row, TE_FAIL, TR_INVALID,
                         e->detail && e->detail[0] ? e->detail : "it has no score", err);
    }
    if (lacks_values(st, e->detail)) {
        reply->action = MSG_DROP;
        return fail_with(st, row, TE_FAIL, TR_INVALID,
                         "the program did not tell one number for each objective", err);
    }
    if (take_final(st, row, e, err) < 0 || take_warnings(st, e->detail, err) < 0)
        return -1;
    if (is_outdone(st, row)) {
        reply->action = MSG_DROP;
        return fail_with(st, row, TE_PRUNE, st->row.state == SS_RUNNING ? TR_TIME : TR_BUDGET,
                         "its time ended before all folds were scored", err);
    }
    if (!st->spec.is_own && keeps(st, row, e)) {
        reply->action = MSG_KEEP;
        if (l)
            l->kept_ms = ctl_now(st->ctl);
        return 1;
    }
    reply->action = MSG_DROP;
    return move_answered(st, row, TE_COMPLETE, final_data(row), reply, err);
}

static int on_complete(struct study *st, struct trial_row *row, const struct msg_event *e,
                       struct msg_reply *reply, struct err *err)
{
    const struct lease *l = lease_find(st->ctl, false, row->id);
    json_t *info = NULL;
    int rc = has_blob(st, e->blob, err);

    if (rc < 0)
        return -1;
    /* predictions are taken after keep only */
    bool was_asked =
        row->predictions[0] || (row->msg_answer && strstr(row->msg_answer, "\"keep\""));
    if (rc == 0 || !was_asked)
        return refuse(st, row, e, "a completion that nobody asked for", reply, err);
    rc = believe_model(st->ctl, e->blob, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return refuse(st, row, e, "a file that is no model", reply, err);
    if (l && l->kept_ms)
        st->keep_ms = MAX(st->keep_ms, ctl_now(st->ctl) - l->kept_ms);
    str_copy(row->artifact, sizeof row->artifact, e->blob);
    if (e->model_bytes > 0) { /* runners of older versions send it only in this message */
        info = trial_info(row);
        json_object_set_new(info, "model_bytes", json_integer((json_int_t)e->model_bytes));
        trial_info_set(row, info);
    }
    reply->action = MSG_OK;
    return move_answered(st, row, TE_COMPLETE, final_data(row), reply, err);
}

int message_requeue(struct study *st, struct trial_row *row, enum trial_reason reason,
                    struct err *err)
{
    return requeue(st, row, reason, trial_reason_name[reason], err);
}

int message_fail(struct study *st, struct trial_row *row, enum trial_reason reason,
                 const char *detail, struct err *err)
{
    return fail_with(st, row, TE_FAIL, reason, detail, err) < 0 ? -1 : 0;
}

/* A worker died while it trained this trial, alone or in a group. */
static int on_crash(struct study *st, struct trial_row *row, const struct lease *l,
                    const char *detail, struct err *err)
{
    if (l->group_size > 1) {
        int half = (l->group_size + 1) / 2;

        if (requeue(st, row, TR_WORKER_DIED, "worker_died", err) < 0)
            return -1;
        trial_mem(st, row->number)->max_group = (int16_t)half;
        return 1;
    }
    row->crashes_alone++;
    if (row->crashes_alone >= CRASHES_ALONE_MAX)
        return fail_with(st, row, TE_FAIL, TR_CRASHED_ALONE, detail, err);
    if (requeue(st, row, TR_WORKER_DIED, "worker_died", err) < 0)
        return -1;
    trial_mem(st, row->number)->max_group = 1;
    return 1;
}

int message_crashed(struct study *st, struct trial_row *row, const char *detail, struct err *err)
{
    const struct lease alone = { .group_size = 1 };

    return on_crash(st, row, &alone, detail, err) < 0 ? -1 : 0;
}

static int on_failed(struct study *st, struct trial_row *row, const struct msg_event *e,
                     struct msg_reply *reply, struct err *err)
{
    struct lease *found = lease_find(st->ctl, false, row->id), l = { .group_size = 1 };
    int blamed = 0;

    if (found)
        l = *found;
    reply->action = MSG_OK;
    if (e->reason == TR_DATA) { /* the table is at fault, and neither the trial nor the device */
        if (table_failed(st, e->detail, err) < 0)
            return -1;
        return requeue(st, row, TR_DATA, trial_reason_name[TR_DATA], err) < 0 ? -1 : 1;
    }
    if (l.is_probe) {
        if (settle_validation(st, 0, err) < 0)
            return -1;
        if (e->reason == TR_BUDGET || e->reason == TR_TIME)
            return requeue(st, row, TR_NONE, "probe", err) < 0 ? -1 : 1;
    }
    if (trial_reason_is_machine(e->reason)) {
        if (e->reason != TR_DRAINED && e->reason != TR_RANK_LOST)
            blamed = quarantine_failed(st->ctl, l.runner, l.device,
                                       e->reason == TR_WORKER_DIED && l.group_size > 1
                                           ? quarantine_group(l.group)
                                           : row->id,
                                       err);
        if (blamed < 0)
            return -1;
        if (e->reason == TR_WORKER_DIED)
            return on_crash(st, row, &l, e->detail, err);
        if ((e->reason == TR_DEVICE || e->reason == TR_RANK_LOST) && !blamed &&
            retry_failed(st, row->number, &l, e->detail, err) < 0)
            return -1;
        return requeue(st, row, e->reason, trial_reason_name[e->reason], err) < 0 ? -1 : 1;
    }
    /* Without a limit of time for trials in the spec, this is the share that budget_trial_ms gives
     * to a slow family: the trial did not break a limit, so it is pruned and has not failed. */
    if (e->reason == TR_TIME && !st->spec.trial_time_ms)
        return fail_with(st, row, TE_PRUNE, e->reason, e->detail, err);
    if (e->reason == TR_BUDGET || e->reason == TR_USER || e->reason == TR_STOPPED)
        return fail_with(st, row, TE_CANCEL, e->reason, e->detail, err);
    if (l.runner && quarantine_worked(st->ctl, l.runner, l.device, err) < 0)
        return -1;
    return fail_with(st, row, TE_FAIL, e->reason == TR_NONE ? TR_INVALID : e->reason, e->detail,
                     err);
}

/* What the program of a trial printed. Nothing depends on it. */
static int on_output(struct study *st, struct trial_row *row, const struct msg_event *e,
                     struct msg_reply *reply, struct err *err)
{
    if (!st->spec.command || !e->detail || strlen(e->detail) > DETAIL_KEPT)
        return refuse(st, row, e, "output that no program can have printed", reply, err);
    reply->action = MSG_OK;
    return store_output_add(st->ctl->store, row->id, row->fence, e->detail, OUTPUT_MOST, err) < 0
               ? -1
               : 1;
}

static int message_take(struct study *st, struct trial_row *row, const struct msg_event *e,
                        struct msg_reply *reply, struct err *err)
{
    CHECK(row->state == TS_RUNNING && row->msg_seq == e->seq && row->fence == e->fence);
    if (FAULT("lane.event"))
        return err_set(err, ERR_IO, "fault: lane.event");
    const char *lie = believe_scores(st, e);
    if (lie)
        return refuse(st, row, e, lie, reply, err);
    switch (e->type) {
    case MSG_RUNG:
        return on_rung(st, row, e, reply, err);
    case MSG_FINAL:
        return on_final(st, row, e, reply, err);
    case MSG_COMPLETE:
        return on_complete(st, row, e, reply, err);
    case MSG_PAUSED:
        return on_paused(st, row, e, reply, err);
    case MSG_CHECKPOINT:
        return on_checkpoint(st, row, e, reply, err);
    case MSG_PREDICTIONS:
        return on_predictions(st, row, e, reply, err);
    case MSG_OUTPUT:
        return on_output(st, row, e, reply, err);
    case MSG_FAILED:
        return on_failed(st, row, e, reply, err);
    default:
        return refuse(st, row, e, "a type of message that no trial has", reply, err);
    }
}

/* The trial has been answered: its device goes on with other work, even if a file is still on its
 * way. */
static void answered(struct study *st, int64_t id, const struct msg_event *e,
                     const struct msg_reply *reply)
{
    struct lease *l = lease_find(st->ctl, false, id);

    st->trial_us = MAX(e->fit_us, 1);
    table_worked(st);
    if (l)
        lease_leave(st->ctl, l, reply->action == MSG_PAUSE || reply->action == MSG_KEEP);
}

/* Whether the device did all that was asked of it. A trial whose model is kept has not ended before
 * the model has arrived. */
static bool is_good_end(const struct msg_event *e, const struct msg_reply *reply)
{
    if (e->type == MSG_FINAL)
        return reply->action == MSG_DROP || reply->action == MSG_STOP;
    return (e->type == MSG_COMPLETE || e->type == MSG_PAUSED) && reply->action == MSG_OK;
}

int message_apply(struct study *st, struct trial_row *row, const struct msg_event *e,
                  struct msg_reply *reply, struct err *err)
{
    const struct lease *found = lease_find(st->ctl, false, row->id);
    struct lease l = found ? *found : (struct lease){ 0 };
    int64_t id = row->id, number = row->number;
    int rc = message_take(st, row, e, reply, err);

    if (rc >= 0 && reply->action != MSG_STALE &&
        epochs_take(st->ctl, id, e->fence, e->epochs, true, err) < 0)
        return -1;
    if (rc >= 0 && is_good_end(e, reply)) {
        retry_worked(st, number);
        if (l.runner && quarantine_worked(st->ctl, l.runner, l.device, err) < 0)
            return -1;
    }
    if (rc >= 0 && (e->type == MSG_RUNG || e->type == MSG_FINAL))
        answered(st, id, e, reply);
    return rc;
}
