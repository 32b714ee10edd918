/* shap.c - the pass over a tree for eight rows at once (formulas: shap.h).
 *
 * Steps come in depth-first order. Entering a node sets its level's `path`: for each quadrature
 * point t, the product of the factors z_j + t (o_j - z_j) of the columns that the path splits on.
 * At a leaf, `sum` becomes path times the leaf's value and the point's weight. Leaving a node
 * (depart) divides one column's factor out of the level's sum, which gives that column's Shapley
 * value, and adds the sum to the level above. Rows never mix, and each sum has a fixed order, so
 * every instruction set and every division of a table into blocks gives the same bits. */
#include "ml/cpu/shap.h"

#include "ml/cpu/simd.h"

#include <stdbool.h>

/* One lane per row; the compiler maps the vectors to the registers of the instruction set. In masks
 * -1 = yes, 0 = no. */
typedef double eight __attribute__((vector_size(8 * SHAP_ROWS)));
typedef int64_t masks __attribute__((vector_size(8 * SHAP_ROWS)));

#define ALL(x)                 \
    {                          \
        x, x, x, x, x, x, x, x \
    }
#define PICK(mask, yes, no) ((eight)(((mask) & (masks)(yes)) | (~(mask) & (masks)(no))))

/* right[r]: -1 if row r goes right at the parent of the step, else 0. */
SIMD_BODY void directions(const struct shap_plan *p, const struct shap_step *s,
                          const uint8_t *const *x, int64_t *right)
{
    if (s->set >= 0) {
        const uint64_t *set = p->sets[s->set];
        for (int r = 0; r < SHAP_ROWS; r++) {
            uint8_t v = x[r][s->col];
            right[r] = (int64_t)(set[v >> 6] >> (v & 63) & 1) - 1;
        }
        return;
    }
    for (int r = 0; r < SHAP_ROWS; r++)
        right[r] = -(int64_t)((uint8_t)(x[r][s->col] + s->add) > s->bin);
}

/* What the leaf `node` adds for each row (struct shap_values). */
SIMD_BODY void value_take(const struct shap_values *v, int node, double *value)
{
    const float *at = v->values + (int64_t)node * v->pitch;

    for (int r = 0; r < SHAP_ROWS; r++)
        value[r] = v->of[r] < 0 ? 0.0 : (double)at[v->of[r]];
}

/* Enters a node. on: the rows that have passed every split on this column so far; before: the same
 * at the column's earlier split on the path (level 0, where all rows are on, if there was none). A
 * row's new factor replaces that of the earlier split, so the tables hold quotients: `stay` for a
 * row that is still on the path, `leave` for one that leaves it here, and `keep` for one that left
 * it before. */
SIMD_BODY void enter(const struct shap_plan *p, int step, const struct shap_values *v,
                     const uint8_t *const *x)
{
    const struct shap_step *s = &p->steps[step];
    const double *stay = p->stay + (int64_t)step * p->points;
    const double *leave = p->leave + (int64_t)step * p->points;
    const eight *from = (const eight *)p->path + (s->level - 1) * p->points, keep = ALL(s->keep);
    eight *path = (eight *)p->path + s->level * p->points;
    eight *sum = (eight *)p->sum + s->level * p->points;
    masks *right = (masks *)p->right + s->level, side = ALL(-(int64_t)s->is_right);
    eight value = ALL(0.0);

    if (s->is_leaf)
        value_take(v, s->node, (double *)&value);
    if (!s->is_right)
        directions(p, s, x, (int64_t *)right);
    masks before = ((masks *)p->on)[s->prev], on = before & ~(*right ^ side);
    ((masks *)p->on)[s->level] = on;
    for (int q = 0; q < p->points; q++) {
        eight in = ALL(stay[q]), out = ALL(leave[q]), weight = ALL(p->weight[q]);
        eight off = PICK(before, out, keep);
        path[q] = from[q] * PICK(on, in, off);
        sum[q] = path[q] * (value * weight);
    }
    p->at[s->level] = step;
}

/* Adds (is_added) or subtracts, for the column split at `level`, the sum over the points of
 * sum[point] (o - z) / (z + t (o - z)). */
SIMD_BODY void pull_of(const struct shap_plan *p, int level, const eight *sum, bool is_added,
                       eight *phi)
{
    const double *pull = p->pull + (int64_t)p->at[level] * p->points;
    masks on = ((masks *)p->on)[level];
    eight add = ALL(0.0);

    for (int q = 0; q < p->points; q++) {
        eight in = ALL(pull[q]), out = ALL(p->push[q]);
        add += sum[q] * PICK(on, in, out);
    }
    *phi = is_added ? *phi + add : *phi - add;
}

/* Leaves the node at `level`, whose sum now holds all leaves below it. Where the path split on the
 * same column before, the earlier split will count these leaves too when it is left, but with its
 * own factor, which the factor of this level has replaced. That part is subtracted here. */
SIMD_BODY void depart(const struct shap_plan *p, int level, double *phi)
{
    const struct shap_step *s = &p->steps[p->at[level]];
    eight *sum = (eight *)p->sum + level * p->points, *above = sum - p->points;
    eight *to = (eight *)phi + s->col;

    pull_of(p, level, sum, true, to);
    if (s->prev)
        pull_of(p, s->prev, sum, false, to);
    for (int q = 0; q < p->points && level > 1; q++)
        above[q] += sum[q];
}

SIMD_BODY void shap_block_body(const struct shap_plan *p, const struct shap_values *v,
                               const uint8_t *const *x, double *phi)
{
    const eight one = ALL(1.0);
    const masks all = ALL(-1);
    int level = 0;

    for (int q = 0; q < p->points; q++)
        ((eight *)p->path)[q] = one;
    *(masks *)p->on = all;
    for (int i = 0; i < p->n_steps; i++) {
        for (; level >= p->steps[i].level; level--)
            depart(p, level, phi);
        enter(p, i, v, x);
        level = p->steps[i].level;
    }
    for (; level > 0; level--)
        depart(p, level, phi);
}

SIMD_KERNEL(shap_block,
            (const struct shap_plan *p, const struct shap_values *v, const uint8_t *const *x,
             double *phi),
            (p, v, x, phi))
