/* gp_luck.c - whether trials fail for what they are or by chance; see gp_luck.h. */
#include "search/samplers/gp/gp_luck.h"

#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

/* MOST: a search of a Gaussian process has hardly more trials (duo.c). */
enum { MOST = 512, GROWTH = 64 };
/* Trials that must have ended, and of these failed and not failed, before chance is believed. Where
 * nine tenths fail beyond a border, chance is ahead in some searches until then
 * (docs/measurements/2026-11-26.md). */
enum { LEAST_ENDS = 30, LEAST_OF_EACH = 5 };
/* How far counts as near, squared, as a share of the cube's diagonal, and the weight of the mean of
 * all trials among those near. */
static const double NEAR[GP_LUCK_SCALES] = { 0.01, 0.04, 0.16 }, MEAN_WEIGHT = 0.5;
void gp_luck_fini(struct gp_luck *l)
{
    mem_free(l->x);
    mem_free(l->has_failed);
    *l = (struct gp_luck){ 0 };
}

static double distance(const struct gp_code *code, const double *a, const double *b)
{
    double sum = 0;

    for (int k = 0; k < code->d; k++) {
        if (code->is_choice[k])
            sum += a[k] != b[k] ? 0.25 : 0;
        else
            sum += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return sum / code->d;
}

/* Adds how well the mean of all and the trials near x foretold the end. */
static void foretell(struct gp_luck *l, const struct gp_code *code, const double *x,
                     bool has_failed)
{
    double mean = (l->failed + 0.5) / (l->n + 1);
    double weight[GP_LUCK_SCALES], failed[GP_LUCK_SCALES];

    for (int s = 0; s < GP_LUCK_SCALES; s++) {
        weight[s] = MEAN_WEIGHT;
        failed[s] = MEAN_WEIGHT * mean;
    }
    for (int i = 0; i < l->n; i++) {
        double far = distance(code, x, l->x + (size_t)i * (size_t)code->d);
        for (int s = 0; s < GP_LUCK_SCALES; s++) {
            double w = search_exp(-far / (2 * NEAR[s]));
            weight[s] += w;
            failed[s] += l->has_failed[i] ? w : 0;
        }
    }
    l->chance += search_log(has_failed ? mean : 1 - mean);
    for (int s = 0; s < GP_LUCK_SCALES; s++) {
        double p = failed[s] / weight[s];
        l->near[s] += search_log(has_failed ? p : 1 - p);
    }
}

void gp_luck_add(struct gp_luck *l, const struct gp_code *code, const double *x, bool has_failed)
{
    if (l->n == MOST || code->d == 0)
        return;
    if (l->n % GROWTH == 0) {
        size_t room = (size_t)l->n + GROWTH;
        l->x = mem_resize(l->x, room * (size_t)code->d * sizeof *l->x);
        l->has_failed = mem_resize(l->has_failed, room * sizeof *l->has_failed);
    }
    foretell(l, code, x, has_failed);
    memcpy(l->x + (size_t)l->n * (size_t)code->d, x, (size_t)code->d * sizeof *x);
    l->has_failed[l->n++] = has_failed;
    l->failed += has_failed;
}

bool gp_luck_is_chance(const struct gp_luck *l)
{
    double likelihood = 0;

    if (l->n < LEAST_ENDS || MIN(l->failed, l->n - l->failed) < LEAST_OF_EACH)
        return false;
    for (int s = 0; s < GP_LUCK_SCALES; s++)
        likelihood += search_exp(MIN(700, MAX(-700, l->near[s] - l->chance))) / GP_LUCK_SCALES;
    return likelihood < 1;
}
