/* figures.h - the numbers that are written in a text, and the words around them: 120 and 80 of
 * "120/80", 10, 20 and 30 of "10x20x30 cm", 48.1 and 11.5 of "POINT (48.1 11.5)", 1234.5 and the
 * words "€" of "€1,234.50". A day of ISO 8601 is one number, its days since 1970. Called by
 * ml/prep/figures_screen.c and step_figures.c. */
#ifndef ML_TEXT_FIGURES_H
#define ML_TEXT_FIGURES_H

#include <stdbool.h>

/* MOST: a text with more numbers has none. BYTES: a longer text has none. */
enum { FIGURES_MOST = 4, FIGURES_BYTES = 160, FIGURES_WORDS = 32 };

struct figures {
    int n;
    bool is_quantity; /* at least one has decimals or is a day: no name is written so */
    double value[FIGURES_MOST];
    /* the text with "#" for each number and no spaces, its first bytes; ends with a NUL */
    char words[FIGURES_WORDS];
};

/* Commas part thousands where three digits follow each, and a point parts decimals; "3.12.7" is three
 * numbers. A sign counts where no digit or letter stands before it. */
void figures_read(const char *text, struct figures *out);

#endif
