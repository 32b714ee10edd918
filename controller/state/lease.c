/* lease.c - the table of leases: an array in no order, and an index from the id of the trial or task to its place. A trial
 * or task is under at most one lease at a time. A lease is dropped in the call that ends the run it stands for (trial_move,
 * task_end), so that the table and the rows agree between requests. When a lease counts as lost is serve/expire.c's. */
#include "controller/state/lease.h"

#include "base/mem.h"

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
    CHECK(l->id > 0 && l->fence >= 1 && l->runner > 0 && l->session[0]);
    CHECK(l->is_task || (l->study > 0 && l->number >= 1 && l->from < l->to));
    CHECK(l->expires_ms >= l->granted_ms && l->kept_ms == 0);
    MEM_GROW(ctl->leases, ctl->n_leases, ctl->cap_leases);
    ctl->leases[ctl->n_leases] = *l;
    idmap_put(&ctl->lease_at, key_of(l->is_task, l->id), ctl->n_leases);
    ctl->leases_no++;
    CHECK(ctl->lease_at.n == ctl->n_leases + 1); /* the index holds each lease once */
    return &ctl->leases[ctl->n_leases++];
}

void lease_remove(struct ctl *ctl, int i)
{
    const struct lease *l = &ctl->leases[i], *last = &ctl->leases[ctl->n_leases - 1];

    CHECK(i >= 0 && i < ctl->n_leases);
    idmap_remove(&ctl->lease_at, key_of(l->is_task, l->id));
    json_decref(l->epochs);
    if (l != last)
        idmap_put(&ctl->lease_at, key_of(last->is_task, last->id), i);
    ctl->leases[i] = *last;
    ctl->n_leases--;
    ctl->leases_no++;
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

int64_t lease_period(const struct ctl *ctl, int64_t period_ms)
{
    return period_ms > 0 ? period_ms : ctl->conf.lease_ms;
}

void lease_renew(struct ctl *ctl, struct lease *l)
{
    CHECK(l >= ctl->leases && l < ctl->leases + ctl->n_leases);
    l->expires_ms = ctl_now(ctl) + lease_period(ctl, l->period_ms);
    l->was_listed = true;
}

int64_t lease_due(const struct ctl *ctl)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < ctl->n_leases; i++)
        due = MIN(due, ctl->leases[i].expires_ms);
    return due;
}
