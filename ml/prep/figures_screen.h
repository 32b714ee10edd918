/* figures_screen.h - which columns of texts hold numbers (ml/text/figures.h) that are worth inputs:
 * "120/80", "10x20x30", "48.1, 11.5", and amounts in several currencies.
 *
 * Nine of ten rows must have as many numbers. Then the training rows are sorted by each number, and
 * an analysis of variance tells whether the means of the target differ between neighbouring blocks
 * of values by more than chance (Fisher 1925; the values, not the rows, are the units, because each
 * level of a category has an effect of its own that says nothing of an order). Numbers with decimals
 * are quantities and need no such evidence. Called by step_figures.c. */
#ifndef ML_PREP_FIGURES_SCREEN_H
#define ML_PREP_FIGURES_SCREEN_H

#include "ml/prep/prep.h"
#include "ml/text/figures.h"

/* SUM and PRODUCT are of all numbers; DIFFERENCE is the second less the first, QUOTIENT the first by
 * the second, of two. */
enum figures_op { FIGURES_SUM, FIGURES_PRODUCT, FIGURES_DIFFERENCE, FIGURES_QUOTIENT, FIGURES_OPS };

enum { FIGURES_MOST_WORDS = 8 };

struct figures_form {
    uint8_t n;  /* numbers of a text, 1 to FIGURES_MOST */
    uint8_t op; /* enum figures_op, the one that is an input; FIGURES_OPS = none */
    /* the words around the numbers that are inputs of 0 and 1: all frequent ones but the first */
    uint8_t n_words;
    /* the numbers and the words are all that nine of ten texts consist of; only while it is fitted */
    bool is_whole;
    char words[FIGURES_MOST_WORDS][FIGURES_WORDS];
};

/* Whether the column of levels has numbers that are worth inputs, and which. */
bool figures_screen(const struct prep_spec *spec, int col, struct figures_form *out);
/* NaN where the numbers have none. */
double figures_combine(enum figures_op op, const double *value, int n);
/* Whether an operation is of so many numbers. */
bool figures_op_suits(enum figures_op op, int n);

#endif
