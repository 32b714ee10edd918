/* specfile.h - a search spec from a YAML or JSON file, and the tables it names by path: a `dataset` or `test.dataset` that
 * is a file (relative to the spec's folder) is uploaded and replaced by the name of the dataset that it becomes. */
#ifndef CLI_SPECFILE_H
#define CLI_SPECFILE_H

#include "base/err.h"
#include "cli/session.h"

#include <jansson.h>

/* Reads and checks the whole spec (proto/spec.h) before anything else happens. "-" = standard input. */
json_t *specfile_load(const char *path, struct err *err);
/* Uploads what is named by path, which changes the spec in place, and submits it. *study = the controller's answer.
 * load_if_exists: a spec without a name takes its table's, else the controller finds a name that is free. */
int specfile_submit(struct session *s, json_t *spec, const char *spec_path, bool load_if_exists,
                    json_t **study, struct err *err);
/* The name that a study of this spec would have: its own, else its table's. */
void specfile_study_name(const json_t *spec, const char *spec_path, char *out, size_t size);
/* Uploads nothing: a table named by path gets the name it would be registered under. */
void specfile_name_tables(json_t *spec, const char *spec_path);

#endif
