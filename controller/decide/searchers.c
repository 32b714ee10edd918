/* searchers.c - samplers and schedulers by the names of a spec (searchers.h).
 *
 * Each gets the study's seed mixed with a tag of its own, so that the two never draw the same
 * numbers. What they are told when they are opened (budget, trials in flight, objectives) must be
 * the same whenever the study is loaded again, or a replay would give other searchers. Therefore it
 * comes from the spec and the stored choice, and never from what runners are there. */
#include "controller/decide/searchers.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/str.h"
#include "search/auto.h"
#include "search/searchers.h"

#include <inttypes.h>
#include <string.h>

/* Samplers give at most so many trials in flight the same shape parameters (search_setup.fuse):
 * enough for trials to train together in one launch, and few enough that all shapes are tried
 * soon. */
enum { FUSE_MOST = 8 };
enum {
    SAMPLER_TAG = 0x73616d70,   /* "samp" */
    SCHEDULER_TAG = 0x73636865, /* "sche" */
    MAX_NAMES = 48              /* of searchers, in an error's list */
};

static bool is_auto(const char *name)
{
    return str_eq(name, "auto");
}

/* ---- options ---- */

static int options_parse(const json_t *given, const struct search_option *options, int n,
                         const char *path, double *out, struct err *err)
{
    const char *key = NULL;
    json_t *v = NULL;
    char where[120];

    CHECK(n <= SEARCH_MAX_OPTIONS);
    search_options_default(options, n, out);
    json_object_foreach((json_t *)given, key, v)
    {
        struct err why = { 0 };

        if (search_option_set(options, n, key, json_number_value(v), out, &why) == 0)
            continue;
        /* The text begins with the option's bare name; the whole path takes its place. */
        size_t named = strlen(why.where);
        jsonx_path(where, sizeof where, path, key);
        return err_at(err, where, "%s",
                      named && strncmp(why.text, why.where, named) == 0 && why.text[named] == ':'
                          ? why.text + named + 2
                          : why.text);
    }
    return 0;
}

/* Options belong to a searcher that the spec names. With `auto` nobody knows yet which one it will
 * be. */
static int options_of_auto(const json_t *given, const char *path, struct err *err)
{
    const char *key = NULL;
    json_t *v = NULL;
    char where[120];

    json_object_foreach((json_t *)given, key, v)
    {
        jsonx_path(where, sizeof where, path, key);
        return err_at(err, where, "auto takes no options: name the %s", path);
    }
    return 0;
}

/* ---- names ---- */

/* The error for an unknown name. It suggests a searcher with a similar name, or one that does what
 * the word means in other programs, or else it lists all names. */
static int unknown(const char *path, const char *name, const char *const *names, size_t n,
                   struct err *err)
{
    static const struct str_alias words[] = {
        { "random_search", "random" },
        { "randomized", "random" },
        { "grid_search", "grid" },
        { "bayes", "gp" },
        { "bayesian", "gp" },
        { "gaussian_process", "gp" },
        { "optuna", "tpe" },
        { "hyperopt", "tpe" },
        { "parzen", "tpe" },
        { "qmc", "sobol" },
        { "lhs", "sobol" },
        { "successive_halving", "sha" },
        { "halving", "sha" },
        { "async_hyperband", "asha" },
        { "asynchronous_halving", "asha" },
        { "median_stopping", "median" },
        { "median_pruner", "median" },
        { "early_stopping", "patience" },
        { "off", "none" },
        { "no", "none" },
    };
    const char *near = str_nearest_or(name, names, n, words, ARRAY_LEN(words));
    char all[200];

    if (near)
        return err_at(err, path, "\"%.40s\" is no %s; did you mean %s?", name, path, near);
    str_list(names, n, all, sizeof all);
    return err_at(err, path, "\"%.40s\" is no %s; there are %s", name, path, all);
}

static const struct sampler_ops *sampler_of(const char *name, bool dev, struct err *err)
{
    const struct sampler_ops *ops = sampler_find(name);
    const char *names[MAX_NAMES] = { "auto" };
    size_t n = 1;

    if (ops && (dev || !ops->is_test_only))
        return ops;
    for (int i = 0; sampler_at(i) && n < ARRAY_LEN(names); i++) {
        if (dev || !sampler_at(i)->is_test_only)
            names[n++] = sampler_at(i)->name;
    }
    if (scheduler_find(name))
        err_at(err, "sampler", "%s is a scheduler", name);
    else
        unknown("sampler", name, names, n, err);
    return NULL;
}

static const struct scheduler_ops *scheduler_of(const char *name, bool dev, struct err *err)
{
    const struct scheduler_ops *ops = scheduler_find(name);
    const char *names[MAX_NAMES] = { "auto" };
    size_t n = 1;

    if (ops && (dev || !ops->is_test_only))
        return ops;
    for (int i = 0; scheduler_at(i) && n < ARRAY_LEN(names); i++) {
        if (dev || !scheduler_at(i)->is_test_only)
            names[n++] = scheduler_at(i)->name;
    }
    if (sampler_find(name))
        err_at(err, "scheduler", "%s is a sampler", name);
    else
        unknown("scheduler", name, names, n, err);
    return NULL;
}

static int check_sampler(const struct spec *spec, bool dev, struct err *err)
{
    double options[SEARCH_MAX_OPTIONS];

    if (is_auto(spec->sampler))
        return options_of_auto(spec->sampler_options, "sampler", err);
    const struct sampler_ops *ops = sampler_of(spec->sampler, dev, err);
    if (ops && ops->ranks_by_one && spec->n_objectives > 1)
        return err_at(err, "sampler", "%s searches for one objective, not %d: use tpe", ops->name,
                      spec->n_objectives);
    return ops ? options_parse(spec->sampler_options, ops->options, ops->n_options, "sampler",
                               options, err)
               : -1;
}

static int check_scheduler(const struct spec *spec, bool dev, struct err *err)
{
    double options[SEARCH_MAX_OPTIONS];

    if (is_auto(spec->scheduler))
        return options_of_auto(spec->scheduler_options, "scheduler", err);
    const struct scheduler_ops *ops = scheduler_of(spec->scheduler, dev, err);
    if (ops && spec->n_objectives > 1 && !str_eq(ops->name, "none"))
        return err_at(err, "scheduler", "%s ranks by one number, not by %d objectives: use none",
                      ops->name, spec->n_objectives);
    return ops ? options_parse(spec->scheduler_options, ops->options, ops->n_options, "scheduler",
                               options, err)
               : -1;
}

int searchers_check(const struct spec *spec, bool dev, struct err *err)
{
    return check_sampler(spec, dev, err) < 0 ? -1 : check_scheduler(spec, dev, err);
}

/* ---- listing ---- */

static json_t *options_json(const struct search_option *options, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:b, s:s}", "name",
                                              options[i].name, "lo", options[i].lo, "hi",
                                              options[i].hi, "default", options[i].def, "whole",
                                              options[i].is_int, "help", options[i].help));
    return list;
}

static json_t *searcher_json(const char *name, const char *help,
                             const struct search_option *options, int n)
{
    return json_pack("{s:s, s:s, s:o}", "name", name, "help", help, "options",
                     options_json(options, n));
}

int ctl_searchers(struct ctl *ctl, json_t **out, struct err *err)
{
    json_t *samplers = json_array(), *schedulers = json_array();

    (void)err;
    for (int i = 0; sampler_at(i); i++) {
        const struct sampler_ops *s = sampler_at(i);
        if (ctl->conf.dev || !s->is_test_only)
            json_array_append_new(samplers,
                                  searcher_json(s->name, s->help, s->options, s->n_options));
    }
    for (int i = 0; scheduler_at(i); i++) {
        const struct scheduler_ops *s = scheduler_at(i);
        if (ctl->conf.dev || !s->is_test_only)
            json_array_append_new(schedulers,
                                  searcher_json(s->name, s->help, s->options, s->n_options));
    }
    *out = json_pack("{s:o, s:o}", "samplers", samplers, "schedulers", schedulers);
    return 0;
}

/* ---- choosing ---- */

int searchers_parallel(const struct spec *spec)
{
    if (spec->parallel)
        return spec->parallel;
    return spec_is_deterministic(spec) ? PLAN_WORKERS : 0;
}

/* The number of levels of the longest ladder in the space. */
static int max_level(const struct study_space *space, enum family_resource resource)
{
    const struct family_shape s = { .resource = resource };
    int most = 1;

    for (int i = 0; i < space->n_families; i++)
        most = MAX(most, family_levels(space->first[i].family, &s));
    return most;
}

void searchers_choice(const struct spec *spec, const struct study_space *space,
                      struct search_choice *c)
{
    struct auto_facts facts = {
        .space = space->space,
        .budget_trials = spec->budget_trials,
        .parallel = searchers_parallel(spec),
        .n_objectives = MAX(spec->n_objectives, 1),
        .by_family = space->is_auto && space->n_families > 1 && !spec_is_deterministic(spec),
        .max_level = max_level(space, (enum family_resource)spec->resource)
    };
    struct auto_choice sampler = auto_sampler(&facts), scheduler = auto_scheduler(&facts);

    *c = (struct search_choice){ .budget_trials = spec->budget_trials,
                                 .fuse = MIN(facts.parallel, FUSE_MOST) };
    str_copy(c->sampler, sizeof c->sampler, is_auto(spec->sampler) ? sampler.name : spec->sampler);
    str_copy(c->scheduler, sizeof c->scheduler,
             is_auto(spec->scheduler) ? scheduler.name : spec->scheduler);
    if (is_auto(spec->sampler))
        str_copy(c->sampler_why, sizeof c->sampler_why, sampler.why);
    if (is_auto(spec->scheduler))
        str_copy(c->scheduler_why, sizeof c->scheduler_why, scheduler.why);
}

void searchers_choose(struct study *st)
{
    struct search_choice *c = &st->problem.search;

    searchers_choice(&st->spec, &st->space, c);
    log_info("study.search study=%" PRId64 " sampler=%s%s%s%s scheduler=%s%s%s%s", st->row.id,
             c->sampler, c->sampler_why[0] ? " sampler_why=\"" : "", c->sampler_why,
             c->sampler_why[0] ? "\"" : "", c->scheduler,
             c->scheduler_why[0] ? " scheduler_why=\"" : "", c->scheduler_why,
             c->scheduler_why[0] ? "\"" : "");
}

int searchers_group(const struct study *st, const char *family)
{
    int group = st->n_families - 1;

    /* A user's trial of a family outside the study counts with the baseline, as in trial_mem. */
    while (group > 0 && !str_eq(st->families[group]->name, family))
        group--;
    return group;
}

uint64_t searchers_partial(const struct family *f, int group)
{
    return f->has_partial_levels && group < 64 ? UINT64_C(1) << group : 0;
}

/* ---- opening ---- */

const struct scheduler_ops *searchers_scheduler(const struct spec *spec, const char *name,
                                                struct search_setup *setup, double *options,
                                                struct err *err)
{
    const struct scheduler_ops *ops = scheduler_of(name, true, err);

    if (!ops || options_parse(spec->scheduler_options, ops->options, ops->n_options, "scheduler",
                              options, err) < 0)
        return NULL;
    *setup = (struct search_setup){ .seed = rng_mix(spec->seed, SCHEDULER_TAG),
                                    .options = options,
                                    .budget_trials = spec->budget_trials,
                                    .parallel = searchers_parallel(spec),
                                    .n_objectives = MAX(spec->n_objectives, 1) };
    return ops;
}

int searchers_open(struct study *st, struct err *err)
{
    const struct search_choice *c = &st->problem.search;
    const struct sampler_ops *sampler = sampler_of(c->sampler, true, err);
    double options[SEARCH_MAX_OPTIONS];
    struct search_setup setup = { 0 };
    const struct scheduler_ops *scheduler =
        sampler ? searchers_scheduler(&st->spec, c->scheduler, &setup, options, err) : NULL;

    CHECK(st->search && st->space.space);
    if (!scheduler)
        return -1;
    for (int i = 0; i < st->n_families; i++)
        setup.partial |= searchers_partial(st->families[i], i);
    setup.budget_trials = c->budget_trials;
    setup.fuse = c->fuse;
    st->search->scheduler = scheduler->open(&setup, err);
    if (!st->search->scheduler)
        return -1;
    setup.seed = rng_mix(st->spec.seed, SAMPLER_TAG);
    if (options_parse(st->spec.sampler_options, sampler->options, sampler->n_options, "sampler",
                      options, err) == 0)
        st->search->sampler = sampler->open(st->space.space, &setup, err);
    if (st->search->sampler && sampler->ignores_results)
        st->search->expect_us = 0; /* such samplers only draw numbers: see FIRST_SUGGESTION_US */
    if (st->search->sampler)
        return 0;
    if (err && err->code == ERR_ARG && !err->where[0])
        str_copy(err->where, sizeof err->where, "sampler"); /* the sampler refuses this space */
    scheduler_close(st->search->scheduler);
    st->search->scheduler = NULL;
    return -1;
}
