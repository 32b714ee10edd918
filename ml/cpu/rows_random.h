/* rows_random.h - one random cut in each of up to eight columns of a node, and the best of them: for
 * two classes under Gini, rows of weight 1 in lines, on CPUs with the bit instructions of AVX-512
 * (simd_has_bits). The hot loop of extra trees. Called by ml/forest/forest_random.c.
 *
 * The lines are read once: what is needed of them is kept as eight bytes a row, from which ranges,
 * sums and marks are made. Draws, cuts and scores are those of ml/math/forest_math.h, bit for
 * bit. */
#ifndef ML_CPU_ROWS_RANDOM_H
#define ML_CPU_ROWS_RANDOM_H

#include "ml/cpu/rows_pick.h"

#include <stdbool.h>
#include <stdint.h>

struct rows_random {
    /* columns of the same 64 (rows_pick_is_fast), all of numbers; n >= 1 */
    struct rows_pick pick;
    /* of each row: bit 32 is set for class 1 */
    const int64_t *words;
    /* rows of class 1, and the fewest rows of a side */
    int64_t ones, least;
    uint64_t key;
    /* [columns of the table][256], and every sixteenth of them; NULL: bins are their own places */
    const uint32_t *places, *coarse;
    /* room for n rows and seven more, and for a bit for each row */
    uint8_t (*picked)[ROWS_PICK];
    uint64_t *marks;
};

struct rows_random_cut {
    double score;
    /* among the columns of `pick` */
    int at;
    uint8_t bin;
    /* the column has missing values; they go left */
    bool has_missing, missing_left;
    /* rows to the left, and those of class 1 among them */
    uint32_t n_left, ones_left;
};

bool rows_random_is_fast(void);
/* Of equal scores the earlier column is taken, and missing values (bin 255) go right. Where a cut is
 * better than best->score, *best is filled, bit i % 64 of marks[i / 64] is set if row i goes left
 * (bits past n are 0), and true is returned. */
bool rows_random(const struct rows_random *r, struct rows_random_cut *best);

#endif
