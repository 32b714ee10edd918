/* warnings_test_rows.c - test rows that cannot be scored, and whether the rows of the test table are
 * of another kind than those of the training table (adversarial validation): rows of the two are told apart by sums of log odds over
 * binned columns (naive Bayes), fitted on half of a sample and judged on the other half. */
#include "ml/fit/warnings_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/metric/metric.h"
#include "ml/model/target.h"

#include <math.h>
#include <string.h>

/* FEW: levels of fewer other rows are taken together. */
enum { TEST_ROWS = 4000, CHUNK = 4096, FEW = 5, NEW_LEVEL = -2, FEW_ROWS_LEVEL = -1 };
/* AUC from which on test rows are of another kind, if it is so by three standard errors. */
#define OTHER_AUC 0.65

/* How many rows of the table show each level. The caller frees it. */
static int64_t *level_counts_new(const struct frame *f, int col)
{
    int64_t *count = mem_array((size_t)f->cols[col].n_levels + 1, sizeof *count);
    int32_t code[CHUNK];

    for (int64_t at = 0; at < f->rows; at += CHUNK) {
        int64_t n = MIN(f->rows - at, CHUNK);
        frame_codes(f, col, at, n, code);
        for (int64_t i = 0; i < n; i++)
            count[code[i] < 0 ? f->cols[col].n_levels : code[i]]++;
    }
    return count;
}

/* The level of this text, -1 = none: levels of equal count stand in the order of their texts. */
static int level_find(const struct frame_col *c, const int64_t *count, const char *text)
{
    for (int begin = 0, end; begin < c->n_levels; begin = end) {
        int lo = begin, hi = c->n_levels;
        while (lo < hi) {
            int mid = lo + (hi - lo) / 2;
            *(count[mid] < count[begin] ? &hi : &lo) = count[mid] < count[begin] ? mid : mid + 1;
        }
        end = lo;
        for (lo = begin, hi = end; lo < hi;) {
            int mid = lo + (hi - lo) / 2, order = strcmp(c->levels[mid], text);
            if (order == 0)
                return mid;
            *(order > 0 ? &hi : &lo) = order > 0 ? mid : mid + 1;
        }
    }
    return -1;
}

/* What a level tells that `others` other training rows show. A row of the training table does not
 * count itself: otherwise its level would never be new, and every column of many levels would tell
 * test rows from training rows drawn alike. */
static double level_value(int level, int64_t others)
{
    return others <= 0 ? NEW_LEVEL : others < FEW ? FEW_ROWS_LEVEL : level;
}

/* Values of a column in rows of both tables; of levels as level_value. */
static void both_values(const struct frame *f, int col, const int64_t *row, double *a,
                        const struct frame *g, int other, const int64_t *other_row, double *b,
                        int64_t n)
{
    const struct frame_col *c = &f->cols[col], *d = &g->cols[other];

    warn_values_of(f, col, row, n, a);
    if (c->type != d->type) {
        for (int64_t i = 0; i < n; i++)
            b[i] = (double)NAN;
        return;
    }
    warn_values_of(g, other, other_row, n, b);
    if (c->type == FRAME_NUMERIC)
        return;
    int64_t *count = level_counts_new(f, col);
    for (int64_t i = 0; i < n; i++) {
        int mine = isnan(a[i]) ? -1 : (int)a[i];
        int found = isnan(b[i]) ? -1 : level_find(c, count, d->levels[(int)b[i]]);
        a[i] = mine < 0 ? a[i] : level_value(mine, count[mine] - 1);
        b[i] = isnan(b[i]) ? b[i] : level_value(found, found < 0 ? 0 : count[found]);
    }
    mem_free(count);
}

/* Adds to each odd row the log odds of being a test row that the even rows of its bin have. */
static void odds_add(const struct warn_binned *b, const double *is_test, int64_t n, double *score)
{
    double test[WARN_BINS + 1] = { 0 }, all[WARN_BINS + 1] = { 0 }, t = 0, a = 0;

    for (int64_t i = 0; i < n; i += 2) {
        test[b->bin[i]] += is_test[i];
        all[b->bin[i]]++;
        t += is_test[i];
        a++;
    }
    for (int64_t i = 1; i < n; i += 2) {
        int k = b->bin[i];
        double p = (test[k] + 4 * t / a) / (all[k] + 4);
        score[i] += fm_log_d(p / (1 - p)) - fm_log_d(t / (a - t));
    }
}

static double auc_of(const double *score, const double *is_test, int64_t n, float *p, double *y,
                     double *se)
{
    int64_t m = 0;
    double auc = 0.5;

    for (int64_t i = 1; i < n; i += 2, m++) {
        p[m] = (float)score[i];
        y[m] = is_test[i];
    }
    *se = 1;
    return metric_score(METRIC_AUC, ML_BINARY, p, y, m, 2, &auc, se, NULL) < 0 ? 0.5 : auc;
}

struct other {
    struct warn_binned b;
    int64_t n;
    /* [n] rows of both tables in turn */
    int64_t *row;
    double *is_test, *score, *own, *y;
    float *p;
};

static void other_column(struct other *o, const struct frame *f, int c, const struct frame *g,
                         int at)
{
    int64_t half = o->n / 2;

    /* in pairs of two, so that even and odd rows have both kinds */
    double *a = mem_array((size_t)half + 1, sizeof *a), *b = mem_array((size_t)half + 1, sizeof *b);
    both_values(f, c, o->row, a, g, at, o->row + half, b, half);
    for (int64_t i = 0; i < o->n; i++)
        o->b.v[i] = i / 2 % 2 ? b[i / 4 * 2 + i % 2] : a[i / 4 * 2 + i % 2];
    mem_free(a);
    mem_free(b);
}

static int other_find(struct warn_work *w, struct other *o, struct err *err)
{
    const struct frame *f = w->d->spec.frame, *g = w->d->spec.test_frame;
    int64_t half = o->n / 2;
    double se, most = 0.5;
    const char *most_by = "";

    for (int64_t i = 0; i < half; i++) {
        o->row[i] = w->row[i * w->n / half];
        o->row[half + i] = i * g->rows / half;
    }
    for (int64_t i = 0; i < o->n; i++)
        o->is_test[i] = (double)(i / 2 % 2);
    for (int c = 0; c < f->n_cols; c++) {
        int at = frame_find(g, f->cols[c].name);
        if (at < 0 || g->cols[at].type == FRAME_IGNORED || !warn_is_candidate(w, c) ||
            !warn_is_input(w, c))
            continue;
        other_column(o, f, c, g, at);
        if (warn_bins_cut(&o->b, o->n, err) < 0)
            return -1;
        memset(o->own, 0, (size_t)o->n * sizeof *o->own);
        odds_add(&o->b, o->is_test, o->n, o->own);
        for (int64_t i = 0; i < o->n; i++)
            o->score[i] += o->own[i];
        double auc = auc_of(o->own, o->is_test, o->n, o->p, o->y, &se);
        if (auc > most)
            most = auc, most_by = f->cols[c].name;
    }
    double auc = auc_of(o->score, o->is_test, o->n, o->p, o->y, &se);
    if (auc >= OTHER_AUC && auc - 3 * se > 0.5)
        warn(w, "other_test_rows", most_by,
             "The rows of the test table can be told from those of the training table (AUC %.2f; "
             "most by \"%.80s\", %.2f alone), so that the test score will differ from validation: "
             "check how the two were drawn, or " WARN_SAY_SOME_TIME " if the test is later.",
             auc, most_by, most);
    return 0;
}

/* Test rows that cannot be scored. */
static int warn_of_test_targets(struct warn_work *w, const struct frame *g, struct err *err)
{
    const struct ml_data *d = w->d;
    const char *target = d->spec.target;
    int64_t none = 0;

    if (g->rows > WARN_ALL_CELLS)
        return 0;
    double *y = mem_try_alloc(((size_t)g->rows + 1) * sizeof *y);
    if (!y)
        return err_set(err, ERR_NOMEM, "no memory for the targets of test rows");
    /* an error of the test table is told by the trials that it fails */
    if (target_read_as(g, target, d->spec.task, d->n_classes, (const char *const *)d->classes, y,
                       NULL) == 0) {
        for (int64_t i = 0; i < g->rows; i++)
            none += isnan(y[i]) != 0;
    }
    mem_try_free(y);
    const char *or_class = d->n_classes > 0 ? ", or a class that no training row has," : "";
    if (none == g->rows)
        warn(
            w, "no_test_target", target,
            "All %lld rows of the test table have no value in the target \"%.80s\"%s so that there "
            "is no test score: give rows whose truth is known.",
            (long long)none, target, or_class[0] ? or_class : ",");
    else if (none > 0)
        warn(
            w, "no_test_target", target,
            "%lld of %lld rows of the test table have no value in the target \"%.80s\"%s and are not "
            "scored.",
            (long long)none, (long long)g->rows, target, or_class);
    return 0;
}

int warn_of_test_rows(struct warn_work *w, struct err *err)
{
    const struct frame *g = w->d->spec.test_frame;
    struct other o = { 0 };
    int rc = -1;

    if (g && warn_of_test_targets(w, g, err) < 0)
        return -1;
    if (!g || g->rows < WARN_LEAST_ROWS || w->n < WARN_LEAST_ROWS)
        return 0;
    o.n = MIN(TEST_ROWS, MIN(g->rows, w->n) * 2) / 4 * 4;
    size_t n = (size_t)o.n + 1;
    o.row = mem_array(n, sizeof *o.row);
    o.is_test = mem_array(n * 4, sizeof *o.is_test);
    o.score = o.is_test + n;
    o.own = o.score + n;
    o.y = o.own + n;
    o.p = mem_array(n, sizeof *o.p);
    if (warn_binned_init(&o.b, o.n, err) == 0)
        rc = other_find(w, &o, err);
    warn_binned_fini(&o.b);
    mem_free(o.row);
    mem_free(o.is_test);
    mem_free(o.p);
    return rc;
}
