/* tablefile.h - a tabular benchmark from its two files (docs/SIMULATE.md): NAME.table.json or NAME.curves.json describes it,
 * the file that it names holds the values as raw little-endian float32. Everything is checked; the first thing that is
 * wrong is one error with the file and the key. */
#ifndef CLI_TABLEFILE_H
#define CLI_TABLEFILE_H

#include "search/lab/tabular.h"

struct tabular *tablefile_load(const char *path, struct err *err); /* NULL on error */

#endif
