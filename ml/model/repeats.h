/* repeats.h - rows that are there more than once, with equal inputs and target. They belong into one
 * fold: else a fold judges rows that it was trained on, and the score is too good by far. A row that
 * fills much of the table is another thing: no copy, but what most rows look like, new ones too. In
 * one fold it would be that fold, and the others would lack it. Called by data.c and
 * ml/fit/warnings_order.c. */
#ifndef ML_MODEL_REPEATS_H
#define ML_MODEL_REPEATS_H

#include "base/err.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* Hashes the first `rows` rows by the columns that are used ([columns]). False where so few
 * different rows are possible that repeats mean nothing; then hash is not complete. */
bool repeats_hash(const struct frame *f, const bool *is_used, int64_t rows, uint64_t *hash);

/* Whether a row that is there `times` among `rows` is what the rows look like: more than a twentieth
 * of them. A class of which few rows are known, which someone copied until it has half of the rows,
 * is below that from ten different rows on. */
static inline bool repeats_is_common(int64_t times, int64_t rows)
{
    return times * 20 > rows;
}

struct repeats_in {
    const struct frame *frame;
    const char *target, *weights; /* "" or NULL = no weights */
    int k_folds;
};
/* Gives rows that repeat the fold of the first of them, where at least a hundredth of the training
 * rows, and ten, would be judged in another fold. Common rows keep their folds and do not count.
 * Nothing changes where a fold would become empty,
 * for images, and for tables of more than REPEATS_CELLS values.
 * Nor where a twentieth of the rows with equal inputs are among such with various targets: then they
 * are no copies but the same thing measured again, as are purchases at the prices of one week, and new
 * rows will be, too. To join those of equal targets alone would leave each fold a training set in
 * which its rows are there with the other targets only. *alike: how many rows these are; else 0.
 * first: NULL where nothing changes, else [rows] the first of the rows that are equal to a row;
 * mem_try_free. Returns how many rows repeat in another fold no more, or -1. */
#define REPEATS_CELLS INT64_C(100000000)
int64_t repeats_join(const struct repeats_in *in, uint8_t *fold, uint32_t **first, int64_t *alike,
                     struct err *err);

#endif
