/* warm.c - reads the earlier study's trials, and uses them (warm.h). The object in the journal is
 *
 *   {"study": id, "name", "same": bool,
 *    "trials": [{"config", "score", "level", "max_level", "fit_us", "predict_ns_row",
 *                "model_bytes"}]}
 *
 * with the best trial first. "same" = scores of both studies mean the same: same table, target,
 * positive class and monotone columns, and the same rows set apart for the test. */
#include "controller/decide/warm.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/objective.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- gathering ---- */

static bool same_scores(const struct study *a, const struct study *b)
{
    const struct msg_data *x = &a->problem.data, *y = &b->problem.data;

    /* The validation may differ: folds and a holdout estimate the same quantity, only with more or
     * less noise. The test rows must not differ, because the earlier study may have trained on rows
     * that this one keeps unseen. */
    return str_eq(x->frame, y->frame) && str_eq(x->target, y->target) &&
           str_eq(x->positive, y->positive) && str_eq(x->monotone, y->monotone) &&
           str_eq(x->groups, y->groups) && str_eq(x->time_column, y->time_column) &&
           str_eq(x->weights, y->weights) && x->gap == y->gap &&
           x->test_fraction == y->test_fraction &&
           (x->split_seed == y->split_seed || x->test_fraction == 0);
}

/* The baseline is left out, because each study tries it anyway. */
static int add_trial(struct study *from, int64_t number, json_t *list, struct err *err)
{
    const struct trial_mem *t = trial_mem(from, number);
    struct trial_row row = { 0 };
    struct config c;
    int rc = trial_load(from, number, &row, err);

    if (rc == 0 && config_parse_text(&c, row.config, from->space.own, NULL) == 0 &&
        !str_eq(c.family->name, "baseline"))
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:i, s:i, s:I, s:I, s:I}", "config", row.config, "score",
                            jsonx_real(row.score), "level", row.level, "max_level", row.max_level,
                            "fit_us", (json_int_t)t->fit_us, "predict_ns_row",
                            (json_int_t)t->predict_ns, "model_bytes", (json_int_t)t->model_bytes));
    trial_row_fini(&row);
    return rc;
}

json_t *warm_gather(struct study *st, struct study *from, struct err *err)
{
    json_t *list = NULL, *o = NULL;
    int rc = 0;

    if (from == st || !from->problem.is_ready) {
        err_at(err, "warm_start", "study %s has no results yet", from->row.name);
        return NULL;
    }
    if (from->problem.task != st->problem.task ||
        !str_eq(from->problem.data.metric, st->problem.data.metric)) {
        err_at(err, "warm_start", "study %s is %s by %s, this one %s by %s", from->row.name,
               from->problem.data.task, from->problem.data.metric, st->problem.data.task,
               st->problem.data.metric);
        return NULL;
    }
    list = json_array();
    for (int i = 0; i < from->n_board && json_array_size(list) < WARM_TRIALS && rc == 0; i++)
        rc = add_trial(from, from->board[i], list, err);
    log_info("study.warm_start study=%" PRId64 " from=%" PRId64 " trials=%zu same=%d", st->row.id,
             from->row.id, json_array_size(list), same_scores(st, from));
    o = json_pack("{s:I, s:s, s:b, s:o}", "study", (json_int_t)from->row.id, "name", from->row.name,
                  "same", same_scores(st, from), "trials", list);
    CHECK(o);
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* ---- using ---- */

static int64_t whole(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* 1 = the sampler was told, 0 = the configuration is not in this study's space, -1. */
static int tell_one(struct study *st, int64_t number, const json_t *trial, struct err *err)
{
    const char *text = json_string_value(json_object_get(trial, "config"));
    double *point = mem_array((size_t)st->space.space->n, sizeof *point);
    struct observation o = {
        .trial = number,
        .state = OBS_COMPLETED,
        .level = (int)whole(trial, "level"),
        .max_level = (int)whole(trial, "max_level"),
        .value = study_gain(st, json_number_value(json_object_get(trial, "score"))),
    };
    struct trial_mem t = { .score = json_number_value(json_object_get(trial, "score")),
                           .fit_us = whole(trial, "fit_us"),
                           .predict_ns = whole(trial, "predict_ns_row"),
                           .model_bytes = whole(trial, "model_bytes") };
    double all[SPEC_MAX_OBJECTIVES];
    struct config c;
    int rc = 0;

    objective_all(st, &t, all);
    for (int i = 1; i < objective_count(st); i++)
        o.more[i - 1] = all[i];
    if (text && config_parse_text(&c, text, st->space.own, NULL) == 0 &&
        config_to_point(&c, st->space.space, point, NULL) == 0) {
        rc = st->search->sampler->ops->adopt(st->search->sampler, number, point, err);
        if (rc == 0)
            rc = st->search->sampler->ops->observe(st->search->sampler, &o, err);
        rc = rc < 0 ? -1 : 1;
    }
    mem_free(point);
    return rc;
}

int warm_tell(struct study *st, struct err *err)
{
    int64_t number = 0;
    json_t *v = NULL;
    size_t i = 0;

    CHECK(st->search && st->search->sampler);
    if (!json_is_true(json_object_get(st->search->warm, "same")))
        return 0;
    json_array_foreach(json_object_get(st->search->warm, "trials"), i, v)
    {
        int rc = tell_one(st, number, v, err);

        if (rc < 0)
            return -1;
        number -= rc;
    }
    return 0;
}

int warm_first(const struct study *st, int i, struct config *out)
{
    json_t *list = json_object_get(st->search->warm, "trials");

    if (!list || json_is_true(json_object_get(st->search->warm, "same")) || i >= WARM_FIRST)
        return 0;
    const char *text =
        json_string_value(json_object_get(json_array_get(list, (size_t)i), "config"));
    return text && config_parse_text(out, text, st->space.own, NULL) == 0;
}
