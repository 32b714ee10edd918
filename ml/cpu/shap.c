/* shap.c - the pass over a tree for eight rows at once; the formulas are in shap.h. Rows never mix, each sum has a fixed order:
 * equal bits on every instruction set and for every split of a table into blocks. Called by ml/shap.c. */
#include "ml/cpu/shap.h"

#include "ml/cpu/simd.h"

/* Which rows go right at the parent of a step. */
SIMD_BODY void directions(const struct shap_plan *p, const struct shap_step *s,
                          const uint8_t *const *x, int64_t *right)
{
    if (s->set >= 0) {
        const uint64_t *set = p->sets[s->set];
        for (int r = 0; r < SHAP_ROWS; r++) {
            uint8_t v = x[r][s->col];
            right[r] = !(set[v >> 6] >> (v & 63) & 1);
        }
        return;
    }
    for (int r = 0; r < SHAP_ROWS; r++)
        right[r] = (uint8_t)(x[r][s->col] + s->add) > s->bin;
}

SIMD_BODY void enter(const struct shap_plan *p, int step, const float *values, int pitch,
                     const uint8_t *const *x)
{
    const struct shap_step *s = &p->steps[step];
    int64_t width = (int64_t)p->points * SHAP_ROWS, *right = p->right + s->level * SHAP_ROWS;
    const int64_t *before = p->on + s->prev * SHAP_ROWS;
    const double *stay = p->stay + (int64_t)step * p->points;
    const double *leave = p->leave + (int64_t)step * p->points;
    const double *from = p->path + (s->level - 1) * width;
    double *path = p->path + s->level * width, *sum = p->sum + s->level * width;
    int64_t *on = p->on + s->level * SHAP_ROWS;

    if (!s->is_right)
        directions(p, s, x, right);
    for (int r = 0; r < SHAP_ROWS; r++)
        on[r] = before[r] & (right[r] == s->is_right);
    for (int q = 0; q < p->points; q++) {
        for (int r = 0; r < SHAP_ROWS; r++) {
            double factor = on[r] ? stay[q] : before[r] ? leave[q] : s->keep;
            path[q * SHAP_ROWS + r] = from[q * SHAP_ROWS + r] * factor;
        }
    }
    for (int q = 0; q < p->points; q++) {
        double w = s->is_leaf ? (double)values[(int64_t)s->node * pitch] * p->weight[q] : 0.0;
        for (int r = 0; r < SHAP_ROWS; r++)
            sum[q * SHAP_ROWS + r] = path[q * SHAP_ROWS + r] * w;
    }
    p->at[s->level] = step;
}

/* sum over the points of sum[point] (o - z) / (z + t (o - z)) for the split at `level`. */
SIMD_BODY void pull_of(const struct shap_plan *p, int level, const double *sum, double sign,
                       double *phi)
{
    const double *pull = p->pull + (int64_t)p->at[level] * p->points;
    const int64_t *on = p->on + level * SHAP_ROWS;
    double add[SHAP_ROWS] = { 0 };

    for (int q = 0; q < p->points; q++) {
        for (int r = 0; r < SHAP_ROWS; r++)
            add[r] += sum[q * SHAP_ROWS + r] * (on[r] ? pull[q] : p->push[q]);
    }
    for (int r = 0; r < SHAP_ROWS; r++)
        phi[r] += sign * add[r];
}

SIMD_BODY void depart(const struct shap_plan *p, int level, double *phi)
{
    const struct shap_step *s = &p->steps[p->at[level]];
    int64_t width = (int64_t)p->points * SHAP_ROWS;
    double *sum = p->sum + level * width;

    pull_of(p, level, sum, 1.0, phi + (int64_t)s->col * SHAP_ROWS);
    if (s->prev)
        pull_of(p, s->prev, sum, -1.0, phi + (int64_t)s->col * SHAP_ROWS);
    for (int64_t i = 0; i < width; i++)
        (sum - width)[i] += sum[i];
}

SIMD_BODY void shap_block_body(const struct shap_plan *p, const float *values, int pitch,
                               const uint8_t *const *x, double *phi)
{
    int level = 0;

    for (int i = 0; i < p->points * SHAP_ROWS; i++)
        p->path[i] = 1.0;
    for (int r = 0; r < SHAP_ROWS; r++)
        p->on[r] = 1;
    for (int i = 0; i < p->n_steps; i++) {
        for (; level >= p->steps[i].level; level--)
            depart(p, level, phi);
        enter(p, i, values, pitch, x);
        level = p->steps[i].level;
    }
    for (; level > 0; level--)
        depart(p, level, phi);
}

SIMD_KERNEL(shap_block,
            (const struct shap_plan *p, const float *values, int pitch, const uint8_t *const *x,
             double *phi),
            (p, values, pitch, x, phi))
