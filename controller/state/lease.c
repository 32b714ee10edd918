/* lease.c - the table of leases.
 *
 * When does silence about a lane mean that it is gone? A report may have been on its way when the grant was made. So a lane
 * is requeued for not being listed only if the session listed it before (reports of a session do not overtake each other),
 * or if the report says that the answer to the lease call that granted it (or to a later one of that device) has arrived:
 * `asked` of proto/msg.h. A lane from before a restart of the controller has no lease call; it waits for its period to end.
 * All of this decides only how soon a lane is requeued: what keeps the books right is the fence. */
#include "controller/state/lease.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/damage.h"
#include "controller/state/task.h"
#include "controller/state/trial.h"

#include <inttypes.h>

static int64_t key_of(bool is_task, int64_t id)
{
    return is_task ? -id : id;
}

struct lease *lease_find(struct ctl *ctl, bool is_task, int64_t id)
{
    int i = idmap_find(&ctl->lease_at, key_of(is_task, id));

    return i < 0 ? NULL : &ctl->leases[i];
}

struct lease *lease_add(struct ctl *ctl, const struct lease *l)
{
    CHECK(!lease_find(ctl, l->is_task, l->id)); /* one lease at a time */
    CHECK(l->fence >= 1 && l->runner > 0 && l->session[0]);
    CTL_GROW(ctl->leases, ctl->n_leases, ctl->cap_leases);
    ctl->leases[ctl->n_leases] = *l;
    idmap_put(&ctl->lease_at, key_of(l->is_task, l->id), ctl->n_leases);
    ctl->leases_no++;
    return &ctl->leases[ctl->n_leases++];
}

void lease_remove(struct ctl *ctl, int i)
{
    const struct lease *l = &ctl->leases[i], *last = &ctl->leases[ctl->n_leases - 1];

    CHECK(i >= 0 && i < ctl->n_leases);
    idmap_remove(&ctl->lease_at, key_of(l->is_task, l->id));
    if (l != last)
        idmap_put(&ctl->lease_at, key_of(last->is_task, last->id), i);
    ctl->leases[i] = *last;
    ctl->n_leases--;
    ctl->leases_no++;
}

static void drop(struct ctl *ctl, bool is_task, int64_t id, int64_t fence)
{
    struct lease *l = lease_find(ctl, is_task, id);

    if (l && l->fence == fence)
        lease_remove(ctl, (int)(l - ctl->leases));
    ctl->has_news = true;
}

void lease_drop(struct ctl *ctl, int64_t trial, int64_t fence)
{
    drop(ctl, false, trial, fence);
}

void lease_drop_task(struct ctl *ctl, int64_t task, int64_t fence)
{
    drop(ctl, true, task, fence);
}

int lease_count_study(const struct ctl *ctl, int64_t study)
{
    int n = 0;

    for (int i = 0; i < ctl->n_leases; i++)
        n += ctl->leases[i].study == study && !ctl->leases[i].is_task;
    return n;
}

int lease_count_leaving(const struct ctl *ctl, int64_t study)
{
    int n = 0;

    for (int i = 0; i < ctl->n_leases; i++) {
        const struct lease *l = &ctl->leases[i];
        n += l->study == study && !l->is_task && l->is_leaving;
    }
    return n;
}

bool lease_is_missing(const struct lease *l, const struct msg_report *r)
{
    if (l->was_listed)
        return true;
    if (l->ask_n == 0)
        return false;
    for (int i = 0; i < r->n_asked; i++) {
        if (str_eq(r->asked[i].device, l->device))
            return r->asked[i].n >= l->ask_n;
    }
    return false;
}

void lease_renew(struct ctl *ctl, struct lease *l)
{
    l->expires_ms = ctl_now(ctl) + ctl->conf.lease_ms;
    l->was_listed = true;
}

int lease_lose(struct ctl *ctl, struct lease l, enum trial_reason reason, struct err *err)
{
    struct study *st = NULL;

    ctl->stats.lost++;
    if (l.is_task)
        return task_lost(ctl, l.id, reason, err);
    st = study_by_id(ctl, l.study, err);
    if (!st && (err->code == ERR_NOTFOUND || damage_is_lasting(ctl, l.study))) {
        lease_drop(ctl, l.id, l.fence);
        return 0;
    }
    if (!st)
        return -1;
    if (trial_end(st, l.number, TE_LOST, reason, NULL, err) < 0)
        return damage_suspect(ctl, l.study, err);
    return 0;
}

int lease_expire(struct ctl *ctl, struct err *err)
{
    int64_t now = ctl_now(ctl);

    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        struct lease l;

        if (i >= ctl->n_leases || ctl->leases[i].expires_ms > now)
            continue;
        l = ctl->leases[i];
        if (FAULT("lease.expire"))
            return err_set(err, ERR_IO, "fault: lease.expire");
        log_info("lease.expired %s=%" PRId64 " fence=%" PRId64 " runner=%" PRId64,
                 l.is_task ? "task" : "trial", l.id, l.fence, l.runner);
        ctl->stats.expired++;
        if (lease_lose(ctl, l, TR_RUNNER_LOST, err) < 0)
            return -1;
    }
    return 0;
}

int64_t lease_due(const struct ctl *ctl)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < ctl->n_leases; i++)
        due = MIN(due, ctl->leases[i].expires_ms);
    return due;
}

/* ---- after a load ---- */

static int on_attempt(void *arg, const struct attempt_row *a)
{
    struct lease *l = arg;

    if (a->fence != l->fence)
        return 0;
    l->runner = a->runner;
    str_copy(l->session, sizeof l->session, a->session);
    str_copy(l->device, sizeof l->device, a->device);
    l->from = a->from_level;
    l->to = a->to_level;
    return 1;
}

static int restore_one(struct ctl *ctl, struct study *st, int64_t number, struct err *err)
{
    int64_t now = ctl_now(ctl);
    struct trial_row row = { 0 };
    struct lease l = { .study = st->row.id, .number = number, .group_size = 1 }, *old = NULL;
    int rc = trial_load(st, number, &row, err);

    if (rc < 0)
        goto out;
    l.id = row.id;
    l.fence = row.fence;
    old = lease_find(ctl, false, row.id);
    if (old && old->fence == row.fence)
        goto out; /* it was here before the reload */
    if (old)
        lease_drop(ctl, old->id, old->fence);
    rc = store_attempt_each(ctl->store, row.id, on_attempt, &l, err);
    if (rc == 0 && (l.runner <= 0 || !l.session[0] || l.from < 0 || l.from >= l.to))
        rc = err_set(err, ERR_DAMAGED, "trial %" PRId64 " runs without an attempt that says where",
                     number);
    if (rc < 0)
        goto out;
    l.granted_ms = now;
    l.expires_ms = now + ctl->conf.lease_ms;
    l.is_probe = number == st->probe;
    lease_add(ctl, &l);
out:
    trial_row_fini(&row);
    return rc;
}

int lease_restore(struct ctl *ctl, struct study *st, struct err *err)
{
    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        struct lease *l = &ctl->leases[i];

        if (l->is_task || l->study != st->row.id)
            continue;
        if (l->number > st->n_trials || st->trials[l->number - 1].state != TS_RUNNING ||
            st->trials[l->number - 1].id != l->id)
            lease_remove(ctl, i);
    }
    for (int64_t k = 1; st->count[TS_RUNNING] > 0 && k <= st->n_trials; k++) {
        if (st->trials[k - 1].state == TS_RUNNING && restore_one(ctl, st, k, err) < 0)
            return -1;
    }
    return 0;
}
