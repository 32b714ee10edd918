/* level_means.c - means of the target per level (level_means.h). Sums run in row order, so that
 * equal rows give equal bytes. Called by step_levels.c. */
#include "ml/prep/level_means.h"

#include "base/mem.h"
#include "ml/prep/number_places.h"

#include <math.h>

/* The weight of the total mean when levels do not differ at all, and the least weight. */
#define MOST_WEIGHT  1e6
#define LEAST_WEIGHT 0.5

void levels_of_values(const double *value, int n_levels, const double *x, int64_t n, int32_t *out)
{
    number_places(value, n_levels, x, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            out[i] = n_levels;
        else if (out[i] == n_levels || value[out[i]] != x[i])
            out[i] = n_levels + 1;
    }
}

int32_t level_of_two(int32_t a, int32_t b, int other_levels, int n_levels)
{
    if (a == PREP_NO_LEVEL || b == PREP_NO_LEVEL)
        return n_levels;
    return a < 0 || b < 0 ? n_levels + 1 : a * other_levels + b;
}

void levels_of_numbers(const double *value, int n_levels, const double *x, int64_t n, int32_t *out)
{
    levels_of_values(value, n_levels, x, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (out[i] >= n_levels)
            out[i] = out[i] == n_levels ? PREP_NO_LEVEL : PREP_NEW_LEVEL;
    }
}

/* One of two columns. */
struct side {
    int col, n_levels;
    const int32_t *map;
    const double *value;
};

/* Rows of it as prep_source_levels tells them; n <= SOME_ROWS. */
enum { SOME_ROWS = 256 };
static void side_read(const struct frame *f, struct side s, int64_t from, int64_t n, int32_t *out)
{
    double x[SOME_ROWS];

    if (s.value) {
        frame_numbers(f, s.col, from, n, x);
        levels_of_numbers(s.value, s.n_levels, x, n, out);
        return;
    }
    frame_codes(f, s.col, from, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = out[i] < 0 ? PREP_NO_LEVEL : s.map[out[i]] < 0 ? PREP_NEW_LEVEL : s.map[out[i]];
}

static void two_rows_read(const struct level_rows *r, int64_t from, int64_t n, int32_t *out)
{
    struct side first = { r->col, r->n_levels / r->other_levels, r->map, r->value },
                second = { r->other_col, r->other_levels, r->other_map, r->other_value };
    int32_t level[SOME_ROWS];

    for (int64_t at = 0; at < n; at += SOME_ROWS) {
        int64_t m = MIN(n - at, SOME_ROWS);
        side_read(r->frame, first, from + at, m, out + at);
        side_read(r->frame, second, from + at, m, level);
        for (int64_t i = 0; i < m; i++)
            out[at + i] = level_of_two(out[at + i], level[i], r->other_levels, r->n_levels);
    }
}

static void numbers_read(const struct level_rows *r, const double *x, int64_t n, int32_t *out)
{
    if (!r->numbers) {
        levels_of_values(r->value, r->n_levels, x, n, out);
        return;
    }
    prep_levels_of_numbers(r->numbers, x, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (out[i] < 0)
            out[i] = out[i] == PREP_NO_LEVEL ? r->n_levels : r->n_levels + 1;
    }
}

void level_rows_read(const struct level_rows *r, int64_t from, int64_t n, int32_t *out)
{
    double x[256];

    if (r->other_levels > 0) {
        two_rows_read(r, from, n, out);
        return;
    }
    if (r->map) {
        frame_codes(r->frame, r->col, from, n, out);
        for (int64_t i = 0; i < n; i++)
            out[i] = out[i] < 0           ? r->n_levels
                     : r->map[out[i]] < 0 ? r->n_levels + 1
                                          : r->map[out[i]];
        return;
    }
    for (int64_t at = 0; at < n; at += (int64_t)ARRAY_LEN(x)) {
        int64_t m = MIN(n - at, (int64_t)ARRAY_LEN(x));
        frame_numbers(r->frame, r->col, from + at, m, x);
        numbers_read(r, x, m, out + at);
    }
}

void level_means_fini(struct level_means *m)
{
    mem_try_free(m->mean);
    mem_try_free(m->frequency);
    *m = (struct level_means){ 0 };
}

/* Counts and sums by level and part, of one target. */
struct sums {
    int n_levels;
    double (*n)[PREP_PARTS], (*sum)[PREP_PARTS];
    /* of all rows, by part: how many, and the sum of squares */
    double rows[PREP_PARTS], squares[PREP_PARTS];
};

/* Targets as they are added up: (y - middle) / unit lies in [-1, 1], so that sums lose no digits
 * and squares do not overflow. */
struct scale {
    double middle, unit;
};

static bool is_trained(const struct level_means_in *in, int64_t row)
{
    return !in->train || in->train[row];
}

static struct scale scale_of(const struct level_means_in *in)
{
    const double *y = in->target->y;
    double top = 0, sum = 0, n = 0, unit = 0;

    if (in->classes)
        return (struct scale){ 0, 1 };
    for (int64_t i = 0; i < in->rows.frame->rows; i++)
        top = is_trained(in, i) ? fmax(top, fabs(y[i])) : top;
    if (!(top > 0))
        return (struct scale){ 0, 1 };
    for (int64_t i = 0; i < in->rows.frame->rows; i++) {
        sum += is_trained(in, i) ? y[i] / top : 0;
        n += is_trained(in, i);
    }
    double middle = sum / n * top;
    for (int64_t i = 0; i < in->rows.frame->rows; i++)
        unit = is_trained(in, i) ? fmax(unit, fabs(y[i] - middle)) : unit;
    return (struct scale){ middle, unit > 0 && isfinite(unit) ? unit : 1 };
}

static void sums_add(const struct level_means_in *in, int class_of, struct scale unit,
                     int32_t *level, struct sums *s)
{
    const struct prep_target *t = in->target;

    for (int64_t from = 0; from < in->rows.frame->rows; from += PREP_BLOCK) {
        int64_t n = MIN(in->rows.frame->rows - from, PREP_BLOCK);
        level_rows_read(&in->rows, from, n, level);
        for (int64_t i = 0; i < n; i++) {
            if (!is_trained(in, from + i))
                continue;
            double y = t->y[from + i], w = t->weight ? t->weight[from + i] : 1;
            int part = t->part[from + i];
            double z = class_of >= 0 ? y == class_of : (y - unit.middle) / unit.unit;
            s->n[level[i]][part] += w;
            s->sum[level[i]][part] += w * z;
            s->rows[part] += w;
            s->squares[part] += w * z * z;
        }
    }
}

/* The sum over all parts but one; -1 = over all. */
static double without(const double by_part[PREP_PARTS], int part)
{
    double sum = 0;

    for (int p = 0; p < PREP_PARTS; p++)
        sum += p == part ? 0 : by_part[p];
    return sum;
}

/* The weight m of the total mean (level_means.h), from the rows of all parts but one. */
static double weight_of(const struct sums *s, int part, double mean, double rows)
{
    double between = 0, within = without(s->squares, part), levels = 0, squares = 0;

    for (int l = 0; l < s->n_levels + 2; l++) {
        double n = without(s->n[l], part), sum = without(s->sum[l], part);
        if (n <= 0)
            continue;
        between += n * (sum / n - mean) * (sum / n - mean);
        within -= sum * sum / n;
        squares += n * n;
        levels++;
    }
    if (!(rows > levels) || levels < 2)
        return MOST_WEIGHT;
    within = fmax(within, 0) / (rows - levels);
    double spread = (between - (levels - 1) * within) / (rows - squares / rows);
    if (!(spread * MOST_WEIGHT > within))
        return MOST_WEIGHT;
    return fmax(within / spread, LEAST_WEIGHT);
}

static void means_of(const struct sums *s, int variant, double unit, double *out)
{
    int part = variant < PREP_PARTS ? variant : -1;
    double rows = without(s->rows, part), sum = 0;

    for (int l = 0; l < s->n_levels + 2; l++)
        sum += without(s->sum[l], part);
    double mean = rows > 0 ? sum / rows : 0, m = weight_of(s, part, mean, rows);
    for (int l = 0; l < s->n_levels + 2; l++) {
        double n = without(s->n[l], part);
        out[l * LEVEL_VARIANTS + variant] = (without(s->sum[l], part) - n * mean) / (n + m) * unit;
    }
}

static void frequencies_of(const struct sums *s, int variant, double all_rows, double *out)
{
    int part = variant < PREP_PARTS ? variant : -1;
    double rows = without(s->rows, part), scale = rows > 0 ? all_rows / rows : 0;

    for (int l = 0; l < s->n_levels + 2; l++) {
        /* log2 from the exponent and the mantissa alone, so that it is equal on every machine */
        int exponent = 0;
        double mantissa = frexp(1 + without(s->n[l], part) * scale, &exponent);
        out[l * LEVEL_VARIANTS + variant] = exponent - 2 + 2 * mantissa;
    }
}

static double new_share_of(const struct sums *s)
{
    double is_new = 0, rows = without(s->rows, -1);

    for (int l = 0; l < s->n_levels; l++) {
        for (int p = 0; p < PREP_PARTS; p++)
            is_new += without(s->n[l], p) > 0 ? 0 : s->n[l][p];
    }
    return rows > 0 ? is_new / rows : 1;
}

static int sums_init(struct sums *s, int n_levels, struct err *err)
{
    size_t bytes = ((size_t)n_levels + 2) * sizeof *s->n;

    *s = (struct sums){ n_levels, mem_try_zalloc(bytes), mem_try_zalloc(bytes), { 0 }, { 0 } };
    if (s->n && s->sum)
        return 0;
    mem_try_free(s->n);
    mem_try_free(s->sum);
    return err_set(err, ERR_NOMEM, "no memory for the means of %d levels", n_levels);
}

static int one_mean(const struct level_means_in *in, int k, struct scale unit, int32_t *level,
                    struct level_means *out, struct err *err)
{
    int n_levels = in->rows.n_levels;
    struct sums s;

    if (sums_init(&s, n_levels, err) < 0)
        return -1;
    sums_add(in, in->classes ? in->classes[k] : -1, unit, level, &s);
    out->new_share = new_share_of(&s);
    for (int v = 0; v < LEVEL_VARIANTS; v++) {
        means_of(&s, v, unit.unit, out->mean + (int64_t)k * (n_levels + 2) * LEVEL_VARIANTS);
        if (k == 0)
            frequencies_of(&s, v, in->all_rows, out->frequency);
    }
    mem_try_free(s.n);
    mem_try_free(s.sum);
    return 0;
}

int level_means_make(const struct level_means_in *in, struct level_means *out, struct err *err)
{
    size_t levels = ((size_t)in->rows.n_levels + 2) * LEVEL_VARIANTS;
    struct scale unit = scale_of(in);
    int rc = 0;

    *out = (struct level_means){ .n_levels = in->rows.n_levels,
                                 .n_means = in->n_means,
                                 .mean = mem_try_zalloc((size_t)in->n_means * levels * 8),
                                 .frequency = mem_try_zalloc(levels * 8) };
    if (!out->mean || !out->frequency)
        rc = err_set(err, ERR_NOMEM, "no memory for the means of %d levels", in->rows.n_levels);
    int32_t *level = mem_alloc(PREP_BLOCK * sizeof *level);
    for (int k = 0; k < in->n_means && rc == 0; k++)
        rc = one_mean(in, k, unit, level, out, err);
    mem_free(level);
    if (rc < 0)
        level_means_fini(out);
    return rc;
}
