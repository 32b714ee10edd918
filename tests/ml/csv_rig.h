/* csv_rig.h - CSV text to frame and back to values in one call, for the tests of reading, preparing and shipping. The text
 * arrives in reads of a given size, so that every boundary can fall anywhere. */
#ifndef TESTS_ML_CSV_RIG_H
#define TESTS_ML_CSV_RIG_H

#include "tests/unit.h"

#include "ml/read/csv.h"
#include "ml/table/frame.h"

struct text_source {
    const char *text;
    size_t n, at, step; /* step: most bytes a read gives; 0 = all */
};
long text_source_read(void *ctx, void *out, size_t n, struct err *err);

/* opts may be NULL; named "t.csv". Fails the test when the text does not parse. */
struct frame *csv_frame(const char *text, const struct csv_opts *opts);
struct frame *csv_frame_n(const char *text, size_t n, size_t step, const struct csv_opts *opts,
                          char hash[SHA256_HEX]);
/* 0 or -1 with err; nothing is left at the path then. */
int csv_try(const char *text, size_t n, size_t step, const struct csv_opts *opts, struct err *err);
/* The same through the reader that tells formats apart. */
int table_try(const char *text, size_t n, struct err *err);

double cell_number(const struct frame *f, const char *col, int64_t row);
const char *cell_text(const struct frame *f, const char *col, int64_t row); /* "" = missing */

#endif
