/* settle.c - carries out decisions (settle.h). This is the only place that does.
 *
 * A request changes rows through state/, which notes what happened to each trial (study.happened)
 * and sets study.needs_settling. At the end of the request the study is settled: the searchers are
 * told what happened, decide/ is asked what follows, its actions are carried out, and it is asked
 * again, until nothing follows. An action is a change of rows like any other, so it may make a
 * further round necessary. The rounds come to an end because each of them moves the study towards
 * its own end: trials are created within the budget, and ended trials stay ended. */
#include "controller/settle/settle.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/decide/budget.h"
#include "controller/decide/decide.h"
#include "controller/decide/ensemble.h"
#include "controller/decide/live.h"
#include "controller/decide/probe.h"
#include "controller/settle/dataset.h"
#include "controller/settle/ensemble.h"
#include "controller/settle/ship.h"
#include "controller/state/check.h"
#include "controller/state/damage.h"
#include "controller/state/rows.h"
#include "controller/state/task.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    /* more rounds than any study can need: decisions go in a circle, a bug */
    SETTLE_MAX = 10000000,
    SAVE_MS = 1000 /* the used time of a budget is stored so often */
};

/* ---- carrying out ---- */

static int run_to(struct study *st, const struct action *a, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(st, a->number, &row, err);

    CHECK(a->to >= 1);
    if (rc == 0 && !trial_is_final(row.state)) {
        row.run_to = MAX(row.run_to, a->to);
        if (a->vstart >= 0)
            row.vstart = a->vstart;
        if (a->vcost >= 0)
            row.vcost = a->vcost;
        /* A trial that is not paused keeps its reason: its checkpoint is on the way, or its runner
         * was lost meanwhile, and then the reason says that the runner may take it back. */
        if (row.state == TS_PAUSED) {
            row.reason = TR_NONE;
            rc = trial_move(st, &row, TE_PROMOTE, json_pack("{s:i}", "to", a->to), NULL, err);
        } else {
            rc = trial_save(st, &row, err);
        }
    }
    trial_row_fini(&row);
    return rc;
}

static int rescue(struct study *st, const struct action *a, struct err *err)
{
    log_info("study.rescue study=%" PRId64 " number=%" PRId64, st->row.id, a->number);
    CHECK(st->n_rescue < STUDY_MAX_RESCUE);
    if (run_to(st, a, err) < 0)
        return -1;
    st->rescue[st->n_rescue++] = a->number;
    st->rescue_until = a->until_ms;
    return 0;
}

static int validate(struct study *st, const struct action *a, struct err *err)
{
    json_t *data = json_pack("{s:s, s:s, s:I}", "validation", a->is_kfold ? "kfold" : "holdout",
                             "by", a->why, "fit_us", (json_int_t)a->fit_us);
    char *text = json_dumps(data, JSON_COMPACT);
    int rc = -1;

    CHECK(st->problem.is_undecided && data && text);
    problem_decide(&st->problem, a->is_kfold, st->n_trials + 1);
    st->probe = 0;
    log_info("study.validation study=%" PRId64 " kind=%s by=%s fit_us=%" PRId64, st->row.id,
             a->is_kfold ? "kfold" : "holdout", a->why, a->fit_us);
    if (study_say(st, "search.validation", text, err) == 0)
        rc = study_save(st, err);
    free(text);
    json_decref(data);
    return rc;
}

static int give_up_refit(struct study *st, struct err *err)
{
    if (task_cancel_of_study(st->ctl, st->row.id, err) < 0)
        return -1;
    st->early.task = 0;
    return ship_refitted(st, NULL, NAN, NAN, err);
}

static int apply(struct study *st, const struct action *a, struct err *err)
{
    int64_t number = 0;

    CHECK(a->number >= 0 && a->number <= st->n_trials);
    CHECK(a->number > 0 || a->kind == ACT_SAY || a->kind == ACT_CREATE || a->kind == ACT_VALIDATE ||
          a->kind == ACT_FINISH || a->kind == ACT_NO_REFIT || a->kind == ACT_ENSEMBLE ||
          a->kind == ACT_EARLY_ENSEMBLE || a->kind == ACT_TAKE_EARLY || a->kind == ACT_CLOSE);
    switch (a->kind) {
    case ACT_SAY:
        return study_say(st, a->say, a->data, err);
    case ACT_CREATE:
        return trial_create(st, &a->config, a->source, a->to, a->retry_of, &number, err);
    case ACT_RUN_TO:
        return run_to(st, a, err);
    case ACT_END:
        CHECK(a->event == TE_PRUNE || a->event == TE_CANCEL);
        return trial_end(st, a->number, a->event, a->reason, NULL, err);
    case ACT_PROBE:
        st->probe = a->number;
        log_info("study.probe study=%" PRId64 " number=%" PRId64, st->row.id, st->probe);
        return 0;
    case ACT_VALIDATE:
        return validate(st, a, err);
    case ACT_FINISH:
        return ship_finish(st, a->why, a->is_cut, err);
    case ACT_RESCUE:
        return rescue(st, a, err);
    case ACT_REFIT:
        return ship_refit(st, a->number, err);
    case ACT_ENSEMBLE:
        return ensemble_ask(st, err);
    case ACT_EARLY_ENSEMBLE:
        return ensemble_ask_early(st, err);
    case ACT_TAKE_EARLY:
        return ensemble_take_early(st, err);
    case ACT_NO_REFIT:
        return give_up_refit(st, err);
    case ACT_CLOSE:
        return ship_close(st, a->number, err);
    }
    CHECK(!"an action of no kind");
    return -1;
}

static int apply_all(struct study *st, struct actions *list, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < list->n && rc == 0; i++)
        rc = apply(st, &list->list[i], err);
    list->n = 0;
    return rc;
}

/* The questions that decide/ answers with actions. ASK_FILL uses `want`, ASK_PROBE uses `sig`. */
enum question { ASK_NEXT, ASK_FILL, ASK_PROBE, ASK_BEGUN };

static int ask(struct study *st, enum question q, int want, const char *sig, struct actions *out,
               struct err *err)
{
    switch (q) {
    case ASK_FILL:
        return decide_hear(st, err) < 0 ? -1 : live_fill(st, want, out, err);
    case ASK_PROBE:
        return decide_hear(st, err) < 0 ? -1 : probe_next(st, sig, out, err);
    case ASK_BEGUN:
        return decide_begun(st, out, err);
    default:
        return decide_next(st, out, err);
    }
}

/* Asks the question and carries out the answers until nothing follows. */
static int follow(struct study *st, enum question q, int want, const char *sig, struct err *err)
{
    struct actions list = { 0 };
    int rc = 1;

    study_hold(st);
    for (int i = 0; rc == 1; i++) {
        CHECK(i < SETTLE_MAX);
        rc = ask(st, q, want, sig, &list, err);
        if (rc == 1)
            rc = apply_all(st, &list, err) < 0 ? -1 : 1;
    }
    actions_fini(&list);
    return rc;
}

/* ---- what requests ask for beside settling ---- */

int settle_fill(struct study *st, int want, struct err *err)
{
    return st->is_deterministic ? 0 : follow(st, ASK_FILL, want, NULL, err);
}

int settle_probe(struct study *st, const char *sig, struct err *err)
{
    return follow(st, ASK_PROBE, 0, sig, err);
}

int settle_begun(struct study *st, struct err *err)
{
    return follow(st, ASK_BEGUN, 0, NULL, err);
}

int settle_report(struct study *st, int64_t number, int level, struct sched_decision *out,
                  struct err *err)
{
    study_hold(st);
    if (st->is_deterministic ? follow(st, ASK_NEXT, 0, NULL, err) < 0 : decide_hear(st, err) < 0)
        return -1;
    *out = decide_said(st, number, level);
    return 0;
}

int settle_validation(struct study *st, int64_t fit_us, struct err *err)
{
    struct actions list = { 0 };
    int rc = 0;

    if (st->problem.is_undecided) {
        probe_decide(st, fit_us, &list);
        rc = apply_all(st, &list, err);
    }
    actions_fini(&list);
    return rc;
}

int settle_adopt(struct study *st, const struct config *c, enum trial_source source,
                 int64_t retry_of, struct err *err)
{
    struct actions list = { 0 };
    int rc = 0;

    ctl_touch(st->ctl, st);
    rc = decide_hear(st, err);
    if (rc == 0)
        rc = decide_adopt(st, c, source, retry_of, &list, err) < 0 ? -1 : apply_all(st, &list, err);
    actions_fini(&list);
    return rc;
}

/* ---- settling ---- */

/* One round. When a study ends, its last change touches it, so there is one more round, in which
 * its counts are stored. */
static int settle_once(struct study *st, struct err *err)
{
    if (!st->problem.is_ready && study_is_open(st) && dataset_resolve_study(st, err) < 0)
        return -1;
    if (decide_hear(st, err) < 0)
        return -1;
    if (study_is_final(st->row.state))
        return study_keep_counts(st, err);
    if (follow(st, ASK_NEXT, 0, NULL, err) < 0)
        return -1;
    return st->n_kept > 0 ? trial_evict(st, err) : 0;
}

int study_settle(struct study *st, struct err *err)
{
    for (int i = 0; st->needs_settling; i++) {
        CHECK(i < SETTLE_MAX);
        st->needs_settling = false;
        if (settle_once(st, err) < 0)
            return err_wrap(err, "study %s", st->row.name);
        if (!st->needs_settling)
            study_check(st);
    }
    return 0;
}

int study_settle_all(struct ctl *ctl, struct err *err)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        if (study_settle(ctl->studies[i], err) < 0)
            return damage_suspect(ctl, ctl->studies[i]->row.id, err);
    }
    return task_sweep_ranks(ctl, err);
}

/* ---- by the clock ---- */

static int tick_one(struct study *st, int64_t now, struct err *err)
{
    if (budget_is_over(st)) {
        log_info("study.time_used study=%" PRId64 " used_ms=%" PRId64, st->row.id,
                 study_used_ms(st));
        if (ship_finish(st, "the time was used", false, err) < 0)
            return -1;
    }
    if (st->row.state == SS_FINISHING || (st->row.state == SS_RUNNING && st->probe) ||
        ensemble_is_due(st))
        st->needs_settling = true;
    /* Stored every second, so that a crash forgets at most a second of the time that was used. */
    if (st->spec.budget_time_ms && st->clock_from >= 0 && now - st->used_saved_ms >= SAVE_MS) {
        ctl_touch(st->ctl, st);
        return study_save(st, err);
    }
    return 0;
}

int study_tick_all(struct ctl *ctl, struct err *err)
{
    int64_t now = ctl_now(ctl);

    for (int i = 0; i < ctl->n_studies; i++) {
        if (tick_one(ctl->studies[i], now, err) < 0)
            return damage_suspect(ctl, ctl->studies[i]->row.id, err);
    }
    return 0;
}

int64_t study_due(const struct ctl *ctl)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < ctl->n_studies; i++)
        due = MIN(due, decide_due(ctl->studies[i]));
    return due;
}
