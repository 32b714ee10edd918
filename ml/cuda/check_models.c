/* check_models.c - trains models with a form for devices on every CUDA device of this machine and
 * on the CPU, over tasks, ways to grow and odd shapes, and compares bytes and scores.
 *
 * The argument says how much: none or "check" small tables; "few" fewer of them (under a
 * sanitizer); "bench" large ones, timed; "lanes" the time of a round by the number of lanes that
 * train together; "trace" a few rounds whose kernels are timed one by one, where ASSAY_CUDA_TRACE
 * is set; "count" only prints how many devices there are. Needs gcc and nvcc only. Without a device
 * it says so and succeeds. Exit 1 when an answer differs. */
#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cuda/check.h"
#include "ml/family/family_params.h"
#include "ml/model/model.h"
#include "ml/model/models.h"
#include "ml/ops/ops.h"

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

/* A made-up table: its task, size and seed. */
struct table {
    enum ml_task task;
    int64_t rows;
    int cols, classes;
    uint64_t seed;
};

/* Targets from a score: the score itself, or classes by thresholds on it. */
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

/* Noise, with missing values in every third column and one categorical column; the last column is
 * the target. */
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

static struct ml_data *data_open(const struct frame *f, enum ml_task task, int is_monotone,
                                 const struct ml_compute *device)
{
    static const struct ml_monotone rising = { "x0", 1 };
    struct err err = { 0 };
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "",
                                       .task = task,
                                       .metric =
                                           task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS,
                                       .folds = FOLDS,
                                       .split_seed = 7,
                                       .monotone = &rising,
                                       .n_monotone = is_monotone,
                                       .device = device };
    struct ml_data *d = ml_data_open(&spec, &err);

    if (!d)
        must(-1, &err);
    return d;
}

/* ---- lanes ---- */

/* One training of all folds, and what is compared of it: the saved bytes of each fold's model and
 * its predictions for held-out rows. */
struct run {
    struct ml_data *d;
    struct lane lanes[FOLDS];
    struct buf bytes[FOLDS];
    float *held[FOLDS];
    double seconds;
};

static struct lane lane_open(struct ml_data *d, const struct model_ops *ops, const double *params,
                             int fold, uint64_t seed)
{
    struct lane l = { .fold = fold, .seed = seed, .level = ops->family->levels };
    struct err err = { 0 };

    memcpy(l.params, params, sizeof l.params);
    must(ops->open(d, &l, &err), &err);
    return l;
}

/* Trains all folds in one call. The first `first` steps come before the clock starts, so that
 * neither making tables nor starting the device counts. */
static void run_train(struct run *r, const struct frame *f, const struct table *t,
                      const struct ml_compute *device, const struct model_ops *ops,
                      const double *params, int is_monotone, int64_t first, int64_t steps)
{
    struct err err = { 0 };
    double before;

    *r = (struct run){ .d = data_open(f, t->task, is_monotone, device) };
    for (int i = 0; i < FOLDS; i++)
        r->lanes[i] = lane_open(r->d, ops, params, i, 11);
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

/* Equal means byte for byte: models of a device equal the CPU's. */
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

/* is_number: for targets of numbers only; is_monotone: not for more than two classes. */
static const struct way {
    const char *family, *name;
    int param[3];
    double value[3];
    int is_number, is_monotone;
} ways[] = {
    { "boost", "31 leaves", { BOOST_LEAVES }, { 31 }, 0, 0 },
    { "boost", "depth 6", { BOOST_DEPTH, BOOST_GROW }, { 6, 1 }, 0, 0 },
    { "boost", "255 leaves", { BOOST_LEAVES, BOOST_MIN_LEAF }, { 255, 1 }, 0, 0 },
    { "forest", "defaults", { FOREST_TREES }, { 300 }, 0, 0 },
    { "extra_trees", "defaults", { FOREST_TREES }, { 300 }, 0, 0 },
    { "boost", "absolute", { BOOST_OBJECTIVE }, { 1 }, 1, 0 },
    { "boost", "half the rows", { BOOST_LEAVES, BOOST_ROW_SAMPLE }, { 31, 0.5 }, 0, 0 },
    { "boost",
      "half the columns",
      { BOOST_LEAVES, BOOST_COL_SAMPLE, BOOST_COL_LEVEL },
      { 31, 0.5, 0.7 },
      0,
      0 },
    { "boost", "random cuts", { BOOST_LEAVES, BOOST_RANDOM }, { 31, 1 }, 0, 0 },
    { "boost", "63 bins, l1", { BOOST_LEAVES, BOOST_L1, BOOST_CAT_SMOOTH }, { 31, 0.7, 1 }, 0, 0 },
    { "boost", "rising", { BOOST_LEAVES }, { 31 }, 0, 1 },
    { "boost", "huber", { BOOST_OBJECTIVE, BOOST_ROW_SAMPLE }, { 2, 0.7 }, 1, 0 },
    { "boost", "quantile", { BOOST_OBJECTIVE, BOOST_ALPHA, BOOST_GROW }, { 4, 0.2, 1 }, 1, 0 },
    { "forest", "entropy", { FOREST_CRITERION, FOREST_MIN_LEAF }, { 1, 3 }, 0, 0 },
    { "extra_trees", "all columns", { FOREST_MAX_FEATURES, FOREST_MIN_LEAF }, { 5, 3 }, 0, 0 },
    { "mlp", "3 layers", { MLP_WIDTH, MLP_BATCH }, { 70, 50 }, 0, 0 },
    { "mlp", "1 layer", { MLP_LAYERS, MLP_WIDTH, MLP_ACTIVATION }, { 1, 33, 5 }, 0, 0 },
};
enum { BENCH_WAYS = 6 };

/* Steps of a round: one in boosting, an epoch of a network; in a forest one for each pruning of a
 * tree. */
static int64_t unit_of(const struct way *way, const double *params)
{
    struct forest_axis axes[FOREST_MAX_AXES];

    return strcmp(way->family, "boost") == 0 || strcmp(way->family, "mlp") == 0
               ? 1
               : forest_axes(params, axes);
}

/* Trains one family one way on one table, on the CPU and on the device, and compares. A timed case
 * leaves the first round out of the time. */
static void case_run(const struct ml_compute *device, const struct frame *f, const struct table *t,
                     const struct way *way, int64_t rounds, int is_timed)
{
    static const char *const tasks[] = { "binary", "multiclass", "regression" };
    const struct model_ops *ops = model_find(way->family);
    double params[FAMILY_MAX_PARAMS];
    struct run cpu, gpu;

    if ((way->is_number && t->task != ML_REGRESSION) ||
        (way->is_monotone && t->task == ML_MULTICLASS))
        return;
    family_defaults(ops->family, params);
    for (size_t i = 0; i < ARRAY_LEN(way->param); i++) {
        if (way->value[i] != 0)
            params[way->param[i]] = way->value[i];
    }
    if (strcmp(way->family, "mlp") == 0) { /* the device has no form for waves and members */
        params[MLP_EMBEDDING] = 0;
        params[MLP_MEMBERS] = 1;
    }
    int64_t unit = unit_of(way, params), first = is_timed ? unit : rounds * unit;
    run_train(&cpu, f, t, NULL, ops, params, way->is_monotone, first, rounds * unit);
    run_train(&gpu, f, t, device, ops, params, way->is_monotone, first, rounds * unit);
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

/* Forests take long on a CPU: fewer trees are timed on large tables. */
static int64_t rounds_of(const struct table *t, const struct way *way, int64_t rounds)
{
    return t->rows > 200000 && strcmp(way->family, "boost") != 0 ? 4 : rounds;
}

static void tables_run(const struct ml_compute *device, const struct table *tables, size_t n,
                       size_t n_ways, int64_t rounds, int is_timed)
{
    for (size_t i = 0; i < n; i++) {
        struct frame *f = table_make(&tables[i]);
        for (size_t k = 0; k < n_ways; k++)
            case_run(device, f, &tables[i], &ways[k], rounds_of(&tables[i], &ways[k], rounds),
                     is_timed);
        frame_close(f);
    }
}

/* ---- many lanes ---- */

enum { LANES_MOST = 96, LANES_FIRST = 2, LANES_ROUNDS = 22 };

/* Lane i is fold i % FOLDS of the trial with seed 11 + i / FOLDS. Returns the seconds of the rounds
 * after the first ones. */
static double lanes_train(struct ml_data *d, struct lane *l, int n, int first, const double *params)
{
    const struct model_ops *ops = model_find("boost");
    struct err err = { 0 };

    for (int i = 0; i < n; i++)
        l[i] = lane_open(d, ops, params, (first + i) % FOLDS, 11 + (uint64_t)((first + i) / FOLDS));
    must(ops->advance(d, l, n, LANES_FIRST, NULL, &err), &err);
    double before = now_s();
    must(ops->advance(d, l, n, LANES_ROUNDS - LANES_FIRST, NULL, &err), &err);
    return now_s() - before;
}

static int lanes_equal(const struct lane *a, const struct lane *b)
{
    const struct model_ops *ops = model_find("boost");
    struct buf x, y;
    struct err err = { 0 };

    buf_init(&x, (size_t)1 << 30);
    buf_init(&y, (size_t)1 << 30);
    must(ops->save(a, LANES_ROUNDS, &x, &err), &err);
    must(ops->save(b, LANES_ROUNDS, &y, &err), &err);
    int is_equal = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
    buf_fini(&x);
    buf_fini(&y);
    return is_equal;
}

/* Prints the time of a round by the number of lanes that train together, and compares the last lane
 * with the CPU's. */
static void lanes_run(const struct ml_compute *device, const struct table *t)
{
    static const int counts[] = { 1, 3, 24, LANES_MOST };
    const struct model_ops *ops = model_find("boost");
    struct frame *f = table_make(t);
    struct ml_data *here = data_open(f, t->task, 0, NULL),
                   *there = data_open(f, t->task, 0, device);
    struct lane cpu[1], gpu[LANES_MOST];
    double params[FAMILY_MAX_PARAMS];

    family_defaults(ops->family, params);
    params[BOOST_LEAVES] = 31;
    for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
        int n = counts[k];
        double one = lanes_train(here, cpu, 1, n - 1, params);
        double all = lanes_train(there, gpu, n, 0, params);
        int is_equal = lanes_equal(&cpu[0], &gpu[n - 1]);
        failures += !is_equal;
        printf(
            "  boost       %8" PRId64 " x %-4d %3d lanes: a round %.2f ms, of a lane %.3f ms, cpu "
            "(one thread) %.2f ms, %.1f times; the last lane %s\n",
            t->rows, t->cols, n, 1e3 * all / (LANES_ROUNDS - LANES_FIRST),
            1e3 * all / (LANES_ROUNDS - LANES_FIRST) / n, 1e3 * one / (LANES_ROUNDS - LANES_FIRST),
            one * n / all, is_equal ? "equal" : "DIFFERENT");
        fflush(stdout);
        ops->close(&cpu[0]);
        for (int i = 0; i < n; i++)
            ops->close(&gpu[i]);
    }
    ml_data_close(here);
    ml_data_close(there);
    frame_close(f);
}

/* Rows and columns are odd numbers and below a warp on purpose; `few` is for a sanitizer, which is
 * hundreds of times slower. */
static const struct table small[] = {
    { ML_BINARY, 12, 1, 0, 1 },        { ML_REGRESSION, 33, 5, 0, 2 },
    { ML_BINARY, 2003, 17, 0, 3 },     { ML_MULTICLASS, 3001, 9, 5, 4 },
    { ML_REGRESSION, 4999, 40, 0, 5 },
};
static const struct table few[] = {
    { ML_BINARY, 12, 1, 0, 1 },
    { ML_REGRESSION, 601, 17, 0, 2 },
    { ML_MULTICLASS, 1201, 5, 3, 3 },
};
static const struct table large[] = {
    { ML_BINARY, 10000, 20, 0, 6 },
    { ML_BINARY, 100000, 50, 0, 7 },
    { ML_MULTICLASS, 100000, 50, 7, 8 },
    { ML_REGRESSION, 1000000, 50, 0, 9 },
};
static const struct table many[] = {
    { ML_BINARY, 5000, 20, 0, 10 },
    { ML_BINARY, 20000, 50, 0, 11 },
    { ML_REGRESSION, 100000, 50, 0, 12 },
};

/* A context for each case, because closing it prints what its kernels took. */
static void trace_run(const struct ml_ops *ops, int index)
{
    static const size_t shown[] = { 0, 1, 3, 4, 5 };
    struct err err = { 0 };

    for (size_t i = 1; i < ARRAY_LEN(large); i += 2) {
        struct frame *f = table_make(&large[i]);
        for (size_t k = 0; k < ARRAY_LEN(shown); k++) {
            struct ml_compute device = { .ops = ops, .ctx = ops->open(index, &err) };
            if (!device.ctx)
                must(-1, &err);
            case_run(&device, f, &large[i], &ways[shown[k]], 3, 1);
            ops->close(device.ctx);
        }
        frame_close(f);
    }
}

static void device_run(const struct ml_ops *ops, int index, const char *what)
{
    struct err err = { 0 };
    struct ml_compute device = { .ops = ops };

    if (strcmp(what, "trace") == 0) {
        trace_run(ops, index);
        return;
    }
    device.ctx = ops->open(index, &err);
    if (!device.ctx)
        must(-1, &err);
    if (strcmp(what, "few") == 0)
        tables_run(&device, few, ARRAY_LEN(few), ARRAY_LEN(ways), 2, 0);
    else if (strcmp(what, "bench") == 0)
        tables_run(&device, large, ARRAY_LEN(large), BENCH_WAYS, 21, 1);
    else if (strcmp(what, "check") == 0)
        tables_run(&device, small, ARRAY_LEN(small), ARRAY_LEN(ways), 3, 0);
    for (size_t i = 0; i < ARRAY_LEN(many) && strcmp(what, "lanes") == 0; i++)
        lanes_run(&device, &many[i]);
    ops->close(device.ctx);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "check";
    struct err err = { 0 };
    const struct ml_ops *ops = ml_cuda_open(&err);
    int n = 0;

    if (!ops) {
        printf("gpu-check: FAILED: %s\n", err.text);
        return 1;
    }
    must(ops->device_count(&n, &err), &err);
    if (strcmp(what, "count") == 0) {
        printf("%d\n", n);
        return 0;
    }
    if (n == 0) {
        puts("models: built and opened; no CUDA device here, parity on a device skipped");
        return 0;
    }
    for (int i = 0; i < n; i++)
        device_run(ops, i, what);
    printf("models: %s\n", failures ? "FAILED" : "every model equals the CPU's");
    return failures != 0;
}
