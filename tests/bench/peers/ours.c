/* ours.c - Assay's side of the comparisons with peers (peers.py, quality.py): fits a family on a table of make_data.c and
 * says what that took. The C library is called directly; nothing but the fit is between the clocks.
 *   ours fit DIR FAMILY STEPS [name=value ...]    one model of all training rows; one JSON line; SEED=1 in the environment;
 *                                  DEVICE=cuda: on the first GPU; LANES=16: so many at once, with seeds from SEED on
 *   ours bag DIR FAMILY METRIC SEED [name=value ...]    what a trial makes: folds, early stopping, the bag of their models;
 *                                  HOLDOUT=1 in the environment: one model of four fifths of the rows, stopped by the rest
 *   ours folds FRAME TARGET TASK SEED FILE    the five folds of a study with this split seed: a byte a row
 * Predictions of the test rows go to DIR/ours.p. */
#include "base/base.h"
#include "base/mem.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/data.h"
#include "ml/model/model.h"
#include "ml/model/models.h"
#include "ml/ops/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char program[] = "ours";
#include "tests/bench/peers/program.h"

/* ---- fitting ---- */

struct moment {
    double wall, cpu;
};

static struct moment now(void)
{
    struct timespec t, c;

    clock_gettime(CLOCK_MONOTONIC, &t);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c);
    return (struct moment){ (double)t.tv_sec + 1e-9 * (double)t.tv_nsec,
                            (double)c.tv_sec + 1e-9 * (double)c.tv_nsec };
}

/* Peak of this program alone; getrusage would count whoever started it. */
static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    return kib;
}

static void params_set(const struct family *f, double *params, char **argv, int argc)
{
    for (int i = 0; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        if (!eq)
            die(argv[i], NULL);
        *eq = 0;
        int at = family_param_find(f, argv[i]);
        if (at < 0)
            die(argv[i], NULL);
        params[at] = f->params[at].kind == FP_CHOICE ? family_choice_find(&f->params[at], eq + 1)
                                                     : strtod(eq + 1, NULL);
    }
    struct err err = { 0 };
    if (family_params_check(f, params, &err) < 0)
        die("parameters", &err);
}

static enum ml_task task_of(const char *dir)
{
    char text[256] = { 0 };
    FILE *f = fopen(path_of(dir, "meta.json"), "r");

    if (!f || !fgets(text, sizeof text, f))
        die("meta.json", NULL);
    fclose(f);
    return strstr(text, "\"binary\"")       ? ML_BINARY
           : strstr(text, "\"multiclass\"") ? ML_MULTICLASS
                                            : ML_REGRESSION;
}

static void outputs_write(const char *dir, const float *out, size_t n)
{
    FILE *to = fopen(path_of(dir, "ours.p"), "wb");

    if (!to || fwrite(out, sizeof *out, n, to) != n || fclose(to) != 0)
        die("ours.p", NULL);
}

static struct ml_data_spec spec_of(const struct frame *f, const char *dir)
{
    enum ml_task task = task_of(dir);

    return (struct ml_data_spec){ .frame = f,
                                  .target = "(target)",
                                  .positive = task == ML_BINARY ? "1" : "",
                                  .task = task,
                                  .metric = metric_default(task),
                                  .folds = 2,
                                  .split_seed = 1 };
}

/* SHAP values of the first rows to test, of every output; seconds. */
static double test_explain(const struct model_ops *ops, struct ml_data *d,
                           const struct predictor *p, const struct prep_view *v, int64_t n)
{
    struct err err = { 0 };
    double *out = mem_array((size_t)n * (size_t)(prep_inputs(d->prep) + 1), sizeof *out);
    int *of = mem_array((size_t)n, sizeof *of);
    struct moment before = now();

    for (int k = 0; k < d->n_outputs; k++) {
        const struct explain_rows rows = { v, 0, n, of };
        for (int64_t i = 0; i < n; i++)
            of[i] = k;
        if (ops->explain(p, d->prep, &rows, out, &err) < 0)
            die("explaining", &err);
    }
    mem_free(out);
    mem_free(of);
    return now().cpu - before.cpu;
}

/* Predictions by the bytes that an artifact would hold. explain: 0, or so many rows; becomes the seconds. */
static double test_predict(const struct model_ops *ops, struct ml_data *d, const struct lane *l,
                           const char *dir, double *explain)
{
    struct err err = { 0 };
    struct buf bytes;
    struct frame *f = frame_open(path_of(dir, "test.frame"), &err);
    struct prep_view *v = f ? prep_view_new(d->prep, f, &err) : NULL;

    buf_init(&bytes, INT64_C(1) << 32);
    if (!v || ops->save(l, l->steps_done, &bytes, &err) < 0)
        die("saving", &err);
    struct view in = { .data = (const uint8_t *)bytes.data, .len = bytes.len };
    struct predictor *p = ops->predictor_load(d->prep, d->n_outputs, d->spec.task, &in, &err);
    float *out = mem_array((size_t)f->rows * (size_t)d->n_outputs, sizeof *out);
    struct moment before = now();
    if (!p || ops->predict(p, v, 0, f->rows, out, &err) < 0)
        die("predicting", &err);
    double took = now().cpu - before.cpu;
    if (*explain > 0)
        *explain = test_explain(ops, d, p, v, MIN((int64_t)*explain, f->rows));
    outputs_write(dir, out, (size_t)f->rows * (size_t)d->n_outputs);
    return took;
}

enum { LANES_MOST = 64 };

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* The first GPU, where DEVICE=cuda asks for one. */
static const struct ml_compute *device_open(void)
{
    static struct ml_compute c;
    const char *device = getenv("DEVICE");
    struct err err = { 0 };

    if (!device || strcmp(device, "cuda") != 0)
        return NULL;
    c.ops = ml_cuda_open(&err);
    c.ctx = c.ops ? c.ops->open(0, &err) : NULL;
    if (!c.ctx)
        die("DEVICE=cuda", &err);
    return &c;
}

static void lanes_open(struct ml_data *d, const struct model_ops *ops, struct lane *l, int n,
                       const struct lane *like)
{
    struct err err = { 0 };

    for (int i = 0; i < n; i++) {
        l[i] = *like;
        l[i].seed += (uint64_t)i;
        if (ops->open(d, &l[i], &err) < 0)
            die("opening", &err);
    }
}

static void fit(int argc, char **argv)
{
    const char *dir = argv[0];
    const struct model_ops *ops = model_find(argv[1]);
    struct lane like = { .fold = FOLD_ALL, .seed = setting("SEED", 1) }, lanes[LANES_MOST],
                *l = lanes;
    int n = (int)setting("LANES", 1);
    struct err err = { 0 };
    struct frame *f = frame_open(path_of(dir, "train.frame"), &err);

    if (!ops || !f || n < 1 || n > LANES_MOST)
        die(argv[1], &err);
    family_defaults(ops->family, like.params);
    params_set(ops->family, like.params, argv + 3, argc - 3);
    like.max_steps = strtoll(argv[2], NULL, 10);
    like.level = ops->family->levels;
    struct ml_data_spec spec = spec_of(f, dir);
    spec.device = device_open();
    struct moment a = now();
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d)
        die("opening", &err);
    lanes_open(d, ops, lanes, n, &like);
    struct moment b = now();
    if (ops->advance(d, lanes, n, like.max_steps, NULL, &err) < 0 || l->failed)
        die("training", l->failed ? &l->why : &err);
    struct moment c = now();
    long kib = peak_kib();
    const char *rows = getenv("EXPLAIN");
    double explain = rows ? strtod(rows, NULL) : 0,
           predict = test_predict(ops, d, l, dir, &explain);
    printf(
        "{\"prepare_wall\": %.4f, \"prepare_cpu\": %.4f, \"train_wall\": %.4f, \"train_cpu\": "
        "%.4f, \"predict_cpu\": %.4f, \"explain_cpu\": %.4f, \"rss_mb\": %.1f, \"steps\": %" PRId64
        "}\n",
        b.wall - a.wall, b.cpu - a.cpu, c.wall - b.wall, c.cpu - b.cpu, predict, explain,
        (double)kib / 1024, l->steps_done);
}

static void bag_predict(const struct buf *bytes, const char *dir)
{
    struct err err = { 0 };
    struct artifact *a = artifact_load(bytes->data, bytes->len, &err);
    struct frame *f = frame_open(path_of(dir, "test.frame"), &err);
    struct artifact_view *v = a && f ? artifact_view_new(a, f, &err) : NULL;

    if (!v)
        die("loading the bag", &err);
    size_t n = (size_t)f->rows * (size_t)artifact_outputs(a);
    float *out = mem_array(n, sizeof *out);
    if (artifact_predict(v, 0, f->rows, out, &err) < 0)
        die("predicting", &err);
    outputs_write(dir, out, n);
}

/* The defaults that a search takes for this table. */
static void defaults_for(const struct family *f, const struct ml_data *d, const char *metric,
                         double *params)
{
    struct family_shape s = { .rows = d->n_train,
                              .columns = prep_inputs(d->prep),
                              .encoded = prep_width(d->prep),
                              .outputs = d->n_outputs,
                              .folds = d->k_folds };

    for (int i = 0; i < f->n_params; i++)
        params[i] = family_param_for(f, i, &s, metric).def;
}

static void bag(int argc, char **argv)
{
    const char *dir = argv[0];
    const struct family *family = family_find(argv[1]);
    double params[FAMILY_MAX_PARAMS];
    enum metric_id metric;
    struct fit_result result;
    struct err err = { 0 };
    struct buf bytes;
    struct frame *f = frame_open(path_of(dir, "train.frame"), &err);

    if (!family || !f || metric_parse(argv[2], &metric, &err) < 0)
        die(argv[1], &err);
    struct ml_data_spec spec = spec_of(f, dir);
    spec.metric = metric;
    spec.folds = 5;
    struct moment a = now();
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d)
        die("opening", &err);
    defaults_for(family, d, argv[2], params);
    params_set(family, params, argv + 4, argc - 4);
    struct fit_trial *t = fit_trial_open(d, family, params, strtoull(argv[3], NULL, 10),
                                         getenv("HOLDOUT") != NULL, &err);
    if (!t || fit_trial_advance(t, family->levels, NULL, &err) < 0 ||
        fit_trial_result(t, &result, &err) < 0)
        die("training", &err);
    struct moment b = now();
    buf_init(&bytes, ARTIFACT_MAX_BYTES);
    if (fit_trial_artifact(t, &bytes, &err) < 0)
        die("the bag", &err);
    bag_predict(&bytes, dir);
    printf("{\"wall\": %.4f, \"cpu\": %.4f, \"steps\": %" PRId64 ", \"score\": %.6f}\n",
           b.wall - a.wall, b.cpu - a.cpu, result.steps, result.score);
}

static void folds(char **argv)
{
    enum ml_task task = argv[2][0] == 'b'   ? ML_BINARY
                        : argv[2][0] == 'm' ? ML_MULTICLASS
                                            : ML_REGRESSION;
    struct err err = { 0 };
    struct frame *f = frame_open(argv[0], &err);
    struct ml_data_spec spec = { .frame = f,
                                 .target = argv[1],
                                 .positive = "",
                                 .task = task,
                                 .metric = metric_default(task),
                                 .folds = 5,
                                 .split_seed = strtoull(argv[3], NULL, 10) };
    struct ml_data *d = f ? ml_data_open(&spec, &err) : NULL;
    FILE *to = d ? fopen(argv[4], "wb") : NULL;

    if (!to || fwrite(d->fold, 1, (size_t)f->rows, to) != (size_t)f->rows || fclose(to) != 0)
        die(argv[4], &err);
}

int main(int argc, char **argv)
{
    if (argc >= 5 && strcmp(argv[1], "fit") == 0)
        fit(argc - 2, argv + 2);
    else if (argc >= 6 && strcmp(argv[1], "bag") == 0)
        bag(argc - 2, argv + 2);
    else if (argc == 7 && strcmp(argv[1], "folds") == 0)
        folds(argv + 2);
    else
        die("fit DIR FAMILY STEPS [name=value ...] | bag DIR FAMILY METRIC SEED [name=value ...] | "
            "folds FRAME TARGET TASK SEED FILE",
            NULL);
    return 0;
}
