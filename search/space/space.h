/* space.h - a search space: a tree of parameters. A categorical or ordinal parameter may have
 * children. A child is active only while its parent is active and has one of the choices that the
 * child lists. Pure: no I/O, no clock, libc only. The controller builds a space from a spec
 * (controller/space.c); samplers only read it.
 *
 * A point is one configuration as an array of doubles, one per parameter, in the order of the
 * table: floats and ints by value, categoricals and ordinals by the index of the choice, NaN where
 * the parameter is inactive. Parents come before their children.
 *
 * Unit cube: every active parameter maps to [0,1) and back. The map respects log scale and step, so
 * samplers can work in the cube alone. It uses only + - * / in a fixed order, so the same seed
 * gives the same points on every machine. */
#ifndef SEARCH_SPACE_SPACE_H
#define SEARCH_SPACE_SPACE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum param_kind { PARAM_FLOAT, PARAM_INT, PARAM_CATEGORICAL, PARAM_ORDINAL, PARAM_CONSTANT };
/* What a parameter means for the cost of training.
 * COSTLY  every value needs a fit of its own.
 * FREE    one fit gives the results for every value, so samplers leave the parameter at its default.
 * PATH    neighbouring values are cheaper to train together.
 * SHAPE   trials with equal values can train in one launch of a device. */
enum param_axis { AXIS_COSTLY, AXIS_FREE, AXIS_PATH, AXIS_SHAPE };

struct param {
    char *name; /* unique path in the space: "family", "boost.learning_rate"; 1..100 bytes */
    enum param_kind kind;
    enum param_axis axis;
    double lo, hi; /* FLOAT, INT: inclusive; CONSTANT: lo */
    /* Distance of neighbouring values, 0 = none. It divides hi - lo. An INT without a step has step
     * 1. A parameter on a log scale has no step, except an INT's 1. */
    double step;
    bool is_log;
    /* On a log scale: the logarithms of the range's ends, of an INT half a step beyond. space_add sets
     * them. */
    double log_lo, log_hi;
    double def; /* default: value or choice index; CONSTANT: ignored */
    int n_choices;
    char **choices;       /* CATEGORICAL, ORDINAL (in order) */
    int parent;           /* index, -1 = root */
    uint64_t parent_mask; /* bit c: active when the parent has choice c (at most 64 choices) */
};
enum { SPACE_MAX_PARAMS = 512, SPACE_MAX_CHOICES = 4096, SPACE_MAX_NAME = 100 };

struct constraint; /* constraint.h */
struct space {
    int n;
    struct param *params;
    struct constraint *constraints; /* owned; NULL = none */
    int n_constraints;
};

struct space *space_new(void);
void space_free(struct space *s);
/* Adds a copy of the parameter and returns its index. On error returns -1 with the parameter's name
 * in err->where, and the space is as before. Errors are: an empty or reversed range, a log scale
 * with lo <= 0, a step that does not divide the range, a default outside the range, a duplicate
 * name or choice, a parent that is unknown, free or never active, and more than SPACE_MAX_PARAMS
 * parameters. */
int space_add(struct space *s, const struct param *p, struct err *err);
int space_find(const struct space *s, const char *name); /* -1 = none */
/* The categorical parameter that opens branches: at the root, not free, found by its first child; -1 =
 * none. */
int space_root(const struct space *s);

/* The values of one parameter. If they are discrete they are numbered 0..size-1 in ascending order;
 * such a number is called a cell. */
double param_size(const struct param *p); /* INFINITY for a float without step */
double param_value(const struct param *p, double cell);
double param_cell(const struct param *p, double v); /* the nearest one; discrete parameters only */
double param_from_unit(const struct param *p, double u); /* u in [0,1), clamped */
double param_to_unit(const struct param *p, double v);   /* centre of a discrete cell */
bool param_is_legal(const struct param *p, double v);

bool space_is_active(const struct space *s, const double *point, int i);
/* Checks that every active value is legal, and that NaN stands exactly where a parameter is
 * inactive. On error err->where is the parameter's name. */
int space_check(const struct space *s, const double *point, struct err *err);
void space_defaults(const struct space *s, double *point);
/* unit[i] must be in [0,1); it is ignored where parameter i is inactive. */
void space_from_unit(const struct space *s, const double *unit, double *point);
/* A discrete value maps to the centre of its cell; NaN stays NaN. */
void space_to_unit(const struct space *s, const double *point, double *unit);
/* A hash of the active values: equal points have equal hashes. */
uint64_t space_hash(const struct space *s, const double *point);
/* The same by parts: space_hash_next of space_identity, for each active parameter in order, from
 * space_hash_first on. */
double space_identity(const struct param *p, double v); /* of a discrete parameter the cell */
static inline uint64_t space_hash_first(const struct space *s)
{
    return (uint64_t)s->n;
}
/* A permutation of 64 bits: the finaliser of splitmix64 (Steele, Lea and Flood, Fast Splittable
 * Pseudorandom Number Generators, 2014). */
static inline uint64_t space_scatter(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}
static inline uint64_t space_hash_next(uint64_t hash, int i, double identity)
{
    uint64_t bits = 0;

    identity = identity == 0 ? 0 : identity; /* -0 and 0 are the same, but have different bits */
    memcpy(&bits, &identity, sizeof bits);
    return space_scatter(space_scatter(hash + (uint64_t)i) ^ bits);
}
bool space_points_equal(const struct space *s, const double *a, const double *b);

/* Number of distinct points, INFINITY if a float has no step. space_search_size counts a free axis
 * as one value. */
double space_size(const struct space *s);
double space_search_size(const struct space *s);
/* The point with this rank, 0..space_search_size-1 (below 2^53): a numbering of the whole space.
 * Free axes have their default. */
void space_at(const struct space *s, uint64_t rank, double *point);

/* Text of a value ("0.1", "31", "relu") for logs and previews: the shortest that reads back as the
 * same double. "-" for NaN. */
void space_value_text(const struct space *s, int i, double v, char *out, size_t size);

#endif
