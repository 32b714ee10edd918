/* words.h - words that stand for "missing" where the other cells of a column are numbers or dates.
 * In a column of categories only the few words of csv_is_missing (csv_num.h) are missing: "None"
 * is a level there. Called by judge.c and by the CSV reader. */
#ifndef ML_CELLS_WORDS_H
#define ML_CELLS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Spaces around the word and the case of its letters do not matter. */
bool words_are_missing(const char *s, size_t n);
/* Whether the text is empty or one of a list up to a NULL; spaces around it do not matter. */
bool words_are_listed(const char *const *list, const char *s, size_t n);
/* Whether the word has no letter, such as "-" or "...": no level of a category looks like that. */
bool words_are_signs(const char *s, size_t n);
/* Takes spaces, tabs, line ends and no-break spaces from both ends. */
void words_trim(const char **s, size_t *n);
/* The bytes of one space of any kind at s (space, tab, no-break, narrow, thin), 0 = there is
 * none. */
size_t words_space(const char *s, size_t n);

#endif
