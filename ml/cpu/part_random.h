/* part_random.h - random cuts of at most 64 rows of weight 1 whose bins lie column by column, under
 * Gini, on CPUs with AVX2. Extra trees of narrow tables use it. Draws, cuts and scores are those of ml/math/forest_math.h, bit for bit. Called by
 * ml/forest/forest_random.c. */
#ifndef ML_CPU_PART_RANDOM_H
#define ML_CPU_PART_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

enum { PART_FEW_ROWS = 64, PART_FEW_CLASSES = 64 };

/* What the columns of a node have in common. */
struct part_few {
    /* rows, at most PART_FEW_ROWS, and the fewest of a side */
    int n, least;
    uint64_t key;
    /* two classes: the rows of class 1; else those of each class */
    bool is_two;
    int n_classes;
    uint64_t rows[PART_FEW_CLASSES];
    int32_t total[PART_FEW_CLASSES];
};

struct part_few_cut {
    /* -DBL_MAX: no cut */
    double score;
    uint8_t bin;
    bool missing_left;
};

/* Whether this CPU can run the functions below. */
bool part_few_is_fast(void);
/* ones[i]: row i is of class 1. */
void part_few_two(struct part_few *f, const uint8_t *ones, int n);
/* The rows stand class by class; class k ends before row ends[k]. */
void part_few_many(struct part_few *f, const int32_t *ends, int n_classes);
/* The random cut of column number col of numbers; 64 bytes of bins are readable. places, coarse: of
 * the column (part_place in part.h); NULL: bins are their own places. */
struct part_few_cut part_few_number(const struct part_few *f, const uint8_t *bins, int col,
                                    const uint32_t *places, const uint32_t *coarse);
/* The score of a cut that sends the rows of a mask left, and maybe the missing values (bin 255). */
struct part_few_cut part_few_set(const struct part_few *f, const uint8_t *bins, uint64_t left,
                                 bool has_missing);

#endif
