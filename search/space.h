/* space.h - a search space: a tree of parameters. A categorical parameter may open children: a child is active
 * only when its parent is active and has one of the listed choices. Pure: no I/O, no clock, libc only.
 *
 * A point is one double per parameter, in the order of the table: floats and ints by value, categoricals and
 * ordinals by index of the choice, NaN where inactive. Parents come before children.
 * Unit cube: every active parameter maps to [0,1) and back (log and step respected), which is where samplers work. */
#ifndef SEARCH_SPACE_H
#define SEARCH_SPACE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum param_kind { PARAM_FLOAT, PARAM_INT, PARAM_CATEGORICAL, PARAM_ORDINAL, PARAM_CONSTANT };
enum param_axis {
    AXIS_COSTLY,
    AXIS_FREE,
    AXIS_PATH,
    AXIS_SHAPE
}; /* free: one fit answers for every value; samplers skip it */

struct param {
    char *name; /* unique path in the space: "family", "boost.learning_rate" */
    enum param_kind kind;
    enum param_axis axis;
    double lo, hi; /* FLOAT, INT: inclusive; CONSTANT: lo */
    double step;   /* 0 = none; INT: >= 1 */
    bool is_log;
    double def; /* default: value or choice index */
    int n_choices;
    char **choices; /* CATEGORICAL, ORDINAL (in order) */
    int parent;     /* index, -1 = root */
    uint64_t
        parent_mask; /* bit c: active when the parent has choice c (at most 64 choices for a parent) */
};
enum { SPACE_MAX_PARAMS = 512, SPACE_MAX_CHOICES = 4096 };

struct space {
    int n;
    struct param *params;
};

struct space *space_new(void);
void space_free(struct space *s);
/* Adds a copy and returns its index, or -1 with the parameter's name in err->where: empty or reversed range, log with
 * lo <= 0, step that does not fit, default outside, duplicate name or choice, unknown or inactive parent, too many. */
int space_add(struct space *s, const struct param *p, struct err *err);
int space_find(const struct space *s, const char *name); /* -1 = none */

bool space_is_active(const struct space *s, const double *point, int i);
int space_check(const struct space *s, const double *point,
                struct err *err); /* values legal, NaN exactly where inactive */
void space_defaults(const struct space *s, double *point);
void space_from_unit(const struct space *s, const double *unit,
                     double *point); /* unit[i] in [0,1); inactive ones ignored */
void space_to_unit(const struct space *s, const double *point,
                   double *unit); /* centre of a discrete cell; NaN stays NaN */
uint64_t space_hash(const struct space *s,
                    const double *point); /* of the active values; equal points, equal hash */
double space_size(
    const struct space *s); /* number of distinct points, INFINITY when a float has no step */
bool space_points_equal(const struct space *s, const double *a, const double *b);
/* Decimal-stable text of a value ("0.1", "31", "relu") for logs and previews. */
void space_value_text(const struct space *s, int i, double v, char *out, size_t size);

#endif
