/* simd.c - which instruction set the kernels use: the best that the CPU has, found once, unless a
 * test forces a lower one. */
#include "base/simd.h"

#include "base/base.h"

/* The level in use; -1 = not found yet. Several threads may find it at once; all of them write the
 * same value. */
static int chosen = -1;

enum simd_level simd_best(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return SIMD_AVX512;
    if (__builtin_cpu_supports("avx2"))
        return SIMD_AVX2;
#endif
    return SIMD_PLAIN;
}

enum simd_level simd_level(void)
{
    int level = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

    if (level < 0) {
        level = (int)simd_best();
        __atomic_store_n(&chosen, level, __ATOMIC_RELAXED);
    }
    return (enum simd_level)level;
}

void simd_force(enum simd_level level)
{
    CHECK(level <= simd_best());
    __atomic_store_n(&chosen, (int)level, __ATOMIC_RELAXED);
}
