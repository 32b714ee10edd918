/* simd.c - which instruction set the kernels use: the best that the CPU has, found once, unless a
 * test forces a lower one. */
#include "ml/cpu/simd.h"

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

#ifdef SIMD_BITS
/* Found by the first caller, as `chosen` is. */
int simd_bits = -1;

bool simd_bits_find(void)
{
    bool has = simd_level() == SIMD_AVX512 && __builtin_cpu_supports("avx512vbmi") &&
               __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq");

    __atomic_store_n(&simd_bits, has, __ATOMIC_RELAXED);
    return has;
}
#endif

void simd_force(enum simd_level level)
{
    CHECK(level <= simd_best());
    __atomic_store_n(&chosen, (int)level, __ATOMIC_RELAXED);
#ifdef SIMD_BITS
    __atomic_store_n(&simd_bits, -1, __ATOMIC_RELAXED);
#endif
}
