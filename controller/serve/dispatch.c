/* dispatch.c - which trials go to which device.
 *
 * Studies are asked in order of priority, then of trials they have running, then of age. A group holds trials that fuse: same
 * study, family, shape key and starting level; its size is at most what the device and the runner take, 256, the memory
 * estimate, and the ready trials divided by the idle devices, so that the last trials do not all go to one of them. A trial
 * whose group crashed goes out in groups of half that size, at last alone. Where a runner has GPUs, these take families that
 * have a form for them first, and its CPUs the others first; neither waits while there is anything to do.
 *
 * In deterministic studies trials are taken by number as well; on a CPU a trial's numbers do not depend on its group, so the
 * grouping need not be planned. */
#include "controller/serve/dispatch.h"

#include "base/fault.h"
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

struct group {
    struct study *st;
    struct trial_row rows[MSG_MAX_TRIALS];
    int n;
    int64_t host_bytes, deadline_ms; /* deadline: monotonic, 0 = none */
    bool is_probe;
};

static void group_fini(struct group *g)
{
    for (int i = 0; i < g->n; i++)
        trial_row_fini(&g->rows[i]);
    g->n = 0;
}

/* ---- which study ---- */

/* Its search is over; one trial is to complete with what it has. */
static bool is_last(const struct study *st)
{
    return st->row.state == SS_FINISHING && rescue_waits(st);
}

static bool may_run(const struct study *st, const struct runner *r)
{
    bool is_waiting = st->row.state == SS_RUNNING || st->row.state == SS_QUEUED;

    if (!(is_waiting || is_last(st)) || !st->problem.is_ready || !st->sampler ||
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

/* Where a trial starts: its last checkpoint, but never at or beyond where it shall run to. */
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

/* What trials may be promised: four fifths of what is free, without the table, which may not be there yet; 0 = no limit. */
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

/* The trials that a device takes first: 1 those with a form for GPUs, 0 those without, -1 any. */
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
        /* The first trial goes out whatever the estimate says: the worker holds the limit, an estimate may be wrong. */
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
    int fair = (ready + MAX(n_idle, 1) - 1) / MAX(n_idle, 1);
    return MIN(MIN(MIN(ask->max_trials, d->is.max_trials), MSG_MAX_TRIALS), MAX(fair, 1));
}

/* While the validation is undecided only the probe runs. */
static int pick_probe(struct group *g, struct runner *r, struct err *err)
{
    struct study *st = g->st;

    if (settle_probe(st, r->row.numeric_sig, err) < 0)
        return -1;
    if (!st->probe)
        return 0; /* decided by the formula: an ordinary grant */
    g->is_probe = true;
    if (!is_ready(trial_mem(st, st->probe)) || retry_waits(st, st->probe))
        return 1;
    if (trial_load(st, st->probe, &g->rows[0], err) < 0)
        return -1;
    g->n = 1;
    return 1;
}

static int pick(struct group *g, struct runner *r, struct device *d, const struct msg_ask *ask,
                struct err *err)
{
    struct study *st = g->st;
    int want = 0;

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

static int study_start(struct study *st, struct runner *r, struct err *err)
{
    if (!st->row.numeric_sig || !st->row.numeric_sig[0]) {
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
                       .expires_ms = now + st->ctl->conf.lease_ms,
                       .deadline_ms = g->deadline_ms,
                       .is_probe = g->is_probe };

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
    struct msg_grant m = { .kind = MSG_FIT,
                           .group = group_no,
                           .study = st->row.id,
                           .deadline_ms =
                               g->deadline_ms ? MAX(g->deadline_ms - ctl_now(st->ctl), 1) : 0,
                           .trial_time_ms = budget_trial_ms(st, g->rows[0].family),
                           .trial_memory_bytes = st->spec.trial_memory_bytes,
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
        if (from > 0)
            str_copy(trials[i].checkpoint, sizeof trials[i].checkpoint, row->checkpoint);
    }
    return msg_grant_json_new(&m);
}

static int grant(struct group *g, struct runner *r, const struct msg_ask *ask, json_t **out,
                 struct err *err)
{
    struct study *st = g->st;
    struct ctl *ctl = st->ctl;
    int64_t group_no = ++ctl->group_no;

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
    struct msg_ask less = *ask; /* borrows all but the number of trials */
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
