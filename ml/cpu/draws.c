/* draws.c - the generator Philox4x32-10 of base/rng.h (Salmon et al., Parallel random numbers: as
 * easy as 1, 2, 3, 2011) on sixteen counters side by side. */
#include "ml/cpu/draws.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

enum { LANES = DRAWS / 4, ROUNDS = 10 };

/* One round of Philox. A 32 x 32 bit product is split into its high and low word. */
SIMD_BODY void round_words(uint32_t *restrict c0, uint32_t *restrict c1, uint32_t *restrict c2,
                           uint32_t *restrict c3, uint32_t k0, uint32_t k1)
{
    for (int i = 0; i < LANES; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
        c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = (uint32_t)p1;
        c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = (uint32_t)p0;
    }
}

SIMD_BODY void draws_fill_body(uint64_t seed, uint64_t stream, uint64_t block, uint32_t *out)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32), c0[LANES], c1[LANES], c2[LANES],
             c3[LANES];

    for (uint32_t i = 0; i < LANES; i++) {
        c0[i] = (uint32_t)(block + i);
        c1[i] = (uint32_t)((block + i) >> 32);
        c2[i] = (uint32_t)stream;
        c3[i] = (uint32_t)(stream >> 32);
    }
    for (int i = 0; i < ROUNDS; i++) {
        round_words(c0, c1, c2, c3, k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < LANES; i++) {
        out[4 * i] = c0[i];
        out[4 * i + 1] = c1[i];
        out[4 * i + 2] = c2[i];
        out[4 * i + 3] = c3[i];
    }
}

SIMD_KERNEL(draws_fill, (uint64_t seed, uint64_t stream, uint64_t block, uint32_t *out),
            (seed, stream, block, out))
