/* cmd_simulate.c - `assay simulate`: which sampler and scheduler finds better configurations, tried
 * on a table where every outcome is known (docs/SIMULATE.md).
 *
 * Nothing is trained and no controller is asked. Each pair of a sampler and a scheduler runs
 * once a seed in search/lab/simulate.h, and the results are printed as regret. */
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/simulate_conf.h"
#include "cli/tablefile.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "search/lab/seeds.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct simulate_opts {
    char *table, *sampler, *scheduler, *ladder, *noise;
    int64_t workers, seeds, seed, trials, budget, clock_ms;
    bool json;
};

#define AT(f) offsetof(struct simulate_opts, f)
static const struct conf_opt opts[] = {
    { "table", CONF_STR, AT(table), NULL, 0, 0, "NAME.table.json or NAME.curves.json (required)" },
    { "sampler", CONF_STR, AT(sampler), NULL, 0, 0,
      "samplers to compare, with options: random,tpe:startup=20; default auto" },
    { "scheduler", CONF_STR, AT(scheduler), NULL, 0, 0,
      "schedulers to compare, with options: none,asha:eta=4; default auto" },
    { "workers", CONF_I64, AT(workers), "0", 0, SIM_MAX_WORKERS,
      "trials in flight; default: the spec's parallel, else 8, on a grid 1" },
    { "seeds", CONF_I64, AT(seeds), "10", 1, 100000, "how many searches to average over" },
    { "seed", CONF_I64, AT(seed), "1", 0, INT64_C(9007199254740992), "the first of the seeds" },
    { "trials", CONF_I64, AT(trials), "0", 0, INT64_C(1000000000),
      "trials of one search at most; default: the spec's budget, else 200 on a grid" },
    { "clock", CONF_DURATION_MS, AT(clock_ms), "0", 0, INT64_C(31536000000000),
      "simulated time of one search on curves; default: the spec's budget, else --budget" },
    { "budget", CONF_I64, AT(budget), "40", 1, 1000000,
      "worker time on curves, in mean full trainings, where no clock is set" },
    { "ladder", CONF_STR, AT(ladder), NULL, 0, 0,
      "epochs of the levels; default: the last epoch divided by 3, again and again" },
    { "noise", CONF_STR, AT(noise), NULL, 0, 0,
      "noise on what a grid tells, as a share of the spread of its values: 0.3" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "print one JSON document" },
};

/* ---- as text ---- */

static void print_head(const struct tabular *t, const struct sim_conf *c, int seeds)
{
    printf("%s: %zu configurations", t->name, t->n);
    if (t->is_grid) {
        printf(", %" PRId64 " trials, %d in flight", c->trials, c->workers);
    } else {
        printf(", levels at epochs");
        for (int i = 0; i < c->n_levels; i++)
            printf(" %d", c->ladder[i]);
        printf("; %d workers, clock %.6g s", c->workers, c->clock);
    }
    printf("; %d seed%s\n", seeds, seeds == 1 ? "" : "s");
    printf("Regret: 0 is the table's best, 1 its median; mean and standard error.\n");
    if (t->is_grid)
        printf("Expected of random search: %.4f %.4f %.4f\n",
               tabular_random_regret(t, (size_t)MAX(c->trials / 4, 1)),
               tabular_random_regret(t, (size_t)MAX(c->trials / 2, 1)),
               tabular_random_regret(t, (size_t)c->trials));
    printf("\n");
}

static struct table *heads_new(const struct tabular *t, const struct sim_conf *c, bool levels,
                               char text[][24])
{
    const char *heads[6 + SEEDS_MARKS + TABULAR_MAX_LEVELS] = { "sampler", "scheduler" };
    int n = 2;

    for (int k = 0; k < SEEDS_MARKS; k++) {
        if (t->is_grid)
            (void)snprintf(text[n], sizeof *text, "@%" PRId64, c->trials >> (SEEDS_MARKS - 1 - k));
        else
            (void)snprintf(text[n], sizeof *text, "@%d%%", 100 >> (SEEDS_MARKS - 1 - k));
        heads[n] = text[n];
        n++;
    }
    heads[n++] = "best";
    heads[n++] = "trials";
    heads[n++] = t->is_grid ? "repeats" : "resumed";
    heads[n++] = "idle";
    for (int k = 0; k < c->n_levels && levels; k++) {
        (void)snprintf(text[n], sizeof *text, "to %d", c->ladder[k]);
        heads[n] = text[n];
        n++;
    }
    return table_new(heads, n);
}

static void print_row(struct table *out, const struct simulate_pair *p,
                      const struct seeds_result *j, bool levels)
{
    table_cell(out, "%s", p->sampler_text);
    table_cell(out, "%s", p->scheduler_text);
    for (int k = 0; k < SEEDS_MARKS; k++) {
        if (j->seeds > 1)
            table_cell(out, "%.4f+-%.4f", j->regret[k], j->se[k]);
        else
            table_cell(out, "%.4f", j->regret[k]);
    }
    table_cell(out, "%.6g", j->value[SEEDS_MARKS - 1]);
    table_cell(out, "%.6g", j->started);
    table_cell(out, "%.6g", p->conf.table->is_grid ? j->repeats : j->resumed);
    table_cell(out, "%.1f%%", 100 * j->idle / fmax(j->busy + j->idle, 1e-300));
    for (int k = 0; k < p->conf.n_levels && levels; k++)
        table_cell(out, "%.6g", j->reached[k]);
}

static void print_text_answer(const struct tabular *t, const struct simulate_pair *pairs,
                              const struct seeds_result *judged, int n)
{
    char text[6 + SEEDS_MARKS + TABULAR_MAX_LEVELS][24];
    bool levels = pairs[0].conf.n_levels > 1;
    struct table *out = NULL;

    for (int i = 0; i < n; i++) {
        const struct sim_conf *c = &pairs[i].conf, *before = i > 0 ? &pairs[i - 1].conf : NULL;
        /* Pairs with equal limits share one printed table. A spec may set limits of its own; a
         * new table with its own head begins there, because results under other limits do not
         * compare. */
        if (!before || c->workers != before->workers || c->clock != before->clock ||
            c->trials != before->trials) {
            if (out) {
                table_print(out, stdout);
                printf("\n");
            }
            print_head(t, c, judged[i].seeds);
            out = heads_new(t, c, levels, text);
        }
        print_row(out, &pairs[i], &judged[i], levels);
    }
    table_print(out, stdout);
    if (levels)
        printf(
            "\n\"to N\": trials that were trained to epoch N or further, mean over the seeds.\n");
}

/* ---- as JSON ---- */

static json_t *reals_new(const double *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, jsonx_real(v[i]));
    return list;
}

static json_t *run_new(const struct simulate_pair *p, const struct seeds_result *j)
{
    json_t *o = json_pack("{s:s, s:s, s:i, s:I}", "sampler", p->sampler_text, "scheduler",
                          p->scheduler_text, "workers", p->conf.workers, "trials_limit",
                          (json_int_t)p->conf.trials);
    json_t *trials = json_object(), *marks = json_array(), *levels = json_array();
    json_t *each = json_array();
    const struct {
        const char *name;
        double value;
    } counts[] = {
        { "started", j->started }, { "resumed", j->resumed }, { "completed", j->completed },
        { "stopped", j->stopped }, { "failed", j->failed },   { "retired", j->retired },
        { "paused", j->paused },   { "running", j->running }, { "repeats", j->repeats },
    };

    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        json_object_set_new(trials, counts[i].name, jsonx_real(counts[i].value));
    for (int k = 0; k < SEEDS_MARKS; k++)
        json_array_append_new(marks,
                              json_pack("{s:o, s:o, s:o, s:o}", "at", jsonx_real(j->at[k]),
                                        "regret", jsonx_real(j->regret[k]), "se",
                                        jsonx_real(j->se[k]), "value", jsonx_real(j->value[k])));
    for (int k = 0; k < p->conf.n_levels; k++)
        json_array_append_new(levels, json_pack("{s:i, s:o}", "epoch", p->conf.ladder[k], "trials",
                                                jsonx_real(j->reached[k])));
    for (int i = 0; i < j->seeds; i++)
        json_array_append_new(each, reals_new(j->each[i], SEEDS_MARKS));
    json_object_set_new(o, "each", each);
    json_object_set_new(o, "clock", p->conf.clock > 0 ? jsonx_real(p->conf.clock) : json_null());
    json_object_set_new(o, "marks", marks);
    json_object_set_new(o, "trials", trials);
    json_object_set_new(o, "levels", levels);
    json_object_set_new(o, "busy", jsonx_real(j->busy));
    json_object_set_new(o, "idle", jsonx_real(j->idle));
    json_object_set_new(o, "curve", reals_new(j->curve, j->n_curve));
    return o;
}

static void print_json_answer(const struct tabular *t, const struct simulate_pair *pairs,
                              const struct seeds_result *judged, int n)
{
    json_t *runs = json_array();
    double sign = t->is_minimised ? -1 : 1;

    for (int i = 0; i < n; i++)
        json_array_append_new(runs, run_new(&pairs[i], &judged[i]));
    json_t *doc = json_pack("{s:s, s:s, s:I, s:i, s:o, s:o, s:i, s:o}", "table", t->name, "kind",
                            t->is_grid ? "grid" : "curves", "configurations", (json_int_t)t->n,
                            "epochs", t->epochs, "best", jsonx_real(sign * t->best), "median",
                            jsonx_real(sign * t->median), "seeds", judged[0].seeds, "runs", runs);
    print_json(doc);
    json_decref(doc);
}

/* ---- the command ---- */

static int simulate_all(const struct simulate_opts *o, const char *const *specs, int n_specs,
                        struct err *err)
{
    struct simulate_wish wish = { .samplers = o->sampler,
                                  .schedulers = o->scheduler,
                                  .ladder = o->ladder,
                                  .noise = o->noise,
                                  .workers = o->workers,
                                  .trials = o->trials,
                                  .budget = o->budget,
                                  .clock_ms = o->clock_ms,
                                  .seed = (uint64_t)o->seed };
    struct simulate_pair *pairs = mem_array(SIMULATE_MAX_PAIRS, sizeof *pairs);
    struct seeds_result *judged = mem_array(SIMULATE_MAX_PAIRS, sizeof *judged);
    struct tabular *t = tablefile_load(o->table, err);
    int n = t ? simulate_pairs(t, &wish, specs, n_specs, pairs, err) : -1, done = 0;

    while (done < n && seeds_run(&pairs[done].conf, (int)o->seeds, &judged[done], err) == 0)
        done++;
    bool is_done = n > 0 && done == n;
    if (is_done && o->json)
        print_json_answer(t, pairs, judged, n);
    else if (is_done)
        print_text_answer(t, pairs, judged, n);
    for (int i = 0; i < done; i++)
        seeds_result_fini(&judged[i]);
    mem_free(pairs);
    mem_free(judged);
    tabular_free(t);
    return is_done ? 0 : -1;
}

int cmd_simulate(const struct cmd *cmd, int argc, char **argv)
{
    struct simulate_opts o = { 0 };
    struct err err = { 0 };
    const char *specs[CLI_MAX_OPERANDS];
    int n = 0, rc;

    rc = cli_args(cmd, opts, ARRAY_LEN(opts), &o, argc, argv, specs, 0, CLI_MAX_OPERANDS, &n);
    if (rc < 0 && !o.table) {
        fprintf(stderr,
                "assay simulate: --table: name a file NAME.table.json or NAME.curves.json\n");
        rc = CLI_USAGE;
    }
    if (rc < 0)
        rc = simulate_all(&o, specs, n, &err) == 0 ? CLI_OK : cli_fail(&err);
    conf_fini(&o, opts, ARRAY_LEN(opts));
    return rc;
}
