/* lease.c - the table of leases: an array in no order, and an index from the id of the trial or task to its place. A trial
 * or task is under at most one lease at a time. A lease is dropped in the call that ends the run it stands for (trial_move,
 * task_end), so that the table and the rows agree between requests. When a lease counts as lost is serve/expire.c's.
 *
 * There may be tens of thousands, and reports come a thousand times a second, so nothing that a report or a grant needs walks
 * over the table: how many leases a study, a runner and a device have is counted as they come and go, and for the next one that
 * expires a time is kept before which none does. */
#include "controller/state/lease.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/state/runner.h"

/* Of the trials of one study. */
struct lease_count {
    int64_t study;
    int n, n_leaving, n_gpus; /* n_gpus: on GPUs */
};

static int64_t key_of(bool is_task, int64_t id)
{
    return is_task ? -id : id;
}

static struct lease_count *count_of(const struct ctl *ctl, int64_t study)
{
    int i = idmap_find(&ctl->lease_count_at, study);

    return i < 0 ? NULL : &ctl->lease_counts[i];
}

/* by: 1 = the lease is new, -1 = it goes. A study without leases has no count. */
static void count(struct ctl *ctl, const struct lease *l, int by)
{
    struct lease_count *c = NULL, *last = NULL;

    runner_leased(ctl, l->runner, l->device, by);
    if (l->is_task)
        return;
    c = count_of(ctl, l->study);
    if (!c) {
        MEM_GROW(ctl->lease_counts, ctl->n_lease_counts, ctl->cap_lease_counts);
        idmap_put(&ctl->lease_count_at, l->study, ctl->n_lease_counts);
        c = &ctl->lease_counts[ctl->n_lease_counts++];
        *c = (struct lease_count){ .study = l->study };
    }
    c->n += by;
    c->n_leaving += l->is_leaving ? by : 0;
    c->n_gpus += str_starts(l->device, "cuda") ? by : 0;
    CHECK(c->n_leaving >= 0 && c->n >= c->n_leaving);
    if (c->n > 0)
        return;
    last = &ctl->lease_counts[--ctl->n_lease_counts];
    idmap_remove(&ctl->lease_count_at, c->study);
    if (c != last)
        idmap_put(&ctl->lease_count_at, last->study, (int)(c - ctl->lease_counts));
    *c = *last;
}

struct lease *lease_find(struct ctl *ctl, bool is_task, int64_t id)
{
    int i = idmap_find(&ctl->lease_at, key_of(is_task, id));

    return i < 0 ? NULL : &ctl->leases[i];
}

struct lease *lease_add(struct ctl *ctl, const struct lease *l)
{
    CHECK(!lease_find(ctl, l->is_task, l->id)); /* one lease at a time */
    CHECK(l->id > 0 && l->fence >= 1 && l->runner > 0 && l->session[0]);
    CHECK(l->is_task || (l->study > 0 && l->number >= 1 && l->from < l->to));
    CHECK(l->expires_ms >= l->granted_ms && l->kept_ms == 0);
    MEM_GROW(ctl->leases, ctl->n_leases, ctl->cap_leases);
    ctl->leases[ctl->n_leases] = *l;
    idmap_put(&ctl->lease_at, key_of(l->is_task, l->id), ctl->n_leases);
    ctl->leases_due = MIN(ctl->leases_due, l->expires_ms);
    count(ctl, l, 1);
    CHECK(ctl->lease_at.n == ctl->n_leases + 1); /* the index holds each lease once */
    return &ctl->leases[ctl->n_leases++];
}

void lease_remove(struct ctl *ctl, int i)
{
    const struct lease *l = &ctl->leases[i], *last = &ctl->leases[ctl->n_leases - 1];

    CHECK(i >= 0 && i < ctl->n_leases);
    count(ctl, l, -1);
    idmap_remove(&ctl->lease_at, key_of(l->is_task, l->id));
    json_decref(l->epochs);
    if (l != last)
        idmap_put(&ctl->lease_at, key_of(last->is_task, last->id), i);
    ctl->leases[i] = *last;
    ctl->n_leases--;
    CHECK(ctl->lease_at.n == ctl->n_leases);
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
    const struct lease_count *c = count_of(ctl, study);

    return c ? c->n : 0;
}

bool lease_is_on_gpus(const struct ctl *ctl, int64_t study)
{
    const struct lease_count *c = count_of(ctl, study);

    return c && c->n_gpus > 0;
}

void lease_leave(struct ctl *ctl, struct lease *l, bool is_leaving)
{
    struct lease_count *c = count_of(ctl, l->study);

    CHECK(!l->is_task && c);
    c->n_leaving += is_leaving - l->is_leaving;
    l->is_leaving = is_leaving;
}

int lease_count_leaving(const struct ctl *ctl, int64_t study)
{
    const struct lease_count *c = count_of(ctl, study);

    return c ? c->n_leaving : 0;
}

int64_t lease_period(const struct ctl *ctl, int64_t period_ms)
{
    return period_ms > 0 ? period_ms : ctl->conf.lease_ms;
}

void lease_renew(struct ctl *ctl, struct lease *l)
{
    CHECK(l >= ctl->leases && l < ctl->leases + ctl->n_leases);
    l->expires_ms = ctl_now(ctl) + lease_period(ctl, l->period_ms);
    l->was_listed = true;
    ctl->leases_due = MIN(ctl->leases_due, l->expires_ms);
}

int64_t lease_due(const struct ctl *ctl)
{
    return ctl->n_leases > 0 ? ctl->leases_due : INT64_MAX;
}

void lease_tally(struct ctl *ctl, struct runner *r)
{
    runner_leases_forget(ctl, r);
    for (int i = 0; i < ctl->n_leases; i++) {
        const struct lease *l = &ctl->leases[i];

        if (!r || l->runner == r->row.id)
            runner_leased(ctl, l->runner, l->device, 1);
    }
}

void lease_free_all(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_leases; i++)
        json_decref(ctl->leases[i].epochs);
    mem_free(ctl->leases);
    mem_free(ctl->lease_counts);
    idmap_fini(&ctl->lease_at);
    idmap_fini(&ctl->lease_count_at);
}
