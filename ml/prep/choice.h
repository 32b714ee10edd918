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
