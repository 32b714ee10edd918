/* bench_boost.c - speed of boosting on a fixed synthetic table: 100,000 rows x 50 normal columns, a nonlinear binary target
 * with 10% of the labels flipped; 100 trees of depth 6 grown level by level, and of 31 leaves grown best first. Prints
 * seconds on one thread and updates per second, where an update is one row meeting one column in one histogram.
 *   bench_boost [rows] [columns] [trees] */
#include "base/clk.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/family/family_params.h"
#include "ml/model/data.h"
#include "ml/model/model.h"
#include "ml/model/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const struct err *err)
{
    fprintf(stderr, "bench_boost: %s\n", err->text);
    exit(1);
}

/* Column-major values; the target is the sign of a sum of products and steps of the first ten columns. */
static void table_write(const char *path, int64_t n, int cols)
{
    struct err err = { 0 };
    char hash[SHA256_HEX], name[16];
    struct frame_writer *w = frame_writer_new(path, &err);
    double *x = mem_alloc((size_t)(n * (cols + 1)) * sizeof *x), *y = x + n * cols;

    if (!w)
        die(&err);
    for (int c = 0; c < cols; c++) {
        struct rng r;
        rng_init(&r, 7, (uint64_t)c);
        for (int64_t i = 0; i < n; i++)
            x[c * n + i] = rng_normal(&r);
        snprintf(name, sizeof name, "x%d", c);
        if (frame_writer_numeric(w, name, x + c * n, n, &err) < 0)
            die(&err);
    }
    struct rng r;
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

static int64_t now_us(void)
{
    struct clk c;

    clk_init_system(&c);
    return clk_now_us(&c);
}

static void run(struct ml_data *d, const char *what, int leaves, int depth, bool is_depth_wise,
                int trees)
{
    const struct model_ops *ops = model_find("boost");
    struct lane l = { .fold = 0, .seed = 1, .level = 3, .max_steps = trees };
    struct err err = { 0 };
    double best = 1e30, score = 0, se = 0;
    int64_t held = 0;

    family_defaults(ops->family, l.params);
    l.params[BOOST_LEAVES] = leaves;
    l.params[BOOST_DEPTH] = depth;
    l.params[BOOST_GROW] = is_depth_wise;
    l.params[BOOST_MIN_LEAF] = 20;
    l.params[BOOST_ROW_SAMPLE] = l.params[BOOST_COL_SAMPLE] = 1;
    for (int64_t i = 0; i < d->rows; i++)
        held += d->fold[i] == 0;
    double *y = mem_alloc((size_t)held * sizeof *y);
    float *p = mem_alloc((size_t)held * sizeof *p);
    for (int64_t i = 0, n = 0; i < d->rows; i++) {
        if (d->fold[i] == 0)
            y[n++] = d->y[i];
    }
    for (int rep = 0; rep < 3; rep++) {
        int64_t before = now_us();
        l.steps_done = 0;
        l.is_done = false;
        if (ops->open(d, &l, &err) < 0 || ops->advance(d, &l, 1, trees, NULL, &err) < 0 ||
            ops->predict_held(d, &l, p, &err) < 0)
            die(&err);
        double s = (double)(now_us() - before) / 1e6;
        best = s < best ? s : best;
        ops->close(&l);
    }
    metric_score(METRIC_ACCURACY, ML_BINARY, p, y, held, 2, &score, &se, NULL);
    double updates = (double)(d->rows - held) * prep_inputs(d->prep) * trees *
                     (1 + 0.4 * (is_depth_wise ? depth : 5.0));
    printf("%-24s %7.3f s   %5.2f G updates/s (estimated)   held-out accuracy %.4f\n", what, best,
           updates / best / 1e9, score);
    mem_free(y);
    mem_free(p);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 100000;
    int cols = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 50,
        trees = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 100;
    char path[] = "/tmp/bench_boost_XXXXXX";
    struct err err = { 0 };
    int fd = mkstemp(path);

    if (fd < 0)
        return 1;
    close(fd);
    table_write(path, n, cols);
    struct frame *f = frame_open(path, &err);
    if (!f)
        die(&err);
    struct ml_data_spec spec = { .frame = f,
                                 .target = "y",
                                 .positive = "",
                                 .task = ML_BINARY,
                                 .metric = METRIC_ACCURACY,
                                 .folds = 20,
                                 .split_seed = 1 };
    struct ml_data *d = ml_data_open(&spec, &err);
    int64_t before = now_us();
    if (!d || !ml_data_bins(d, FOLD_ALL, 255, &err))
        die(&err);
    printf("%lld rows x %d columns, %d trees, one thread; binning %.3f s\n", (long long)n, cols,
           trees, (double)(now_us() - before) / 1e6);
    run(d, "depth 6, level by level", 64, 6, true, trees);
    run(d, "31 leaves, best first", 31, 16, false, trees);
    ml_data_close(d);
    frame_close(f);
    unlink(path);
    return 0;
}
