/* cursor.h - the rest of a text that is read from left to right. Used by form.c and measure.c. */
#ifndef ML_CELLS_CURSOR_H
#define ML_CELLS_CURSOR_H

#include "ml/cells/words.h"

struct cursor {
    const char *s;
    size_t n;
};

static inline void cursor_skip(struct cursor *c, size_t k)
{
    c->s += k, c->n -= k;
}

static inline void cursor_skip_spaces(struct cursor *c)
{
    size_t k;

    while ((k = words_space(c->s, c->n)) > 0)
        cursor_skip(c, k);
}

static inline bool cursor_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#endif
