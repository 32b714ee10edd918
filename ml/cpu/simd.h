/* simd.h - base/simd.h, and for kernels of ml/cpu the bit instructions of AVX-512. */
#ifndef ML_CPU_SIMD_H
#define ML_CPU_SIMD_H

#include "base/simd.h"

#include <stdbool.h>

#ifdef SIMD_WIDE
/* For the few kernels that need intrinsics, because plain C has no word for what they do
 * (compressing bytes, counting bits): they stand in an #ifdef SIMD_BITS, ask simd_has_bits(), and
 * have a twin in plain C. */
#define SIMD_BITS          \
    __attribute__((target( \
        "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi2,popcnt")))
/* Whether the CPU has VBMI, VBMI2 and VPOPCNTDQ; -1 = not asked yet. */
extern int simd_bits;
bool simd_bits_find(void);

/* Whether SIMD_AVX512 is in use and SIMD_BITS may be. */
static inline bool simd_has_bits(void)
{
    int has = __atomic_load_n(&simd_bits, __ATOMIC_RELAXED);

    return simd_level() == SIMD_AVX512 && (has < 0 ? simd_bits_find() : has);
}
#else
static inline bool simd_has_bits(void)
{
    return false;
}
#endif

#endif
