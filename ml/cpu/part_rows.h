/* part_rows.h - sends the rows of a tree's node to its two children when the node is a list of row
 * numbers. Called by ml/boost/boost_grow.c. (part.h moves the bytes of whole columns instead.) */
#ifndef ML_CPU_PART_ROWS_H
#define ML_CPU_PART_ROWS_H

#include <stdint.h>

/* Sorts n ascending row numbers by their bin in `column`: first those whose bin goes left
 * (is_left[bin], 0 or 1, for all 256 bins), then the others, both still ascending. spare: room for n. Returns how
 * many go left. The same result with and without vector instructions. */
int32_t part_rows(const uint8_t *column, const uint8_t is_left[256], int32_t *rows, int32_t n,
                  int32_t *spare);

#endif
