/* csv_dialect.h - private to the CSV reader: finds the delimiter and the header from the start of
 * the text. */
#ifndef ML_READ_CSV_DIALECT_H
#define ML_READ_CSV_DIALECT_H

#include "base/err.h"
#include "ml/read/csv_opts.h"
#include "ml/read/csv_table.h"

/* The delimiter among , ; tab | under which the rows of the sample have equally many fields, the
 * most; ',' when none does. ends: room for n places. CSV_SCAN_STEP readable bytes past the end. */
char csv_delimiter_guess(const char *text, size_t n, uint32_t *ends);
/* Whether the fields of the sample write numbers with a decimal comma, and none with a point:
 * "1,234" beside "5.6" is a thousand. ends: n_ends field ends, in order; CSV_SCAN_STEP readable
 * bytes past the end. */
bool csv_comma_guess(const char *text, const uint32_t *ends, size_t n_ends);
/* Names of the columns from the first row (n_cols fields); *is_header: whether that row is one;
 * has_comma: numbers may have a decimal comma. A column without a name is called by its place, "c1"
 * for the first, where others have one: programs write row numbers so. Heap array of heap texts. */
char **csv_names(const struct csv_rows *first, int n_cols, enum csv_header header, bool has_comma,
                 bool *is_header, struct err *err);
/* An error unless the names of n columns are all there, different and not too long. */
int csv_names_check(char **names, int n, struct err *err);

#endif
