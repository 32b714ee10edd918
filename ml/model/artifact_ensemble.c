/* artifact_ensemble.c - a model file whose models are whole model files: an ensemble.
 *
 * A member keeps its own preparation, classes and unit, so that it predicts what it predicted alone,
 * to the bit. The columns of the ensemble are those that any member reads. Called by artifact.c. */
#include "base/mem.h"
#include "ml/adjust/pool.h"
#include "ml/model/artifact_private.h"

#include <math.h>
#include <string.h>

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "damaged model file: %s", what);
}

/* ---- reading ---- */

const struct prep *ensemble_prep(const struct ensemble *e, int member)
{
    return e->file[member]->prep;
}

/* The place of the member's column among those of the ensemble so far; -1 = it is a new one. */
static int place_of(const struct ensemble *e, const char *name)
{
    for (int c = 0; c < e->n_columns; c++) {
        const struct ensemble_column *k = &e->columns[c];
        if (strcmp(prep_column_name(ensemble_prep(e, k->member), k->column), name) == 0)
            return c;
    }
    return -1;
}

static int columns_add(struct ensemble *e, int member, struct err *err)
{
    const struct prep *p = ensemble_prep(e, member);
    int n = prep_columns(p);

    e->at[member] = mem_array((size_t)n + 1, sizeof(int));
    for (int c = 0; c < n; c++) {
        /* members mostly read the same columns in the same order */
        bool is_same =
            c < e->n_columns &&
            strcmp(prep_column_name(ensemble_prep(e, e->columns[c].member), e->columns[c].column),
                   prep_column_name(p, c)) == 0;
        int at = is_same ? c : place_of(e, prep_column_name(p, c));
        if (at < 0) {
            at = e->n_columns++;
            e->columns[at] = (struct ensemble_column){ member, c };
        }
        const struct ensemble_column *k = &e->columns[at];
        if (prep_column_type(ensemble_prep(e, k->member), k->column) != prep_column_type(p, c))
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
    bool is_in =
        a->is_pool ? weight != 0 && fabs(weight) <= POOL_MOST_WEIGHT : weight > 0 && weight <= 1;
    if (!is_in)
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
        columns += (size_t)prep_columns(ensemble_prep(e, (int)i));
        a->info.n_models += e->file[i]->info.n_models;
    }
    /* A calibration of the mean of the members was learnt from members without their powers, and makes
     * up for what differences between models take away. */
    for (int i = 0; i < e->n && a->adjust.calibrates && !a->is_pool; i++)
        adjust_fini(&e->file[i]->bag);
    if (!a->is_pool && !(fabs(all - 1) < 1e-6))
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

bool artifact_is_pool(const struct artifact *a)
{
    return a->is_pool;
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
    return prep_column_name(ensemble_prep(a->ensemble, k->member), k->column);
}

enum frame_type artifact_column_type(const struct artifact *a, int c)
{
    if (!a->ensemble)
        return prep_column_type(a->prep, c);
    const struct ensemble_column *k = &a->ensemble->columns[c];
    return prep_column_type(ensemble_prep(a->ensemble, k->member), k->column);
}

int artifact_images_check(const struct artifact *a, const struct frame *f, struct err *err)
{
    if (!a->ensemble)
        return prep_images_check(a->prep, f, err);
    for (int i = 0; i < a->ensemble->n; i++) {
        if (prep_images_check(ensemble_prep(a->ensemble, i), f, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- predicting ---- */

double ensemble_limited(const struct ensemble *e, double value)
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

int ensemble_mix(const struct artifact_view *v, int64_t from, int64_t n, float *out,
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
        if (rc == 0 && a->is_pool)
            pool_add(e->weight[m], out, a->n_outputs, n, sum);
        for (size_t i = 0; i < width && rc == 0 && !a->is_pool; i++)
            sum[i] += e->weight[m] * ensemble_limited(e, (double)out[i] + more);
    }
    if (rc == 0 && a->is_pool)
        pool_end(sum, a->n_outputs, n, out);
    for (size_t i = 0; i < width && rc == 0 && !a->is_pool; i++)
        out[i] = (float)sum[i];
    mem_try_free(sum);
    return rc;
}

int ensemble_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err)
{
    int rc = ensemble_mix(v, from, n, out, err);

    if (rc == 0)
        adjust_probabilities(&v->artifact->adjust, out, n);
    return rc;
}

int ensemble_shuffle(struct artifact_view *v, int column, const int32_t *order, struct err *err)
{
    const struct ensemble *e = v->artifact->ensemble;

    for (int m = 0; m < e->n; m++) {
        for (int c = 0; c < prep_columns(ensemble_prep(e, m)); c++) {
            if (e->at[m][c] == column && artifact_view_shuffle(v->members[m], c, order, err) < 0)
                return -1;
        }
    }
    return 0;
}
