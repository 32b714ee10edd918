/* recover.c - start after any end. Unfinished studies are loaded whole (study.c rebuilds their search by replay), ended ones
 * on demand; those that cannot be loaded are set apart (damage.h). Every running trial and task gets a full lease period,
 * during which its runner may speak up; runners come from their rows. Then the studies draw the consequences of what they
 * find, in a request and a turn of their own: there is no other clean-up, so a crash during recovery is recovered from in
 * the same way. */
#include "controller/serve/recover.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/settle/load.h"
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

/* A study that cannot be loaded stops nothing: damage.h has it. */
static void load_one(struct ctl *ctl, int64_t id)
{
    struct err why = { 0 };

    (void)study_load(ctl, id, &why); /* a failure was logged */
}

/* All studies draw their consequences. One that cannot is taken out (damage_suspect), and the others do it again. */
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

    ctl->events_sent = journal_last(ctl->store);
    if (runner_load_all(ctl, err) < 0 || task_load_all(ctl, err) < 0 ||
        store_study_each(ctl->store, unfinished, true, 0, MAX_STUDIES, on_study, &ids, err) < 0)
        goto out;
    for (int i = ids.n - 1; i >= 0; i--) /* oldest first */
        load_one(ctl, ids.list[i]);
    rc = settle(ctl, err);
    ctl->turn_no++;
    ctl->turn_start_us = 0; /* however long it took, it is not what a turn takes */
    log_info("ctl.recovered studies=%d damaged=%d tasks=%d leases=%d runners=%d", ctl->n_studies,
             ctl->n_damages, ctl->n_tasks, ctl->n_leases, ctl->n_runners);
out:
    mem_free(ids.list);
    return rc;
}
