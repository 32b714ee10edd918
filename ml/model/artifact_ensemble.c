/* artifact_ensemble.c - a model file whose models are whole model files: an ensemble.
 *
 * A member keeps its own preparation, classes and unit, so that it predicts what it predicted alone,
 * to the bit. The columns of the ensemble are those that any member reads. Called by artifact.c. */
#include "base/mem.h"
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

struct ensemble {
    int n, n_columns;
    struct artifact_limits limits;
    double weight[ARTIFACT_MAX_MEMBERS];
    struct artifact *file[ARTIFACT_MAX_MEMBERS];
    /* [n_columns] a member that reads the column, and which of its columns it is */
    struct ensemble_column {
        int member, column;
    } * columns;
    /* [n][prep_columns of the member]: the ensemble's column */
    int *at[ARTIFACT_MAX_MEMBERS];
};

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "damaged model file: %s", what);
}

/* ---- reading ---- */

static const struct prep *prep_of(const struct ensemble *e, int member)
{
    return e->file[member]->prep;
}

/* The place of the member's column among those of the ensemble so far; -1 = it is a new one. */
static int place_of(const struct ensemble *e, const char *name)
{
    for (int c = 0; c < e->n_columns; c++) {
        const struct ensemble_column *k = &e->columns[c];
        if (strcmp(prep_column_name(prep_of(e, k->member), k->column), name) == 0)
            return c;
    }
    return -1;
}

static int columns_add(struct ensemble *e, int member, struct err *err)
{
    const struct prep *p = prep_of(e, member);
    int n = prep_columns(p);

    e->at[member] = mem_array((size_t)n + 1, sizeof(int));
    for (int c = 0; c < n; c++) {
        /* members mostly read the same columns in the same order */
        bool is_same = c < e->n_columns && strcmp(prep_column_name(prep_of(e, e->columns[c].member),
                                                                   e->columns[c].column),
                                                  prep_column_name(p, c)) == 0;
        int at = is_same ? c : place_of(e, prep_column_name(p, c));
        if (at < 0) {
            at = e->n_columns++;
            e->columns[at] = (struct ensemble_column){ member, c };
        }
        const struct ensemble_column *k = &e->columns[at];
        if (prep_column_type(prep_of(e, k->member), k->column) != prep_column_type(p, c))
            return broken(err, "its members read a column in different ways");
        e->at[member][c] = at;
    }
    return 0;
}

/* Whether a member is of the ensemble's problem. */
static bool fits(const struct artifact *a, const struct artifact *member)
{
    const struct artifact_info *i = &a->info, *m = &member->info;

    if (member->ensemble || i->task != m->task || a->n_classes != member->n_classes ||
        strcmp(a->target, member->target) != 0)
        return false;
    for (int c = 0; c < a->n_classes; c++) {
        if (strcmp(a->classes[c], member->classes[c]) != 0)
            return false;
    }
    return true;
}

static int member_read(struct artifact *a, struct view *in, struct err *err)
{
    struct ensemble *e = a->ensemble;
    const void *bytes = NULL;
    uint64_t len = 0;
    double weight = 0;

    if (view_f64(in, &weight, err) < 0 || view_u64(in, &len, err) < 0 ||
        view_bytes(in, &bytes, len, err) < 0)
        return -1;
    if (!(weight > 0 && weight <= 1))
        return broken(err, "the weight of a member is out of range");
    e->file[e->n] = artifact_load(bytes, len, err);
    if (!e->file[e->n])
        return -1;
    e->weight[e->n++] = weight;
    return fits(a, e->file[e->n - 1]) ? 0 : broken(err, "a member is of another problem");
}

int ensemble_read(struct artifact *a, struct view *in, struct err *err)
{
    struct ensemble *e = a->ensemble = mem_zalloc(sizeof *e);
    uint32_t n = 0;
    double all = 0;
    size_t columns = 1;

    if (view_u32(in, &n, err) < 0 || view_f64(in, &e->limits.least, err) < 0 ||
        view_f64(in, &e->limits.most, err) < 0)
        return -1;
    if (!(e->limits.least < e->limits.most))
        return broken(err, "impossible limits of its members");
    if (n < 2 || n > ARTIFACT_MAX_MEMBERS || n > (in->len - in->pos) / 16)
        return broken(err, "impossible number of members");
    for (uint32_t i = 0; i < n; i++) {
        if (member_read(a, in, err) < 0)
            return -1;
        all += e->weight[i];
        columns += (size_t)prep_columns(prep_of(e, (int)i));
        a->info.n_models += e->file[i]->info.n_models;
    }
    /* A calibration of the mean of the members was learnt from members without their powers, and makes
     * up for what differences between models take away. */
    for (int i = 0; i < e->n && a->adjust.calibrates; i++)
        adjust_fini(&e->file[i]->bag);
    if (!(fabs(all - 1) < 1e-6))
        return broken(err, "the weights of its members do not add up to 1");
    e->columns = mem_array(columns, sizeof *e->columns);
    for (int i = 0; i < e->n; i++) {
        if (columns_add(e, i, err) < 0)
            return -1;
    }
    return in->pos == in->len ? 0 : broken(err, "bytes after the members");
}

void ensemble_free(struct artifact *a)
{
    struct ensemble *e = a->ensemble;

    for (int i = 0; e && i < e->n; i++) {
        artifact_close(e->file[i]);
        mem_free(e->at[i]);
    }
    if (e)
        mem_free(e->columns);
    mem_free(e);
    a->ensemble = NULL;
}

int artifact_members(const struct artifact *a)
{
    return a->ensemble ? a->ensemble->n : 0;
}

const struct artifact *artifact_member(const struct artifact *a, int i, double *weight)
{
    CHECK(a->ensemble && i >= 0 && i < a->ensemble->n);
    if (weight)
        *weight = a->ensemble->weight[i];
    return a->ensemble->file[i];
}

/* ---- columns ---- */

int artifact_columns(const struct artifact *a)
{
    return a->ensemble ? a->ensemble->n_columns : prep_columns(a->prep);
}

const char *artifact_column_name(const struct artifact *a, int c)
{
    if (!a->ensemble)
        return prep_column_name(a->prep, c);
    const struct ensemble_column *k = &a->ensemble->columns[c];
    return prep_column_name(prep_of(a->ensemble, k->member), k->column);
}

enum frame_type artifact_column_type(const struct artifact *a, int c)
{
    if (!a->ensemble)
        return prep_column_type(a->prep, c);
    const struct ensemble_column *k = &a->ensemble->columns[c];
    return prep_column_type(prep_of(a->ensemble, k->member), k->column);
}

int artifact_images_check(const struct artifact *a, const struct frame *f, struct err *err)
{
    if (!a->ensemble)
        return prep_images_check(a->prep, f, err);
    for (int i = 0; i < a->ensemble->n; i++) {
        if (prep_images_check(prep_of(a->ensemble, i), f, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- predicting ---- */

static double limited(const struct ensemble *e, double value)
{
    return fmin(fmax(value, e->limits.least), e->limits.most);
}

int ensemble_view(struct artifact_view *v, const struct frame *f, struct err *err)
{
    const struct ensemble *e = v->artifact->ensemble;

    v->members = mem_array((size_t)e->n, sizeof(struct artifact_view *));
    for (int i = 0; i < e->n; i++) {
        v->members[i] = artifact_view_new(e->file[i], f, err);
        if (!v->members[i])
            return -1;
    }
    return 0;
}

/* The weighted mean, before it is calibrated. */
static int mean_of_members(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                           struct err *err)
{
    const struct artifact *a = v->artifact;
    const struct ensemble *e = a->ensemble;
    size_t width = (size_t)n * (size_t)a->n_outputs;
    double *sum = mem_try_zalloc((width + 1) * sizeof(*sum)), shift = target_shift(&a->info.unit);
    int rc = sum ? 0 : err_set(err, ERR_NOMEM, "no memory to predict %lld rows", (long long)n);

    /* Added up in the order of the members: a fixed order of sums. */
    for (int m = 0; m < e->n && rc == 0; m++) {
        double more = target_shift(&e->file[m]->info.unit) - shift;
        rc = artifact_predict(v->members[m], from, n, out, err);
        for (size_t i = 0; i < width && rc == 0; i++)
            sum[i] += e->weight[m] * limited(e, (double)out[i] + more);
    }
    for (size_t i = 0; i < width && rc == 0; i++)
        out[i] = (float)sum[i];
    mem_try_free(sum);
    return rc;
}

int ensemble_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err)
{
    int rc = mean_of_members(v, from, n, out, err);

    if (rc == 0)
        adjust_probabilities(&v->artifact->adjust, out, n);
    return rc;
}

int ensemble_shuffle(struct artifact_view *v, int column, const int32_t *order, struct err *err)
{
    const struct ensemble *e = v->artifact->ensemble;

    for (int m = 0; m < e->n; m++) {
        for (int c = 0; c < prep_columns(prep_of(e, m)); c++) {
            if (e->at[m][c] == column && artifact_view_shuffle(v->members[m], c, order, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- explaining ---- */

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
        int n = prep_columns(prep_of(e, m));
        double sum = 0;
        rc = artifact_importance(e->file[m], one, &why);
        if (rc < 0 && why.code == ERR_CONFLICT) {
            rc = 0;
            continue;
        }
        known += e->weight[m];
        for (int c = 0; c < n && rc == 0; c++)
            sum += one[c];
        /* only shares can be compared between models */
        for (int c = 0; c < n && rc == 0 && sum > 0; c++)
            out[e->at[m][c]] += e->weight[m] * one[c] / sum;
    }
    mem_free(one);
    for (int c = 0; c < e->n_columns && known > 0; c++)
        out[c] /= known;
    return rc < 0 || known == 0 ? err_set(err, why.code, "%s", why.text) : 0;
}

static double log_odds(double p)
{
    p = fmin(fmax(p, LEAST_P), 1 - LEAST_P);
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
                       const double *one, double *out)
{
    int n = prep_columns(prep_of(e, m));
    double by = 0, rate = 1, base = one[n];

    for (int c = 0; c < n; c++)
        by += one[c];
    double whole = limited(e, predicted(e->file[m], link, base + by) - shift);
    bool is_plain = link == EXPLAIN_SAME && whole == base + by - shift;
    if (!is_plain) {
        double step = fabs(by) < NEAR ? 1e-4 : by;
        base = limited(e, predicted(e->file[m], link, one[n]) - shift) + shift;
        rate =
            (limited(e, predicted(e->file[m], link, one[n] + step) - shift) + shift - base) / step;
    }
    for (int c = 0; c < n; c++)
        out[e->at[m][c]] += e->weight[m] * rate * one[c];
    out[e->n_columns] += e->weight[m] * base;
}

/* The same for one class of several, whose scores before softmax go together: where the values do not
 * add up to the probability itself, they are scaled by its slope at the row, and the base is what is
 * left. p: the member's probability. */
static void class_add(const struct ensemble *e, int m, const double *one, double p, double *out)
{
    int n = prep_columns(prep_of(e, m));
    double by = 0;

    for (int c = 0; c < n; c++)
        by += one[c];
    bool is_share = fabs(one[n] + by - p) < SHARE_NEAR;
    double rate = is_share ? 1 : p * (1 - p), base = is_share ? one[n] : p - rate * by;
    for (int c = 0; c < n; c++)
        out[e->at[m][c]] += e->weight[m] * rate * one[c];
    out[e->n_columns] += e->weight[m] * base;
}

/* From probabilities to their log-odds, which is what models of two classes are mostly explained
 * in. Where the base is no probability (rest_to_base), the slope at the row counts. */
static void to_log_odds(double *row, int n)
{
    double by = 0, base = row[n];

    for (int c = 0; c < n; c++)
        by += row[c];
    double p = fmin(fmax(base + by, LEAST_P), 1 - LEAST_P), whole = log_odds(p),
           rate = 1 / (p * (1 - p));
    if (fabs(by) >= NEAR && base > LEAST_P && base < 1 - LEAST_P)
        rate = (whole - log_odds(base)) / by;
    for (int c = 0; c < n; c++)
        row[c] *= rate;
    row[n] = whole - rate * by;
}

/* Some members were left out: the values of the others are brought to the weight of all, and the base
 * is what is left of the prediction. */
static int rest_to_base(const struct artifact_view *v, const struct explain_rows *rows,
                        double known, double *out, struct err *err)
{
    const struct artifact *a = v->artifact;
    int n = a->ensemble->n_columns, k = a->n_outputs;
    float *p = mem_try_alloc(((size_t)(rows->n * k) + 1) * sizeof *p);
    int rc = p ? mean_of_members(v, rows->from, rows->n, p, err)
               : err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)rows->n);

    for (int64_t i = 0; i < rows->n && rc == 0; i++, out += n + 1) {
        double whole = (double)p[i * k + (k > 1 ? rows->of[i] : 0)] + target_shift(&a->info.unit);
        for (int c = 0; c < n; c++) {
            out[c] /= known;
            whole -= out[c];
        }
        out[n] = whole;
    }
    mem_try_free(p);
    return rc;
}

/* Explains the rows by one member. p: room for its predictions of the rows. */
static int member_explain(const struct artifact_view *v, int m, const struct explain_rows *rows,
                          double *one, float *p, double *out, struct err *err)
{
    const struct artifact *a = v->artifact;
    const struct ensemble *e = a->ensemble;
    size_t columns = (size_t)prep_columns(prep_of(e, m)) + 1, width = (size_t)e->n_columns + 1;
    enum explain_link link = artifact_link(e->file[m]);
    bool by_class = a->info.task == ML_MULTICLASS;

    if (artifact_explain(v->members[m], rows->from, rows->n, rows->of, one, err) < 0 ||
        (by_class && artifact_predict(v->members[m], rows->from, rows->n, p, err) < 0))
        return -1;
    for (int64_t i = 0; i < rows->n; i++) {
        const double *values = one + (size_t)i * columns;
        if (by_class)
            class_add(e, m, values, (double)p[i * a->n_outputs + rows->of[i]],
                      out + (size_t)i * width);
        else
            member_add(e, m, link, target_shift(&a->info.unit), values, out + (size_t)i * width);
    }
    return 0;
}

int ensemble_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err)
{
    const struct artifact *a = v->artifact;
    const struct ensemble *e = a->ensemble;
    const struct explain_rows rows = { NULL, from, n, of };
    size_t width = (size_t)e->n_columns + 1;
    double *one = mem_try_alloc(((size_t)n * width + 1) * sizeof *one);
    float *p = mem_try_alloc(((size_t)n * (size_t)a->n_outputs + 1) * sizeof *p);
    bool is_odds = false;
    double known = 0, all = 0;
    struct err why = { 0 };
    int rc = one && p ? 0 : err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)n);

    memset(out, 0, (size_t)n * width * sizeof *out);
    for (int m = 0; m < e->n && rc == 0; m++) {
        all += e->weight[m];
        rc = member_explain(v, m, &rows, one, p, out, &why);
        if (rc == 0) {
            is_odds |= artifact_link(e->file[m]) == EXPLAIN_LOG_ODDS;
            known += e->weight[m];
        } else if (why.code == ERR_CONFLICT) {
            rc = 0; /* a network */
        }
    }
    if (one && p && (rc < 0 || known == 0))
        rc = err_set(err, why.code, "%s", why.text);
    if (rc == 0 && known < all)
        rc = rest_to_base(v, &rows, known, out, err);
    for (int64_t i = 0; i < n && rc == 0 && is_odds; i++)
        to_log_odds(out + (size_t)i * width, e->n_columns);
    if (rc == 0 && a->adjust.classes > 0)
        rc = mean_of_members(v, from, n, p, err);
    if (rc == 0)
        rc = explain_adjust(&a->adjust, is_odds ? EXPLAIN_LOG_ODDS : EXPLAIN_SAME, of, p,
                            e->n_columns, n, out, err);
    mem_try_free(one);
    mem_try_free(p);
    return rc;
}
