/* task.c - who gets a task, what runners say about tasks, and what follows when one ends (task.h).
 *
 * When an ingest ends, its dataset is ready or failed, and the studies that wait for it are
 * settled. When a refit ends, its study gets the model to ship, or none if the refit failed. A task
 * that machines lost TASK_ATTEMPTS_MAX times has failed.
 *
 * Messages about tasks follow the same rules of fence and sequence as those about trials
 * (report.c). A task that was lost keeps its fence until it is granted again, so its last holder
 * may still end it. */
#include "controller/serve/task.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/files/rubbish.h"
#include "controller/files/upload.h"
#include "controller/serve/believe.h"
#include "controller/serve/gang.h"
#include "controller/settle/dataset.h"
#include "controller/settle/ensemble.h"
#include "controller/settle/load.h"
#include "controller/settle/ship.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"
#include "store/blob.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the end ---- */

/* How long a runner had an ensemble in work: its worker's time, and half of that for fetching the
 * models and handing the file in, but not more than since the grant, which may have waited for a
 * trial. */
static int64_t took_ms(const struct lease *l, int64_t now, const struct msg_event *e)
{
    int64_t work = e->fit_us / 1000 * 3 / 2;

    return l ? MIN(work, now - l->granted_ms) : work;
}

/* e NULL = the task failed. */
static int ensemble_conclude(struct study *st, const struct task *t, const struct msg_event *e,
                             const json_t *detail, struct err *err)
{
    const struct lease *l = lease_find(st->ctl, true, t->row.id);
    const struct ensemble_end end = { .task = t->row.id,
                                      .took_ms = e ? took_ms(l, ctl_now(st->ctl), e) : 0,
                                      .artifact = e ? e->blob : NULL,
                                      .detail = detail,
                                      .event = e };

    return ensemble_ended(st, &end, err);
}

/* Passes the end of a task on to its dataset or its study. error NULL = it succeeded, with this
 * message. */
static int conclude(struct ctl *ctl, struct task *t, const struct msg_event *e, const char *error,
                    struct err *err)
{
    json_t *result =
        e && e->detail ? jsonx_load(e->detail, strlen(e->detail), "detail", NULL) : NULL;
    int64_t study = t->row.study, dataset = t->row.dataset;
    int rc = 0;

    CHECK(error || e); /* it failed, or a message says how it ended */
    if (str_eq(t->row.kind, "ingest")) {
        rc = dataset_ingested(ctl, dataset, result, error, err);
    } else {
        struct study *st = study_by_id(ctl, study, err);
        if (st && str_eq(t->row.kind, "ensemble"))
            rc = ensemble_conclude(st, t, error ? NULL : e, result, err);
        else if (st)
            rc = ship_refitted(st, error ? NULL : e->blob, e ? e->test_value : NAN,
                               e ? e->test_se : NAN, err);
        else /* a damaged study does not wait for its refit */
            rc = damage_is_lasting(ctl, study) ? 0 : -1;
    }
    json_decref(result);
    return rc;
}

static int fail(struct ctl *ctl, struct task *t, const char *error, struct err *err)
{
    mem_free(t->row.error);
    t->row.error = mem_strdup(error);
    if (conclude(ctl, t, NULL, error, err) < 0)
        return -1;
    return task_end(ctl, t, "failed", err);
}

int task_lost(struct ctl *ctl, int64_t id, enum trial_reason reason, struct err *err)
{
    struct task *t = task_find(ctl, id);

    if (!t)
        return 0;
    if (str_eq(t->row.kind, "rank")) {
        const struct lease *l = lease_find(ctl, true, id);
        struct lease held = l ? *l : (struct lease){ .is_task = true };
        return gang_rank_failed(ctl, t, &held, reason, NULL, err);
    }
    if (reason != TR_DRAINED && t->row.attempts >= TASK_ATTEMPTS_MAX)
        return fail(ctl, t, "the machines that worked on it were lost three times", err);
    lease_drop_task(ctl, id, t->row.fence);
    return task_put(ctl, t, "queued", err);
}

/* ---- grants ---- */

static json_t *config_of(const struct task *t)
{
    return t->row.config ? jsonx_load(t->row.config, strlen(t->row.config), "task", NULL) : NULL;
}

/* Fills the grant of an ingest: 1, 0 = the dataset was deleted and the task is cancelled, -1. */
static int grant_ingest(struct ctl *ctl, struct task *t, struct msg_grant *g, struct err *err)
{
    struct dataset_row row = { 0 };
    int rc = store_dataset_get(ctl->store, t->row.dataset, &row, err);

    if (rc == 1) {
        json_t *columns =
            row.columns ? jsonx_load(row.columns, strlen(row.columns), "columns", NULL) : NULL;
        json_t *config = json_pack("{s:o}", "columns", columns ? columns : json_object());
        g->kind = MSG_INGEST;
        g->config = jsonx_dump(config);
        json_decref(config);
        str_copy(g->source, sizeof g->source, row.blob);
        str_copy(g->source_name, sizeof g->source_name, row.file_name);
        g->max_bytes = upload_room(ctl, row.blob);
    }
    dataset_row_fini(&row);
    return rc == 0 ? (task_end(ctl, t, "cancelled", err) < 0 ? -1 : 0) : rc;
}

/* Fills the grant of a refit: 1, 0 = its row is damaged, so the task has failed, and the study ships
 * what it has without it, -1. */
static int grant_refit(struct ctl *ctl, struct task *t, struct msg_grant *g, struct err *err)
{
    struct study *st = study_by_id(ctl, t->row.study, err);
    json_t *o = st ? config_of(t) : NULL;
    const json_t *free_values = json_object_get(o, "free");
    int64_t hard = 0;

    if (!st)
        return -1;
    if (!json_is_object(json_object_get(o, "config")) ||
        (free_values && !json_is_null(free_values) && !json_is_object(free_values))) {
        log_error("task.damaged task=%" PRId64 " study=%" PRId64, t->row.id, st->row.id);
        json_decref(o);
        return fail(ctl, t, "the stored row of the task makes no sense", err);
    }
    hard = budget_hard_ms(st);
    g->kind = MSG_REFIT;
    g->study = st->row.id;
    g->data = st->problem.data;
    g->deadline_ms = hard == INT64_MAX ? 0 : MAX(hard - ctl_now(ctl), 1);
    g->trial_memory_bytes = st->spec.trial_memory_bytes;
    g->config = jsonx_dump(json_object_get(o, "config"));
    g->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
    g->rounds_hint = (int)json_integer_value(json_object_get(o, "rounds"));
    const char *model = json_string_value(json_object_get(o, "model"));
    if (model && str_sha256_ok(model))
        str_copy(g->model, sizeof g->model, model);
    if (json_is_object(free_values)) {
        char *text = jsonx_dump(free_values);
        if (strlen(text) < sizeof g->free_json)
            str_copy(g->free_json, sizeof g->free_json, text);
        mem_free(text);
    }
    json_decref(o);
    return 1;
}

/* The model of a list; false = the row makes no sense. */
static bool model_read(const json_t *o, struct msg_model *m)
{
    const char *artifact = json_string_value(json_object_get(o, "artifact")),
               *predictions = json_string_value(json_object_get(o, "predictions"));

    *m = (struct msg_model){ .trial = json_integer_value(json_object_get(o, "trial")) };
    if (m->trial < 1 || !artifact || !predictions || strlen(artifact) >= SHA256_HEX ||
        strlen(predictions) >= SHA256_HEX)
        return false;
    str_copy(m->artifact, sizeof m->artifact, artifact);
    str_copy(m->predictions, sizeof m->predictions, predictions);
    return true;
}

/* Whether the files of a model are still here. They are kept from now on for as long as a runner may
 * take to fetch them: while the search goes on, better trials may take the place of this one. */
static bool model_hold(struct ctl *ctl, const struct msg_model *m)
{
    const char *const files[] = { m->artifact, m->predictions };
    int64_t bytes = 0;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (store_blob_has(ctl->store, files[i], &bytes, NULL) != 1)
            return false;
        rubbish_said(ctl, files[i], NULL);
    }
    return true;
}

/* Fills the grant of an ensemble, as grant_refit does. */
static int grant_ensemble(struct ctl *ctl, struct task *t, struct msg_grant *g, struct err *err)
{
    struct study *st = study_by_id(ctl, t->row.study, err);
    json_t *o = st ? config_of(t) : NULL;
    const json_t *list = json_object_get(o, "models");
    size_t n = MIN(json_array_size(list), MSG_MAX_MODELS);
    bool is_whole = n >= 2;

    if (!st)
        return -1;
    int64_t hard = budget_hard_ms(st);
    g->kind = MSG_ENSEMBLE;
    g->study = st->row.id;
    g->deadline_ms = hard == INT64_MAX ? 0 : MAX(hard - ctl_now(ctl), 1);
    g->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
    g->members = (int)json_integer_value(json_object_get(o, "members"));
    g->data.holdout = st->problem.data.holdout;
    g->models = mem_zalloc(MAX(n, 1) * sizeof *g->models);
    for (size_t i = 0; i < n && is_whole; i++) {
        is_whole = model_read(json_array_get(list, i), &g->models[g->n_models]);
        g->n_models += is_whole && model_hold(ctl, &g->models[g->n_models]);
    }
    json_decref(o);
    if (is_whole && g->n_models >= 2 && g->members >= 2)
        return 1;
    if (is_whole && g->members >= 2) {
        msg_grant_fini(g);
        return fail(ctl, t, "its models are not kept any more", err);
    }
    log_error("task.damaged task=%" PRId64 " study=%" PRId64, t->row.id, st->row.id);
    msg_grant_fini(g);
    return fail(ctl, t, "the stored row of the task makes no sense", err);
}

/* A refit must run on a runner of the study's numeric class. */
static bool suits(struct ctl *ctl, const struct task *t, const struct runner *r)
{
    const struct study *st = t->row.study ? study_loaded(ctl, t->row.study) : NULL;

    if (t->row.study && !st)
        return false; /* the study is damaged */
    if (str_eq(t->row.kind, "ensemble") && !runner_blends(r))
        return false;
    return !st || !st->row.numeric_sig || !st->row.numeric_sig[0] ||
           str_eq(st->row.numeric_sig, r->row.numeric_sig);
}

bool task_waits(struct ctl *ctl, const struct runner *r)
{
    for (int i = 0; i < ctl->n_tasks; i++) {
        if (str_eq(ctl->tasks[i]->row.state, "queued") &&
            !str_eq(ctl->tasks[i]->row.kind, "rank") && suits(ctl, ctl->tasks[i], r))
            return true;
    }
    return false;
}

int task_grant(struct ctl *ctl, struct runner *r, const struct msg_ask *ask, bool only_refits,
               struct msg_grant *out, struct err *err)
{
    /* Ingests come first, because studies wait for their tables. */
    static const char *const kinds[] = { "ingest", "refit", "ensemble" };

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (int i = 0; i < ctl->n_tasks; i++) {
            struct task *t = ctl->tasks[i];
            int rc = 0;

            if ((only_refits && k != 1) || !str_eq(t->row.kind, kinds[k]) ||
                !str_eq(t->row.state, "queued") || !suits(ctl, t, r))
                continue;
            *out = (struct msg_grant){ 0 };
            rc = k == 0   ? grant_ingest(ctl, t, out, err)
                 : k == 1 ? grant_refit(ctl, t, out, err)
                          : grant_ensemble(ctl, t, out, err);
            if (rc == 1)
                rc = task_hold(ctl, t, r, ask, err) < 0 ? -1 : 1;
            if (rc == 1) {
                out->task = t->row.id;
                out->fence = t->row.fence;
            }
            if (rc < 0)
                msg_grant_fini(out);
            if (rc != 0)
                return rc;
            i--; /* the task was cancelled and left the list */
        }
    }
    return 0;
}

bool task_renew(struct ctl *ctl, const char *session, const struct msg_held *h)
{
    struct task *t = task_find(ctl, h->trial);
    struct lease *l = t ? lease_find(ctl, true, t->row.id) : NULL;

    if (!l || l->fence != h->fence || !str_eq(l->session, session))
        return false;
    lease_renew(ctl, l);
    return true;
}

/* ---- what runners say ---- */

/* Whether the blob that the message names is a model: 0, or -1. */
static int model_check(struct ctl *ctl, const struct msg_event *e, struct err *err)
{
    int64_t bytes = 0;

    if (!e->blob[0] || store_blob_has(ctl->store, e->blob, &bytes, err) != 1)
        return err_at(err, "blob", "no such blob was uploaded");
    int rc = believe_model(ctl, e->blob, err);
    return rc == 0 ? err_at(err, "blob", "the file is no model") : MIN(rc, 0);
}

static int done(struct ctl *ctl, struct task *t, const struct msg_event *e, struct err *err)
{
    bool is_refit = str_eq(t->row.kind, "refit"), is_ensemble = str_eq(t->row.kind, "ensemble");
    const struct study *st = is_refit || is_ensemble ? study_by_id(ctl, t->row.study, err) : NULL;
    const char *lie = st ? believe_scores(st, e) : NULL;

    if ((is_refit || is_ensemble) && !st)
        return -1;
    /* an ensemble that is not better has no file */
    if ((is_refit || (is_ensemble && e->blob[0])) && model_check(ctl, e, err) < 0)
        return -1;
    if (lie)
        return err_at(err, "value", "%s", lie);
    if (conclude(ctl, t, e, NULL, err) < 0)
        return -1;
    mem_free(t->row.result);
    t->row.result = NULL;
    return task_end(ctl, t, "done", err);
}

/* Applies a message that is the next one. If a result is refused, the machine is at fault: the task
 * counts as lost. */
static int apply(struct ctl *ctl, struct task *t, const struct lease *l, const struct msg_event *e,
                 struct err *err)
{
    struct err why = { 0 };
    int64_t id = t->row.id;

    if (str_eq(t->row.kind, "rank"))
        return e->type == MSG_TASK_DONE ? task_end(ctl, t, "done", err)
                                        : gang_rank_failed(ctl, t, l, e->reason, e->detail, err);
    if (e->type == MSG_TASK_DONE) {
        if (done(ctl, t, e, &why) == 0)
            return quarantine_worked(ctl, l->runner, l->device, err);
        if (why.code != ERR_ARG)
            return err_set(err, why.code, "%s", why.text);
        log_warn("task.refused task=%" PRId64 " where=%s err=\"%s\"", id, why.where, why.text);
        return task_lost(ctl, id, TR_DEVICE, err);
    }
    if (e->reason == TR_DATA && t->row.attempts >= TASK_ATTEMPTS_MAX)
        return fail(ctl, t, e->detail && e->detail[0] ? e->detail : "its table cannot be read",
                    err);
    if (trial_reason_is_machine(e->reason)) {
        if (e->reason != TR_DRAINED && e->reason != TR_DATA &&
            quarantine_failed(ctl, l->runner, l->device, -id, err) < 0)
            return -1;
        return task_lost(ctl, id, e->reason, err);
    }
    return fail(ctl, t, e->detail && e->detail[0] ? e->detail : trial_reason_name[e->reason], err);
}

/* Whether this session may speak for the task: the holder of its lease, or the last holder of a
 * task that was lost. */
static bool is_holder(const struct task *t, const struct lease *l, const char *session)
{
    json_t *o = NULL;
    bool is = false;

    if (l)
        return str_eq(l->session, session);
    o = t->row.result ? jsonx_load(t->row.result, strlen(t->row.result), "holder", NULL) : NULL;
    is = str_eq(json_string_value(json_object_get(o, "session")), session);
    json_decref(o);
    return is;
}

int task_event(struct ctl *ctl, int64_t runner, const char *session, const struct msg_event *e,
               struct msg_reply *reply, struct err *err)
{
    struct task *t = task_find(ctl, e->trial);
    struct lease *l = t ? lease_find(ctl, true, t->row.id) : NULL;
    struct task_row old = { 0 };

    if (FAULT("task.event"))
        return err_set(err, ERR_IO, "fault: task.event");
    reply->action = MSG_STALE;
    if (!t) {
        /* The task has ended. If the runner repeats its last message, that is acknowledged
         * again. */
        int rc = store_task_get(ctl->store, e->trial, &old, err);
        if (rc == 1 && old.fence == e->fence && e->seq <= old.msg_seq)
            reply->action = MSG_OK;
        task_row_fini(&old);
        return rc < 0 ? -1 : 0;
    }
    if (t->row.fence != e->fence || !is_holder(t, l, session))
        return 0;
    if (e->type == MSG_TASK_MEET) {
        reply->action = MSG_OK;
        gang_where(ctl, t, reply);
        return 0;
    }
    if (e->seq < 1)
        return 0;
    if (e->seq <= t->row.msg_seq) {
        reply->action = MSG_OK;
        return 0;
    }
    if (e->seq != t->row.msg_seq + 1)
        return 0;
    struct lease held = l ? *l : (struct lease){ .runner = runner };
    t->row.msg_seq = e->seq;
    reply->action = MSG_OK;
    return apply(ctl, t, &held, e, err);
}
