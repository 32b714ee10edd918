/* demand.c - what waits for devices (demand.h). The same facts as those by which work is granted
 * (serve/dispatch.c), counted instead of granted. Where a study does not say how many trials may be
 * in flight, what it wants grows with the devices that it has: a study that ends soon then does not
 * fill a cluster, and one that lasts fills it after a few rounds.
 *
 * A device takes several trials at once where they can train together. Trials that share a device
 * count too, as long as their study will make more: the next ones could have devices of their own. */
#include "controller/pool/demand.h"

#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/live.h"
#include "controller/decide/rescue.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"
#include "controller/state/study.h"
#include "controller/state/task.h"

static int64_t ready_devices(const struct study *st)
{
    int64_t n = 0;

    for (int i = 0; i < st->n_queue; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];

        if (t->run_to > 0)
            n += MAX(t->devices, 1);
    }
    return n;
}

/* Trials that would be made if devices asked for work. */
static int64_t room(const struct study *st)
{
    int64_t n = live_room(st);

    /* By itself such a study has as many trials in flight as there are devices now. */
    if (n == 0 && st->spec.command && !st->spec.parallel && !st->is_deterministic &&
        live_may_create(st)) {
        n = MAX(live_parallel(st), 2) - st->n_queue;
        if (st->spec.budget_trials)
            n = MIN(n, st->spec.budget_trials - st->n_trials);
    }
    return MAX(n, 0);
}

static int64_t study_waits(const struct study *st)
{
    bool is_open = st->row.state == SS_QUEUED || st->row.state == SS_RUNNING;

    if (st->spec.is_own && !st->spec.command)
        return 0; /* its trials go to who asks for them */
    if (st->row.state == SS_FINISHING)
        return rescue_waits(st);
    if (!is_open || !st->problem.is_ready || !st->search || study_waits_for_table(st) ||
        ctl_now(st->ctl) >= budget_cut_ms(st))
        return 0;
    if (st->problem.is_undecided)
        return st->count[TS_RUNNING] == 0; /* only the probe may run */
    int64_t n = ready_devices(st) + room(st);

    return st->row.state == SS_QUEUED ? MAX(n, 1) : n;
}

/* Its running trials, as far as others will follow them. */
static int64_t followed(const struct study *st)
{
    int64_t n = st->count[TS_RUNNING];

    if (st->row.state != SS_RUNNING || st->spec.command || !st->search ||
        !(st->is_deterministic || live_may_create(st)))
        return 0;
    if (!st->is_deterministic && st->spec.budget_trials)
        n = MIN(n, st->spec.budget_trials - st->n_trials);
    return MAX(n, 0);
}

static void add(int *sum, int64_t n)
{
    *sum = (int)MIN(*sum + n, DEMAND_MOST);
}

static void studies_count(struct ctl *ctl, struct demand *out)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        const struct study *st = ctl->studies[i];
        int64_t n = study_waits(st);

        if (!st->spec.command)
            add(&out->any, n);
        else if (json_integer_value(json_object_get(st->spec.command, "gpus")) > 0)
            add(&out->gpu_commands, n);
        else
            add(&out->commands, n);
    }
    for (int i = 0; i < ctl->n_tasks; i++) {
        const struct task *t = ctl->tasks[i];

        if (str_eq(t->row.state, "queued") && !str_eq(t->row.kind, "rank"))
            add(&out->any, 1);
    }
}

static void take(int *demand, int *idle)
{
    int n = MIN(*demand, *idle);

    *demand -= n;
    *idle -= n;
}

/* Takes the devices that are there off what is wanted: idle ones off what waits, and one for each
 * that works off the trials that share devices. A device is idle if its call for work waits; one
 * that has gone without a word has no call. */
static void idle_take(struct ctl *ctl, struct demand *out, int *sharing)
{
    for (int i = 0; i < ctl->n_runners; i++) {
        const struct runner *r = ctl->runners[i];
        int idle = 0, commands = 0, gpus = 0;

        for (int k = 0; k < r->n_devices; k++)
            *sharing -= r->devices[k].n_leases > 0;
        if (r->n_waits == 0 || !runner_is_enabled(r))
            continue;
        for (int k = 0; k < r->n_devices; k++) {
            const struct device *d = &r->devices[k];
            bool is_idle = d->n_leases == 0 && quarantine_allows(d);

            idle += is_idle;
            commands += is_idle && d->is.commands;
            gpus += is_idle && d->is.commands && str_eq(d->is.kind, "cuda");
        }
        idle = MIN(idle, r->n_waits);
        commands = MIN(commands, idle);
        gpus = MIN(gpus, idle);
        idle -= commands;
        commands -= gpus;
        take(&out->gpu_commands, &gpus);
        take(&out->commands, &commands);
        idle += commands + gpus;
        take(&out->any, &idle);
    }
}

void demand_count(struct ctl *ctl, struct demand *out)
{
    int sharing = 0;

    *out = (struct demand){ 0 };
    studies_count(ctl, out);
    for (int i = 0; i < ctl->n_studies; i++)
        add(&sharing, followed(ctl->studies[i]));
    idle_take(ctl, out, &sharing);
    add(&out->any, MAX(sharing, 0));
}
