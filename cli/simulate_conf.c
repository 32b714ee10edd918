/* simulate_conf.c - turns the flags and specs of `assay simulate` into searchers, options and
 * limits. An error names the flag, or the spec and its key. */
#include "cli/simulate_conf.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/specfile.h"
#include "cli/specnames.h"
#include "proto/spec.h"
#include "search/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_WORKERS = 8, DEFAULT_BUDGET = 40, DEFAULT_TRIALS = 200 };

/* ---- one searcher ---- */

/* Reads "eta=4:brackets=2" into the searcher's options. */
static int options_set(char *text, const struct search_option *options, int n, double *out,
                       const char *what, struct err *err)
{
    char *save = NULL;

    search_options_default(options, n, out);
    for (char *p = strtok_r(text, ":", &save); p; p = strtok_r(NULL, ":", &save)) {
        char *eq = strchr(p, '=');
        double v = 0;
        struct err why = { 0 };
        if (!eq)
            return err_at(err, what, "\"%.60s\" is not OPTION=NUMBER", p);
        *eq = '\0';
        if (str_f64(eq + 1, &v, &why) < 0 || search_option_set(options, n, p, v, out, &why) < 0)
            return err_at(err, what, "%s", why.text);
    }
    return 0;
}

static struct auto_facts facts_of(const struct sim_conf *c)
{
    return (struct auto_facts){ .space = c->table->space,
                                .budget_trials = c->trials,
                                .parallel = c->workers,
                                .n_objectives = 1,
                                .max_level = c->n_levels };
}

static int set_sampler(struct simulate_pair *p, const char *text, struct err *err)
{
    char copy[120];

    if (str_copy(copy, sizeof copy, text) >= sizeof copy)
        return err_at(err, "sampler", "too long");
    char *options = strchr(copy, ':');
    if (options)
        *options++ = '\0';
    if (strcmp(copy, "auto") == 0) {
        struct auto_facts facts = facts_of(&p->conf);
        struct auto_choice choice = auto_sampler(&facts);
        if (options)
            return err_at(err, "sampler", "auto takes no options");
        (void)snprintf(p->sampler_text, sizeof p->sampler_text, "auto: %s", choice.name);
        (void)str_copy(copy, sizeof copy, choice.name);
    } else {
        (void)str_copy(p->sampler_text, sizeof p->sampler_text, text);
    }
    const struct sampler_ops *ops = specnames_sampler("sampler", copy, err);
    char none[] = "";
    if (!ops || options_set(options ? options : none, ops->options, ops->n_options,
                            p->sampler_options, "sampler", err) < 0)
        return -1;
    p->conf.sampler = ops;
    p->conf.sampler_options = p->sampler_options;
    return 0;
}

static int set_scheduler(struct simulate_pair *p, const char *text, struct err *err)
{
    char copy[120];

    if (str_copy(copy, sizeof copy, text) >= sizeof copy)
        return err_at(err, "scheduler", "too long");
    char *options = strchr(copy, ':');
    if (options)
        *options++ = '\0';
    if (strcmp(copy, "auto") == 0) {
        struct auto_facts facts = facts_of(&p->conf);
        struct auto_choice choice = auto_scheduler(&facts);
        if (options)
            return err_at(err, "scheduler", "auto takes no options");
        (void)snprintf(p->scheduler_text, sizeof p->scheduler_text, "auto: %s", choice.name);
        (void)str_copy(copy, sizeof copy, choice.name);
    } else {
        (void)str_copy(p->scheduler_text, sizeof p->scheduler_text, text);
    }
    const struct scheduler_ops *ops = specnames_scheduler("scheduler", copy, err);
    char none[] = "";
    if (!ops || options_set(options ? options : none, ops->options, ops->n_options,
                            p->scheduler_options, "scheduler", err) < 0)
        return -1;
    p->conf.scheduler = ops;
    p->conf.scheduler_options = p->scheduler_options;
    return 0;
}

/* ---- limits ---- */

static int ladder_parse(const char *text, int epochs, struct sim_conf *c, struct err *err)
{
    char copy[400], *save = NULL;

    c->n_levels = 0;
    if (str_copy(copy, sizeof copy, text) >= sizeof copy)
        return err_at(err, "--ladder", "too long");
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        int64_t e = 0, least = c->n_levels > 0 ? c->ladder[c->n_levels - 1] + 1 : 1;
        if (c->n_levels == TABULAR_MAX_LEVELS || str_i64(p, least, epochs, &e, NULL) < 0)
            return err_at(err, "--ladder", "\"%.20s\" is no epoch from %d to %d", p, (int)least,
                          epochs);
        c->ladder[c->n_levels++] = (int)e;
    }
    if (c->n_levels == 0 || c->ladder[c->n_levels - 1] != epochs)
        return err_at(err, "--ladder", "must rise to the last epoch, such as 1,3,9,%d", epochs);
    return 0;
}

/* Sets the limits from the flags, and the defaults where no flag is given. */
static int limits_set(const struct tabular *t, const struct simulate_wish *w, struct sim_conf *c,
                      struct err *err)
{
    c->table = t;
    c->seed = w->seed;
    if (w->workers > 0)
        c->workers = (int)w->workers;
    if (c->workers == 0)
        c->workers = t->is_grid ? 1 : DEFAULT_WORKERS;
    if (w->trials > 0)
        c->trials = w->trials;
    if (w->clock_ms > 0)
        c->clock = (double)w->clock_ms / 1000;
    if (t->is_grid && c->clock > 0 && w->clock_ms > 0)
        return err_at(err, "--clock", "a grid has no times; limit it with --trials");
    if (t->is_grid) {
        c->clock = 0;
        c->trials = c->trials > 0 ? c->trials : DEFAULT_TRIALS;
    } else if (c->clock <= 0) {
        c->clock = (double)(w->budget > 0 ? w->budget : DEFAULT_BUDGET) * t->mean_time / c->workers;
    }
    if (w->noise && (str_f64(w->noise, &c->noise, NULL) < 0 || !(c->noise >= 0 && c->noise <= 100)))
        return err_at(err, "--noise", "\"%.20s\" is no number from 0 to 100", w->noise);
    if (c->noise > 0 && !t->is_grid)
        return err_at(err, "--noise", "only a grid can be given noise");
    if (w->ladder)
        return ladder_parse(w->ladder, t->epochs, c, err);
    c->n_levels = tabular_ladder(t->epochs, 3, c->ladder);
    return 0;
}

/* ---- pairs ---- */

static void option_text(char *out, size_t size, const char *name, const json_t *options)
{
    const char *key = NULL;
    json_t *v = NULL;
    size_t n = str_copy(out, size, name);

    json_object_foreach((json_t *)options, key, v)
    {
        int rc = n < size ? snprintf(out + n, size - n, ":%s=%.15g", key, json_number_value(v)) : 0;
        n += (size_t)rc; /* a text that is too long is refused when it is read again */
    }
}

static int pair_of_spec(const struct tabular *t, const struct simulate_wish *w, const char *path,
                        struct simulate_pair *p, struct err *err)
{
    char sampler[240], scheduler[240];
    json_t *json = specfile_load(path, err), *budget = NULL;
    struct spec spec;
    int rc = -1;

    if (!json)
        return -1;
    /* The spec's own table is not used: here the outcomes come from the table of known outcomes. */
    json_object_set_new(json, "dataset", json_string("table"));
    json_object_del(json, "test");
    if (spec_parse(&spec, json, err) < 0)
        goto out;
    budget = json_object_get(json, "budget");
    p->conf = (struct sim_conf){ .workers = spec.parallel, .trials = spec.budget_trials };
    /* only where the spec names a time; the spec's default is for real studies */
    if (json_object_get(budget, "time"))
        p->conf.clock = (double)spec.budget_time_ms / 1000;
    option_text(sampler, sizeof sampler, spec.sampler, spec.sampler_options);
    option_text(scheduler, sizeof scheduler, spec.scheduler, spec.scheduler_options);
    if (limits_set(t, w, &p->conf, err) == 0 && set_sampler(p, sampler, err) == 0 &&
        set_scheduler(p, scheduler, err) == 0)
        rc = 0;
    spec_fini(&spec);
    if (rc < 0)
        err_wrap(err, "%s", path);
out:
    json_decref(json);
    return rc;
}

/* Splits "a,b" in place. */
static int words(char *text, const char **out, int max, const char *what, struct err *err)
{
    char *save = NULL;
    int n = 0;

    for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (n == max)
            return err_at(err, what, "more than %d", max);
        out[n++] = p;
    }
    return n > 0 ? n : err_at(err, what, "names nothing");
}

static int pairs_of_flags(const struct tabular *t, const struct simulate_wish *w,
                          struct simulate_pair *pairs, int room, struct err *err)
{
    const char *samplers[SIMULATE_MAX_PAIRS], *schedulers[SIMULATE_MAX_PAIRS];
    char *a = mem_strdup(w->samplers ? w->samplers : "auto");
    char *b = mem_strdup(w->schedulers ? w->schedulers : "auto");
    int n_samplers = words(a, samplers, SIMULATE_MAX_PAIRS, "--sampler", err);
    int n_schedulers =
        n_samplers > 0 ? words(b, schedulers, SIMULATE_MAX_PAIRS, "--scheduler", err) : -1;
    int n = n_schedulers > 0 ? 0 : -1;

    if (n == 0 && n_samplers * n_schedulers > room)
        n = err_set(err, ERR_ARG, "%d pairs to compare, at most %d", n_samplers * n_schedulers,
                    SIMULATE_MAX_PAIRS);
    for (int i = 0; i < n_samplers && n >= 0; i++) {
        for (int k = 0; k < n_schedulers && n >= 0; k++) {
            struct simulate_pair *p = &pairs[n++];
            if (limits_set(t, w, &p->conf, err) < 0 || set_sampler(p, samplers[i], err) < 0 ||
                set_scheduler(p, schedulers[k], err) < 0)
                n = -1;
        }
    }
    mem_free(a);
    mem_free(b);
    return n;
}

int simulate_pairs(const struct tabular *t, const struct simulate_wish *w, const char *const *specs,
                   int n_specs, struct simulate_pair pairs[SIMULATE_MAX_PAIRS], struct err *err)
{
    memset(pairs, 0, SIMULATE_MAX_PAIRS * sizeof *pairs);
    CHECK(n_specs <= SIMULATE_MAX_PAIRS);
    for (int i = 0; i < n_specs; i++) {
        if (pair_of_spec(t, w, specs[i], &pairs[i], err) < 0)
            return -1;
    }
    if (n_specs > 0 && !w->samplers && !w->schedulers)
        return n_specs;
    int more = pairs_of_flags(t, w, pairs + n_specs, SIMULATE_MAX_PAIRS - n_specs, err);
    return more < 0 ? -1 : n_specs + more;
}
