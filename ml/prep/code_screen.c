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
 * means of a column that tells little are drawn to nothing (level_means.h). */
#define LEAST_FACTOR  1.5
#define LEAST_SHARE   0.01
#define LEAST_ERRORS  6.0
#define BESIDE_ERRORS 2.0

struct sample {
    int n, n_values, n_means;
    double *x;
    /* [n_means][n] the target, or one class of it after the other, about its mean and in units of its
     * largest distance */
    double *y;
    /* place: of the row's value among those that occur */
    int *part, *group, *place;
};

/* Rows and sums by group and part, of one target. */
struct by_part {
    double n[PREP_PARTS], sum[PREP_PARTS];
};

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

/* The values that occur, and each row's place among them. False = there is no memory. */
static bool places_take(struct sample *s)
{
    uint64_t *key = mem_try_alloc(((size_t)s->n + 1) * sizeof *key);
    uint32_t *row = mem_try_alloc(((size_t)s->n + 1) * sizeof *row);
    bool is_fine = key && row;

    for (int i = 0; i < s->n && is_fine; i++) {
        key[i] = ml_key_f64(s->x[i]);
        row[i] = (uint32_t)i;
    }
    is_fine = is_fine && ml_sort_u64(key, row, (size_t)s->n, NULL) == 0;
    for (int i = 0; i < s->n && is_fine; i++) {
        s->n_values += i == 0 || key[i] != key[i - 1];
        s->place[row[i]] = s->n_values - 1;
    }
    mem_try_free(key);
    mem_try_free(row);
    return is_fine;
}

/* Training rows that have a number, at equal distances. false: not all of them are whole, or there
 * are too few or too many different ones. */
static bool sample_take(const struct prep_spec *spec, int col, struct sample *s, int64_t *rows)
{
    int64_t step = 1 + spec->frame->rows / MOST_ROWS, n_rows = 0;

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
        rows[s->n++] = rows[i];
    }
    return places_take(s) && s->n_values >= LEAST_VALUES &&
           s->n_values * LEAST_ROWS_A_VALUE <= s->n && s->n_values <= PREP_MAX_LEVELS;
}

/* Adds up target k by group and part. */
static void sums_take(const struct sample *s, int k, int n_groups, struct by_part *by,
                      struct by_part *all)
{
    const double *y = s->y + (ptrdiff_t)k * s->n;

    memset(by, 0, (size_t)n_groups * sizeof *by);
    *all = (struct by_part){ .n = { 0 } };
    for (int i = 0; i < s->n; i++) {
        struct by_part *to = &by[s->group[i]];
        int part = s->part[i];
        to->n[part] += 1;
        to->sum[part] += y[i];
        all->n[part] += 1;
        all->sum[part] += y[i];
    }
}

/* The mean of each group in the parts other than one, drawn towards the mean of all by `weight`
 * rows: [n_groups][PREP_PARTS]. */
static void means_take(const struct by_part *by, const struct by_part *all, int n_groups,
                       double weight, double *mean)
{
    double rows = 0, total = 0, others[PREP_PARTS];

    for (int p = 0; p < PREP_PARTS; p++) {
        rows += all->n[p];
        total += all->sum[p];
    }
    for (int p = 0; p < PREP_PARTS; p++)
        others[p] = rows - all->n[p] > 0 ? (total - all->sum[p]) / (rows - all->n[p]) : 0;
    for (int g = 0; g < n_groups; g++) {
        for (int part = 0; part < PREP_PARTS; part++) {
            double n = 0, sum = 0;
            for (int p = 0; p < PREP_PARTS; p++) {
                n += p == part ? 0 : by[g].n[p];
                sum += p == part ? 0 : by[g].sum[p];
            }
            mean[g * PREP_PARTS + part] = (sum + weight * others[part]) / (n + weight);
        }
    }
}

/* Adds the squared errors of the rows when each is predicted by its group's mean. */
static void errors_add(const struct sample *s, int k, const double *mean, double *error)
{
    const double *y = s->y + (ptrdiff_t)k * s->n;

    for (int i = 0; i < s->n; i++) {
        double off = y[i] - mean[s->group[i] * PREP_PARTS + s->part[i]];
        error[i] += off * off;
    }
}

/* The group of each row: its value, or its bin of neighbouring values with about equal rows. */
static void groups_take(struct sample *s, int bins)
{
    int *bin = mem_array((size_t)s->n_values + 1, sizeof *bin);

    for (int i = 0; i < s->n; i++)
        bin[s->place[i]]++;
    for (int v = 0, seen = 0; v < s->n_values; v++) {
        int rows = bin[v];
        bin[v] = bins ? (int)((int64_t)seen * bins / s->n) : v;
        seen += rows;
    }
    for (int i = 0; i < s->n; i++)
        s->group[i] = bin[s->place[i]];
    mem_free(bin);
}

/* Takes the target, or one class of it, about its mean and in units of its largest distance. */
static void target_take(const struct prep_spec *spec, const int64_t *rows, int class_of, int n,
                        double *out)
{
    double top = 0, mean = 0;

    for (int i = 0; i < n; i++) {
        double y = spec->target->y[rows[i]];
        out[i] = class_of >= 0 ? y == class_of : y;
        top = fmax(top, fabs(out[i]));
    }
    for (int i = 0; i < n; i++) {
        out[i] /= top > 0 ? top : 1;
        mean += out[i] / n;
    }
    top = 0;
    for (int i = 0; i < n; i++)
        top = fmax(top, fabs(out[i] - mean));
    for (int i = 0; i < n; i++)
        out[i] = (out[i] - mean) / (top > 0 ? top : 1);
}

static double sum_of(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Room for the errors of rows, and for what they are made of. */
struct judge {
    double *best, *now, *code[WEIGHTS]; /* [n] */
    struct by_part *by;                 /* [n_values] */
    double *mean;                       /* [n_values][PREP_PARTS] */
};

static const double weights[WEIGHTS] = { 2, 8, 32 };

/* The errors of all means together, with this many bins. */
static double errors_of_bins(struct sample *s, int bins, struct judge *j, double *error)
{
    struct by_part all;

    memset(error, 0, (size_t)s->n * sizeof *error);
    groups_take(s, bins);
    for (int k = 0; k < s->n_means; k++) {
        sums_take(s, k, bins, j->by, &all);
        means_take(j->by, &all, bins, 1, j->mean);
        errors_add(s, k, j->mean, error);
    }
    return sum_of(error, s->n);
}

/* The same with each value alone, for each weight; returns the best of them. */
static int errors_of_values(struct sample *s, struct judge *j, double *least)
{
    int best = 0;

    groups_take(s, 0);
    for (int k = 0; k < s->n_means; k++) {
        struct by_part all;
        sums_take(s, k, s->n_values, j->by, &all);
        for (int w = 0; w < WEIGHTS; w++) {
            means_take(j->by, &all, s->n_values, weights[w], j->mean);
            errors_add(s, k, j->mean, j->code[w]);
        }
    }
    *least = INFINITY;
    for (int w = 0; w < WEIGHTS; w++) {
        double sum = sum_of(j->code[w], s->n);
        best = sum < *least ? w : best;
        *least = fmin(*least, sum);
    }
    return best;
}

static bool judged(struct sample *s, struct judge *j, bool beside)
{
    double none = errors_of_bins(s, 1, j, j->best), bins = none, codes = 0, square = 0;

    for (int b = 2; b <= MOST_BINS && b * 2 <= s->n_values; b *= 2) {
        double sum = errors_of_bins(s, b, j, j->now);
        if (sum < bins) {
            memcpy(j->best, j->now, (size_t)s->n * sizeof *j->now);
            bins = sum;
        }
    }
    const double *code = j->code[errors_of_values(s, j, &codes)];
    for (int i = 0; i < s->n; i++)
        square += (j->best[i] - code[i]) * (j->best[i] - code[i]);
    return none - codes > LEAST_FACTOR * (none - bins) &&
           bins - codes > (beside ? 0 : LEAST_SHARE) * none &&
           bins - codes > (beside ? BESIDE_ERRORS : LEAST_ERRORS) * sqrt(square);
}

static bool is_better(const struct prep_spec *spec, const int64_t *rows, const int *classes,
                      bool beside, struct sample *s)
{
    size_t n = (size_t)s->n, values = (size_t)s->n_values;
    double *room =
        mem_array(n * (2 + WEIGHTS + (size_t)s->n_means) + values * PREP_PARTS, sizeof *room);
    struct judge j = { .best = room, .now = room + n, .by = mem_array(values, sizeof *j.by) };

    for (int w = 0; w < WEIGHTS; w++)
        j.code[w] = room + (2 + (size_t)w) * n;
    s->y = room + (2 + WEIGHTS) * n;
    j.mean = s->y + n * (size_t)s->n_means;
    for (int k = 0; k < s->n_means; k++)
        target_take(spec, rows, classes ? classes[k] : -1, s->n, s->y + (size_t)k * n);
    bool is = judged(s, &j, beside);
    mem_free(room);
    mem_free(j.by);
    return is;
}

bool code_screen(const struct prep_spec *spec, int col, const int *classes, int n_means,
                 bool beside)
{
    size_t most = (size_t)MIN(spec->frame->rows, 2 * MOST_ROWS) + 1;
    struct sample s = { .n_means = n_means,
                        .x = mem_array(most, sizeof *s.x),
                        .part = mem_array(most, sizeof *s.part),
                        .group = mem_array(most, sizeof *s.group),
                        .place = mem_array(most, sizeof *s.place) };
    int64_t *rows = mem_array(most, sizeof *rows);
    bool is_code = sample_take(spec, col, &s, rows) && is_better(spec, rows, classes, beside, &s);

    mem_free(s.x);
    mem_free(s.part);
    mem_free(s.group);
    mem_free(s.place);
    mem_free(rows);
    return is_code;
}
