/* rows_pick.h - up to eight columns of the rows of a tree's node, brought together where rows are
 * lines of bytes: a line is read once for all of them. Called by ml/forest/forest_gini.c. */
#ifndef ML_CPU_ROWS_PICK_H
#define ML_CPU_ROWS_PICK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ROWS_PICK = 8,
    /* the most rows that rows_pick_columns takes; bytes from one column to the next in its result */
    ROWS_PICK_FEW = 128
};

/* Row i is the bytes at lines + rows[i] * pitch; 64 bytes from each multiple of 64 on are readable
 * where the line has a column there. */
struct rows_pick {
    const uint8_t *lines;
    int64_t pitch;
    const int32_t *rows;
    int64_t n;
    /* the lines lie outside the second-level cache: fetch them ahead */
    bool is_far;
    /* n_cols, 1 to ROWS_PICK */
    const int32_t *cols;
    int n_cols;
};

/* Whether this CPU permutes bytes and the columns are of the same 64: then the functions below are
 * faster than loads one by one. */
bool rows_pick_is_fast(const int32_t *cols, int n_cols);
/* Byte j of out[i - from]: column j of row i, from <= i < to. Bytes past n_cols hold anything. */
void rows_pick_rows(const struct rows_pick *p, int64_t from, int64_t to, uint8_t (*out)[ROWS_PICK]);
/* out[j][i]: column j of row i, of n <= ROWS_PICK_FEW rows. Up to seven bytes past n are
 * overwritten. */
void rows_pick_columns(const struct rows_pick *p, uint8_t (*out)[ROWS_PICK_FEW]);
/* Adds words[i] to hist[j][bin], for all rows and columns; 256 bins a column. picked receives what
 * rows_pick_rows gives of all rows; it has room for seven more. */
void rows_pick_add(const struct rows_pick *p, const int64_t *words, uint8_t (*picked)[ROWS_PICK],
                   int64_t *hist);
/* The same for words of 16 bits. */
void rows_pick_add_bytes(const struct rows_pick *p, const uint16_t *words,
                         uint8_t (*picked)[ROWS_PICK], uint16_t *hist);

#endif
