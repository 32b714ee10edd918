/* place.c - which trials a device takes before others (place.h). */
#include "controller/serve/place.h"

#include "base/base.h"
#include "base/str.h"
#include "controller/serve/retry.h"
#include "controller/serve/serve.h"
#include "controller/state/lease.h"

/* LARGE_CELLS: measured on an H100 with boosting: three folds of 5,000 x 20 cells are trained twice as
 * fast as on one core, of 20,000 x 50 seven times, of 100,000 x 50 eighteen times.
 * LEAVES: for each GPU. More would only go stale, since a trial is chosen by the results so far. */
enum { LARGE_CELLS = 500000, LEAVES = 2 };

static bool is_gpu(const struct device *d)
{
    return str_eq(d->is.kind, "cuda");
}

static enum family_device device_of(const struct study *st, const struct trial_mem *t)
{
    return st->families[t->family]->device;
}

/* Whether this device could be given the trial now. */
static bool is_ready(const struct study *st, const struct device *d, int64_t number)
{
    const struct trial_mem *t = &st->trials[number - 1];

    return t->state == TS_QUEUED && t->run_to > 0 && !retry_waits(st, number) &&
           (is_gpu(d) || !t->on_gpus);
}

/* GPUs that will take a trial of the study soon: those without work, and all if the study has some.
 * One that works for others may be busy for hours. */
static int gpus_for(const struct study *st)
{
    int n_idle = 0, n = runner_gpus(st->ctl, st->row.numeric_sig, &n_idle);

    return lease_is_on_gpus(st->ctl, st->row.id) ? n : n_idle;
}

int place_leaves(const struct study *st, const struct device *d)
{
    const struct family_shape *s = &st->problem.shape;

    if (is_gpu(d) || s->rows * s->columns < LARGE_CELLS)
        return 0;
    return LEAVES * gpus_for(st);
}

struct place place_of(const struct study *st, const struct device *d)
{
    struct place p = { .choice = -1 };
    int n[FAMILY_DEVICES] = { 0 }, n_idle = 0;
    int n_gpus = runner_gpus(st->ctl, st->row.numeric_sig, &n_idle);

    for (int i = 0; i < st->n_queue; i++) {
        const struct trial_mem *t = &st->trials[st->queue[i] - 1];
        n[device_of(st, t)] += is_ready(st, d, st->queue[i]);
    }
    n[FAMILY_GPU] -= MIN(n[FAMILY_GPU], place_leaves(st, d));
    for (int i = 0; i < FAMILY_DEVICES && n_gpus > 0; i++) {
        int k = is_gpu(d) ? FAMILY_DEVICES - 1 - i : i;
        if (n[k] > 0 && p.choice < 0)
            p.choice = k;
    }
    if (n_gpus > 0 && p.choice < 0)
        p.choice = FAMILY_CORE; /* of which there is none */
    return p;
}

bool place_takes(const struct place *p, const struct study *st, const struct trial_mem *t)
{
    return p->choice < 0 || (int)device_of(st, t) == p->choice;
}

/* A core that is idle and may get work, and a call of such a core that waits: calls of cores in
 * quarantine wait, too, and an idle core may have gone. */
bool place_leaves_tasks(struct ctl *ctl, const struct runner *r, const struct device *d)
{
    const struct serve *s = ctl->serve;
    int n_devices = 0, n_idle = 0, n_idle_gpus = 0;
    bool waits = false;

    for (int i = 0; i < s->n_classes && is_gpu(d); i++) {
        const struct wait_class *c = &s->classes[i];
        waits = waits || (c->n_waits > 0 && str_eq(c->kind, "cpu") &&
                          str_eq(c->sig, r->row.numeric_sig) && c->blends == d->is.blends);
    }
    if (!waits)
        return false;
    runner_capacity(ctl, r->row.numeric_sig, &n_devices, &n_idle);
    runner_gpus(ctl, r->row.numeric_sig, &n_idle_gpus);
    return n_idle > n_idle_gpus;
}
