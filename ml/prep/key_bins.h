/* key_bins.h - the bin of a number among at most 32, found without a branch: of thousands of rows
 * in no order, a branch would be guessed wrong every other time. Called by pair_screen.c and
 * rotate_screen.c. */
#ifndef ML_PREP_KEY_BINS_H
#define ML_PREP_KEY_BINS_H

#include <stdint.h>

enum { KEY_BINS = 32 };

/* How many of the cuts are below the key. [KEY_BINS - 1] cuts, ascending; those that are not needed
 * are UINT32_MAX. */
static inline uint8_t key_bin(const uint32_t *cut, uint32_t key)
{
    unsigned at = 0;

    for (unsigned step = KEY_BINS / 2; step > 0; step /= 2)
        at += (unsigned)(cut[at + step - 1] < key) * step;
    return (uint8_t)at;
}

#endif
