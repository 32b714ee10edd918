/* shap.c - the pass over a tree for eight rows at once (formulas: shap.h). Rows never mix, and each
 * sum has a fixed order: equal bits on every instruction set, and for every division of a table
 * into blocks. */
#include "ml/cpu/shap.h"

#include "ml/cpu/simd.h"

#include <stdbool.h>

/* One lane a row; the compiler maps the vectors to the registers there are. In masks -1 = yes. */
typedef double eight __attribute__((vector_size(8 * SHAP_ROWS)));
typedef int64_t masks __attribute__((vector_size(8 * SHAP_ROWS)));

#define ALL(x)                 \
    {                          \
        x, x, x, x, x, x, x, x \
    }
#define PICK(mask, yes, no) ((eight)(((mask) & (masks)(yes)) | (~(mask) & (masks)(no))))

/* Which rows go right at the parent of a step. */
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

SIMD_BODY void value_take(const struct shap_values *v, int node, double *value)
{
    const float *at = v->values + (int64_t)node * v->pitch;

    for (int r = 0; r < SHAP_ROWS; r++)
        value[r] = v->of[r] < 0 ? 0.0 : (double)at[v->of[r]];
}

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

/* phi += or -= the sum over the points of sum[point] (o - z) / (z + t (o - z)) for the split at `level`. */
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
