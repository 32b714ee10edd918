/* packed_points.c - points without their inactive parameters (packed_points.h). The values of all
 * points stand in one array, in the order of the parameters; ends[i] is where point i ends. */
#include "search/space/packed_points.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

void packed_points_init(struct packed_points *p, const struct space *space)
{
    *p = (struct packed_points){ .space = space };
}

void packed_points_fini(struct packed_points *p)
{
    mem_free(p->ends);
    mem_free(p->values);
    packed_points_init(p, p->space);
}

static size_t first_of(const struct packed_points *p, size_t i)
{
    return i > 0 ? p->ends[i - 1] : 0;
}

void packed_points_add(struct packed_points *p, const double *point)
{
    size_t at = first_of(p, p->n);

    MEM_GROW(p->ends, p->n, p->cap);
    while (at + (size_t)p->space->n > p->cap_values) {
        p->cap_values = mem_more(p->cap_values);
        p->values = mem_resize(p->values, p->cap_values * sizeof *p->values);
    }
    for (int i = 0; i < p->space->n; i++) {
        if (space_is_active(p->space, point, i))
            p->values[at++] = point[i];
    }
    p->ends[p->n++] = at;
}

void packed_points_get(const struct packed_points *p, size_t i, double *point)
{
    size_t at = first_of(p, i);

    CHECK(i < p->n);
    for (int k = 0; k < p->space->n; k++) /* parents come before their children */
        point[k] = space_is_active(p->space, point, k) ? p->values[at++] : NAN;
    CHECK(at == p->ends[i]);
}
