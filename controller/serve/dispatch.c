/* dispatch.c - which trials go to which device (dispatch.h).
 *
 * Studies are asked in order (gang_compare in decide/gang.h): the highest priority first, then the
 * one with the fewest running trials, then the oldest. The first study that has something for the
 * device gets it. A trial of several devices gets them all in one grant. While it waits for them,
 * the device may get nothing; decide/gang.h says when, and how the order is then.
 *
 * Trials can be granted as one group, and then train together, if they are of the same study,
 * family and shape key and start from the same level. The size of a group is limited by: what the
 * runner asked for and the device takes; MSG_MAX_TRIALS; the forecast of memory (state/memory.h);
 * and the ready trials, with those that can still be made, divided by the idle devices, so that the
 * last trials of a study do not all go to one device. After a group crashed, its trials go out in groups of half that size, and at
 * last alone (message.c).
 *
 * Which of them a GPU takes first, and what a core leaves to it: place.h.
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
#include "controller/decide/ensemble.h"
#include "controller/decide/live.h"
#include "controller/decide/probe.h"
#include "controller/decide/rescue.h"
#include "controller/serve/gang.h"
#include "controller/serve/place.h"
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
    struct trial_row *rows; /* room for as many trials as are asked for; owned by the caller */
    int n;
    int64_t host_bytes;  /* forecast of all its trials together */
    int64_t deadline_ms; /* monotonic; 0 = none */
    bool is_probe;       /* its only trial decides the validation (decide/probe.h) */
    bool on_gpu;         /* the device that asks is one */
    struct gang_seats *seats;
    bool is_gang; /* its only trial gets these seats */
    int chosen[MSG_MAX_RANKS];
    int64_t held; /* the trial that waits for devices, this one among them; 0 = none */
    int n_never;  /* gangs that the fleet cannot have */
};

static void group_fini(struct group *g)
{
    for (int i = 0; i < g->n; i++)
        trial_row_fini(&g->rows[i]);
    g->n = 0;
}

/* ---- which study ---- */

/* The search is over, and a paused trial waits to be completed as it is (decide/rescue.h). */
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

/* Looks whether this trial of several devices can go out now: 1 = it is the group, 0 = no other trial
 * of the study may, either, -1 = others may. */
static int gang_fill(struct group *g, int64_t number)
{
    enum gang_answer answer = gang_try(g->st, number, g->seats, g->chosen);

    g->is_gang = answer == GANG_GOES;
    g->held = answer == GANG_WAITS ? number : 0;
    g->n_never += answer == GANG_NEVER;
    return g->is_gang ? 1 : g->held ? 0 : -1;
}

/* Puts one trial into the empty group. */
static int group_one(struct group *g, int64_t number, struct err *err)
{
    g->rows[0] = (struct trial_row){ 0 };
    if (trial_load(g->st, number, &g->rows[0], err) < 0)
        return -1;
    g->n = 1;
    return 0;
}

/* Whether trial i of the queue may be in the group, by what memory says of it: a row is read only of
 * those that may. */
static bool may_join(const struct group *g, int i, const struct place *place)
{
    const struct study *st = g->st;
    const struct trial_mem *t = &st->trials[st->queue[i] - 1];

    return is_ready(t) && !retry_waits(st, st->queue[i]) &&
           (t->max_group == 0 || t->max_group > g->n) && (t->devices < 2 || g->n == 0) &&
           (g->n == 0 || st->trials[g->rows[0].number - 1].shape == t->shape) &&
           place_takes(place, st, t);
}

/* Collects ready trials, by number, until the group is full. */
static int group_fill(struct group *g, int most, int64_t memory, struct place place,
                      struct err *err)
{
    struct study *st = g->st;

    for (int i = 0; i < st->n_queue && g->n < most; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];
        struct trial_row *row = &g->rows[g->n];
        int64_t bytes = 0;

        if (!may_join(g, i, &place))
            continue;
        if (t->on_gpus && !g->on_gpu) {
            g->n_never++;
            continue;
        }
        if (t->devices > 1) {
            int rc = gang_fill(g, st->queue[i]);
            if (rc < 0)
                continue;
            return rc == 0 ? 0 : group_one(g, st->queue[i], err);
        }
        *row = (struct trial_row){ 0 };
        if (trial_load(st, st->queue[i], row, err) < 0)
            return -1;
        (void)trial_config_json(row); /* parsed once, for the forecast and for the grant */
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
    int64_t all = ready + live_room(st);
    int fair = (int)MIN((all + MAX(n_idle, 1) - 1) / MAX(n_idle, 1), MSG_MAX_TRIALS);
    int size = MIN(MIN(MIN(ask->max_trials, d->is.max_trials), MSG_MAX_TRIALS), MAX(fair, 1));
    if (st->spec.command)
        return 1;                   /* a program has the device for itself */
    CHECK(size <= ask->max_trials); /* struct group has so many places */
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
    if (!is_ready(trial_mem(st, st->probe)) || retry_waits(st, st->probe) ||
        (trial_mem(st, st->probe)->on_gpus && !g->on_gpu))
        return 1;
    if (trial_mem(st, st->probe)->devices > 1 && gang_fill(g, st->probe) != 1)
        return 1;
    return group_one(g, st->probe, err) < 0 ? -1 : 1;
}

/* Trials that complete as they are go out one by one, the best first. */
static int pick_rescued(struct group *g, struct err *err)
{
    int64_t number = rescue_first(g->st);

    if (!number || !is_ready(trial_mem(g->st, number)) || retry_waits(g->st, number) ||
        (trial_mem(g->st, number)->devices > 1 && gang_fill(g, number) != 1))
        return 0;
    return group_one(g, number, err);
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
    g->on_gpu = str_eq(d->is.kind, "cuda");
    if (st->row.state == SS_FINISHING)
        return pick_rescued(g, err);
    if (st->problem.is_undecided) {
        int rc = pick_probe(g, r, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    want = MIN(ask->max_trials, d->is.max_trials) + retry_n_waiting(st) + place_leaves(st, d);
    if (gang_holds(st, d->is.kind) && !retry_waits(st, st->hold)) {
        int64_t number = st->hold; /* it holds nothing any more when it goes */
        int rc = gang_fill(g, number);
        if (rc >= 0)
            return rc == 0 ? 0 : group_one(g, number, err);
    }
    if (settle_fill(st, want, err) < 0)
        return -1;
    for (int tries = 0; tries < 2; tries++) {
        g->n_never = 0;
        if (group_fill(g, group_size(st, r, d, ask), memory_of(st, d, ask), place_of(st, d), err) <
            0)
            return -1;
        if (g->n > 0 || g->held || g->n_never == 0)
            return 0;
        /* gangs that cannot go out do not keep others from being made */
        if (settle_fill(st, want + g->n_never, err) < 0)
            return -1;
    }
    return 0;
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
    row->predictions[0] = '\0'; /* of a lease before */
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

/* A new reference; NULL when the other ranks of a gang could not be granted. */
static json_t *grant_json(struct group *g, int64_t group_no, struct err *err)
{
    struct study *st = g->st;
    struct msg_trial trials[MSG_MAX_TRIALS];
    char *command = st->spec.command ? jsonx_dump(st->spec.command) : NULL;
    struct msg_grant m = { .kind = MSG_FIT,
                           .group = group_no,
                           .study = st->row.id,
                           .deadline_ms =
                               g->deadline_ms ? MAX(g->deadline_ms - ctl_now(st->ctl), 1) : 0,
                           .trial_time_ms = budget_trial_ms(st, trial_mem(st, g->rows[0].number)),
                           .trial_steep_ms = budget_steep_ms(st, trial_mem(st, g->rows[0].number)),
                           .trial_memory_bytes = st->spec.trial_memory_bytes,
                           .command = command,
                           .levels = command ? st->spec.levels : 0,
                           .data = st->problem.data,
                           .keeps_predictions = ensemble_keeps(st),
                           .n_trials = g->n,
                           .trials = trials };

    for (int i = 0; i < g->n; i++) {
        struct trial_row *row = &g->rows[i];
        const struct trial_mem *t = trial_mem(st, row->number);
        int from = from_of(t);

        trials[i] = (struct msg_trial){ .trial = row->id,
                                        .fence = row->fence,
                                        .config = row->config,
                                        .config_json = trial_config_json(row),
                                        .seed = row->seed,
                                        .from = from,
                                        .to = row->run_to,
                                        .growth = memory_growth(st, t) };
        /* A checkpoint counts even before the first level is complete. */
        if (t->checkpoint_level < t->run_to)
            str_copy(trials[i].checkpoint, sizeof trials[i].checkpoint, row->checkpoint);
    }
    if (command)
        str_copy(m.study_name, sizeof m.study_name, st->row.name);
    json_t *json = g->is_gang && gang_grant(st, &g->rows[0], &m, g->seats, g->chosen, err) < 0
                       ? NULL
                       : msg_grant_json_new(&m);
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
    *out = grant_json(g, group_no, err);
    if (!*out)
        return -1;
    ctl->stats.grants++;
    ctl->stats.granted_trials += g->n;
    st->served += g->is_gang ? trial_mem(st, g->rows[0].number)->devices : 1;
    log_info("group.leased group=%" PRId64 " study=%" PRId64 " runner=%" PRId64
             " device=%s lanes=%d family=%s",
             group_no, st->row.id, r->row.id, ask->device, g->n, g->rows[0].family);
    return 1;
}

int dispatch_own(struct study *st, struct runner *r, const char *client, int64_t number,
                 struct trial_row *row, struct err *err)
{
    struct group g = { .st = st, .rows = row, .n = 1 };
    struct msg_ask ask = { .max_trials = 1 };
    int rc = -1;

    CHECK(st->spec.is_own && !st->spec.command && strlen(client) < sizeof ask.session);
    str_copy(ask.session, sizeof ask.session, client);
    str_copy(ask.device, sizeof ask.device, "client");
    if (trial_load(st, number, row, err) == 0 && study_start(st, r, err) == 0)
        rc = trial_grant(&g, 0, r, &ask, ++st->ctl->group_no, err);
    st->ctl->stats.grants++;
    st->ctl->stats.granted_trials++;
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

/* Whether a trial of several devices is ready in one of the studies. */
static bool has_gangs(const struct study *st)
{
    for (int i = 0; i < st->n_queue; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];
        if (t->devices > 1 && is_ready(t))
            return true;
    }
    return false;
}

/* Counts for all claims what their studies were served; a new study begins with the least. */
static void serve_count(struct ctl *ctl, struct gang_claim *claims, int n)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < n; i++) {
        claims[i].served = study_loaded(ctl, claims[i].study)->served;
        if (claims[i].served > 0)
            least = MIN(least, claims[i].served);
    }
    for (int i = 0; i < n; i++) {
        if (claims[i].served == 0)
            claims[i].served = study_loaded(ctl, claims[i].study)->served =
                least == INT64_MAX ? 1 : least;
    }
}

/* The studies that may run here, in their order. The caller frees the list. */
static struct gang_claim *claims_new(struct ctl *ctl, const struct runner *r,
                                     const struct device *d, int *n)
{
    struct gang_claim *claims = mem_array((size_t)ctl->n_studies + 1, sizeof *claims);
    bool has_gang = false;

    *n = 0;
    for (int i = 0; i < ctl->n_studies; i++) {
        const struct study *st = ctl->studies[i];
        if (!may_run(st, r))
            continue;
        claims[(*n)++] = (struct gang_claim){ .study = st->row.id,
                                              .priority = st->row.priority,
                                              .holds = gang_holds(st, d->is.kind),
                                              .running = st->count[TS_RUNNING] };
        has_gang = has_gang || has_gangs(st);
    }
    if (has_gang)
        serve_count(ctl, claims, *n);
    qsort(claims, (size_t)*n, sizeof *claims, gang_compare);
    return claims;
}

/* Asks one study for work: 1 and the grant; 0, and g->held says whether a gang waits for it; -1. */
static int grant_of(struct group *g, struct study *st, const struct msg_ask *ask, json_t **out,
                    struct err *err)
{
    struct runner *r = g->seats->seat[0].runner;
    int rc = 0;

    g->st = st;
    g->host_bytes = g->deadline_ms = g->held = 0;
    g->is_probe = g->is_gang = false;
    rc = pick(g, r, g->seats->seat[0].device, ask, err);
    if (rc == 0 && g->n > 0)
        rc = table_check(st, ask, err);
    if (rc == 1)
        rc = grant(g, r, ask, out, err);
    if (rc < 0)
        damage_suspect(st->ctl, st->row.id, err);
    group_fini(g);
    return rc;
}

/* Room for as many trials as a device asks for. */
static size_t group_bytes(const struct msg_ask *ask)
{
    CHECK(ask->max_trials >= 1 && ask->max_trials <= MSG_MAX_TRIALS);
    return (size_t)ask->max_trials * sizeof(struct trial_row);
}

static int grant_fit(struct ctl *ctl, struct gang_seats *seats, const struct msg_ask *ask,
                     json_t **out, struct err *err)
{
    const struct device *d = seats->seat[0].device;
    struct group group = { .rows = mem_zalloc(group_bytes(ask)) }, *g = &group;
    const struct gang_claim *waits = NULL; /* the first whose gang would hold the device */
    int64_t held = 0;
    int n = 0, rc = 0;
    struct gang_claim *claims = claims_new(ctl, seats->seat[0].runner, d, &n);

    g->seats = seats;
    for (int i = 0; i < n && rc == 0; i++) {
        if (waits && !gang_yields(waits, &claims[i]))
            continue;
        rc = grant_of(g, study_loaded(ctl, claims[i].study), ask, out, err);
        if (rc == 0 && g->held && !waits) {
            waits = &claims[i];
            held = g->held;
        }
    }
    if (rc == 0 && waits)
        gang_hold(study_loaded(ctl, waits->study), held, d->is.kind);
    mem_free(g->rows);
    mem_free(claims);
    return rc;
}

bool dispatch_may(struct ctl *ctl, const struct runner *r)
{
    bool any = task_waits(ctl, r);

    for (int i = 0; i < ctl->n_studies && !any; i++)
        any = may_run(ctl->studies[i], r);
    return any;
}

int dispatch_grant(struct ctl *ctl, struct gang_seats *seats, struct err *err)
{
    struct gang_seat *seat = &seats->seat[0];
    struct runner *r = seat->runner;
    struct device *d = seat->device;
    const struct msg_ask *ask = seat->ask;
    json_t *out = NULL;
    struct msg_grant task = { 0 };
    struct msg_ask less = *ask; /* differs in the number of trials only; borrows the rest */
    int rc = 0;

    if (ctl->is_stopping || !runner_is_enabled(r) || !quarantine_allows(d))
        return 0;
    less.max_trials = quarantine_lanes(d, ask->max_trials);
    rc = task_grant(ctl, r, &less, place_leaves_tasks(ctl, r, d), &task, err);
    if (rc == 1) {
        out = msg_grant_json_new(&task);
        msg_grant_fini(&task);
    }
    if (rc == 0)
        rc = grant_fit(ctl, seats, &less, &out, err);
    seats->seat[0].grant = out; /* the array may have grown */
    return rc;
}
