/* draws.h - many numbers of one stream of base/rng.h at once. Called by ml/forest. */
#ifndef ML_CPU_DRAWS_H
#define ML_CPU_DRAWS_H

#include <stdint.h>

enum { DRAWS = 64 };

/* The stream's numbers from number 4 * block on: out[i] is what rng_u32 gives after 4 * block + i
 * others. */
void draws_fill(uint64_t seed, uint64_t stream, uint64_t block, uint32_t *out);

#endif
