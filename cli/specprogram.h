/* specprogram.h - the files of a user's program that a spec names in `files` (proto/command.h). */
#ifndef CLI_SPECPROGRAM_H
#define CLI_SPECPROGRAM_H

#include "base/err.h"

#include <jansson.h>

/* Replaces a list of file names, relative to the spec's folder, by an object with their contents.
 * Without a list nothing changes. */
int specprogram_read(json_t *spec, const char *spec_path, struct err *err);

#endif
