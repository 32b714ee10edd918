/* csv_format.h - recognises files that are no CSV by how they begin, and says how to convert
 * them. */
#ifndef ML_READ_CSV_FORMAT_H
#define ML_READ_CSV_FORMAT_H

#include <stddef.h>

/* A text such as "Parquet; convert it: ...", or NULL when it may be CSV. A byte-order mark of UTF-8
 * must have been skipped. */
const char *csv_format_other(const char *text, size_t n);

#endif
