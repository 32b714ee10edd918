/* bench_prep.c - what the preparation of a table costs beside the trials that share it, in processor
 * time: the fit of its steps, the matrices of all folds that a family asks for, a trial at the
 * family's defaults, the mean of 50 drawn configurations that leave the preparation to the data, and
 * the same preparation and matrices for each other choice of one step. All five folds of a trial are
 * trained to its last level. The target is the last column.
 *   bench_prep TABLE.csv[.gz] [FAMILY] [TRIALS]
 *   bench_prep build/pipelines/mixed-10000-1/train.csv boost 50 */
#include "base/gz.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/fit/fit.h"
#include "ml/model/target.h"
#include "ml/model/variant.h"
#include "ml/read/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FOLDS = 5, BINS = 255 };

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "bench_prep: %s: %s\n", what, err->text);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long read_gz(void *ctx, void *out, size_t n, struct err *err)
{
    return gz_read(ctx, out, n, err);
}

static struct frame *frame_of(const char *file)
{
    const struct csv_opts opts = { .name = file };
    char path[64], hash[SHA256_HEX];
    struct err err = { 0 };
    struct gz *g = gz_open(file, &err);

    (void)snprintf(path, sizeof(path), "/tmp/bench_prep_%ld", (long)getpid());
    if (!g || csv_to_frame(read_gz, g, &opts, path, hash, &err) < 0)
        die(file, &err);
    gz_close(g);
    struct frame *f = frame_open(path, &err);
    unlink(path);
    if (!f)
        die(file, &err);
    return f;
}

/* The matrices that trials of the family train and are scored on. */
static void forms_make(struct ml_data *d, const struct family *f)
{
    struct err err = { 0 };

    for (int fold = 0; fold < d->k_folds; fold++) {
        bool is_made = f->form == FF_DENSE ? ml_data_dense(d, fold, &err) != NULL
                                           : ml_data_bins(d, fold, BINS, &err) != NULL;
        if (!is_made)
            die("a matrix", &err);
    }
}

static double value_drawn(const struct family_param *p, struct rng *r)
{
    double hi = p->kind == FP_FLOAT ? p->hi : p->hi + 1, u = rng_unit(r);
    double v = p->is_log ? exp(log(p->lo) + u * (log(hi) - log(p->lo))) : p->lo + u * (hi - p->lo);

    return p->kind == FP_FLOAT ? v : floor(v);
}

static void params_draw(const struct family *f, struct rng *r, double *params)
{
    family_defaults(f, params);
    for (int i = 0; i < f->n_params; i++) {
        if (f->params[i].axis != FA_FREE && f->params[i].axis != FA_PREP)
            params[i] = value_drawn(&f->params[i], r);
    }
}

static void trial_run(struct ml_data *d, const struct family *f, const double *params)
{
    struct err err = { 0 };
    struct fit_trial *t = fit_trial_open(d, f, params, 1, false, &err);

    if (!t)
        die("a trial", &err);
    /* a configuration that diverges costs what it costs */
    (void)fit_trial_advance(t, fit_trial_levels(t), NULL, &err);
    fit_trial_close(t);
}

/* Processor seconds of a trial at the defaults, on data whose matrices are there: the least of three,
 * since the first one also warms up. */
static double trial_default(struct ml_data *d, const struct family *f)
{
    double params[FAMILY_MAX_PARAMS] = { 0 }, least = 0;

    family_defaults(f, params);
    for (int i = 0; i < 3; i++) {
        double cpu = cpu_seconds();
        trial_run(d, f, params);
        cpu = cpu_seconds() - cpu;
        least = i == 0 || cpu < least ? cpu : least;
    }
    return least;
}

/* Mean processor seconds of a drawn trial. */
static double trials_run(struct ml_data *d, const struct family *f, int n)
{
    double params[FAMILY_MAX_PARAMS] = { 0 }, cpu = cpu_seconds();
    struct rng r;

    rng_init(&r, 1, 0);
    for (int i = 0; i < n; i++) {
        params_draw(f, &r, params);
        trial_run(d, f, params);
    }
    return (cpu_seconds() - cpu) / n;
}

/* Every other choice of one step: preparation and matrices, in trials of `trial` seconds. */
static void variants_make(struct ml_data *d, const struct family *f, double trial)
{
    double params[FAMILY_MAX_PARAMS] = { 0 };
    char word[64];

    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];
        family_defaults(f, params);
        for (int w = (int)p->lo; p->axis == FA_PREP && w <= (int)p->hi; w++) {
            struct err err = { 0 };
            params[i] = w;
            const struct prep_choice c = ml_choice_of(f, params);
            double cpu = cpu_seconds();
            struct ml_data *v = prep_choice_is_auto(&c) ? d : ml_variant_get(d, &c, &err);
            if (!v)
                die("a variant", &err);
            if (v == d)
                continue;
            forms_make(v, f);
            cpu = cpu_seconds() - cpu;
            family_choice_name(p, w, word, sizeof(word));
            printf("    %s=%s %.3f s, %.2f trials\n", p->name, word, cpu, cpu / trial);
            ml_variant_put(d, v);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_prep TABLE.csv[.gz] [FAMILY] [TRIALS]\n");
        return 0; /* `make bench` has no table to give */
    }
    const struct family *family = family_find(argc > 2 ? argv[2] : "boost");
    int n = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 50;
    struct frame *f = frame_of(argv[1]);
    struct ml_data_spec spec = { .frame = f,
                                 .target = f->cols[f->n_cols - 1].name,
                                 .positive = "",
                                 .folds = FOLDS,
                                 .split_seed = 1 };
    struct err err = { 0 };

    if (!family || n < 1 || ml_task_infer(f, spec.target, &spec.task, &err) < 0)
        die(argv[1], &err);
    spec.metric = metric_default(spec.task);
    double cpu = cpu_seconds();
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d)
        die(argv[1], &err);
    double fitted = cpu_seconds() - cpu;
    forms_make(d, family);
    cpu = cpu_seconds() - cpu;
    double at_defaults = trial_default(d, family), trial = trials_run(d, family, n);
    printf("%s: %lld rows, %d inputs; steps %.3f s, with the matrices of %d folds %.3f s; "
           "a trial of %s %.3f s (mean of %d): %.2f trials; at its defaults %.3f s: %.2f trials\n",
           argv[1], (long long)d->n_train, prep_inputs(d->prep), fitted, d->k_folds, cpu,
           family->name, trial, n, cpu / trial, at_defaults, cpu / at_defaults);
    variants_make(d, family, trial);
    ml_data_close(d);
    frame_close(f);
    return 0;
}
