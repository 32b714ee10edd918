/* simd.h - one source, several instruction sets, equal bits.
 *
 * A kernel is written once, as an always-inline body of plain C loops that the compiler vectorises.
 * SIMD_KERNEL compiles it again for AVX-512 and AVX2 through target attributes, and picks one at
 * run time. No body uses fused multiply-add or changes the order of a sum, so that all variants
 * give the same bits; tests force each level and compare. Sanitizer builds and other CPUs take the
 * plain one. Included by ml/cpu and samplers of search/; a file whose body relies on the vectoriser
 * is built with -O3 -fno-trapping-math (ml/rules.mk, search/rules.mk). */
#ifndef BASE_SIMD_H
#define BASE_SIMD_H

enum simd_level { SIMD_PLAIN, SIMD_AVX2, SIMD_AVX512 };

/* the level that the kernels use: simd_best() unless a test forced a lower one */
enum simd_level simd_level(void);
/* the highest level that this CPU has */
enum simd_level simd_best(void);
/* For tests: kernels use this level from now on; at most simd_best(). */
void simd_force(enum simd_level level);

/* SIMD_KERNEL(name, params, args) defines name(params) from the function name_body(params), which
 * must be a SIMD_BODY and return nothing. args: the names of the parameters in brackets. */
#define SIMD_KERNEL(name, params, args)        SIMD_VARIANTS(extern, name, params, args)
#define SIMD_KERNEL_STATIC(name, params, args) SIMD_VARIANTS(static, name, params, args)
#define SIMD_BODY                              static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#if defined(__clang__)
#define SIMD_WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define SIMD_WIDE \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define SIMD_MIDDLE __attribute__((target("avx2")))
/* The three variants of a kernel, and the function that picks one. */
#define SIMD_VARIANTS(scope, name, params, args) \
    SIMD_WIDE static void name##_wide params     \
    {                                            \
        name##_body args;                        \
    }                                            \
    SIMD_MIDDLE static void name##_middle params \
    {                                            \
        name##_body args;                        \
    }                                            \
    scope void name params                       \
    {                                            \
        switch (simd_level()) {                  \
        case SIMD_AVX512:                        \
            name##_wide args;                    \
            break;                               \
        case SIMD_AVX2:                          \
            name##_middle args;                  \
            break;                               \
        default:                                 \
            name##_body args;                    \
        }                                        \
    }
#else
#define SIMD_VARIANTS(scope, name, params, args) \
    scope void name params                       \
    {                                            \
        name##_body args;                        \
    }
#endif

#endif
