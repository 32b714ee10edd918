/* csv_opts.h - what a caller may ask of the CSV reader, and the limits that hold for every file.
 * Used by all of csv*.c. */
#ifndef ML_READ_CSV_OPTS_H
#define ML_READ_CSV_OPTS_H

#include "ml/table/frame_type.h"

#include <stdbool.h>
#include <stdint.h>

enum csv_header {
    CSV_HEADER_AUTO,
    CSV_HEADER_YES,
    CSV_HEADER_NO
}; /* AUTO: first row is a header unless it holds a number */

struct csv_override {
    const char *name;
    enum frame_type type;
};
struct csv_opts {
    char delimiter;         /* 0 = auto among , ; tab | */
    enum csv_header header; /* without one columns are called c1, c2 ... */
    const struct csv_override *overrides;
    int n_overrides;         /* a name that is no column is an error that lists the nearest */
    bool overrides_optional; /* ... unless this is set: then it is ignored */
    const char *name;        /* for error texts: "train.csv" */
    int64_t max_bytes;       /* of memory; 0 = no limit */
    int chunk_rows; /* of the frame, for tests: 32 to 65536; 0 = by the width of the table */
};
enum { CSV_MAX_COLUMNS = 100000, CSV_MAX_LEVELS = 10000000, CSV_MAX_FIELD = 1 << 20 };

#endif
