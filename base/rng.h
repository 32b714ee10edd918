/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy
 * as 1, 2, 3", SC 2011). A value is a pure function of (key, counter), so a decision is keyed by what it
 * decides (seed, trial, fold, tree, node, column) and never by thread, slot or order. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void rng_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t out[4]);

/* Random access: 128 bits for (seed; a, b, c). */
void rng_at(uint64_t seed, uint32_t a, uint32_t b, uint64_t c, uint32_t out[4]);
uint64_t rng_mix(uint64_t seed,
                 uint64_t tag); /* a derived seed; distinct tags give independent streams */

/* A stream: sequential draws; save and restore by copying the struct. */
struct rng {
    uint64_t seed, stream, pos;
    uint32_t out[4];
    uint32_t left;
};
void rng_init(struct rng *r, uint64_t seed, uint64_t stream);
uint32_t rng_u32(struct rng *r);
uint64_t rng_u64(struct rng *r);
double rng_unit(struct rng *r);                /* in [0, 1), 53 bits */
uint32_t rng_below(struct rng *r, uint32_t n); /* uniform in 0..n-1 without bias, n >= 1 */
double rng_normal(struct rng *r); /* standard normal, inverse-CDF so that it takes one draw */

#ifdef __cplusplus
}
#endif
#endif
