/* report.c - the reports of runners: renewals of leases, messages about trials and tasks, and the
 * answers. What each type of message does to a trial is in message.c; this file decides which
 * messages are applied.
 *
 * A message carries (trial, fence, seq). With a fence that is not the trial's present one, or with
 * a gap in seq, it is answered `stale`. If seq is not larger than that of the last message, it is a
 * repeat: it is acknowledged again without effect, and the last message gets its stored answer.
 * Only seq = last + 1 is applied.
 *
 * A trial whose lease ran out keeps its fence until it is granted again. Until then a message or a
 * renewal under that fence from the same session takes the trial back (rejoin), so that a short
 * loss of the network costs nothing. A message that contradicts what the trial is doing is answered
 * `stale`, too, and the trial is queued again (refuse in message.c).
 *
 * One report is one request: either everything in it is applied, or nothing. Therefore a trial
 * whose rows cannot be read must not fail the report of a runner that has other trials
 * (is_lost_case). */
#include "controller/serve/report.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/serve/events.h"
#include "controller/serve/expire.h"
#include "controller/serve/gang.h"
#include "controller/serve/message.h"
#include "controller/serve/task.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/state/damage.h"
#include "controller/state/epochs.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <string.h>

/* ---- stored answers ---- */

/* The stored answer of the last message; `ok` if it cannot be read. */
static void answer_load(const char *text, struct msg_reply *reply)
{
    json_t *o = text ? jsonx_load(text, strlen(text), "answer", NULL) : NULL;
    const char *word = json_string_value(json_object_get(o, "action"));

    reply->action = MSG_OK;
    for (int i = 0; i < MSG_ACTIONS; i++) {
        if (str_eq(word, msg_action_name[i]))
            reply->action = (enum msg_action)i;
    }
    reply->to = (int)json_integer_value(json_object_get(o, "to"));
    json_decref(o);
}

/* ---- rejoin ---- */

/* Looks for the attempt of this fence that belongs to this session. */
struct find_attempt {
    int64_t fence;
    const char *session;
    struct attempt_row found;
    bool is_found;
};

static int on_attempt(void *arg, const struct attempt_row *a)
{
    struct find_attempt *f = arg;

    if (a->fence != f->fence || !str_eq(a->session, f->session))
        return 0;
    f->found = *a;
    f->found.end_reason = NULL; /* borrowed from the query */
    f->is_found = true;
    return 1;
}

/* The session speaks of a trial whose lease ran out: 1 = the trial has its lease back, 0 = it does
 * not get it, -1. */
static int rejoin(struct ctl *ctl, struct study *st, struct trial_row *row, const char *session,
                  struct err *err)
{
    struct find_attempt f = { .fence = row->fence, .session = session };
    int64_t now = ctl_now(ctl);
    struct lease l = { .id = row->id,
                       .fence = row->fence,
                       .study = st->row.id,
                       .number = row->number,
                       .group_size = 1,
                       .granted_ms = now,
                       .expires_ms = now + lease_period(ctl, st->spec.lost_after_ms),
                       .period_ms = st->spec.lost_after_ms,
                       .was_listed = true,
                       .is_probe = row->number == st->probe };

    if (row->state != TS_QUEUED || row->reason != TR_RUNNER_LOST || study_is_final(st->row.state))
        return 0;
    if (trial_mem(st, row->number)->devices > 1)
        return 0; /* its other ranks have been told to stop */
    if (store_attempt_each(ctl->store, row->id, on_attempt, &f, err) < 0)
        return -1;
    if (!f.is_found)
        return 0;
    row->reason = TR_NONE;
    if (trial_move(st, row, TE_REJOIN, json_pack("{s:I}", "fence", (json_int_t)row->fence), NULL,
                   err) < 0 ||
        store_attempt_reopen(ctl->store, row->id, row->fence, err) < 0)
        return -1;
    l.runner = f.found.runner;
    l.from = f.found.from_level;
    l.to = row->run_to;
    str_copy(l.session, sizeof l.session, session);
    str_copy(l.device, sizeof l.device, f.found.device);
    lease_add(ctl, &l);
    ctl->stats.rejoined++;
    return 1;
}

/* ---- one event of a trial ---- */

/* Whether an error concerns only this trial or its study, and will not pass soon. Then the trial is
 * answered `stale`, and the rest of the report is applied. */
static bool is_lost_case(struct ctl *ctl, const struct trial_row *row, const struct err *err)
{
    bool has_row = row->id > 0; /* then it is the study that could not be read */

    if (has_row)
        return err->code == ERR_NOTFOUND || damage_is_lasting(ctl, row->study);
    return !damage_is_passing(err);
}

/* May this session speak for the trial? 1 = yes, 0 = no, -1. */
static int check_holder(struct ctl *ctl, struct study *st, struct trial_row *row,
                        const char *session, struct err *err)
{
    struct lease *l = lease_find(ctl, false, row->id);

    if (l)
        return l->fence == row->fence && str_eq(l->session, session);
    if (trial_is_final(row->state) || row->state == TS_PAUSED)
        return 1; /* only repeats have an effect then: their answers */
    return rejoin(ctl, st, row, session, err);
}

/* Progress is not numbered and not stored; it is only shown. */
static int progress_event(struct ctl *ctl, struct study *st, const struct trial_row *row,
                          const struct msg_event *e, struct msg_reply *reply, struct err *err)
{
    struct lease *l = lease_find(ctl, false, row->id);

    reply->action = trial_is_final(row->state) ? MSG_STOP : MSG_OK;
    if (st && l && l->fence == e->fence) {
        l->progress = e->progress;
        if (epochs_take(ctl, row->id, e->fence, e->epochs, false, err) < 0)
            return -1;
        events_progress(ctl, st->row.id, row, e);
    }
    return 0;
}

/* Applies a message by its number: see the head of this file. */
static int numbered_event(struct study *st, struct trial_row *row, const struct msg_event *e,
                          struct msg_reply *reply, struct err *err)
{
    int rc = 0;

    if (e->seq < 1) {
        reply->action = MSG_STALE;
        return 0;
    }
    if (e->seq <= row->msg_seq) {
        if (e->seq == row->msg_seq)
            answer_load(row->msg_answer, reply);
        else
            reply->action = MSG_OK;
        return 0;
    }
    if (e->seq != row->msg_seq + 1)
        return 0; /* stale */
    if (row->state != TS_RUNNING) {
        reply->action = MSG_STOP; /* it was ended meanwhile, by a user or because its study ended */
        return 0;
    }
    CHECK(st); /* a study with a running trial is in memory */
    row->msg_seq = e->seq;
    rc = message_apply(st, row, e, reply, err);
    if (rc <= 0 || row->has_answer)
        return MIN(rc, 0);
    message_answer(row, reply);
    return trial_save(st, row, err);
}

/* Applies the message to a row that was just read: rc is what the reading returned. Afterwards the
 * row is as it is stored. */
static int apply_read(struct ctl *ctl, const char *session, const struct msg_event *e, int rc,
                      struct trial_row *row, struct msg_reply *reply, struct err *err)
{
    struct study *st = NULL;

    reply->action = MSG_STALE;
    if (rc == 1 && row->fence == e->fence) {
        /* An ended trial does not change, so its study need not be read from the database for
         * it. */
        bool is_over = trial_is_final(row->state);
        st = is_over ? study_loaded(ctl, row->study) : study_by_id(ctl, row->study, err);
        rc = st ? check_holder(ctl, st, row, session, err) : is_over ? 1 : -1;
        if (rc < 0 && !st && is_lost_case(ctl, row, err))
            rc = 0;
        else if (rc == 0 && !msg_is_passing(e->type) && e->seq <= row->msg_seq)
            rc = 1; /* it was queued again since: a repeat is acknowledged all the same */
        if (rc == 1 && e->type == MSG_MEET) {
            gang_meet(ctl, e);
            reply->action = trial_is_final(row->state) ? MSG_STOP : MSG_OK;
        } else if (rc == 1 && e->type == MSG_PROGRESS)
            rc = progress_event(ctl, st, row, e, reply, err);
        else if (rc == 1)
            rc = numbered_event(st, row, e, reply, err);
        if (st && rc < 0)
            damage_suspect(ctl, st->row.id, err);
    } else if (rc < 0 && is_lost_case(ctl, row, err)) {
        rc = 0;
    }
    if (reply->action == MSG_STALE)
        ctl->stats.stale++;
    struct lease *l = lease_find(ctl, false, e->trial);
    if (l && l->deadline_ms)
        reply->deadline_ms = MAX(l->deadline_ms - ctl_now(ctl), 1);
    return rc < 0 ? -1 : 0;
}

int report_row(struct ctl *ctl, const char *session, const struct msg_event *e,
               struct trial_row *row, struct msg_reply *reply, struct err *err)
{
    CHECK(row->id == e->trial);
    row->has_answer = false;
    return apply_read(ctl, session, e, 1, row, reply, err);
}

static int report_trial(struct ctl *ctl, const char *session, const struct msg_event *e,
                        struct msg_reply *reply, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = store_trial_get(ctl->store, e->trial, &row, err);

    rc = apply_read(ctl, session, e, rc, &row, reply, err);
    trial_row_fini(&row);
    return rc;
}

static int event_apply(struct ctl *ctl, int64_t runner, const char *session,
                       const struct msg_event *e, struct msg_reply *reply, struct err *err)
{
    *reply = (struct msg_reply){ .trial = e->trial, .fence = e->fence, .seq = e->seq };
    ctl->stats.events++;
    if (FAULT("report.event"))
        return err_set(err, ERR_IO, "fault: report.event");
    if (msg_is_of_task(e->type))
        return task_event(ctl, runner, session, e, reply, err);
    return report_trial(ctl, session, e, reply, err);
}

/* ---- renewals ---- */

/* A trial that a message of this report ended is still listed by the report. It need not be told to
 * stop again. */
static bool was_answered(const struct msg_answer *a, const struct msg_held *h)
{
    for (int i = 0; i < a->n_replies; i++) {
        if (a->replies[i].trial == h->trial && a->replies[i].fence == h->fence)
            return true;
    }
    return false;
}

/* Renews a trial that the runner holds: 1 = it is this session's, 0 = the runner must stop it,
 * -1. */
static int trial_renew(struct ctl *ctl, const char *session, const struct msg_held *h,
                       const struct msg_answer *a, struct err *err)
{
    struct lease *l = lease_find(ctl, false, h->trial);
    struct trial_row row = { 0 };
    struct study *st = NULL;
    int rc = 0;

    if (!l && was_answered(a, h))
        return 0; /* its message has ended it or taken it back: its row need not be read again */
    if (l) {
        if (l->fence != h->fence || !str_eq(l->session, session))
            return 0;
        lease_renew(ctl, l);
        return 1;
    }
    rc = store_trial_get(ctl->store, h->trial, &row, err);
    if (rc == 1 && row.fence == h->fence && !trial_is_final(row.state)) {
        st = study_by_id(ctl, row.study, err);
        rc = st ? rejoin(ctl, st, &row, session, err) : is_lost_case(ctl, &row, err) ? 0 : -1;
    } else {
        rc = rc < 0 && !is_lost_case(ctl, &row, err) ? -1 : 0;
    }
    trial_row_fini(&row);
    return rc;
}

static int renew_all(struct ctl *ctl, const struct msg_report *m, struct msg_answer *a,
                     struct err *err)
{
    a->stop = mem_array((size_t)m->n_held + 1, sizeof *a->stop);
    a->stop_tasks = mem_array((size_t)m->n_tasks + 1, sizeof *a->stop_tasks);
    for (int i = 0; i < m->n_held; i++) {
        int rc = trial_renew(ctl, m->session, &m->held[i], a, err);

        if (rc < 0)
            return -1;
        if (rc == 0 && !was_answered(a, &m->held[i]))
            a->stop[a->n_stop++] = m->held[i];
    }
    for (int i = 0; i < m->n_tasks; i++) {
        if (!task_renew(ctl, m->session, &m->tasks[i]) && !was_answered(a, &m->tasks[i]))
            a->stop_tasks[a->n_stop_tasks++] = m->tasks[i];
    }
    CHECK(a->n_stop <= m->n_held && a->n_stop_tasks <= m->n_tasks);
    return 0;
}

/* How many of this runner's leases the report lists. */
static int listed_count(struct ctl *ctl, int64_t runner, const struct msg_report *m)
{
    int n = 0;

    for (int i = 0; i < m->n_held + m->n_tasks; i++) {
        bool is_task = i >= m->n_held;
        const struct msg_held *h = is_task ? &m->tasks[i - m->n_held] : &m->held[i];
        const struct lease *l = lease_find(ctl, is_task, h->trial);

        n += l && l->fence == h->fence && l->runner == runner;
    }
    return n;
}

static bool is_listed(const struct msg_report *m, const struct lease *l)
{
    const struct msg_held *list = l->is_task ? m->tasks : m->held;
    int n = l->is_task ? m->n_tasks : m->n_held;

    for (int i = 0; i < n; i++) {
        if (list[i].trial == l->id && list[i].fence == l->fence)
            return true;
    }
    return false;
}

/* Queues trials again that the runner got and does not hold any more, without waiting for their
 * leases to run out (lease_is_missing in expire.c). Nearly always it holds all of them, and then the
 * table of leases need not be searched. */
static int requeue_missing(struct ctl *ctl, int64_t runner, const struct msg_report *m,
                           struct err *err)
{
    const struct runner *r = runner_find(ctl, runner);

    if (r && listed_count(ctl, runner, m) == r->n_leases)
        return 0;
    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        struct lease l;

        if (i >= ctl->n_leases || ctl->leases[i].runner != runner)
            continue;
        l = ctl->leases[i];
        if (!str_eq(l.session, m->session) || is_listed(m, &l) || !lease_is_missing(&l, m))
            continue;
        log_info("lease.missing %s=%" PRId64 " fence=%" PRId64, l.is_task ? "task" : "trial", l.id,
                 l.fence);
        if (lease_lose(ctl, l, TR_RUNNER_LOST, err) < 0)
            return -1;
    }
    return 0;
}

/* A grant is kept for a runner that did not get it and repeats its call. This one has it. */
static void grants_forget(struct runner *r, const struct msg_report *m)
{
    for (int i = 0; i < m->n_asked; i++) {
        struct device *d = runner_device(r, m->asked[i].device);

        if (!d || !d->last_grant || m->asked[i].n < d->last_n)
            continue;
        json_decref(d->last_grant);
        d->last_grant = NULL;
    }
}

int ctl_runner_report(struct ctl *ctl, int64_t token, int64_t runner, const json_t *body,
                      json_t **out, struct err *err)
{
    struct msg_report m = { 0 };
    struct msg_answer a = { .lease_ms = ctl->conf.lease_ms };
    struct runner *r = NULL;
    int rc = -1;

    if (msg_report_parse(&m, body, err) < 0)
        return -1;
    r = runner_of(ctl, token, runner, m.session, err);
    if (!r)
        goto out;
    ctl->stats.reports++;
    grants_forget(r, &m);
    a.replies = mem_array((size_t)m.n_events + 1, sizeof *a.replies);
    for (int i = 0; i < m.n_events; i++) {
        if (event_apply(ctl, runner, m.session, &m.events[i], &a.replies[i], err) < 0)
            goto out;
        a.n_replies++;
    }
    CHECK(a.n_replies == m.n_events); /* each message has its answer */
    /* before leases are renewed, so that a rank whose trial has ended is told to stop */
    if (task_sweep_ranks(ctl, err) < 0 || renew_all(ctl, &m, &a, err) < 0 ||
        requeue_missing(ctl, runner, &m, err) < 0 || study_settle_all(ctl, err) < 0)
        goto out;
    a.drain = str_eq(r->row.state, "draining") || ctl->is_stopping;
    *out = msg_answer_json_new(&a);
    rc = 0;
out:
    msg_answer_fini(&a);
    msg_report_fini(&m);
    return rc;
}
