/* tablefile.h - a table of known outcomes, from its two files (docs/SIMULATE.md).
 *
 * NAME.table.json or NAME.curves.json is the description. The file that it names holds the
 * values as raw little-endian float32. Everything is checked, and the first mistake is one error
 * with the file and the key. */
#ifndef CLI_TABLEFILE_H
#define CLI_TABLEFILE_H

#include "search/lab/tabular.h"

struct tabular *tablefile_load(const char *path, struct err *err); /* NULL on error */

#endif
