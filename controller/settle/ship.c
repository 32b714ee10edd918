/* ship.c - writes the end of a study into rows (ship.h).
 *
 * While a study finishes, its `result` column holds what a restart must know about the refit or the
 * ensemble: {"refit_task", "ensemble_task", "artifact", "test_score", "test_se", "ensemble"}, each as soon as it is
 * known. When the study
 * ends, the column gets the result that users see: the trial that ships and its scores. */
#include "controller/settle/ship.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/ensemble.h"
#include "controller/decide/finish.h"
#include "controller/decide/rungs.h"
#include "controller/state/board.h"
#include "controller/state/honest.h"
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

/* ---- the ensemble ---- */

/* A model that may become a member; NULL = the trial left no predictions, or its row cannot be
 * read. */
static json_t *model_new(struct study *st, int64_t number)
{
    struct trial_row row = { 0 };
    json_t *o = NULL;

    if (trial_load(st, number, &row, NULL) == 0 && row.predictions[0] && row.artifact[0])
        o = json_pack("{s:I, s:I, s:s, s:s}", "trial", (json_int_t)row.id, "number",
                      (json_int_t)number, "artifact", row.artifact, "predictions", row.predictions);
    trial_row_fini(&row);
    return o;
}

int ship_ensemble(struct study *st, struct err *err)
{
    int64_t numbers[MSG_MAX_MODELS], task = 0;
    int n = ensemble_candidates(st, numbers, MSG_MAX_MODELS);
    json_t *progress = progress_load(st), *models = json_array();
    int rc = 0;

    CHECK(st->row.state == SS_FINISHING && !st->refit);
    for (int i = 0; i < n; i++) {
        json_t *m = model_new(st, numbers[i]);
        if (m)
            json_array_append_new(models, m);
    }
    if (json_array_size(models) >= 2) {
        json_t *config = json_pack("{s:O, s:i, s:I}", "models", models, "members",
                                   st->spec.ensemble, "seed", (json_int_t)st->spec.seed);
        rc = task_create_ensemble(st, config, &task, err);
    }
    json_decref(models);
    if (rc < 0) {
        json_decref(progress);
        return -1;
    }
    st->refit = task;
    json_object_set_new(progress, "ensemble_task", json_integer((json_int_t)task));
    return progress_save(st, progress, err);
}

/* What a person wants to know of a member, in the place of its id. */
static json_t *member_new(struct study *st, const json_t *told)
{
    int64_t id = json_integer_value(json_object_get(told, "trial"));
    double weight = json_number_value(json_object_get(told, "weight"));

    for (int i = 0; i < st->n_kept; i++) {
        const struct trial_mem *t = trial_mem(st, st->kept[i]);
        if (t->id == id && weight != 0)
            return json_pack("{s:I, s:I, s:s, s:f, s:o, s:o}", "trial", (json_int_t)id, "number",
                             (json_int_t)st->kept[i], "family", st->families[(int)t->family]->name,
                             "weight", weight, "score", jsonx_real(t->score), "se",
                             jsonx_real(t->score_se));
    }
    return NULL;
}

/* {"score", "se", "optimism", "compared"} (honest.h). */
static json_t *estimate_new(const struct study *st, const json_t *ensemble)
{
    int64_t best = board_best(st);
    const json_t *score = json_object_get(ensemble, "score");
    const json_t *single = json_object_get(ensemble, "single");

    if (!best || !json_is_number(score) || !json_is_number(single))
        return json_null();
    const json_t *se = json_object_get(ensemble, "se");
    struct honest h = honest_of_ensemble(st, best, json_number_value(score),
                                         json_is_number(se) ? json_number_value(se) : (double)NAN,
                                         json_number_value(single));
    return json_pack("{s:o, s:o, s:o, s:i}", "score", jsonx_real(h.score), "se", jsonx_real(h.se),
                     "optimism", jsonx_real(h.optimism), "compared", h.compared);
}

/* {"ships", "rule", "score", "se", "single", "single_se", "gain", "gain_se", "estimate", "test_score",
 * "test_se", "models", "bytes", "members": [...]} */
static json_t *ensemble_new(struct study *st, bool ships, const json_t *detail,
                            const struct msg_event *e)
{
    static const char *const numbers[] = {
        "score", "se", "single", "single_se", "gain", "gain_se"
    };
    /* "pool", or the mean */
    const char *rule = json_string_value(json_object_get(detail, "rule"));
    bool is_pool = rule && strcmp(rule, "pool") == 0;
    json_t *o = json_pack("{s:b, s:s, s:o, s:o, s:I, s:I}", "ships", ships, "rule",
                          is_pool ? "pool" : "mean", "test_score", jsonx_real(e->test_value),
                          "test_se", jsonx_real(e->test_se), "bytes", (json_int_t)e->model_bytes,
                          "models", json_integer_value(json_object_get(detail, "models")));
    json_t *members = json_array(), *told = NULL;
    size_t i = 0;

    for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
        const json_t *v = json_object_get(detail, numbers[k]);
        json_object_set_new(o, numbers[k],
                            jsonx_real(json_is_number(v) ? json_number_value(v) : NAN));
    }
    json_array_foreach(json_object_get(detail, "members"), i, told)
    {
        json_t *m = i < MSG_MAX_MODELS ? member_new(st, told) : NULL;
        if (m)
            json_array_append_new(members, m);
    }
    json_object_set_new(o, "members", members);
    json_object_set_new(o, "estimate", estimate_new(st, o));
    return o;
}

int ship_ensembled(struct study *st, const char *artifact, const json_t *detail,
                   const struct msg_event *e, struct err *err)
{
    st->refit = 0;
    ctl_touch(st->ctl, st);
    if (st->row.state != SS_FINISHING || !artifact)
        return 0;
    json_t *progress = progress_load(st);
    json_object_set_new(progress, "artifact", json_string(artifact));
    json_object_set_new(progress, "ensemble", ensemble_new(st, artifact[0] != '\0', detail, e));
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

    CHECK(!study_has_open_trials(st) && !st->refit);
    study_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    if ((best && ship(st, best, err) < 0) ||
        store_trial_forget_predictions(st->ctl->store, st->row.id, err) < 0)
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
