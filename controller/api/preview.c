/* preview.c - what a spec would do, before anything runs: how many trials would be trained to which
 * level, and what that would cost. Nothing is stored. What submitting the spec would refuse is
 * refused here, too.
 *
 * If the dataset has been read, costs follow from the families' formulas, and once a trial has run
 * on it, from the measured time, too. How many trials reach which level is simulated with the real
 * scheduler (search/preview.h). The baseline and the first trials of the families are added here,
 * because the scheduler is not asked about them. */
#include "search/preview.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "controller/api/spec_check.h"
#include "controller/decide/propose.h"
#include "controller/decide/searchers.h"
#include "controller/problem/ladder.h"
#include "controller/settle/dataset.h"
#include "controller/state/trial.h"
#include "store/runner.h"

#include <string.h>

/* About so many trials of each study on the dataset are looked at, to find out how long a unit of
 * cost takes. */
enum { MEASURED = 32 };

/* Everything that is known about the spec while it is previewed. */
struct plan_of {
    struct spec spec;
    struct problem problem; /* is_ready = the dataset has been read and fits */
    struct study_space space;
    struct search_choice choice;
    int64_t dataset;
    bool has_first[STUDY_MAX_FAMILIES]; /* the budget has room for the family's first trial */
    int64_t n_first;                    /* the baseline and these first trials */
    /* of each family by level, if the problem is ready; owned */
    double *costs[STUDY_MAX_FAMILIES];
    double baseline; /* cost of the baseline */
    /* The families that are searched, as the scheduler sees them; family_of gives their places in
     * the space. */
    struct preview_ladder ladders[STUDY_MAX_FAMILIES];
    int n_ladders, family_of[STUDY_MAX_FAMILIES];
    struct preview preview;
    double us_per_unit; /* measured microseconds for a unit of cost; 0 = unknown */
};

static void plan_of_fini(struct plan_of *p)
{
    for (int i = 0; i < STUDY_MAX_FAMILIES; i++)
        mem_free(p->costs[i]);
    preview_fini(&p->preview);
    study_space_fini(&p->space);
    spec_fini(&p->spec);
}

static bool is_ready(const struct dataset_row *row)
{
    return row->state && str_eq(row->state, "ready");
}

/* Finds the tables, which must exist. If they have been read, a spec that does not fit them is
 * refused now. */
static int resolve(struct ctl *ctl, struct plan_of *p, struct err *err)
{
    const struct spec *spec = &p->spec;
    struct dataset_row train = { 0 }, test = { 0 };
    bool has_test = spec->test_dataset[0] != '\0';

    if (spec->is_own)
        return 0; /* no table, and nothing is known of what its trials cost */
    int rc = dataset_look(ctl, spec->dataset, spec->columns, "dataset", &train, err);

    if (rc == 0 && has_test)
        rc = dataset_look(ctl, spec->test_dataset, spec->columns, "test.dataset", &test, err);
    if (rc == 0 && is_ready(&train) && (!has_test || is_ready(&test))) {
        p->dataset = train.id;
        rc = problem_resolve(&p->problem, spec, &train, has_test ? &test : NULL, err);
    }
    dataset_row_fini(&train);
    dataset_row_fini(&test);
    return rc;
}

/* If the spec gives a name, the name must be free, as when the spec is submitted. */
static int name_check(struct ctl *ctl, const struct spec *spec, const json_t *json, struct err *err)
{
    struct study_row row = { 0 };
    int rc = 0;

    if (json_is_string(json_object_get(json, "name")))
        rc = store_study_find(ctl->store, spec->name, &row, err);
    if (rc == 1)
        rc = err_set(err, ERR_CONFLICT, "there is a study called %s already", spec->name);
    study_row_fini(&row);
    return rc;
}

/* The number of levels that the scheduler counts for a family. INT64_MAX stands for a trial of the
 * future (problem/ladder.h). */
static int levels_of(const struct plan_of *p, int family)
{
    const struct family *f = p->space.first[family].family;

    return ladder_top(&p->problem, f, ladder_is_short(&p->problem, INT64_MAX, f));
}

/* From the scheduler's count of levels to the family's own. */
static int level_of(const struct plan_of *p, int family, int level)
{
    const struct family *f = p->space.first[family].family;

    return ladder_to_family(f, ladder_is_short(&p->problem, INT64_MAX, f), level);
}

/* Works out what each level of each family costs. */
static void price(struct plan_of *p)
{
    const struct family *baseline = family_find("baseline");
    double none[FAMILY_MAX_PARAMS] = { 0 };

    CHECK(p->problem.is_ready && baseline);
    p->baseline = (double)baseline->cost(&p->problem.shape, none, 0, 1);
    for (int i = 0; i < p->space.n_families; i++) {
        const struct config *c = &p->space.first[i];
        int levels = levels_of(p, i);
        double spent = 0;

        p->costs[i] = mem_array((size_t)levels, sizeof(double));
        for (int l = 1, from = 0, to; l <= levels; l++, from = to) {
            to = level_of(p, i, l);
            spent += (double)family_level_cost(c->family, &p->problem.shape, c->params, from, to);
            p->costs[i][l - 1] = spent;
        }
    }
}

/* A family whose space is a single point gets only its first trial. */
static bool is_searched(const struct plan_of *p, int family)
{
    const struct space *s = p->space.space;

    for (int k = 1; k < s->n; k++) {
        const struct param *q = &s->params[k];
        if (q->parent == 0 && q->parent_mask >> family & 1 && q->axis != AXIS_FREE &&
            param_size(q) > 1)
            return true;
    }
    return false;
}

/* Counts the first trials in the order of decide/script.c, as many as the budget allows: the
 * baseline, then the first of each family, the lead family before the others. */
static void take_firsts(struct plan_of *p)
{
    int64_t left = p->spec.budget_trials ? p->spec.budget_trials : INT64_MAX;

    if (p->spec.is_own)
        return; /* the sampler proposes them all */
    p->n_first = 1;
    for (int late = 0; late < 2; late++) {
        for (int i = 0; i < p->space.n_families; i++) {
            if ((p->space.is_auto && !p->space.first[i].family->is_lead) != late ||
                p->n_first >= left)
                continue;
            p->has_first[i] = true;
            p->n_first++;
        }
    }
}

/* Simulates the scheduler's part. Takes up to a second, and needs nothing of the controller. */
static int foresee(struct plan_of *p, struct err *err)
{
    double options[SEARCH_MAX_OPTIONS];
    struct search_setup setup;
    const struct scheduler_ops *ops =
        searchers_scheduler(&p->spec, p->choice.scheduler, &setup, options, err);

    if (!ops)
        return -1;
    take_firsts(p);
    if (setup.budget_trials && setup.budget_trials <= p->n_first)
        return 0; /* the budget ends before the scheduler is asked */
    if (setup.budget_trials)
        setup.budget_trials -= p->n_first;
    for (int i = 0; i < p->space.n_families; i++) {
        if (!is_searched(p, i))
            continue;
        setup.partial |= searchers_partial(p->space.first[i].family, i + 1);
        p->family_of[p->n_ladders] = i;
        p->ladders[p->n_ladders++] = (struct preview_ladder){ .family = i + 1,
                                                              .max_level = levels_of(p, i),
                                                              .cost = p->costs[i] };
    }
    CHECK(p->n_ladders <= p->space.n_families && p->space.n_families <= STUDY_MAX_FAMILIES);
    if (p->n_ladders == 0) /* there is nothing to search beyond the first trials */
        return 0;
    return preview_make(ops, &setup, p->ladders, p->n_ladders, &p->preview, err);
}

/* ---- the answer ---- */

/* typical and most: how many trials end at this level, in the usual and in the costliest course of
 * the search. */
static json_t *line_json(const struct plan_of *p, int family, int level, int64_t typical,
                         int64_t most)
{
    const struct family *f = p->space.first[family].family;
    char what[100];

    family_level_help(f, &p->problem.shape, level, what, sizeof what);
    return json_pack("{s:s, s:i, s:i, s:s, s:I, s:I}", "family", f->name, "level", level,
                     "max_level", ladder_levels(&p->problem, f), "what", what, "typical",
                     (json_int_t)typical, "most", (json_int_t)most);
}

/* One line for each family and level at which trials end. The first trial of each family ends at
 * its highest level. */
static json_t *lines_json(const struct plan_of *p)
{
    json_t *out = json_array();

    if (!p->spec.is_own)
        json_array_append_new(out, json_pack("{s:s, s:i, s:i, s:s, s:i, s:i}", "family", "baseline",
                                             "level", 1, "max_level", 1, "what", "one fit",
                                             "typical", 1, "most", 1));
    for (int i = 0; i < p->space.n_families; i++) {
        for (int l = 1; l <= levels_of(p, i); l++) {
            int64_t typical = p->has_first[i] && l == levels_of(p, i), most = typical;

            for (int k = 0; k < p->preview.n_lines; k++) {
                const struct preview_line *line = &p->preview.lines[k];
                bool is_it = p->family_of[line->ladder] == i && line->level == l;
                typical += is_it ? line->typical : 0;
                most += is_it ? line->most : 0;
            }
            if (most + typical > 0)
                json_array_append_new(out, line_json(p, i, level_of(p, i, l), typical, most));
        }
    }
    return out;
}

/* What is searched of the preparation, or fixed to another choice than the data's own: the parameters
 * "family.prep_x" of the space. */
static json_t *preparation_json(const struct plan_of *p)
{
    const struct space *s = p->space.space;
    json_t *out = json_array();

    for (int i = 1; i < s->n && !p->spec.is_own; i++) {
        const struct param *q = &s->params[i];
        const char *name = strchr(q->name, '.');
        if (!name || !str_starts(name + 1, "prep_"))
            continue;
        json_t *choices = json_array();
        for (int c = 0; c < q->n_choices; c++)
            json_array_append_new(choices, json_string(q->choices[c]));
        json_array_append_new(out, json_pack("{s:s%, s:s, s:o}", "family", q->name,
                                             (size_t)(name - q->name), "parameter", name + 1,
                                             "choices", choices));
    }
    return out;
}

/* Adds up, over some completed trials of this study, the time that they took and the units that the
 * formula gives for them. */
static int measure(struct study *st, double *us, double *units, struct err *err)
{
    int step = MAX(st->n_board / MEASURED, 1);

    for (int k = 0; k < st->n_board; k += step) {
        const struct trial_mem *t = &st->trials[st->board[k] - 1];
        struct trial_row row = { 0 };
        int rc = t->is_cut || t->fit_us <= 0 ? 0 : trial_load(st, st->board[k], &row, err);

        struct config c;

        if (row.config && config_parse_text(&c, row.config, st->space.own, NULL) == 0) {
            *us += (double)t->fit_us;
            *units += (double)propose_cost(st, &c, 0, row.level);
        }
        trial_row_fini(&row);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* How many microseconds a unit of cost took on this dataset so far; 0 = no trial has run on it. */
static int measure_all(struct ctl *ctl, const struct plan_of *p, double *out, struct err *err)
{
    double us = 0, units = 0;

    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];

        if (st->row.dataset == p->dataset && st->problem.is_ready &&
            measure(st, &us, &units, err) < 0)
            return -1;
    }
    *out = units > 0 ? us / units : 0;
    return 0;
}

/* us = measured microseconds for a unit of cost; 0 = unknown. */
static json_t *costs_json(const struct plan_of *p, double us)
{
    double first = p->baseline;
    bool is_measured = us > 0;

    if (!p->problem.is_ready)
        return json_null();
    /* by its definition a unit is about a microsecond (ml/family/family.h) */
    us = is_measured ? us : 1;
    for (int i = 0; i < p->space.n_families; i++)
        first += p->has_first[i] ? p->costs[i][levels_of(p, i) - 1] : 0;
    return json_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:b}", "typical", p->preview.typical + first,
                     "most", p->preview.most + first, "full", p->preview.full + first, "typical_ms",
                     (json_int_t)((p->preview.typical + first) * us / 1000), "most_ms",
                     (json_int_t)((p->preview.most + first) * us / 1000), "full_ms",
                     (json_int_t)((p->preview.full + first) * us / 1000), "measured", is_measured);
}

static json_t *text_or_null(const char *s)
{
    return s[0] ? json_string(s) : json_null();
}

static json_t *preview_json(const struct plan_of *p, double us_per_unit)
{
    json_int_t trials = (p->preview.trials + p->n_first);
    json_t *o = json_pack(
        "{s:s, s:o, s:s, s:o, s:b, s:I, s:b, s:b, s:o, s:o, s:o}", "sampler", p->choice.sampler,
        "sampler_why", text_or_null(p->choice.sampler_why), "scheduler", p->choice.scheduler,
        "scheduler_why", text_or_null(p->choice.scheduler_why), "deterministic",
        spec_is_deterministic(&p->spec), "trials", trials, "open", p->preview.is_open, "scaled",
        p->preview.is_scaled, "lines", lines_json(p), "preparation", preparation_json(p), "cost",
        costs_json(p, us_per_unit));

    CHECK(o);
    return o;
}

static void plan_of_free(struct plan_of *p)
{
    plan_of_fini(p);
    mem_free(p);
}

/* The part that needs the controller, on the loop: checks the spec, finds its table, and works out
 * costs. */
static struct plan_of *prepare(struct ctl *ctl, const json_t *json, struct err *err)
{
    static const int tasks[] = { [TASK_AUTO] = FT_ANY,
                                 [TASK_BINARY] = FT_BINARY,
                                 [TASK_MULTICLASS] = FT_MULTICLASS,
                                 [TASK_REGRESSION] = FT_REGRESSION };
    struct plan_of *p = mem_zalloc(sizeof *p);

    if (spec_parse(&p->spec, json, err) < 0)
        goto fail;
    if (name_check(ctl, &p->spec, json, err) < 0 || study_check_spec(ctl, &p->spec, err) < 0 ||
        resolve(ctl, p, err) < 0)
        goto fail;
    struct space_for need = { p->problem.is_ready ? p->problem.task : tasks[p->spec.task],
                              p->problem.is_ready ? p->problem.data.metric : p->spec.metric,
                              p->spec.monotone != NULL,
                              p->problem.shape.image.height > 0,
                              !p->problem.is_ready,
                              p->problem.is_ready ? &p->problem.shape : NULL,
                              !str_eq(p->spec.sampler, "auto") };
    if ((p->spec.is_own
             ? study_space_own(&p->space, p->spec.space, p->spec.constraints, p->spec.levels, err)
             : study_space_build(&p->space, p->spec.space, &need, err)) < 0)
        goto fail;
    /* The resource is known from the spec, also if there is no table yet. */
    p->problem.shape.resource = (enum family_resource)p->spec.resource;
    searchers_choice(&p->spec, &p->space, &p->choice);
    if (p->problem.is_ready)
        price(p);
    if (measure_all(ctl, p, &p->us_per_unit, err) == 0)
        return p;
fail:
    plan_of_free(p);
    return NULL;
}

int ctl_study_preview(struct ctl *ctl, const json_t *json, json_t **out, struct err *err)
{
    struct plan_of *p = prepare(ctl, json, err);
    int rc = p ? foresee(p, err) : -1;

    if (rc == 0)
        *out = preview_json(p, p->us_per_unit);
    if (p)
        plan_of_free(p);
    return rc;
}

/* ---- on the pool: the simulation of a million trials takes most of a second ---- */

struct preview_job {
    struct ctl *ctl;
    int64_t by;
    struct plan_of *plan;
    void (*on_done)(void *arg, json_t *out_new, const struct err *err);
    void *arg;
    int rc;
    struct err err;
};

static void work(void *arg)
{
    struct preview_job *j = arg;

    j->rc = foresee(j->plan, &j->err);
}

static void done(void *arg)
{
    struct preview_job *j = arg;
    struct ctl *ctl = j->ctl;
    int at = 0;

    while (at < ctl->n_previews && ctl->preview_by[at] != j->by)
        at++;
    CHECK(at < ctl->n_previews);
    ctl->preview_by[at] = ctl->preview_by[--ctl->n_previews];
    j->on_done(j->arg, j->rc == 0 ? preview_json(j->plan, j->plan->us_per_unit) : NULL,
               j->rc == 0 ? NULL : &j->err);
    plan_of_free(j->plan);
    mem_free(j);
}

/* One client may have at most half of the previews that are made at the same time. */
static bool may_begin(const struct ctl *ctl, int64_t by)
{
    int own = 0;

    for (int i = 0; i < ctl->n_previews; i++)
        own += ctl->preview_by[i] == by;
    return ctl->n_previews < CTL_PREVIEWS && own < CTL_PREVIEWS / 2;
}

int ctl_study_preview_beside(struct ctl *ctl, int64_t by, const json_t *json,
                             void (*on_done)(void *arg, json_t *out_new, const struct err *err),
                             void *arg, struct err *err)
{
    struct preview_job *j = NULL;
    struct plan_of *p = NULL;

    if (!may_begin(ctl, by))
        return err_set(err, ERR_BUSY, "several previews are being made: try again in a second");
    p = prepare(ctl, json, err);
    if (!p)
        return -1;
    j = mem_zalloc(sizeof *j);
    *j = (struct preview_job){ .ctl = ctl, .by = by, .plan = p, .on_done = on_done, .arg = arg };
    CHECK(ctl->n_previews < CTL_PREVIEWS);
    ctl->preview_by[ctl->n_previews++] = by;
    loop_pool_submit(ctl->loop, work, done, j);
    return 0;
}
