/* spec_goal.c - what a spec searches for: the metric, and further objectives (`objectives: [auc,
 * predict_time]`). One objective is always the score. A metric that is named among the objectives
 * need not be named under `metric` too. An objective in seconds is measured and differs from run to
 * run, so a deterministic study takes none. Also the constraint that every model must keep:
 * `monotone`. */
#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/str.h"

const char *const spec_objective_name[OBJ_KINDS] = { "score",       "fit_time", "predict_time",
                                                     "model_bytes", "value_2",  "value_3",
                                                     "value_4" };
/* What a study on a table may name. */
enum { TABLE_KINDS = OBJ_VALUE_2 };
static const struct known_metric {
    const char *name;
    bool is_class;
} metrics[] = {
#define METRIC(ID, name, larger_is_better, is_class, ...) { name, is_class },
#include "ml/metric/metric.def"
#undef METRIC
};

static int metric_set(struct spec *s, const struct known_metric *m, const char *where,
                      struct err *err)
{
    if (s->task != TASK_AUTO && m->is_class == (s->task == TASK_REGRESSION))
        return err_at(err, where, "%s does not suit the task %s", m->name, spec_task_name[s->task]);
    str_copy(s->metric, sizeof s->metric, m->name);
    str_copy(s->metric_where, sizeof s->metric_where, where);
    return 0;
}

static int metric_parse_name(struct spec *s, const json_t *o, struct err *err)
{
    const char *names[ARRAY_LEN(metrics) + 1] = { "auto" };
    int at = 0;

    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        names[i + 1] = metrics[i].name;
    if (spec_word_parse(o, NULL, "metric", names, ARRAY_LEN(names), &at, err) < 0)
        return -1;
    return at == 0 ? 0 : metric_set(s, &metrics[at - 1], "metric", err);
}

/* One objective: a word, or {metric: word}. The name of a metric means the score, and sets the
 * metric. */
static int objective_parse(struct spec *s, const json_t *v, const char *where,
                           enum spec_objective *out, struct err *err)
{
    static const char *const keys[] = { "metric" };
    const char *word = json_string_value(v), *near = NULL;
    const char *names[TABLE_KINDS + ARRAY_LEN(metrics)];

    if (json_is_object(v)) {
        if (ONLY(v, where, keys, err) < 0 ||
            jsonx_str(v, where, "metric", JSONX_REQUIRED, 64, &word, err) < 0)
            return -1;
    }
    if (!word)
        return err_at(err, where, "must be a word such as auc, predict_time or model_bytes");
    for (int k = 0; k < TABLE_KINDS; k++) {
        names[k] = spec_objective_name[k];
        *out = (enum spec_objective)k;
        if (str_eq(word, names[k]))
            return 0;
    }
    *out = OBJ_SCORE;
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        names[TABLE_KINDS + i] = metrics[i].name;
    if (s->metric[0] && str_eq(word, s->metric))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
        if (!str_eq(word, metrics[i].name))
            continue;
        if (s->metric[0])
            return err_at(err, where, "%s is not the metric, which is %s", word, s->metric);
        return metric_set(s, &metrics[i], where, err);
    }
    near = spec_word_near(word, names, ARRAY_LEN(names));
    return err_at(
        err, where,
        "\"%.40s\" is no objective (a metric, score, fit_time, predict_time or model_bytes)%s%s%s",
        word, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int objectives_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *list = NULL, *v = NULL;
    char where[120];
    size_t i = 0;
    int rc = jsonx_arr(o, NULL, "objectives", JSONX_OPTIONAL, SPEC_MAX_OBJECTIVES, &list, err),
        seen = 0;

    if (rc <= 0)
        return rc;
    json_array_foreach(list, i, v)
    {
        jsonx_path_at(where, sizeof where, "objectives", i);
        if (objective_parse(s, v, where, &s->objectives[i], err) < 0)
            return -1;
        if (seen & 1 << s->objectives[i])
            return err_at(err, where, "%s is named twice", spec_objective_name[s->objectives[i]]);
        seen |= 1 << s->objectives[i];
    }
    if (!(seen & 1 << OBJ_SCORE))
        return err_at(err, "objectives", "one must be the metric, by which trials are ranked");
    s->n_objectives = json_array_size(list) > 1 ? (int)json_array_size(list) : 0;
    return 0;
}

int spec_goal_parse(struct spec *s, const json_t *o, struct err *err)
{
    return metric_parse_name(s, o, err) < 0 ? -1 : objectives_parse(s, o, err);
}

/* Whether it is measured in seconds, which differ between machines. The size of a model is the same
 * everywhere. */
static bool is_measured(enum spec_objective o)
{
    return o == OBJ_FIT_TIME || o == OBJ_PREDICT_TIME;
}

bool spec_goal_is_measured(const struct spec *s)
{
    for (int i = 0; i < s->n_objectives; i++) {
        if (is_measured(s->objectives[i]))
            return true;
    }
    return false;
}

int spec_goal_check(const struct spec *s, struct err *err)
{
    for (int i = 0; s->deterministic == TRI_ON && i < s->n_objectives; i++) {
        char where[40];

        jsonx_path_at(where, sizeof where, "objectives", (size_t)i);
        if (is_measured(s->objectives[i]))
            return err_at(err, where, "%s is measured in seconds: not with deterministic: true",
                          spec_objective_name[s->objectives[i]]);
    }
    return 0;
}

/* ---- constraints ---- */

int spec_monotone_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const directions[] = { "increasing", "decreasing" };
    json_t *list = NULL, *v = NULL;
    const char *name = NULL;
    char where[120];
    int rc = jsonx_obj(o, NULL, "monotone", JSONX_OPTIONAL, &list, err), direction = 0;

    if (rc <= 0)
        return rc;
    json_object_foreach(list, name, v)
    {
        jsonx_path(where, sizeof where, "monotone", name);
        if (spec_word_parse(list, "monotone", name, directions, ARRAY_LEN(directions), &direction,
                            err) < 0)
            return -1;
        if (json_is_null(v) || !*name)
            return err_at(err, where, "must be increasing or decreasing");
        if (str_eq(name, s->target))
            return err_at(err, where, "is the target");
    }
    if (json_object_size(list) > 0 && s->task == TASK_MULTICLASS)
        return err_at(err, "monotone", "does not suit the task multiclass");
    if (json_object_size(list) > 0)
        s->monotone = json_deep_copy(list);
    return 0;
}
