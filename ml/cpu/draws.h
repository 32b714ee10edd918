/* draws.h - many numbers of one stream of base/rng.h at once, made in vectors. Called by ml/forest
 * and by ml/cpu/layer.c (dropout). */
#ifndef ML_CPU_DRAWS_H
#define ML_CPU_DRAWS_H

#include <stdint.h>

enum { DRAWS = 64 };

/* Writes DRAWS numbers of the stream (seed, stream), beginning with number 4 * block: out[i] is
 * what rng_u32 would give after 4 * block + i calls. */
void draws_fill(uint64_t seed, uint64_t stream, uint64_t block, uint32_t *out);

#endif
