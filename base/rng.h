/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As
 * Easy as 1, 2, 3", SC 2011). A random value is a pure function of (key, counter). So every random
 * decision is keyed by what it decides (seed, trial, fold, tree, node, column) and never by thread,
 * slot or order, and the same seed gives the same models on any number of machines.
 *
 * The numbers are frozen: changing one bit would change every study of every user. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* The core is inline and valid C++, so that kernels of a device draw the same numbers. */
#ifdef __CUDACC__
#define RNG_FN static __host__ __device__ __forceinline__
#else
#define RNG_FN static inline
#endif

RNG_FN void rng_block(uint64_t seed, uint32_t a, uint32_t b, uint64_t c, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)c, c1 = (uint32_t)(c >> 32), c2 = a, c3 = b;

    for (int i = 0; i < 10; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* A derived seed. Flipping the key keeps these values apart from those of rng_at and of streams
 * with the same seed. */
RNG_FN uint64_t rng_derive(uint64_t seed, uint64_t tag)
{
    uint32_t out[4];

    rng_block(~seed, 0x6D697864u, 0, tag, out);
    return (uint64_t)out[1] << 32 | out[0];
}

#ifdef __cplusplus
extern "C" {
#endif

void rng_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t out[4]);

/* 128 random bits for (seed; a, b, c), in any order. */
void rng_at(uint64_t seed, uint32_t a, uint32_t b, uint64_t c, uint32_t out[4]);
/* The same as rng_derive, for code that is not a kernel. Distinct tags give independent seeds. */
uint64_t rng_mix(uint64_t seed, uint64_t tag);

enum { RNG_AHEAD = 16 };
/* A stream of draws in sequence. To save and restore it, copy the struct. */
struct rng {
    uint64_t seed, stream, pos;
    uint32_t out[RNG_AHEAD];
    uint32_t left;
};
void rng_init(struct rng *r, uint64_t seed, uint64_t stream);
void rng_refill(struct rng *r); /* makes the next numbers: four at first, then RNG_AHEAD */
static inline uint32_t rng_u32(struct rng *r)
{
    if (r->left == 0)
        rng_refill(r);
    return r->out[RNG_AHEAD - r->left--];
}
static inline uint64_t rng_u64(struct rng *r)
{
    uint64_t lo = rng_u32(r);

    return (uint64_t)rng_u32(r) << 32 | lo;
}
static inline double rng_unit(struct rng *r) /* in [0, 1), 53 bits */
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}
uint32_t rng_below(struct rng *r, uint32_t n); /* uniform in 0..n-1 without bias; n >= 1 */
double rng_normal(struct rng *r);              /* standard normal; always uses one 64-bit draw */

#ifdef __cplusplus
}
#endif
#endif
