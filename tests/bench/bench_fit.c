/* bench_fit.c - one family on one real table, without controller or runner: for tuning defaults and formulas. The table is
 * split by the rule of the shared datasets' README (row i is a test row when i * 2654435761 mod 2^32 < 2^30), trials run
 * one after another - the family's first configurations, then random ones - and each prints its own score, its score on
 * the rows it never saw, seconds, memory against the family's estimate and cost units against processor time.
 *   bench_fit TABLE.csv[.gz] [metric=M] [family=F] [trials=N] [time=S] [seed=S] [level=L] [holdout=1] [folds=K] [refit=1]
 *   [name=value ...] */
#include "base/base.h"
#include "base/clk.h"
#include "base/gz.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/target.h"
#include "ml/read/csv.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct text {
    char *data;
    size_t n, cap, at;
};

struct args {
    const char *file, *family, *metric;
    int trials, level, holdout, folds, refit;
    double seconds;
    uint64_t seed;
    int n_set;
    const char *set[32];
};

static void die(const struct err *err)
{
    fprintf(stderr, "bench_fit: %s\n", err->text);
    exit(1);
}

static int64_t now_us(void *ctx)
{
    struct clk c;

    (void)ctx;
    clk_init_system(&c);
    return clk_now_us(&c);
}

/* Seconds of processor time: on a shared machine the better measure. */
static double cpu_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void text_add(struct text *t, const char *p, size_t n)
{
    if (t->n + n >= t->cap) {
        t->cap = (t->n + n + 1) * 2;
        t->data = mem_resize(t->data, t->cap);
    }
    if (n > 0)
        memcpy(t->data + t->n, p, n);
    t->n += n;
}

static long text_source(void *ctx, void *out, size_t n, struct err *err)
{
    struct text *t = ctx;
    size_t m = MIN(n, t->n - t->at);

    (void)err;
    memcpy(out, t->data + t->at, m);
    t->at += m;
    return (long)m;
}

static void text_load(struct text *t, const char *path)
{
    struct err err = { 0 };
    static char block[1 << 16];
    struct gz *g = gz_open(path, &err);
    long n;

    if (!g)
        die(&err);
    while ((n = gz_read(g, block, sizeof block, &err)) > 0)
        text_add(t, block, (size_t)n);
    if (n < 0)
        die(&err);
    gz_close(g);
}

static void split_lines(const struct text *all, struct text *train, struct text *test)
{
    uint32_t row = 0;
    size_t at = 0;

    for (bool is_head = true; at < all->n; is_head = false) {
        const char *end = memchr(all->data + at, '\n', all->n - at);
        size_t n = end ? (size_t)(end - all->data) - at + 1 : all->n - at;
        if (is_head) {
            text_add(train, all->data + at, n);
            text_add(test, all->data + at, n);
        } else {
            text_add(row * 2654435761u < 1u << 30 ? test : train, all->data + at, n);
            row++;
        }
        at += n;
    }
}

static struct frame *frame_make(struct text *t, const char *name)
{
    struct err err = { 0 };
    char path[128], hash[SHA256_HEX];
    struct csv_opts opts = { .name = name };

    snprintf(path, sizeof path, "/tmp/bench_fit_%d_%s", (int)getpid(), name);
    if (csv_to_frame(text_source, t, &opts, path, hash, &err) < 0)
        die(&err);
    struct frame *f = frame_open(path, &err);
    unlink(path);
    if (!f)
        die(&err);
    return f;
}

static void params_set(const struct family *f, double *params, const char *text)
{
    const char *eq = strchr(text, '=');
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)(eq - text), text);
    int i = family_param_find(f, name);
    if (i < 0) {
        fprintf(stderr, "bench_fit: %s has no parameter %s\n", f->name, name);
        exit(1);
    }
    params[i] = f->params[i].kind == FP_CHOICE ? family_choice_find(&f->params[i], eq + 1)
                                               : strtod(eq + 1, NULL);
}

static void params_draw(const struct family *f, struct rng *r, double *params)
{
    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];
        double u = rng_unit(r), v;
        if (p->axis == FA_FREE) {
            params[i] = p->def;
            continue;
        }
        double hi = p->kind == FP_FLOAT ? p->hi : p->hi + 1;
        v = p->is_log ? exp(log(p->lo) + u * (log(hi) - log(p->lo))) : p->lo + u * (hi - p->lo);
        params[i] = p->kind == FP_FLOAT ? v : floor(v);
    }
}

static void print_changed(const struct family *f, const double *params)
{
    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];
        char choice[64];
        if (params[i] == p->def)
            continue;
        if (p->kind == FP_CHOICE) {
            family_choice_name(p, (int)params[i], choice, sizeof choice);
            printf(" %s=%s", p->name, choice);
        } else {
            printf(" %s=%.3g", p->name, params[i]);
        }
    }
    printf("\n");
}

/* Megabytes of the process that are in memory. */
static double resident_mb(void)
{
    char line[128];
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fgets(line, sizeof line, f))
        pages = strtoll(strchr(line, ' '), NULL, 10);
    if (f)
        (void)fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* The chosen configuration on all training rows: what a plain fit of another library is compared with. */
static void refit(struct ml_data *d, const struct family *f, const double *params, uint64_t seed,
                  int64_t steps)
{
    struct err err = { 0 };
    struct buf model;
    double score, se, cpu = cpu_seconds();
    const struct fit_refit how = { .family = f, .params = params, .seed = seed, .steps = steps };

    buf_init(&model, ARTIFACT_MAX_BYTES);
    if (fit_refit_artifact(d, &how, NULL, &model, &score, &se, &err) < 0)
        die(&err);
    printf("    on all rows: test %.5f +- %.5f  cpu %.2f s, its test included  %.1f MB of model |",
           score, se, cpu_seconds() - cpu, (double)model.len / 1e6);
    print_changed(f, params);
    buf_fini(&model);
}

/* One trial; returns its result. false = nothing usable. */
static bool trial(struct ml_data *d, const struct args *a, const struct family *f,
                  const double *params, int number, int64_t deadline, struct fit_result *r)
{
    struct err err = { 0 };
    struct ml_stop stop = { .now_us = now_us, .deadline_us = deadline };
    int level = a->level ? a->level : f->levels;
    struct fit_trial *t = fit_trial_open(d, f, params, a->seed, a->holdout, &err);

    if (!t)
        die(&err);
    double cpu = cpu_seconds(), resident = resident_mb();
    int rc = fit_trial_advance(t, level, &stop, &err);
    cpu = cpu_seconds() - cpu;
    resident = resident_mb() - resident;
    if (rc < 0)
        die(&err);
    if (rc == 0 && fit_trial_cut(t, &err) < 0) {
        fit_trial_close(t);
        return false;
    }
    struct family_shape s = model_shape(d, a->holdout ? 1 : d->k_folds);
    int64_t cost = f->cost(&s, params, 0, level), bytes = fit_trial_bytes(t);
    if (fit_trial_test(t, &err) < 0 || fit_trial_result(t, r, &err) < 0)
        die(&err);
    printf(
        "%3d %s score %.5f +- %.5f  test %.5f  steps %5" PRId64
        "  fit %6.2f s (cpu %.2f)  cost/cpu %.2f  %.1f MB (resident %.1f), est/mem %.2f  predict %.2f us/row |",
        number, r->cut ? "cut" : "   ", r->score, r->se, r->test_score, r->steps,
        (double)r->fit_us / 1e6, cpu, (double)cost / 1e6 / fmax(cpu, 1e-6), (double)bytes / 1e6,
        resident, (double)f->host_bytes(&s, params, level) / (double)bytes,
        (double)r->predict_ns_row / 1e3);
    print_changed(f, params);
    fflush(stdout);
    fit_trial_close(t);
    if (a->refit)
        refit(d, f, r->free_params, a->seed, r->steps);
    return true;
}

static void args_parse(int argc, char **argv, struct args *a)
{
    *a = (struct args){
        .file = argv[1], .family = "boost", .trials = 1, .seconds = 1e6, .seed = 1, .folds = 5
    };
    for (int i = 2; i < argc; i++) {
        const char *eq = strchr(argv[i], '=');
        if (!eq)
            continue;
        size_t n = (size_t)(eq - argv[i]);
        if (n == 6 && !strncmp(argv[i], "family", n))
            a->family = eq + 1;
        else if (n == 6 && !strncmp(argv[i], "metric", n))
            a->metric = eq + 1;
        else if (n == 6 && !strncmp(argv[i], "trials", n))
            a->trials = (int)strtol(eq + 1, NULL, 10);
        else if (n == 5 && !strncmp(argv[i], "level", n))
            a->level = (int)strtol(eq + 1, NULL, 10);
        else if (n == 7 && !strncmp(argv[i], "holdout", n))
            a->holdout = (int)strtol(eq + 1, NULL, 10);
        else if (n == 5 && !strncmp(argv[i], "folds", n))
            a->folds = (int)strtol(eq + 1, NULL, 10);
        else if (n == 5 && !strncmp(argv[i], "refit", n))
            a->refit = (int)strtol(eq + 1, NULL, 10);
        else if (n == 4 && !strncmp(argv[i], "time", n))
            a->seconds = strtod(eq + 1, NULL);
        else if (n == 4 && !strncmp(argv[i], "seed", n))
            a->seed = strtoull(eq + 1, NULL, 10);
        else if (a->n_set < (int)ARRAY_LEN(a->set))
            a->set[a->n_set++] = argv[i];
    }
}

int main(int argc, char **argv)
{
    struct args a;
    struct err err = { 0 };
    struct text all = { 0 }, train = { 0 }, test = { 0 };
    struct rng rng;

    if (argc < 2) {
        fprintf(
            stderr,
            "usage: bench_fit TABLE.csv[.gz] [metric=M] [family=F] [trials=N] [time=S] [seed=S] [level=L] [holdout=1]"
            " [folds=K] [refit=1] [name=value ...]\n");
        return 0; /* `make bench` has no table to give */
    }
    args_parse(argc, argv, &a);
    text_load(&all, a.file);
    split_lines(&all, &train, &test);
    int64_t start = now_us(NULL);
    struct frame *f = frame_make(&train, "train"), *g = frame_make(&test, "test");
    struct ml_data_spec spec = { .frame = f,
                                 .test_frame = g,
                                 .target = f->cols[f->n_cols - 1].name,
                                 .positive = "",
                                 .folds = a.folds,
                                 .split_seed = a.seed };
    if (ml_task_infer(f, spec.target, &spec.task, &err) < 0)
        die(&err);
    spec.metric = metric_default(spec.task);
    if (a.metric && metric_parse(a.metric, &spec.metric, &err) < 0)
        die(&err);
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d)
        die(&err);
    const struct family *fam = family_find(a.family);
    if (!fam)
        return 1;
    int64_t deadline = start + (int64_t)(a.seconds * 1e6);
    printf("%s: %" PRId64 " rows, %d columns (%d dense), %d outputs, %s, opened in %.2f s\n",
           a.file, d->n_train, prep_inputs(d->prep), prep_width(d->prep), d->n_outputs,
           metric_info(spec.metric)->name, (double)(now_us(NULL) - start) / 1e6);
    struct fit_result best = { .score = NAN }, r;
    bool larger = metric_info(spec.metric)->larger_is_better;
    rng_init(&rng, a.seed, 99);
    for (int i = 0; i < a.trials && now_us(NULL) < deadline; i++) {
        double params[FAMILY_MAX_PARAMS] = { 0 };
        const double *first = fam->portfolio(i);
        if (first)
            memcpy(params, first, (size_t)fam->n_params * sizeof *params);
        else
            params_draw(fam, &rng, params);
        for (int k = 0; k < a.n_set; k++)
            params_set(fam, params, a.set[k]);
        if (!trial(d, &a, fam, params, i, deadline, &r))
            break;
        if (isnan(best.score) || (larger ? r.score > best.score : r.score < best.score))
            best = r;
    }
    printf("best: score %.5f, test %.5f, %.1f s in all\n", best.score, best.test_score,
           (double)(now_us(NULL) - start) / 1e6);
    ml_data_close(d);
    frame_close(f);
    frame_close(g);
    return 0;
}
