/* ship.c - writes the end of a study into rows (ship.h).
 *
 * While a study finishes, its `result` column holds what a restart must know about the refit and the
 * ensemble (state/progress.h). When the study ends, the column gets the result that users see: the
 * trial that ships and its scores. */
#include "controller/settle/ship.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/finish.h"
#include "controller/decide/rungs.h"
#include "controller/state/board.h"
#include "controller/state/progress.h"
#include "controller/state/task.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Keeps a picture of the scheduler's rungs with the study, because the scheduler does not outlive
 * the search. */
static void rungs_keep(struct study *st)
{
    if (!st->rungs)
        st->rungs = rungs_now(st);
}

int ship_finish(struct study *st, const char *why, bool cut_running, struct err *err)
{
    if (study_move(st, SE_FINISH, why, json_pack("{s:s}", "why", why), err) < 0)
        return -1;
    rungs_keep(st);
    if (study_save(st, err) < 0)
        return -1;
    study_clock_start(st); /* finishing counts as used time, also if the study was paused before */
    st->n_rescue = 0;
    st->is_ending_new = true;
    st->cuts_running = cut_running;
    return 0;
}

int ship_kill(struct study *st, struct err *err)
{
    if (study_may(st, SE_STOP, err) < 0)
        return -1;
    rungs_keep(st);
    if (study_save(st, err) < 0)
        return -1;
    for (int64_t k = 1; k <= st->n_trials && study_has_open_trials(st); k++) {
        if (!trial_is_final((enum trial_state)st->trials[k - 1].state) &&
            trial_end(st, k, TE_CANCEL, TR_USER, NULL, err) < 0)
            return -1;
    }
    if (task_cancel_of_study(st->ctl, st->row.id, err) < 0)
        return -1;
    if (store_trial_forget_predictions(st->ctl->store, st->row.id, err) < 0)
        return -1;
    progress_forget(st);
    study_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    return study_move(st, SE_STOP, "killed by a user", NULL, err);
}

int ship_fail(struct study *st, const char *reason, struct err *err)
{
    if (task_cancel_of_study(st->ctl, st->row.id, err) < 0)
        return -1;
    progress_forget(st);
    study_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    return study_move(st, SE_FAIL, reason, NULL, err);
}

/* ---- refit ---- */

int ship_refit(struct study *st, int64_t number, struct err *err)
{
    json_t *progress = progress_load(st);
    int64_t task = 0;

    CHECK(st->row.state == SS_FINISHING && !st->refit); /* one refit at a time */
    if (task_create_refit(st, number, &task, err) < 0) {
        json_decref(progress);
        return -1;
    }
    st->refit = task;
    json_object_set_new(progress, "refit_task", json_integer((json_int_t)task));
    return progress_save(st, progress, err);
}

int ship_refitted(struct study *st, const char *artifact, double test_score, double test_se,
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
    const json_t *ensemble = json_object_get(progress, "ensemble");

    json_t *o = json_pack(
        "{s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "trial", (json_int_t)best->id, "number",
        (json_int_t)best->number, "family", best->family, "metric", st->problem.data.metric,
        "score", jsonx_real(best->score), "se", jsonx_real(best->score_se), "test_score",
        is_refit && test ? json_incref((json_t *)test) : jsonx_real(best->test_score), "test_se",
        is_refit && test_se ? json_incref((json_t *)test_se) : jsonx_real(best->test_se), "refit",
        is_refit);
    if (o && ensemble)
        json_object_set(o, "ensemble", (json_t *)ensemble);
    return o;
}

static int ship(struct study *st, int64_t number, struct err *err)
{
    struct trial_row best = { 0 };
    json_t *progress = progress_load(st);
    const char *refit = json_string_value(json_object_get(progress, "artifact"));
    bool is_ensemble =
        json_is_true(json_object_get(json_object_get(progress, "ensemble"), "ships"));
    bool is_made = refit && refit[0], is_refit = is_made && !is_ensemble;
    const char *spare = json_string_value(json_object_get(progress, "spare"));
    if (!is_made && spare) {
        /* the refit for which an ensemble was held back did not come */
        json_object_set_new(json_object_get(progress, "ensemble"), "ships", json_true());
        refit = spare;
        is_made = true;
    }
    int rc = trial_load(st, number, &best, err);

    if (rc == 0) {
        str_copy(st->row.artifact, sizeof st->row.artifact, is_made ? refit : best.artifact);
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

/* The reason of a study that ends without a completed trial: the failure of its first failed
 * trial. */
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

int ship_close(struct study *st, int64_t best, struct err *err)
{
    bool by_user = str_eq(st->row.reason, FINISH_BY_USER);
    char why[300];

    CHECK(!study_has_open_trials(st) && !st->refit && !st->early.task);
    study_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    if ((best && ship(st, best, err) < 0) ||
        store_trial_forget_predictions(st->ctl->store, st->row.id, err) < 0)
        return -1;
    str_copy(why, sizeof why, st->row.reason);
    if (!best) {
        progress_forget(st);
        if (!by_user)
            first_failure(st, why, sizeof why);
    }
    log_info("study.end study=%" PRId64 " name=%s trials=%d best=%" PRId64 " used_ms=%" PRId64,
             st->row.id, st->row.name, st->n_trials, best, study_used_ms(st));
    json_t *data =
        st->row.result ? jsonx_load(st->row.result, strlen(st->row.result), "result", NULL) : NULL;
    return study_move(st, by_user ? SE_STOP : best ? SE_COMPLETE : SE_FAIL, why, data, err);
}
