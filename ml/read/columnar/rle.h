/* rle.h - Parquet's mix of runs and bit-packed groups, which holds levels and places in a
 * dictionary. A reader takes the values a stretch at a time and never leaves its bytes; behind them
 * CELLS_PAD bytes must be readable. */
#ifndef ML_READ_COLUMNAR_RLE_H
#define ML_READ_COLUMNAR_RLE_H

#include <stdbool.h>
#include <stdint.h>

struct rle {
    const uint8_t *p, *end;
    int width;
    /* of the run or the groups at hand */
    uint64_t left;
    bool is_run;
    uint32_t value;
    /* first bit of the next value of a group, counted from `bits` */
    const uint8_t *bits;
    uint64_t bit;
};

/* width: bits of a value, 0 to 32. */
void rle_init(struct rle *r, const uint8_t *p, const uint8_t *end, int width);
/* How many of the next n values are equal for sure, and their value; 0 = they are bit-packed.
 * -1 = the bytes end or make no sense. Takes nothing. */
int64_t rle_repeats(struct rle *r, int64_t n, uint32_t *value);
/* False = there are fewer than n values. */
bool rle_take(struct rle *r, int64_t n, uint32_t *out);
/* Passes over n values of the run at hand. */
void rle_pass(struct rle *r, int64_t n);

#endif
