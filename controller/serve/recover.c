/* recover.c - the start after any end of the last process: an orderly one, a kill, or a power cut.
 *
 * Runners and open tasks are read from their rows. Unfinished studies are loaded whole, and their
 * searches are rebuilt (settle/load.c); large ones beside the loop, so that the controller answers
 * before they are read (settle/load_start.c). Ended studies are loaded when somebody asks for them. A
 * study that cannot be loaded is put on the list of damaged ones (state/damage.h) and stops nothing
 * else. Every running trial and task gets a lease of a full period, during which its runner may
 * report.
 *
 * Then all studies are settled, in a request and a turn of their own. There is no other clean-up. A
 * crash during the start therefore needs nothing special: the next start does the same. */
#include "controller/serve/recover.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/settle/load.h"
#include "controller/settle/load_start.h"
#include "controller/settle/settle.h"
#include "controller/state/runner.h"
#include "controller/state/task.h"
#include "store/journal.h"

#include <inttypes.h>

enum { MAX_STUDIES = 1 << 20 };

struct ids {
    int64_t *list;
    int n, cap;
};

static int on_study(void *arg, struct study_row *row)
{
    struct ids *ids = arg;

    MEM_GROW(ids->list, ids->n, ids->cap);
    ids->list[ids->n++] = row->id;
    return 0;
}

/* If it fails, the failure was logged and the study is on the list of damaged ones. */
static void load_one(struct ctl *ctl, int64_t id)
{
    struct err why = { 0 };

    (void)study_load(ctl, id, &why);
}

/* Settles all studies. If one of them makes the request fail, it leaves memory (damage_suspect),
 * and the others are settled once more. */
static int settle(struct ctl *ctl, struct err *err)
{
    int damaged = 0, rc = -1;

    do {
        damaged = ctl->n_damages;
        if (ctl_request_begin(ctl, err) < 0)
            return -1;
        rc = study_settle_all(ctl, err);
        if (ctl_request_end(ctl, rc == 0, err) < 0)
            rc = -1;
    } while (rc < 0 && ctl->n_damages > damaged);
    return rc < 0 ? -1 : store_turn_commit(ctl->store, err);
}

int recover_all(struct ctl *ctl, struct err *err)
{
    uint32_t unfinished = 1u << SS_QUEUED | 1u << SS_RUNNING | 1u << SS_PAUSED | 1u << SS_FINISHING;
    struct ids ids = { 0 };
    int rc = -1;

    CHECK(ctl->n_studies == 0 && ctl->n_leases == 0); /* it is the first thing that happens */
    ctl->events_sent = journal_last(ctl->store);
    if (runner_load_all(ctl, err) < 0 || task_load_all(ctl, err) < 0 ||
        store_study_each(ctl->store, unfinished, true, 0, MAX_STUDIES, on_study, &ids, err) < 0)
        goto out;
    for (int i = ids.n - 1; i >= 0; i--) { /* oldest first */
        if (!load_start_takes(ctl, ids.list[i], LOAD_START_MANY))
            load_one(ctl, ids.list[i]);
    }
    rc = settle(ctl, err);
    ctl->turn_no++;
    ctl->turn_start_us = 0; /* a start takes long; it must not count as a long turn */
    log_info("ctl.recovered studies=%d damaged=%d tasks=%d leases=%d runners=%d", ctl->n_studies,
             ctl->n_damages, ctl->n_tasks, ctl->n_leases, ctl->n_runners);
out:
    mem_free(ids.list);
    return rc;
}
