/* test_linear_l1.c - models with an L1 penalty: every point of a path satisfies the conditions of its minimum, computed
 * here by plain loops; planted columns are found; bits depend on the data alone. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"
#include "ml/cpu/simd.h"
#include "ml/linear/linear.h"
#include "ml/model/models.h"

#include <math.h>

enum { L1 = 1, ELASTIC = 2, RELAXED = 3 };

static const struct kase {
    enum ml_task task;
    int classes, rows, cols, penalty;
    bool weighted;
} cases[] = {
    /* from the Gram matrix */
    { ML_REGRESSION, 0, 300, 40, L1, false },
    { ML_REGRESSION, 0, 300, 40, ELASTIC, true },
    /* fewer rows than columns */
    { ML_REGRESSION, 0, 90, 200, L1, false },
    { ML_REGRESSION, 0, 90, 200, ELASTIC, true },
    { ML_BINARY, 2, 700, 30, L1, false },
    { ML_BINARY, 2, 80, 150, ELASTIC, false },
    { ML_BINARY, 2, 600, 20, L1, true },
    { ML_MULTICLASS, 3, 600, 25, L1, false },
    { ML_MULTICLASS, 9, 900, 9, ELASTIC, true },
    { ML_MULTICLASS, 4, 100, 130, L1, false },
    /* classes with sets of their own */
    { ML_MULTICLASS, 14, 120, 55, ELASTIC, false },
    /* nearly as many columns as rows: sweeps creep, and Newton's steps come between them */
    { ML_REGRESSION, 0, 400, 380, L1, false },
    { ML_REGRESSION, 0, 400, 380, ELASTIC, true },
    { ML_BINARY, 2, 400, 250, L1, false },
};

/* The others are slow. */
enum { QUICK = 10 };

static void settings(double *p, int penalty)
{
    family_defaults(family_find("linear"), p);
    p[LINEAR_PENALTY] = penalty;
    p[LINEAR_L1_RATIO] = 0.4;
}

/* The first five columns matter; some others are nearly copies of them. */
static struct rig *planted(const struct kase *k, uint64_t seed)
{
    struct rig_table *t = rig_table_new(k->rows);
    struct rng r;
    double *x[512] = { NULL }, *y;

    rng_init(&r, seed, 1);
    for (int c = 0; c < k->cols; c++) {
        x[c] = rig_numbers(t);
        for (int i = 0; i < k->rows; i++)
            x[c][i] = c % 7 == 6 ? x[c - 6][i] + 0.3 * rng_normal(&r) : rng_normal(&r) + c;
    }
    y = rig_numbers(t);
    if (!x[0] || !x[1] || !x[2] || !x[3] || !x[4])
        return NULL; /* the first five matter */
    for (int i = 0; i < k->rows; i++) {
        double z = 2 * (x[0][i] - 0) - 1.5 * (x[1][i] - 1) + (x[2][i] - 2) - (x[3][i] - 3) +
                   0.5 * (x[4][i] - 4) + rng_normal(&r);
        y[i] = k->task == ML_REGRESSION ? 1000 + 40 * z
               : k->classes == 2        ? z > 0.5
                                 : fmin(fmax(floor(z + k->classes / 2.0), 0), k->classes - 1);
    }
    struct rig *g = rig_new(t, k->task, metric_default(k->task), 3);
    if (k->weighted) {
        g->d->weight = mem_try_alloc((size_t)k->rows * sizeof(double));
        for (int i = 0; i < k->rows; i++)
            g->d->weight[i] = 0.5 + (i % 3) * 0.5;
    }
    return g;
}

/* Scores of a row by the weights of a point. */
static void scores(const struct linear_lane *l, const double *w, int64_t row, double *z)
{
    const float *x = l->x->x + row * l->x->stride;

    for (int k = 0; k < l->outputs; k++) {
        z[k] = w[(int64_t)l->cols * l->lanes + k];
        for (int j = 0; j < l->cols; j++)
            z[k] += (double)x[j] * w[(int64_t)j * l->lanes + k];
    }
}

/* The gradient of the losses at a point, [cols + 1][outputs], and their sum. */
static double gradient(const struct rig *r, const struct linear_lane *l, const double *w, double *g)
{
    double loss = 0, z[16] = { 0 };

    memset(g, 0, (size_t)((l->cols + 1) * l->outputs) * sizeof *g);
    for (int64_t i = 0; i < l->r.n_train; i++) {
        int64_t row = l->r.train[i];
        const float *x = l->x->x + row * l->x->stride;
        double v = r->d->weight ? r->d->weight[row] : 1, all = 0;
        scores(l, w, row, z);
        if (l->task == ML_REGRESSION) {
            double y = (r->d->y[row] - l->mean) / l->spread;
            loss += 0.5 * v * (z[0] - y) * (z[0] - y);
            z[0] -= y;
        } else if (l->outputs == 1) {
            double y = r->d->y[row];
            loss += v * (log1p(exp(-fabs(z[0]))) + fmax(z[0], 0) - y * z[0]);
            z[0] = 1 / (1 + exp(-z[0])) - y;
        } else {
            for (int k = 0; k < l->outputs; k++)
                all += exp(z[k]);
            loss += v * (log(all) - z[(int)r->d->y[row]]);
            for (int k = 0; k < l->outputs; k++)
                z[k] = exp(z[k]) / all - (k == (int)r->d->y[row]);
        }
        for (int j = 0; j <= l->cols; j++) {
            for (int k = 0; k < l->outputs; k++)
                g[j * l->outputs + k] += v * z[k] * (j < l->cols ? (double)x[j] : 1.0);
        }
    }
    return loss;
}

/* The conditions of Karush, Kuhn and Tucker, as far as a gap of a millionth of the objective lets a slope be off. */
static void assert_minimum(const struct rig *r, const struct linear_lane *l, int point,
                           double ratio)
{
    double *g = malloc((size_t)((l->cols + 1) * l->outputs) * sizeof *g), top = l->l1->top,
           lambda = top * linear_path_alpha(point + 1), l1 = lambda * ratio,
           l2 = lambda * (1 - ratio) / l->l1->spread, one = 0, two = 0, pen, gap = 0, square = 0,
           worst = 0, *w = l->path[point];
    double loss = gradient(r, l, w, g);

    for (int j = 0; j < l->cols; j++) {
        for (int k = 0; k < l->outputs; k++) {
            double v = w[(int64_t)j * l->lanes + k], s = g[j * l->outputs + k],
                   beyond = fmax(fabs(s) - l1, 0);
            one += fabs(v);
            two += v * v;
            gap += v * s;
            square += beyond * beyond;
            worst = fmax(worst, beyond);
            /* a weight pulls against its slope */
            assert_true(v == 0 || v * (s + l2 * v) <= 1e-3 * l1 * fabs(v));
        }
    }
    pen = l1 * one + 0.5 * l2 * two;
    gap += pen + fmin((loss + pen) / l1 * worst, l2 > 0 ? square / (2 * l2) : INFINITY);
    double least = (l->l1->n_sets > 1 ? 1e-2 : 1.1e-6) * (loss + pen);
    if (gap > least)
        print_error("point %d: gap %g of %g\n", point, gap, loss + pen);
    assert_true(gap <= least);
    for (int k = 0; k < l->outputs; k++)
        assert_true(fabs(g[l->cols * l->outputs + k]) <= 2e-3 * (double)l->r.n_train);
    free(g);
}

static void every_point_satisfies_its_conditions(void **state)
{
    int loose = 0;

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        const struct kase *k = &cases[c];
        struct rig *r = planted(k, c + 1);
        double params[FAMILY_MAX_PARAMS];
        settings(params, k->penalty);
        struct lane lane = rig_lane(r, "linear", params, 1, 16);
        const struct linear_lane *l = lane.state;
        assert_int_equal(lane.steps_done, 16);
        loose += l->l1->n_sets > 1;
        for (int64_t j = 0; j < (int64_t)l->cols * l->lanes; j++)
            assert_true(l->path[0][j] == 0);
        for (int point = 1; point < 16; point++)
            assert_minimum(r, l, point, k->penalty == L1 ? 1 : 0.4);
        rig_lane_close("linear", &lane);
        rig_free(r);
    }
    /* the last case of classes ends with a set for each */
    assert_int_equal(loose, 1);
}

/* A step with the curvature of the point before must find it as it was: one matrix of all classes, symmetric, with a positive
 * diagonal. Few steps then end a point (they were 66 where the curvature was spoilt). */
static void curvature_of_several_classes_serves_again(void **state)
{
    int joint = 0;

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        double params[FAMILY_MAX_PARAMS];
        if (cases[c].classes < 3)
            continue;
        struct rig *r = planted(&cases[c], c + 100);
        settings(params, cases[c].penalty);
        struct lane lane = rig_lane(r, "linear", params, 1, 0);
        const struct linear_lane *l = lane.state;
        for (int point = 0; point < 16; point++) {
            rig_lane_train(r, "linear", &lane, point + 1, NULL);
            const struct l1_set *s = l->l1->set;
            for (int i = 0; l->l1->n_sets == 1 && i < s->n; i++) {
                for (int j = 0; j <= i; j++)
                    assert_true(s->hess[i * s->room + j] == s->hess[j * s->room + i]);
                assert_true(s->hess[i * s->room + i] > 0);
            }
            joint += l->l1->n_sets == 1 && l->l1->is_stale;
            assert_true(l->l1->n_sets > 1 || l->l1->iteration < 12);
        }
        rig_lane_close("linear", &lane);
        rig_free(r);
    }
    assert_true(joint > 10);
}

/* With orthogonal columns the lasso is the least-squares solution drawn towards 0 by lambda / n. */
static void orthogonal_columns_are_known_by_hand(void **state)
{
    static const double sign[4][8] = { { 1, 1, 1, 1, -1, -1, -1, -1 },
                                       { 1, 1, -1, -1, 1, 1, -1, -1 },
                                       { 1, -1, 1, -1, 1, -1, 1, -1 },
                                       { 1, -1, -1, 1, 1, -1, -1, 1 } };
    static const double weight[4] = { 5, -3, 1, 0.2 };
    struct rig_table *t = rig_table_new(64);
    double *x[4], *y, params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int c = 0; c < 4; c++)
        x[c] = rig_numbers(t);
    y = rig_numbers(t);
    for (int i = 0; i < 64; i++) {
        y[i] = 7;
        for (int c = 0; c < 4; c++)
            y[i] += weight[c] * (x[c][i] = sign[c][i % 8]);
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    settings(params, L1);
    struct lane lane = rig_lane(r, "linear", params, FOLD_ALL, 10);
    const struct linear_lane *l = lane.state;
    for (int point = 0; point < 10; point++) {
        /* |gradient| of the first column is 5 x 64 at the start, so lambda / n = 5 alpha */
        double shrink = 5 * linear_path_alpha(point + 1);
        for (int c = 0; c < 4; c++) {
            double want = copysign(fmax(fabs(weight[c]) - shrink, 0), weight[c]);
            assert_float_equal(l->path[point][c] * l->spread, want, 1e-5);
        }
        assert_float_equal(l->path[point][4] * l->spread, 7, 1e-5);
    }
    rig_lane_close("linear", &lane);
    rig_free(r);
}

/* The case: a thousand columns of which ten matter. Ridge is far off, the lasso finds them. */
static void ten_columns_of_a_thousand_are_found(void **state)
{
    struct kase k = { ML_REGRESSION, 0, 500, 400, L1, false };
    double params[FAMILY_MAX_PARAMS], score[2];

    (void)state;
    struct rig *r = planted(&k, 77);
    for (int penalty = 0; penalty < 2; penalty++) {
        struct err err = { 0 };
        struct fit_result got;
        settings(params, penalty);
        struct fit_trial *t = fit_trial_open(r->d, family_find("linear"), params, 1, false, &err);
        assert_non_null(t);
        assert_int_equal(fit_trial_advance(t, 1, NULL, &err), 1);
        assert_int_equal(fit_trial_result(t, &got, &err), 0);
        score[penalty] = got.score;
        fit_trial_close(t);
    }
    /* the noise is 40 */
    assert_true(score[1] < 48 && score[0] > 60);
    rig_free(r);
}

static void assert_same_bytes(struct buf a, struct buf b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
}

/* The weights of a relaxed point are the mean of those that an L1 penalty leaves and of those that have next to no penalty
 * on the same columns; where rows are fewer than four for each, they are the former. */
static void relaxed_points_are_half_way_to_no_penalty(void **state)
{
    int relaxed = 0, left = 0;

    (void)state;
    for (size_t c = 0; c < QUICK; c++) {
        struct rig *r = planted(&cases[c], c + 80);
        double params[FAMILY_MAX_PARAMS], g[1024] = { 0 };
        settings(params, L1);
        struct lane plain = rig_lane(r, "linear", params, 1, 10);
        settings(params, RELAXED);
        struct lane lane = rig_lane(r, "linear", params, 1, 10);
        const struct linear_lane *l = lane.state, *p = plain.state;
        int64_t all = (int64_t)l->cols * l->lanes;
        double *second = mem_zalloc((size_t)(all + l->lanes) * sizeof *second);
        for (int point = 1; point < 10; point++) {
            const double *w = l->path[point], *from = p->path[point];
            double n = 0, far = 0;
            for (int64_t i = 0; i < all + l->lanes; i++) {
                second[i] = 2 * w[i] - from[i];
                n += i < all && from[i] != 0;
                far = fmax(far, i < all ? fabs(w[i] - from[i]) : 0);
            }
            if (n * 4.2 > p->n * l->outputs) {
                left += n * 3.8 > p->n * l->outputs && far < 1e-3;
                continue;
            }
            if (n * 3.8 > p->n * l->outputs)
                continue;
            relaxed += far > 1e-2;
            (void)gradient(r, l, second, g);
            for (int64_t i = 0; i < all; i++) {
                double slope = g[i / l->lanes * l->outputs + i % l->lanes] + 0.1 * second[i];
                if (i % l->lanes < l->outputs && from[i] != 0 && w[i] != 0)
                    assert_true(fabs(slope) < 0.01 * l->l1->top);
                else
                    assert_true(fabs(w[i]) < 0.02);
            }
        }
        mem_free(second);
        rig_lane_close("linear", &lane);
        rig_lane_close("linear", &plain);
        rig_free(r);
    }
    assert_true(relaxed > 40 && left > 0);
}

static void slicing_loading_and_company_change_no_bit(void **state)
{
    const struct model_ops *ops = model_find("linear");

    (void)state;
    for (size_t c = 0; c < 2 * QUICK; c++) {
        struct rig *r = planted(&cases[c % QUICK], c + 20);
        double params[FAMILY_MAX_PARAMS];
        struct rig_stop stop;
        struct err err = { 0 };
        settings(params, c < QUICK ? cases[c].penalty : RELAXED);
        struct lane whole = rig_lane(r, "linear", params, 0, 9),
                    cut = rig_lane(r, "linear", params, 0, 0),
                    late = rig_lane(r, "linear", params, 0, 0), three[3];
        rig_stop_init(&stop, test_seed(), 20);
        for (int tries = 0; cut.steps_done < 9 && tries < 100000; tries++) {
            rig_lane_train(r, "linear", &cut, 9, &stop.stop);
            rig_stop_next(&stop);
        }
        assert_same_bytes(rig_lane_bytes("linear", &whole, 9), rig_lane_bytes("linear", &cut, 9));
        struct buf b = rig_lane_bytes("linear", &whole, 5);
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        assert_int_equal(ops->load(r->d, &late, &in, &err), 0);
        buf_fini(&b);
        rig_lane_train(r, "linear", &late, 9, NULL);
        assert_same_bytes(rig_lane_bytes("linear", &whole, 9), rig_lane_bytes("linear", &late, 9));
        for (int f = 0; f < 3; f++) {
            three[f] = rig_lane(r, "linear", params, (f + 1) % 3, 0);
            three[f].max_steps = 9;
        }
        assert_int_equal(ops->advance(r->d, three, 3, 100, NULL, &err), 0);
        assert_same_bytes(rig_lane_bytes("linear", &whole, 9),
                          rig_lane_bytes("linear", &three[2], 9));
        for (int f = 0; f < 3; f++)
            rig_lane_close("linear", &three[f]);
        rig_lane_close("linear", &whole);
        rig_lane_close("linear", &cut);
        rig_lane_close("linear", &late);
        rig_free(r);
    }
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    enum simd_level best = simd_best();

    (void)state;
    if (best == SIMD_PLAIN)
        skip();
    for (size_t c = 0; c < 2 * QUICK; c++) {
        struct rig *r = planted(&cases[c % QUICK], c + 40);
        double params[FAMILY_MAX_PARAMS];
        settings(params, c < QUICK ? cases[c].penalty : RELAXED);
        simd_force(SIMD_PLAIN);
        struct lane plain = rig_lane(r, "linear", params, 0, 9);
        simd_force(best);
        struct lane fast = rig_lane(r, "linear", params, 0, 9);
        assert_same_bytes(rig_lane_bytes("linear", &plain, 9), rig_lane_bytes("linear", &fast, 9));
        rig_lane_close("linear", &fast);
        rig_lane_close("linear", &plain);
        rig_free(r);
    }
}

static void held_out_predictions_equal_inference(void **state)
{
    struct err err = { 0 };

    (void)state;
    for (size_t c = 0; c < QUICK; c++) {
        struct rig *r = planted(&cases[c], c + 60);
        int k = r->d->n_outputs, rows = cases[c].rows;
        double params[FAMILY_MAX_PARAMS];
        settings(params, cases[c].penalty);
        struct lane l = rig_lane(r, "linear", params, 0, 9);
        float *at = malloc((size_t)(rows * k) * sizeof *at);
        struct buf b = rig_lane_bytes("linear", &l, 6);
        float *all = rig_predict(r, "linear", &b);
        assert_int_equal(model_find("linear")->predict_held_at(r->d, &l, 6, at, &err), 0);
        for (int64_t i = 0, h = 0; i < rows; i++) {
            if (r->d->fold[i] == 0)
                assert_memory_equal(all + i * k, at + h++ * k, (size_t)k * sizeof *all);
        }
        buf_fini(&b);
        free(all);
        free(at);
        rig_lane_close("linear", &l);
        rig_free(r);
    }
}

/* More columns would have to take part than the sets have room for: the path ends, and a loaded lane knows it. */
static void a_path_that_needs_too_many_columns_ends(void **state)
{
    struct kase k = { ML_REGRESSION, 0, 1300, 1240, L1, false };
    struct rig_table *t = rig_table_new(k.rows);
    struct rng r;
    double params[FAMILY_MAX_PARAMS], *x[1240], *y;
    struct err err = { 0 };

    (void)state;
    rng_init(&r, 5, 5);
    for (int c = 0; c < k.cols; c++) {
        x[c] = rig_numbers(t);
        for (int i = 0; i < k.rows; i++)
            x[c][i] = rng_normal(&r);
    }
    y = rig_numbers(t);
    for (int c = 0; c < k.cols; c++) {
        for (int i = 0; i < k.rows; i++)
            y[i] += x[c][i];
    }
    struct rig *g = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    settings(params, L1);
    struct lane lane = rig_lane(g, "linear", params, FOLD_ALL, 25);
    struct linear_lane *l = lane.state;
    assert_int_equal(lane.steps_done, 25);
    assert_true(l->l1->is_full);
    assert_memory_equal(l->path[24], l->path[23], (size_t)k.cols * sizeof(double));
    struct buf b = rig_lane_bytes("linear", &lane, 24);
    struct lane late = rig_lane(g, "linear", params, FOLD_ALL, 0);
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    assert_int_equal(model_find("linear")->load(g->d, &late, &in, &err), 0);
    rig_lane_train(g, "linear", &late, 25, NULL);
    assert_same_bytes(rig_lane_bytes("linear", &lane, 25), rig_lane_bytes("linear", &late, 25));
    buf_fini(&b);
    rig_lane_close("linear", &lane);
    rig_lane_close("linear", &late);
    rig_free(g);
}

static void hard_tables_train(void **state)
{
    static const double scale[] = { 1e30, 1e300, 1e-300, 0.001 };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(scale); i++) {
        struct rig_table *t = rig_table_new(40);
        double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t),
               params[FAMILY_MAX_PARAMS];
        for (int k = 0; k < 40; k++) {
            x[k] = k * scale[i % ARRAY_LEN(scale)];
            z[k] = x[k]; /* the same column twice */
            y[k] = scale[i % ARRAY_LEN(scale)] * (k % 7);
        }
        struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
        settings(params, i % 2 ? L1 : ELASTIC);
        struct lane l = rig_lane(r, "linear", params, FOLD_ALL, 25);
        assert_int_equal(l.steps_done, 25);
        struct buf b = rig_lane_bytes("linear", &l, 25);
        float *p = rig_predict(r, "linear", &b);
        for (int k = 0; k < 40; k++)
            assert_false(isnan(p[k]));
        free(p);
        buf_fini(&b);
        rig_lane_close("linear", &l);
        rig_free(r);
    }
}

static void broken_bytes_are_refused_or_harmless(void **state)
{
    struct rig *r = planted(&cases[7], 3);
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    settings(params, L1);
    struct lane l = rig_lane(r, "linear", params, 0, 5);
    struct buf b = rig_lane_bytes("linear", &l, 5);
    rig_bytes_broken(r, "linear", ML_MULTICLASS, &b);
    buf_fini(&b);
    rig_lane_close("linear", &l);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_satisfies_its_conditions),
        cmocka_unit_test(curvature_of_several_classes_serves_again),
        cmocka_unit_test(relaxed_points_are_half_way_to_no_penalty),
        cmocka_unit_test(orthogonal_columns_are_known_by_hand),
        cmocka_unit_test(ten_columns_of_a_thousand_are_found),
        cmocka_unit_test(slicing_loading_and_company_change_no_bit),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(held_out_predictions_equal_inference),
        cmocka_unit_test(a_path_that_needs_too_many_columns_ends),
        cmocka_unit_test(hard_tables_train),
        cmocka_unit_test(broken_bytes_are_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
