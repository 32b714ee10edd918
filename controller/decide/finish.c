/* finish.c - from `finishing` to the end. In a study with a limit in time the running lanes were told their deadline and end
 * by themselves, with their best so far; those that do not are cancelled at the hard limit. A paused trial that is better
 * than all completed ones is completed as it is (rescue.h). Then, after a holdout, a refit
 * task fits the best configuration on all rows, if the time left allows it; kfold ships the bag of fold models that the
 * best trial uploaded. A refit that fails costs nothing: the best trial's own artifact ships.
 *
 * While it finishes, the study's `result` column holds {"refit_task", "artifact", "test_score", "test_se"}: what a restart
 * must know. At the end it holds the scores of what ships. */
#include "controller/decide/finish.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/rescue.h"
#include "controller/decide/rungs.h"
#include "controller/state/board.h"
#include "controller/state/lease.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GRACE_MS = 150 };

/* ---- ending what is open ---- */

static bool is_kept(struct study *st, int64_t number)
{
    const struct lease *l = lease_find(st->ctl, false, trial_mem(st, number)->id);

    return l && l->kept_ms > 0;
}

static int cancel_open(struct study *st, bool queued, bool running, bool kept,
                       enum trial_reason reason, struct err *err)
{
    for (int64_t k = 1; k <= st->n_trials && study_has_open_trials(st); k++) {
        enum trial_state state = (enum trial_state)st->trials[k - 1].state;
        bool is_waiting = state == TS_QUEUED || state == TS_PAUSED;

        if (!kept && rescue_holds(st, k))
            continue;
        if (!(is_waiting && queued) &&
            !(state == TS_RUNNING && running && (kept || !is_kept(st, k))))
            continue;
        if (trial_end(st, k, TE_CANCEL, reason, NULL, err) < 0)
            return -1;
    }
    return 0;
}

int finish_begin(struct study *st, const char *why, bool cut_running, struct err *err)
{
    enum trial_reason reason = str_eq(why, FINISH_BY_USER) ? TR_USER : TR_BUDGET;

    if (study_move(st, SE_FINISH, why, json_pack("{s:s}", "why", why), err) < 0)
        return -1;
    rungs_keep(st);
    if (study_save(st, err) < 0)
        return -1;
    study_clock_start(st); /* finishing is part of the time, also when the study was paused */
    if (rescue_begin(st, err) < 0)
        return -1;
    return cancel_open(st, true, cut_running, false, reason, err);
}

int finish_kill(struct study *st, struct err *err)
{
    if (study_may(st, SE_STOP, err) < 0)
        return -1;
    rungs_keep(st);
    if (study_save(st, err) < 0 || cancel_open(st, true, true, true, TR_USER, err) < 0 ||
        task_cancel_of_study(st->ctl, st->row.id, err) < 0)
        return -1;
    study_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    return study_move(st, SE_STOP, "killed by a user", NULL, err);
}

/* ---- refit ---- */

static json_t *progress_load(const struct study *st)
{
    struct err ignored = { 0 };
    json_t *o = st->row.result
                    ? jsonx_load(st->row.result, strlen(st->row.result), "result", &ignored)
                    : NULL;

    if (json_is_object(o))
        return o;
    json_decref(o);
    return json_object();
}

static int progress_save(struct study *st, json_t *o, struct err *err)
{
    mem_free(st->row.result);
    st->row.result = jsonx_dump(o);
    json_decref(o);
    return study_save(st, err);
}

static bool wants_refit(const struct study *st)
{
    int64_t left = budget_hard_ms(st), need = budget_refit_ms(st);

    if (!st->problem.is_ready || !st->problem.data.holdout || !board_best(st))
        return false;
    return left == INT64_MAX || left - ctl_now(st->ctl) > need;
}

static int refit_start(struct study *st, struct err *err)
{
    json_t *progress = progress_load(st);
    int64_t task = 0;

    if (task_create_refit(st, board_best(st), &task, err) < 0) {
        json_decref(progress);
        return -1;
    }
    st->refit = task;
    json_object_set_new(progress, "refit_task", json_integer((json_int_t)task));
    return progress_save(st, progress, err);
}

int finish_refitted(struct study *st, const char *artifact, double test_score, double test_se,
                    struct err *err)
{
    json_t *progress = NULL;

    st->refit = 0;
    ctl_touch(st->ctl, st);
    if (st->row.state != SS_FINISHING)
        return 0;
    progress = progress_load(st);
    json_object_set_new(progress, "artifact", json_string(artifact ? artifact : ""));
    json_object_set_new(progress, "test_score", jsonx_real(test_score));
    json_object_set_new(progress, "test_se", jsonx_real(test_se));
    return progress_save(st, progress, err);
}

/* ---- the end ---- */

static json_t *result_make(struct study *st, const struct trial_row *best, const json_t *progress,
                           bool is_refit)
{
    const json_t *test = json_object_get(progress, "test_score");
    const json_t *test_se = json_object_get(progress, "test_se");

    return json_pack(
        "{s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "trial", (json_int_t)best->id, "number",
        (json_int_t)best->number, "family", best->family, "metric", st->problem.data.metric,
        "score", jsonx_real(best->score), "se", jsonx_real(best->score_se), "test_score",
        is_refit && test ? json_incref((json_t *)test) : jsonx_real(best->test_score), "test_se",
        is_refit && test_se ? json_incref((json_t *)test_se) : jsonx_real(best->test_se), "refit",
        is_refit);
}

static int ship(struct study *st, int64_t number, struct err *err)
{
    struct trial_row best = { 0 };
    json_t *progress = progress_load(st);
    const char *refit = json_string_value(json_object_get(progress, "artifact"));
    bool is_refit = refit && refit[0];
    int rc = trial_load(st, number, &best, err);

    if (rc == 0) {
        str_copy(st->row.artifact, sizeof st->row.artifact, is_refit ? refit : best.artifact);
        st->row.best_trial = best.id;
        json_t *result = result_make(st, &best, progress, is_refit);
        mem_free(st->row.result);
        st->row.result = jsonx_dump(result);
        json_decref(result);
    }
    json_decref(progress);
    trial_row_fini(&best);
    return rc;
}

/* The text of the first failure, for a study without any result. */
static void first_failure(struct study *st, char *out, size_t size)
{
    struct err ignored = { 0 };

    str_copy(out, size, "no trial was completed");
    for (int64_t k = 1; k <= st->n_trials; k++) {
        struct trial_row row = { 0 };

        if (st->trials[k - 1].state != TS_FAILED)
            continue;
        if (trial_load(st, k, &row, &ignored) == 0)
            (void)snprintf(out, size, "no trial was completed; trial %" PRId64 " (%s): %s", k,
                           row.family, row.detail ? row.detail : trial_reason_name[row.reason]);
        trial_row_fini(&row);
        return;
    }
}

static int end(struct study *st, struct err *err)
{
    bool by_user = str_eq(st->row.reason, FINISH_BY_USER);
    int64_t best = board_best_artifact(st);
    char why[300];

    study_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    if (best && ship(st, best, err) < 0)
        return -1;
    str_copy(why, sizeof why, st->row.reason);
    if (!best) {
        mem_free(st->row.result);
        st->row.result = NULL;
        if (!by_user)
            first_failure(st, why, sizeof why);
    }
    log_info("study.end study=%" PRId64 " name=%s trials=%d best=%" PRId64 " used_ms=%" PRId64,
             st->row.id, st->row.name, st->n_trials, best, study_used_ms(st));
    json_t *data =
        st->row.result ? jsonx_load(st->row.result, strlen(st->row.result), "result", NULL) : NULL;
    return study_move(st, by_user ? SE_STOP : best ? SE_COMPLETE : SE_FAIL, why, data, err);
}

/* Lanes had their deadline at cut; what is still there shortly before the end is given up. With a refit to come, lanes are
 * given up earlier, so that there is time for it; a refit that does not fit behind them anyway takes nothing from them. */
static int64_t lanes_end_ms(const struct study *st)
{
    int64_t hard = budget_hard_ms(st), refit_from = 0, last = 0;

    if (hard == INT64_MAX)
        return hard;
    for (int i = 0; i < st->ctl->n_leases; i++) {
        const struct lease *l = &st->ctl->leases[i];
        if (!l->is_task && l->study == st->row.id)
            last = MAX(last, MAX(l->deadline_ms, l->kept_ms) + GRACE_MS);
    }
    if (!st->problem.data.holdout)
        return hard;
    refit_from = hard - MAX(budget_refit_ms(st), 1);
    return refit_from < last ? hard : refit_from;
}

int finish_step(struct study *st, struct err *err)
{
    int64_t now = ctl_now(st->ctl);
    json_t *progress = NULL;
    bool refit_done = false;

    CHECK(st->row.state == SS_FINISHING);
    /* Paused since, and better than all so far. */
    if (st->count[TS_PAUSED] > 0 && !rescue_waits(st) && rescue_begin(st, err) < 0)
        return -1;
    if (st->count[TS_QUEUED] + st->count[TS_PAUSED] > 0 &&
        cancel_open(st, true, false, false, TR_BUDGET, err) < 0)
        return -1; /* lost or paused while the study finished */
    if (st->count[TS_RUNNING] > 0) {
        if (now < lanes_end_ms(st))
            return 0;
        if (cancel_open(st, true, true, true, TR_BUDGET, err) < 0)
            return -1;
    }
    if (rescue_waits(st) || (st->refit && now < budget_hard_ms(st)))
        return 0;
    if (st->refit && (task_cancel_of_study(st->ctl, st->row.id, err) < 0 ||
                      finish_refitted(st, NULL, NAN, NAN, err) < 0))
        return -1;
    progress = progress_load(st);
    refit_done = json_object_get(progress, "refit_task") != NULL;
    json_decref(progress);
    if (!refit_done && wants_refit(st))
        return refit_start(st, err);
    return end(st, err);
}

int64_t finish_due(const struct study *st)
{
    return MIN(st->count[TS_RUNNING] > 0 ? lanes_end_ms(st) : budget_hard_ms(st), rescue_due(st));
}
