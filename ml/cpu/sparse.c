/* sparse.c - see sparse.h. The 16 columns of an entry are one vector of AVX-512, two of AVX2. */
#include "ml/cpu/sparse.h"

#include "ml/cpu/simd.h"

#include <string.h>

/* gcc makes scalars of a loop over the columns here. Sums are in halves, because it keeps no wider
 * vector in registers from one entry to the next. */
typedef float whole __attribute__((vector_size(SPARSE_WIDE * 4), aligned(4), may_alias));
typedef float half __attribute__((vector_size(SPARSE_HALF * 4), aligned(4), may_alias));

SIMD_BODY void times_of(const struct sparse *a, const int wide, const float *b, int64_t b_stride,
                        float *out, int64_t out_stride)
{
    for (int64_t i = 0; i < a->rows; i++) {
        half low = { 0 }, high = { 0 };
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            const float *from = b + a->col[e] * b_stride;
            low += a->value[e] * *(const half *)from;
            if (wide == SPARSE_WIDE)
                high += a->value[e] * *(const half *)(from + SPARSE_HALF);
        }
        *(half *)(out + i * out_stride) = low;
        if (wide == SPARSE_WIDE)
            *(half *)(out + i * out_stride + SPARSE_HALF) = high;
    }
}
SIMD_BODY void times_body(const struct sparse *a, int wide, const float *b, int64_t b_stride,
                          float *out, int64_t out_stride)
{
    if (wide == SPARSE_WIDE)
        times_of(a, SPARSE_WIDE, b, b_stride, out, out_stride);
    else
        times_of(a, SPARSE_HALF, b, b_stride, out, out_stride);
}
SIMD_KERNEL_STATIC(times,
                   (const struct sparse *a, int wide, const float *b, int64_t b_stride, float *out,
                    int64_t out_stride),
                   (a, wide, b, b_stride, out, out_stride))

SIMD_BODY void columns_of(const struct sparse_columns *a, const int wide, const float *b,
                          int64_t b_stride, float *out, int64_t out_stride)
{
    for (int64_t j = 0; j < a->cols; j++) {
        half low = { 0 }, high = { 0 };
        for (int64_t e = a->start[j]; e < a->start[j + 1]; e++) {
            const float *from = b + a->entry[e].row * b_stride;
            low += a->entry[e].value * *(const half *)from;
            if (wide == SPARSE_WIDE)
                high += a->entry[e].value * *(const half *)(from + SPARSE_HALF);
        }
        *(half *)(out + j * out_stride) = low;
        if (wide == SPARSE_WIDE)
            *(half *)(out + j * out_stride + SPARSE_HALF) = high;
    }
}
SIMD_BODY void columns_body(const struct sparse_columns *a, int wide, const float *b,
                            int64_t b_stride, float *out, int64_t out_stride)
{
    if (wide == SPARSE_WIDE)
        columns_of(a, SPARSE_WIDE, b, b_stride, out, out_stride);
    else
        columns_of(a, SPARSE_HALF, b, b_stride, out, out_stride);
}
SIMD_KERNEL_STATIC(columns,
                   (const struct sparse_columns *a, int wide, const float *b, int64_t b_stride,
                    float *out, int64_t out_stride),
                   (a, wide, b, b_stride, out, out_stride))

SIMD_BODY void transposed_body(const struct sparse *a, int wide, const float *b, int64_t b_stride,
                               float *out, int64_t out_stride)
{
    for (int64_t i = 0; i < a->rows && wide == SPARSE_WIDE; i++) {
        whole x = *(const whole *)(b + i * b_stride);
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
            *(whole *)(out + a->col[e] * out_stride) += a->value[e] * x;
    }
    for (int64_t i = 0; i < a->rows && wide == SPARSE_HALF; i++) {
        half x = *(const half *)(b + i * b_stride);
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
            *(half *)(out + a->col[e] * out_stride) += a->value[e] * x;
    }
}
SIMD_KERNEL_STATIC(transposed,
                   (const struct sparse *a, int wide, const float *b, int64_t b_stride, float *out,
                    int64_t out_stride),
                   (a, wide, b, b_stride, out, out_stride))

void sparse_columns_fill(const struct sparse *a, struct sparse_columns *out)
{
    int64_t *start = out->start;

    out->cols = a->cols;
    memset(start, 0, ((size_t)a->cols + 1) * sizeof *start);
    for (int64_t e = 0; e < a->start[a->rows]; e++)
        start[a->col[e] + 1]++;
    for (int j = 0; j < a->cols; j++)
        start[j + 1] += start[j];
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
            out->entry[start[a->col[e]]++] = (struct sparse_entry){ (uint32_t)i, a->value[e] };
    }
    /* each start has become the next one's */
    memmove(start + 1, start, (size_t)a->cols * sizeof *start);
    start[0] = 0;
}

void sparse_times(const struct sparse *a, int wide, const float *b, int64_t b_stride, float *out,
                  int64_t out_stride)
{
    times(a, wide, b, b_stride, out, out_stride);
}

void sparse_transposed_times(const struct sparse *a, int wide, const float *b, int64_t b_stride,
                             float *out, int64_t out_stride)
{
    transposed(a, wide, b, b_stride, out, out_stride);
}

void sparse_columns_times(const struct sparse_columns *a, int wide, const float *b,
                          int64_t b_stride, float *out, int64_t out_stride)
{
    columns(a, wide, b, b_stride, out, out_stride);
}
