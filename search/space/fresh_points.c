/* fresh_points.c - random points without repeats. First by rejection, which keeps the distribution
 * exact: a point that was seen before is drawn again. If that fails 64 times, the space is nearly
 * used up or very skewed. A space that can be numbered is then searched from a random rank upwards
 * for the next unseen point. */
#include "search/space/fresh_points.h"

#include "search/space/constraint.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Draws before rejection is given up, and how many of them keep one shape of a fused group. If nine
 * tenths of a space were seen, 64 draws would all fail once in a thousand times. */
enum { ATTEMPTS = 64, ATTEMPTS_PER_SHAPE = 16 };
/* The same where constraints refuse points, too, and the most ranks that are walked then: a few
 * milliseconds. If one point in 2,000 keeps the constraints, all draws fail once in 10,000 times. */
enum { CONSTRAINED_ATTEMPTS = 20000, CONSTRAINED_WALK = 100000 };
static const uint64_t SHAPE_TAG = 0x7368617065; /* "shape" */

void fresh_points_init(struct fresh_points *d, const struct space *space)
{
    d->space = space;
    d->size = space_search_size(space);
    d->fuse = 0;
    hash_set_init(&d->seen);
}

void fresh_points_fini(struct fresh_points *d)
{
    hash_set_fini(&d->seen);
}

/* Uniform in [0,1), keyed by what it decides: parameter i of this trial at this attempt. */
static double unit_at(uint64_t seed, int i, int attempt, int64_t trial)
{
    uint32_t out[4];

    rng_at(seed, (uint32_t)i, (uint32_t)attempt, (uint64_t)trial, out);
    return (double)(((uint64_t)out[1] << 32 | out[0]) >> 11) * 0x1p-53;
}

/* Division that rounds down, because trials of a warm start are numbered 0, -1, -2 ... */
int64_t fresh_points_group(int64_t trial, int fuse)
{
    int64_t k = trial - 1;

    return k / fuse - (k % fuse < 0);
}

static void draw_once(const struct fresh_points *d, uint64_t seed, int64_t trial, int attempt,
                      double *point)
{
    const struct space *s = d->space;
    bool is_fused = d->fuse > 1;
    uint64_t shape_seed = is_fused ? rng_mix(seed, SHAPE_TAG) : 0;

    for (int i = 0; i < s->n; i++) {
        const struct param *p = &s->params[i];
        if (!space_is_active(s, point, i))
            point[i] = NAN;
        else if (p->axis == AXIS_FREE)
            point[i] = p->def;
        else if (p->axis == AXIS_SHAPE && is_fused)
            point[i] = param_from_unit(p, unit_at(shape_seed, i, attempt / ATTEMPTS_PER_SHAPE,
                                                  fresh_points_group(trial, d->fuse)));
        else
            point[i] = param_from_unit(p, unit_at(seed, i, attempt, trial));
    }
}

static int walk_to_unseen(struct fresh_points *d, uint64_t seed, int64_t trial, double *point)
{
    uint64_t n = (uint64_t)d->size;
    uint64_t rank = rng_mix(rng_mix(seed, (uint64_t)trial), n) % n;

    /* one of seen.n + 1 points is unseen, where no constraint refuses it */
    uint64_t walk = d->space->n_constraints ? MIN(n, CONSTRAINED_WALK) : d->seen.n + 1;

    for (uint64_t i = 0; i < walk; i++) {
        space_at(d->space, rank, point);
        if (space_holds(d->space, point) && hash_set_add(&d->seen, space_hash(d->space, point)))
            return 1;
        rank = rank + 1 == n ? 0 : rank + 1;
    }
    return 0;
}

bool fresh_points_is_used_up(const struct fresh_points *d)
{
    return d->size < 0x1p53 && (double)d->seen.n >= d->size;
}

int fresh_points_next(struct fresh_points *d, uint64_t seed, int64_t trial, double *point)
{
    bool is_countable = d->size<0x1p53, is_bound = d->space->n_constraints> 0;

    if (fresh_points_is_used_up(d))
        return 0;
    for (int attempt = 0; attempt < (is_bound ? CONSTRAINED_ATTEMPTS : ATTEMPTS); attempt++) {
        draw_once(d, seed, trial, attempt, point);
        if (space_holds(d->space, point) && hash_set_add(&d->seen, space_hash(d->space, point)))
            return 1;
    }
    /* A space that cannot be numbered has at least 2^53 points. If 64 draws repeat there, a range
     * holds only a few representable numbers; the last draw is taken although it was seen, unless
     * constraints may have refused it. */
    return is_countable ? walk_to_unseen(d, seed, trial, point) : !is_bound;
}

bool fresh_points_mark(struct fresh_points *d, const double *point)
{
    const struct space *s = d->space;

    if (!space_holds(s, point))
        return false;
    double *costly = mem_array((size_t)s->n, sizeof *costly);

    for (int i = 0; i < s->n; i++)
        costly[i] =
            s->params[i].axis == AXIS_FREE && !isnan(point[i]) ? s->params[i].def : point[i];
    bool is_new = hash_set_add(&d->seen, space_hash(s, costly));
    mem_free(costly);
    return is_new;
}
