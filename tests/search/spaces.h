/* spaces.h - spaces for the tests of search/: named builders and random ones. */
#ifndef TESTS_SEARCH_SPACES_H
#define TESTS_SEARCH_SPACES_H

#include "base/rng.h"
#include "search/space/space.h"

/* Adds and fails the test when the space refuses. Returns the index. */
int spaces_float(struct space *s, const char *name, double lo, double hi, double step, bool is_log);
int spaces_int(struct space *s, const char *name, double lo, double hi, double step, bool is_log);
int spaces_choice(struct space *s, const char *name, int n_choices, bool is_ordinal);
int spaces_constant(struct space *s, const char *name, double value);
/* Makes the last parameter a child of `parent`, active for the choices of mask. */
void spaces_under(struct space *s, int parent, uint64_t mask);
/* Makes the last parameter's axis this one. */
void spaces_axis(struct space *s, enum param_axis axis);

/* One parameter of every kind, and children under the choice. */
struct space *spaces_mixed(void);
/* `depth` choices, each open only under choice 1 of the one before. */
struct space *spaces_chain(int depth);
/* Up to `max` parameters of random kinds and ranges, nested at random. Discrete ones only when is_finite. */
struct space *spaces_random(struct rng *r, int max, bool is_finite);
/* A random legal point. */
void spaces_point(const struct space *s, struct rng *r, double *point);

#endif
