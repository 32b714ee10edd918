/* cuts_few.h - the best cuts of at most 64 rows on CPUs that count bits in vectors (simd_has_bits). What the columns of a node
 * have in common is made ready once. The answers are those of cuts_rows and cuts_rows_many bit for bit, which use it. */
#ifndef ML_CPU_CUTS_FEW_H
#define ML_CPU_CUTS_FEW_H

#include "ml/cpu/cut.h"

#include <stdbool.h>
#include <stdint.h>

enum { CUTS_FEW = 64, CUTS_DIGITS = 8 };

/* Rows by classes (of two: all, and those of class 1) and the binary digits of their weights. */
struct cuts_few {
    int n, n_classes, n_digits;
    bool is_two;
    uint64_t rows[CUTS_FEW][CUTS_DIGITS];
    double total[CUTS_FEW];
};

/* Whether these may be called. */
bool cuts_few_is_fast(void);
/* The arguments of cuts_rows and cuts_rows_many; at most CUTS_FEW rows. */
void cuts_few_two(struct cuts_few *f, const uint8_t *weight, const uint8_t *ones, int n);
void cuts_few_many(struct cuts_few *f, const uint8_t *weight, const int32_t *ends,
                   const int32_t *total, int n_classes);
void cuts_few_cut(const struct cuts_few *f, const uint8_t *bins, const struct cuts_node *node,
                  int col, struct cuts_best *best);

#endif
