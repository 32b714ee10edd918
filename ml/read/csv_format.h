/* csv_format.h - what a file is that is no CSV, told by how it begins, and the way from there to CSV. */
#ifndef ML_READ_CSV_FORMAT_H
#define ML_READ_CSV_FORMAT_H

#include <stddef.h>

/* "Parquet; convert it: ...", or NULL: it may be CSV. A byte order mark of UTF-8 has been skipped or was not there. */
const char *csv_format_other(const char *text, size_t n);

#endif
