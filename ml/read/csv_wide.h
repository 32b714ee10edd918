/* csv_wide.h - private to the CSV reader: the usual numbers of a column, eight or four rows at a
 * time. */
#ifndef ML_READ_CSV_WIDE_H
#define ML_READ_CSV_WIDE_H

#include "ml/read/csv_table.h"

/* Fields at, at + step, at + 2 * step ... of r, n of them, of one column; is_last: the last of a
 * row. */
struct csv_run {
    const struct csv_rows *rows;
    int64_t at, step, n;
    bool is_last;
};

/* Each takes whole groups of rows from the run's start, as long as it knows all of a group, into
 * the column's chunk from `place` on, and returns how many rows it took; 0 too where the CPU has no
 * AVX2. The text needs 16 readable bytes before it.
 *   ints: groups of 8; empty, or [-]digits of at most 8 bytes, as csv_quick_int and loop_ints have
 *   them.
 *   doubles: groups of 4; [-]digits.digits of at most 16 bytes. Odd spellings are noted. */
int64_t csv_wide_ints(struct csv_col *col, const struct csv_run *run, int64_t place);
int64_t csv_wide_doubles(struct csv_col *col, const struct csv_run *run, int64_t place);

#endif
