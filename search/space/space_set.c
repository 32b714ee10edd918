/* space_set.c - a space as a set of points: how many there are, the point with a given rank, hashes
 * and equality. Samplers use it so that no configuration is proposed twice, and to notice that a
 * small space is used up.
 *
 * Points are counted from the leaves of the tree upwards. The count of a parameter without children
 * is its number of values. The count of a choice with children is the sum, over its choices, of the
 * product of the counts of the children that are active for that choice. A rank is turned into a
 * point the same way from the roots downwards, as a number in mixed radix. */
#include "search/space/space.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* The counts of the subtrees, one per parameter. The caller frees them. */
static double *counts_new(const struct space *s, bool with_free)
{
    double *count = mem_array((size_t)s->n, sizeof *count);
    double by_choice[64];

    for (int i = s->n - 1; i >= 0; i--) {
        const struct param *p = &s->params[i];
        bool has_children = false;
        for (int c = 0; c < 64; c++)
            by_choice[c] = 1;
        for (int j = i + 1; j < s->n; j++) {
            if (s->params[j].parent != i)
                continue;
            has_children = true;
            for (int c = 0; c < p->n_choices; c++)
                by_choice[c] *= s->params[j].parent_mask >> c & 1 ? count[j] : 1;
        }
        count[i] = p->axis == AXIS_FREE && !with_free ? 1 : param_size(p);
        if (has_children) {
            count[i] = 0;
            for (int c = 0; c < p->n_choices; c++)
                count[i] += by_choice[c];
        }
    }
    return count;
}

static double size_of(const struct space *s, bool with_free)
{
    double *count = counts_new(s, with_free), size = 1;

    for (int i = 0; i < s->n; i++) {
        if (s->params[i].parent < 0)
            size *= count[i];
    }
    mem_free(count);
    return size;
}

double space_size(const struct space *s)
{
    return size_of(s, true);
}

double space_search_size(const struct space *s)
{
    return size_of(s, false);
}

/* Splits `rank` among the children of `parent` that are active when it has choice c. Parent -1
 * means the roots. */
static void rank_split(const struct space *s, const double *count, int parent, int c, uint64_t rank,
                       uint64_t *ranks)
{
    for (int j = parent + 1; j < s->n; j++) {
        const struct param *p = &s->params[j];
        if (p->parent != parent || (parent >= 0 && !(p->parent_mask >> c & 1)))
            continue;
        ranks[j] = rank % (uint64_t)count[j];
        rank /= (uint64_t)count[j];
    }
}

/* The choice of parameter i that rank *r falls into; *r becomes the rank within that choice.
 * *has_children tells whether i has children at all; without them the rank itself is the cell. */
static int rank_choice(const struct space *s, const double *count, int i, uint64_t *r,
                       bool *has_children)
{
    for (int c = 0; c < s->params[i].n_choices; c++) {
        double below = 1;
        for (int j = i + 1; j < s->n; j++) {
            if (s->params[j].parent != i)
                continue;
            *has_children = true;
            below *= s->params[j].parent_mask >> c & 1 ? count[j] : 1;
        }
        if (!*has_children)
            return 0;
        if (*r < (uint64_t)below)
            return c;
        *r -= (uint64_t)below;
    }
    return 0;
}

void space_at(const struct space *s, uint64_t rank, double *point)
{
    double *count = counts_new(s, false);
    uint64_t *ranks = mem_array((size_t)s->n, sizeof *ranks);

    rank_split(s, count, -1, 0, rank, ranks);
    for (int i = 0; i < s->n; i++) {
        const struct param *p = &s->params[i];
        bool has_children = false;
        if (!space_is_active(s, point, i)) {
            point[i] = NAN;
            continue;
        }
        if (p->axis == AXIS_FREE) {
            point[i] = p->def;
            continue;
        }
        int c = rank_choice(s, count, i, &ranks[i], &has_children);
        point[i] = has_children ? c : param_value(p, (double)ranks[i]);
        if (has_children)
            rank_split(s, count, i, c, ranks[i], ranks);
    }
    mem_free(ranks);
    mem_free(count);
}

/* ---- identity ---- */

/* Two values of a discrete parameter are the same if they have the same cell, so a user's 0.3 and
 * our 0.1 + 2 * 0.1 are equal. Values of a continuous one are the same if their bits are. */
double space_identity(const struct param *p, double v)
{
    if ((p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL) && v >= 0 &&
        v <= p->n_choices - 1)
        return (int)(v + 0.5); /* the cell, without two calls */
    return isinf(param_size(p)) ? v : param_cell(p, v);
}

uint64_t space_hash(const struct space *s, const double *point)
{
    uint64_t h = space_hash_first(s);

    for (int i = 0; i < s->n; i++) {
        if (space_is_active(s, point, i))
            h = space_hash_next(h, i, space_identity(&s->params[i], point[i]));
    }
    return h;
}

bool space_points_equal(const struct space *s, const double *a, const double *b)
{
    for (int i = 0; i < s->n; i++) {
        bool active = space_is_active(s, a, i);
        if (active != space_is_active(s, b, i))
            return false;
        if (active && space_identity(&s->params[i], a[i]) != space_identity(&s->params[i], b[i]))
            return false;
    }
    return true;
}
