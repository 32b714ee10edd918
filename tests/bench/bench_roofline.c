/* bench_roofline.c - how near the training of trees comes to what this machine can do: the peaks of micro kernels, then for
 * boosting, random forests and extra trees on tables of several shapes the work of the fit, the least time that this work
 * can take (the roofline), the time that it took, and the share. See roofline/README.md for how a bound is made.
 *
 * Boosting is counted where it calls its kernels. The work of a forest is read from the trees that it grew: a node looks
 * at sqrt(columns) columns of its rows, and the rows of its children that grow on move to either side. A forest adds each
 * bin that it looks at to a histogram where a node has more than 64 rows; in smaller nodes, and for random cuts, it must at
 * least read it. Processor seconds, one thread.
 *   bench_roofline                    all shapes          bench_roofline NAME       those whose name holds it
 *   bench_roofline FRAME TARGET       a table of classes as it is */
#include "base/base.h"
#include "base/mem.h"
#include "ml/family/family_params.h"
#include "ml/forest/forest.h"
#include "ml/model/data.h"
#include "ml/model/model.h"
#include "ml/model/models.h"
#include "ml/model/target.h"
#include "ml/prep/prep_private.h"
#include "tests/bench/roofline/counts.h"
#include "tests/bench/roofline/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* REPEATS: fits, of which the fastest is said. FEW_ROWS: a node of so many is searched without histograms. */
enum { REPEATS = 3, FEW_ROWS = 64 };

static _Noreturn void die(const struct err *err)
{
    fprintf(stderr, "bench_roofline: %s\n", err->text);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- boosting ---- */

struct growth {
    const char *name;
    int leaves, depth;
    bool is_depth_wise;
    int rounds;
};

/* One fit of all rows; processor seconds. */
static double boost_fit(struct ml_data *d, const struct growth *g)
{
    const struct model_ops *ops = model_find("boost");
    struct lane l = { .fold = FOLD_ALL, .seed = 1, .level = 3, .max_steps = g->rounds };
    struct err err = { 0 };

    family_defaults(ops->family, l.params);
    l.params[BOOST_LEAVES] = g->leaves;
    l.params[BOOST_DEPTH] = g->depth;
    l.params[BOOST_GROW] = g->is_depth_wise;
    l.params[BOOST_MIN_LEAF] = 1;
    l.params[BOOST_ROW_SAMPLE] = l.params[BOOST_COL_SAMPLE] = 1;
    if (ops->open(d, &l, &err) < 0)
        die(&err);
    double before = now();
    if (ops->advance(d, &l, 1, g->rounds, NULL, &err) < 0 || l.failed)
        die(l.failed ? &l.why : &err);
    double took = now() - before;
    ops->close(&l);
    return took;
}

static void bound_print(double took, const struct bound *b)
{
    printf("roofline %.3f s, share %.0f %% (%.0f %% by the medians of the peaks)\n", b->best,
           100 * b->best / took, 100 * b->median / took);
}

static void line_print(const char *name, double share_of_time, double took, double bound,
                       double units, const char *unit, double cycle)
{
    printf("    %-20s %4.0f %%  %8.3f s  roofline %8.3f s  share %4.0f %%", name,
           100 * share_of_time, took, bound, 100 * bound / took);
    if (units > 0)
        printf("   %9.1f M %s, %5.2f cycles each (least %4.2f)", units / 1e6, unit,
               took / units / cycle, bound / units / cycle);
    putchar('\n');
}

/* The time of a phase is its share of the fit that was counted, times the processor time of the fastest one: whatever else
 * ran meanwhile is spread over all phases alike. */
static void boost_print(const struct growth *g, const struct phase_count *phases, double best,
                        double ticks_all, const struct peaks *p)
{
    struct bound all = { 0, 0 };
    double rest = ticks_all;

    for (int k = 0; k < PHASES; k++) {
        all.best += phases[k].bound.best;
        all.median += phases[k].bound.median;
    }
    printf("  boosting, %s, %d rounds: %.3f s, ", g->name, g->rounds, best);
    bound_print(best, &all);
    for (int k = 0; k < PHASES; k++) {
        const struct phase_count *c = &phases[k];
        double share = c->took / ticks_all;
        rest -= c->took;
        line_print(c->name, share, share * best, c->bound.best, c->units, c->unit, p->cycle);
    }
    printf("    %-20s %4.0f %%  %8.3f s\n", "all else", 100 * rest / ticks_all,
           rest / ticks_all * best);
}

static void boost_run(struct ml_data *d, const struct growth *g, const struct peaks *p)
{
    double best = boost_fit(d, g);

    for (int i = 1; i < REPEATS && best < 5; i++)
        best = MIN(best, boost_fit(d, g));
    counts_start(p);
    double began = counts_ticks();
    boost_fit(d, g);
    double all = counts_ticks() - began;
    boost_print(g, counts_stop(), best, all, p);
}

/* ---- forests ---- */

/* The table as a forest takes it; the arrays are the caller's. */
static struct rf_data forest_data(struct ml_data *d, int32_t *at, int32_t *y)
{
    struct err err = { 0 };
    const struct prep_bins *b = ml_data_bins(d, FOLD_ALL, 255, &err);

    if (!b)
        die(&err);
    for (int64_t i = 0; i < d->rows; i++) {
        at[i] = (int32_t)i;
        y[i] = (int32_t)d->y[i];
    }
    return (struct rf_data){ .by_row = b->bins,
                             .stride = b->stride,
                             .at = at,
                             .rows = d->rows,
                             .cols = b->cols,
                             .n_bins = b->n_bins,
                             .is_categorical = b->is_categorical,
                             .n_classes = d->n_classes,
                             .y = y };
}

struct forest_work {
    int64_t nodes;
    double added, read, moved;
    /* seconds, at least */
    struct bound add_bound, read_bound, move_bound;
};

static void bound_add(struct bound *b, double units, const struct peak *each)
{
    b->best += units * each->best;
    b->median += units * each->median;
}

/* A row that moves: its bins and its weights column by column, or its number and its word (forest_columns.c,
 * forest_grow.c). */
static void tree_work(const struct rf_tree *t, const struct rf_data *d, const struct rf_params *prm,
                      const struct peaks *p, struct forest_work *w)
{
    bool by_column = rf_columns_fit(d);
    int row_bytes = d->cols + (d->n_classes == 2 ? 2 : 1);

    for (int i = 0; i < t->n; i++) {
        double n = t->nodes[i].rows, looked = n * prm->n_visit;
        if (t->nodes[i].left == 0)
            continue;
        w->nodes++;
        if (!prm->is_extra && n > FEW_ROWS) {
            w->added += looked;
            bound_add(&w->add_bound, looked, &p->add);
        } else {
            w->read += looked;
            bound_add(&w->read_bound, looked, &p->read[peak_level_of(p, (int64_t)looked)]);
        }
        if (i == 0)
            continue;
        w->moved += n;
        if (by_column)
            bound_add(&w->move_bound, n * row_bytes, &p->part_byte);
        else
            bound_add(&w->move_bound, n, &p->part_row);
    }
}

static double forest_fit(const struct rf_data *d, const struct rf_params *prm, int trees,
                         const struct peaks *p, struct forest_work *sums)
{
    struct err err = { 0 };
    struct rf_work *w = rf_work_new(d, prm, &err);
    double took = 0;

    if (!w)
        die(&err);
    for (int i = 0; i < trees; i++) {
        struct rf_tree t;
        double before = now();
        if (rf_grow(w, 1, i, NULL, &t) != 1)
            die(&err);
        took += now() - before;
        if (sums)
            tree_work(&t, d, prm, p, sums);
        rf_tree_fini(&t);
    }
    rf_work_free(w);
    return took;
}

static void forest_run(const struct rf_data *d, bool is_extra, int trees, const struct peaks *p)
{
    struct rf_params prm = { .criterion = RF_GINI,
                             .is_extra = is_extra,
                             .is_bootstrap = !is_extra,
                             .max_samples = 1,
                             .n_visit = (int)sqrt(d->cols),
                             .max_depth = INT32_MAX,
                             .min_split = 2,
                             .min_leaf = 1 };
    struct forest_work w = { 0 };
    double best = forest_fit(d, &prm, trees, p, &w);

    for (int i = 1; i < REPEATS && best < 5; i++)
        best = MIN(best, forest_fit(d, &prm, trees, p, NULL));
    struct bound all = { w.add_bound.best + w.read_bound.best + w.move_bound.best,
                         w.add_bound.median + w.read_bound.median + w.move_bound.median };
    printf("  %s, %d trees: %.3f s, ", is_extra ? "extra trees" : "forest", trees, best);
    bound_print(best, &all);
    printf("    at least: %.1f M additions %.3f s, %.1f MB of bins only read %.3f s, %.1f M rows "
           "moved %.3f s\n    %.2f M nodes that split; each takes %.0f ns more than its bound\n",
           w.added / 1e6, w.add_bound.best, w.read / 1e6, w.read_bound.best, w.moved / 1e6,
           w.move_bound.best, (double)w.nodes / 1e6, (best - all.best) / (double)w.nodes * 1e9);
}

/* ---- tables ---- */

/* Whole numbers of more than two values are classes here. */
static struct ml_data *data_open(const struct frame *f, const char *target)
{
    struct err err = { 0 };
    enum ml_task task = ML_BINARY;

    if (ml_task_infer(f, target, &task, &err) < 0)
        die(&err);
    if (task == ML_REGRESSION)
        task = ML_MULTICLASS;
    struct ml_data_spec spec = { .frame = f,
                                 .target = target,
                                 .positive = "",
                                 .task = task,
                                 .metric = METRIC_ACCURACY,
                                 .folds = 2,
                                 .split_seed = 1 };
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d)
        die(&err);
    return d;
}

static void table_run(const char *path, const char *target, const char *name, int rounds, int trees,
                      const struct peaks *p)
{
    const struct growth growths[] = { { "depth 6", 64, 6, true, rounds },
                                      { "31 leaves", 31, 64, false, rounds } };
    struct err err = { 0 };
    struct frame *f = frame_open(path, &err);

    if (!f)
        die(&err);
    struct ml_data *d = data_open(f, target);
    int32_t *at = mem_array((size_t)d->rows, sizeof *at),
            *y = mem_array((size_t)d->rows, sizeof *y);
    struct rf_data rf = forest_data(d, at, y);
    printf("\n%s: %lld rows x %d columns, %d classes\n", name, (long long)d->rows, rf.cols,
           d->n_classes);
    for (size_t i = 0; i < ARRAY_LEN(growths); i++)
        boost_run(d, &growths[i], p);
    for (int is_extra = 0; is_extra < 2 && trees > 0; is_extra++)
        forest_run(&rf, is_extra, trees, p);
    fflush(stdout);
    mem_free(at);
    mem_free(y);
    ml_data_close(d);
    frame_close(f);
}

static void shape_run(const struct shape *s, int rounds, int trees, const struct peaks *p)
{
    char path[] = "/tmp/bench_roofline_XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0)
        exit(1);
    close(fd);
    shape_write(s, path);
    table_run(path, "y", s->name, rounds, trees, p);
    unlink(path);
}

int main(int argc, char **argv)
{
    static const struct {
        struct shape s;
        int rounds, trees;
    } all[] = {
        { { "100k x 50", 100000, 50, 2, 0 }, 50, 10 },
        { { "like covertype", 112500, 12, 7, 0 }, 30, 20 },
        { { "like letter", 15000, 16, 26, 16 }, 30, 20 },
        { { "1m x 50", 1000000, 50, 2, 0 }, 20, 2 },
    };
    struct peaks p;

    peaks_measure(&p);
    if (argc == 3) {
        table_run(argv[1], argv[2], argv[1], 50, 20, &p);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (argc < 2 || strstr(all[i].s.name, argv[1]))
            shape_run(&all[i].s, all[i].rounds, all[i].trees, &p);
    }
    return 0;
}
