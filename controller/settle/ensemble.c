/* ensemble.c - ensembles as rows (ensemble.h). The file of an early one is named by the study's
 * column `artifact` from its end on, in place of the one before it. */
#include "controller/settle/ensemble.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/ensemble.h"
#include "controller/state/board.h"
#include "controller/state/honest.h"
#include "controller/state/progress.h"
#include "controller/state/task.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- what is asked for ---- */

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

/* Creates the task: *task is its id, or 0 if there are not enough models. */
static int task_new(struct study *st, int64_t *task, struct err *err)
{
    int64_t numbers[MSG_MAX_MODELS];
    int n = ensemble_candidates(st, numbers, MSG_MAX_MODELS), rc = 0;
    json_t *models = json_array();

    *task = 0;
    for (int i = 0; i < n; i++) {
        json_t *m = model_new(st, numbers[i]);
        if (m)
            json_array_append_new(models, m);
    }
    if (json_array_size(models) >= 2) {
        json_t *config = json_pack("{s:O, s:i, s:I}", "models", models, "members",
                                   st->spec.ensemble, "seed", (json_int_t)st->spec.seed);
        rc = task_create_ensemble(st, config, task, err);
    }
    json_decref(models);
    return rc;
}

int ensemble_ask(struct study *st, struct err *err)
{
    CHECK(st->row.state == SS_FINISHING && !st->refit && !st->early.task);
    if (task_new(st, &st->refit, err) < 0)
        return -1;
    json_t *progress = progress_load(st);
    json_object_set_new(progress, "ensemble_task", json_integer((json_int_t)st->refit));
    return progress_save(st, progress, err);
}

/* The object of the early one; borrowed from progress. */
static json_t *early_of(json_t *progress)
{
    json_t *o = json_object_get(progress, "early");

    if (!json_is_object(o)) {
        o = json_object();
        json_object_set_new(progress, "early", o);
    }
    return o;
}

int ensemble_ask_early(struct study *st, struct err *err)
{
    CHECK(st->row.state == SS_RUNNING && !st->early.task);
    if (task_new(st, &st->early.task, err) < 0)
        return -1;
    json_t *progress = progress_load(st), *early = early_of(progress);
    st->early.tried_ms = study_used_ms(st);
    st->early.n_board = st->n_board;
    json_object_set_new(early, "task", json_integer((json_int_t)st->early.task));
    json_object_set_new(early, "tried_ms", json_integer((json_int_t)st->early.tried_ms));
    return progress_save(st, progress, err);
}

/* ---- what became of it ---- */

/* What a person wants to know of a member, in the place of its id. */
static json_t *member_new(struct study *st, const json_t *told)
{
    int64_t id = json_integer_value(json_object_get(told, "trial"));
    double weight = json_number_value(json_object_get(told, "weight"));

    /* Among all: while the search goes on, it may not be one of the kept any more. */
    for (int64_t k = 1; k <= st->n_trials; k++) {
        const struct trial_mem *t = trial_mem(st, k);
        if (t->id == id && weight != 0)
            return json_pack("{s:I, s:I, s:s, s:f, s:o, s:o}", "trial", (json_int_t)id, "number",
                             (json_int_t)k, "family", st->families[(int)t->family]->name, "weight",
                             weight, "score", jsonx_real(t->score), "se", jsonx_real(t->score_se));
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

/* The study's artifact is this ensemble from now on; none, if the best single model is as good. What a
 * task that failed leaves is the ensemble before it. */
static int early_ended(struct study *st, const struct ensemble_end *end, struct err *err)
{
    json_t *progress = progress_load(st), *early = early_of(progress);

    json_object_set_new(early, "task", json_integer(0));
    st->early.task = 0;
    if (end->artifact && end->event) {
        int64_t best = board_best(st);
        json_t *made = ensemble_new(st, end->artifact[0] != '\0', end->detail, end->event);
        json_object_set_new(early, "best",
                            best ? jsonx_real(st->trials[best - 1].score) : json_null());
        progress_early_note(st, made, json_object_get(early, "best"));
        st->early.took_ms = end->took_ms;
        str_copy(st->row.artifact, sizeof st->row.artifact,
                 st->early.is_better ? end->artifact : "");
        json_object_set_new(early, "took_ms", json_integer((json_int_t)end->took_ms));
        json_object_set_new(early, "artifact", json_string(st->row.artifact));
        json_object_set_new(early, "ensemble", made);
    }
    return progress_save(st, progress, err);
}

/* A refit of the best model on all rows will come, and is likely to be worth more than this ensemble,
 * which is then shipped only if the refit fails or is late. */
static bool is_for_refit(const struct study *st, const json_t *detail)
{
    return json_is_false(json_object_get(detail, "beats_refit")) && budget_fits_refit(st);
}

int ensemble_ended(struct study *st, const struct ensemble_end *end, struct err *err)
{
    ctl_touch(st->ctl, st);
    if (end->artifact && end->event)
        log_info("study.ensemble study=%" PRId64 " better=%d score=%.6g took_ms=%" PRId64,
                 st->row.id, end->artifact[0] != '\0', end->event->value, end->took_ms);
    if (end->task == st->early.task && !study_is_final(st->row.state))
        return early_ended(st, end, err);
    st->refit = 0;
    if (st->row.state != SS_FINISHING || !end->artifact || !end->event)
        return 0;
    json_t *progress = progress_load(st);
    bool is_made = end->artifact[0] != '\0', ships = is_made && !is_for_refit(st, end->detail);
    json_object_set_new(progress, "artifact", json_string(ships ? end->artifact : ""));
    json_object_set_new(progress, "ensemble", ensemble_new(st, ships, end->detail, end->event));
    if (is_made && !ships) {
        /* the column names the file, so that it stays */
        str_copy(st->row.artifact, sizeof st->row.artifact, end->artifact);
        json_object_set_new(progress, "spare", json_string(end->artifact));
    }
    return progress_save(st, progress, err);
}

int ensemble_take_early(struct study *st, struct err *err)
{
    json_t *progress = progress_load(st), *early = early_of(progress);

    CHECK(st->row.state == SS_FINISHING && st->early.is_better);
    json_object_set(progress, "artifact", json_object_get(early, "artifact"));
    json_object_set(progress, "ensemble", json_object_get(early, "ensemble"));
    log_info("study.ensemble_early study=%" PRId64, st->row.id);
    return progress_save(st, progress, err);
}
