/* recover.c - start after any end. Unfinished studies are loaded whole (study.c rebuilds their search by replay), ended ones
 * on demand. Every running trial and task gets a full lease period, during which its runner may speak up; runners come
 * from their rows. Then each study draws the consequences of what it finds, in a request and a turn of its own: there is
 * no other clean-up, so a crash during recovery is recovered from in the same way. */
#include "controller/recover.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/runner.h"
#include "controller/study.h"
#include "controller/task.h"
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

    CTL_GROW(ids->list, ids->n, ids->cap);
    ids->list[ids->n++] = row->id;
    return 0;
}

/* ---- a study that cannot be loaded (its sampler is gone, say) ends with the reason instead of stopping the service ---- */

static int on_trial(void *arg, struct trial_row *row)
{
    struct ids *ids = arg;

    if (trial_is_final(row->state))
        return 0;
    CTL_GROW(ids->list, ids->n, ids->cap);
    ids->list[ids->n++] = row->id;
    return 0;
}

static int trial_give_up(struct ctl *ctl, int64_t id, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = store_trial_get(ctl->store, id, &row, err) == 1 ? 0 : -1;
    bool was_running = row.state == TS_RUNNING;

    if (rc == 0)
        rc = trial_next(&row.state, TE_CANCEL, id, err);
    row.ended_at = ctl_wall(ctl);
    if (rc == 0)
        rc = store_trial_event(ctl->store, &row, TE_CANCEL, NULL, err);
    if (rc == 0 && was_running)
        rc = store_attempt_close(ctl->store, id, row.fence, "study_failed", err);
    trial_row_fini(&row);
    return rc;
}

static int study_give_up(struct ctl *ctl, int64_t id, const char *why, struct err *err)
{
    struct study_row row = { 0 };
    struct ids open = { 0 };
    int rc = store_trial_each(ctl->store, id, on_trial, &open, err);

    for (int i = 0; i < open.n && rc == 0; i++)
        rc = trial_give_up(ctl, open.list[i], err);
    mem_free(open.list);
    if (rc == 0)
        rc = store_study_get(ctl->store, id, &row, err) == 1 ? 0 : -1;
    if (rc == 0)
        rc = study_next(&row.state, SE_FAIL, id, err);
    mem_free(row.reason);
    row.reason = mem_strdup(why);
    row.ended_at = ctl_wall(ctl);
    if (rc == 0)
        rc = store_study_event(ctl->store, &row, SE_FAIL, NULL, err);
    study_row_fini(&row);
    return rc;
}

static int load_one(struct ctl *ctl, int64_t id, struct err *err)
{
    struct err why = { 0 };

    if (study_load(ctl, id, &why))
        return 0;
    log_error("study.load study=%" PRId64 " err=\"%s\"", id, why.text);
    if (why.code == ERR_IO || why.code == ERR_NOMEM)
        return err_set(err, why.code, "%s", why.text);
    return study_give_up(ctl, id, why.text, err);
}

int recover_all(struct ctl *ctl, struct err *err)
{
    uint32_t unfinished = 1u << SS_QUEUED | 1u << SS_RUNNING | 1u << SS_PAUSED | 1u << SS_FINISHING;
    struct ids ids = { 0 };
    int rc = -1;

    ctl->events_sent = journal_last(ctl->store);
    if (runner_load_all(ctl, err) < 0 || task_load_all(ctl, err) < 0 ||
        store_study_each(ctl->store, unfinished, true, 0, MAX_STUDIES, on_study, &ids, err) < 0 ||
        ctl_request_begin(ctl, err) < 0)
        goto out;
    rc = 0;
    for (int i = ids.n - 1; i >= 0 && rc == 0; i--) /* oldest first */
        rc = load_one(ctl, ids.list[i], err);
    if (rc == 0)
        rc = study_settle_all(ctl, err);
    if (ctl_request_end(ctl, rc == 0, err) < 0)
        rc = -1;
    if (rc == 0)
        rc = store_turn_commit(ctl->store, err);
    ctl->turn_no++;
    ctl->turn_start_us = 0; /* however long it took, it is not what a turn takes */
    log_info("ctl.recovered studies=%d tasks=%d leases=%d runners=%d", ctl->n_studies, ctl->n_tasks,
             ctl->n_leases, ctl->n_runners);
out:
    mem_free(ids.list);
    return rc;
}
