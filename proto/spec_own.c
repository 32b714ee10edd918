/* spec_own.c - the spec of a study whose trials are run by the user's own program: `space` is then
 * an object of the user's parameters, and there is neither dataset nor target. Such a program asks
 * for configurations and tells results over the REST API (docs/API.md, "Ask and tell"), or, if the
 * spec has a `command` (command.h), is run by the runners once for each trial.
 *
 * Only the shape of `space` is checked here. The controller reads the parameters themselves
 * (controller/problem/own.c), because it needs them as a search space. */
#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/command.h"

#include <stdio.h>
#include <string.h>

enum {
    OWN_MAX_LEVELS = 10000,
    OWN_LOST_MS = 3600000,
    OWN_LEAST_LOST_MS = 1000,
    OWN_MAX_CONSTRAINTS = 32,
    OWN_CONSTRAINT_BYTES = 500
};

bool spec_own_wanted(const json_t *o)
{
    return json_object_size(json_object_get(o, "space")) > 0;
}

/* Keys that speak of a table. The error says why they do not belong here; a key that is unknown
 * everywhere gets the usual error. */
static int table_keys_check(const json_t *o, struct err *err)
{
    static const char *const keys[] = { "dataset",  "target",        "columns",    "positive",
                                        "task",     "test",          "validation", "monotone",
                                        "resource", "deterministic", "warm_start", "groups",
                                        "time",     "weights",       "ensemble" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (json_object_get(o, keys[i]))
            return err_at(err, keys[i],
                          "does not belong to a study whose space is an object: its trials are run "
                          "by a program of your own (ask and tell), not by runners on a table");
    }
    return 0;
}

static const char *const goals[] = { "minimize", "maximize" };

/* One objective: a name, which goes the way of `goal`, or {metric, goal}. */
static int objective_parse(struct spec *s, const json_t *v, int i, struct err *err)
{
    static const char *const keys[] = { "metric", "goal" };
    const char *name = json_string_value(v);
    char where[40];
    int goal = s->larger_is_better;

    jsonx_path_at(where, sizeof where, "objectives", (size_t)i);
    if (json_is_object(v) &&
        (ONLY(v, where, keys, err) < 0 ||
         jsonx_str(v, where, "metric", JSONX_REQUIRED, sizeof s->metric - 1, &name, err) < 0 ||
         spec_word_parse(v, where, "goal", goals, ARRAY_LEN(goals), &goal, err) < 0))
        return -1;
    if (!name || !str_name_ok(name) || strlen(name) >= sizeof s->metric)
        return err_at(err, where,
                      "must be a name of at most %zu letters, digits, . _ or -, or {metric: name, "
                      "goal: minimize}",
                      sizeof s->metric - 1);
    for (int k = 0; k < i; k++) {
        if (str_eq(name, s->objective_metric[k]))
            return err_at(err, where, "%s is named twice", name);
    }
    str_copy(s->objective_metric[i], sizeof s->objective_metric[i], name);
    s->objective_larger[i] = goal == 1;
    s->objectives[i] = i == 0 ? OBJ_SCORE : (enum spec_objective)(OBJ_VALUE_2 + i - 1);
    return 0;
}

/* The first objective is the metric: boards are in its order. Intermediate reports are of one
 * value, so a study with several objectives has one level. */
static int objectives_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *list = NULL;
    int rc = jsonx_arr(o, NULL, "objectives", JSONX_OPTIONAL, SPEC_MAX_OBJECTIVES, &list, err);
    int n = rc == 1 ? (int)json_array_size(list) : 0;

    if (rc < 0)
        return -1;
    if (rc == 1 && n == 0)
        return err_at(err, "objectives", "names no objective");
    for (int i = 0; i < n; i++) {
        if (objective_parse(s, json_array_get(list, (size_t)i), i, err) < 0)
            return -1;
    }
    if (n == 0)
        return 0;
    if (json_object_get(o, "metric") && !str_eq(s->metric, s->objective_metric[0]))
        return err_at(err, "objectives[0]", "must be the metric, %s, by which trials are ranked",
                      s->metric);
    if (n > 1 && s->levels > 1)
        return err_at(err, "levels",
                      "must be 1 with several objectives: reports on the way are of one value");
    str_copy(s->metric, sizeof s->metric, s->objective_metric[0]);
    s->larger_is_better = s->objective_larger[0];
    s->n_objectives = n > 1 ? n : 0;
    return 0;
}

/* What the texts mean is checked with the parameters, by the controller. */
static int constraints_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *list = NULL, *v = NULL;
    char where[40];
    size_t i = 0;
    int rc = jsonx_arr(o, NULL, "constraints", JSONX_OPTIONAL, OWN_MAX_CONSTRAINTS, &list, err);

    if (rc <= 0)
        return rc;
    json_array_foreach(list, i, v)
    {
        jsonx_path_at(where, sizeof where, "constraints", i);
        if (!json_is_string(v) || json_string_length(v) > OWN_CONSTRAINT_BYTES)
            return err_at(err, where,
                          "must be a text of at most %d bytes, such as \"layers * width <= 4096\"",
                          OWN_CONSTRAINT_BYTES);
    }
    if (json_array_size(list) > 0)
        s->constraints = json_deep_copy(list);
    return 0;
}

static int goal_parse(struct spec *s, const json_t *o, struct err *err)
{
    const char *metric = "value";
    int goal = 0;

    if (jsonx_str(o, NULL, "metric", JSONX_OPTIONAL, sizeof s->metric - 1, &metric, err) < 0 ||
        spec_word_parse(o, NULL, "goal", goals, ARRAY_LEN(goals), &goal, err) < 0)
        return -1;
    if (!str_name_ok(metric))
        return err_at(err, "metric", "must be a name of letters, digits, . _ or -");
    str_copy(s->metric, sizeof s->metric, metric);
    s->larger_is_better = goal == 1;
    return 0;
}

/* Runners run the trials of a study with a command; a lease is then the controller's affair. */
static int command_keys_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const keys[] = { COMMAND_KEYS };
    struct command c;

    if (!json_object_get(o, "command")) {
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            if (json_object_get(o, keys[i]))
                return err_at(err, keys[i], "belongs to a study with a `command`");
        }
        return 0;
    }
    if (json_object_get(o, "lost_after"))
        return err_at(err, "lost_after",
                      "belongs to programs that ask and tell; a `command` is run by runners, whose "
                      "leases the controller watches");
    if (command_parse(&c, o, json_object_get(o, "space"), err) < 0)
        return -1;
    command_fini(&c);
    s->command = command_json_new(o);
    s->lost_after_ms = 0;
    return 0;
}

int spec_own_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *space = json_object_get(o, "space");
    int64_t levels = 1;

    if (table_keys_check(o, err) < 0 || goal_parse(s, o, err) < 0 ||
        jsonx_i64(o, NULL, "levels", JSONX_OPTIONAL, 1, OWN_MAX_LEVELS, &levels, err) < 0)
        return -1;
    s->is_own = true;
    s->levels = (int)levels;
    s->lost_after_ms = OWN_LOST_MS;
    if (spec_duration_parse(o, NULL, "lost_after", &s->lost_after_ms, err) < 0)
        return -1;
    if (s->lost_after_ms < OWN_LEAST_LOST_MS)
        return err_at(err, "lost_after", "must be at least 1s");
    if (objectives_parse(s, o, err) < 0 || constraints_parse(s, o, err) < 0)
        return -1;
    s->space = json_deep_copy(space);
    if (command_keys_parse(s, o, err) < 0)
        return -1;
    if (!s->name[0])
        str_copy(s->name, sizeof s->name, "search");
    return 0;
}
