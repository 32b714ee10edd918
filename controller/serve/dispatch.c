/* dispatch.c - which trials go to which device (dispatch.h).
 *
 * Studies are asked in order: the highest priority first, then the one with the fewest running
 * trials, then the oldest. The first study that has something for the device gets it.
 *
 * Trials can be granted as one group, and then train together, if they are of the same study,
 * family and shape key and start from the same level. The size of a group is limited by: what the
 * runner asked for and the device takes; MSG_MAX_TRIALS; the forecast of memory (state/memory.h);
 * and the ready trials divided by the idle devices, so that the last trials of a study do not all
 * go to one device. After a group crashed, its trials go out in groups of half that size, and at
 * last alone (message.c).
 *
 * If a runner has GPUs, they first take trials of families that can use them, and its CPUs first
 * take the others. Neither waits while there is any work.
 *
 * Within a study trials are taken by number. Deterministic studies need no rule of their own: on a
 * CPU the result of a trial does not depend on the group that it trains in. */
#include "controller/serve/dispatch.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/probe.h"
#include "controller/decide/rescue.h"
#include "controller/serve/retry.h"
#include "controller/serve/table.h"
#include "controller/serve/task.h"
#include "controller/settle/settle.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/memory.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"
#include "controller/state/task.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The trials of one grant, while it is made. */
struct group {
    struct study *st;
    struct trial_row rows[MSG_MAX_TRIALS];
    int n;
    int64_t host_bytes;  /* forecast of all its trials together */
    int64_t deadline_ms; /* monotonic; 0 = none */
    bool is_probe;       /* its only trial decides the validation (decide/probe.h) */
};

static void group_fini(struct group *g)
{
    for (int i = 0; i < g->n; i++)
        trial_row_fini(&g->rows[i]);
    g->n = 0;
}

/* ---- which study ---- */

/* The search is over, and one paused trial waits to be completed as it is (decide/rescue.h). */
static bool is_last(const struct study *st)
{
    return st->row.state == SS_FINISHING && rescue_waits(st);
}

/* Whether trials of this study may go to this runner now. */
static bool may_run(const struct study *st, const struct runner *r)
{
    bool is_waiting = st->row.state == SS_RUNNING || st->row.state == SS_QUEUED;

    if (st->spec.is_own && !st->spec.command)
        return false; /* its trials go to who asks for them (ask.h) */
    if (st->spec.command && !runner_takes(r, st->spec.command))
        return false;
    if (!(is_waiting || is_last(st)) || !st->problem.is_ready || !st->search ||
        study_waits_for_table(st))
        return false;
    if (st->row.numeric_sig && st->row.numeric_sig[0] &&
        !str_eq(st->row.numeric_sig, r->row.numeric_sig))
        return false;
    return is_last(st) || ctl_now(st->ctl) < budget_cut_ms(st);
}

static int compare_studies(const void *pa, const void *pb)
{
    const struct study *a = *(struct study *const *)pa, *b = *(struct study *const *)pb;

    if (a->row.priority != b->row.priority)
        return a->row.priority > b->row.priority ? -1 : 1;
    if (a->count[TS_RUNNING] != b->count[TS_RUNNING])
        return a->count[TS_RUNNING] < b->count[TS_RUNNING] ? -1 : 1;
    return a->row.id < b->row.id ? -1 : 1;
}

/* ---- which trials ---- */

/* The level at which a trial starts: that of its last checkpoint, or 0 if the checkpoint is not
 * below the level that the trial shall run to. */
static int from_of(const struct trial_mem *t)
{
    return t->checkpoint_level < t->run_to ? t->checkpoint_level : 0;
}

static bool is_ready(const struct trial_mem *t)
{
    return t->state == TS_QUEUED && t->run_to > 0;
}

static int ready_count(const struct study *st)
{
    int n = 0;

    for (int i = 0; i < st->n_queue; i++)
        n += is_ready(&st->trials[st->queue[i] - 1]);
    return n;
}

/* Bytes that the trials of a grant may take together; 0 = there is no limit. Four fifths of the
 * free memory, less what the table takes, which may not be in memory yet. The fifth is left for
 * what forecasts do not know. */
static int64_t memory_of(const struct study *st, const struct device *d, const struct msg_ask *ask)
{
    int64_t bytes = d->is.memory_bytes;

    if (ask->host_bytes > 0)
        bytes = bytes > 0 ? MIN(bytes, ask->host_bytes) : ask->host_bytes;
    return bytes > 0 ? MAX(bytes / 5 * 4 - memory_of_data(st), 1) : 0;
}

static bool fuses(const struct group *g, const struct study *st, const struct trial_row *row)
{
    const struct trial_row *first = &g->rows[0];
    const struct trial_mem *a = &st->trials[first->number - 1], *b = &st->trials[row->number - 1];

    return str_eq(first->family, row->family) && str_eq(first->shape_key, row->shape_key) &&
           from_of(a) == from_of(b);
}

static bool has_gpu(const struct runner *r)
{
    bool any = false;

    for (int i = 0; i < r->n_devices; i++)
        any = any || str_eq(r->devices[i].is.kind, "cuda");
    return any;
}

/* Which trials a device takes: 1 = those of families that can use a GPU, 0 = those of other
 * families, -1 = any. A preference for which nothing is ready is dropped. */
static int first_choice(const struct study *st, const struct runner *r, const struct device *d)
{
    bool wish = str_eq(d->is.kind, "cuda"), is_there = false;

    if (!has_gpu(r))
        return -1;
    for (int i = 0; i < st->n_queue && !is_there; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];
        is_there = is_ready(t) && st->families[t->family]->has_device == wish;
    }
    return is_there ? wish : -1;
}

/* Collects ready trials, by number, until the group is full. */
static int group_fill(struct group *g, int most, int64_t memory, int choice, struct err *err)
{
    struct study *st = g->st;

    for (int i = 0; i < st->n_queue && g->n < most; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];
        struct trial_row *row = &g->rows[g->n];
        int64_t bytes = 0;

        if (!is_ready(t) || retry_waits(st, st->queue[i]) ||
            (t->max_group && t->max_group <= g->n) ||
            (choice >= 0 && st->families[t->family]->has_device != choice))
            continue;
        *row = (struct trial_row){ 0 };
        if (trial_load(st, st->queue[i], row, err) < 0)
            return -1;
        bytes = memory_of_trial(st, t, row, from_of(t));
        /* The first trial goes out whatever the forecast says: the forecast may be wrong, and the
         * worker enforces the limit of memory anyway. */
        if (g->n > 0 && (!fuses(g, st, row) || (memory > 0 && g->host_bytes + bytes > memory))) {
            trial_row_fini(row);
            continue;
        }
        g->host_bytes += bytes;
        g->n++;
        if (t->max_group)
            most = MIN(most, t->max_group);
    }
    return 0;
}

static int group_size(const struct study *st, const struct runner *r, const struct device *d,
                      const struct msg_ask *ask)
{
    int n_devices = 0, n_idle = 0, ready = ready_count(st);

    runner_capacity(st->ctl, r->row.numeric_sig, &n_devices, &n_idle);
    CHECK(ready <= st->n_queue);
    int fair = (ready + MAX(n_idle, 1) - 1) / MAX(n_idle, 1);
    int size = MIN(MIN(MIN(ask->max_trials, d->is.max_trials), MSG_MAX_TRIALS), MAX(fair, 1));
    if (st->spec.command)
        return 1; /* a program has the device for itself */
    CHECK(size <= MSG_MAX_TRIALS); /* struct group has so many places */
    return size;
}

/* While the validation is undecided only the probe may run: 1 = the group is final (the probe, or
 * nothing while the probe cannot go out), 0 = the validation is decided now, -1. */
static int pick_probe(struct group *g, struct runner *r, struct err *err)
{
    struct study *st = g->st;

    if (settle_probe(st, r->row.numeric_sig, err) < 0)
        return -1;
    if (!st->probe)
        return 0; /* the cost formula decided: this is an ordinary grant */
    g->is_probe = true;
    if (!is_ready(trial_mem(st, st->probe)) || retry_waits(st, st->probe))
        return 1;
    if (trial_load(st, st->probe, &g->rows[0], err) < 0)
        return -1;
    g->n = 1;
    return 1;
}

/* Fills the group with work for this device; an empty group means that there is none. Trials that
 * wait because they failed (retry.h) are in the queue, too, so that many more are wanted in it. */
static int pick(struct group *g, struct runner *r, struct device *d, const struct msg_ask *ask,
                struct err *err)
{
    struct study *st = g->st;
    int want = 0;

    if (st->spec.command && !device_takes(d, st->spec.command))
        return 0;
    if (st->problem.is_undecided) {
        int rc = pick_probe(g, r, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    want = MIN(ask->max_trials, d->is.max_trials) + retry_n_waiting(st);
    if (settle_fill(st, want, err) < 0)
        return -1;
    return group_fill(g, group_size(st, r, d, ask), memory_of(st, d, ask), first_choice(st, r, d),
                      err);
}

/* ---- granting ---- */

/* The study's first grant starts it, and binds it to the numeric class of this runner. */
static int study_start(struct study *st, struct runner *r, struct err *err)
{
    if (!st->spec.is_own && (!st->row.numeric_sig || !st->row.numeric_sig[0])) {
        mem_free(st->row.numeric_sig);
        st->row.numeric_sig = mem_strdup(r->row.numeric_sig);
        if (st->row.state != SS_QUEUED)
            return study_save(st, err);
    }
    if (st->row.state != SS_QUEUED)
        return 0;
    st->row.started_at = ctl_wall(st->ctl);
    study_clock_start(st);
    return study_move(st, SE_START, NULL, NULL, err);
}

/* Grants the i-th trial of the group: its row with a new fence, an attempt, and a lease. */
static int trial_grant(struct group *g, int i, struct runner *r, const struct msg_ask *ask,
                       int64_t group_no, struct err *err)
{
    struct study *st = g->st;
    struct trial_row *row = &g->rows[i];
    int64_t now = ctl_now(st->ctl);
    int from = from_of(trial_mem(st, row->number));
    struct attempt_row a = { .trial = row->id,
                             .fence = row->fence + 1,
                             .runner = r->row.id,
                             .from_level = from,
                             .to_level = row->run_to,
                             .started_at = ctl_wall(st->ctl) };
    struct lease l = { .id = row->id,
                       .fence = row->fence + 1,
                       .study = st->row.id,
                       .number = row->number,
                       .runner = r->row.id,
                       .ask_n = ask->n,
                       .group = group_no,
                       .group_size = g->n,
                       .from = from,
                       .to = row->run_to,
                       .granted_ms = now,
                       .expires_ms = now + lease_period(st->ctl, st->spec.lost_after_ms),
                       .period_ms = st->spec.lost_after_ms,
                       .deadline_ms = g->deadline_ms,
                       .is_probe = g->is_probe };

    CHECK(is_ready(trial_mem(st, row->number)));
    str_copy(a.session, sizeof a.session, ask->session);
    str_copy(a.device, sizeof a.device, ask->device);
    str_copy(l.session, sizeof l.session, ask->session);
    str_copy(l.device, sizeof l.device, ask->device);
    row->fence++;
    row->msg_seq = 0;
    mem_free(row->msg_answer);
    row->msg_answer = NULL;
    row->reason = TR_NONE;
    json_t *data = json_pack("{s:I, s:s, s:I, s:I, s:i, s:i}", "runner", (json_int_t)r->row.id,
                             "device", ask->device, "fence", (json_int_t)row->fence, "group",
                             (json_int_t)group_no, "from", from, "to", row->run_to);
    if (trial_move(st, row, TE_LEASE, data, NULL, err) < 0 ||
        store_attempt_open(st->ctl->store, &a, err) < 0)
        return -1;
    lease_add(st->ctl, &l);
    return 0;
}

static json_t *grant_json(const struct group *g, int64_t group_no)
{
    struct study *st = g->st;
    struct msg_trial trials[MSG_MAX_TRIALS];
    char *command = st->spec.command ? jsonx_dump(st->spec.command) : NULL;
    struct msg_grant m = { .kind = MSG_FIT,
                           .group = group_no,
                           .study = st->row.id,
                           .deadline_ms =
                               g->deadline_ms ? MAX(g->deadline_ms - ctl_now(st->ctl), 1) : 0,
                           .trial_time_ms = budget_trial_ms(st, g->rows[0].family),
                           .trial_memory_bytes = st->spec.trial_memory_bytes,
                           .command = command,
                           .levels = command ? st->spec.levels : 0,
                           .data = st->problem.data,
                           .n_trials = g->n,
                           .trials = trials };

    for (int i = 0; i < g->n; i++) {
        const struct trial_row *row = &g->rows[i];
        const struct trial_mem *t = trial_mem(st, row->number);
        int from = from_of(t);

        trials[i] = (struct msg_trial){ .trial = row->id,
                                        .fence = row->fence,
                                        .config = row->config,
                                        .seed = row->seed,
                                        .from = from,
                                        .to = row->run_to,
                                        .growth = memory_growth(st, t) };
        /* The checkpoint of a program counts even before its first level. */
        if (from > 0 || (command && t->checkpoint_level < t->run_to))
            str_copy(trials[i].checkpoint, sizeof trials[i].checkpoint, row->checkpoint);
    }
    if (command)
        str_copy(m.study_name, sizeof m.study_name, st->row.name);
    json_t *json = msg_grant_json_new(&m);
    mem_free(command);
    return json;
}

/* Makes a group to a grant: 1, or -1. */
static int grant(struct group *g, struct runner *r, const struct msg_ask *ask, json_t **out,
                 struct err *err)
{
    struct study *st = g->st;
    struct ctl *ctl = st->ctl;
    int64_t group_no = ++ctl->group_no;

    CHECK(g->n >= 1 && g->n <= MSG_MAX_TRIALS && (!g->is_probe || g->n == 1));
    if (FAULT("dispatch.grant"))
        return err_set(err, ERR_IO, "fault: dispatch.grant");
    if (study_start(st, r, err) < 0)
        return -1;
    g->deadline_ms = g->is_probe   ? probe_deadline_ms(st)
                     : is_last(st) ? ctl_now(ctl)
                                   : budget_cut_ms(st);
    if (g->deadline_ms == INT64_MAX)
        g->deadline_ms = 0;
    for (int i = 0; i < g->n; i++) {
        if (trial_grant(g, i, r, ask, group_no, err) < 0)
            return -1;
    }
    ctl->stats.grants++;
    ctl->stats.granted_trials += g->n;
    log_info("group.leased group=%" PRId64 " study=%" PRId64 " runner=%" PRId64
             " device=%s lanes=%d family=%s",
             group_no, st->row.id, r->row.id, ask->device, g->n, g->rows[0].family);
    *out = grant_json(g, group_no);
    return 1;
}

int dispatch_own(struct study *st, struct runner *r, const char *client, int64_t number,
                 struct err *err)
{
    struct group *g = mem_zalloc(sizeof *g);
    struct msg_ask ask = { .max_trials = 1 };
    int rc = -1;

    CHECK(st->spec.is_own && !st->spec.command && strlen(client) < sizeof ask.session);
    g->st = st;
    g->n = 1;
    str_copy(ask.session, sizeof ask.session, client);
    str_copy(ask.device, sizeof ask.device, "client");
    if (trial_load(st, number, &g->rows[0], err) == 0 && study_start(st, r, err) == 0)
        rc = trial_grant(g, 0, r, &ask, ++st->ctl->group_no, err);
    st->ctl->stats.grants++;
    st->ctl->stats.granted_trials++;
    group_fini(g);
    mem_free(g);
    return rc;
}

int64_t dispatch_own_next(const struct study *st)
{
    for (int i = 0; i < st->n_queue; i++) {
        if (is_ready(&st->trials[st->queue[i] - 1]) && !retry_waits(st, st->queue[i]))
            return st->queue[i];
    }
    return 0;
}

static int grant_fit(struct ctl *ctl, struct runner *r, struct device *d, const struct msg_ask *ask,
                     json_t **out, struct err *err)
{
    struct study **order = mem_array((size_t)ctl->n_studies + 1, sizeof(struct study *));
    struct group *g = mem_zalloc(sizeof *g);
    int n = 0, rc = 0;

    for (int i = 0; i < ctl->n_studies; i++) {
        if (may_run(ctl->studies[i], r))
            order[n++] = ctl->studies[i];
    }
    qsort(order, (size_t)n, sizeof(struct study *), compare_studies);
    for (int i = 0; i < n && rc == 0; i++) {
        g->st = order[i];
        g->host_bytes = g->deadline_ms = 0;
        g->is_probe = false;
        rc = pick(g, r, d, ask, err);
        if (rc == 0 && g->n > 0)
            rc = table_check(g->st, ask, err);
        if (rc == 1)
            rc = grant(g, r, ask, out, err);
        if (rc < 0)
            damage_suspect(ctl, order[i]->row.id, err);
        group_fini(g);
    }
    mem_free(g);
    mem_free(order);
    return rc;
}

bool dispatch_may(struct ctl *ctl, const struct runner *r)
{
    bool any = task_waits(ctl, r);

    for (int i = 0; i < ctl->n_studies && !any; i++)
        any = may_run(ctl->studies[i], r);
    return any;
}

int dispatch_grant(struct ctl *ctl, struct runner *r, struct device *d, const struct msg_ask *ask,
                   json_t **out, struct err *err)
{
    struct msg_grant task = { 0 };
    struct msg_ask less = *ask; /* differs in the number of trials only; borrows the rest */
    int rc = 0;

    if (ctl->is_stopping || !runner_is_enabled(r) || !quarantine_allows(ctl, d))
        return 0;
    less.max_trials = quarantine_lanes(d, ask->max_trials);
    rc = task_grant(ctl, r, &less, &task, err);
    if (rc == 1) {
        *out = msg_grant_json_new(&task);
        msg_grant_fini(&task);
    }
    return rc != 0 ? rc : grant_fit(ctl, r, d, &less, out, err);
}
