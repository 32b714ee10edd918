/* items.h - a list in a cell as numbers: how many items it has, how often it has each frequent
 * item, and how many others. Called by ml/prep/step_items.c. */
#ifndef ML_TEXT_ITEMS_H
#define ML_TEXT_ITEMS_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/text/words.h"

#include <stdint.h>

enum { ITEMS_MOST = 64, ITEMS_NAME_BYTES = 100, ITEMS_LEAST_ROWS = 5 };

struct items {
    char sep[WORDS_SEP_BYTES];
    int n;
    char *name[ITEMS_MOST]; /* the most frequent first */
};

/* rows: [n_levels] how many training rows have a level. The items that at least ITEMS_LEAST_ROWS
 * rows have get a number of their own, at most ITEMS_MOST; an item of more than ITEMS_NAME_BYTES
 * bytes counts as another. */
int items_fit(const char *sep, const char *const *levels, int n_levels, const int64_t *rows,
              struct items *out, struct err *err);
void items_fini(struct items *s);
/* [0] all items, [1 .. n] each frequent item, [n + 1] the others; 255 stands for more, too */
int items_parts(const struct items *s);
void items_of(const struct items *s, const char *list, uint8_t *out);
int items_save(const struct items *s, struct buf *out, struct err *err);
/* The bytes may come from a stranger. */
int items_load(struct view *in, struct items *out, struct err *err);

#endif
