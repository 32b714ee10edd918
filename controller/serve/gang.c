/* gang.c - see gang.h. Where rank 0 listens is in memory only, in the trial's lease: rank 0 repeats
 * it until all others have come. */
#include "controller/serve/gang.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/serve/auth.h"
#include "controller/serve/message.h"
#include "controller/serve/retry.h"
#include "controller/serve/table.h"
#include "controller/settle/load.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/quarantine.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- seats ---- */

void gang_seat_add(struct gang_seats *s, struct runner *r, struct device *d,
                   const struct msg_ask *ask)
{
    for (int i = 0; i < s->n; i++) {
        if (s->seat[i].device == d)
            return;
    }
    MEM_GROW(s->seat, s->n, s->cap);
    s->seat[s->n++] = (struct gang_seat){ .runner = r, .device = d, .ask = ask };
}

void gang_seats_fini(struct gang_seats *s)
{
    for (int i = 0; i < s->n; i++)
        json_decref(s->seat[i].grant);
    mem_free(s->seat);
    *s = (struct gang_seats){ 0 };
}

static int seat_find(const struct gang_seats *s, const struct device *d)
{
    for (int i = 0; s && i < s->n; i++) {
        if (s->seat[i].device == d)
            return i;
    }
    return -1;
}

int gang_fleet(struct ctl *ctl, const char *sig, const struct gang_seats *seats,
               struct gang_device **out, int **seat_of)
{
    int n = 0, cap = 0, n_of = 0, cap_of = 0;

    *out = NULL;
    *seat_of = NULL;
    for (int i = 0; i < ctl->n_runners; i++) {
        struct runner *r = ctl->runners[i];

        if (!runner_is_here(ctl, r) || !runner_is_enabled(r) || !str_eq(r->row.numeric_sig, sig))
            continue;
        for (int k = 0; k < r->n_devices; k++) {
            struct device *d = &r->devices[k];
            int seat = seat_find(seats, d);

            if (!d->is.meets || !quarantine_allows(d))
                continue;
            MEM_GROW(*out, n, cap);
            MEM_GROW(*seat_of, n_of, cap_of);
            (*out)[n++] = (struct gang_device){ r->row.id, d->is.kind, seat >= 0 };
            (*seat_of)[n_of++] = seat;
        }
    }
    return n;
}

/* ---- whose turn ---- */

bool gang_holds(const struct study *st, const char *kind)
{
    if (!st->hold || st->hold > st->n_trials)
        return false;
    const struct trial_mem *t = &st->trials[st->hold - 1];
    return t->state == TS_QUEUED && t->run_to > 0 && str_eq(st->hold_kind, kind);
}

enum gang_answer gang_try(struct study *st, int64_t number, struct gang_seats *seats, int *chosen)
{
    const struct gang_seat *asker = &seats->seat[0];
    const char *kind = asker->device->is.kind;
    struct gang_device *fleet = NULL;
    enum gang_answer answer = GANG_NEVER;
    int *seat_of = NULL, n = 0, at = -1, need = trial_mem(st, number)->devices;

    CHECK(need >= 2 && need <= MSG_MAX_RANKS);
    if (!seats->is_filled && seats->fill)
        seats->fill(seats);
    seats->is_filled = true;
    n = gang_fleet(st->ctl, asker->runner->row.numeric_sig, seats, &fleet, &seat_of);
    for (int i = 0; i < n; i++) {
        if (seat_of[i] == 0)
            at = i;
    }
    if (trial_mem(st, number)->on_gpus && !str_eq(kind, "cuda"))
        at = -1;
    if (at >= 0) /* else this device cannot meet others, or is of the wrong kind */
        answer = gang_choose(fleet, n, at, need, chosen);
    for (int k = 0; k < need && answer == GANG_GOES; k++)
        chosen[k] = seat_of[chosen[k]];
    mem_free(fleet);
    mem_free(seat_of);
    if (answer == GANG_WAITS && !gang_holds(st, kind) && gang_holds(st, st->hold_kind))
        return GANG_NEVER; /* the study holds devices of another kind: of one at a time */
    if (answer != GANG_WAITS && st->hold == number && str_eq(st->hold_kind, kind))
        st->hold = 0;
    return answer;
}

void gang_hold(struct study *st, int64_t number, const char *kind)
{
    if (st->hold == number && str_eq(st->hold_kind, kind))
        return;
    st->hold = number;
    str_copy(st->hold_kind, sizeof st->hold_kind, kind);
    log_info("gang.waits study=%" PRId64 " number=%" PRId64 " devices=%d kind=%s", st->row.id,
             number, trial_mem(st, number)->devices, kind);
}

/* ---- grants ---- */

/* A new task for this rank, held by the seat from the beginning. */
static int rank_grant(struct study *st, const struct trial_row *row, const struct msg_grant *first,
                      int rank, struct gang_seat *seat, struct err *err)
{
    struct msg_grant m = *first; /* borrows everything */
    int64_t id = 0;

    if (task_create_rank(st, row->id, row->fence, rank, &id, err) < 0)
        return -1;
    struct task *t = task_find(st->ctl, id);
    if (task_hold(st->ctl, t, seat->runner, seat->ask, err) < 0)
        return -1;
    m.kind = MSG_RANK;
    m.rank = rank;
    m.task = t->row.id;
    m.fence = t->row.fence;
    m.deadline_ms = 0; /* rank 0 looks at limits */
    m.trial_time_ms = 0;
    seat->grant = msg_grant_json_new(&m);
    return 0;
}

int gang_grant(struct study *st, const struct trial_row *row, struct msg_grant *first,
               struct gang_seats *seats, const int *chosen, struct err *err)
{
    int need = trial_mem(st, row->number)->devices;

    CHECK(chosen[0] == 0 && first->n_trials == 1);
    first->ranks = need;
    first->rank = 0;
    if (auth_random_hex(first->secret, 32, err) < 0)
        return -1;
    for (int k = 1; k < need; k++) {
        if (rank_grant(st, row, first, k, &seats->seat[chosen[k]], err) < 0)
            return -1;
    }
    log_info("gang.leased study=%" PRId64 " trial=%" PRId64 " fence=%" PRId64 " devices=%d",
             st->row.id, row->id, row->fence, need);
    return 0;
}

/* ---- meeting ---- */

void gang_meet(struct ctl *ctl, const struct msg_event *e)
{
    struct lease *l = lease_find(ctl, false, e->trial);

    if (l && l->fence == e->fence)
        str_copy(l->meet, sizeof l->meet, e->address);
}

void gang_where(struct ctl *ctl, const struct task *t, struct msg_reply *reply)
{
    const struct lease *l = lease_find(ctl, false, t->trial);

    if (l && l->fence == t->trial_fence)
        str_copy(reply->address, sizeof reply->address, l->meet);
}

/* ---- loss ---- */

/* What the failure of one rank means for its trial, which runs. */
static int trial_lost(struct study *st, struct trial_row *row, const struct task *t,
                      const struct lease *l, enum trial_reason reason, const char *detail,
                      struct err *err)
{
    char text[400];
    int blamed = 0;

    (void)snprintf(text, sizeof text, "rank %d: %.380s", t->rank,
                   detail && detail[0] ? detail : trial_reason_name[reason]);
    if (!trial_reason_is_machine(reason))
        return message_fail(st, row, reason == TR_NONE ? TR_INVALID : reason, text, err);
    if (reason == TR_DATA && table_failed(st, detail, err) < 0)
        return -1;
    if (reason == TR_WORKER_DIED || reason == TR_DEVICE)
        blamed = quarantine_failed(st->ctl, l->runner, l->device, row->id, err);
    if (blamed < 0)
        return -1;
    if (reason == TR_WORKER_DIED)
        return message_crashed(st, row, text, err);
    if ((reason == TR_DEVICE || reason == TR_RANK_LOST) && !blamed &&
        retry_failed(st, row->number, l, text, err) < 0)
        return -1;
    return message_requeue(st, row, reason, err);
}

int gang_rank_failed(struct ctl *ctl, struct task *t, const struct lease *l,
                     enum trial_reason reason, const char *detail, struct err *err)
{
    const struct lease *trial = lease_find(ctl, false, t->trial);
    struct task was = { .trial = t->trial, .trial_fence = t->trial_fence, .rank = t->rank };
    struct trial_row row = { 0 };
    struct study *st = NULL;
    int64_t number = trial && trial->fence == t->trial_fence ? trial->number : 0;
    int64_t study = t->row.study;
    int rc = 0;

    log_info("rank.lost trial=%" PRId64 " fence=%" PRId64 " rank=%d reason=%s", was.trial,
             was.trial_fence, was.rank, trial_reason_name[reason]);
    if (task_end(ctl, t, "failed", err) < 0)
        return -1;
    if (!number)
        return 0; /* its trial has ended before */
    st = study_by_id(ctl, study, err);
    if (!st)
        return damage_is_lasting(ctl, study) ? 0 : -1;
    rc = trial_load(st, number, &row, err);
    if (rc == 0)
        rc = trial_lost(st, &row, &was, l, reason, detail, err);
    trial_row_fini(&row);
    return MIN(rc, 0);
}
