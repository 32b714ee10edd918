/* bag.h - texts as sparse rows: TF-IDF over the features that occur often enough, or counts of the
 * items of a list.
 *
 * Features are hashed into BAG_BUCKETS buckets, words and letter n-grams into one half each. A
 * bucket is kept when at least BAG_LEAST_ROWS training rows have it; of more than fit, those that
 * most rows have are kept. A text's value of a word seen t times is (1 + ln t) (1 + ln((1 +
 * rows) / (1 + rows that have it))); words and letter n-grams are scaled to length 1 each, and by
 * sqrt(1/2) where there are both. By the rule `presence` every word has the same value; by `spelling` a
 * misspelt word is the one that it stands for, as the training texts tell (spelling.h). A list's value
 * of an item is how often the row has it. Called by score*.c, topics.c and corpus.c. */
#ifndef ML_TEXT_BAG_H
#define ML_TEXT_BAG_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/text/spelling.h"

#include <stdint.h>

enum { BAG_BUCKETS = 1 << 21, BAG_LEAST_ROWS = 3, BAG_MOST_KEPT = 1 << 15 };

/* The value of a word by presence: texts of 16 words then have length 1, as by TF-IDF, and suit the same
 * penalties. */
static const float BAG_PRESENCE = 0.25F;

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
    struct spelling spelling;
};

/* One text of a column with how many training rows have it. */
struct bag_text {
    int32_t level;
    int64_t rows;
};

/* Room to read texts of a column one after the other; one for each thread. */
struct bag_room {
    const struct bag *bag;
    const struct texts *from;
    struct words words;
    uint16_t *count; /* [BAG_MOST_KEPT], 0 between calls */
    uint16_t *col;   /* of the row last read */
    float *value;
    int n;
    /* Where the texts were read before: the place of each word in the bag, BAG_NOWHERE = it has none;
     * the n-grams of word w that have one are at gram[gram_at[w]] .. gram[gram_at[w + 1] - 1]. */
    uint16_t *word, *gram;
    uint32_t *gram_at;
    /* of the words that stand there; NULL = the lexicon's own */
    uint32_t *hash;
};
enum { BAG_NOWHERE = UINT16_MAX };

/* most: how many buckets may be kept, up to BAG_MOST_KEPT; letter n-grams may be half of them. */
int bag_fit(const struct words_rule *rule, const struct texts *from, const struct bag_text *texts,
            int64_t n, int most, struct bag *out, struct err *err);
/* The rows that have each word of a lexicon: [n_words], mem_try_free; NULL = there is no memory. */
uint32_t *bag_word_rows(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                        struct err *err);
void bag_fini(struct bag *b);
int bag_save(const struct bag *b, struct buf *out, struct err *err);
/* The bytes may come from a stranger. */
int bag_load(struct view *in, struct bag *out, struct err *err);

/* The bag and the texts are borrowed. */
int bag_room_init(struct bag_room *r, const struct bag *b, const struct texts *from,
                  struct err *err);
void bag_room_fini(struct bag_room *r);
/* Reads one of the texts into r->col, r->value and r->n. */
void bag_read(struct bag_room *r, int level);

#endif
