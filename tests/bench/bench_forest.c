/* bench_forest.c - speed of growing trees of random forests and extra trees, without what a family does around them:
 * processor seconds a tree, nodes, held-out accuracy (a twentieth of the rows). The table: columns of normal numbers, a
 * nonlinear target of two classes with 10% of the labels flipped; or a frame, whose target has classes. Trees are grown to
 * their end, sqrt(columns) a node.
 *   bench_forest [rows] [columns] [trees]        bench_forest FRAME TARGET [trees] */
#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/forest/forest.h"
#include "ml/model/data.h"
#include "ml/model/target.h"
#include "ml/prep/prep_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FOLDS = 20 };

static void die(const struct err *err)
{
    fprintf(stderr, "bench_forest: %s\n", err->text);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The target is the sign of a sum of products and steps of the first ten columns. */
static void table_write(const char *path, int64_t n, int cols)
{
    struct err err = { 0 };
    char hash[SHA256_HEX], name[16];
    struct frame_writer *w = frame_writer_new(path, &err);
    double *x = mem_array((size_t)n * ((size_t)cols + 1), sizeof *x), *y = x + n * cols;
    struct rng r;

    if (!w)
        die(&err);
    for (int c = 0; c < cols; c++) {
        rng_init(&r, 7, (uint64_t)c);
        for (int64_t i = 0; i < n; i++)
            x[c * n + i] = (double)(float)rng_normal(&r);
        snprintf(name, sizeof name, "x%d", c);
        if (frame_writer_numeric(w, name, x + c * n, n, &err) < 0)
            die(&err);
    }
    rng_init(&r, 7, 1000000);
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int c = 0; c + 1 < cols && c < 10; c += 2)
            s += x[c * n + i] * x[(c + 1) * n + i] + (x[c * n + i] > 0.5 ? 1.0 : -0.3);
        y[i] = (s > 0) != (rng_unit(&r) < 0.1);
    }
    if (frame_writer_numeric(w, "y", y, n, &err) < 0 || frame_writer_end(w, hash, &err) < 0)
        die(&err);
    mem_free(x);
}

/* ---- trees ---- */

struct bench {
    struct ml_data *d;
    const struct prep_bins *bins;
    struct rf_data train;
    int32_t *held;
    int64_t n_held;
};

static struct bench bench_open(struct ml_data *d)
{
    struct err err = { 0 };
    struct bench b = { .d = d, .bins = ml_data_bins(d, FOLD_ALL, 255, &err) };
    int32_t *at = mem_array((size_t)d->rows, sizeof *at),
            *y = mem_array((size_t)d->rows, sizeof *y);

    if (!b.bins)
        die(&err);
    b.held = mem_array((size_t)d->rows, sizeof *b.held);
    b.train = (struct rf_data){ .by_row = b.bins->bins,
                                .stride = b.bins->stride,
                                .at = at,
                                .cols = b.bins->cols,
                                .n_bins = b.bins->n_bins,
                                .is_categorical = b.bins->is_categorical,
                                .n_classes = d->n_classes,
                                .y = y };
    for (int64_t i = 0; i < d->rows; i++) {
        if (d->fold[i] == 0) {
            b.held[b.n_held++] = (int32_t)i;
            continue;
        }
        y[b.train.rows] = (int32_t)d->y[i];
        at[b.train.rows++] = (int32_t)i;
    }
    return b;
}

static int leaf_of(const struct rf_tree *t, const uint8_t *x)
{
    int at = 0;

    while (t->nodes[at].left) {
        const struct rf_node *nd = &t->nodes[at];
        uint8_t v = x[nd->col];
        bool is_left = nd->set >= 0      ? t->sets[nd->set][v >> 6] >> (v & 63) & 1
                       : v == RF_MISSING ? nd->missing_left
                                         : v <= nd->bin;
        at = nd->left + !is_left;
    }
    return at;
}

static void sums_add(const struct bench *b, const struct rf_tree *t, double *sums)
{
    int outputs = rf_outputs(&b->train);

    for (int64_t i = 0; i < b->n_held; i++) {
        const float *v =
            t->values +
            (ptrdiff_t)leaf_of(t, b->bins->bins + b->held[i] * b->bins->stride) * outputs;
        for (int k = 0; k < outputs; k++)
            sums[i * outputs + k] += (double)v[k];
    }
}

static double accuracy(const struct bench *b, const double *sums, int trees)
{
    int outputs = rf_outputs(&b->train);
    int64_t hits = 0;

    for (int64_t i = 0; i < b->n_held; i++) {
        int best = outputs == 1 && sums[i] > 0.5 * trees;
        for (int k = 1; k < outputs; k++)
            best = sums[i * outputs + k] > sums[i * outputs + best] ? k : best;
        hits += best == (int)b->d->y[b->held[i]];
    }
    return (double)hits / (double)b->n_held;
}

static void run(const struct bench *b, bool is_extra, int trees)
{
    struct rf_params p = { .criterion = RF_GINI,
                           .is_extra = is_extra,
                           .is_bootstrap = !is_extra,
                           .max_samples = 1,
                           .n_visit = (int)sqrt(b->train.cols),
                           .max_depth = INT32_MAX,
                           .min_split = 2,
                           .min_leaf = 1 };
    struct err err = { 0 };
    struct rf_work *w = rf_work_new(&b->train, &p, &err);
    double *sums = mem_zalloc((size_t)b->n_held * (size_t)rf_outputs(&b->train) * sizeof *sums);
    double took = 0;
    int64_t nodes = 0;

    if (!w)
        die(&err);
    for (int t = 0; t < trees; t++) {
        struct rf_tree tree;
        double before = now();
        if (rf_grow(w, 1, t, NULL, &tree) != 1)
            die(&err);
        took += now() - before;
        nodes += tree.n;
        sums_add(b, &tree, sums);
        rf_tree_fini(&tree);
    }
    printf("%-14s %8.4f s a tree   %8lld nodes   %6.1f ns a row   held-out accuracy %.4f\n",
           is_extra ? "extra trees" : "random forest", took / trees, (long long)(nodes / trees),
           took / trees / (double)b->train.rows * 1e9, accuracy(b, sums, trees));
    mem_free(sums);
    rf_work_free(w);
}

int main(int argc, char **argv)
{
    bool is_own = argc < 2 || strtoll(argv[1], NULL, 10) > 0;
    int64_t n = is_own && argc > 1 ? strtoll(argv[1], NULL, 10) : 100000;
    int cols = is_own && argc > 2 ? (int)strtol(argv[2], NULL, 10) : 50,
        trees = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 10;
    char path[] = "/tmp/bench_forest_XXXXXX";
    struct err err = { 0 };
    enum ml_task task = ML_BINARY;

    if (is_own) {
        int fd = mkstemp(path);
        if (fd < 0)
            return 1;
        close(fd);
        table_write(path, n * FOLDS / (FOLDS - 1), cols);
    }
    struct frame *f = frame_open(is_own ? path : argv[1], &err);
    if (!f || ml_task_infer(f, is_own ? "y" : argv[2], &task, &err) < 0)
        die(&err);
    struct ml_data_spec spec = { .frame = f,
                                 .target = is_own ? "y" : argv[2],
                                 .positive = "",
                                 .task = task,
                                 .metric = METRIC_ACCURACY,
                                 .folds = FOLDS,
                                 .split_seed = 1 };
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d)
        die(&err);
    struct bench b = bench_open(d);
    printf("%lld rows x %d columns, %d trees, one thread\n", (long long)b.train.rows, b.train.cols,
           trees);
    run(&b, false, trees);
    run(&b, true, trees);
    mem_free((void *)(uintptr_t)b.train.at);
    mem_free((void *)(uintptr_t)b.train.y);
    mem_free(b.held);
    ml_data_close(d);
    frame_close(f);
    if (is_own)
        unlink(path);
    return 0;
}
