/* specfile.h - a search spec from a YAML or JSON file, and the tables that it names by path.
 *
 * A `dataset` or `test.dataset` that is a file (relative to the spec's folder) is uploaded, and
 * its path is replaced by the hash of the dataset that it becomes. */
#ifndef CLI_SPECFILE_H
#define CLI_SPECFILE_H

#include "base/err.h"
#include "cli/study_run.h"

#include <jansson.h>

/* Reads the spec and checks all of it (proto/spec.h). "-" is standard input. */
json_t *specfile_load(const char *path, struct err *err);
/* Refuses an output that is the spec or one of its tables (outfile.h). */
int specfile_apart(const json_t *spec, const char *spec_path, const char *output, struct err *err);
/* Uploads the tables that are named by path, which changes the spec, and submits it. *study is
 * the controller's answer. With load_if_exists a spec without a name takes its table's name;
 * otherwise the controller finds a name that is free. */
int specfile_submit(struct study_run *s, json_t *spec, const char *spec_path, bool load_if_exists,
                    json_t **study, struct err *err);
/* The name that a study of this spec would have: its own, else its table's. */
void specfile_study_name(const json_t *spec, const char *spec_path, char *out, size_t size);
/* Which of the spec's tables are files: SPECFILE_TRAIN, SPECFILE_TEST or both. Returns -1 when a
 * table looks like a file and is not there. */
enum { SPECFILE_TRAIN = 1, SPECFILE_TEST = 2 };
int specfile_files(const json_t *spec, const char *spec_path, struct err *err);
/* Refuses an output that is the spec or one of its tables (outfile.h). */
int specfile_apart(const json_t *spec, const char *spec_path, const char *output, struct err *err);
/* Uploads the tables that are named by path, which changes the spec. */
int specfile_upload(struct study_run *s, json_t *spec, const char *spec_path, struct err *err);
/* Puts the name of the spec's file before an error about one of its keys. Returns -1. */
int specfile_name(const char *spec_path, struct err *err);

#endif
