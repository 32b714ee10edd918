/* told.h - how the columns of a table were read, in words: from the notes in a dataset's schema
 * (docs/SPEC.md, "Columns"). */
#ifndef CLI_TOLD_H
#define CLI_TOLD_H

#include <jansson.h>
#include <stddef.h>

/* "numbers with $ and thousands commas; missing: "-" 12"; "" = there is nothing to tell. col: one
 * of the schema's columns. The text is safe to show. */
void told_column(const json_t *col, char *out, size_t size);
/* Says on stderr which columns of a dataset were read in a special way, a few of them by name.
 * target (NULL = not known yet): lists and running text there are classes as they are written, so
 * that nothing is said of them. otherwise: how to say otherwise, such as TOLD_OPTION. */
#define TOLD_OPTION "--columns NAME=TYPE"
#define TOLD_SPEC   "columns: {NAME: TYPE} in the spec"
void told_dataset(const json_t *dataset, const char *file, const char *target,
                  const char *otherwise);

#endif
