/* turn.c - the frame of everything: requests, turns, commits, what runs after a commit, and the
 * timer of deadlines.
 *
 * A request (ctl_request_begin, ctl_request_end) is a savepoint. If it is undone, or if the commit
 * at the end of the turn fails, memory is made equal to the rows again: the studies, tasks and
 * runners that were touched are read from the store. There is one way to build memory, and it is
 * the one that a restart takes. Answers that report a change leave through ctl_after_commit only,
 * so no client hears of something that a power cut could undo.
 *
 * A turn ends in this order: waiting calls for work are served, each in a request of its own; the
 * transaction is committed; the log is synced to the disk; callbacks run; subscribers get the new
 * rows of the journal; the timer is set to the next deadline.
 *
 * The sync runs beside the loop (durable.h). Until it is over the next turn goes on over several
 * rounds of the loop and is not committed, so that a slow disk makes turns larger instead of making
 * the loop wait: on a disk that takes 5 ms, three fifths more trials a second. Whatever leaves the
 * process waits for the sync of all that it may rest on. Tests without a loop commit and sync in one
 * step. */
#include "controller/state/ctl.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/files/rubbish.h"
#include "controller/files/upload.h"
#include "controller/serve/auth.h"
#include "controller/serve/durable.h"
#include "controller/serve/events.h"
#include "controller/serve/expire.h"
#include "controller/serve/hold.h"
#include "controller/serve/predict.h"
#include "controller/serve/recover.h"
#include "controller/serve/retry.h"
#include "controller/serve/serve.h"
#include "controller/serve/table.h"
#include "controller/serve/turn.h"
#include "controller/serve/wait.h"
#include "controller/settle/load.h"
#include "controller/settle/load_beside.h"
#include "controller/settle/load_start.h"
#include "controller/settle/settle.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"
#include "controller/state/study.h"
#include "controller/state/task.h"
#include "controller/view/brief.h"

#include <inttypes.h>

enum {
    BUSY_TURN_US = 20000,      /* the controller is busy if turns take longer on average */
    BUSY_MS = 200,             /* and if the last such turn ended less than this ago */
    COMMIT_PATIENCE_MS = 1000, /* after a failed commit new work is refused for so long */
    TICK_PATIENCE_MS = 250,    /* after a failed tick the next one waits for so long */
    IDLE_TICK_MS = 1000,       /* a tick comes at least so often */
    MIN_TICK_MS = 2            /* and at most so often, unless somebody asked for one */
};

bool ctl_admits(const struct ctl *ctl)
{
    bool commits = ctl->commit_failed_ms == INT64_MIN ||
                   ctl_now(ctl) - ctl->commit_failed_ms >= COMMIT_PATIENCE_MS;
    /* One turn of several seconds raises the average for long, if nothing comes in that would lower
     * it again. That is why the time since the last slow turn counts, too. */
    bool is_busy = ctl->turn_avg_us > BUSY_TURN_US && ctl_now(ctl) - ctl->slow_turn_ms < BUSY_MS;

    return commits && !is_busy && !ctl->is_stopping;
}

int ctl_admit(const struct ctl *ctl, struct err *err)
{
    if (ctl_admits(ctl))
        return 0;
    if (ctl->commit_was_full && ctl->commit_failed_ms != INT64_MIN &&
        ctl_now(ctl) - ctl->commit_failed_ms < COMMIT_PATIENCE_MS)
        return err_set(err, ERR_FULL,
                       "the disk of the data folder is full: nothing can be stored until there is "
                       "room again");
    return err_set(err, ERR_BUSY, "the controller is busy: try again in a second");
}

/* ---- requests ---- */

static int runners_again(struct ctl *ctl, struct err *err)
{
    if (runner_reload(ctl, err) < 0)
        return -1;
    lease_tally(ctl, NULL);
    return 0;
}

/* Reads tasks and runners again if that failed when something was undone. Until it works no request
 * is begun, because memory does not say what the rows say. */
static int catch_up(struct ctl *ctl, struct err *err)
{
    struct err why = { 0 };

    if (ctl->is_tasks_old && task_load_all(ctl, &why) == 0)
        ctl->is_tasks_old = false;
    if (ctl->is_runners_old && runners_again(ctl, &why) == 0)
        ctl->is_runners_old = false;
    if (!ctl->is_tasks_old && !ctl->is_runners_old)
        return 0;
    return err_set(err, ERR_BUSY, "the database cannot be read: %s", why.text);
}

int ctl_request_begin(struct ctl *ctl, struct err *err)
{
    CHECK(!ctl->in_request); /* requests do not nest */
    if (!ctl->turn_start_us)
        ctl->turn_start_us = clk_now_us(ctl->clk);
    if (ctl->loop)
        loop_turn_mark(ctl->loop);
    if (FAULT("ctl.request"))
        return err_set(err, ERR_IO, "fault: ctl.request");
    if (catch_up(ctl, err) < 0)
        return -1;
    if (savepoint_open(&ctl->request_sp, ctl->store, err) < 0)
        return -1;
    ctl->in_request = true;
    ctl->suspect = 0;
    ctl->request_no++;
    ctl->stats.requests++;
    return 0;
}

/* Makes memory equal to the rows again: everything that this turn touched (by_turn), or only what
 * this request touched. A study that cannot be read leaves memory; state/damage.h lists it, and it
 * is read again later. */
static void reload_touched(struct ctl *ctl, bool by_turn)
{
    struct err err = { 0 };

    for (int i = ctl->n_studies - 1; i >= 0; i--) {
        struct study *st = ctl->studies[i];

        if (by_turn ? st->touched_turn != ctl->turn_no : st->touched_request != ctl->request_no)
            continue;
        ctl->stats.reloads++;
        (void)study_reload(ctl, st, &err); /* if it failed, that was logged, and st is gone */
    }
    if (by_turn ? ctl->tasks_turn == ctl->turn_no : ctl->tasks_request == ctl->request_no) {
        ctl->is_tasks_old = task_load_all(ctl, &err) < 0;
        if (ctl->is_tasks_old)
            log_error("task.reload err=\"%s\"", err.text);
    }
    if (by_turn ? ctl->runners_turn == ctl->turn_no : ctl->runners_request == ctl->request_no) {
        ctl->is_runners_old = runners_again(ctl, &err) < 0;
        if (ctl->is_runners_old)
            log_error("runner.reload err=\"%s\"", err.text);
    }
    runner_forget_grants(ctl, by_turn);
    ctl->has_news = true;
}

int ctl_request_end(struct ctl *ctl, bool keep, struct err *err)
{
    CHECK(ctl->in_request);
    ctl->in_request = false;
    if (keep && savepoint_keep(&ctl->request_sp, err) == 0)
        return 0;
    savepoint_undo(&ctl->request_sp);
    ctl->stats.requests_undone++;
    reload_touched(ctl, false);
    if (!keep)
        damage_convict(ctl);
    return keep ? -1 : 0;
}

/* ---- turns ---- */

void ctl_after_commit(struct ctl *ctl, void (*on_done)(void *arg, bool ok, const struct err *err),
                      void *arg)
{
    struct after_list *list = &ctl->serve->after;

    MEM_GROW(list->v, list->n, list->cap);
    list->v[list->n++] = (struct after_commit){ on_done, arg };
    if (ctl->loop)
        loop_turn_mark(ctl->loop);
}

/* Commits the turn. If that fails, everything in it is undone. */
static bool commit(struct ctl *ctl, struct err *err)
{
    int rc = FAULT("ctl.commit") ? err_set(err, ERR_IO, "fault: ctl.commit")
                                 : store_turn_commit(ctl->store, err);

    if (rc == 0) {
        ctl->stats.commits++;
        return true;
    }
    log_error("ctl.commit err=\"%s\"", err->text);
    store_turn_rollback(ctl->store);
    ctl->commit_failed_ms = ctl_now(ctl);
    ctl->commit_was_full = err->code == ERR_FULL;
    ctl->stats.commit_failures++;
    reload_touched(ctl, true);
    return false;
}

static void run_list(struct after_list *list, bool ok, const struct err *err)
{
    struct after_list now = *list;

    /* A callback may ask to be called after the next commit, so the list is taken away first. */
    *list = (struct after_list){ 0 };
    for (int i = 0; i < now.n; i++)
        now.v[i].on_done(now.v[i].arg, ok, ok ? NULL : err);
    mem_free(now.v);
}

static void arm_timer(struct ctl *ctl)
{
    int64_t now = ctl_now(ctl), due = now + IDLE_TICK_MS;

    if (!ctl->timer)
        return;
    due = MIN(due, lease_due(ctl));
    due = MIN(due, wait_due(ctl));
    due = MIN(due, hold_due(ctl));
    due = MIN(due, study_due(ctl));
    due = MIN(due, damage_due(ctl));
    due = MIN(due, table_due(ctl));
    due = MIN(due, retry_due(ctl));
    due = MIN(due, quarantine_due(ctl));
    if (ctl->is_deferred || wait_goes_on(ctl) || hold_goes_on(ctl))
        due = now;
    /* If a tick or a commit failed, what is due stays due, and it must not be tried without a
     * pause. */
    if (ctl->tick_failed_ms != INT64_MIN)
        due = MAX(due, MIN(ctl->tick_failed_ms + TICK_PATIENCE_MS, now + TICK_PATIENCE_MS));
    if (ctl->commit_failed_ms != INT64_MIN)
        due = MAX(due, MIN(ctl->commit_failed_ms + COMMIT_PATIENCE_MS, now + COMMIT_PATIENCE_MS));
    loop_timer_again(ctl->timer, ctl->is_tick_due ? 0 : MAX(due - now, MIN_TICK_MS));
}

/* Measures the work of this round of the loop, for back-pressure. */
static void measure(struct ctl *ctl)
{
    int64_t worked = ctl->turn_start_us ? clk_now_us(ctl->clk) - ctl->turn_start_us : 0;

    if (ctl->turn_start_us) {
        ctl->turn_max_us = MAX(ctl->turn_max_us, worked);
        ctl->turn_avg_us += (worked - ctl->turn_avg_us) / 8;
        if (worked > BUSY_TURN_US)
            ctl->slow_turn_ms = ctl_now(ctl);
    }
    ctl->turn_start_us = 0;
    ctl->suggest_us = 0;
}

/* Commits, and lets the answers go out, or begins the sync that they wait for. */
static void close_turn(struct ctl *ctl)
{
    struct err err = { 0 };
    bool ok = commit(ctl, &err);

    ctl->turn_no++;
    if (ok && store_owes_sync(ctl->store)) {
        ctl->serve->syncing = ctl->serve->after;
        ctl->serve->after = (struct after_list){ 0 };
        durable_begin(ctl->serve->durable);
        return;
    }
    run_list(&ctl->serve->after, ok, &err);
    events_flush(ctl);
}

/* What was committed is durable. The turn that has gathered since is committed in its own time. */
static void on_durable(void *arg)
{
    struct ctl *ctl = arg;

    store_synced(ctl->store);
    run_list(&ctl->serve->syncing, true, NULL);
    events_flush(ctl);
    if (store_turn_is_open(ctl->store) || ctl->serve->after.n > 0)
        loop_turn_mark(ctl->loop);
}

void ctl_turn_end(struct ctl *ctl)
{
    struct durable *d = ctl->serve->durable;

    CHECK(!ctl->in_request);
    hold_serve(ctl); /* first, because wait_serve takes note of the news */
    wait_serve(ctl);
    measure(ctl);
    if (d && ctl->is_stopping)
        durable_wait(d);
    if (!d || !durable_is_busy(d))
        close_turn(ctl);
    if (d && ctl->is_stopping)
        durable_wait(d);
    load_trim(ctl);
    arm_timer(ctl);
}

int ctl_turn_finish(struct ctl *ctl, struct err *err)
{
    int64_t failures = ctl->stats.commit_failures;

    ctl_turn_end(ctl);
    if (ctl->serve->durable)
        durable_wait(ctl->serve->durable);
    return ctl->stats.commit_failures == failures ? 0 : err_set(err, ERR_IO, "nothing was stored");
}

bool ctl_owes_commit(const struct ctl *ctl)
{
    return store_turn_is_open(ctl->store) || store_owes_sync(ctl->store);
}

void ctl_tick(struct ctl *ctl)
{
    struct err err = { 0 };

    ctl->tick_failed_ms = ctl_now(ctl); /* until it has succeeded */
    ctl->is_tick_due = false;
    if (ctl_request_begin(ctl, &err) < 0) {
        log_error("ctl.tick err=\"%s\"", err.text);
        return;
    }
    damage_tick(ctl);
    table_tick(ctl);
    retry_tick(ctl);
    for (int i = 0; ctl->is_deferred && i < ctl->n_studies; i++)
        /* decisions that were put off go on when they are settled */
        ctl_touch(ctl, ctl->studies[i]);
    ctl->is_deferred = false;
    bool ok = lease_expire(ctl, &err) == 0 && study_tick_all(ctl, &err) == 0 &&
              runner_tick(ctl, &err) == 0 && quarantine_tick(ctl, &err) == 0 &&
              study_settle_all(ctl, &err) == 0;
    if (!ok)
        log_error("ctl.tick err=\"%s\"", err.text);
    if (ctl_request_end(ctl, ok, &err) < 0)
        log_error("ctl.tick err=\"%s\"", err.text);
    else if (ok)
        ctl->tick_failed_ms = INT64_MIN;
    wait_tick(ctl);
    hold_tick(ctl);
}

static void on_tick(void *arg)
{
    ctl_tick(arg);
}

static void on_turn_end(void *arg)
{
    ctl_turn_end(arg);
}

/* ---- life ---- */

struct ctl *ctl_new(const struct ctl_conf *conf, struct clk *clk, struct loop *loop,
                    struct err *err)
{
    struct ctl *ctl = mem_zalloc(sizeof *ctl);

    ctl->conf = *conf;
    ctl->clk = clk;
    ctl->loop = loop;
    ctl->turn_no = 1;
    ctl->commit_failed_ms = ctl->tick_failed_ms = INT64_MIN;
    ctl->started_ms = clk_now_ms(clk);
    ctl->auth = auth_new();
    ctl->serve = mem_zalloc(sizeof *ctl->serve);
    ctl->store = conf->begin_empty ? store_open_empty(conf->data_dir, NULL, clk, err)
                                   : store_open(conf->data_dir, NULL, clk, err);
    if (ctl->store && store_warning(ctl->store)[0])
        log_warn("store.odd data_dir=%s warning=\"%s\"", conf->data_dir, store_warning(ctl->store));
    if (!ctl->store || recover_all(ctl, err) < 0)
        goto fail;
    ctl->had_leases = ctl->n_leases > 0 || ctl->starts;
    if (loop) {
        ctl->serve->durable = durable_new(ctl->store, loop, on_durable, ctl);
        if (ctl->serve->durable && store_sync_apart(ctl->store, err) < 0)
            goto fail;
        loop_turn_hook(loop, on_turn_end, ctl);
        ctl->timer = loop_timer_new(loop, 1, 0, on_tick, ctl);
    }
    return ctl;
fail:
    ctl_free(ctl);
    return NULL;
}

void ctl_stop(struct ctl *ctl)
{
    struct err err = { 0 };

    ctl->is_stopping = true;
    wait_end_all(ctl);
    hold_end_all(ctl);
    if (ctl_request_begin(ctl, &err) < 0)
        return;
    bool ok = study_settle_all(ctl, &err) == 0;
    if (ctl_request_end(ctl, ok, &err) < 0 || !ok)
        log_warn("ctl.stop err=\"%s\"", err.text); /* the next start settles the studies again */
}

void ctl_free(struct ctl *ctl)
{
    if (!ctl)
        return;
    if (ctl->serve->durable)
        durable_wait(ctl->serve->durable);
    durable_free(ctl->serve->durable);
    wait_free_all(ctl);
    hold_free_all(ctl);
    events_free_all(ctl);
    load_free_all(ctl);
    load_start_free_all(ctl);
    brief_free_all(ctl);
    while (ctl->n_studies > 0)
        study_drop(ctl, ctl->studies[0]);
    task_free_all(ctl);
    runner_fini(ctl);
    if (ctl->timer)
        loop_timer_free(ctl->timer);
    if (ctl->loop)
        loop_turn_hook(ctl->loop, NULL, NULL);
    auth_free(ctl->auth);
    predict_free(ctl);
    uploads_free(ctl);
    rubbish_free(ctl);
    if (ctl->store) {
        store_turn_rollback(ctl->store);
        store_close(ctl->store);
    }
    mem_free(ctl->damages);
    mem_free(ctl->unread);
    mem_free(ctl->studies);
    mem_free(ctl->tasks);
    lease_free_all(ctl);
    mem_free(ctl->serve->after.v);
    mem_free(ctl->serve);
    mem_free(ctl);
}
