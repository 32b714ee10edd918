/* bag_private.h - private to bag*.c: how many rows have each bucket, and places in a bag. */
#ifndef ML_TEXT_BAG_PRIVATE_H
#define ML_TEXT_BAG_PRIVATE_H

#include "ml/text/bag.h"

#include <string.h>

enum { BAG_HALF = BAG_BUCKETS / 2 };

/* The bucket of a feature: words, pairs and items in the first half, letter n-grams in the other. */
static inline uint32_t bag_bucket(uint32_t feature, bool is_letters)
{
    return (feature & (BAG_HALF - 1)) + (is_letters ? BAG_HALF : 0);
}

/* Whether what the rule takes of the texts was read once for all. */
static inline bool bag_is_read(const struct words_rule *rule, const struct texts *from)
{
    return from->read && !*rule->sep && rule->seed == 0 &&
           (!rule->letters || lexicon_grams(from->read));
}

/* Reads the features of a text. */
static inline void bag_words(const struct bag *b, const char *text, struct words *out)
{
    const struct words_speller speller = { spelling_of, &b->spelling };

    words_read(&b->rule, b->rule.spelling ? &speller : NULL, text, strlen(text), out);
}

struct bag_bucket_rows {
    uint32_t bucket, rows;
};

/* The buckets of each half that any text has, ascending, with the rows that have them. */
struct bag_counts {
    struct bag_bucket_rows *list[2];
    int64_t n[2];
};

/* The rule and the spelling of the bag are set. */
int bag_count(const struct bag *b, const struct texts *from, const struct bag_text *texts,
              int64_t n, struct bag_counts *out, struct err *err);
void bag_counts_fini(struct bag_counts *c);
/* What misspelt words of the texts stand for; nothing where they cannot be read once. */
int bag_spelling(const struct texts *from, const struct bag_text *texts, int64_t n,
                 struct spelling *out, struct err *err);

#endif
