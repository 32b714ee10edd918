/* simd.c - whether the CPU has the bit instructions of AVX-512 (simd.h). */
#include "ml/cpu/simd.h"

#ifdef SIMD_BITS
/* Several threads may ask at once; all of them write the same value. */
int simd_bits = -1;

bool simd_bits_find(void)
{
    bool has = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
               __builtin_cpu_supports("avx512vpopcntdq");

    __atomic_store_n(&simd_bits, has, __ATOMIC_RELAXED);
    return has;
}
#endif
