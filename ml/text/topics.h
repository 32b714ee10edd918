/* topics.h - the main directions of the texts of a column: truncated SVD (svd.h) of the TF-IDF of
 * its words; of short texts, of their letter n-grams, too. Texts on the same subject have similar values. No target is used. Called by
 * ml/prep/step_text.c. */
#ifndef ML_TEXT_TOPICS_H
#define ML_TEXT_TOPICS_H

#include "ml/text/bag.h"

/* words that are looked at, the most frequent ones; texts that are fitted on */
enum { TOPICS_MOST_WORDS = 8192, TOPICS_MOST_TEXTS = 30000, TOPICS_MOST = 256 };

struct topics {
    struct bag bag;
    int dims;
    float *v; /* [n_kept][dims] */
};

/* rows: [n_levels] how many training rows have a level. Topics that the texts do not have are
 * dropped. 1 = fitted; 0 = no word is frequent enough; -1 = error. */
int topics_fit(const struct texts *from, const int64_t *rows, int dims, struct topics *out,
               struct err *err);
void topics_fini(struct topics *t);
/* out: [n_levels][dims]; TOPICS_ONE stands for 1, the most there is */
enum { TOPICS_ONE = 32767 };
int topics_texts(const struct topics *t, const struct texts *from, int16_t *out, struct err *err);
int topics_save(const struct topics *t, struct buf *out, struct err *err);
/* The bytes may come from a stranger. */
int topics_load(struct view *in, struct topics *out, struct err *err);

#endif
