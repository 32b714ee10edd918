/* fit_power.c - how much surer the mean of a trial's fold models should be than it is
 * (ml/adjust/power.h), found out when the model file is written.
 *
 * No row is kept back from all fold models, so rows are made that none of them has seen: a training
 * row with a quarter of its columns from other training rows, drawn by a hash of the split seed, the
 * row and the column. Every model predicts them, one in memory at a time. Called by fit_ship.c. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/adjust/power.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* "power": keeps these draws apart from the split's own */
#define POWER_KEY 0x706f776572ull
/* MADE_ROWS: at most so many. A column is another row's with a chance of 1 in OTHERS. */
enum { MADE_ROWS = 1000, OTHERS = 4 };

/* ---- made rows ---- */

/* The n-th of all rows that the trial's folds hold out, which are its training rows. */
static int32_t training_row(const struct fit_trial *t, int64_t n)
{
    int fold = 0;

    while (n >= t->rows[fold].n_held)
        n -= t->rows[fold++].n_held;
    return t->rows[fold].held[n];
}

/* Of which row of the table each column of each made row is: [columns][n]. At least one column is of
 * another row. */
static void make_rows(const struct fit_trial *t, int64_t n, int columns, int32_t *out)
{
    uint64_t seed = rng_mix(t->d->spec.split_seed, POWER_KEY);
    uint64_t rows = 0;
    uint32_t drawn[4];

    for (int f = 0; f < t->folds; f++)
        rows += (uint64_t)t->rows[f].n_held;
    for (int64_t i = 0; i < n; i++) {
        rng_at(seed, 0, 1, (uint64_t)i, drawn);
        int32_t base = training_row(t, (int64_t)((rows * drawn[0]) >> 32));
        int others = 0;
        for (int c = 0; c < columns; c++) {
            rng_at(seed, (uint32_t)c, 0, (uint64_t)i, drawn);
            bool is_other = drawn[0] % OTHERS == 0 || (c == columns - 1 && others == 0);
            others += is_other;
            out[c * n + i] = is_other ? training_row(t, (int64_t)((rows * drawn[1]) >> 32)) : base;
        }
    }
}

/* ---- the models on them ---- */

struct made {
    struct bag_rows bag;
    int64_t n;
    int32_t *rows;
    double *mean, *mean_log, *entropy, *x; /* x: one row */
    float *p;
    struct prep_view *view;
};

static void made_free(struct made *m)
{
    prep_view_free(m->view);
    mem_try_free(m->rows);
    mem_try_free(m->mean);
    mem_try_free(m->mean_log);
    mem_try_free(m->entropy);
    mem_try_free(m->x);
    mem_try_free(m->p);
}

static int made_init(struct made *m, const struct fit_trial *t, struct err *err)
{
    const struct ml_data *d = t->d;
    int columns = prep_columns(d->prep);
    size_t k = (size_t)d->n_classes, values;

    m->n = MAX(MIN(MIN(MADE_ROWS, ADJUST_MADE_VALUES / (int64_t)k), d->rows), 1);
    values = (size_t)m->n * k;
    m->rows = mem_try_alloc((size_t)m->n * ((size_t)columns + 1) * sizeof *m->rows);
    m->mean = mem_try_zalloc(values * sizeof *m->mean);
    m->mean_log = mem_try_zalloc(values * sizeof *m->mean_log);
    m->entropy = mem_try_zalloc((size_t)m->n * sizeof *m->entropy);
    m->x = mem_try_alloc(k * sizeof *m->x);
    m->p = mem_try_alloc(values * sizeof *m->p);
    if (!m->rows || !m->mean || !m->mean_log || !m->entropy || !m->x || !m->p)
        return err_set(err, ERR_NOMEM, "no memory to compare the models of folds");
    m->view = prep_view_new(d->prep, d->spec.frame, err);
    if (!m->view)
        return -1;
    make_rows(t, m->n, columns, m->rows);
    prep_view_mix(m->view, m->rows, m->n);
    m->bag = (struct bag_rows){ .n = m->n,
                                .classes = (int)k,
                                .mean = m->mean,
                                .mean_log = m->mean_log,
                                .entropy = m->entropy };
    return 0;
}

/* Adds what one of `of` models says. */
static int model_add(struct made *m, const struct fit_trial *t, const struct buf *model, int of,
                     const struct adjust *a, struct err *err)
{
    const struct ml_data *d = t->d;
    struct view in = { (const uint8_t *)model->data, model->len, 0 };
    struct predictor *p = t->ops->predictor_load(d->prep, d->n_outputs, d->spec.task, &in, err);
    int rc = p ? t->ops->predict(p, m->view, 0, m->n, m->p, err) : -1;
    int k = d->n_classes;

    if (p)
        t->ops->predictor_free(p);
    if (rc < 0)
        return -1;
    adjust_probabilities(a, m->p, m->n);
    for (int64_t i = 0; i < m->n; i++) {
        adjust_class_logs(m->p + i * d->n_outputs, d->n_outputs, k, m->x);
        for (int c = 0; c < k; c++) {
            double q = fm_exp_d(m->x[c]);
            m->mean[i * k + c] += q / of;
            m->mean_log[i * k + c] += m->x[c] / of;
            m->entropy[i] -= q * m->x[c] / of;
        }
    }
    return 0;
}

/* ---- held-out rows ---- */

/* Held-out rows as they are predicted and calibrated. */
static int held_take(struct fit_sample *s, const struct fit_trial *t, const struct fit_run *r,
                     int folds, const struct adjust *a, struct err *err)
{
    int64_t rows = 0;

    for (int f = 0; f < folds; f++)
        rows += t->rows[f].n_held;
    int64_t every = rows * t->d->n_classes / ADJUST_HELD_VALUES + 1;
    if (fit_sample_take(s, t, r, folds, every, err) < 0)
        return -1;
    adjust_probabilities(a, s->p, s->rows.n);
    return 0;
}

int fit_power(const struct fit_trial *t, const struct fit_run *r, int n, const struct buf *models,
              struct adjust *a, struct err *err)
{
    struct frame_image image;
    struct made m = { 0 };
    struct fit_sample s = { 0 };
    double power = 1;

    a->power = 0;
    if (t->d->spec.task == ML_REGRESSION || n < 2 || prep_image(t->d->prep, &image))
        return 0;
    int rc = made_init(&m, t, err);
    for (int i = 0; i < n && rc == 0; i++)
        rc = model_add(&m, t, &models[i], n, a, err);
    if (rc == 0)
        rc = held_take(&s, t, r, n, a, err);
    if (rc == 0)
        rc = adjust_power(&m.bag, &s.rows, &power, err);
    a->power = rc == 0 && power > 1 ? power : 0;
    made_free(&m);
    fit_sample_free(&s);
    return rc;
}
