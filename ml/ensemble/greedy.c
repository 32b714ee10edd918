/* greedy.c - greedy selection of models (greedy.h).
 *
 * What a loss needs of the used rows is copied once: of the log loss the probability of the class
 * that came, of the others the values themselves. A look at one more model is then one pass over two
 * arrays. */
#include "ml/ensemble/greedy.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* PRODUCT: probabilities multiplied before a logarithm is taken; each is at least LEAST_P.
 * FAST_ROWS, SLOW_ROWS: rows times models that a loss of one or several nanoseconds a row is worth.
 * AUC_BINS: places on the curve at most; they are fine where predictions are many. */
enum { PRODUCT = 16, AUC_BINS = 512, AUC_GRID = 1 << 16, FAST_ROWS = 240000, SLOW_ROWS = 24000 };
#define LEAST_P 1e-15
/* a relative gain below this is rounding */
#define NO_GAIN 1e-12

enum loss { LOSS_LOG, LOSS_BRIER, LOSS_AUC, LOSS_NUMBER };

/* The used rows as the loss sees them. */
struct rows {
    enum loss loss;
    enum metric_id metric;
    double quantile;
    int64_t n;
    /* floats a row of a model's array */
    int width;
    /* [n] */
    double *y;
    /* [n] what a row counts; NULL = all alike */
    double *weight;
    /* sum of the weights */
    double all;
    /* [models][n][width] */
    float **p;
    int n_models;
    /* LOSS_AUC: the bin of each place of a grid from 0 to 1 */
    uint16_t *bin;
    double *bins; /* [folds][n_bins][2] */
    int n_bins, folds;
    uint8_t *fold;    /* [n] */
    uint8_t *is_flat; /* [models] it ranks no row of a fold over another; NULL = not asked */
};

/* ---- losses ---- */

static enum loss loss_of(const struct predictions *p)
{
    switch (p->metric) {
    case METRIC_BRIER:
        return LOSS_BRIER;
    case METRIC_AUC:
        return p->task == ML_BINARY && p->held.n >= GREEDY_FEW_ROWS ? LOSS_AUC : LOSS_LOG;
    default:
        return p->task == ML_REGRESSION ? LOSS_NUMBER : LOSS_LOG;
    }
}

/* LANES sums side by side, so that a loop over them needs one instruction where there are wide ones.
 * They are added up in one order, whatever the machine has. */
enum { LANES = 8 };

static double lanes_sum(const double lane[LANES])
{
    double all = 0;

    for (int l = 0; l < LANES; l++)
        all += lane[l];
    return all;
}

static double log_row(const struct rows *r, const float *sum, const float *p, float share,
                      int64_t i)
{
    double q = fmax((double)((sum[i] + p[i]) * share), LEAST_P);

    return (r->weight ? r->weight[i] : 1) * fm_log_d(q);
}

/* The sum of logarithms as the logarithm of products, which is much faster. */
static double log_sum(const struct rows *r, const float *sum, const float *p, float share)
{
    double total = 0;
    int64_t i = 0;

    for (; !r->weight && i + LANES * PRODUCT <= r->n; i += LANES * PRODUCT) {
        double product[LANES];
        for (int l = 0; l < LANES; l++)
            product[l] = 1;
        for (int t = 0; t < PRODUCT; t++) {
            for (int l = 0; l < LANES; l++) {
                int64_t at = i + t * LANES + l;
                double q = (double)((sum[at] + p[at]) * share);
                product[l] *= q > LEAST_P ? q : LEAST_P;
            }
        }
        for (int l = 0; l < LANES; l++)
            total += fm_log_d(product[l]);
    }
    for (; i < r->n; i++)
        total += log_row(r, sum, p, share, i);
    return total;
}

static double brier_sum(const struct rows *r, const float *sum, const float *p, float share)
{
    double total = 0;

    for (int64_t i = 0; i < r->n; i++) {
        double row = 0;
        for (int c = 0; c < r->width; c++) {
            double is = r->y[i] == (r->width == 1 ? 1 : c);
            double e = (double)((sum[i * r->width + c] + p[i * r->width + c]) * share) - is;
            row += e * e;
        }
        total += r->weight ? r->weight[i] * row : row;
    }
    return total;
}

/* The loss of one row by the metrics of numbers that are not squared errors. */
static double number_loss(const struct rows *r, double y, double p)
{
    double e = y - p, least = fmax(p, METRIC_LEAST_COUNT), root;

    switch (r->metric) {
    case METRIC_MAE:
        return fabs(e);
    case METRIC_MAPE:
        return fabs(e) / fmax(fabs(y), 0x1p-52);
    case METRIC_RMSLE:
        e = fm_log_d(1 + fmax(y, 0)) - fm_log_d(1 + fmax(p, 0));
        return e * e;
    case METRIC_POISSON:
        return (y > 0 ? -y * fm_log_d(least) : 0) + least;
    case METRIC_TWEEDIE:
        root = sqrt(least);
        e = sqrt(fmax(y, 0)) - root;
        return e * e / root;
    default:
        return fmax(r->quantile * e, (r->quantile - 1) * e);
    }
}

static double number_sum(const struct rows *r, const float *sum, const float *p, float share)
{
    bool is_square = r->metric == METRIC_RMSE || r->metric == METRIC_R2;
    double lane[LANES] = { 0 }, total;
    int64_t i = 0;

    for (; is_square && !r->weight && i + LANES <= r->n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            double e = (double)((sum[i + l] + p[i + l]) * share) - r->y[i + l];
            lane[l] += e * e;
        }
    }
    total = lanes_sum(lane);
    for (; i < r->n; i++) {
        double q = (double)((sum[i] + p[i]) * share), e = q - r->y[i],
               row = is_square ? e * e : number_loss(r, r->y[i], q);
        total += r->weight ? r->weight[i] * row : row;
    }
    return total;
}

/* 1 less the mean area of the folds; predictions in one bin count as equal. Folds are ranked apart,
 * because their models differ in level. */
static double auc_loss(const struct rows *r, const float *sum, const float *p, float share)
{
    double *bins = r->bins, area = 0, all = 0;

    memset(bins, 0, 2 * (size_t)(r->n_bins * r->folds) * sizeof *bins);
    for (int64_t i = 0; i < r->n; i++) {
        float q = (sum[i] + p[i]) * share;
        int at = (int)(fminf(fmaxf(q, 0), 1) * (float)(AUC_GRID - 1));
        bins[2 * (r->fold[i] * r->n_bins + r->bin[at]) + (r->y[i] > 0)] +=
            r->weight ? r->weight[i] : 1;
    }
    for (int f = 0; f < r->folds; f++) {
        double below = 0, pairs = 0, above = 0;
        for (int b = 0; b < r->n_bins; b++, bins += 2) {
            pairs += bins[1] * (below + bins[0] / 2);
            below += bins[0];
            above += bins[1];
        }
        if (below > 0 && above > 0) {
            area += (below + above) * pairs / (below * above);
            all += below + above;
        }
    }
    return all > 0 ? 1 - area / all : 0;
}

/* The loss of the mean of `count` models: those in sum, and p. */
static double look(const struct rows *r, const float *sum, const float *p, int count)
{
    float share = 1.0f / (float)count;

    switch (r->loss) {
    case LOSS_LOG:
        return -log_sum(r, sum, p, share) / r->all;
    case LOSS_BRIER:
        return brier_sum(r, sum, p, share) / r->all;
    case LOSS_AUC:
        return auc_loss(r, sum, p, share);
    default:
        return number_sum(r, sum, p, share) / r->all;
    }
}

int64_t greedy_most_rows(const struct predictions *p, int n_models)
{
    bool is_fast = loss_of(p) == LOSS_LOG || p->metric == METRIC_RMSE || p->metric == METRIC_R2;

    return (is_fast ? FAST_ROWS : SLOW_ROWS) / MAX(n_models, 1);
}

/* ---- the rows ---- */

static bool is_used(const struct greedy *g, int64_t i)
{
    return !g->use || g->use[i];
}

/* Balanced log loss is log loss with the rows of a class weighted by 1 / their number. */
static void balance(struct rows *r, int classes)
{
    double *size = mem_zalloc((size_t)classes * sizeof *size);

    for (int64_t i = 0; i < r->n; i++)
        size[(int)r->y[i]] += r->weight[i];
    for (int64_t i = 0; i < r->n; i++)
        r->weight[i] /= size[(int)r->y[i]];
    mem_free(size);
}

static void copy_model(struct rows *r, const struct greedy *g, const struct predictions *m,
                       float *out)
{
    const struct predicted_rows *h = &m->held;

    for (int64_t i = 0, at = 0; i < h->n; i++) {
        if (!is_used(g, i))
            continue;
        if (r->loss == LOSS_LOG)
            out[at] = m->task == ML_MULTICLASS ? h->p[i * m->outputs + (int64_t)h->y[i]]
                      : h->y[i] > 0            ? h->p[i]
                                               : 1.0f - h->p[i];
        else
            memcpy(out + at * r->width, h->p + i * m->outputs, (size_t)r->width * sizeof *out);
        at++;
    }
}

/* Bins that hold about equally many predictions of all models. */
static void bins_make(struct rows *r)
{
    double *count = mem_zalloc(AUC_GRID * sizeof *count), all = 0, seen = 0;

    for (int m = 0; m < r->n_models; m++) {
        for (int64_t i = 0; i < r->n; i++) {
            int at = (int)(fminf(fmaxf(r->p[m][i], 0), 1) * (float)(AUC_GRID - 1));
            count[at]++;
        }
    }
    /* a place without predictions of one model may have means of several */
    for (int i = 0; i < AUC_GRID; i++)
        all += count[i] += 0.25 * (double)r->n / AUC_GRID;
    for (int i = 0; i < AUC_GRID; i++) {
        r->bin[i] = (uint16_t)MIN(seen / all * r->n_bins, r->n_bins - 1);
        seen += count[i];
    }
    mem_free(count);
}

/* A model whose predictions are equal within each fold, such as a path of penalties that was cut before
 * its first column came in, leaves every rank as it is. But it moves the others' mean to other bins, and
 * that looked like a gain: such a model had .17 of the weight. */
static bool is_flat(const struct rows *r, const float *p)
{
    float first[UINT8_MAX + 1];
    uint8_t has[UINT8_MAX + 1] = { 0 };

    for (int64_t i = 0; i < r->n; i++) {
        int f = r->fold[i];
        if (has[f] && p[i] != first[f])
            return false;
        first[f] = p[i];
        has[f] = 1;
    }
    return true;
}

/* Marks flat models, if there are others. */
static void flat_mark(struct rows *r)
{
    int n = 0;

    r->is_flat = mem_zalloc((size_t)r->n_models);
    for (int m = 0; m < r->n_models; m++)
        n += r->is_flat[m] = is_flat(r, r->p[m]);
    if (n == r->n_models)
        memset(r->is_flat, 0, (size_t)n);
}

static void rows_fini(struct rows *r)
{
    for (int m = 0; r->p && m < r->n_models; m++)
        mem_try_free(r->p[m]);
    mem_free(r->p);
    mem_try_free(r->y);
    mem_try_free(r->weight);
    mem_free(r->bin);
    mem_free(r->bins);
    mem_free(r->fold);
    mem_free(r->is_flat);
}

static int rows_init(struct rows *r, const struct greedy *g, struct err *err)
{
    const struct predictions *a = g->models[0];
    bool balanced = a->metric == METRIC_BALANCED_LOGLOSS, weighs = a->held.weight || balanced;

    *r = (struct rows){ .loss = loss_of(a),
                        .metric = a->metric,
                        .quantile = metric_info(a->metric)->quantile,
                        .n_models = g->n_models };
    r->width = r->loss == LOSS_BRIER ? a->outputs : 1;
    for (int64_t i = 0; i < a->held.n; i++)
        r->n += is_used(g, i);
    r->p = mem_zalloc((size_t)g->n_models * sizeof *r->p);
    r->y = mem_try_alloc((size_t)(r->n + 1) * sizeof *r->y);
    r->weight = weighs ? mem_try_alloc((size_t)(r->n + 1) * sizeof *r->weight) : NULL;
    bool has_all = r->y && (r->weight || !weighs);
    for (int m = 0; m < g->n_models && has_all; m++) {
        r->p[m] = mem_try_alloc((size_t)(r->n * r->width + 1) * sizeof **r->p);
        has_all = r->p[m] != NULL;
    }
    if (!has_all)
        return err_set(err, ERR_NOMEM, "no memory to combine %d models of %lld rows", g->n_models,
                       (long long)r->n);
    for (int64_t i = 0, at = 0; i < a->held.n; i++) {
        if (!is_used(g, i))
            continue;
        r->y[at] = a->held.y[i];
        if (r->weight)
            r->weight[at] = a->held.weight ? a->held.weight[i] : 1;
        at++;
    }
    if (balanced)
        balance(r, a->classes);
    for (int64_t i = 0; i < r->n; i++)
        r->all += r->weight ? r->weight[i] : 1;
    for (int m = 0; m < g->n_models; m++)
        copy_model(r, g, g->models[m], r->p[m]);
    if (r->loss == LOSS_AUC) {
        r->bin = mem_array(AUC_GRID, sizeof *r->bin);
        r->n_bins = (int)MIN(r->n / a->folds + 1, AUC_BINS);
        r->folds = a->folds;
        r->bins = mem_array(2 * (size_t)(r->n_bins * r->folds), sizeof *r->bins);
        r->fold = mem_array((size_t)r->n + 1, 1);
        for (int64_t i = 0, at = 0; i < a->held.n; i++) {
            if (is_used(g, i))
                r->fold[at++] = a->held.fold[i];
        }
        bins_make(r);
        flat_mark(r);
    }
    return 0;
}

/* ---- the way ---- */

/* Whether a beats b beyond rounding. */
static bool is_less(double a, double b)
{
    return a < b - NO_GAIN * fabs(b);
}

/* One run. count[m]: how often model m stands in the best mean of the way; returns how many models that
 * mean has, with repeats. */
static int run(const struct rows *r, const struct greedy *g, float *sum, int *count)
{
    int added[GREEDY_MOST_MODELS] = { 0 }, order[256], n = 0, best_n = 0, different = 0;
    int steps = MIN(g->steps, (int)ARRAY_LEN(order));
    double best = INFINITY;

    memset(sum, 0, (size_t)(r->n * r->width) * sizeof *sum);
    while (n < steps) {
        double least = INFINITY;
        int next = -1;
        for (int m = 0; m < r->n_models; m++) {
            if ((different >= g->most && !added[m]) || (r->is_flat && r->is_flat[m]))
                continue;
            double v = look(r, sum, r->p[m], n + 1);
            if (next < 0 || is_less(v, least)) {
                least = v;
                next = m;
            }
        }
        if (next < 0)
            break;
        different += !added[next];
        added[next]++;
        order[n++] = next;
        for (int64_t i = 0; i < r->n * r->width; i++)
            sum[i] += r->p[next][i];
        if (best_n == 0 || is_less(least, best)) {
            best = least;
            best_n = n;
        } else if (n - best_n >= 5 && n >= 2 * best_n) {
            break; /* no better mean for long */
        }
    }
    for (int i = 0; i < best_n; i++)
        count[order[i]]++;
    return best_n;
}

/* Keeps the heaviest models, and makes the weights add up to 1. */
static void weights_trim(double *weight, int n, int most)
{
    double all = 0;

    for (;;) {
        int kept = 0, least = -1;
        for (int m = 0; m < n; m++) {
            kept += weight[m] > 0;
            if (weight[m] > 0 && (least < 0 || weight[m] <= weight[least]))
                least = m;
        }
        if (kept <= most)
            break;
        weight[least] = 0;
    }
    for (int m = 0; m < n; m++)
        all += weight[m];
    for (int m = 0; m < n; m++)
        weight[m] /= all;
}

/* Marks a random half of the rows that g uses. */
static void half(const struct greedy *g, struct rng *rng, uint8_t *use)
{
    for (int64_t i = 0; i < g->models[0]->held.n; i++)
        use[i] = (!g->use || g->use[i]) && (rng_u32(rng) & 1);
}

/* Adds the weights of one run on these rows. */
static int run_add(const struct greedy *g, double *weight, struct err *err)
{
    int count[GREEDY_MOST_MODELS] = { 0 };
    struct rows r;
    int rc = rows_init(&r, g, err);
    float *sum = rc == 0 ? mem_try_alloc((size_t)(r.n * r.width + 1) * sizeof *sum) : NULL;

    if (rc == 0 && !sum)
        rc = err_set(err, ERR_NOMEM, "no memory to combine models");
    int n = rc == 0 ? run(&r, g, sum, count) : 0;
    for (int m = 0; m < g->n_models && n > 0; m++)
        weight[m] += (double)count[m] / n;
    mem_try_free(sum);
    rows_fini(&r);
    return rc;
}

int greedy_select(const struct greedy *g, double *weight, struct err *err)
{
    struct greedy part = *g;
    struct rng rng;
    uint8_t *use = mem_try_alloc((size_t)g->models[0]->held.n + 1);

    CHECK(g->n_models >= 1 && g->n_models <= GREEDY_MOST_MODELS && g->most >= 1 && g->steps >= 1);
    memset(weight, 0, (size_t)g->n_models * sizeof *weight);
    if (!use)
        return err_set(err, ERR_NOMEM, "no memory to combine models");
    rng_init(&rng, g->seed, 0);
    int rc = run_add(g, weight, err);
    for (int bag = 0; bag < g->bags && rc == 0; bag++) {
        half(g, &rng, use);
        part.use = use;
        rc = run_add(&part, weight, err);
    }
    if (rc == 0)
        weights_trim(weight, g->n_models, g->most);
    mem_try_free(use);
    return rc;
}
