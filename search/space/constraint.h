/* constraint.h - inequalities between parameters of a space: "layers * width <= 4096". Samplers never
 * propose a point that breaks one: fresh_points.c and quasi_points.c treat it as a point that was
 * seen, and candidates of models are asked with space_holds.
 *
 *   constraint  sum  <= | < | >= | > | == | !=  sum
 *   sum         product {+ | - product}
 *   product     factor {* | / factor}
 *   factor      number | name | `name` | - factor | ( sum )
 *
 * A name without backticks has letters, digits, _ and points. A parameter counts by its value; a
 * choice must be of numbers. A constraint that names an inactive parameter holds; one that divides
 * by zero does not. */
#ifndef SEARCH_SPACE_CONSTRAINT_H
#define SEARCH_SPACE_CONSTRAINT_H

#include "search/space/space.h"

enum { CONSTRAINTS_MAX = 32, CONSTRAINT_TOKENS = 64 };

/* Adds a constraint to the space, which must have all its parameters. Names stand for prefix + name.
 * The error says what is wrong at which place of the text. */
int space_constrain(struct space *s, const char *prefix, const char *text, struct err *err);
/* Whether the point keeps all of them. */
bool space_holds(const struct space *s, const double *point);

#endif
