/* permute.c - importance of columns by permutation (permute.h).
 *
 * A column is shuffled inside the view of the table (prep_view_shuffle), so that the model sees
 * other rows and nothing else. Shuffles are keyed by (seed, column, repeat): they do not depend on
 * the order in which columns are tried. Called by `assay explain`. */
#include "ml/fit/permute.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/model/target.h"

#include <math.h>
#include <string.h>

/* Rows predicted at a time. */
enum { CHUNK = 4096 };

/* The model, the rows it is tried on, and the buffers for its predictions. */
struct shuffled {
    const struct artifact *a;
    const struct artifact_info *info;
    struct artifact_view *v;
    enum metric_id metric;
    int outputs;
    int64_t rows;
    /* y: targets by row, NaN = the row is left out; kept_y: the targets of the rows that are
     * kept */
    double *y, *kept_y;
    float *pred, *chunk;
    int32_t *order;
};

/* The metric of the rows as the view shows them at the moment. */
static int score_of(struct shuffled *t, double *score, struct err *err)
{
    int k = t->outputs;
    int64_t n = 0;

    for (int64_t from = 0; from < t->rows; from += CHUNK) {
        int64_t m = MIN(CHUNK, t->rows - from);
        if (artifact_predict(t->v, from, m, t->chunk, err) < 0)
            return -1;
        for (int64_t i = 0; i < m; i++) {
            if (isnan(t->y[from + i]))
                continue;
            t->kept_y[n] = t->y[from + i];
            memcpy(t->pred + n * k, t->chunk + i * k, (size_t)k * sizeof *t->pred);
            n++;
        }
    }
    if (n == 0)
        return err_set(err, ERR_ARG, "no row has a target that the model knows");
    double se = 0;
    adjust_decide(t->info->adjust, t->metric, t->info->task, t->pred, n);
    return metric_score(t->metric, t->info->task, t->pred, t->kept_y, n, MAX(t->info->n_classes, 1),
                        score, &se, err);
}

/* Shuffles the first t->rows rows by the algorithm of Fisher and Yates; the rows behind them stay
 * in place. */
static void shuffle(struct shuffled *t, uint64_t seed, int64_t frame_rows)
{
    struct rng r;

    rng_init(&r, seed, 0);
    for (int64_t i = 0; i < frame_rows; i++)
        t->order[i] = (int32_t)i;
    for (int64_t i = t->rows - 1; i > 0; i--) {
        uint32_t j = rng_below(&r, (uint32_t)i + 1);
        int32_t was = t->order[i];
        t->order[i] = t->order[j];
        t->order[j] = was;
    }
}

/* The mean loss of the metric over `repeats` shuffles of one column, and its standard error. */
static int column_drop(struct shuffled *t, const struct frame *f, const struct permute_spec *spec,
                       int column, double score, struct permuted *out, struct err *err)
{
    bool is_larger_better = metric_info(t->metric)->larger_is_better;
    double sum = 0, square = 0;

    for (int i = 0; i < spec->repeats; i++) {
        double s = 0;
        shuffle(t, rng_mix(rng_mix(spec->seed, (uint64_t)column), (uint64_t)i), f->rows);
        if (artifact_view_shuffle(t->v, column, t->order, err) < 0 || score_of(t, &s, err) < 0)
            return -1;
        double drop = is_larger_better ? score - s : s - score;
        sum += drop;
        square += drop * drop;
    }
    /* The variance of the mean over the repeats. Rounding may make the sum of squares slightly
     * negative. */
    double n = spec->repeats, mean = sum / n, left = square - sum * mean;
    *out = (struct permuted){ .drop = mean };
    out->se = n > 1 ? sqrt((left > 0 ? left : 0) / (n - 1) / n) : (double)NAN;
    return artifact_view_shuffle(t->v, column, NULL, err);
}

/* Reads the targets and takes memory. What was taken before a failure is freed by the caller. */
static int shuffled_init(struct shuffled *t, const struct artifact *a, const struct frame *f,
                         const struct permute_spec *spec, struct err *err)
{
    size_t rows = (size_t)f->rows, k = (size_t)artifact_outputs(a);

    t->a = a;
    t->info = artifact_info(a);
    t->outputs = (int)k;
    t->rows = spec->rows > 0 ? MIN(spec->rows, f->rows) : f->rows;
    if (f->rows > INT32_MAX)
        return err_set(err, ERR_TOOBIG, "a table of %lld rows is too long to be shuffled",
                       (long long)f->rows);
    if (metric_parse(t->info->metric, &t->metric, err) < 0)
        return -1;
    t->y = mem_try_alloc(rows * sizeof *t->y);
    t->kept_y = mem_try_alloc(rows * sizeof *t->kept_y);
    t->pred = mem_try_alloc(rows * k * sizeof *t->pred);
    t->chunk = mem_try_alloc(CHUNK * k * sizeof *t->chunk);
    t->order = mem_try_alloc(rows * sizeof *t->order);
    if (!t->y || !t->kept_y || !t->pred || !t->chunk || !t->order)
        return err_set(err, ERR_NOMEM, "no memory to shuffle %lld rows", (long long)f->rows);
    if (target_read_as(f, spec->target, t->info->task, t->info->n_classes, t->info->classes, t->y,
                       err) < 0)
        return -1;
    for (int64_t i = 0; i < f->rows; i++)
        t->y[i] -= target_shift(&t->info->unit);
    t->v = artifact_view_new(a, f, err);
    return t->v ? 0 : -1;
}

int permute_importance(const struct artifact *a, const struct frame *f,
                       const struct permute_spec *spec, double *score, struct permuted *out,
                       struct err *err)
{
    int columns = artifact_columns(a), rc = -1;
    struct shuffled t = { 0 };
    double *known = mem_array((size_t)columns, sizeof *known);

    CHECK(spec->repeats >= 1);
    if (shuffled_init(&t, a, f, spec, err) < 0 || score_of(&t, score, err) < 0)
        goto out;
    bool is_known = artifact_importance(a, known, NULL) == 0;
    for (int i = 0; i < columns; i++) {
        out[i] = (struct permuted){ .is_unused = is_known && known[i] == 0 };
        if (!out[i].is_unused && column_drop(&t, f, spec, i, *score, &out[i], err) < 0)
            goto out;
    }
    rc = 0;
out:
    artifact_view_free(t.v);
    mem_try_free(t.y);
    mem_try_free(t.kept_y);
    mem_try_free(t.pred);
    mem_try_free(t.chunk);
    mem_try_free(t.order);
    mem_free(known);
    return rc;
}
