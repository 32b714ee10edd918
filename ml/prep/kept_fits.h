/* kept_fits.h - what steps have fitted to the rows of folds, kept so that another view of the same
 * fold, of other matrices or of another preparation that shares the state, need not fit again. Any
 * thread may call. Called by step_words.c and step_effects.c. */
#ifndef ML_PREP_KEPT_FITS_H
#define ML_PREP_KEPT_FITS_H

#include "base/sha256.h"
#include "ml/prep/prep.h"

struct kept_fits;
/* room: bytes that all of them may take */
struct kept_fits *kept_fits_new(int64_t room);
void kept_fits_free(struct kept_fits *k); /* NULL does nothing */
/* What the fit to a fold follows from, beside the step's state: the table, and of each used row its
 * part, target and weight. table: an address that is the table's own; use: NULL = all rows. */
void kept_fits_digest(const void *table, int64_t rows, const struct prep_target *target,
                      const uint8_t *use, uint8_t of[SHA256_BYTES]);
/* Whether the fit is known; then `out` has it. */
bool kept_fits_find(struct kept_fits *k, const uint8_t of[SHA256_BYTES], size_t bytes, float *out);
/* Keeps a copy where there is room. Two threads that made the same keep it twice. */
void kept_fits_add(struct kept_fits *k, const uint8_t of[SHA256_BYTES], size_t bytes,
                   const float *fit);

#endif
