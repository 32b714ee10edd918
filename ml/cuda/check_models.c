/* check_models.c - models with a form for GPUs on every CUDA device here against the CPU: `make gpu-check` asks for equal
 * bytes and equal scores over tasks, ways to grow and odd shapes; `make gpu-bench` (argument "bench") then times both on
 * larger tables.
 * Needs only gcc and nvcc. Without a device it says so and succeeds. Exit 1 when an answer differs. */
#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cuda/check.h"
#include "ml/family_params.h"
#include "ml/model.h"
#include "ml/ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FOLDS = 3 };

static int failures;

/* ---- tables ---- */

struct table {
    enum ml_task task;
    int64_t rows;
    int cols, classes;
    uint64_t seed;
};

static void target_make(const struct table *t, const double *score, double *y)
{
    for (int64_t i = 0; i < t->rows; i++) {
        y[i] = t->task == ML_REGRESSION ? score[i]
               : t->task == ML_BINARY
                   ? score[i] > 0.2
                   : fmin(t->classes - 1, fmax(0, floor((score[i] + 2) / 4 * t->classes)));
    }
    for (int c = 0; c < MAX(2, t->classes) && t->task != ML_REGRESSION; c++)
        y[c % t->rows] = y[t->rows - 1 - c % t->rows] = c; /* every class has rows */
}

/* Noise, missing values in every third column, and a categorical column; one more number column, the target. */
static struct frame *table_make(const struct table *t)
{
    static const char *const levels[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k" };
    double *x = mem_array((size_t)t->rows, sizeof *x);
    double *score = mem_array((size_t)t->rows, sizeof *score);
    int32_t *code = mem_array((size_t)t->rows, sizeof *code);
    char path[] = "/tmp/assay-check-XXXXXX", name[16], hash[SHA256_HEX];
    struct err err = { 0 };
    struct rng r;
    int fd = mkstemp(path);
    struct frame_writer *w = fd >= 0 ? frame_writer_new(path, &err) : NULL;

    if (!w)
        must(-1, &err);
    close(fd);
    rng_init(&r, t->seed, 1);
    for (int j = 0; j < t->cols; j++) {
        for (int64_t i = 0; i < t->rows; i++) {
            double v = rng_normal(&r);
            score[i] += j < 8 ? v / (1 + j) : 0.05 * rng_normal(&r);
            x[i] = j % 3 == 2 && rng_below(&r, 9) == 0 ? (double)NAN : v;
        }
        snprintf(name, sizeof name, "x%d", j);
        must(frame_writer_numeric(w, name, x, t->rows, &err), &err);
    }
    for (int64_t i = 0; i < t->rows; i++) {
        code[i] = (int32_t)rng_below(&r, ARRAY_LEN(levels));
        score[i] += 0.4 * (code[i] % 3);
    }
    target_make(t, score, x);
    must(frame_writer_categorical(w, "level", code, t->rows, levels, ARRAY_LEN(levels), &err),
         &err);
    must(frame_writer_numeric(w, "y", x, t->rows, &err), &err);
    must(frame_writer_end(w, hash, &err), &err);
    struct frame *f = frame_open(path, &err);
    unlink(path);
    if (!f)
        must(-1, &err);
    mem_free(x);
    mem_free(score);
    mem_free(code);
    return f;
}

static struct ml_data *data_open(const struct frame *f, enum ml_task task,
                                 const struct ml_compute *device)
{
    struct err err = { 0 };
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "",
                                       .task = task,
                                       .metric =
                                           task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS,
                                       .folds = FOLDS,
                                       .split_seed = 7,
                                       .device = device };
    struct ml_data *d = ml_data_open(&spec, &err);

    if (!d)
        must(-1, &err);
    return d;
}

/* ---- lanes ---- */

struct run {
    struct ml_data *d;
    struct lane lanes[FOLDS];
    struct buf bytes[FOLDS];
    float *held[FOLDS];
    double seconds;
};

/* All folds in one call; `first` steps before the clock starts, so that neither tables nor the device's start count. */
static void run_train(struct run *r, const struct frame *f, const struct table *t,
                      const struct ml_compute *device, const struct model_ops *ops,
                      const double *params, int64_t first, int64_t steps)
{
    struct err err = { 0 };
    double before;

    *r = (struct run){ .d = data_open(f, t->task, device) };
    for (int i = 0; i < FOLDS; i++) {
        struct lane *l = &r->lanes[i];
        *l = (struct lane){ .fold = i, .seed = 11, .level = ops->family->levels };
        memcpy(l->params, params, sizeof l->params);
        must(ops->open(r->d, l, &err), &err);
    }
    must(ops->advance(r->d, r->lanes, FOLDS, first, NULL, &err), &err);
    before = now_s();
    must(ops->advance(r->d, r->lanes, FOLDS, steps - first, NULL, &err), &err);
    r->seconds = now_s() - before;
    for (int i = 0; i < FOLDS; i++) {
        if (r->lanes[i].failed)
            must(-1, &r->lanes[i].why);
        buf_init(&r->bytes[i], (size_t)1 << 30);
        must(ops->save(&r->lanes[i], steps, &r->bytes[i], &err), &err);
        r->held[i] = calloc((size_t)(r->d->rows * r->d->n_outputs + 1), sizeof(float));
        must(ops->predict_held(r->d, &r->lanes[i], r->held[i], &err), &err);
    }
}

static void run_free(struct run *r, const struct model_ops *ops)
{
    for (int i = 0; i < FOLDS; i++) {
        ops->close(&r->lanes[i]);
        buf_fini(&r->bytes[i]);
        free(r->held[i]);
    }
    ml_data_close(r->d);
}

static int runs_equal(const struct run *a, const struct run *b)
{
    size_t held = (size_t)(a->d->rows * a->d->n_outputs) * sizeof(float);
    int is_equal = 1;

    for (int i = 0; i < FOLDS; i++)
        is_equal = is_equal && a->bytes[i].len == b->bytes[i].len &&
                   memcmp(a->bytes[i].data, b->bytes[i].data, a->bytes[i].len) == 0 &&
                   memcmp(a->held[i], b->held[i], held) == 0;
    return is_equal;
}

/* ---- cases ---- */

static const struct way {
    const char *family, *name;
    int param[3];
    double value[3];
} ways[] = {
    { "boost", "31 leaves", { BOOST_LEAVES }, { 31 } },
    { "boost", "depth 6", { BOOST_DEPTH, BOOST_GROW }, { 6, 1 } },
    { "boost", "255 leaves", { BOOST_LEAVES, BOOST_MIN_LEAF }, { 255, 1 } },
    { "forest", "defaults", { FOREST_TREES }, { 300 } },
    { "extra_trees", "defaults", { FOREST_TREES }, { 300 } },
    { "boost", "half the rows", { BOOST_LEAVES, BOOST_ROW_SAMPLE }, { 31, 0.5 } },
    { "boost",
      "half the columns",
      { BOOST_LEAVES, BOOST_COL_SAMPLE, BOOST_COL_LEVEL },
      { 31, 0.5, 0.7 } },
    { "boost", "random cuts", { BOOST_LEAVES, BOOST_RANDOM }, { 31, 1 } },
    { "boost", "63 bins, l1", { BOOST_LEAVES, BOOST_L1, BOOST_CAT_SMOOTH }, { 31, 0.7, 1 } },
    { "forest", "entropy", { FOREST_CRITERION, FOREST_MIN_LEAF }, { 1, 3 } },
    { "extra_trees", "all columns", { FOREST_MAX_FEATURES, FOREST_MIN_LEAF }, { 5, 3 } },
};
enum { BENCH_WAYS = 5 };

/* A round of boosting is a step, a tree of a forest one for each of its prunings. */
static int64_t unit_of(const struct way *way, const double *params)
{
    struct forest_axis axes[FOREST_MAX_AXES];

    return strcmp(way->family, "boost") == 0 ? 1 : forest_axes(params, axes);
}

static void case_run(const struct ml_compute *device, const struct frame *f, const struct table *t,
                     const struct way *way, int64_t rounds, int is_timed)
{
    static const char *const tasks[] = { "binary", "multiclass", "regression" };
    const struct model_ops *ops = model_find(way->family);
    double params[FAMILY_MAX_PARAMS];
    struct run cpu, gpu;

    family_defaults(ops->family, params);
    for (size_t i = 0; i < ARRAY_LEN(way->param); i++) {
        if (way->value[i] != 0)
            params[way->param[i]] = way->value[i];
    }
    int64_t unit = unit_of(way, params), first = is_timed ? unit : rounds * unit;
    run_train(&cpu, f, t, NULL, ops, params, first, rounds * unit);
    run_train(&gpu, f, t, device, ops, params, first, rounds * unit);
    int is_equal = runs_equal(&cpu, &gpu);
    failures += !is_equal;
    printf("  %-11s %-10s %8" PRId64 " x %-4d %-17s %s\n", way->family,
           tasks[t->task == ML_BINARY       ? 0
                 : t->task == ML_MULTICLASS ? 1
                                            : 2],
           t->rows, t->cols, way->name, is_equal ? "equal" : "DIFFERENT");
    if (is_timed)
        printf(
            "    a round, or tree, of %d folds: cpu (one thread) %.2f ms, device %.2f ms, %.1f times\n",
            FOLDS, 1e3 * cpu.seconds / (double)(rounds - 1),
            1e3 * gpu.seconds / (double)(rounds - 1), cpu.seconds / gpu.seconds);
    fflush(stdout);
    run_free(&cpu, ops);
    run_free(&gpu, ops);
}

static void tables_run(const struct ml_compute *device, const struct table *tables, size_t n,
                       size_t n_ways, int64_t rounds, int is_timed)
{
    for (size_t i = 0; i < n; i++) {
        struct frame *f = table_make(&tables[i]);
        for (size_t k = 0; k < n_ways; k++)
            case_run(device, f, &tables[i], &ways[k], rounds, is_timed);
        frame_close(f);
    }
}

static const struct table small[] = {
    { ML_BINARY, 12, 1, 0, 1 },        { ML_REGRESSION, 33, 5, 0, 2 },
    { ML_BINARY, 2003, 17, 0, 3 },     { ML_MULTICLASS, 3001, 9, 5, 4 },
    { ML_REGRESSION, 4999, 40, 0, 5 },
};
static const struct table large[] = {
    { ML_BINARY, 10000, 20, 0, 6 },
    { ML_BINARY, 100000, 50, 0, 7 },
    { ML_MULTICLASS, 100000, 50, 7, 8 },
    { ML_REGRESSION, 1000000, 50, 0, 9 },
};

int main(int argc, char **argv)
{
    int is_bench = argc > 1 && strcmp(argv[1], "bench") == 0, n = 0;
    struct err err = { 0 };
    const struct ml_ops *ops = ml_cuda_open(&err);

    if (!ops) {
        printf("gpu-check: FAILED: %s\n", err.text);
        return 1;
    }
    must(ops->device_count(&n, &err), &err);
    if (n == 0) {
        puts("models: built and opened; no CUDA device here, parity on a device skipped");
        return 0;
    }
    for (int i = 0; i < n; i++) {
        struct ml_compute device = { .ops = ops, .ctx = ops->open(i, &err) };
        if (!device.ctx)
            must(-1, &err);
        tables_run(&device, small, ARRAY_LEN(small), ARRAY_LEN(ways), 3, 0);
        if (is_bench)
            tables_run(&device, large, ARRAY_LEN(large), BENCH_WAYS, 21, 1);
        ops->close(device.ctx);
    }
    printf("models: %s\n", failures ? "FAILED" : "every model equals the CPU's");
    return failures != 0;
}
