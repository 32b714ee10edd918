/* gaps_fit.c - which columns have gaps that can be told (gaps.h).
 *
 * A blank: the least number of a column of quantities, 0 or -1, -9, -99 ... where nothing else is
 * below 0, far from all others. Zeros that are many are no blanks, because models tell them apart
 * without help, and they may be true. Numbers at the upper end are none either: 99999 is often all
 * that is above a limit.
 *
 * What tells a missing number: of the columns that rank the rows as this one does, those whose bins
 * of equal counts tell most of its variance, the best of them at least nine tenths. Called by
 * prep_fit.c. */
#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/prep/gaps.h"
#include "ml/prep/prep_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    /* of the table that are looked at, and of these, that are filled: ranks are compared by pairs */
    MOST_COLUMNS = 256,
    MOST_FILLED = 64,
    /* different numbers of a column, and rows with its blank */
    LEAST_DISTINCT = 50,
    LEAST_BLANKS = 2,
    /* rows that columns are compared on; where no number is missing */
    SAMPLE_ROWS = 4000,
    SPARE_ROWS = 1000,
    LEAST_ROWS = 200,
    /* of the lines through GAP_MAX_POINTS points */
    ROWS_A_POINT = 20,
    LEAST_POINTS = 8,
    /* columns whose ranks are nearest, of which GAP_FROM may tell */
    MOST_TRIED = 12,
    /* of a column that lacks no number: what tells it is in every model file, and seldom needed */
    SPARE_FROM = 3,
    SPARE_POINTS = 32
};
/* Zeros are blanks in at most this share of the rows. */
static const double MOST_ZEROS = 0.05;
/* Gaps are filled if they are at most FEW_GAPS of the rows; or at most MOST_GAPS, if the mean of the
 * target where the number is missing is within MOST_ERRORS standard errors of that elsewhere. */
static const double FEW_GAPS = 0.05, MOST_GAPS = 0.5, MOST_ERRORS = 4;
/* from a blank to the next number, in ranges of the middle nine tenths of the others */
static const double LEAST_DISTANCE = 0.25;
/* Of the best column, and of those that count beside it. A column that tells much without ranking
 * the rows so is no measure of the same thing: the latitude tells .96 of the longitude of
 * california's houses (.88), and what it does not tell is how far the sea is. */
static const double BEST_RANK_CORRELATION = 0.9, BEST_SHARE_TOLD = 0.9;
static const double LEAST_RANK_CORRELATION = 0.8, LEAST_SHARE_TOLD = 0.7;

/* A column of numbers. */
struct told {
    int col;
    double blank;
    /* of the rows that may be looked at */
    int64_t n_missing;
    /* that a number is missing says something about the target */
    bool is_telling;
    /* [n] of the sample: values, and ranks less their mean (0 where the value is missing) */
    double *x;
    float *rank;
};

struct search {
    const struct prep_spec *spec;
    const int64_t *rows;
    int64_t n_rows, n_used;
    double *values; /* [n_rows] */
    uint32_t *keys; /* [n_rows] */
    int n_told;
    struct told told[MOST_COLUMNS];
    /* the sample */
    int64_t n;
    int64_t *picked;
    uint64_t *sort_key;   /* [n] */
    uint32_t *sort_row;   /* [n] */
    double *left, *right; /* [n] */
};

static bool is_looked_at(const struct prep_spec *spec, int col)
{
    const struct frame_col *c = &spec->frame->cols[col];

    for (const char *const *s = spec->skip; s && *s; s++) {
        if (strcmp(*s, c->name) == 0)
            return false;
    }
    return c->type == FRAME_NUMERIC && c->kind == FRAME_PLAIN && c->distinct >= LEAST_DISTINCT;
}

/* A prediction must not fall or rise with the column: so it tells no other, and its least number is
 * the least. */
static bool is_ordered(const struct prep_spec *spec, int col)
{
    return spec->plain && spec->plain[col];
}

/* ---- blanks ---- */

/* 0, -1, -9, -99, -999 ... */
static bool may_stand_for_nothing(double x)
{
    if (x == 0 || x == -1)
        return true;
    double nines = 9;
    for (int digits = 1; digits < 10 && x != -nines; digits++)
        nines = nines * 10 + 9;
    return x == -nines;
}

/* Nothing else is missing, and the user has not said what is. */
static bool may_have_blank(const struct prep_spec *spec, int col)
{
    const struct frame_col *c = &spec->frame->cols[col];

    return c->missing == 0 && may_stand_for_nothing(c->min) &&
           !strstr(c->note, "\"missing_only\"") && !is_ordered(spec, col);
}

static double quantile_of(struct search *s, int64_t n, double q)
{
    for (int64_t i = 0; i < n; i++)
        s->keys[i] = ml_key_f32((float)s->values[i]);
    return ml_quantile(s->keys, n, q);
}

/* The blank of the column, whose values of all rows are in s->values (and are lost); *n_blank: how
 * many there are. */
static double blank_of(struct search *s, int col, int64_t *n_blank)
{
    /* adding 0 makes a zero of the one below it */
    double blank = s->spec->frame->cols[col].min + 0.0, next = INFINITY;
    int64_t n = 0;

    *n_blank = 0;
    if (!may_have_blank(s->spec, col))
        return NAN;
    for (int64_t i = 0; i < s->n_rows; i++) {
        double x = s->values[i];
        if (!(fabs(x) <= FLT_MAX))
            return NAN;
        *n_blank += x == blank;
        next = x > blank && x < next ? x : next;
        if (x != blank)
            s->values[n++] = x;
    }
    bool is_rare = (double)*n_blank <= MOST_ZEROS * (double)s->n_rows;
    if (*n_blank < LEAST_BLANKS || n < LEAST_ROWS || next < 0 || (blank == 0 && !is_rare))
        return NAN;
    double range = quantile_of(s, n, 0.95) - quantile_of(s, n, 0.05);
    return next - blank >= LEAST_DISTANCE * range && range > 0 ? blank : (double)NAN;
}

/* Where the number is there, and where it is missing: rows, and a sum over them and of squares. */
struct halves {
    double n[2], sum[2], squares[2];
};

/* How far the two means are from each other, in standard errors. */
static double errors_apart(const struct halves *h)
{
    double all = h->n[0] + h->n[1], mean = (h->sum[0] + h->sum[1]) / all;
    double spread = (h->squares[0] + h->squares[1]) / all - mean * mean;
    double error = sqrt(spread * (1 / h->n[0] + 1 / h->n[1]));

    return error > 0 ? fabs(h->sum[1] / h->n[1] - h->sum[0] / h->n[0]) / error : 0;
}

/* Whether a number is missing (in s->values) says something about the target, or about one of its
 * classes. */
static bool is_telling(const struct search *s, const struct told *t)
{
    const struct prep_target *target = s->spec->target;
    int n_sums = target ? MAX(target->n_classes, 1) : 0;
    double(*sum)[2] = mem_array((size_t)n_sums + 1, sizeof(*sum));
    struct halves h = { 0 };
    /* a number near all others, lest their squares hide how they differ */
    double center = n_sums > 0 && target->n_classes == 0 ? target->y[s->rows[0]] : 0;
    bool is = false;

    for (int64_t i = 0; i < s->n_rows && target; i++) {
        bool is_missing = isnan(s->values[i]) || s->values[i] == t->blank;
        double y = target->y[s->rows[i]] - center;
        h.n[is_missing]++;
        h.squares[is_missing] += y * y;
        sum[target->n_classes > 0 ? (int)y : 0][is_missing] += target->n_classes > 0 ? 1 : y;
    }
    for (int c = 0; c < n_sums && h.n[0] > 0 && h.n[1] > 0; c++) {
        memcpy(h.sum, sum[c], sizeof h.sum);
        if (target->n_classes > 0)
            memcpy(h.squares, sum[c], sizeof h.squares);
        is = is || errors_apart(&h) > MOST_ERRORS;
    }
    mem_free(sum);
    return is;
}

static void look_at(struct search *s, int col)
{
    const struct frame_col *c = &s->spec->frame->cols[col];
    struct told *t = &s->told[s->n_told++];

    *t = (struct told){ .col = col, .blank = (double)NAN };
    if (c->missing == 0 && !may_have_blank(s->spec, col))
        return;
    /* of names none is a blank, and none is told */
    if (prep_codes_are_levels(s->spec, col, s->n_used))
        return;
    frame_numbers_at(s->spec->frame, col, s->rows, s->n_rows, s->values);
    for (int64_t i = 0; i < s->n_rows; i++)
        t->n_missing += isnan(s->values[i]) != 0;
    if (t->n_missing == 0) {
        int64_t n_blank = 0;
        t->blank = blank_of(s, col, &n_blank);
        t->n_missing = isnan(t->blank) ? 0 : n_blank;
        if (t->n_missing > 0)
            frame_numbers_at(s->spec->frame, col, s->rows, s->n_rows, s->values);
    }
    if ((double)t->n_missing > FEW_GAPS * (double)s->n_rows)
        t->is_telling = is_telling(s, t);
}

/* ---- what tells a column ---- */

static bool is_worth_filling(const struct search *s, const struct told *t)
{
    double most = t->is_telling ? FEW_GAPS : MOST_GAPS;

    return (double)t->n_missing <= most * (double)s->n_rows;
}

/* No number is missing, but some may be in the rows that are to be predicted. */
static bool is_spare(const struct told *t)
{
    return t->n_missing == 0;
}

static void told_read(const struct search *s, const struct told *t, const int64_t *rows, int64_t n,
                      double *out)
{
    const struct prep_gap g = { .blank = t->blank };

    frame_numbers_at(s->spec->frame, t->col, rows, n, out);
    gap_blank(&g, out, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = fabs(out[i]) <= FLT_MAX ? out[i] : (double)NAN;
}

/* Sorts the rows of the sample in which `by` and `also` have a value by the former, into s->sort_key
 * and s->sort_row. Returns their number, or -1. */
static int64_t sort_rows(struct search *s, const double *by, const double *also, struct err *err)
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (isnan(by[i]) || isnan(also[i]))
            continue;
        s->sort_key[n] = ml_key_f64(by[i]);
        s->sort_row[n++] = (uint32_t)i;
    }
    return ml_sort_u64(s->sort_key, s->sort_row, (size_t)n, err) < 0 ? -1 : n;
}

static int told_rank(struct search *s, struct told *t, struct err *err)
{
    int64_t n = sort_rows(s, t->x, t->x, err);

    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && s->sort_key[end] == s->sort_key[i];)
            end++;
        for (int64_t k = i; k < end; k++)
            t->rank[s->sort_row[k]] = (float)((double)(i + end - n) / 2 / (double)n);
    }
    return 0;
}

static double rank_correlation(const struct search *s, const struct told *a, const struct told *b)
{
    double ab = 0, aa = 0, bb = 0;

    for (int64_t i = 0; i < s->n; i++) {
        double x = a->rank[i], y = b->rank[i];
        if (isnan(a->x[i]) || isnan(b->x[i]))
            continue;
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa > 0 && bb > 0 ? fabs(ab) / sqrt(aa * bb) : 0;
}

/* Points of bins of equal counts in the order of y; returns the share of the variance of x that
 * they tell. Values of y that are equal share a bin. */
static double points_of(const double *y, const double *x, int64_t n, int64_t most,
                        struct gap_from *out)
{
    /* of what x is above its first value: numbers far from 0 would lose their variance */
    double sum = 0, squares = 0, told = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += x[i] - x[0];
        squares += (x[i] - x[0]) * (x[i] - x[0]);
    }
    for (int64_t from = 0, to; from < n && out->n < most; from = to) {
        double at = 0, value = 0;
        to = MAX((out->n + 1) * n / most, from + 1);
        while (to < n && y[to] == y[to - 1])
            to++;
        for (int64_t i = from; i < to; i++) {
            at += y[i];
            value += x[i] - x[0];
        }
        double rows = (double)(to - from);
        out->at[out->n] = at / rows;
        out->value[out->n++] = x[0] + value / rows;
        told += value * value / rows;
    }
    double all = squares - sum * sum / (double)n;
    return all > 0 ? (told - sum * sum / (double)n) / all : 0;
}

/* Keeps at most so many points, both ends among them. */
static void points_thin(struct gap_from *f, int most)
{
    if (f->n <= most)
        return;
    for (int i = 0; i < most; i++) {
        int from = i * (f->n - 1) / (most - 1);
        f->at[i] = f->at[from];
        f->value[i] = f->value[from];
    }
    f->n = most;
}

static void from_free(struct gap_from *f)
{
    mem_free(f->at);
    mem_free(f->value);
    *f = (struct gap_from){ 0 };
}

/* *told: how much of t the column `by` tells, 0 = too little; and its points. */
static int from_fit(struct search *s, const struct told *t, const struct told *by,
                    struct gap_from *out, double *told, struct err *err)
{
    int64_t n = sort_rows(s, by->x, t->x, err);

    *told = 0;
    if (n < LEAST_ROWS)
        return n < 0 ? -1 : 0;
    for (int64_t i = 0; i < n; i++) {
        s->left[i] = by->x[s->sort_row[i]];
        s->right[i] = t->x[s->sort_row[i]];
    }
    *out = (struct gap_from){ .source = by->col,
                              .at = mem_array(GAP_MAX_POINTS, sizeof *out->at),
                              .value = mem_array(GAP_MAX_POINTS, sizeof *out->value) };
    int64_t most = MIN(MAX(n / ROWS_A_POINT, (int64_t)LEAST_POINTS), (int64_t)GAP_MAX_POINTS);
    double share = points_of(s->left, s->right, n, most, out);
    for (int i = 1; i < out->n; i++) {
        if (!(out->at[i] > out->at[i - 1]))
            share = 0;
    }
    if (!(share >= LEAST_SHARE_TOLD)) {
        from_free(out);
        return 0;
    }
    /* of weights by the third power of what is not told, those of six columns leave a third less of
     * satimage untold than the best column alone */
    double untold = MAX(1 - share, 1e-3);
    out->weight = 1 / (untold * untold * untold);
    *told = share;
    if (is_spare(t))
        points_thin(out, SPARE_POINTS);
    return 0;
}

/* The columns that rank the rows most nearly as t does, at most MOST_TRIED; returns their number. */
static int nearest(const struct search *s, const struct told *t, int best[MOST_TRIED])
{
    double score[MOST_TRIED];
    int n = 0;

    for (int k = 0; k < s->n_told; k++) {
        double r = &s->told[k] == t ? 0 : rank_correlation(s, t, &s->told[k]);
        int at = n;
        if (is_ordered(s->spec, s->told[k].col))
            continue;
        if (!(r >= LEAST_RANK_CORRELATION) || (n == MOST_TRIED && r <= score[n - 1]))
            continue;
        for (at = MIN(n, MOST_TRIED - 1); at > 0 && score[at - 1] < r; at--) {
            score[at] = score[at - 1];
            best[at] = best[at - 1];
        }
        score[at] = r;
        best[at] = k;
        n = MIN(n + 1, MOST_TRIED);
    }
    return n;
}

static int fill_fit(struct search *s, const struct told *t, struct prep_gap *g, struct err *err)
{
    struct gap_from from[MOST_TRIED] = { 0 };
    double told[MOST_TRIED] = { 0 };
    int best[MOST_TRIED] = { 0 }, n = nearest(s, t, best), top = 0, rc = 0;

    for (int k = 0; k < n && rc == 0; k++) {
        rc = from_fit(s, t, &s->told[best[k]], &from[k], &told[k], err);
        top = told[k] > told[top] ? k : top;
    }
    bool is_told = rc == 0 && told[top] >= BEST_SHARE_TOLD &&
                   rank_correlation(s, t, &s->told[best[top]]) >= BEST_RANK_CORRELATION;
    while (is_told && told[top] > 0 && g->n_from < (is_spare(t) ? SPARE_FROM : GAP_FROM)) {
        g->from[g->n_from++] = from[top];
        from[top] = (struct gap_from){ 0 };
        told[top] = 0;
        for (int k = 0; k < n; k++)
            top = told[k] > told[top] ? k : top;
    }
    for (int k = 0; k < n; k++)
        from_free(&from[k]);
    return rc;
}

/* ---- all columns ---- */

static int sample_make(struct search *s, struct err *err)
{
    int64_t most = SPARE_ROWS;

    for (int k = 0; k < s->n_told; k++)
        most = is_spare(&s->told[k]) ? most : (int64_t)SAMPLE_ROWS;
    s->n = MIN(s->n_rows, most);
    s->picked = mem_array((size_t)s->n, sizeof *s->picked);
    s->sort_key = mem_array((size_t)s->n, sizeof *s->sort_key);
    s->sort_row = mem_array((size_t)s->n, sizeof *s->sort_row);
    s->left = mem_array((size_t)s->n, sizeof *s->left);
    s->right = mem_array((size_t)s->n, sizeof *s->right);
    for (int64_t i = 0; i < s->n; i++)
        s->picked[i] = s->rows[i * s->n_rows / s->n];
    for (int k = 0; k < s->n_told; k++) {
        struct told *t = &s->told[k];
        t->x = mem_array((size_t)s->n, sizeof *t->x);
        t->rank = mem_array((size_t)s->n, sizeof *t->rank);
        told_read(s, t, s->picked, s->n, t->x);
        if (told_rank(s, t, err) < 0)
            return -1;
    }
    return 0;
}

static void search_free(struct search *s)
{
    for (int k = 0; k < s->n_told; k++) {
        mem_free(s->told[k].x);
        mem_free(s->told[k].rank);
    }
    mem_free(s->picked);
    mem_free(s->sort_key);
    mem_free(s->sort_row);
    mem_free(s->left);
    mem_free(s->right);
    mem_try_free(s->values);
    mem_try_free(s->keys);
    mem_free(s);
}

static struct prep_gap *gap_of(struct gaps *g, const struct told *t)
{
    if (!g->of[t->col]) {
        g->of[t->col] = mem_zalloc(sizeof **g->of);
        g->of[t->col]->blank = t->blank;
    }
    return g->of[t->col];
}

static int fill(struct search *s, const struct told *t, struct gaps *out, struct err *err)
{
    struct prep_gap *g = gap_of(out, t);

    if (fill_fit(s, t, g, err) < 0)
        return -1;
    if (g->n_from == 0 && isnan(g->blank)) {
        gap_free(g);
        out->of[t->col] = NULL;
    }
    return 0;
}

/* Fills what is worth it, at most MOST_FILLED columns: those that lack numbers first. */
static int fill_all(struct search *s, struct gaps *out, struct err *err)
{
    int left = MOST_FILLED;

    if (sample_make(s, err) < 0)
        return -1;
    for (int spare = 0; spare < 2; spare++) {
        for (int k = 0; k < s->n_told && left > 0; k++) {
            const struct told *t = &s->told[k];
            if (is_spare(t) != spare || !is_worth_filling(s, t))
                continue;
            if (fill(s, t, out, err) < 0)
                return -1;
            left--;
        }
    }
    return 0;
}

int gaps_fit(const struct prep_spec *spec, const int64_t *rows, int64_t n, int64_t n_used,
             struct gaps *out, struct err *err)
{
    const struct frame *f = spec->frame;
    struct search *s = mem_zalloc(sizeof *s);
    int rc = 0;

    *s = (struct search){ .spec = spec, .rows = rows, .n_rows = n, .n_used = n_used };
    *out = (struct gaps){ f->n_cols, mem_array((size_t)f->n_cols + 1, sizeof(struct prep_gap *)) };
    s->values = mem_try_alloc((size_t)n * sizeof *s->values);
    s->keys = mem_try_alloc((size_t)n * sizeof *s->keys);
    if (!s->values || !s->keys)
        rc = err_set(err, ERR_NOMEM, "no memory to look for gaps in %lld rows", (long long)n);
    for (int c = 0; c < f->n_cols && s->n_told < MOST_COLUMNS && rc == 0 && n >= LEAST_ROWS; c++) {
        if (f->image.height == 0 && is_looked_at(spec, c))
            look_at(s, c);
    }
    for (int k = 0; k < s->n_told; k++) {
        if (!isnan(s->told[k].blank))
            gap_of(out, &s->told[k]);
    }
    if (spec->choice.of[PREP_OF_MISSING] == MISSING_AUTO && s->n_told > 1)
        rc = fill_all(s, out, err);
    search_free(s);
    return rc;
}
