/* space.h - a search space: a tree of parameters. A categorical or ordinal parameter may open children: a child is
 * active only when its parent is active and has one of the listed choices. Pure: no I/O, no clock, libc only.
 *
 * A point is one double per parameter, in the order of the table: floats and ints by value, categoricals and
 * ordinals by index of the choice, NaN where inactive. Parents come before children.
 * Unit cube: every active parameter maps to [0,1) and back (log and step respected), which is where samplers work. The
 * maps use only + - * / in a fixed order, so that a seed gives the same points on every machine. */
#ifndef SEARCH_SPACE_SPACE_H
#define SEARCH_SPACE_SPACE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum param_kind { PARAM_FLOAT, PARAM_INT, PARAM_CATEGORICAL, PARAM_ORDINAL, PARAM_CONSTANT };
/* FREE: one fit answers for every value, samplers skip it. PATH: neighbours are cheaper together. SHAPE: lanes that share
 * it can train in one launch. */
enum param_axis { AXIS_COSTLY, AXIS_FREE, AXIS_PATH, AXIS_SHAPE };

struct param {
    char *name; /* unique path in the space: "family", "boost.learning_rate"; 1..100 bytes */
    enum param_kind kind;
    enum param_axis axis;
    double lo, hi; /* FLOAT, INT: inclusive; CONSTANT: lo */
    double step;   /* 0 = none (INT: 1); divides hi - lo; excludes log, save INT's 1 */
    bool is_log;
    double def; /* default: value or choice index; CONSTANT: ignored */
    int n_choices;
    char **choices;       /* CATEGORICAL, ORDINAL (in order) */
    int parent;           /* index, -1 = root */
    uint64_t parent_mask; /* bit c: active when the parent has choice c (at most 64 choices) */
};
enum { SPACE_MAX_PARAMS = 512, SPACE_MAX_CHOICES = 4096, SPACE_MAX_NAME = 100 };

struct space {
    int n;
    struct param *params;
};

struct space *space_new(void);
void space_free(struct space *s);
/* Adds a copy and returns its index, or -1 with the parameter's name in err->where: empty or reversed range, log with
 * lo <= 0, step that does not fit, default outside, duplicate name or choice, unknown, free or never active parent, too
 * many. The space is as before then. */
int space_add(struct space *s, const struct param *p, struct err *err);
int space_find(const struct space *s, const char *name); /* -1 = none */

/* One parameter: its values are counted 0..size-1 in ascending order where they are discrete. */
double param_size(const struct param *p); /* INFINITY for a float without step */
double param_value(const struct param *p, double cell);
double param_cell(const struct param *p, double v);      /* nearest; discrete ones only */
double param_from_unit(const struct param *p, double u); /* u in [0,1), clamped */
double param_to_unit(const struct param *p, double v);   /* centre of a discrete cell */
bool param_is_legal(const struct param *p, double v);

bool space_is_active(const struct space *s, const double *point, int i);
/* Values legal, NaN exactly where inactive; err->where = the parameter. */
int space_check(const struct space *s, const double *point, struct err *err);
void space_defaults(const struct space *s, double *point);
/* unit[i] in [0,1); those of inactive parameters are ignored. */
void space_from_unit(const struct space *s, const double *unit, double *point);
/* Centre of a discrete cell; NaN stays NaN. */
void space_to_unit(const struct space *s, const double *point, double *unit);
/* Of the active values; equal points, equal hash. */
uint64_t space_hash(const struct space *s, const double *point);
bool space_points_equal(const struct space *s, const double *a, const double *b);
/* Of the definition: names, kinds, ranges, choices, tree. Saved states carry it. */
uint64_t space_fingerprint(const struct space *s);

/* Number of distinct points, INFINITY when a float has no step; search_size counts free axes as one value. */
double space_size(const struct space *s);
double space_search_size(const struct space *s);
/* The rank-th point of 0..space_search_size-1 (< 2^53), free axes at their default: a numbering of the whole space. */
void space_at(const struct space *s, uint64_t rank, double *point);

/* Decimal-stable text of a value ("0.1", "31", "relu") for logs and previews; "-" for NaN. */
void space_value_text(const struct space *s, int i, double v, char *out, size_t size);

#endif
