/* gp_luck.c - whether trials fail for what they are or by chance; see gp_luck.h. */
#include "search/samplers/gp/gp_luck.h"

#include "search/samplers/gp/gp_matern.h"
#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/simd.h"

#include <string.h>

/* MOST: a search of a Gaussian process has hardly more trials (duo.c). */
enum { MOST = 512, LEAST_ROOM = 64 };
/* Trials that must have ended, and of these failed and not failed, before chance is believed. Where
 * nine tenths fail beyond a border, chance is ahead in some searches until then
 * (docs/measurements/2026-11-26.md). */
enum { LEAST_ENDS = 30, LEAST_OF_EACH = 5 };
/* How far counts as near at most, squared, as a share of the cube's diagonal; the other distances are
 * a half and a fourth of it. The weight of the mean of all trials among those near. */
static const double FARTHEST = 0.16, MEAN_WEIGHT = 0.5;

void gp_luck_fini(struct gp_luck *l)
{
    mem_free(l->x);
    mem_free(l->has_failed);
    *l = (struct gp_luck){ 0 };
}

/* How near end i is to each before it, at the farthest of the distances: exp of minus the squared
 * distance as a share of the cube's diagonal, in units of twice FARTHEST. */
SIMD_BODY void nearness_body(const struct gp_luck *l, int i, float *restrict near)
{
    float unit = (float)(1 / (2 * FARTHEST * l->code->d));

    for (int j = 0; j < i; j++)
        near[j] = 0;
    for (int k = 0; k < l->code->d; k++) {
        const float *restrict x = l->x + (size_t)k * (size_t)l->room;
        float at = x[i];
        for (int j = 0; j < i && l->code->is_choice[k]; j++)
            near[j] += at != x[j] ? 0.25f : 0;
        for (int j = 0; j < i && !l->code->is_choice[k]; j++)
            near[j] += (at - x[j]) * (at - x[j]);
    }
    for (int j = 0; j < i; j++)
        near[j] = gp_exp_minus_single(near[j] * unit);
}

SIMD_KERNEL_STATIC(nearness, (const struct gp_luck *l, int i, float *near), (l, i, near))

/* Adds how well the mean of the ends before end i and those of them near it foretold it. The weights
 * of the three distances are one exponential, as each is a fourth of the next. */
static void foretell(struct gp_luck *l, int i)
{
    double mean = (l->failed_foretold + 0.5) / (i + 1);
    double weight[GP_LUCK_SCALES], failed[GP_LUCK_SCALES];
    float near[MOST];

    for (int s = 0; s < GP_LUCK_SCALES; s++) {
        weight[s] = MEAN_WEIGHT;
        failed[s] = MEAN_WEIGHT * mean;
    }
    nearness(l, i, near);
    for (int j = 0; j < i; j++) {
        double w = (double)near[j];
        for (int s = GP_LUCK_SCALES - 1; s >= 0; s--) {
            weight[s] += w;
            failed[s] += l->has_failed[j] ? w : 0;
            w = (w * w) * (w * w);
        }
    }
    l->chance += search_log(l->has_failed[i] ? mean : 1 - mean);
    for (int s = 0; s < GP_LUCK_SCALES; s++) {
        double p = failed[s] / weight[s];
        l->near[s] += search_log(l->has_failed[i] ? p : 1 - p);
    }
    l->failed_foretold += l->has_failed[i];
}

/* Dimension k of end i is at x[k * room + i], so everything moves. */
static void room_make(struct gp_luck *l, int d)
{
    int room = l->room ? 2 * l->room : LEAST_ROOM;
    float *x = mem_array((size_t)room * (size_t)d, sizeof *x);

    for (int k = 0; k < d && l->n > 0; k++)
        memcpy(x + (size_t)k * (size_t)room, l->x + (size_t)k * (size_t)l->room,
               (size_t)l->n * sizeof *x);
    mem_free(l->x);
    l->x = x;
    l->has_failed = mem_resize(l->has_failed, (size_t)room * sizeof *l->has_failed);
    l->room = room;
}

void gp_luck_add(struct gp_luck *l, const struct gp_code *code, const double *x, bool has_failed)
{
    if (l->n == MOST || code->d == 0)
        return;
    if (l->n == l->room)
        room_make(l, code->d);
    l->code = code;
    for (int k = 0; k < code->d; k++)
        l->x[(size_t)k * (size_t)l->room + (size_t)l->n] = (float)x[k];
    l->has_failed[l->n++] = has_failed;
    l->failed += has_failed;
}

bool gp_luck_is_chance(struct gp_luck *l)
{
    double likelihood = 0;

    if (l->n < LEAST_ENDS || MIN(l->failed, l->n - l->failed) < LEAST_OF_EACH)
        return false;
    if (l->foretold == l->n)
        return l->is_chance;
    while (l->foretold < l->n)
        foretell(l, l->foretold++);
    for (int s = 0; s < GP_LUCK_SCALES; s++)
        likelihood += search_exp(MIN(700, MAX(-700, l->near[s] - l->chance))) / GP_LUCK_SCALES;
    l->is_chance = likelihood < 1;
    return l->is_chance;
}
