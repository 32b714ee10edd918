/* parzen.c - kernels, their densities, and draws from them. A density costs, for each kernel and
 * dimension, one look-up in a table (few cells), one comparison (categories) or one square
 * (numbers), and one exp for each kernel. This is possible because widths are rounded to powers of
 * sqrt 2, for which the masses of all cells are tabulated. Data are stored dimension by dimension.
 * The loops over kernels, for many points at once, are in parzen_sum.c. */
#include "search/samplers/tpe/parzen.h"

#include "search/space/exact_math.h"
#include "search/space/normal.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* BLOCK kernels of PARZEN_BATCH logarithms take 12 kB. */
enum { JOINT_SAMPLES = 64, MAX_TRIES = 64, LINE_GRID = 128, BLOCK = 64 };
#define HALF_LOG_2PI 0.9189385332046727
#define LEAST_MASS   1e-12 /* of a far cell, so that its logarithm is finite */

/* 2^(-level / 2), exact for even levels. */
static double width_of(int level)
{
    return ldexp(level % 2 ? 0.7071067811865476 : 1, -(level / 2));
}

/* The level whose width is nearest on a log scale: 0.84 is 2^(-1/4), half way to the next. */
static int level_of(double width)
{
    int level = 0;

    while (level < PARZEN_LEVELS - 1 && width < width_of(level) * 0.8408964152537145)
        level++;
    return level;
}

/* ---- axes ---- */

/* The borders of the cells in the unit interval. They are equally far apart, except for an integer
 * on a log scale, whose cells have their lengths on the log axis. */
static void borders(const struct param *p, int cells, double *at)
{
    double a = 0, b = 1;

    if (p->kind == PARAM_INT && p->is_log) {
        a = search_log(p->lo - 0.5);
        b = search_log(p->hi + 0.5);
    }
    for (int c = 0; c <= cells; c++)
        at[c] = p->kind == PARAM_INT && p->is_log ? (search_log(p->lo - 0.5 + c) - a) / (b - a)
                                                  : (double)c / cells;
}

/* Another dimension with the same cells and with tables at the level; or NULL. */
static const struct parzen_dim *like(const struct parzen_axes *a, const struct parzen_dim *dim,
                                     int level)
{
    for (int j = 0; j < a->n; j++) {
        const struct parzen_dim *other = &a->dims[j];
        if (other->kind == PARZEN_CELLS && other->cells == dim->cells && other->masses[level] &&
            memcmp(other->borders, dim->borders, ((size_t)dim->cells + 1) * sizeof *dim->borders) ==
                0)
            return other;
    }
    return NULL;
}

/* Makes the tables of a dimension at a level: what a normal around the centre cell has in each
 * cell. */
static void masses_make(const struct parzen_axes *a, struct parzen_dim *dim, int level)
{
    int cells = dim->cells;
    size_t n = (size_t)cells * (size_t)cells;
    double *masses = mem_array(n, sizeof *masses), *shares = mem_array(n, sizeof *shares);
    double width = width_of(level);
    const double *at = dim->borders;
    const struct parzen_dim *made = like(a, dim, level);

    dim->masses[level] = masses;
    dim->shares[level] = shares;
    if (made) {
        memcpy(masses, made->masses[level], n * sizeof *masses);
        memcpy(shares, made->shares[level], n * sizeof *shares);
        return;
    }
    for (int c = 0; c < cells; c++) {
        double share[PARZEN_MAX_CELLS], logs[PARZEN_MAX_CELLS];
        double mid = (at[c] + at[c + 1]) / 2, below = normal_cdf(-mid / width);
        double whole = normal_cdf((1 - mid) / width) - below;
        for (int x = 0; x < cells; x++) {
            double above = normal_cdf((at[x + 1] - mid) / width);
            share[x] = MAX((above - below) / whole, LEAST_MASS) / (at[x + 1] - at[x]);
            below = above;
        }
        search_log_each(share, logs, cells);
        search_exp_each(logs, share, cells);
        for (int x = 0; x < cells; x++) {
            masses[x * cells + c] = logs[x];
            shares[c * cells + x] =
                share[x] * (at[x + 1] - at[x]) + (x > 0 ? shares[c * cells + x - 1] : 0);
        }
    }
}

static void cells_init(struct parzen_axes *a, struct parzen_dim *dim)
{
    const struct param *p = &a->space->params[dim->param];

    dim->table = a->n_tables;
    a->n_tables += (size_t)(dim->cells + 1) * PARZEN_BATCH;
    dim->borders = mem_array((size_t)dim->cells + 1, sizeof *dim->borders);
    dim->values = mem_array((size_t)dim->cells, sizeof *dim->values);
    borders(p, dim->cells, dim->borders);
    for (int c = 0; c < dim->cells; c++)
        dim->values[c] = param_value(p, c);
}

static void axis_add(struct parzen_axes *a, int i)
{
    const struct param *p = &a->space->params[i];
    double size = param_size(p);
    struct parzen_dim dim = { .param = i, .kind = PARZEN_LINE };

    a->of_param[i] = -1;
    if (size <= 1 || p->axis == AXIS_FREE)
        return;
    if (p->kind == PARAM_CATEGORICAL) {
        dim.kind = PARZEN_CATEGORY;
        dim.cells = (int)size;
    } else if (size <= PARZEN_MAX_CELLS) {
        dim.kind = PARZEN_CELLS;
        dim.cells = (int)size;
        cells_init(a, &dim);
    }
    a->of_param[i] = a->n;
    a->dims[a->n++] = dim;
}

/* The largest number of parameters that are active together, as seen in some random points. */
static int joint_size(const struct parzen_axes *a)
{
    const struct space *s = a->space;
    double *unit = mem_array((size_t)s->n + 1, sizeof *unit);
    double *point = mem_array((size_t)s->n + 1, sizeof *point);
    struct rng r;
    int most = 0;

    rng_init(&r, 0, 0);
    for (int k = 0; k < JOINT_SAMPLES; k++) {
        int n = 0;
        for (int i = 0; i < s->n; i++)
            unit[i] = rng_unit(&r);
        space_from_unit(s, unit, point);
        for (int i = 0; i < s->n; i++)
            n += a->of_param[i] >= 0 && !isnan(point[i]);
        most = MAX(most, n);
    }
    mem_free(unit);
    mem_free(point);
    return most;
}

void parzen_axes_init(struct parzen_axes *a, const struct space *space)
{
    *a = (struct parzen_axes){ .space = space };
    a->dims = mem_array((size_t)space->n + 1, sizeof *a->dims);
    a->of_param = mem_array((size_t)space->n + 1, sizeof *a->of_param);
    a->is_shape = mem_zalloc((size_t)space->n + 1);
    for (int i = 0; i < space->n; i++) {
        const struct param *p = &space->params[i];

        axis_add(a, i);
        a->is_shape[i] = p->axis == AXIS_SHAPE;
        if (p->parent >= 0) /* a parent decides which shape parameters exist */
            a->is_shape[p->parent] = true;
    }
    a->n_joint = joint_size(a);
    a->tables = mem_array(a->n_tables + 1, sizeof *a->tables);
    a->batch = mem_array((size_t)a->n * PARZEN_BATCH + 1, sizeof *a->batch);
    a->is_used = mem_zalloc((size_t)a->n + 1);
}

void parzen_axes_fini(struct parzen_axes *a)
{
    for (int j = 0; j < a->n; j++) {
        for (int level = 0; level < PARZEN_LEVELS; level++) {
            mem_free(a->dims[j].masses[level]);
            mem_free(a->dims[j].shares[level]);
        }
        mem_free(a->dims[j].borders);
        mem_free(a->dims[j].values);
    }
    for (int level = 0; level < PARZEN_LEVELS; level++)
        mem_free(a->lines[level]);
    mem_free(a->dims);
    mem_free(a->of_param);
    mem_free(a->is_shape);
    mem_free(a->tables);
    mem_free(a->batch);
    mem_free(a->is_used);
    *a = (struct parzen_axes){ .space = a->space };
}

static double place_of(const struct parzen_dim *dim, const struct param *p, double v)
{
    return dim->kind == PARZEN_LINE ? param_to_unit(p, v) : param_cell(p, v);
}

void parzen_place(const struct parzen_axes *a, const double *point, double *place)
{
    for (int j = 0; j < a->n; j++) {
        const struct parzen_dim *dim = &a->dims[j];
        double v = point[dim->param];
        place[j] = isnan(v) ? -1 : place_of(dim, &a->space->params[dim->param], v);
    }
}

/* ---- kernels ---- */

void parzen_init(struct parzen *p, struct parzen_axes *axes)
{
    size_t d = (size_t)axes->n + 1;

    *p = (struct parzen){ .axes = axes };
    p->same = mem_array(d, sizeof *p->same);
    p->other = mem_array(d, sizeof *p->other);
    p->own = mem_array(d, sizeof *p->own);
}

void parzen_fini(struct parzen *p)
{
    mem_free(p->places);
    mem_free(p->norms);
    mem_free(p->weights);
    mem_free(p->sums);
    mem_free(p->logs);
    mem_free(p->same);
    mem_free(p->other);
    mem_free(p->own);
    memset(p, 0, sizeof *p);
}

void parzen_keep(struct parzen *p, int n)
{
    CHECK(n >= 0 && n <= p->n);
    p->n = n;
    p->n_built = MIN(p->n_built, n);
}

/* An array with room for more kernels. Dimension j of kernel k is at [j * cap + k], so everything
 * moves. Frees the old one. */
static double *spread_out(double *from, size_t d, size_t old, size_t cap)
{
    double *to = mem_array(cap * d + 1, sizeof *to);

    for (size_t j = 0; j < d && old > 0; j++)
        memcpy(to + j * cap, from + j * old, old * sizeof *to);
    mem_free(from);
    return to;
}

static void grow(struct parzen *p)
{
    size_t cap = p->cap ? (size_t)p->cap * 2 : 64, old = (size_t)p->cap, d = (size_t)p->axes->n;

    p->places = spread_out(p->places, d, old, cap);
    p->norms = spread_out(p->norms, d, old, cap);
    p->weights = mem_resize(p->weights, cap * sizeof *p->weights);
    p->sums = mem_resize(p->sums, cap * sizeof *p->sums);
    p->logs = mem_resize(p->logs, cap * PARZEN_BATCH * sizeof *p->logs);
    p->cap = (int)cap;
}

void parzen_add(struct parzen *p, const double *place, double weight)
{
    if (p->n == p->cap)
        grow(p);
    for (int j = 0; j < p->axes->n; j++)
        p->places[(size_t)j * (size_t)p->cap + (size_t)p->n] = place[j];
    p->weights[p->n++] = weight;
}

void parzen_kernel(const struct parzen *p, int kernel, double *place)
{
    for (int j = 0; j < p->axes->n; j++)
        place[j] = p->places[(size_t)j * (size_t)p->cap + (size_t)kernel];
}

/* The logarithm of a normal's height divided by its share inside [0,1], for centres 0, 1/LINE_GRID,
 * .. 1. */
static double *line_new(double width)
{
    double *line = mem_array(LINE_GRID + 1, sizeof *line);

    for (int i = 0; i <= LINE_GRID; i++) {
        double mid = (double)i / LINE_GRID;
        double share = normal_cdf((1 - mid) / width) - normal_cdf(-mid / width);
        line[i] = -search_log(share * width) - HALF_LOG_2PI;
    }
    return line;
}

/* Interpolates line_new at the centre of each kernel from `first` on; the share inside changes
 * slowly with the centre. */
static void build_line(struct parzen *p, int j, int first)
{
    const double *place = p->places + (size_t)j * (size_t)p->cap;
    double **line = &p->axes->lines[p->level];
    double *norm = p->norms + (size_t)j * (size_t)p->cap;

    if (!*line)
        *line = line_new(width_of(p->level));
    for (int k = first; k < p->n; k++) {
        double x = MAX(place[k], 0) * LINE_GRID;
        int i = MIN((int)x, LINE_GRID - 1);
        norm[k] = (*line)[i] + (x - i) * ((*line)[i + 1] - (*line)[i]);
    }
}

void parzen_build(struct parzen *p, double prior, double width, double spread)
{
    int level = level_of(width), first = level == p->level ? p->n_built : 0;

    p->level = level;
    p->prior = prior;
    p->total = prior;
    for (int k = 0; k < p->n; k++) {
        p->total += p->weights[k];
        p->sums[k] = p->weights[k] + (k > 0 ? p->sums[k - 1] : 0);
    }
    for (int j = 0; j < p->axes->n; j++) {
        struct parzen_dim *dim = &p->axes->dims[j];
        double cells = dim->cells;
        if (dim->kind == PARZEN_CATEGORY) {
            p->same[j] = search_log(cells * (1 - spread) + spread);
            p->other[j] = search_log(spread);
            p->own[j] = search_exp(p->same[j]) / cells;
        } else if (dim->kind == PARZEN_LINE) {
            build_line(p, j, first);
        } else if (!dim->masses[level]) {
            masses_make(p->axes, dim, level);
        }
    }
    p->n_built = p->n;
}

/* ---- densities ---- */

/* x[point]: the places of the points in dimension j. Adds it to the logarithms of kernels
 * first..first+n-1; is_set: they are something already. */
static void add_dimension(const struct parzen *p, int j, int first, int n, const double *x,
                          const double *table, bool is_set, int lanes)
{
    size_t at = (size_t)j * (size_t)p->cap + (size_t)first;
    double *logs = p->logs + (size_t)first * PARZEN_BATCH;

    if (!is_set && p->axes->dims[j].kind == PARZEN_CELLS) {
        parzen_set_cells(logs, p->places + at, n, table, lanes);
        return;
    }
    if (!is_set)
        memset(logs, 0, (size_t)n * PARZEN_BATCH * sizeof *logs);
    if (p->axes->dims[j].kind == PARZEN_LINE)
        parzen_sum_line(logs, p->places + at, p->norms + at, n, x, 1 / width_of(p->level), lanes);
    else if (p->axes->dims[j].kind == PARZEN_CELLS)
        parzen_sum_cells(logs, p->places + at, n, table, lanes);
    else
        parzen_sum_category(logs, p->places + at, n, x, p->same[j], p->other[j], lanes);
}

/* For each place of a kernel, -1 included, what it adds to each point in dimension j. */
static void cells_table(const struct parzen *p, int j, const double *x, double *table)
{
    static const double none[PARZEN_MAX_CELLS];
    const struct parzen_dim *dim = &p->axes->dims[j];
    const double *masses = dim->masses[p->level], *columns[PARZEN_BATCH];

    memset(table, 0, PARZEN_BATCH * sizeof *table);
    for (int c = 0; c < PARZEN_BATCH; c++)
        columns[c] = x[c] < 0 ? none : masses + (int)x[c] * dim->cells;
    parzen_turn(columns, dim->cells, table + PARZEN_BATCH);
}

/* Fills p->logs with the logarithms of all kernels at the points, a block of kernels after another,
 * so that a block's logarithms stay in the nearest cache. x: [dimension][point]. Raises top to the
 * largest of each point. */
static void fill_logs(const struct parzen *p, const double *x, const bool *is_used, double *top,
                      int lanes)
{
    const struct parzen_axes *a = p->axes;

    for (int j = 0; j < a->n; j++) {
        if (is_used[j] && a->dims[j].kind == PARZEN_CELLS)
            cells_table(p, j, x + (size_t)j * PARZEN_BATCH, a->tables + a->dims[j].table);
    }
    for (int first = 0; first < p->n; first += BLOCK) {
        double *logs = p->logs + (size_t)first * PARZEN_BATCH;
        int n = MIN(p->n - first, BLOCK);
        bool is_set = false;

        for (int j = 0; j < a->n; j++) {
            if (is_used[j])
                add_dimension(p, j, first, n, x + (size_t)j * PARZEN_BATCH,
                              a->tables + a->dims[j].table, is_set, lanes);
            is_set |= is_used[j];
        }
        if (!is_set)
            memset(logs, 0, (size_t)n * PARZEN_BATCH * sizeof *logs);
        parzen_sum_top(logs, n, top, lanes);
    }
}

void parzen_logs(struct parzen *p, const double *places, int n, double *out)
{
    size_t d = (size_t)p->axes->n;
    double *x = p->axes->batch, sum[PARZEN_BATCH] = { 0 };
    double prior[PARZEN_BATCH], density[PARZEN_BATCH];
    double top[PARZEN_BATCH] = { 0 }; /* the prior's logarithm */
    bool *is_used = p->axes->is_used;

    CHECK(n >= 0 && n <= PARZEN_BATCH);
    for (size_t j = 0; j < d; j++) {
        is_used[j] = false;
        for (int c = 0; c < PARZEN_BATCH; c++) {
            double place = c < n ? places[(size_t)c * d + j] : -1;
            x[j * PARZEN_BATCH + (size_t)c] = place;
            is_used[j] = is_used[j] || place >= 0;
        }
    }
    fill_logs(p, x, is_used, top, n);
    parzen_sum_exp(p->logs, p->weights, p->n, top, sum, n);
    for (int c = 0; c < n; c++)
        prior[c] = -MIN(top[c], 700); /* a prior of e^-700 is nothing */
    search_exp_each(prior, density, n);
    for (int c = 0; c < n; c++)
        density[c] = (sum[c] + p->prior * density[c]) / p->total;
    search_log_each(density, out, n);
    for (int c = 0; c < n; c++)
        out[c] += top[c];
}

/* ---- draws ---- */

/* How many of n rising sums are at most x. Without a branch that nobody can foretell. */
static int count_below(const double *sums, int n, double x)
{
    int64_t count = 0; /* as wide as what is compared, for vectors */

    for (int k = 0; k < n; k++)
        count += sums[k] <= x;
    return (int)count;
}

static int pick_kernel(const struct parzen *p, struct rng *r)
{
    int k = count_below(p->sums, p->n, rng_unit(r) * p->total);

    return k < p->n ? k : -1; /* the prior */
}

static int draw_cell(const struct parzen *p, int j, int centre, struct rng *r)
{
    const struct parzen_dim *dim = &p->axes->dims[j];
    const double *shares = dim->shares[p->level] + (size_t)(centre * dim->cells);

    return count_below(shares, dim->cells - 1, rng_unit(r));
}

static double draw_line(const struct parzen *p, double centre, struct rng *r)
{
    for (int i = 0; i < MAX_TRIES; i++) { /* at least a third of the normal is inside */
        double x = centre + width_of(p->level) * rng_normal(r);
        if (x >= 0 && x < 1)
            return x;
    }
    return centre;
}

/* The kernel's own choice, or one of the others with equal chances. One uniform number decides
 * both. */
static double draw_category(const struct parzen *p, int j, double own, struct rng *r)
{
    double cells = p->axes->dims[j].cells, u = rng_unit(r), same = p->own[j];

    if (u < same)
        return own;
    double other = floor((u - same) / (1 - same) * (cells - 1));
    other = MIN(MAX(other, 0), cells - 2);
    return other < own ? other : other + 1;
}

/* A value of parameter i from a kernel (-1 = the prior), and its place; it is in dimension j. If the
 * kernel's trial did not have the parameter, it is uniform. */
static double draw_value(const struct parzen *p, int kernel, int i, int j, struct rng *r,
                         double *place)
{
    const struct param *param = &p->axes->space->params[i];
    const struct parzen_dim *dim = &p->axes->dims[j];
    double own = kernel < 0 ? -1 : p->places[(size_t)j * (size_t)p->cap + (size_t)kernel];

    if (own >= 0 && dim->kind == PARZEN_CELLS) {
        int cell = draw_cell(p, j, (int)own, r);
        *place = cell;
        return dim->values[cell];
    }
    if (own >= 0 && dim->kind == PARZEN_CATEGORY) {
        *place = draw_category(p, j, own, r);
        return param_value(param, *place);
    }
    double value = param_from_unit(param, own < 0 ? rng_unit(r) : draw_line(p, own, r));
    *place = place_of(dim, param, value);
    return value;
}

uint64_t parzen_draw(const struct parzen *p, struct rng *shape, struct rng *r, double *point,
                     double *place)
{
    const struct space *s = p->axes->space;
    int kernel = pick_kernel(p, shape);
    uint64_t hash = space_hash_first(s);

    for (int i = 0; i < s->n; i++) {
        const struct param *param = &s->params[i];
        int j = p->axes->of_param[i];
        if (!space_is_active(s, point, i)) {
            point[i] = NAN;
            if (j >= 0)
                place[j] = -1;
            continue;
        }
        if (j < 0) {
            point[i] = param->axis == AXIS_FREE ? param->def : param_from_unit(param, 0);
            hash = space_hash_next(hash, i, space_identity(param, point[i]));
            continue;
        }
        point[i] = draw_value(p, kernel, i, j, p->axes->is_shape[i] ? shape : r, &place[j]);
        hash = space_hash_next(
            hash, i,
            p->axes->dims[j].kind == PARZEN_LINE ? space_identity(param, point[i]) : place[j]);
    }
    return hash;
}
