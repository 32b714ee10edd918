/* code_screen.c - numbers that are names (code_screen.h). Everything runs in row order on at most
 * MOST_ROWS rows, so that equal rows give equal answers on every machine. Called by
 * step_levels.c. */
#include "ml/prep/code_screen.h"

#include "base/mem.h"
#include "ml/math/sort.h"

#include <math.h>
#include <string.h>

enum {
    MOST_ROWS = 40000,
    /* Fewer values are told apart by a few cuts, and a value needs some rows to have a mean. */
    LEAST_VALUES = 24,
    LEAST_ROWS_A_VALUE = 3,
    MOST_BINS = 64,
    WEIGHTS = 3
};
/* What a number must explain more than bins of neighbours do: as a factor, as a share of the
 * variance, and in standard errors. Beside columns of names two standard errors are enough: the
 * means of a column that tells little are drawn to nothing (level_means.h). What may be a name is
 * judged once more, beside the other columns. */
static const struct {
    double factor, share, errors;
} bars[] = {
    [CODE_SURE] = { 1.5, 0.01, 6 }, [CODE_BESIDE] = { 1.5, 0, 2 }, [CODE_MAYBE] = { 1, 0, 0 }
};

/* Rows that have a number, by their numbers, and equal ones in row order. The target of a row is
 * n_means numbers, each about its mean and in units of its largest distance: the target itself, or
 * of each class whether it is that of the row. */
struct sample {
    int n, n_values, n_means;
    double *x;
    /* the target as it is */
    double *target;
    /* [n_values] the rows of value v end before end[v] */
    int *part, *end;
    /* of one number; of classes the mean of each row, -1 = none, and what it then is, and else */
    double *y;
    int *mean_of;
    double *high, *low;
};

/* Rows and sums of a group by part: [1 + n_means][PREP_PARTS], first how many rows there are. So
 * the group of two groups together is their sum. */
static int wide(const struct sample *s)
{
    return (1 + s->n_means) * PREP_PARTS;
}

static bool is_whole(double x)
{
    return fabs(x) <= 9007199254740992.0 && x == (double)(int64_t)x;
}

/* Sorts values and drops repeated ones; returns how many are left. -1 = there is no memory. */
static int64_t unique(double *value, int64_t n)
{
    uint64_t *key = mem_try_alloc(((size_t)n + 1) * sizeof *key);
    int64_t m = 0;

    for (int64_t i = 0; i < n && key; i++)
        key[i] = ml_key_f64(value[i]);
    if (!key || ml_sort_u64(key, NULL, (size_t)n, NULL) < 0) {
        mem_try_free(key);
        return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (m == 0 || key[i] != key[i - 1])
            value[m++] = ml_key_value(key[i]);
    }
    mem_try_free(key);
    return m;
}

static bool is_used(const struct prep_spec *spec, int64_t row)
{
    return !spec->use || spec->use[row];
}

/* Of so many rows one is looked at. */
static int64_t sample_step(const struct prep_spec *spec)
{
    return 1 + spec->frame->rows / MOST_ROWS;
}

int code_values(const struct prep_spec *spec, int col, int most, double **out)
{
    /* room is cleared of repeated values whenever it is full */
    int64_t room = 2 * (int64_t)most + PREP_BLOCK, n = 0;
    double *value = mem_try_alloc((size_t)room * sizeof *value), x[PREP_BLOCK];
    bool is_fine = value != NULL;

    for (int64_t from = 0; from < spec->frame->rows && is_fine; from += PREP_BLOCK) {
        int64_t m = MIN(spec->frame->rows - from, PREP_BLOCK);
        if (n + m > room)
            n = unique(value, n);
        is_fine = n >= 0 && n + m <= room;
        frame_numbers(spec->frame, col, from, m, x);
        for (int64_t i = 0; i < m && is_fine; i++) {
            if (isnan(x[i]) || !is_used(spec, from + i))
                continue;
            is_fine = is_whole(x[i]);
            value[n++] = x[i];
        }
    }
    n = is_fine ? unique(value, n) : 0;
    if (is_fine && n >= 0 && n <= most) {
        *out = value;
        return (int)n;
    }
    mem_try_free(value);
    return -1;
}

/* The least and the largest number; whether one is minus zero, which sorts before zero. */
struct span {
    double lo, hi;
    bool has_minus_zero;
};

static struct span span_of(const struct sample *s)
{
    struct span r = { INFINITY, -INFINITY, false };

    for (int i = 0; i < s->n; i++) {
        r.lo = s->x[i] < r.lo ? s->x[i] : r.lo;
        r.hi = s->x[i] > r.hi ? s->x[i] : r.hi;
        r.has_minus_zero |= s->x[i] == 0 && signbit(s->x[i]);
    }
    return r;
}

/* The order of the rows by their numbers, when these lie close together: by counting. */
static bool count_order(const struct sample *s, const struct span *r, uint32_t *from)
{
    uint32_t *at = mem_try_zalloc(((size_t)(r->hi - r->lo) + 2) * sizeof *at);

    if (!at)
        return false;
    for (int i = 0; i < s->n; i++)
        at[(int64_t)(s->x[i] - r->lo) + 1]++;
    for (int64_t v = 1; v <= (int64_t)(r->hi - r->lo); v++)
        at[v] += at[v - 1];
    for (int i = 0; i < s->n; i++)
        from[at[(int64_t)(s->x[i] - r->lo)]++] = (uint32_t)i;
    mem_try_free(at);
    return true;
}

static bool sort_order(const struct sample *s, uint32_t *from)
{
    uint64_t *key = mem_try_alloc(((size_t)s->n + 1) * sizeof *key);

    for (int i = 0; i < s->n && key; i++) {
        key[i] = ml_key_f64(s->x[i]);
        from[i] = (uint32_t)i;
    }
    bool is_fine = key && ml_sort_u64(key, from, (size_t)s->n, NULL) == 0;
    mem_try_free(key);
    return is_fine;
}

/* Puts the rows in the order of their values, equal ones in row order. False = there is no memory,
 * or there are too few values. */
static bool values_take(struct sample *s)
{
    struct span r = span_of(s);

    if (!(r.hi - r.lo + 2 >= LEAST_VALUES))
        return false;
    uint32_t *from = mem_try_alloc(((size_t)s->n + 1) * sizeof *from);
    double *target = mem_alloc(((size_t)s->n + 1) * sizeof *target);
    int *part = mem_alloc(((size_t)s->n + 1) * sizeof *part);
    bool is_close = r.hi - r.lo <= 4.0 * s->n && !r.has_minus_zero;
    bool is_fine = from && (is_close ? count_order(s, &r, from) : sort_order(s, from));
    uint64_t before = 0;

    for (int i = 0; i < s->n && is_fine; i++) {
        uint64_t key = ml_key_f64(s->x[from[i]]);
        target[i] = s->target[from[i]];
        part[i] = s->part[from[i]];
        s->n_values += i == 0 || key != before;
        s->end[s->n_values - 1] = i + 1;
        before = key;
    }
    mem_try_free(from);
    mem_free(s->target);
    mem_free(s->part);
    s->target = target;
    s->part = part;
    return is_fine;
}

/* Whether the first rows are whole: few of them are enough to know most columns of measures. */
static bool may_be_whole(const struct prep_spec *spec, int col)
{
    enum { PROBE = 64 };
    int64_t rows[PROBE] = { 0 }, n = 0, step = sample_step(spec);
    double x[PROBE];

    for (int64_t i = 0; i < spec->frame->rows && n < PROBE; i += step) {
        if (is_used(spec, i))
            rows[n++] = i;
    }
    frame_numbers_at(spec->frame, col, rows, n, x);
    for (int64_t i = 0; i < n; i++) {
        if (!isnan(x[i]) && !is_whole(x[i]))
            return false;
    }
    return true;
}

/* Training rows that have a number, at equal distances. false: not all of them are whole, or there
 * are too few or too many different ones. */
static bool sample_take(const struct prep_spec *spec, int col, int64_t *rows, struct sample *s)
{
    int64_t step = sample_step(spec), n_rows = 0;

    for (int64_t i = 0; i < spec->frame->rows; i += step) {
        if (is_used(spec, i))
            rows[n_rows++] = i;
    }
    frame_numbers_at(spec->frame, col, rows, n_rows, s->x);
    for (int64_t i = 0; i < n_rows; i++) {
        if (isnan(s->x[i]))
            continue;
        if (!is_whole(s->x[i]))
            return false;
        s->x[s->n] = s->x[i];
        s->part[s->n] = spec->target->part[rows[i]];
        s->target[s->n++] = spec->target->y[rows[i]];
    }
    return values_take(s) && s->n_values >= LEAST_VALUES &&
           s->n_values * LEAST_ROWS_A_VALUE <= s->n && s->n_values <= PREP_MAX_LEVELS;
}

/* The target about its mean, in units of its largest distance. Returns the sum of its squares. */
static double numbers_take(struct sample *s)
{
    double top = 0, mean = 0, square = 0;

    for (int i = 0; i < s->n; i++) {
        s->y[i] = s->target[i];
        top = fmax(top, fabs(s->y[i]));
    }
    for (int i = 0; i < s->n; i++) {
        s->y[i] /= top > 0 ? top : 1;
        mean += s->y[i] / s->n;
    }
    top = 0;
    for (int i = 0; i < s->n; i++)
        top = fmax(top, fabs(s->y[i] - mean));
    for (int i = 0; i < s->n; i++) {
        s->y[i] = (s->y[i] - mean) / (top > 0 ? top : 1);
        square += s->y[i] * s->y[i];
    }
    return square;
}

/* The same of classes: the mean of one is its share of the rows. */
static double classes_take(const int *classes, struct sample *s)
{
    double square = 0;
    int top = 0;

    for (int k = 0; k < s->n_means; k++)
        top = MAX(top, classes[k]);
    int *mean_of = mem_array((size_t)top + 1, sizeof *mean_of);
    for (int c = 0; c <= top; c++)
        mean_of[c] = -1;
    for (int k = 0; k < s->n_means; k++)
        mean_of[classes[k]] = k;
    for (int i = 0; i < s->n; i++) {
        double y = s->target[i];
        s->mean_of[i] = y >= 0 && y <= top ? mean_of[(int)y] : -1;
        if (s->mean_of[i] >= 0)
            s->high[s->mean_of[i]] += 1;
    }
    for (int k = 0; k < s->n_means; k++) {
        double rows = s->high[k], mean = rows / s->n, unit = fmax(mean, 1 - mean);
        s->high[k] = (1 - mean) / unit;
        s->low[k] = -mean / unit;
        square += rows * s->high[k] * s->high[k] + (s->n - rows) * s->low[k] * s->low[k];
    }
    mem_free(mean_of);
    return square;
}

/* Rows and sums of value v. */
static void sums_take(const struct sample *s, int v, double *out)
{
    memset(out, 0, (size_t)wide(s) * sizeof *out);
    for (int i = v > 0 ? s->end[v - 1] : 0; i < s->end[v]; i++) {
        int part = s->part[i], k = s->mean_of ? s->mean_of[i] : 0;
        out[part] += 1;
        if (k >= 0)
            out[(1 + k) * PREP_PARTS + part] += s->mean_of ? 1 : s->y[i];
    }
    for (int k = 0; k < s->n_means && s->mean_of; k++) {
        double *sum = out + (ptrdiff_t)(1 + k) * PREP_PARTS, up = s->high[k] - s->low[k];
        for (int p = 0; p < PREP_PARTS; p++)
            sum[p] = up * sum[p] + s->low[k] * out[p];
    }
}

static void sums_add(const struct sample *s, const double *what, double *to)
{
    for (int i = 0; i < wide(s); i++)
        to[i] += what[i];
}

/* The means of a group in the parts other than one: [n_means][PREP_PARTS]. Each is drawn by
 * `weight` rows towards that of all rows, which is in `all`; all NULL: it is not. */
static void means_take(const struct sample *s, const double *by, const double *all, double weight,
                       double *mean)
{
    double rows = 0;

    for (int p = 0; p < PREP_PARTS; p++)
        rows += by[p];
    for (int k = 0; k < s->n_means; k++) {
        const double *sum = by + (ptrdiff_t)(1 + k) * PREP_PARTS;
        double total = 0;
        for (int p = 0; p < PREP_PARTS; p++)
            total += sum[p];
        for (int p = 0; p < PREP_PARTS; p++) {
            double n = rows - by[p] + weight, to = all ? weight * all[k * PREP_PARTS + p] : 0;
            mean[k * PREP_PARTS + p] = n > 0 ? (total - sum[p] + to) / n : 0;
        }
    }
}

/* How far the means of a group bring the squares of its rows' targets down, all parts and means
 * together: |y - m|^2 - y^2 = m (m - 2 y). */
static double brings(const struct sample *s, const double *by, const double *mean)
{
    double all = 0;

    for (int k = 0; k < s->n_means; k++) {
        for (int p = 0; p < PREP_PARTS; p++) {
            double m = mean[k * PREP_PARTS + p];
            all += m * (by[p] * m - 2 * by[(1 + k) * PREP_PARTS + p]);
        }
    }
    return all;
}

static const double weights[WEIGHTS] = { 2, 8, 32 };

/* Adds to gain[w] what means_take with weights[w] and `brings` say of a group. All weights at once:
 * their sums do not wait for each other. */
static void weights_bring(const struct sample *s, const double *by, const double *all, double *gain)
{
    double rows = 0, sums[WEIGHTS] = { 0 };

    for (int p = 0; p < PREP_PARTS; p++)
        rows += by[p];
    for (int k = 0; k < s->n_means; k++) {
        const double *sum = by + (ptrdiff_t)(1 + k) * PREP_PARTS;
        double total = 0;
        for (int p = 0; p < PREP_PARTS; p++)
            total += sum[p];
        for (int p = 0; p < PREP_PARTS; p++) {
            for (int w = 0; w < WEIGHTS; w++) {
                double n = rows - by[p] + weights[w];
                double m = (total - sum[p] + weights[w] * all[k * PREP_PARTS + p]) / n;
                sums[w] += m * (by[p] * m - 2 * sum[p]);
            }
        }
    }
    for (int w = 0; w < WEIGHTS; w++)
        gain[w] += sums[w];
}

/* What a column is judged by. */
struct judge {
    /* [bins] rows and sums of neighbouring values; of one value */
    double *bins, *value;
    /* [n_means][PREP_PARTS] of all rows, of one group; [bins] of these */
    double *all, *mean, *bin_mean;
};

static int bin_of(const struct sample *s, int v, int bins)
{
    return (int)((int64_t)(v > 0 ? s->end[v - 1] : 0) * bins / s->n);
}

/* Bins of neighbouring values with about equal rows. */
static void bins_take(const struct sample *s, struct judge *j, int bins)
{
    memset(j->bins, 0, (size_t)bins * (size_t)wide(s) * sizeof *j->bins);
    for (int v = 0; v < s->n_values; v++) {
        sums_take(s, v, j->value);
        sums_add(s, j->value, j->bins + (ptrdiff_t)bin_of(s, v, bins) * wide(s));
    }
}

/* Two neighbouring bins become one. */
static void bins_halve(const struct sample *s, struct judge *j, int bins)
{
    for (int b = 0; b < bins / 2; b++) {
        double *to = j->bins + (ptrdiff_t)b * wide(s);
        memmove(to, j->bins + (ptrdiff_t)2 * b * wide(s), (size_t)wide(s) * sizeof *to);
        sums_add(s, j->bins + (ptrdiff_t)(2 * b + 1) * wide(s), to);
    }
}

/* How far bins bring the squares down; their means. */
static double bins_bring(const struct sample *s, struct judge *j, int bins)
{
    double all = 0;

    for (int b = 0; b < bins; b++) {
        double *mean = j->bin_mean + (ptrdiff_t)b * s->n_means * PREP_PARTS;
        const double *by = j->bins + (ptrdiff_t)b * wide(s);
        means_take(s, by, j->all, 1, mean);
        all += brings(s, by, mean);
    }
    return all;
}

/* The squares of the difference between the errors of the rows when each is predicted by its bin
 * and when it is by its value. */
static double squares_between(const struct sample *s, struct judge *j, int bins, double weight)
{
    double all = 0;

    bins_take(s, j, bins);
    (void)bins_bring(s, j, bins);
    for (int v = 0; v < s->n_values; v++) {
        const double *bin = j->bin_mean + (ptrdiff_t)bin_of(s, v, bins) * s->n_means * PREP_PARTS;
        sums_take(s, v, j->value);
        means_take(s, j->value, j->all, weight, j->mean);
        for (int i = v > 0 ? s->end[v - 1] : 0; i < s->end[v]; i++) {
            double d = 0;
            for (int k = 0; k < s->n_means; k++) {
                double one = bin[k * PREP_PARTS + s->part[i]];
                double two = j->mean[k * PREP_PARTS + s->part[i]];
                double y = !s->mean_of ? s->y[i] : s->mean_of[i] == k ? s->high[k] : s->low[k];
                d += (one - two) * (one + two - 2 * y);
            }
            all += d * d;
        }
    }
    return all;
}

static bool judged(const struct sample *s, struct judge *j, double square, enum code_bar bar)
{
    double least = INFINITY, none = 0, codes = INFINITY, by_weight[WEIGHTS] = { 0 };
    int finest = 2, best = 1, w_best = 0;

    while (finest < MOST_BINS && finest * 4 <= s->n_values)
        finest *= 2;
    bins_take(s, j, finest);
    double *total = j->value; /* not needed meanwhile */
    memset(total, 0, (size_t)wide(s) * sizeof *total);
    for (int b = 0; b < finest; b++)
        sums_add(s, j->bins + (ptrdiff_t)b * wide(s), total);
    means_take(s, total, NULL, 0, j->all);
    for (int bins = finest; bins >= 1; bins /= 2) {
        none = square + bins_bring(s, j, bins);
        best = none <= least ? bins : best;
        least = fmin(least, none);
        if (bins > 1)
            bins_halve(s, j, bins);
    }
    for (int v = 0; v < s->n_values; v++) {
        sums_take(s, v, j->value);
        weights_bring(s, j->value, j->all, by_weight);
    }
    for (int w = 0; w < WEIGHTS; w++) {
        w_best = square + by_weight[w] < codes ? w : w_best;
        codes = fmin(codes, square + by_weight[w]);
    }
    return none - codes > bars[bar].factor * (none - least) &&
           least - codes > bars[bar].share * none &&
           least - codes > bars[bar].errors * sqrt(squares_between(s, j, best, weights[w_best]));
}

static bool is_better(const int *classes, enum code_bar bar, struct sample *s)
{
    size_t n = (size_t)s->n, means = (size_t)s->n_means * PREP_PARTS, sums = (size_t)wide(s);
    double *room = mem_array((MOST_BINS + 1) * sums + (MOST_BINS + 2) * means, sizeof *room),
           square = 0;
    struct judge j = { .bins = room, .value = room + MOST_BINS * sums };

    j.all = j.value + sums;
    j.mean = j.all + means;
    j.bin_mean = j.mean + means;
    s->y = mem_array(classes ? 2 * (size_t)s->n_means : n, sizeof *s->y);
    if (classes) {
        s->mean_of = mem_array(n, sizeof *s->mean_of);
        s->high = s->y;
        s->low = s->y + s->n_means;
        square = classes_take(classes, s);
    } else {
        square = numbers_take(s);
    }
    bool is = judged(s, &j, square, bar);
    mem_free(room);
    mem_free(s->y);
    mem_free(s->mean_of);
    return is;
}

bool code_screen(const struct prep_spec *spec, int col, const int *classes, int n_means,
                 enum code_bar bar)
{
    int64_t distinct =
        spec->frame->cols[col].distinct; /* both zeros are one value; 0: not counted */

    if ((distinct > 0 && distinct + 1 < LEAST_VALUES) || !may_be_whole(spec, col))
        return false;
    size_t most = (size_t)(spec->frame->rows / sample_step(spec)) + 2;
    int64_t *rows = mem_alloc(most * sizeof *rows);
    struct sample s = { .n_means = n_means,
                        .x = mem_alloc(most * sizeof *s.x),
                        .target = mem_alloc(most * sizeof *s.target),
                        .part = mem_alloc(most * sizeof *s.part),
                        .end = mem_alloc(most * sizeof *s.end) };
    bool is_code = sample_take(spec, col, rows, &s) && is_better(classes, bar, &s);

    mem_free(s.x);
    mem_free(s.target);
    mem_free(rows);
    mem_free(s.part);
    mem_free(s.end);
    return is_code;
}
