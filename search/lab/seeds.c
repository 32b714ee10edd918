/* seeds.c - adds up the results of all seeds and divides at the end. A mark is a point at which
 * searches are compared. A search that ran out of configurations before a mark keeps its last value
 * there. */
#include "search/lab/seeds.h"

#include "base/mem.h"

#include <math.h>

static size_t mark_at(const struct sim_conf *c, int mark)
{
    size_t whole = c->clock > 0 ? SIM_SHARES : (size_t)(c->trials > 0 ? c->trials : 0);

    if (whole == 0)
        whole = c->table->n;
    return MAX(1, whole >> (SEEDS_MARKS - 1 - mark));
}

static double value_at(const struct sim_result *r, size_t i)
{
    return r->trace[MIN(i, r->n_trace - 1)];
}

static void add_marks(const struct sim_conf *c, const struct sim_result *r, int seed,
                      struct seeds_result *j)
{
    for (int k = 0; k < SEEDS_MARKS; k++) {
        double v = value_at(r, mark_at(c, k)), regret = tabular_regret(c->table, v);

        v = isnan(v) ? c->table->worst : v;
        j->each[seed][k] = regret;
        j->regret[k] += regret;
        j->se[k] += regret * regret;
        j->value[k] += c->table->is_minimised ? -v : v;
    }
    for (size_t i = 0; i < j->n_curve; i++)
        j->curve[i] += tabular_regret(c->table, value_at(r, i));
}

static void add_counts(const struct sim_result *r, struct seeds_result *j)
{
    j->started += (double)r->started;
    j->resumed += (double)r->resumed;
    j->completed += (double)r->completed;
    j->stopped += (double)r->stopped;
    j->failed += (double)r->failed;
    j->retired += (double)r->retired;
    j->paused += (double)r->paused;
    j->running += (double)r->running;
    j->repeats += (double)r->repeats;
    for (int k = 0; k < TABULAR_MAX_LEVELS; k++)
        j->reached[k] += (double)r->reached[k];
    j->busy += r->busy;
    j->idle += r->idle;
    j->idle_open += r->idle_open;
    j->end += r->end;
}

/* Sums become means. The standard error of the mean is sqrt((E[x^2] - E[x]^2) / (n - 1)). */
static void divide(struct seeds_result *j, int n)
{
    double *counts[] = { &j->started, &j->resumed,   &j->completed, &j->stopped, &j->failed,
                         &j->retired, &j->paused,    &j->running,   &j->repeats, &j->busy,
                         &j->idle,    &j->idle_open, &j->end };

    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        *counts[i] /= n;
    for (int k = 0; k < TABULAR_MAX_LEVELS; k++)
        j->reached[k] /= n;
    for (size_t i = 0; i < j->n_curve; i++)
        j->curve[i] /= n;
    for (int k = 0; k < SEEDS_MARKS; k++) {
        j->regret[k] /= n;
        j->value[k] /= n;
        double spread = j->se[k] / n - j->regret[k] * j->regret[k];
        j->se[k] = n > 1 ? sqrt(fmax(spread, 0) / (n - 1)) : NAN;
    }
}

int seeds_run(const struct sim_conf *conf, int seeds, struct seeds_result *j, struct err *err)
{
    struct sim_conf c = *conf;
    struct seeds_result sum = { .seeds = seeds };

    CHECK(seeds >= 1);
    sum.n_curve = mark_at(conf, SEEDS_MARKS - 1) + 1;
    sum.curve = mem_array(sum.n_curve, sizeof *sum.curve);
    sum.each = mem_array((size_t)seeds, sizeof *sum.each);
    for (int k = 0; k < SEEDS_MARKS; k++)
        sum.at[k] = (double)mark_at(conf, k) * (conf->clock > 0 ? conf->clock / SIM_SHARES : 1);
    for (int i = 0; i < seeds; i++) {
        struct sim_result r;
        c.seed = conf->seed + (uint64_t)i;
        if (simulate(&c, &r, err) < 0) {
            seeds_result_fini(&sum);
            return -1;
        }
        add_marks(&c, &r, i, &sum);
        add_counts(&r, &sum);
        sim_result_fini(&r);
    }
    divide(&sum, seeds);
    *j = sum;
    return 0;
}

void seeds_result_fini(struct seeds_result *j)
{
    mem_free(j->curve);
    mem_free(j->each);
    *j = (struct seeds_result){ 0 };
}
