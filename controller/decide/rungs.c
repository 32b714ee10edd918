/* rungs.c - translates a scheduler's description of its rungs (scheduler_ops.describe) into JSON:
 * numbers of families become names, levels become those of the family's own ladder, and values, of
 * which larger is better, become scores in the metric's own direction. */
#include "controller/decide/rungs.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "controller/problem/ladder.h"

#include <math.h>
#include <string.h>

static const struct family *family_of(const struct study *st, int family)
{
    return st->families[family >= 0 && family < st->n_families ? family : 0];
}

/* The share of a whole run's cost that a trial has spent when it stands at this level. */
static double share_of(const struct study *st, const struct family *f, int level, int max_level)
{
    double params[FAMILY_MAX_PARAMS];

    family_defaults(f, params);
    for (int i = 0; i < st->space.n_families; i++) {
        const struct config *c = &st->space.first[i];
        if (c->family == f)
            memcpy(params, c->params, (size_t)f->n_params * sizeof *params);
    }
    const struct family_shape *s = &st->problem.shape;
    double whole = (double)family_level_cost(f, s, params, 0, max_level), spent = 0;
    /* Level by level, because some families spend less when they go straight to a high level. */
    for (int l = 1; l <= level; l++)
        spent += (double)family_level_cost(f, s, params, l - 1, l);
    return whole > 0 ? spent / whole : 0;
}

/* Whether this rung belongs to a short ladder (problem/ladder.h). */
static bool is_on_short(const struct problem *p, const struct family *f, const struct sched_rung *r)
{
    return f->adds_folds > 0 && family_resource_of(f, &p->shape) == FR_AUTO &&
           r->max_level == ladder_top(p, f, true);
}

static json_t *rung_json(const struct study *st, const struct sched_rung *r)
{
    const struct family *f = family_of(st, r->family);
    bool is_short = is_on_short(&st->problem, f, r);
    int level = ladder_to_family(f, is_short, r->level), top = is_short ? f->levels : r->max_level;
    json_t *o = json_pack("{s:i, s:i, s:f, s:o, s:I, s:I, s:I, s:I, s:o}", "rung", r->rung, "level",
                          level, "resource", share_of(st, f, level, top), "size",
                          r->size > 0 ? json_integer((json_int_t)r->size) : json_null(), "running",
                          (json_int_t)r->n_running, "waiting", (json_int_t)r->n_waiting, "promoted",
                          (json_int_t)r->n_promoted, "done", (json_int_t)r->n_done, "best",
                          isfinite(r->best) ? jsonx_real(study_gain(st, r->best)) : json_null());

    CHECK(o);
    return o;
}

static json_t *bracket_json(const struct study *st, const struct sched_rung *r, json_t *rungs)
{
    const struct family *f = family_of(st, r->family);
    json_t *o = json_pack("{s:s, s:i, s:i, s:o}", "family", f->name, "max_level",
                          is_on_short(&st->problem, f, r) ? f->levels : r->max_level, "bracket",
                          r->bracket, "rungs", rungs);

    CHECK(o);
    return o;
}

static bool same_bracket(const struct sched_rung *a, const struct sched_rung *b)
{
    return a->family == b->family && a->max_level == b->max_level && a->bracket == b->bracket;
}

static json_t *describe(const struct study *st)
{
    const struct scheduler_ops *ops = st->search->scheduler->ops;
    struct sched_rung *list = NULL;
    json_t *out = NULL, *rungs = NULL;

    if (!ops->describe)
        return json_null();
    int n = ops->describe(st->search->scheduler, 0, 0, NULL), first = MAX(n - RUNGS_MAX, 0);
    list = mem_array((size_t)MAX(n - first, 1), sizeof *list);
    CHECK(ops->describe(st->search->scheduler, first, n - first, list) == n);
    out = json_array();
    for (int i = 0; i < n - first; i++) {
        if (i == 0 || !same_bracket(&list[i - 1], &list[i])) {
            rungs = json_array();
            json_array_append_new(out, bracket_json(st, &list[i], rungs));
        }
        json_array_append_new(rungs, rung_json(st, &list[i]));
    }
    mem_free(list);
    return out;
}

/* Moves the trials that are counted under `key` to "done". */
static void count_as_done(json_t *rung, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(rung, key));
    json_int_t done = json_integer_value(json_object_get(rung, "done"));

    json_object_set_new(rung, key, json_integer(0));
    json_object_set_new(rung, "done", json_integer(done + n));
}

/* The stored picture is from the moment when the search ended. Trials that waited then were
 * cancelled, and those that ran have ended since or end now. */
static void close_open(const struct study *st, json_t *brackets)
{
    bool is_over = study_is_final(st->row.state);
    json_t *bracket = NULL, *rung = NULL;
    size_t i = 0, k = 0;

    if (!is_over && st->row.state != SS_FINISHING)
        return;
    json_array_foreach(brackets, i, bracket)
    {
        json_array_foreach(json_object_get(bracket, "rungs"), k, rung)
        {
            count_as_done(rung, "waiting");
            if (is_over || st->count[TS_RUNNING] == 0)
                count_as_done(rung, "running");
        }
    }
}

json_t *rungs_json(const struct study *st)
{
    json_t *out = st->rungs ? json_deep_copy(st->rungs) : st->search ? describe(st) : json_null();

    close_open(st, out);
    return out;
}

json_t *rungs_now(const struct study *st)
{
    return st->search ? describe(st) : NULL;
}
