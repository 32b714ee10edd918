/* shape.h - length and shape of a text, and the counts of a list. Called by
 * ml/prep/step_text.c, step_column.c and letters_screen.c. */
#ifndef ML_TEXT_SHAPE_H
#define ML_TEXT_SHAPE_H

#include <stddef.h>

/* The order of the numbers is in model files: it must not change. */
enum shape_part {
    SHAPE_CHARS,  /* signs */
    SHAPE_WORDS,  /* runs of letters and digits */
    SHAPE_LENGTH, /* mean signs of a word; 0 without words */
    SHAPE_DIGITS, /* shares of all signs */
    SHAPE_UPPER,
    SHAPE_MARKS, /* neither a letter, a digit nor a space */
    /* counts of the same two */
    SHAPE_DIGIT_COUNT,
    SHAPE_MARK_COUNT,
    SHAPE_PARTS
};

/* "characters", "words" ... */
const char *shape_name(enum shape_part part);
/* The first SHAPE_MOST_BYTES of the text are looked at; the characters of what follows are
 * estimated from its bytes. */
enum { SHAPE_MOST_BYTES = 1 << 20 };
void shape_of(const char *text, size_t n, float out[SHAPE_PARTS]);

#endif
