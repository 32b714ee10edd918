/* rows_part.h - sends the rows of a tree's node to its children when the node is a list of row
 * numbers with a word for each row, and rows are lines of bytes. Called by
 * ml/forest/forest_grow.c. */
#ifndef ML_CPU_ROWS_PART_H
#define ML_CPU_ROWS_PART_H

#include <stdbool.h>
#include <stdint.h>

struct rows_part {
    /* row i: its bin is bins[rows[i] * pitch] */
    const uint8_t *bins;
    int64_t pitch;
    const int32_t *rows;
    const int64_t *words;
    int32_t n;
    /* the lines lie outside the second-level cache: fetch them ahead */
    bool is_far;
    /* [n]: left rows go to the front in their order, the others to the end in reverse order */
    int32_t *to_rows;
    int64_t *to_words;
};

/* What was found: how many rows went left, the sum of their words, and whether a bin is 255. */
struct rows_parted {
    int32_t n_left;
    int64_t left;
    bool has_missing;
};

/* Rows with (uint8_t)(bin + up) <= cut go left (part_mark in part.h). The same result with and
 * without vector instructions. */
struct rows_parted rows_part(const struct rows_part *p, uint8_t up, uint8_t cut);
/* The same for bins that lie eight bytes apart, row by row, where p->bins says, which is `at` bytes
 * after the first of eight columns (rows_pick.h); whole eights of rows may be read. */
struct rows_parted rows_part_picked(const struct rows_part *p, int at, uint8_t up, uint8_t cut);
/* The same for rows that are marked: row i goes left where bit i % 64 of marks[i / 64] is set; bits
 * past n are 0. Reads no bins. */
void rows_part_marked(const struct rows_part *p, const uint64_t *marks);

#endif
