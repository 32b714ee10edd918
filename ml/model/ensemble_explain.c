/* ensemble_explain.c - explains an ensemble by what explains its members: the importance of columns, and
 * what each column adds to the prediction of a row. Called by artifact.c. */
#include "base/mem.h"
#include "ml/adjust/pool.h"
#include "ml/math/fmath.h"
#include "ml/model/artifact_private.h"
#include "ml/model/explain_adjust.h"

#include <math.h>
#include <string.h>

/* Probabilities are kept away from 0 and 1 by this, where their log-odds are taken. */
#define LEAST_P 1e-12
/* below this distance the secant is replaced by the tangent */
#define NEAR 1e-9
/* beyond this score nothing is left of a rate */
#define MOST_SCORE 700.0
/* values that add up to a probability do so but for the rounding of float */
#define SHARE_NEAR 1e-3

/* Members of families that explain nothing (networks) are left out, and the others count in their
 * proportions. If no member can, the error of the first stands. */
int ensemble_importance(const struct artifact *a, double *out, struct err *err)
{
    const struct ensemble *e = a->ensemble;
    double *one = mem_array((size_t)e->n_columns + 1, sizeof *one), known = 0;
    struct err why = { 0 };
    int rc = 0;

    memset(out, 0, (size_t)e->n_columns * sizeof *out);
    for (int m = 0; m < e->n && rc == 0; m++) {
        int n = prep_columns(ensemble_prep(e, m));
        double sum = 0;
        rc = artifact_importance(e->file[m], one, &why);
        if (rc < 0 && why.code == ERR_CONFLICT) {
            rc = 0;
            continue;
        }
        known += fabs(e->weight[m]);
        for (int c = 0; c < n && rc == 0; c++)
            sum += one[c];
        /* only shares can be compared between models */
        for (int c = 0; c < n && rc == 0 && sum > 0; c++)
            out[e->at[m][c]] += fabs(e->weight[m]) * one[c] / sum;
    }
    mem_free(one);
    for (int c = 0; c < e->n_columns && known > 0; c++)
        out[c] /= known;
    return rc < 0 || known == 0 ? err_set(err, why.code, "%s", why.text) : 0;
}

static double log_odds(double p, double least)
{
    p = fmin(fmax(p, least), 1 - least);
    return fm_log_d(p) - fm_log_d(1 - p);
}

/* What a member predicts where its values add up to this score. */
static double predicted(const struct artifact *m, enum explain_link link, double score)
{
    const struct target_unit *u = &m->info.unit;

    if (link == EXPLAIN_SAME)
        return score;
    score = fmin(fmax(score, -MOST_SCORE), MOST_SCORE);
    if (link == EXPLAIN_LOG)
        return u->kind == TARGET_LOG ? u->smear * fm_exp_d(score) - u->by : fm_exp_d(score);
    return fm_sigmoid_d(score);
}

/* Adds the values of one member of one row, in the unit of its prediction: scaled by how much the
 * prediction moves per unit of its score (the rescale rule of explain_bag.h). */
static void member_add(const struct ensemble *e, int m, enum explain_link link, double shift,
                       double weight, const double *one, double *out)
{
    int n = prep_columns(ensemble_prep(e, m));
    double by = 0, rate = 1, base = one[n];

    for (int c = 0; c < n; c++)
        by += one[c];
    double whole = ensemble_limited(e, predicted(e->file[m], link, base + by) - shift);
    bool is_plain = link == EXPLAIN_SAME && whole == base + by - shift;
    if (!is_plain) {
        double step = fabs(by) < NEAR ? 1e-4 : by;
        base = ensemble_limited(e, predicted(e->file[m], link, one[n]) - shift) + shift;
        rate = (ensemble_limited(e, predicted(e->file[m], link, one[n] + step) - shift) + shift -
                base) /
               step;
    }
    for (int c = 0; c < n; c++)
        out[e->at[m][c]] += weight * rate * one[c];
    out[e->n_columns] += weight * base;
}

/* The same for one class of several, whose scores before softmax go together: where the values do not
 * add up to the probability itself, they are scaled by its slope at the row, and the base is what is
 * left. p: the member's probability. */
static void class_add(const struct ensemble *e, int m, double weight, const double *one, double p,
                      double *out)
{
    int n = prep_columns(ensemble_prep(e, m));
    double by = 0;

    for (int c = 0; c < n; c++)
        by += one[c];
    bool is_share = fabs(one[n] + by - p) < SHARE_NEAR;
    double rate = is_share ? 1 : p * (1 - p), base = is_share ? one[n] : p - rate * by;
    for (int c = 0; c < n; c++)
        out[e->at[m][c]] += weight * rate * one[c];
    out[e->n_columns] += weight * base;
}

/* From probabilities to their log-odds, which is what models of two classes are mostly explained in.
 * They are kept away from 0 and 1 by `least`. Where the base is no probability (rest_to_base), the
 * slope at the row counts. */
static void to_log_odds(double *row, int n, double least)
{
    double by = 0, base = row[n];

    for (int c = 0; c < n; c++)
        by += row[c];
    double p = fmin(fmax(base + by, least), 1 - least), whole = log_odds(p, least),
           rate = 1 / (p * (1 - p));
    if (fabs(by) >= NEAR && base > LEAST_P && base < 1 - LEAST_P)
        rate = (whole - log_odds(base, least)) / by;
    for (int c = 0; c < n; c++)
        row[c] *= rate;
    row[n] = whole - rate * by;
}

/* The base becomes what is left of the row's prediction. */
static void rest_to_base(double *row, int n, double whole)
{
    for (int c = 0; c < n; c++)
        whole -= row[c];
    row[n] = whole;
}

/* The probability that the row is explained for, of p[n][outputs]; of numbers the value. */
static double explained(const struct artifact *a, const struct explain_rows *rows, int64_t i,
                        const float *p)
{
    return (double)p[i * a->n_outputs + (a->n_outputs > 1 ? rows->of[i] : 0)];
}

/* Some members of a mean were left out: the values of the others are brought to the weight of all. */
static void mean_end(const struct artifact *a, const struct explain_rows *rows, double known,
                     const float *p, double *out)
{
    int n = a->ensemble->n_columns;

    for (int64_t i = 0; i < rows->n; i++, out += n + 1) {
        for (int c = 0; c < n; c++)
            out[c] /= known;
        rest_to_base(out, n, explained(a, rows, i, p) + target_shift(&a->info.unit));
    }
}

/* Log-odds were added up. Those of two classes stay, of one class of several they become its
 * probability by the slope at the row; what members say that were left out is in the base. */
static void pool_explain_end(const struct artifact *a, const struct explain_rows *rows,
                             const float *p, double *out)
{
    int n = a->ensemble->n_columns;

    for (int64_t i = 0; i < rows->n; i++, out += n + 1) {
        double q = explained(a, rows, i, p), rate = a->n_outputs > 1 ? q * (1 - q) : 1;
        for (int c = 0; c < n; c++)
            out[c] *= rate;
        rest_to_base(out, n, a->n_outputs > 1 ? q : log_odds(q, LEAST_P));
    }
}

struct explaining {
    const struct artifact_view *v;
    struct explain_rows rows;
    /* [rows][columns + 1] of one member */
    double *one;
    /* [columns + 1] what a pool makes of one row of it */
    double *row;
    /* [rows][outputs] predictions */
    float *p;
    /* [rows][columns + 1] the result */
    double *out;
    /* the weights of the members that can be explained, and of all */
    double known, all;
    /* one of them is explained in log-odds */
    bool is_odds;
};

/* Adds what one member says of the rows. */
static int member_explain(struct explaining *x, int m, struct err *err)
{
    const struct artifact *a = x->v->artifact;
    const struct ensemble *e = a->ensemble;
    const struct explain_rows *r = &x->rows;
    size_t columns = (size_t)prep_columns(ensemble_prep(e, m)) + 1,
           width = (size_t)e->n_columns + 1;
    enum explain_link link = artifact_link(e->file[m]);
    bool by_class = a->info.task == ML_MULTICLASS;
    double weight = a->is_pool ? 1 : e->weight[m], shift = target_shift(&a->info.unit);
    double *out = x->out;

    if (artifact_explain(x->v->members[m], r->from, r->n, r->of, x->one, err) < 0 ||
        (by_class && artifact_predict(x->v->members[m], r->from, r->n, x->p, err) < 0))
        return -1;
    for (int64_t i = 0; i < r->n; i++, out += width) {
        const double *values = x->one + (size_t)i * columns;
        double *to = a->is_pool ? memset(x->row, 0, width * sizeof *to) : out;
        if (by_class)
            class_add(e, m, weight, values, explained(a, r, i, x->p), to);
        else
            member_add(e, m, link, shift, weight, values, to);
        if (!a->is_pool)
            continue;
        to_log_odds(to, e->n_columns, POOL_LEAST_P);
        for (size_t c = 0; c < width; c++)
            out[c] += e->weight[m] * to[c];
    }
    x->known += fabs(e->weight[m]);
    x->is_odds |= link == EXPLAIN_LOG_ODDS || a->is_pool;
    return 0;
}

/* Adds up what the members say; fails where none can be explained. */
static int members_explain(struct explaining *x, struct err *err)
{
    const struct artifact *a = x->v->artifact;
    const struct ensemble *e = a->ensemble;
    const struct explain_rows *r = &x->rows;
    struct err why = { 0 };

    for (int m = 0; m < e->n; m++) {
        x->all += fabs(e->weight[m]);
        /* a network is left out */
        if (member_explain(x, m, &why) < 0 && why.code != ERR_CONFLICT)
            return err_set(err, why.code, "%s", why.text);
    }
    if (x->known == 0)
        return err_set(err, why.code, "%s", why.text);
    if (!a->is_pool && x->known >= x->all)
        return 0;
    if (ensemble_mix(x->v, r->from, r->n, x->p, err) < 0)
        return -1;
    if (a->is_pool)
        pool_explain_end(a, r, x->p, x->out);
    else
        mean_end(a, r, x->known, x->p, x->out);
    return 0;
}

int ensemble_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err)
{
    const struct artifact *a = v->artifact;
    size_t width = (size_t)a->ensemble->n_columns + 1;
    bool by_class = a->n_outputs > 1;
    struct explaining x = { .v = v, .rows = { NULL, from, n, of }, .out = out };
    int rc = -1;

    x.one = mem_try_alloc(((size_t)n * width + 1) * sizeof *x.one);
    x.row = mem_try_alloc(width * sizeof *x.row);
    x.p = mem_try_alloc(((size_t)n * (size_t)a->n_outputs + 1) * sizeof *x.p);
    memset(out, 0, (size_t)n * width * sizeof *out);
    if (!x.one || !x.row || !x.p)
        err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)n);
    else
        rc = members_explain(&x, err);
    /* of a pool they are log-odds, or a class's probability, already */
    for (int64_t i = 0; i < n && rc == 0 && x.is_odds && !a->is_pool; i++)
        to_log_odds(out + (size_t)i * width, a->ensemble->n_columns, LEAST_P);
    x.is_odds &= !(a->is_pool && by_class);
    if (rc == 0 && a->adjust.classes > 0)
        rc = ensemble_mix(v, from, n, x.p, err);
    if (rc == 0)
        rc = explain_adjust(&a->adjust, x.is_odds ? EXPLAIN_LOG_ODDS : EXPLAIN_SAME, of, x.p,
                            a->ensemble->n_columns, n, out, err);
    mem_try_free(x.one);
    mem_try_free(x.row);
    mem_try_free(x.p);
    return rc;
}
