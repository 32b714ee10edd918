/* parzen.c - kernels, their densities, and draws from them. A density costs, for each kernel and
 * dimension, one look-up in a table (few cells), one comparison (categories) or one square
 * (numbers), and one exp for each kernel. This is possible because widths are rounded to powers of
 * sqrt 2, for which the masses of all cells are tabulated. Data are stored dimension by dimension,
 * so that loops run along kernels and the compiler can use vector registers. */
#include "search/samplers/tpe/parzen.h"

#include "search/space/exact_math.h"
#include "search/space/normal.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { JOINT_SAMPLES = 64, MAX_TRIES = 64, LINE_GRID = 128 };
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

/* [cell][centre]: the logarithm of the mass that a normal around the centre cell has in a cell,
 * relative to uniform. */
static double *masses_new(const struct param *p, int cells, double width)
{
    double *masses = mem_array((size_t)cells * (size_t)cells, sizeof *masses);
    double at[PARZEN_MAX_CELLS + 1] = { 0 };

    borders(p, cells, at);
    for (int c = 0; c < cells; c++) {
        double mid = (at[c] + at[c + 1]) / 2, below = normal_cdf(-mid / width);
        double whole = normal_cdf((1 - mid) / width) - below;
        for (int x = 0; x < cells; x++) {
            double above = normal_cdf((at[x + 1] - mid) / width);
            double share = MAX((above - below) / whole, LEAST_MASS) / (at[x + 1] - at[x]);
            masses[x * cells + c] = search_log(share);
            below = above;
        }
    }
    return masses;
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
}

void parzen_axes_fini(struct parzen_axes *a)
{
    for (int j = 0; j < a->n; j++) {
        for (int level = 0; level < PARZEN_LEVELS; level++)
            mem_free(a->dims[j].masses[level]);
    }
    for (int level = 0; level < PARZEN_LEVELS; level++)
        mem_free(a->lines[level]);
    mem_free(a->dims);
    mem_free(a->of_param);
    mem_free(a->is_shape);
    *a = (struct parzen_axes){ .space = a->space };
}

void parzen_place(const struct parzen_axes *a, const double *point, double *place)
{
    for (int j = 0; j < a->n; j++) {
        const struct parzen_dim *dim = &a->dims[j];
        const struct param *p = &a->space->params[dim->param];
        double v = point[dim->param];
        if (isnan(v))
            place[j] = -1;
        else
            place[j] = dim->kind == PARZEN_LINE ? param_to_unit(p, v) : param_cell(p, v);
    }
}

/* ---- kernels ---- */

void parzen_init(struct parzen *p, struct parzen_axes *axes)
{
    size_t d = (size_t)axes->n + 1;

    *p = (struct parzen){ .axes = axes };
    p->level = mem_array(d, sizeof *p->level);
    p->same = mem_array(d, sizeof *p->same);
    p->other = mem_array(d, sizeof *p->other);
}

void parzen_fini(struct parzen *p)
{
    mem_free(p->places);
    mem_free(p->norms);
    mem_free(p->weights);
    mem_free(p->work);
    mem_free(p->level);
    mem_free(p->same);
    mem_free(p->other);
    memset(p, 0, sizeof *p);
}

void parzen_clear(struct parzen *p)
{
    p->n = 0;
}

/* Makes room for more kernels. Dimension j of kernel k is at [j * cap + k], so everything moves. */
static void grow(struct parzen *p)
{
    size_t cap = p->cap ? (size_t)p->cap * 2 : 64, old = (size_t)p->cap, d = (size_t)p->axes->n;
    double *places = mem_array(cap * d + 1, sizeof *places);

    for (size_t j = 0; j < d && old > 0; j++)
        memcpy(places + j * cap, p->places + j * old, old * sizeof *places);
    mem_free(p->places);
    p->places = places;
    p->norms = mem_resize(p->norms, (cap * d + 1) * sizeof *p->norms);
    p->weights = mem_resize(p->weights, cap * sizeof *p->weights);
    p->work = mem_resize(p->work, cap * sizeof *p->work);
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

/* Interpolates line_new at the centre of each kernel; the share inside changes slowly with the
 * centre. */
static void build_line(struct parzen *p, int j)
{
    const double *place = p->places + (size_t)j * (size_t)p->cap;
    double **line = &p->axes->lines[p->level[j]];
    double *norm = p->norms + (size_t)j * (size_t)p->cap;

    if (!*line)
        *line = line_new(width_of(p->level[j]));
    for (int k = 0; k < p->n; k++) {
        double x = MAX(place[k], 0) * LINE_GRID;
        int i = MIN((int)x, LINE_GRID - 1);
        norm[k] = (*line)[i] + (x - i) * ((*line)[i + 1] - (*line)[i]);
    }
}

void parzen_build(struct parzen *p, double prior, double width, double spread)
{
    p->prior = prior;
    p->total = prior;
    for (int k = 0; k < p->n; k++)
        p->total += p->weights[k];
    for (int j = 0; j < p->axes->n; j++) {
        struct parzen_dim *dim = &p->axes->dims[j];
        double cells = dim->cells;
        if (dim->kind == PARZEN_CATEGORY) {
            p->same[j] = search_log(cells * (1 - spread) + spread);
            p->other[j] = search_log(spread);
            continue;
        }
        p->level[j] = level_of(width);
        if (dim->kind == PARZEN_LINE)
            build_line(p, j);
        else if (!dim->masses[p->level[j]])
            dim->masses[p->level[j]] =
                masses_new(&p->axes->space->params[dim->param], dim->cells, width_of(p->level[j]));
    }
}

/* ---- densities ---- */

static void add_line(const struct parzen *p, int j, double x)
{
    const double *place = p->places + (size_t)j * (size_t)p->cap;
    const double *norm = p->norms + (size_t)j * (size_t)p->cap;
    double inverse = 1 / width_of(p->level[j]);

    for (int k = 0; k < p->n; k++) {
        double z = (x - place[k]) * inverse, term = norm[k] - z * z / 2;
        p->work[k] += place[k] >= 0 ? term : 0;
    }
}

static void add_cells(const struct parzen *p, int j, int x)
{
    const struct parzen_dim *dim = &p->axes->dims[j];
    const double *place = p->places + (size_t)j * (size_t)p->cap;
    const double *masses = dim->masses[p->level[j]] + (size_t)(x * dim->cells);

    for (int k = 0; k < p->n; k++) {
        int at = (int)place[k];
        p->work[k] += at >= 0 ? masses[at] : 0;
    }
}

static void add_category(const struct parzen *p, int j, double x)
{
    const double *place = p->places + (size_t)j * (size_t)p->cap;
    double same = p->same[j], other = p->other[j];

    for (int k = 0; k < p->n; k++) {
        double term = place[k] == x ? same : other;
        p->work[k] += place[k] >= 0 ? term : 0;
    }
}

/* exp(x) for x in [-700, 0]: 2^k e^r with |r| <= ln 2 / 2, and the series of e^r up to r^9. It has
 * no call and no division, so that loops vectorise. */
static inline double quick_exp(double x)
{
    const double magic = 0x1.8p52; /* adding and subtracting it rounds to an integer */
    double shifted = x * 0x1.71547652b82fep0 + magic, k = shifted - magic, scale = 0;
    double r = x - k * 0x1.62e42fefa39efp-1;
    double y =
        1 +
        r * (1 +
             r * (1.0 / 2 +
                  r * (1.0 / 6 +
                       r * (1.0 / 24 +
                            r * (1.0 / 120 +
                                 r * (1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 +
                                                                         r * (1.0 / 362880)))))))));
    uint64_t bits = 0;

    memcpy(&bits, &shifted, sizeof bits); /* the low bits hold k */
    bits = (bits + 1023) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return y * scale;
}

/* The sum of w[i] exp(x[i] - top), where x[i] <= top. The relative error of a term is below 1e-9;
 * terms below exp(-700) count as exp(-700). */
static double sum_exp(const double *x, const double *w, int n, double top)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double d = x[i] - top;
        d = d > -700 ? d : -700;
        sum += w[i] * quick_exp(d);
    }
    return sum;
}

double parzen_log(struct parzen *p, const double *place)
{
    double top = 0; /* the prior's logarithm */

    for (int k = 0; k < p->n; k++)
        p->work[k] = 0;
    for (int j = 0; j < p->axes->n; j++) {
        if (place[j] < 0)
            continue;
        if (p->axes->dims[j].kind == PARZEN_LINE)
            add_line(p, j, place[j]);
        else if (p->axes->dims[j].kind == PARZEN_CELLS)
            add_cells(p, j, (int)place[j]);
        else
            add_category(p, j, place[j]);
    }
    for (int k = 0; k < p->n; k++)
        top = MAX(top, p->work[k]);
    double sum = sum_exp(p->work, p->weights, p->n, top) + p->prior * search_exp(-top);
    return top + search_log(sum / p->total);
}

/* ---- draws ---- */

static int pick_kernel(const struct parzen *p, struct rng *r)
{
    double left = rng_unit(r) * p->total;

    for (int k = 0; k < p->n; k++) {
        left -= p->weights[k];
        if (left < 0)
            return k;
    }
    return -1; /* the prior */
}

static double draw_cell(const struct parzen *p, int j, int centre, struct rng *r)
{
    const struct parzen_dim *dim = &p->axes->dims[j];
    double left = rng_unit(r), at[PARZEN_MAX_CELLS + 1] = { 0 };
    const double *masses = dim->masses[p->level[j]];
    int x = 0;

    borders(&p->axes->space->params[dim->param], dim->cells, at);
    for (; x < dim->cells - 1; x++) {
        left -= search_exp(masses[x * dim->cells + centre]) * (at[x + 1] - at[x]);
        if (left < 0)
            break;
    }
    return x;
}

static double draw_line(const struct parzen *p, int j, double centre, struct rng *r)
{
    for (int i = 0; i < MAX_TRIES; i++) { /* at least a third of the normal is inside */
        double x = centre + width_of(p->level[j]) * rng_normal(r);
        if (x >= 0 && x < 1)
            return x;
    }
    return centre;
}

/* The kernel's own choice, or one of the others with equal chances. One uniform number decides
 * both. */
static double draw_category(const struct parzen *p, int j, double own, struct rng *r)
{
    double cells = p->axes->dims[j].cells, u = rng_unit(r);
    double same = search_exp(p->same[j]) / cells;

    if (u < same)
        return own;
    double other = floor((u - same) / (1 - same) * (cells - 1));
    other = MIN(MAX(other, 0), cells - 2);
    return other < own ? other : other + 1;
}

/* A value of parameter i from a kernel (-1 = the prior). If the kernel's trial did not have the
 * parameter, it is uniform. */
static double draw_value(const struct parzen *p, int kernel, int i, struct rng *r)
{
    const struct param *param = &p->axes->space->params[i];
    int j = p->axes->of_param[i];

    if (j < 0)
        return param->axis == AXIS_FREE ? param->def : param_from_unit(param, 0);
    double own = kernel < 0 ? -1 : p->places[(size_t)j * (size_t)p->cap + (size_t)kernel];
    if (own < 0)
        return param_from_unit(param, rng_unit(r));
    if (p->axes->dims[j].kind == PARZEN_LINE)
        return param_from_unit(param, draw_line(p, j, own, r));
    if (p->axes->dims[j].kind == PARZEN_CELLS)
        return param_value(param, draw_cell(p, j, (int)own, r));
    return param_value(param, draw_category(p, j, own, r));
}

void parzen_draw(const struct parzen *p, struct rng *shape, struct rng *r, double *point)
{
    const struct space *s = p->axes->space;
    int kernel = pick_kernel(p, shape);

    for (int i = 0; i < s->n; i++) {
        struct rng *own = p->axes->is_shape[i] ? shape : r;
        point[i] = space_is_active(s, point, i) ? draw_value(p, kernel, i, own) : NAN;
    }
}
