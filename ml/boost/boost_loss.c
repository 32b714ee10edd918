/* boost_loss.c - the losses that boosting lowers: the targets and first scores of a lane, the
 * gradients of a tree, leaf values, and the way from scores to predictions. The loss of a row with
 * score s:
 *
 *   logistic, softmax   minus the log likelihood of the class
 *   squared             (y - s)^2 / 2                                     y standardised
 *   absolute            |y - s| / 2, that is, quantile with alpha 0.5     y standardised
 *   quantile            alpha (y - s) above, (1 - alpha) (s - y) below    y standardised
 *   huber               squared up to d, then linear                      y standardised
 *   poisson             exp(s) - y s, for y >= 0                          y as it is
 *
 * Standardised means by the lane's training rows. Huber's d is the alpha quantile of |y - s| over
 * the training rows, taken anew in each round (Friedman, Greedy function approximation, 2001,
 * algorithm 4).
 *
 * Splits are chosen by first and second derivatives (1 where there is no second). A leaf's value is
 * then the best step for the loss itself: one Newton step for logistic, softmax and squared; the
 * quantile of the residuals for quantile; for Huber the median of the residuals plus the mean of
 * what is left, cut at d (the same paper); for Poisson log(sum y / sum exp s). Both penalties act
 * as on a Newton step v = -G / (H + l2): a leaf of n rows counts as G = -n v. Called by boost.c,
 * boost_round.c, boost_grow.c. */
#include "ml/boost/boost.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/grad.h"
#include "ml/family/family_params.h"
#include "ml/math/grad_math.h"
#include "ml/math/sort.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Multiclass: of rows whose |gradient| is below THIN, some are left out of a tree (ml/cpu/grad.h),
 * because in late rounds most rows are predicted with certainty and add little. 0.02 is 2 % of the
 * largest possible gradient; with it no loss of accuracy could be measured on letter, satimage and
 * covertype. Tables of fewer than THIN_ROWS training rows are not thinned. */
#define THIN      0.02f
#define THIN_ROWS 1000
/* the largest count that Poisson accepts as a target */
#define MOST_COUNT 1e15

static const struct {
    enum ml_task task;
    /* the leaf value is not a Newton step */
    bool is_refit;
} losses[] = {
    [BOOST_ABSOLUTE] = { ML_REGRESSION, true }, [BOOST_HUBER] = { ML_REGRESSION, true },
    [BOOST_SQUARED] = { ML_REGRESSION, false }, [BOOST_QUANTILE] = { ML_REGRESSION, true },
    [BOOST_POISSON] = { ML_REGRESSION, true },  [BOOST_LOGISTIC] = { ML_BINARY, false },
    [BOOST_SOFTMAX] = { ML_MULTICLASS, false },
};

bool boost_loss_suits(enum boost_loss loss, enum ml_task task)
{
    return loss > BOOST_AUTO && loss < BOOST_LOSSES && losses[loss].task == task;
}

bool boost_loss_is_refit(enum boost_loss loss)
{
    return losses[loss].is_refit;
}

enum boost_loss boost_loss_auto(enum ml_task task, enum metric_id metric)
{
    if (task != ML_REGRESSION)
        return task == ML_BINARY ? BOOST_LOGISTIC : BOOST_SOFTMAX;
    if (metric == METRIC_POISSON || metric == METRIC_TWEEDIE)
        return BOOST_POISSON; /* both ask for the mean, of a target that is never negative */
    if (metric_info(metric)->quantile > 0)
        return BOOST_QUANTILE;
    return metric == METRIC_MAE || metric == METRIC_MAPE ? BOOST_ABSOLUTE : BOOST_SQUARED;
}

/* Sets loss and alpha from the parameters; `auto` follows the task and the metric. Errors name the
 * parameter. */
static int loss_choose(struct boost_lane *l, const double *params, const struct ml_data *d,
                       struct err *err)
{
    char name[64];

    l->loss = (enum boost_loss)params[BOOST_OBJECTIVE];
    l->alpha = l->loss == BOOST_QUANTILE || l->loss == BOOST_HUBER ? params[BOOST_ALPHA] : 0.5;
    if (l->loss == BOOST_AUTO) {
        l->loss = boost_loss_auto(l->task, d->spec.metric);
        if (l->loss == BOOST_QUANTILE)
            l->alpha = metric_info(d->spec.metric)->quantile;
    }
    if (l->task == ML_REGRESSION && params[BOOST_CLASS_WEIGHT] > 0)
        return err_at(err, "class_weight", "balanced is for classes; the target is numeric");
    if (boost_loss_suits(l->loss, l->task))
        return 0;
    family_choice_name(&family_find("boost")->params[BOOST_OBJECTIVE], (int)l->loss, name,
                       sizeof name);
    return err_at(err, "objective", "%s does not suit a %s target", name,
                  l->task == ML_REGRESSION ? "numeric"
                  : l->task == ML_BINARY   ? "two-class"
                                           : "many-class");
}

/* ---- targets and first scores ---- */

/* Poisson: whether all training targets can be counts. */
static int counts_check(const struct boost_lane *l, const struct ml_data *d, struct err *err)
{
    for (int64_t i = 0; i < l->r.n_train; i++) {
        double y = d->y[l->r.train[i]];
        if (!(y >= 0 && y <= MOST_COUNT))
            return err_at(err, "objective",
                          "poisson needs a target of counts, from 0 to %g; row %" PRId32 " has %g",
                          MOST_COUNT, l->r.train[i] + 1, y);
    }
    return 0;
}

/* Poisson: the target as it is. Where all counts are 0, half a count stands for them, because log 0
 * is no score. */
static void counts_take(const struct ml_data *d, struct boost_lane *l)
{
    double sum = 0, all = 0;

    for (int64_t i = 0; i < l->r.n_train; i++) {
        l->y[l->r.train[i]] = (float)d->y[l->r.train[i]];
        sum += ml_data_weight(d, l->r.train[i]) * d->y[l->r.train[i]];
        all += ml_data_weight(d, l->r.train[i]);
    }
    l->y_mean = 0;
    l->y_scale = 1;
    l->base[0] = fm_log_d(fmax(sum, 0.5) / all);
}

/* The least of y - s up to which the rows have at least a share q of the weight; 0 without rows. In
 * word and number: room for n each. */
static double weighted_quantile(const struct boost_lane *l, double q, const int32_t *rows,
                                int64_t n, uint64_t *word, double *weight)
{
    double sum = 0;
    int64_t m = 0, i = 0;

    *weight = 0;
    for (int64_t j = 0; j < n; j++) {
        float e = l->y[rows[j]] - l->f[rows[j]];
        word[m] = (uint64_t)ml_key_f32(e) << 32 | fm_bits(l->w[rows[j]]);
        m += l->w[rows[j]] > 0.0f;
        *weight += (double)l->w[rows[j]];
    }
    if (m == 0 || ml_sort_u64(word, NULL, (size_t)m, NULL) < 0)
        return 0;
    for (; i < m - 1; i++) {
        sum += (double)fm_from_bits((uint32_t)word[i]);
        if (sum >= q * *weight)
            break;
    }
    return (double)ml_key_f32_value((uint32_t)(word[i] >> 32));
}

/* The weighted quantile of the targets, from which scores begin. The scores are 0 so far. */
static int weighted_base(struct boost_lane *l, double q, struct err *err)
{
    uint64_t *word = mem_try_alloc((size_t)l->r.n_train * sizeof *word);
    double weight;

    if (!word)
        return err_set(err, ERR_NOMEM, "boost: no memory for %" PRId64 " targets", l->r.n_train);
    memset(l->f, 0, (size_t)l->rows * sizeof *l->f);
    l->base[0] = weighted_quantile(l, q, l->r.train, l->r.n_train, word, &weight);
    mem_try_free(word);
    return 0;
}

/* The other losses of numbers: standardises the target. The first score is the mean, which is 0,
 * for squared error; else the quantile, or for Huber the median, of the targets. */
static int numbers_take(const struct ml_data *d, struct boost_lane *l, struct err *err)
{
    target_scale(d, &l->r, &l->y_mean, &l->y_scale);
    for (int64_t i = 0; i < l->r.n_train; i++) {
        int64_t row = l->r.train[i];
        l->y[row] = (float)(d->y[row] / l->y_scale - l->y_mean / l->y_scale);
    }
    if (!losses[l->loss].is_refit)
        return 0;
    double q = l->loss == BOOST_HUBER ? 0.5 : l->alpha;
    if (l->is_weighted)
        return weighted_base(l, q, err);
    uint32_t *key = mem_try_alloc((size_t)l->r.n_train * sizeof *key);
    if (!key)
        return err_set(err, ERR_NOMEM, "boost: no memory for %" PRId64 " targets", l->r.n_train);
    for (int64_t i = 0; i < l->r.n_train; i++)
        key[i] = ml_key_f32(l->y[l->r.train[i]]);
    l->base[0] = (double)ml_quantile(key, l->r.n_train, q);
    mem_try_free(key);
    return 0;
}

/* Sets the rows' weights by class: with is_balanced, n / (classes present * rows of the class), so
 * that all classes weigh the same. count: rows by class, or their weights. Also sets the limit of thinning, from the
 * lightest class. */
static void class_weights(struct boost_lane *l, const double *count, int k, bool is_balanced)
{
    double present = 0, least = 1, all = 0;

    for (int c = 0; c < k; c++)
        present += count[c] > 0;
    for (int c = 0; c < k; c++)
        all += count[c];
    for (int64_t i = 0; i < l->r.n_train && is_balanced; i++) {
        int32_t row = l->r.train[i];
        double w = all / (present * count[(int)l->y[row]]);
        l->w[row] = l->is_weighted ? (float)(w * (double)l->w[row]) : (float)w;
        least = fmin(least, (double)l->w[row]);
    }
    for (int64_t i = 0; i < l->r.n_train && l->is_weighted; i++)
        least = fmin(least, (double)l->w[l->r.train[i]]);
    l->thin = l->loss == BOOST_SOFTMAX && l->r.n_train >= THIN_ROWS ? THIN * (float)least : 0.0f;
}

/* Targets and first scores of classes. The first score is the log odds of class 1, or the logarithm
 * of each class's share, by the weighted training rows; half a row is added to each class, so that
 * no share is 0. */
static void classes_take(const struct ml_data *d, struct boost_lane *l, bool is_balanced)
{
    int k = MAX(2, l->outputs);
    double *count = mem_array((size_t)k * 2, sizeof *count), *sum = count + k, all = 0;

    for (int64_t i = 0; i < l->r.n_train; i++) {
        int32_t row = l->r.train[i];
        l->y[row] = (float)d->y[row];
        count[(int)d->y[row]] += ml_data_weight(d, row);
    }
    class_weights(l, count, k, is_balanced);
    grad_size(l->w, l->rows, &l->w_largest, &l->w_sum);
    for (int64_t i = 0; i < l->r.n_train; i++)
        sum[(int)l->y[l->r.train[i]]] += (double)l->w[l->r.train[i]];
    for (int c = 0; c < k; c++)
        all += sum[c];
    for (int c = 0; c < k; c++)
        sum[c] = (sum[c] + 0.5) / (all + 0.5 * k);
    l->base[0] = fm_log_d(sum[1] / sum[0]);
    for (int c = 0; c < k && l->outputs > 1; c++)
        l->base[c] = fm_log_d(sum[c]);
    mem_free(count);
}

int boost_loss_open(struct boost_lane *l, const double *params, const struct ml_data *d,
                    struct err *err)
{
    if (loss_choose(l, params, d, err) < 0 ||
        (l->loss == BOOST_POISSON && counts_check(l, d, err) < 0))
        return -1;
    if (l->loss == BOOST_POISSON)
        counts_take(d, l);
    else if (l->task != ML_REGRESSION)
        classes_take(d, l, params[BOOST_CLASS_WEIGHT] > 0);
    else
        return numbers_take(d, l, err);
    return 0;
}

/* ---- gradients ---- */

/* Huber's d: the alpha quantile of |y - s|. */
static float far_residual(const struct boost_lane *l, uint32_t *key)
{
    for (int64_t i = 0; i < l->r.n_train; i++)
        key[i] = ml_key_f32(fabsf(l->y[l->r.train[i]] - l->f[l->r.train[i]]));
    return ml_quantile(key, l->r.n_train, l->alpha);
}

void boost_loss_round(struct boost_work *wk, const struct boost_lane *l)
{
    if (l->loss == BOOST_LOGISTIC)
        grad_sigmoid(l->f, l->rows, wk->p);
    else if (l->loss == BOOST_SOFTMAX)
        grad_softmax(l->f, l->rows, l->rows, l->outputs, wk->p);
    else if (l->loss == BOOST_HUBER)
        wk->far = far_residual(l, (uint32_t *)wk->spare);
}

/* K / (K - 1), because the scores of K classes have one degree of freedom too many (Friedman 2001,
 * algorithm 6). */
float boost_loss_h_factor(const struct boost_lane *l)
{
    return l->loss == BOOST_SOFTMAX ? (float)l->outputs / (float)(l->outputs - 1) : 1.0f;
}

/* Gradients and words for one class. Both scales follow from the weights alone, because |g| and h
 * of a row are at most its weight. */
static void class_gradients(struct boost_work *wk, const struct boost_lane *l, int output,
                            struct grad_out *o)
{
    bool is_binary = l->loss == BOOST_LOGISTIC;

    o->g_scale = o->h_scale = grad_scale(l->w_largest, l->w_sum, l->r.n_train);
    o->thin = l->thin;
    grad_class(wk->p + output * l->rows, l->y, l->w, l->rows, is_binary ? 1.0f : (float)output,
               boost_loss_h_factor(l), o);
}

static void number_gradients(struct boost_work *wk, const struct boost_lane *l, struct grad_out *o)
{
    double largest, sum;

    switch (l->loss) {
    case BOOST_POISSON:
        grad_poisson(l->f, l->y, l->w, l->rows, wk->g, wk->h);
        break;
    case BOOST_HUBER:
        grad_huber(l->f, l->y, l->w, l->rows, wk->far, wk->g);
        break;
    case BOOST_SQUARED:
        grad_square(l->f, l->y, l->w, l->rows, wk->g);
        break;
    default:
        grad_quantile(l->f, l->y, l->w, l->rows, (float)l->alpha, wk->g);
    }
    if (l->loss != BOOST_POISSON)
        memcpy(wk->h, l->w, (size_t)l->rows * sizeof *wk->h);
    grad_size(wk->g, l->rows, &largest, &sum);
    o->g_scale = grad_scale(largest, sum, l->r.n_train);
    /* h = 1 counts rows */
    o->h_scale = 1.0f;
    if (l->loss == BOOST_POISSON || l->is_weighted) {
        grad_size(wk->h, l->rows, &largest, &sum);
        o->h_scale = grad_scale(largest, sum, l->r.n_train);
    }
    grad_quantise(l->rows, o);
}

void boost_loss_gradients(struct boost_work *wk, const struct boost_lane *l, int output,
                          uint64_t tree_seed)
{
    struct grad_out o = { .g = wk->g, .h = wk->h, .q = wk->q, .key = (uint32_t)tree_seed };

    if (l->task == ML_REGRESSION)
        number_gradients(wk, l, &o);
    else
        class_gradients(wk, l, output, &o);
    wk->g_scale = (double)o.g_scale;
    wk->h_scale = (double)o.h_scale;
}

/* ---- leaf values ---- */

/* The alpha quantile of the residuals of some rows; *weight: how many rows count, or their weight. A
 * row of weight 0 counts as absent. */
static double residual_quantile(const struct boost_work *wk, const struct boost_lane *l,
                                double alpha, const int32_t *rows, int64_t n, double *weight)
{
    uint32_t *key = (uint32_t *)wk->spare;
    int64_t m = 0;

    if (l->is_weighted)
        return weighted_quantile(l, alpha, rows, n, wk->word, weight);
    for (int64_t i = 0; i < n; i++) {
        key[m] = ml_key_f32(l->y[rows[i]] - l->f[rows[i]]);
        m += l->w[rows[i]] > 0.0f;
    }
    *weight = (double)m;
    return m ? (double)ml_quantile(key, m, alpha) : 0.0;
}

/* The median of the residuals plus the mean distance from it, cut at Huber's bound. */
static double residual_huber(const struct boost_work *wk, const struct boost_lane *l,
                             const int32_t *rows, int64_t n, double *weight)
{
    double middle = residual_quantile(wk, l, 0.5, rows, n, weight), far = (double)wk->far, sum = 0;
    int64_t units = 0;

    for (int64_t i = 0; i < n && l->is_weighted; i++)
        sum += (double)l->w[rows[i]] *
               (double)huber_units((double)(l->y[rows[i]] - l->f[rows[i]]) - middle, far);
    if (l->is_weighted)
        return *weight > 0 ? huber_step(middle, (int64_t)floor(sum + 0.5), far, *weight) : 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (l->w[rows[i]] > 0.0f)
            units += huber_units((double)(l->y[rows[i]] - l->f[rows[i]]) - middle, far);
    }
    return *weight > 0 ? huber_step(middle, units, far, *weight) : 0.0;
}

double boost_loss_step(const struct boost_work *wk, const struct boost_lane *l,
                       const int64_t sums[2])
{
    return leaf_step(sums[0], sums[1], wk->g_scale, wk->h_scale, l->p.l1, l->p.l2);
}

double boost_loss_leaf(const struct boost_work *wk, const struct boost_lane *l, const int32_t *rows,
                       int64_t n)
{
    double value, weight;
    int64_t sums[2];

    if (l->loss == BOOST_ABSOLUTE || l->loss == BOOST_QUANTILE) {
        value = residual_quantile(wk, l, l->alpha, rows, n, &weight);
        return leaf_refit(value, weight, l->p.l1, l->p.l2);
    }
    if (l->loss == BOOST_HUBER) {
        value = residual_huber(wk, l, rows, n, &weight);
        return leaf_refit(value, weight, l->p.l1, l->p.l2);
    }
    const struct grad_out in = {
        .g = wk->g, .h = wk->h, .g_scale = (float)wk->g_scale, .h_scale = (float)wk->h_scale
    };
    grad_leaf(&in, rows, n, sums);
    if (l->loss == BOOST_POISSON)
        return leaf_poisson(sums[0], sums[1], wk->g_scale, wk->h_scale, l->p.l1, l->p.l2);
    return boost_loss_step(wk, l, sums);
}

/* It pays where most rows of the table are in the tree, and their gradients leave the second-level
 * cache. work->spare holds a byte for each row of the table: the number of its leaf. */
bool boost_loss_leaves(struct boost_work *wk, const struct boost_lane *l)
{
    const struct grad_out in = {
        .g = wk->g, .h = wk->h, .g_scale = (float)wk->g_scale, .h_scale = (float)wk->h_scale
    };
    uint8_t *leaf = (uint8_t *)wk->spare;
    int64_t sums[GRAD_LEAVES + 1][2];
    int n = 0;

    if (boost_loss_is_refit(l->loss) || wk->n_leaves < 4 || wk->n_leaves > GRAD_LEAVES ||
        wk->n_rows < BOOST_SUM_ROWS || wk->n_rows * 2 < l->rows)
        return false;
    memset(leaf, GRAD_NO_LEAF, (size_t)l->rows);
    for (int i = 0; i < wk->n_nodes; i++) {
        const struct grow_node *nd = &wk->nodes[i];
        const int32_t *rows = wk->rows + nd->from;
        for (int32_t k = 0; nd->kid[0] < 0 && k < nd->n; k++)
            leaf[rows[k]] = (uint8_t)n;
        n += nd->kid[0] < 0;
    }
    grad_leaves(&in, leaf, l->rows, sums);
    n = 0;
    for (int i = 0; i < wk->n_nodes; i++) {
        if (wk->nodes[i].kid[0] < 0)
            memcpy(wk->nodes[i].sums, sums[n++], sizeof *sums);
    }
    return true;
}

/* ---- predictions ---- */

void boost_loss_predict(enum boost_loss loss, const struct boost_scores *s, int64_t n, float *out)
{
    float *f = s->f;

    if (loss == BOOST_LOGISTIC) {
        grad_sigmoid(f, n, out);
    } else if (loss == BOOST_SOFTMAX) {
        grad_softmax(f, s->stride, n, s->outputs, f);
        for (int64_t i = 0; i < n; i++) {
            for (int k = 0; k < s->outputs; k++)
                out[i * s->outputs + k] = f[k * s->stride + i];
        }
    } else if (loss == BOOST_POISSON) {
        for (int64_t i = 0; i < n; i++)
            out[i] = fm_exp(f[i]);
    } else {
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(s->mean + s->scale * (double)f[i]);
    }
}
