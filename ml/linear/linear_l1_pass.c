/* linear_l1_pass.c - losses, gradients and curvature of models with an L1 penalty (linear_l1.h).
 *
 * All sums run over tiles of rows in their order, as those of linear_lbfgs.c, and can be left between
 * two tiles. A pair of columns has one sum whatever else is in the set, so that a matrix which was
 * completed line by line equals one that was made at once. With a Gram matrix nothing is summed again.
 * Called by linear_l1_path.c. */
#include "ml/linear/linear.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"

#include <math.h>
#include <string.h>

/* The least curvature of a row's loss: rows whose class is certain would have none. */
#define LEAST_CURVE 1e-8

/* What is added to the diagonal of a matrix of several classes, as a share of it. A number added to
 * the weights of a column for all classes has no curvature, but the rounding of single precision. */
#define ROUNDING 1e-6

/* ---- loss and gradient ---- */

/* gradient = G w - X'y; the loss follows from it: |y - Xw|^2 = y'y - w'X'y + w'gradient. */
static void pass_of_gram(struct l1_fit *f)
{
    double loss = f->yy;

    for (int j = 0; j < f->cols; j++)
        f->g_try[j] = -f->xy[j];
    for (int j = 0; j < f->cols; j++) {
        if (f->w_try[j] != 0)
            glm_add_two(f->g_try, f->gram + j * f->gram_wide, f->w_try[j], f->gram, 0, f->cols);
    }
    for (int j = 0; j < f->cols; j++)
        loss += f->w_try[j] * (f->g_try[j] - f->xy[j]);
    f->g_try[f->cols] = 0;
    f->loss_try = fmax(0.5 * loss, 0);
}

/* Probabilities from the derivatives of the log loss, which are p - 1 for a row's own class and p
 * for the others, times the row's weight. Those above 1/2 are kept less 1, so that 1 - p has its
 * digits too. */
static void probabilities_keep(struct l1_fit *f, const struct linear_lane *l, const double *z,
                               int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = f->at + i;
        double weight = l->weight ? l->weight[row] : 1.0;
        for (int k = 0; k < f->outputs; k++) {
            bool is_own = f->outputs == 1 ? l->label[row] != 0 : l->label[row] == k;
            double slope = z[i * f->lanes + k] / weight;
            if (is_own && slope < -0.5)
                slope += 1;
            else if (!is_own && slope > 0.5)
                slope -= 1;
            f->p[row * f->outputs + k] = (float)slope;
        }
    }
}

int l1_pass(struct l1_fit *f, const struct linear_lane *l, const struct ml_stop *stop)
{
    struct glm_rows r = {
        .x = l->x->x, .stride = l->x->stride, .cols = f->cols, .lanes = f->lanes
    };

    if (f->gram) {
        pass_of_gram(f);
        return 1;
    }
    if (f->at == 0) {
        f->loss_try = 0;
        memset(f->g_try, 0, (size_t)((f->cols + 1) * f->lanes) * sizeof(double));
    }
    for (; f->at < l->r.n_train; f->at += r.n) {
        if (ml_stop_now(stop))
            return 0;
        r.n = MIN(GLM_TILE, l->r.n_train - f->at);
        r.rows = l->r.train + f->at;
        glm_scores(&r, f->w_try, l->z);
        f->loss_try += linear_loss(l, l->z, f->at, r.n);
        if (f->p)
            probabilities_keep(f, l, l->z, r.n);
        glm_gradient(&r, l->z, f->g_try);
    }
    f->at = 0;
    return 1;
}

/* ---- curvature ---- */

/* What a part of the curvature sums: products of the columns with weights p (1 - p), a bound of
 * these, or p p'. */
enum curve { CURVE_OWN, CURVE_BOUND, CURVE_PAIR };

static double share(float p)
{
    return p < 0 ? 1 + (double)p : (double)p;
}

/* Square roots of the rows' curvature for output k, or of all for CURVE_PAIR. Along the weights of a
 * class it is p (1 - p). The matrix diag(p) - pp' of a row is at most diag(p), and at most twice
 * diag(p (1 - p)), because each line's other elements add up to that; where classes have sets of
 * their own the lesser one is taken, and a step that proves too long is halved. */
static void roots(const struct l1_fit *f, const struct linear_lane *l, enum curve what, int k,
                  int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = f->at + i;
        double weight = l->weight ? l->weight[row] : 1.0;
        const float *p = f->p ? f->p + row * f->outputs : NULL;
        for (int c = 0; what == CURVE_PAIR && p && c < f->outputs; c++)
            f->root[i * f->outputs + c] = sqrt(weight) * share(p[c]);
        if (what == CURVE_PAIR)
            continue;
        double own = p ? share(p[k]) : 0,
               one = p ? fabs((double)p[k]) * (1 - fabs((double)p[k])) : 0;
        double curve = !p ? 1 : what == CURVE_BOUND ? fmin(own, 2 * one) : one;
        f->root[i] = sqrt(weight * fmax(curve, LEAST_CURVE));
    }
}

/* Copies the lines that were summed to the columns that mirror them. */
static void mirror(struct l1_set *s)
{
    bool is_all = s->n_missing == s->n;

    for (int a = 0; a < s->n_missing; a++) {
        int64_t i = s->missing[a];
        for (int64_t j = is_all ? i + 1 : 0; j < s->n; j++)
            s->hess[j * s->room + i] = s->hess[i * s->room + j];
    }
    s->n_missing = 0;
}

/* The intercept of a centred matrix is independent of all columns. */
static void curve_of_gram(const struct l1_fit *f, struct l1_set *s)
{
    if (s->n_missing == 0)
        return;
    memset(s->hess, 0, (size_t)s->n * sizeof *s->hess);
    for (int i = 1; i < s->n; i++) {
        const double *from = f->gram + s->col[i] * f->gram_wide;
        double *to = s->hess + (int64_t)i * s->room;
        to[0] = 0;
        for (int j = 1; j < s->n; j++)
            to[j] = from[s->col[j]];
    }
    s->hess[0] = f->n;
    s->n_missing = 0;
}

/* Makes room for tiles, and for a block of a joint set, of so many columns. */
static int scratch_take(struct l1_fit *f, int64_t wide, bool is_joint, struct err *err)
{
    if (f->tile_wide >= wide && (f->block || !is_joint))
        return 0;
    wide = MAX(wide, f->tile_wide);
    mem_try_free(f->tile);
    mem_try_free(f->block);
    f->bytes += (wide - f->tile_wide) * GLM_TILE * (int64_t)sizeof *f->tile;
    f->tile_wide = wide;
    f->tile = mem_try_alloc((size_t)(GLM_TILE * wide) * sizeof *f->tile);
    f->block = is_joint ? mem_try_alloc((size_t)(wide * wide) * sizeof *f->block) : NULL;
    if (f->tile && (f->block || !is_joint))
        return 0;
    f->tile_wide = 0;
    return err_set(err, ERR_NOMEM, "linear: no memory for %lld columns", (long long)wide);
}

/* Adds up products of columns over all rows. p->root is filled in. */
static int sum_pairs(struct l1_fit *f, const struct linear_lane *l, struct glm_pairs *p,
                     enum curve what, int k, double *out, const struct ml_stop *stop)
{
    struct glm_rows r = { .x = l->x->x, .stride = l->x->stride, .cols = f->cols, .lanes = 1 };

    p->root = f->p || l->weight ? f->root : NULL;
    p->roots = what == CURVE_PAIR ? f->outputs : 1;
    for (int a = 0; a < p->n_lines && f->at == 0; a++)
        memset(out + p->line[a] * p->wide, 0, (size_t)p->wide * sizeof(double));
    for (; f->at < l->r.n_train; f->at += r.n) {
        if (ml_stop_now(stop))
            return 0;
        r.n = MIN(GLM_TILE, l->r.n_train - f->at);
        r.rows = l->r.train + f->at;
        if (p->root)
            roots(f, l, what, k, r.n);
        /* a step needs its curvature to a few digits only */
        if (f->p)
            glm_pairs_single(&r, p, (float *)f->tile, out);
        else
            glm_pairs(&r, p, f->tile, out);
    }
    f->at = 0;
    return 1;
}

static int curve_of_set(struct l1_fit *f, const struct linear_lane *l, struct l1_set *s, int k,
                        const struct ml_stop *stop)
{
    struct glm_pairs p = {
        .col = s->col, .n = s->n, .line = s->missing, .n_lines = s->n_missing, .wide = s->room
    };

    if (!sum_pairs(f, l, &p, f->outputs > 1 ? CURVE_BOUND : CURVE_OWN, k, s->hess, stop))
        return 0;
    mirror(s);
    return 1;
}

/* Where the weights of output k begin in a joint set. */
static int part_of(const struct l1_set *s, int k)
{
    int i = 0;

    while (i < s->n && s->output[i] < k)
        i++;
    return i;
}

/* The curvature of several classes: minus the products of the weights of two classes by p p', and
 * those of the weights of one by p (1 - p). Part 0 is the former, part k + 1 that of class k. */
static int curve_of_joint(struct l1_fit *f, const struct linear_lane *l, struct l1_set *s,
                          const struct ml_stop *stop)
{
    if (f->part == 0) {
        int32_t *first = mem_array((size_t)s->n, sizeof *first);
        struct glm_pairs p = { .col = s->col,
                               .n = s->n,
                               .line = s->missing,
                               .n_lines = s->n,
                               .first = first,
                               .which = s->output,
                               .wide = s->room };
        for (int i = s->n - 1; i >= 0; i--)
            first[i] = i + 1 < s->n && s->output[i] == s->output[i + 1] ? first[i + 1] : i + 1;
        int rc = sum_pairs(f, l, &p, CURVE_PAIR, 0, s->hess, stop);
        mem_free(first);
        if (rc == 0)
            return 0;
        mirror(s);
        for (int64_t i = 0; i < (int64_t)s->room * s->room; i++)
            s->hess[i] = -s->hess[i];
        f->part = 1;
    }
    for (; f->part <= f->outputs; f->part++) {
        int from = part_of(s, f->part - 1), n = part_of(s, f->part) - from;
        int64_t wide = (n + 7) / 8 * 8;
        struct glm_pairs p = {
            .col = s->col + from, .n = n, .line = s->missing, .n_lines = n, .wide = wide
        };
        if (!sum_pairs(f, l, &p, CURVE_OWN, f->part - 1, f->block, stop))
            return 0;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++)
                s->hess[(int64_t)(from + i) * s->room + from + j] =
                    f->block[MIN(i, j) * wide + MAX(i, j)] * (i == j ? 1 + ROUNDING : 1);
        }
    }
    f->part = 0;
    return 1;
}

int l1_curve(struct l1_fit *f, const struct linear_lane *l, const struct ml_stop *stop,
             struct err *err)
{
    bool is_joint = f->n_sets < f->outputs;

    if (f->gram) {
        curve_of_gram(f, f->set);
        return 1;
    }
    if (is_joint && f->set->n_missing == 0 && f->part == 0)
        return 1;
    if (is_joint)
        return scratch_take(f, f->set->room, true, err) < 0 ? -1
                                                            : curve_of_joint(f, l, f->set, stop);
    for (; f->part < f->n_sets; f->part++) {
        struct l1_set *s = &f->set[f->part];
        if (s->n_missing && scratch_take(f, s->room, false, err) < 0)
            return -1;
        if (s->n_missing && !curve_of_set(f, l, s, f->part, stop))
            return 0;
    }
    f->part = 0;
    return 1;
}

/* ---- Gram ---- */

/* In place: the lane's matrix becomes symmetric and centred. Its last two columns are the target and
 * ones (linear_ridge.c). */
int l1_take_gram(struct l1_fit *f, struct linear_lane *l, struct err *err)
{
    int d = f->cols;
    int64_t wide = glm_gram_width(d);
    double *g = l->gram, n = g[(d + 1) * wide + d + 1];

    f->xy = mem_try_alloc((size_t)(2 * d + 1) * sizeof *f->xy);
    if (!f->xy)
        return err_set(err, ERR_NOMEM, "linear: no memory for %d columns", d);
    f->mean = f->xy + d;
    f->n = n;
    f->y_mean = g[d * wide + d + 1] / n;
    f->yy = fmax(g[d * wide + d] - n * f->y_mean * f->y_mean, 0);
    f->spread = f->yy > 0 ? sqrt(f->yy / n) : 1;
    for (int i = 0; i < d; i++) {
        f->mean[i] = g[i * wide + d + 1] / n;
        f->xy[i] = g[i * wide + d] - n * f->mean[i] * f->y_mean;
    }
    for (int i = 0; i < d; i++) {
        for (int j = i; j < d; j++)
            g[j * wide + i] = g[i * wide + j] -= n * f->mean[i] * f->mean[j];
    }
    f->gram = g;
    f->gram_wide = wide;
    f->bytes += (2 * d + 1) * (int64_t)sizeof *f->xy;
    return 0;
}
