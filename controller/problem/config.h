/* config.h - a configuration in its three forms, and the ways from one to another:
 *
 * - JSON text, {"family":"boost","learning_rate":0.1,...}, which a trial's row stores and a worker
 *   reads. It holds every parameter except the free axes. A free axis, such as the number of
 *   rounds, is chosen inside each fit; it is written only if a user gave it a limit of its own.
 * - struct config: one double per parameter of the family (ml/family/family.h).
 * - A point of the study's space (search/space/space.h), which is what samplers see.
 *
 * Used by the whole controller, from the parsing of specs up to the suggestions of samplers. */
#ifndef CONTROLLER_PROBLEM_CONFIG_H
#define CONTROLLER_PROBLEM_CONFIG_H

#include "controller/problem/own.h"
#include "ml/family/family.h"
#include "search/space/space.h"

#include <jansson.h>

struct config {
    const struct family *family;
    double params[FAMILY_MAX_PARAMS];
};

/* `ranks` and `devices` of one entry cannot both be above 1. */
int config_rivals_check(const json_t *entry, const char *path, struct err *err);
/* Turns JSON into numbers. An unknown family or parameter, a wrong type and a value outside the
 * family's hard limits are errors; they carry the path of the key, which begins with `path`.
 * Parameters that are left out get the family's default. A value for a free axis is its limit. own: the study's own family, which then is
 * the only one, or NULL. */
int config_parse(struct config *c, const json_t *json, const char *path, const struct own *own,
                 struct err *err);
/* Fills err for a family name that does not exist, with the nearest name. Always returns -1. */
int config_unknown_family(const char *name, const char *where, struct err *err);
int config_parse_text(struct config *c, const char *text, const struct own *own, struct err *err);
/* The canonical text: keys are sorted, so equal configurations have equal text. Freed by mem_free. */
char *config_text_new(const struct config *c);
json_t *config_json_new(const struct config *c); /* the same as a value */
/* The first 16 hexadecimal digits of the text's SHA-256, by which trials with the same
 * configuration are found. config_hash_of returns the same as a number. */
void config_hash(const char *text, char out[17]);
uint64_t config_hash_of(const struct config *c);

/* Returns the index of the choice that a user's value names, or -1. The value may be the word, a
 * number (bins: 255), or true and false for yes and no. p is a choice parameter. */
int config_choice_find(const struct family_param *p, const json_t *v);

/* Turns a legal point of the space into a configuration. */
void config_from_point(struct config *c, const struct space *s, const struct own *own,
                       const double *point);
/* Turns a configuration into a point; -1 if it lies outside this space. */
int config_to_point(const struct config *c, const struct space *s, double *point, struct err *err);

#endif
