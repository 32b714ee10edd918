/* quasi_points.c - sequences through spaces; see quasi_points.h. Dimensions are given to parameters
 * greedily, as colours in graph colouring: each parameter takes the first dimension that no earlier
 * parameter has with which it can be active. The numbering of the whole space visits rank, rank +
 * stride, ... modulo the size; a stride without a common divisor with the size visits every rank
 * once. */
#include "search/space/quasi_points.h"

#include "search/space/constraint.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

/* Seen elements in a row after which the numbering is used. If half of a space was seen, 32 random
 * points in a row would all be seen once in 4 billion times, so the order of the sequence is kept
 * for long. */
/* CONSTRAINED_ATTEMPTS: as in fresh_points.c */
enum { ATTEMPTS = 32, CONSTRAINED_ATTEMPTS = 20000 };
static const uint64_t RANK_TAG = 0x72616e6b; /* "rank" */

/* ---- dimensions ---- */

static bool is_searched(const struct param *p)
{
    return p->axis != AXIS_FREE && param_size(p) > 1;
}

/* Whether parameters a and b can never be active together: at the choice where their paths to the
 * root meet, they need different values. Both paths are followed upwards until they meet. Parents
 * come before children, so the parameter with the larger index goes up first. */
static bool exclude_each_other(const struct space *s, int a, int b)
{
    int child_a = -1, child_b = -1;

    while (a != b) {
        int *later = a > b ? &a : &b, *child = a > b ? &child_a : &child_b;
        *child = *later;
        *later = s->params[*later].parent;
    }
    if (a < 0 || child_a < 0 ||
        child_b < 0) /* they have different roots, or one is above the other */
        return false;
    return (s->params[child_a].parent_mask & s->params[child_b].parent_mask) == 0;
}

/* The first dimension that none of the earlier parameters has which can be active together with
 * i. */
static int dim_for(const struct quasi_points *w, int i)
{
    bool taken[SPACE_MAX_PARAMS + 1] = { false };
    int d = 0;

    for (int j = 0; j < i; j++) {
        if (w->dim[j] >= 0 && !exclude_each_other(w->space, i, j))
            taken[w->dim[j]] = true;
    }
    while (taken[d])
        d++;
    return d;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void quasi_points_init(struct quasi_points *w, const struct space *space,
                       const struct sequence_ops *ops, uint64_t seed)
{
    size_t n = (size_t)space->n;

    *w = (struct quasi_points){
        .space = space, .ops = ops, .size = space_search_size(space), .seed = seed
    };
    w->dim = mem_array(n, sizeof *w->dim);
    for (int i = 0; i < space->n; i++) {
        w->dim[i] = is_searched(&space->params[i]) ? dim_for(w, i) : -1;
        w->dims = MAX(w->dims, w->dim[i] + 1);
    }
    w->unit = mem_array((size_t)w->dims, sizeof *w->unit);
    w->point = mem_array(n, sizeof *w->point);
    hash_set_init(&w->seen);
    if (w->size < 0x1p53) {
        uint64_t size = (uint64_t)w->size;
        w->rank = rng_mix(seed, RANK_TAG) % size;
        w->stride = (uint64_t)(w->size * 0.6180339887498949) +
                    1; /* the golden ratio spreads any beginning evenly */
        while (common_divisor(w->stride, size) > 1)
            w->stride++;
    }
}

void quasi_points_fini(struct quasi_points *w)
{
    if (w->ops)
        w->ops->destroy(w->sequence);
    hash_set_fini(&w->seen);
    mem_free(w->dim);
    mem_free(w->unit);
    mem_free(w->point);
    *w = (struct quasi_points){ 0 };
}

/* ---- points ---- */

static void element_to_point(struct quasi_points *w, double *point)
{
    const struct space *s = w->space;

    if (!w->sequence)
        w->sequence = w->ops->make(w->dims, w->seed);
    w->ops->at(w->sequence, w->used++, w->unit);
    for (int i = 0; i < s->n; i++) {
        if (!space_is_active(s, point, i))
            point[i] = NAN;
        else if (w->dim[i] < 0)
            point[i] = s->params[i].def;
        else
            point[i] = param_from_unit(&s->params[i], w->unit[w->dim[i]]);
    }
}

static int next_unseen_rank(struct quasi_points *w, double *point)
{
    uint64_t size = (uint64_t)w->size;

    while (w->passed < size) {
        space_at(w->space, w->rank, point);
        w->rank = w->rank >= size - w->stride % size ? w->rank - (size - w->stride % size)
                                                     : w->rank + w->stride % size;
        w->passed++;
        if (space_holds(w->space, point) && hash_set_add(&w->seen, space_hash(w->space, point)))
            return 1;
    }
    return 0;
}

int quasi_points_next(struct quasi_points *w, double *point)
{
    bool is_countable = w->size < 0x1p53;

    if (is_countable && (double)w->seen.n >= w->size)
        return 0;
    int attempts = w->space->n_constraints ? CONSTRAINED_ATTEMPTS : ATTEMPTS;

    for (int attempt = 0; attempt < attempts && w->used < SEQUENCE_END; attempt++) {
        element_to_point(w, point);
        if (space_holds(w->space, point) && hash_set_add(&w->seen, space_hash(w->space, point)))
            return 1;
    }
    if (is_countable)
        return next_unseen_rank(w, point);
    /* As in fresh_points.c: a huge space with so many repeats has ranges of a few representable
     * numbers, and the last element is taken although it was seen. */
    return w->used < SEQUENCE_END && !w->space->n_constraints;
}

bool quasi_points_mark(struct quasi_points *w, const double *point)
{
    const struct space *s = w->space;

    for (int i = 0; i < s->n; i++)
        w->point[i] =
            s->params[i].axis == AXIS_FREE && !isnan(point[i]) ? s->params[i].def : point[i];
    return hash_set_add(&w->seen, space_hash(s, w->point));
}
