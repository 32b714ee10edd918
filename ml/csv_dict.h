/* csv_dict.h - private to the CSV reader: the levels of a text column, numbered as they first appear. */
#ifndef ML_CSV_DICT_H
#define ML_CSV_DICT_H

#include "base/err.h"
#include "ml/frame_file.h"

#include <stddef.h>
#include <stdint.h>

struct csv_dict {
    uint64_t *slots;           /* hash's high half << 32 | code + 1; 0 = free */
    uint32_t n_slots, n_words; /* words = levels and the spellings of missing met so far */
    char *text;                /* the words one after the other, each with its NUL */
    size_t text_bytes, text_cap;
    uint64_t *word_at;   /* [n_words + 1] */
    uint32_t *word_code; /* [n_words] level, or FRAME_CODE_MISSING */
    int64_t *count;      /* [n_levels] rows of each level */
    uint32_t cap_words, n_levels;
    uint64_t seed;
};

void csv_dict_init(struct csv_dict *d);
void csv_dict_fini(struct csv_dict *d);
/* The level of a text (8 readable bytes past the end), added when new; FRAME_CODE_MISSING for missing. -1 = no memory or
 * a limit passed. Does not count rows. */
int csv_dict_add(struct csv_dict *d, const char *s, size_t n, uint32_t *code, struct err *err);
int64_t csv_dict_bytes(const struct csv_dict *d);
/* Levels in order of first appearance, for frame_out_col. The dictionary takes no more words after it. */
void csv_dict_levels(struct csv_dict *d, struct frame_levels *out);

#endif
