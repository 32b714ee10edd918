/* cuts_few.h - the best cut of at most 64 rows, on CPUs that count bits in vectors (simd_has_bits).
 *
 * What all columns of a node have in common (weights and classes of its rows, as sets of bits) is
 * prepared once per node, by cuts_few_two or cuts_few_many; cuts_few_cut then takes one column
 * after another. The results equal those of cuts_rows and cuts_rows_many bit for bit. Called by
 * these two and by ml/forest/forest_gini.c. */
#ifndef ML_CPU_CUTS_FEW_H
#define ML_CPU_CUTS_FEW_H

#include "ml/cpu/cut.h"

#include <stdbool.h>
#include <stdint.h>

/* CUTS_FEW: the rows that fit the bits of a word. CUTS_DIGITS: binary digits of a weight, which is
 * at most 255. */
enum { CUTS_FEW = 64, CUTS_DIGITS = 8 };

/* The rows of each class as 64-bit sets, one for each binary digit of their weights. With two
 * classes, entry 0 is all rows and entry 1 those of class 1. */
struct cuts_few {
    int n, n_classes, n_digits;
    bool is_two;
    uint64_t rows[CUTS_FEW][CUTS_DIGITS];
    /* weight of each class in the node; not used for two classes */
    double total[CUTS_FEW];
};

/* Whether this CPU can run the functions below. */
bool cuts_few_is_fast(void);
/* Arguments as in cuts_rows and cuts_rows_many, with at most CUTS_FEW rows. */
void cuts_few_two(struct cuts_few *f, const uint8_t *weight, const uint8_t *ones, int n);
void cuts_few_many(struct cuts_few *f, const uint8_t *weight, const int32_t *ends,
                   const int32_t *total, int n_classes);
/* n_bins: all bins are below it. Where bins are fewer than rows, they are the cuts. */
void cuts_few_cut(const struct cuts_few *f, const uint8_t *bins, int n_bins,
                  const struct cuts_node *node, int col, struct cuts_best *best);

#endif
