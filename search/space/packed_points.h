/* packed_points.h - many points of one space in little memory. Of each point only the values of its
 * active parameters are kept, because the values of parents say which parameters are active. In a
 * space of several model families most parameters are inactive, so this takes a third of the room
 * of whole points. Points are numbered from 0 as they come. */
#ifndef SEARCH_SPACE_PACKED_POINTS_H
#define SEARCH_SPACE_PACKED_POINTS_H

#include "search/space/space.h"

#include <stddef.h>

struct packed_points {
    const struct space *space; /* borrowed */
    size_t n, cap;
    size_t *ends; /* of each point: where its values end */
    double *values;
    size_t cap_values;
};

void packed_points_init(struct packed_points *p, const struct space *space);
void packed_points_fini(struct packed_points *p);
/* Adds a copy of a point that space_check accepts. */
void packed_points_add(struct packed_points *p, const double *point);
/* Writes point i, space->n values, as it was added. */
void packed_points_get(const struct packed_points *p, size_t i, double *point);

#endif
