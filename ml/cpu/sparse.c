/* sparse.c - see sparse.h. The 16 columns of an entry are one vector of AVX-512, two of AVX2. */
#include "ml/cpu/sparse.h"

#include "ml/cpu/simd.h"

#include <string.h>

/* gcc makes 16 scalars of a loop over the columns here. */
typedef float wide __attribute__((vector_size(SPARSE_WIDE * 4), aligned(4), may_alias));

SIMD_BODY void times_body(const struct sparse *a, const float *b, int64_t b_stride, float *out,
                          int64_t out_stride)
{
    for (int64_t i = 0; i < a->rows; i++) {
        float sum[SPARSE_WIDE] = { 0 };
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            const float *from = b + a->col[e] * b_stride;
            float v = a->value[e];
            for (int c = 0; c < SPARSE_WIDE; c++)
                sum[c] += v * from[c];
        }
        memcpy(out + i * out_stride, sum, sizeof sum);
    }
}
SIMD_KERNEL_STATIC(times,
                   (const struct sparse *a, const float *b, int64_t b_stride, float *out,
                    int64_t out_stride),
                   (a, b, b_stride, out, out_stride))

SIMD_BODY void transposed_body(const struct sparse *a, const float *b, int64_t b_stride, float *out,
                               int64_t out_stride)
{
    for (int64_t i = 0; i < a->rows; i++) {
        wide x = *(const wide *)(b + i * b_stride);
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
            *(wide *)(out + a->col[e] * out_stride) += a->value[e] * x;
    }
}
SIMD_KERNEL_STATIC(transposed,
                   (const struct sparse *a, const float *b, int64_t b_stride, float *out,
                    int64_t out_stride),
                   (a, b, b_stride, out, out_stride))

void sparse_times(const struct sparse *a, const float *b, int64_t b_stride, float *out,
                  int64_t out_stride)
{
    times(a, b, b_stride, out, out_stride);
}

void sparse_transposed_times(const struct sparse *a, const float *b, int64_t b_stride, float *out,
                             int64_t out_stride)
{
    transposed(a, b, b_stride, out, out_stride);
}
