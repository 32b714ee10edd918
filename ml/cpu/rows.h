/* rows.h - ranges and left sums over the rows of a tree's node, 64 columns at a time: the hot loop
 * of extra trees. Called by ml/forest only.
 *
 * A row is a line of bytes, one per column, and a vector takes the same 64 columns from every row.
 * Sums are whole numbers, so every instruction set gives the same result. */
#ifndef ML_CPU_ROWS_H
#define ML_CPU_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Columns at a time: the bytes of a vector and of a cache line. */
enum { ROWS_WIDE = 64 };

/* Row i is the 64 bytes at lines + rows[i] * pitch (all readable, whatever they hold). words[i]:
 * its weight in bits 0 to 15, and for rows_left_two its class times its weight from bit 32 on. */
struct row_list {
    const uint8_t *lines;
    int64_t pitch;
    const int32_t *rows;
    const int64_t *words;
    int64_t n;
    /* the lines lie outside the second-level cache: fetch them ahead */
    bool is_far;
};

/* For each of 64 columns: the least bin; 1 + the largest bin other than 255 (0 = none); and the
 * largest of all, which is 255 where a value is missing. n >= 1. */
struct rows_range {
    uint8_t least[ROWS_WIDE], most[ROWS_WIDE], top[ROWS_WIDE];
};
void rows_range(const struct row_list *r, struct rows_range *out);

/* For each of 64 columns: n = the weight of the rows whose bin is at most cut, and s = the weight
 * of those of class 1 among them. rows_left_one gives n only. */
void rows_left_two(const struct row_list *r, const uint8_t *cut, uint32_t *n, uint32_t *s);
void rows_left_one(const struct row_list *r, const uint8_t *cut, uint32_t *n);

#endif
