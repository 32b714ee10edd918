/* spec_write.c - writes the normalised JSON of a spec: the form that the database stores, the API
 * shows and a replay starts from. Every key that decides something is written with its value, even
 * if it is the default, so that a later change of a default cannot change an old study. Keys that
 * mean "none" are left out. spec_parse of this JSON gives the same struct. */
#include "proto/spec.h"

#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>

static void set(json_t *o, const char *key, json_t *v)
{
    CHECK(json_object_set_new(o, key, v) == 0);
}

/* The setters below leave a key out where its value means "none": "", NULL or 0. */
static void set_text(json_t *o, const char *key, const char *text)
{
    if (*text)
        set(o, key, json_string(text));
}

static void set_copy(json_t *o, const char *key, const json_t *v)
{
    if (v)
        set(o, key, json_deep_copy(v));
}

static void set_i64(json_t *o, const char *key, int64_t v)
{
    if (v)
        set(o, key, json_integer(v));
}

/* A duration as a person would write it: "90s", or "1500ms" where seconds are not whole. */
static void set_ms(json_t *o, const char *key, int64_t ms)
{
    char text[40];

    if (ms == 0)
        return;
    if (ms % 1000 == 0)
        (void)snprintf(text, sizeof text, "%" PRId64 "s", ms / 1000);
    else
        (void)snprintf(text, sizeof text, "%" PRId64 "ms", ms);
    set(o, key, json_string(text));
}

static json_t *validation_new(const struct spec *s)
{
    json_t *v = json_object();

    if (s->validation == VAL_KFOLD) {
        set(v, "kind", json_string("kfold"));
        set(v, "folds", json_integer(s->folds));
    } else if (s->validation == VAL_HOLDOUT) {
        set(v, "kind", json_string("holdout"));
        set(v, "fraction", json_real(s->holdout_fraction));
    } else {
        set(v, "kind", json_string("auto"));
    }
    return v;
}

static json_t *budget_new(const struct spec *s)
{
    json_t *b = json_object();

    set_ms(b, "time", s->budget_time_ms);
    set_i64(b, "trials", s->budget_trials);
    set_ms(b, "trial_time", s->trial_time_ms);
    set_i64(b, "trial_memory", s->trial_memory_bytes);
    return b;
}

static void set_test(json_t *o, const struct spec *s)
{
    json_t *t = json_object();

    set_text(t, "dataset", s->test_dataset);
    if (s->test_fraction > 0)
        set(t, "fraction", json_real(s->test_fraction));
    if (json_object_size(t) > 0)
        set(o, "test", t);
    else
        json_decref(t);
}

static void set_stop(json_t *o, const struct spec *s)
{
    json_t *t = json_object();

    if (s->has_stop_score)
        set(t, "score", json_real(s->stop_score));
    if (s->stop_no_gain_trials >= 0)
        set(t, "no_gain_trials", json_integer((json_int_t)s->stop_no_gain_trials));
    if (json_object_size(t) > 0)
        set(o, "stop", t);
    else
        json_decref(t);
}

static json_t *searcher_new(const char *kind, const json_t *options)
{
    json_t *o = options ? json_deep_copy(options) : json_object();

    set(o, "kind", json_string(kind));
    return o;
}

static void set_objectives(json_t *o, const struct spec *s)
{
    json_t *list = s->n_objectives > 0 ? json_array() : NULL;

    for (int i = 0; i < s->n_objectives; i++) {
        json_t *one = s->is_own ? json_pack("{s:s, s:s}", "metric", s->objective_metric[i], "goal",
                                            s->objective_larger[i] ? "maximize" : "minimize")
                                : json_string(spec_objective_name[s->objectives[i]]);
        CHECK(json_array_append_new(list, one) == 0);
    }
    if (list)
        set(o, "objectives", list);
}

static void set_search(json_t *o, const struct spec *s)
{
    set(o, "budget", budget_new(s));
    set_stop(o, s);
    set(o, "priority", json_integer(s->priority));
    set(o, "sampler", searcher_new(s->sampler, s->sampler_options));
    set(o, "scheduler", searcher_new(s->scheduler, s->scheduler_options));
    set(o, "seed", json_integer((json_int_t)s->seed));
    set(o, "parallel", s->parallel ? json_integer(s->parallel) : json_string("auto"));
    set_copy(o, "enqueue", s->enqueue);
}

static json_t *own_json_new(const struct spec *s)
{
    json_t *o = json_object();

    set_text(o, "name", s->name);
    set_text(o, "metric", s->metric);
    set(o, "goal", json_string(s->larger_is_better ? "maximize" : "minimize"));
    set_objectives(o, s);
    set(o, "levels", json_integer(s->levels));
    set_ms(o, "lost_after", s->lost_after_ms);
    if (s->command)
        CHECK(json_object_update(o, s->command) == 0);
    set_copy(o, "space", s->space);
    set_copy(o, "constraints", s->constraints);
    set_search(o, s);
    return o;
}

json_t *spec_json_new(const struct spec *s)
{
    if (s->is_own)
        return own_json_new(s);
    json_t *o = json_object();

    CHECK(s->task <= TASK_REGRESSION && s->resource <= RES_ROWS && s->n_objectives >= 0 &&
          s->n_objectives <= SPEC_MAX_OBJECTIVES);
    set_text(o, "name", s->name);
    set_text(o, "dataset", s->dataset);
    set_text(o, "target", s->target);
    set_copy(o, "columns", s->columns);
    set_copy(o, "monotone", s->monotone);
    set_text(o, "positive", s->positive);
    spec_rows_write(o, s);
    set(o, "task", json_string(spec_task_name[s->task]));
    set(o, "metric", json_string(s->metric[0] ? s->metric : "auto"));
    set_objectives(o, s);
    set(o, "validation", validation_new(s));
    set_test(o, s);
    set_search(o, s);
    if (s->resource != RES_AUTO)
        set(o, "resource", json_string(spec_resource_name[s->resource]));
    set(o, "deterministic",
        s->deterministic == TRI_AUTO ? json_string("auto")
                                     : json_boolean(s->deterministic == TRI_ON));
    if (s->space)
        set_copy(o, "space", s->space);
    else
        set(o, "space", json_string("auto"));
    set(o, "ensemble", s->ensemble ? json_integer(s->ensemble) : json_string("off"));
    set_text(o, "warm_start", s->warm_start);
    return o;
}
