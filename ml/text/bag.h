/* bag.h - texts as sparse rows: TF-IDF over the features that occur often enough, or counts of the
 * items of a list.
 *
 * Features are hashed into BAG_BUCKETS buckets, words and letter n-grams into one half each. A
 * bucket is kept when at least BAG_LEAST_ROWS training rows have it; of more than fit, those that
 * most rows have are kept. A text's value of a word seen t times is (1 + ln t) (1 + ln((1 +
 * rows) / (1 + rows that have it))); words and letter n-grams are scaled to length 1 each, and by
 * sqrt(1/2) where there are both. By the rule `presence` every word counts 1. A list's value of an item is how often the row has it. Called by
 * text.c. */
#ifndef ML_TEXT_BAG_H
#define ML_TEXT_BAG_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/text/words.h"

#include <stdint.h>

enum { BAG_BUCKETS = 1 << 21, BAG_LEAST_ROWS = 3, BAG_MOST_KEPT = 1 << 15 };

struct bag {
    struct words_rule rule;
    /* the first n_words of the kept buckets are words or items */
    int n_kept, n_words;
    uint32_t *bucket; /* [n_kept] ascending */
    float *idf;       /* [n_kept]; 1 in lists and by presence */
    /* a hash table of the kept buckets: bucket + 1 (0 = a free slot), and its index */
    uint32_t *slot;
    uint16_t *slot_at;
    uint32_t mask; /* slots - 1 */
};

/* One text with how many training rows have it. */
struct bag_text {
    const char *text;
    int64_t rows;
};

/* Room to read texts one after the other; one for each thread. */
struct bag_room {
    struct words words;
    uint16_t *count; /* [BAG_MOST_KEPT], 0 between calls */
    uint16_t *col;   /* of the row last read */
    float *value;
    int n;
    int cap;
};

/* most: how many buckets may be kept, up to BAG_MOST_KEPT; letter n-grams may be half of them. */
int bag_fit(const struct words_rule *rule, const struct bag_text *texts, int64_t n, int most,
            struct bag *out, struct err *err);
void bag_fini(struct bag *b);
int bag_save(const struct bag *b, struct buf *out, struct err *err);
/* The bytes may come from a stranger. */
int bag_load(struct view *in, struct bag *out, struct err *err);

int bag_room_init(struct bag_room *r, struct err *err);
void bag_room_fini(struct bag_room *r);
/* Reads one text into r->col, r->value and r->n. */
void bag_read(const struct bag *b, struct bag_room *r, const char *text);

#endif
