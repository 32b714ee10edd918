/* config.h - a configuration in its three forms: JSON text of a trial ({"family":"boost","learning_rate":0.1,...}: every
 * parameter that is no free axis, and the limits that a user set to free ones), one double per parameter of its family
 * (ml/family/family.h), and a point of the study's space (search/space/space.h). */
#ifndef CONTROLLER_PROBLEM_CONFIG_H
#define CONTROLLER_PROBLEM_CONFIG_H

#include "ml/family/family.h"
#include "search/space/space.h"

#include <jansson.h>

struct config {
    const struct family *family;
    double params[FAMILY_MAX_PARAMS];
};

/* JSON to numbers: unknown family or parameter, wrong type, value outside what the family can do are errors with the path
 * of the key below `path`. Parameters left out get the family's default; a free axis given is its limit. */
int config_parse(struct config *c, const json_t *json, const char *path, struct err *err);
int config_unknown_family(const char *name, const char *where, struct err *err); /* says so; -1 */
int config_parse_text(struct config *c, const char *text, struct err *err);
char *config_text_new(
    const struct config *c); /* sorted keys: equal configurations, equal text; mem_free */
void config_hash(const char *text, char out[17]);
uint64_t config_hash_of(const struct config *c); /* the same as a number */

/* The choice that a user's value names, as text, as a number (bins: 255) or as true and false for yes and no; -1 = none. */
int config_choice_find(const struct family_param *p, const json_t *v);

/* Point to configuration (the point is legal) and back (-1: outside this space). */
void config_from_point(struct config *c, const struct space *s, const double *point);
int config_to_point(const struct config *c, const struct space *s, double *point, struct err *err);

#endif
