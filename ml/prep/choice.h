/* choice.h - what a configuration chooses of the preparation (choice.def). All zeros is what the
 * data suggests. Equal choices on equal rows give equal preparations. Made by ml/model/variant.c
 * from the parameters of a family, read by the files that fit. */
#ifndef ML_PREP_CHOICE_H
#define ML_PREP_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOICE(NAME, name, words) PREP_OF_##NAME,
enum prep_choice_of {
#include "ml/prep/choice.def"
    PREP_CHOICES
};
#undef CHOICE

/* Columns of many levels, and codes. MEANS: a column of levels that has means of the target is an
 * input through them only. PLAIN: there are no means. */
enum { LEVELS_AUTO, LEVELS_MEANS, LEVELS_PLAIN };
/* MEANS: columns of fewer levels, too, have means beside what they are. */
enum { FEW_LEVELS_AUTO, FEW_LEVELS_MEANS };
/* Columns of whole numbers. AUTO: those that are names (code_screen.h) have means beside the number.
 * QUANTITY: none has. LEVELS: names, and numbers of few values, are columns of levels. */
enum { CODES_AUTO, CODES_LEVELS, CODES_QUANTITY };
/* Columns that have means. AUTO: effects of their levels, fitted together (level_effects.h), beside the
 * means. ONLY: in place of the means. OFF: none. */
enum { EFFECTS_AUTO, EFFECTS_ONLY, EFFECTS_OFF };
/* Texts and lists. AUTO: what their words say about the target, and beside it their topics and shape,
 * or the counts of their items. SCORES: the first only. TOPICS: the second only. */
enum { TEXT_AUTO, TEXT_SCORES, TEXT_TOPICS };
/* Columns of numbers in dense rows. AUTO: standardised, with heavy tails by their logarithm. ROBUST: by
 * the median and the spread of the middle, and drawn in smoothly beyond it. QUANTILE: the logit of the
 * rank. STANDARD: standardised only. */
enum { SCALE_AUTO, SCALE_ROBUST, SCALE_QUANTILE, SCALE_STANDARD };
/* Missing numbers. AUTO: what other columns tell (gaps.h), else the median in dense rows and an
 * indicator. The others: in dense rows a value without an indicator: the median, the mean, or the
 * lowest value. */
enum { MISSING_AUTO, MISSING_MEDIAN, MISSING_MEAN, MISSING_LOW };
/* Sums, differences, products and ratios of two columns, and directions of several. AUTO: those that are clearly worth it. OFF:
 * none. MORE: those that may be. */
enum { PAIRS_AUTO, PAIRS_MORE, PAIRS_OFF };

struct prep_choice {
    /* by enum prep_choice_of: the number of a word */
    uint8_t of[PREP_CHOICES];
};

/* Sets what `name` ("levels") says to `word` ("means"). False = there is no such name or word. */
bool prep_choice_set(struct prep_choice *c, const char *name, const char *word);
bool prep_choice_is_auto(const struct prep_choice *c);
/* Writes the choices that are not left to the data, "levels means, few_levels means"; "" = none. */
void prep_choice_text(const struct prep_choice *c, char *out, size_t size);

#endif
