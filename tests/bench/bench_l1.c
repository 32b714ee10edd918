/* bench_l1.c [FOLDER [CASE]] - linear paths with an L1 penalty: processor seconds up to each of 20 penalties. With a folder,
 * tables and solutions are left there for peers/l1.py, which fits the same ones with scikit-learn. */
#include "tests/ml/fit_rig.h"

#include "base/clk.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/linear/linear.h"
#include "ml/model/models.h"

#include <math.h>
#include <stdio.h>

enum { POINTS = 20 };

static const struct kase {
    const char *name;
    int classes, rows, cols, matter; /* classes 0: numbers */
} cases[] = {
    { "numbers-5000x50", 0, 5000, 50, 10 },     { "numbers-50000x30", 0, 50000, 30, 10 },
    { "numbers-1000x1000", 0, 1000, 1000, 10 }, { "classes-5000x50", 2, 5000, 50, 10 },
    { "classes-1000x300", 2, 1000, 300, 10 },
};

static struct rig *table(const struct kase *k)
{
    struct rig_table *t = rig_table_new(k->rows);
    double **x = mem_array((size_t)k->cols, sizeof *x), *y;
    struct rng r;

    rng_init(&r, 5, 1);
    for (int c = 0; c < k->cols; c++) {
        x[c] = rig_numbers(t);
        for (int i = 0; i < k->rows; i++)
            x[c][i] = rng_normal(&r) + (c ? 0.3 * x[c - 1][i] : 0);
    }
    y = rig_numbers(t);
    for (int i = 0; i < k->rows; i++) {
        double z = rng_normal(&r);
        for (int c = 0; c < k->matter; c++)
            z += (c % 2 ? 1 : -1) * x[c][i] / (1 + 0.3 * c);
        y[i] = k->classes ? z > 0 : z;
    }
    mem_free(x);
    return rig_new(t, k->classes ? ML_BINARY : ML_REGRESSION,
                   metric_default(k->classes ? ML_BINARY : ML_REGRESSION), 3);
}

static FILE *file(const char *folder, const char *name, const char *what)
{
    char path[500];

    snprintf(path, sizeof path, "%s/%s.%s", folder, name, what);
    FILE *f = fopen(path, "wb");
    CHECK(f);
    return f;
}

/* Columns as the lane sees them, its target, and after each penalty: seconds, the penalty, weights and intercept. */
static void leave(const char *folder, const struct kase *k, const struct rig *r,
                  const struct linear_lane *l, const double *seconds)
{
    FILE *x = file(folder, k->name, "x"), *y = file(folder, k->name, "y"),
         *w = file(folder, k->name, "w");

    for (int64_t i = 0; i < l->r.n_train; i++) {
        int64_t row = l->r.train[i];
        double t = k->classes ? r->d->y[row] : (r->d->y[row] - l->mean) / l->spread;
        fwrite(l->x->x + row * l->x->stride, sizeof(float), (size_t)l->cols, x);
        fwrite(&t, sizeof t, 1, y);
    }
    for (int p = 0; p < POINTS; p++) {
        double lambda = l->l1->top * linear_path_alpha(p + 1);
        fwrite(&seconds[p], sizeof(double), 1, w);
        fwrite(&lambda, sizeof lambda, 1, w);
        for (int j = 0; j <= l->cols; j++)
            fwrite(&l->path[p][(int64_t)j * l->lanes], sizeof(double), 1, w);
    }
    fclose(x);
    fclose(y);
    fclose(w);
}

int main(int argc, char **argv)
{
    struct clk clk;

    clk_init_system(&clk);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct kase *k = &cases[i];
        if (argc > 2 && strcmp(argv[2], k->name) != 0)
            continue;
        double params[FAMILY_MAX_PARAMS], seconds[POINTS];
        struct rig *r = table(k);
        family_defaults(family_find("linear"), params);
        params[LINEAR_PENALTY] = 1;
        struct lane lane = rig_lane(r, "linear", params, FOLD_ALL, 0);
        const struct linear_lane *l = lane.state;
        int64_t from = clk_cpu_us(&clk);
        for (int p = 0; p < POINTS; p++) {
            rig_lane_train(r, "linear", &lane, p + 1, NULL);
            seconds[p] = 1e-6 * (double)(clk_cpu_us(&clk) - from);
        }
        int in = 0;
        for (int j = 0; j < l->cols; j++)
            in += l->path[POINTS - 1][(int64_t)j * l->lanes] != 0;
        printf(
            "%-18s %2d penalties to %.5f of the largest, %3d of %d columns in: %.4f s, half of them %.4f s\n",
            k->name, POINTS, linear_path_alpha(POINTS), in, l->cols, seconds[POINTS - 1],
            seconds[POINTS / 2 - 1]);
        if (argc > 1)
            leave(argv[1], k, r, l, seconds);
        rig_lane_close("linear", &lane);
        rig_free(r);
    }
    return 0;
}
