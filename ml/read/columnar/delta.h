/* delta.h - Parquet's DELTA_BINARY_PACKED: whole numbers as differences in bit-packed blocks. Taken
 * a stretch at a time; behind the bytes CELLS_PAD bytes must be readable. */
#ifndef ML_READ_COLUMNAR_DELTA_H
#define ML_READ_COLUMNAR_DELTA_H

#include <stdbool.h>
#include <stdint.h>

struct delta {
    const uint8_t *p, *end;
    /* values of a miniblock, and miniblocks of a block */
    uint64_t mini_values, minis;
    /* values not taken yet */
    uint64_t left;
    /* the last value taken, or the first one */
    uint64_t last;
    bool has_first;
    uint64_t min_delta;
    /* of the block at hand: the widths of its miniblocks, and the number of the next one */
    const uint8_t *widths;
    uint64_t mini;
    /* of the miniblock at hand */
    const uint8_t *bits;
    uint64_t bit, mini_left;
    int width;
};

/* False = the head makes no sense. */
bool delta_init(struct delta *d, const uint8_t *p, const uint8_t *end);
/* False = there are fewer than n values, or the bytes make no sense. Differences wrap. */
bool delta_take(struct delta *d, int64_t n, int64_t *out);
/* Passes over all values that are left, so that d->p is behind them; *sum is their sum. False = as
 * above, or a value is negative, or there are more than `most`. */
bool delta_pass(struct delta *d, int64_t most, uint64_t *sum);

#endif
