/* sparse.h - products of a sparse matrix with 16 or 8 columns at a time.
 *
 * Sums run over the entries in their order, in single precision and without fused multiply-add, and
 * the columns of the dense side do not meet each other: every instruction set gives the same bits.
 * Called by ml/text/. Allocates nothing and cannot fail. */
#ifndef ML_CPU_SPARSE_H
#define ML_CPU_SPARSE_H

#include <stdint.h>

enum { SPARSE_WIDE = 16, SPARSE_HALF = 8 };

/* Row i has the entries start[i] .. start[i + 1] - 1. */
struct sparse {
    int64_t rows;
    int cols;
    const int64_t *start; /* [rows + 1] */
    const uint16_t *col;
    const float *value;
};

/* The same matrix column by column, rows ascending: column j has the entries start[j] .. start[j + 1]
 * - 1. Sums over the rows of a column then stay in registers, which takes a third of the time. */
struct sparse_entry {
    uint32_t row;
    float value;
};
struct sparse_columns {
    int cols;
    int64_t *start; /* [cols + 1] */
    struct sparse_entry *entry;
};
/* Fills start and entry from the rows. */
void sparse_columns_fill(const struct sparse *a, struct sparse_columns *out);

/* wide below: how many columns the dense side has, SPARSE_WIDE or SPARSE_HALF. */

/* out(i, c) = sum over j of a(i, j) b(j, c). b: [cols][b_stride], out: [rows][out_stride]; both
 * strides are at least `wide` floats. */
void sparse_times(const struct sparse *a, int wide, const float *b, int64_t b_stride, float *out,
                  int64_t out_stride);
/* out(j, c) += sum over i of a(i, j) b(i, c). b: [rows][b_stride], out: [cols][out_stride]. */
void sparse_transposed_times(const struct sparse *a, int wide, const float *b, int64_t b_stride,
                             float *out, int64_t out_stride);
/* out(j, c) = sum over i of a(i, j) b(i, c): the same bits, where out was 0. */
void sparse_columns_times(const struct sparse_columns *a, int wide, const float *b,
                          int64_t b_stride, float *out, int64_t out_stride);

#endif
