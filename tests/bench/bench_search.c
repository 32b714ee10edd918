/* bench_search.c - how good the samplers and schedulers are, on the public tables of ../shared/search-tables: normalised
 * regret (0 = the table's best, 1 = its median) beside what others are known to reach on the same tables.
 *   build/gcc/tests/bench/bench_search [grids|curves|made] [sampler or sampler+scheduler[:option=number]...]
 *   SEEDS=100 CURVE_SEEDS=30 TABLES=../shared/search-tables
 * Without names: what the project promises of its defaults. Skipped where the tables are not. */
#include "base/mem.h"
#include "base/str.h"
#include "cli/simulate_conf.h"
#include "cli/tablefile.h"
#include "search/lab/seeds.h"
#include "tests/search/curve_family.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TABLES = 16, MAX_NAMES = 24, FLIGHT = 32 };

struct tables {
    struct tabular *list[MAX_TABLES];
    int n;
};

struct mean { /* over tables, each a mean over seeds of its own */
    double regret[SEEDS_MARKS], se[SEEDS_MARKS], repeats, idle_open;
};

static void die(const struct err *err)
{
    fprintf(stderr, "bench_search: %s\n", err->text);
    exit(1);
}

static struct tables tables_load(const char *folder, const char *ending)
{
    char pattern[1000];
    struct tables t = { .n = 0 };
    struct err err = { 0 };
    glob_t found;

    (void)snprintf(pattern, sizeof pattern, "%s/*.%s.json", folder, ending);
    if (glob(pattern, 0, NULL, &found) != 0)
        return t;
    for (size_t i = 0; i < found.gl_pathc && t.n < MAX_TABLES; i++) {
        if (!(t.list[t.n++] = tablefile_load(found.gl_pathv[i], &err)))
            die(&err);
    }
    globfree(&found);
    return t;
}

static void tables_free(struct tables *t)
{
    for (int i = 0; i < t->n; i++)
        tabular_free(t->list[i]);
}

static const char *short_name(const struct tabular *t)
{
    const char *last = strrchr(t->name, '_');

    return last && strlen(last) > 1 ? last + 1 : t->name;
}

static void print_marks(const double *regret, const double *se)
{
    for (int k = 0; k < SEEDS_MARKS; k++) {
        if (se)
            printf("  %.4f +-%.4f", regret[k], se[k]);
        else
            printf("  %.4f        ", regret[k]);
    }
}

static void print_reference(const char *who, const char *figures)
{
    printf("  %-44s%s\n", who, figures);
}

/* One sampler and scheduler over all tables. */
static struct mean measure(const struct tables *t, const char *sampler, const char *scheduler,
                           int workers, int64_t budget, int seeds)
{
    struct simulate_pair *pair = mem_array(SIMULATE_MAX_PAIRS, sizeof *pair);
    struct simulate_wish wish = { .samplers = sampler,
                                  .schedulers = scheduler,
                                  .workers = workers,
                                  .budget = budget,
                                  .seed = 1 };
    struct mean m = { .repeats = 0 };
    struct err err = { 0 };

    for (int i = 0; i < t->n; i++) {
        struct seeds_result j;
        wish.seed =
            1 + (uint64_t)i * 1000003; /* seeds of their own, or the tables would err together */
        if (simulate_pairs(t->list[i], &wish, NULL, 0, pair, &err) < 0 ||
            seeds_run(&pair->conf, seeds, &j, &err) < 0)
            die(&err);
        printf("  %-20.20s %-23.23s", short_name(t->list[i]),
               i > 0 || scheduler == NULL ? "" : scheduler);
        print_marks(j.regret, j.se);
        if (t->list[i]->is_grid)
            printf("  repeats %.1f\n", j.repeats);
        else
            printf("  trials %.0f, to the end %.0f, idle %.1f%%\n", j.started,
                   j.reached[pair->conf.n_levels - 1],
                   100 * j.idle / fmax(j.busy + j.idle, 1e-300));
        for (int k = 0; k < SEEDS_MARKS; k++) {
            m.regret[k] += j.regret[k] / t->n;
            m.se[k] += j.se[k] * j.se[k] / t->n / t->n;
        }
        m.repeats += j.repeats / t->n;
        m.idle_open += j.idle_open;
        seeds_result_fini(&j);
    }
    for (int k = 0; k < SEEDS_MARKS; k++)
        m.se[k] = sqrt(m.se[k]);
    mem_free(pair);
    return m;
}

static void print_mean(const char *what, const struct mean *m)
{
    printf("  %-44s", what);
    print_marks(m->regret, m->se);
    printf("  repeats %.1f\n\n", m->repeats);
}

/* ---- samplers on grids ---- */

static void grid_random(const struct tables *t)
{
    double mean[SEEDS_MARKS] = { 0 };

    printf("random, exact expectation\n");
    for (int i = 0; i < t->n; i++) {
        double r[SEEDS_MARKS];
        for (int k = 0; k < SEEDS_MARKS; k++) {
            r[k] = tabular_random_regret(t->list[i], (size_t)50 << k);
            mean[k] += r[k] / t->n;
        }
        printf("  %-44.44s", short_name(t->list[i]));
        print_marks(r, NULL);
        printf("\n");
    }
    printf("  %-44s", "mean");
    print_marks(mean, NULL);
    printf("\n\n");
}

static void grid_sampler(const struct tables *t, const char *sampler, int seeds)
{
    static const int flights[] = { 1, FLIGHT };

    for (size_t i = 0; i < ARRAY_LEN(flights); i++) {
        bool is_random = str_starts(sampler, "random");
        if (is_random && i > 0)
            break; /* it hears nothing, so it does the same */
        printf("%s, %s, %d seeds\n", sampler, i == 0 ? "sequential" : "32 in flight", seeds);
        struct mean m = measure(t, sampler, "none", flights[i], 0, seeds);
        print_mean("mean", &m);
        if (is_random)
            continue;
        if (i == 0) {
            print_reference("to reach (mean + 1 standard error)",
                            "  0.056           0.031           0.018");
            print_reference("Optuna 5 TPE, joint, these tables",
                            "  0.060           0.029           0.019");
        } else {
            print_reference("to reach (mean + 1 standard error), repeats 0",
                            "  0.105           0.048           0.026");
            print_reference("Optuna 5 TPE, joint, 32 in flight",
                            "  0.115           0.059           0.029");
        }
        printf("\n");
    }
}

static void grids(const char *folder, const char *const *names, int n, int seeds)
{
    static const char *const defaults[] = { "random", "auto" };
    struct tables t = tables_load(folder, "table");

    if (n == 0) {
        names = defaults;
        n = ARRAY_LEN(defaults);
    }
    printf(
        "== grids: regret after 50, 100 and 200 evaluations, mean and standard error over seeds\n\n");
    grid_random(&t);
    for (int i = 0; i < n; i++)
        grid_sampler(&t, names[i], seeds);
    tables_free(&t);
}

/* ---- schedulers on curves ---- */

static void curve_pair(const struct tables *t, const char *name, int workers, int64_t budget,
                       int seeds)
{
    char *sampler = mem_strdup(name), *plus = strchr(sampler, '+');
    char what[80];

    if (plus)
        *plus++ = '\0';
    printf("%s + %s, %d workers, %d seeds\n", sampler, plus ? plus : "auto", workers, seeds);
    struct mean m = measure(t, sampler, plus ? plus : "auto", workers, budget, seeds);
    (void)snprintf(what, sizeof what, "mean; idle while there was work: %.3g s", m.idle_open);
    printf("  %-44s", what);
    print_marks(m.regret, m.se);
    printf("\n\n");
    mem_free(sampler);
}

static void curves(const char *folder, const char *const *names, int n, int seeds)
{
    static const char *const defaults[] = { "random+none", "auto+none", "random+auto",
                                            "auto+auto" };
    struct tables t = tables_load(folder, "curves");

    printf(
        "== curves: regret at 25, 50 and 100 %% of the clock, mean and standard error over seeds\n\n");
    print_reference("random, full length (public reference)",
                    "  0.540           0.478           0.386");
    print_reference("random + Hyperband, stopping", "  0.492           0.382           0.318");
    print_reference("TPE + Hyperband, stopping", "  0.514           0.426           0.313");
    print_reference("to reach: the default", "  0.42            0.30            0.22");
    printf("\n");
    for (int i = 0; i < (n > 0 ? n : (int)ARRAY_LEN(defaults)); i++)
        curve_pair(&t, n > 0 ? names[i] : defaults[i], 8, 40, seeds);
    if (n == 0)
        curve_pair(&t, "auto+auto", 64, 320, seeds); /* the same clock, eight times the workers */
    tables_free(&t);
}

/* Curves made here, so that what looks good on four tables is not only good on them. */
static void made(const char *const *names, int n, int seeds)
{
    static const char *const defaults[] = {
        "random+none",           "random+asha",       "auto+none",     "auto+auto",
        "auto+asha:stop_only=1", "auto+asha:trust=0", "auto+hyperband"
    };
    enum { CONFIGURATIONS = 1000, MADE_EPOCHS = 50, SEED = 11 };
    struct tables t = { .n = 0 };

    printf(
        "== made curves: calm, crossing, misleading first epochs, heavy-tailed times, all at once\n\n");
    for (int i = 0; curve_family_at(i) && t.n < MAX_TABLES; i++)
        t.list[t.n++] = curve_family_new(curve_family_at(i), CONFIGURATIONS, MADE_EPOCHS, SEED);
    for (int i = 0; i < (n > 0 ? n : (int)ARRAY_LEN(defaults)); i++)
        curve_pair(&t, n > 0 ? names[i] : defaults[i], 8, 40, seeds);
    tables_free(&t);
}

static int number(const char *name, int def)
{
    const char *text = getenv(name);
    int64_t n = def;

    if (text && str_i64(text, 1, 100000, &n, NULL) < 0)
        fprintf(stderr, "bench_search: %s: not a number: %s\n", name, text);
    return (int)n;
}

/* The first argument may name one of the parts. */
static bool is_named(int argc, char **argv)
{
    return argc > 1 &&
           (str_eq(argv[1], "grids") || str_eq(argv[1], "curves") || str_eq(argv[1], "made"));
}

static bool is_part(const char *name, int argc, char **argv)
{
    return !is_named(argc, argv) || str_eq(argv[1], name);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TABLES") ? getenv("TABLES") : "../shared/search-tables";
    const char *names[MAX_NAMES];
    struct tables any = tables_load(folder, "*");
    int n = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (any.n == 0) {
        printf("bench_search: no tables in %s, skipped\n", folder);
        return 0;
    }
    tables_free(&any);
    for (int i = 1 + is_named(argc, argv); i < argc && n < MAX_NAMES; i++)
        names[n++] = argv[i];
    if (is_part("grids", argc, argv))
        grids(folder, names, n, number("SEEDS", 100));
    if (is_part("curves", argc, argv))
        curves(folder, names, n, number("CURVE_SEEDS", 30));
    if (is_part("made", argc, argv))
        made(names, n, number("CURVE_SEEDS", 30));
    return 0;
}
