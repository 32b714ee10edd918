/* code_screen.c - numbers that are names (code_screen.h). Everything runs in row order on at most
 * MOST_ROWS rows, so that equal rows give equal answers on every machine. Called by
 * step_levels.c. */
#include "ml/prep/code_screen.h"

#include "base/mem.h"
#include "ml/prep/level_means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 40000,
    /* Fewer values are told apart by a few cuts, and a value needs some rows to have a mean. */
    LEAST_VALUES = 24,
    LEAST_ROWS_A_VALUE = 3,
    MOST_BINS = 64
};
/* What a number must explain more than bins of neighbours do: as a factor, as a share of the
 * variance, and in standard errors. */
#define LEAST_FACTOR 1.5
#define LEAST_SHARE  0.01
#define LEAST_ERRORS 6.0

struct sample {
    int n, n_values;
    double *x, *y;
    /* place: of the row's value among those that occur */
    int *part, *group, *place;
    /* the values that occur, ascending */
    double *value;
};

static bool is_whole(double x)
{
    return fabs(x) <= 9007199254740992.0 && x == floor(x);
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts values and drops repeated ones; returns how many are left. */
static int64_t unique(double *value, int64_t n)
{
    int64_t m = 0;

    qsort(value, (size_t)n, sizeof *value, by_number);
    for (int64_t i = 0; i < n; i++) {
        if (m == 0 || value[i] != value[m - 1])
            value[m++] = value[i];
    }
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
        is_fine = n + m <= room;
        frame_numbers(spec->frame, col, from, m, x);
        for (int64_t i = 0; i < m && is_fine; i++) {
            if (isnan(x[i]) || !is_used(spec, from + i))
                continue;
            is_fine = is_whole(x[i]);
            value[n++] = x[i];
        }
    }
    n = is_fine ? unique(value, n) : 0;
    if (is_fine && n <= most) {
        *out = value;
        return (int)n;
    }
    mem_try_free(value);
    return -1;
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
    memcpy(s->value, s->x, (size_t)s->n * sizeof *s->x);
    s->n_values = (int)unique(s->value, s->n);
    if (s->n_values < LEAST_VALUES || s->n_values * LEAST_ROWS_A_VALUE > s->n ||
        s->n_values > PREP_MAX_LEVELS)
        return false;
    for (int i = 0; i < s->n; i++)
        s->place[i] = level_of_value(s->value, s->n_values, s->x[i]);
    return true;
}

/* Squared errors of the rows when each is predicted by the mean of its group in the other parts,
 * drawn towards the mean of all by `weight` rows; added to error[n]. */
static void errors_add(const struct sample *s, int n_groups, double weight, double *error)
{
    double(*n)[PREP_PARTS] = mem_array((size_t)n_groups + 1, sizeof *n);
    double(*sum)[PREP_PARTS] = mem_array((size_t)n_groups + 1, sizeof *sum);
    double all_n[PREP_PARTS] = { 0 }, all_sum[PREP_PARTS] = { 0 }, rows = 0, total = 0;

    for (int i = 0; i < s->n; i++) {
        n[s->group[i]][s->part[i]] += 1;
        sum[s->group[i]][s->part[i]] += s->y[i];
        all_n[s->part[i]] += 1;
        all_sum[s->part[i]] += s->y[i];
    }
    for (int p = 0; p < PREP_PARTS; p++) {
        rows += all_n[p];
        total += all_sum[p];
    }
    for (int i = 0; i < s->n; i++) {
        int g = s->group[i], part = s->part[i];
        double g_n = 0, g_sum = 0, others = rows - all_n[part];
        for (int p = 0; p < PREP_PARTS; p++) {
            g_n += p == part ? 0 : n[g][p];
            g_sum += p == part ? 0 : sum[g][p];
        }
        double mean = others > 0 ? (total - all_sum[part]) / others : 0;
        double off = s->y[i] - (g_sum + weight * mean) / (g_n + weight);
        error[i] += off * off;
    }
    mem_free(n);
    mem_free(sum);
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
static void target_take(const struct prep_spec *spec, const int64_t *rows, int class_of,
                        struct sample *s)
{
    double top = 0, mean = 0;

    for (int i = 0; i < s->n; i++) {
        double y = spec->target->y[rows[i]];
        s->y[i] = class_of >= 0 ? y == class_of : y;
        top = fmax(top, fabs(s->y[i]));
    }
    for (int i = 0; i < s->n; i++) {
        s->y[i] /= top > 0 ? top : 1;
        mean += s->y[i] / s->n;
    }
    top = 0;
    for (int i = 0; i < s->n; i++)
        top = fmax(top, fabs(s->y[i] - mean));
    for (int i = 0; i < s->n; i++)
        s->y[i] = (s->y[i] - mean) / (top > 0 ? top : 1);
}

static double sum_of(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* The errors of all means together, with this many bins (0 = each value alone). */
static double errors_of(const struct prep_spec *spec, const int64_t *rows, const int *classes,
                        int n_means, int bins, double weight, struct sample *s, double *error)
{
    memset(error, 0, (size_t)s->n * sizeof *error);
    groups_take(s, bins);
    for (int k = 0; k < n_means; k++) {
        target_take(spec, rows, classes ? classes[k] : -1, s);
        errors_add(s, bins ? bins : s->n_values, weight, error);
    }
    return sum_of(error, s->n);
}

static bool is_better(const struct prep_spec *spec, const int64_t *rows, const int *classes,
                      int n_means, struct sample *s)
{
    static const double weights[] = { 2, 8, 32 };
    size_t room = (size_t)s->n + 1;
    double *best = mem_array(room, sizeof *best), *code = mem_array(room, sizeof *code),
           *now = mem_array(room, sizeof *now);
    double none = errors_of(spec, rows, classes, n_means, 1, 1, s, best), bins = none;
    double codes = INFINITY, square = 0;

    for (int b = 2; b <= MOST_BINS && b * 2 <= s->n_values; b *= 2) {
        double sum = errors_of(spec, rows, classes, n_means, b, 1, s, now);
        if (sum < bins) {
            memcpy(best, now, (size_t)s->n * sizeof *now);
            bins = sum;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(weights); i++) {
        double sum = errors_of(spec, rows, classes, n_means, 0, weights[i], s, now);
        if (sum < codes) {
            memcpy(code, now, (size_t)s->n * sizeof *now);
            codes = sum;
        }
    }
    for (int i = 0; i < s->n; i++)
        square += (best[i] - code[i]) * (best[i] - code[i]);
    mem_free(best);
    mem_free(code);
    mem_free(now);
    return none - codes > LEAST_FACTOR * (none - bins) && bins - codes > LEAST_SHARE * none &&
           bins - codes > LEAST_ERRORS * sqrt(square);
}

bool code_screen(const struct prep_spec *spec, int col, const int *classes, int n_means)
{
    size_t most = (size_t)MIN(spec->frame->rows, 2 * MOST_ROWS) + 1;
    struct sample s = { .x = mem_array(most, sizeof *s.x),
                        .y = mem_array(most, sizeof *s.y),
                        .part = mem_array(most, sizeof *s.part),
                        .group = mem_array(most, sizeof *s.group),
                        .place = mem_array(most, sizeof *s.place),
                        .value = mem_array(most, sizeof *s.value) };
    int64_t *rows = mem_array(most, sizeof *rows);
    bool is_code = sample_take(spec, col, &s, rows) && is_better(spec, rows, classes, n_means, &s);

    mem_free(s.x);
    mem_free(s.y);
    mem_free(s.part);
    mem_free(s.group);
    mem_free(s.place);
    mem_free(s.value);
    mem_free(rows);
    return is_code;
}
