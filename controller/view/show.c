/* show.c - makes the JSON of studies and trials (show.h). What is stored as JSON text (specs,
 * configurations, results) is parsed and put in as it is; if such a text is damaged, a null takes
 * its place, because one bad value must not hide the rest of an answer. */
#include "controller/view/show.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "controller/decide/rungs.h"
#include "controller/state/board.h"
#include "controller/state/damage.h"
#include "controller/state/honest.h"
#include "controller/state/progress.h"
#include "controller/state/trial.h"
#include "controller/view/analysis.h"
#include "controller/view/shares.h"
#include "controller/view/why.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *show_id(const char *sha256)
{
    return sha256[0] ? json_string(sha256) : json_null();
}

/* The same, but NULL becomes "". */
static json_t *show_word(const char *s)
{
    json_t *v = json_string(s ? s : "");

    if (!v) {
        char *copy = mem_strdup(s);

        utf8_clean(copy, SIZE_MAX);
        v = json_string(copy);
        mem_free(copy);
    }
    return v;
}

json_t *show_text(const char *s)
{
    return s && s[0] ? show_word(s) : json_null();
}

static json_t *stored(const char *text)
{
    json_t *v = text ? jsonx_load(text, strlen(text), "stored", NULL) : NULL;

    return v ? v : json_null();
}

/* ---- studies ---- */

/* What the spec means for the table. The stored rungs and warnings are left out, because the answer
 * shows them as "brackets" and "warnings". */
static json_t *data_json(const struct study *st)
{
    json_t *o = stored(st->row.data);

    (void)json_object_del(o, "brackets");
    (void)json_object_del(o, "warnings");
    return o;
}

static json_t *warnings_new(const struct study *st)
{
    json_t *o = stored(st->row.data), *list = json_incref(json_object_get(o, "warnings"));

    json_decref(o);
    return list ? list : json_array();
}

static int64_t ended_trials(const struct study *st)
{
    return st->count[TS_COMPLETED] + st->count[TS_PRUNED] + st->count[TS_FAILED] +
           st->count[TS_CANCELLED];
}

/* The larger of the shares of trials and of time that are used; 0 if the budget has neither
 * limit. */
static double progress_of(const struct study *st)
{
    double by_trials = 0, by_time = 0;

    if (study_is_final(st->row.state))
        return 1;
    if (st->spec.budget_trials)
        by_trials = (double)ended_trials(st) / (double)st->spec.budget_trials;
    if (st->spec.budget_time_ms)
        by_time = (double)study_used_ms(st) / (double)st->spec.budget_time_ms;
    return fmin(fmax(by_trials, by_time), 1);
}

static json_t *trials_json(const struct study *st)
{
    json_t *o = json_object();

    json_object_set_new(o, "total", json_integer(st->n_trials));
    for (int s = TS_QUEUED; s < TS_STATES; s++)
        json_object_set_new(o, trial_state_name[s], json_integer((json_int_t)st->count[s]));
    return o;
}

static json_t *estimate_json(const struct study *st, int64_t number)
{
    struct honest h = honest_of(st, number);
    bool is_baseline = number == honest_baseline(st);

    return json_pack("{s:o, s:o, s:o, s:i, s:b}", "score", jsonx_real(h.score), "se",
                     jsonx_real(h.se), "optimism", jsonx_real(h.optimism), "compared", h.compared,
                     "is_baseline", is_baseline && st->n_board > 1);
}

/* The best trial: on the board of a study in memory, or by its id for a study in a list
 * (brief_best). */
static json_t *best_json(struct study *st, bool whole, struct err *err)
{
    int64_t best = board_best(st);
    struct trial_row row = { 0 };
    json_t *o = NULL;

    if (!best && !st->brief_best)
        return json_null();
    int rc = best ? trial_load(st, best, &row, err)
                  : MIN(store_trial_get(st->ctl->store, st->brief_best, &row, err), 0);
    if (rc == 0 && !row.id)
        return json_null(); /* it was deleted meanwhile */
    if (rc == 0)
        o = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "trial", (json_int_t)row.id, "number",
                      (json_int_t)row.number, "family", show_word(row.family), "score",
                      jsonx_real(row.score), "se", jsonx_real(row.score_se), "test_score",
                      jsonx_real(row.test_score), "test_se", jsonx_real(row.test_se));
    if (rc == 0 && whole && best && st->row.state != SS_RUNNING)
        json_object_set_new(o, "estimate", estimate_json(st, best));
    trial_row_fini(&row);
    return o;
}

static json_t *dataset_name(const struct study *st)
{
    char *name = NULL;
    bool is_deleted = false; /* an ended study still says what it was about */
    int rc = store_dataset_name(st->ctl->store, st->row.dataset, &name, &is_deleted, NULL);
    json_t *word = show_word(rc == 1 ? name : st->spec.dataset);

    mem_free(name);
    return word;
}

static const char *validation_of(const struct study *st)
{
    if (st->spec.is_own)
        return "none";
    if (!st->problem.is_ready || st->problem.is_undecided)
        return "undecided";
    return st->problem.data.holdout ? "holdout" : "kfold";
}

/* The objectives, named by the keys that they have in rows of the leaderboard. */
static json_t *objectives_json(const struct study *st)
{
    json_t *list = json_array();

    for (int i = 0; i < st->spec.n_objectives; i++)
        json_array_append_new(list, json_string(analysis_fact_name[st->spec.objectives[i]]));
    if (st->spec.n_objectives == 0)
        json_array_append_new(list, json_string(analysis_fact_name[OBJ_SCORE]));
    return list;
}

/* What each objective is called and which way it is better, where a user's program tells them. */
static json_t *told_objectives_json(const struct study *st)
{
    json_t *list = json_array();

    for (int i = 0; i < st->spec.n_objectives; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s}", "key", analysis_fact_name[st->spec.objectives[i]],
                            "metric", st->spec.objective_metric[i], "goal",
                            st->spec.objective_larger[i] ? "maximize" : "minimize"));
    return list;
}

static void add_problem(json_t *o, const struct study *st)
{
    const struct msg_data *d = &st->problem.data;
    bool ready = st->problem.is_ready;

    json_object_set_new(o, "target", json_string(st->spec.target));
    json_object_set_new(o, "task", ready ? json_string(d->task) : json_null());
    json_object_set_new(o, "metric", ready ? json_string(d->metric) : show_text(st->spec.metric));
    json_object_set_new(o, "larger_is_better",
                        ready ? json_boolean(st->problem.metric->larger_is_better) : json_null());
    json_object_set_new(o, "objectives", objectives_json(st));
    if (st->spec.is_own && st->spec.n_objectives > 1)
        json_object_set_new(o, "told_objectives", told_objectives_json(st));
    json_object_set_new(o, "validation", json_string(validation_of(st)));
    json_object_set_new(o, "folds", ready ? json_integer(d->folds) : json_null());
    json_object_set_new(o, "rows", ready ? json_integer((json_int_t)d->rows) : json_null());
}

static void add_times(json_t *o, const struct study *st)
{
    json_object_set_new(o, "budget",
                        json_pack("{s:I, s:I}", "time_ms", (json_int_t)st->spec.budget_time_ms,
                                  "trials", (json_int_t)st->spec.budget_trials));
    json_object_set_new(o, "used_ms", json_integer((json_int_t)study_used_ms(st)));
    json_object_set_new(o, "progress", json_real(progress_of(st)));
    json_object_set_new(o, "created_at", json_integer((json_int_t)st->row.created_at));
    json_object_set_new(o, "started_at", json_integer((json_int_t)st->row.started_at));
    json_object_set_new(o, "ended_at", json_integer((json_int_t)st->row.ended_at));
}

/* The searchers that the study has. Before its data is known, "sampler" and "scheduler" stay what
 * the spec says. */
static void add_search(json_t *o, const struct study *st)
{
    const struct search_choice *c = &st->problem.search;

    if (c->sampler[0]) {
        json_object_set_new(o, "sampler", json_string(c->sampler));
        json_object_set_new(o, "scheduler", json_string(c->scheduler));
    }
    json_object_set_new(o, "sampler_why", show_text(c->sampler_why));
    json_object_set_new(o, "scheduler_why", show_text(c->scheduler_why));
    json_object_set_new(o, "resource", json_string(spec_resource_name[st->spec.resource]));
}

json_t *show_study(struct study *st, bool whole, struct err *err)
{
    json_t *best = best_json(st, whole, err), *o = NULL;
    char why[300];

    if (!best)
        return NULL;
    study_why(st, why, sizeof why);
    o = json_pack(
        "{s:I, s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:b, s:I, s:o, s:b, s:s, s:s, s:o}", "id",
        (json_int_t)st->row.id, "name", show_word(st->row.name), "owner", show_word(st->row.owner),
        "state", study_state_name[st->row.state], "reason", show_text(st->row.reason), "why",
        show_text(why), "priority", (json_int_t)st->row.priority, "seed", (json_int_t)st->row.seed,
        "archived", st->row.is_archived, "dataset", (json_int_t)st->row.dataset, "dataset_name",
        dataset_name(st), "deterministic", st->is_deterministic, "sampler", st->spec.sampler,
        "scheduler", st->spec.scheduler, "numeric_sig", show_text(st->row.numeric_sig));
    CHECK(o);
    add_search(o, st);
    add_problem(o, st);
    add_times(o, st);
    json_object_set_new(o, "trials", trials_json(st));
    json_object_set_new(o, "ended_trials", json_integer((json_int_t)ended_trials(st)));
    json_object_set_new(o, "best", best);
    json_object_set_new(
        o, "artifact",
        show_id(study_is_final(st->row.state) || progress_early_ships(st) ? st->row.artifact : ""));
    json_object_set_new(o, "result",
                        study_is_final(st->row.state) ? stored(st->row.result) : json_null());
    /* a study that has ended has it in its result, too */
    json_t *ensemble = whole || !study_is_final(st->row.state) ? progress_ensemble(st) : NULL;
    json_object_set_new(o, "ensemble", ensemble ? ensemble : json_null());
    if (whole) {
        json_object_set_new(o, "spec", stored(st->row.spec));
        json_object_set_new(o, "data", data_json(st));
        json_object_set_new(o, "brackets", rungs_json(st));
        json_object_set_new(o, "warnings", warnings_new(st));
        json_t *shares = shares_json(st);
        json_object_set_new(o, "families", shares ? shares : json_null());
    }
    return o;
}

static json_t *counts_json(struct ctl *ctl, int64_t study, bool are_known)
{
    int64_t count[TS_STATES] = { 0 }, total = 0;
    json_t *o = json_object();

    if (are_known) /* if that fails, zeros are shown */
        (void)store_trial_counts(ctl->store, study, count, NULL);
    for (int s = TS_QUEUED; s < TS_STATES; s++) {
        json_object_set_new(o, trial_state_name[s], json_integer((json_int_t)count[s]));
        total += count[s];
    }
    json_object_set_new(o, "total", json_integer((json_int_t)total));
    return o;
}

/* The stored value if it has the type that clients expect, which `nothing` has; else `nothing`,
 * which is taken over. */
static json_t *raw(const json_t *row, const char *key, json_t *nothing)
{
    json_t *v = json_object_get(row, key);

    if (!v || json_typeof(v) != json_typeof(nothing))
        return nothing;
    json_decref(nothing);
    return json_incref(v);
}

/* What the row tells of a study that is not in memory. state NULL = the stored one. */
static json_t *show_row(struct ctl *ctl, int64_t id, const char *state, const char *reason,
                        bool with_counts)
{
    static const char *const numbers[] = { "priority",   "seed",       "dataset",
                                           "created_at", "started_at", "ended_at" };
    static const char *const texts[] = { "owner", "numeric_sig" };
    static const char *const absent[] = { "why", "metric", "best", "result", "artifact" };
    json_t *dump = NULL, *row = NULL, *o = json_object();
    char name[40];

    /* columns that cannot be read are missing */
    (void)store_study_dump(ctl->store, id, 0, 0, &dump, NULL);
    row = json_object_get(dump, "study");
    (void)snprintf(name, sizeof name, "study-%" PRId64, id);
    json_object_set_new(o, "id", json_integer((json_int_t)id));
    json_object_set_new(o, "name", raw(row, "name", json_string(name)));
    json_object_set_new(o, "state",
                        state ? json_string(state) : raw(row, "state", json_string("")));
    json_object_set_new(o, "stored_state", raw(row, "state", json_string("")));
    json_object_set_new(o, "reason", json_string(reason));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_object_set_new(o, numbers[i], raw(row, numbers[i], json_integer(0)));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        json_object_set_new(o, texts[i], raw(row, texts[i], json_string("")));
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        json_object_set_new(o, absent[i], json_null());
    json_object_set_new(o, "archived",
                        json_boolean(json_integer_value(json_object_get(row, "is_archived")) != 0));
    json_object_set_new(o, "trials", counts_json(ctl, id, with_counts));
    json_decref(dump);
    return o;
}

json_t *show_damaged(struct ctl *ctl, int64_t id, const struct err *why)
{
    char reason[500];

    (void)snprintf(reason, sizeof reason, "its rows %s: %s",
                   damage_is_passing(why) ? "cannot be read now" : "are damaged", why->text);
    return show_row(ctl, id, SHOW_DAMAGED, reason, true);
}

json_t *show_unread(struct ctl *ctl, int64_t id)
{
    /* Its trials are not counted, because that takes as long as it is to be spared here. */
    return show_row(ctl, id, NULL, "it is being read after the start of the controller", false);
}

/* ---- trials ---- */

json_t *show_trial(const struct trial_row *row)
{
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:I, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o,"
        " s:b, s:I, s:s, s:o, s:I, s:I, s:I}",
        "id", (json_int_t)row->id, "study", (json_int_t)row->study, "number",
        (json_int_t)row->number, "state", trial_state_name[row->state], "reason",
        trial_reason_name[row->reason], "detail", show_text(row->detail), "family",
        show_word(row->family), "config", stored(row->config), "seed", (json_int_t)row->seed,
        "level", row->level, "max_level", row->max_level, "run_to", row->run_to, "score",
        jsonx_real(row->score), "se", jsonx_real(row->score_se), "select",
        jsonx_real(row->select_value), "test_score", jsonx_real(row->test_score), "test_se",
        jsonx_real(row->test_se), "artifact", show_id(row->artifact), "checkpoint",
        row->checkpoint[0] != '\0', "retry_of", (json_int_t)row->retry_of, "source",
        trial_source_name[trial_source_of(row)], "info", trial_info(row), "created_at",
        (json_int_t)row->created_at, "started_at", (json_int_t)row->started_at, "ended_at",
        (json_int_t)row->ended_at);

    CHECK(o);
    return o;
}

static json_t *info_get(const json_t *info, const char *key)
{
    json_t *v = json_object_get(info, key);

    return v ? json_incref(v) : json_null();
}

/* The values beside the score that a user's program told: keys value_2 and so on. */
static void add_values(json_t *o, const json_t *info)
{
    const json_t *list = json_object_get(info, "values");

    for (size_t i = 0; i < json_array_size(list) && OBJ_VALUE_2 + i < OBJ_KINDS; i++)
        json_object_set(o, analysis_fact_name[OBJ_VALUE_2 + i], json_array_get(list, i));
}

json_t *show_board_row(const struct trial_row *row, int64_t rank)
{
    json_t *info = trial_info(row);
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:s, s:b, s:b}",
        "rank", (json_int_t)rank, "trial", (json_int_t)row->id, "number", (json_int_t)row->number,
        "family", show_word(row->family), "config", stored(row->config), "score",
        jsonx_real(row->score), "se", jsonx_real(row->score_se), "test_score",
        jsonx_real(row->test_score), "test_se", jsonx_real(row->test_se), "level", row->level,
        "max_level", row->max_level, "fit_us", info_get(info, "fit_us"), "predict_ns_row",
        info_get(info, "predict_ns_row"), "model_bytes", info_get(info, "model_bytes"), "state",
        trial_state_name[row->state], "cut", json_is_true(json_object_get(info, "cut")), "artifact",
        row->artifact[0] != '\0');

    CHECK(o);
    add_values(o, info);
    json_decref(info);
    return o;
}

bool *show_front_new(struct study *st)
{
    struct analysis_front front = { 0 };
    bool *marks = NULL;

    if (st->spec.n_objectives < 2)
        return NULL;
    marks = mem_zalloc((size_t)st->n_trials + 1);
    analysis_front(st, st->spec.objectives, st->spec.n_objectives, &front);
    CHECK(front.n <= st->n_trials);
    for (int i = 0; i < front.n; i++)
        marks[front.numbers[i] - 1] = true;
    mem_free(front.numbers);
    return marks;
}
