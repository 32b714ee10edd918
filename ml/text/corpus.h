/* corpus.h - the texts of a column as one sparse matrix, made by a bag. Called by score.c and
 * svd.c. */
#ifndef ML_TEXT_CORPUS_H
#define ML_TEXT_CORPUS_H

#include "ml/cpu/sparse.h"
#include "ml/text/bag.h"

/* A sample is made so that it stays below both: about 36 MB for the entries, 60 MB for the vectors
 * of ridge.c. */
enum { CORPUS_MOST_TEXTS = 100000, CORPUS_MOST_ENTRIES = 6000000 };
/* so many entries are copied column by column: 24 MB */
enum { CORPUS_MOST_COLUMNS = 3000000 };

struct corpus {
    struct sparse x; /* [n texts] rows; its arrays belong to the corpus */
    /* [n texts] the level of a row; ascending */
    int32_t *level;
    int64_t entries, cap;
};

/* The levels that stand `step` apart from the first on, of those with rows[level] > 0; rows NULL =
 * of all. */
int corpus_make(const struct bag *bag, const struct texts *from, const int64_t *rows, int step,
                struct corpus *out, struct err *err);
void corpus_fini(struct corpus *c);
/* The matrix column by column, or zeros where there are too many entries or there is no memory;
 * products back then take the rows. */
void corpus_columns(const struct corpus *c, struct sparse_columns *out);
void corpus_columns_fini(struct sparse_columns *c);
int64_t corpus_bytes(const struct corpus *c);

#endif
