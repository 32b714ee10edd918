/* sequence.h - low-discrepancy sequences: points that fill the unit cube more evenly than random
 * ones. A sequence has no end, and any element can be computed from its index alone. The seed
 * scrambles it: each element by itself is uniform over the cube, and two seeds give independent
 * sequences. Pure and deterministic; a sequence is read-only once it is made. */
#ifndef SEARCH_SPACE_SEQUENCE_H
#define SEARCH_SPACE_SEQUENCE_H

#include <stdint.h>

/* After 2^52 elements the bits of a double are used up. */
#define SEQUENCE_END (UINT64_C(1) << 52)

struct sequence;
struct sequence_ops {
    struct sequence *(*make)(int dims, uint64_t seed); /* dims 0..SPACE_MAX_PARAMS */
    void (*destroy)(struct sequence *q);               /* NULL is legal */
    /* Element `index` < SEQUENCE_END: unit[0..dims), each in [0,1). */
    void (*at)(const struct sequence *q, uint64_t index, double *unit);
};
extern const struct sequence_ops sequence_sobol;  /* sobol.c */
extern const struct sequence_ops sequence_halton; /* halton.c */

#endif
