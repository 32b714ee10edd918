/* expire.c - trials and tasks that are lost: their lease ran out, their runner does not list them
 * any more, or it has ended.
 *
 * When does silence about a trial mean that it is gone? A report may have been on its way when the
 * grant was made. A trial is therefore requeued for not being listed only if its session has listed
 * it before (reports of a session do not overtake each other), or if the report says that the
 * answer to the lease call that granted it, or to a later one of that device, has arrived (`asked`
 * in proto/msg.h). A trial from before a restart of the controller has no lease call; it waits for
 * its period to end. All of this decides only how soon a trial is requeued: the fence keeps two
 * runners from being believed. */
#include "controller/serve/expire.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/str.h"
#include "controller/serve/task.h"
#include "controller/settle/load.h"
#include "controller/state/damage.h"
#include "controller/state/trial.h"

#include <inttypes.h>

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

int lease_lose(struct ctl *ctl, struct lease l, enum trial_reason reason, struct err *err)
{
    struct study *st = NULL;

    CHECK(l.fence >= 1 && (l.is_task || l.number >= 1));
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
    int64_t now = ctl_now(ctl), due = INT64_MAX;

    if (now < lease_due(ctl))
        return 0;
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
    for (int i = 0; i < ctl->n_leases; i++)
        due = MIN(due, ctl->leases[i].expires_ms);
    ctl->leases_due = due;
    return 0;
}

int lease_lose_all(struct ctl *ctl, int64_t runner, struct err *err)
{
    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        /* Losing one may drop others, those of its ranks. */
        if (i >= ctl->n_leases || ctl->leases[i].runner != runner)
            continue;
        if (lease_lose(ctl, ctl->leases[i], TR_RUNNER_LOST, err) < 0)
            return -1;
    }
    return 0;
}
