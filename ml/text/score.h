/* score.h - what a text says about the target: ridge regression on its words (ridge.h), fitted so
 * that no row is scored by a fit that has seen the row's own target.
 *
 * The words, their weights and the penalty are chosen once, from all training rows: the penalty by
 * what fits explain of the rows of other parts, and so are the weights of words, whether misspelt words
 * count as those that they stand for, and whether pairs of
 * words and letter n-grams are taken. A text that tells nothing in this test has no score. A target of n classes has
 * one score for each class, at most SCORE_MOST_OUTPUTS of them, those with the most rows. Numbers
 * are scored in units of their spread around their mean. Called by ml/prep/step_words.c. */
#ifndef ML_TEXT_SCORE_H
#define ML_TEXT_SCORE_H

#include "ml/text/corpus.h"

#include <stdint.h>

enum { SCORE_MOST_OUTPUTS = 10, SCORE_MOST_PARTS = 7 };

/* The rows of a table. All arrays are borrowed. */
struct score_rows {
    struct texts texts;
    int64_t rows;
    const int32_t *code; /* [rows] the level; below 0 = no text */
    /* [rows] the rows to fit on have use[i] != 0; NULL = all */
    const uint8_t *use;
    const uint8_t *part; /* [rows] 0 .. parts - 1; read where the row is used */
    int parts;
    /* [rows] a number or the index of a class, in rows that are used */
    const double *y;
    /* [rows] what a row counts; NULL = 1 */
    const double *weight;
    /* 0 = numbers, or two classes (0 and 1) */
    int n_classes;
};

struct score {
    struct bag bag;
    int n_outputs;
    int which[SCORE_MOST_OUTPUTS]; /* the class of an output; -1 = the number */
    double mean[SCORE_MOST_OUTPUTS], spread[SCORE_MOST_OUTPUTS];
    double lambda;
    /* Not saved: how many steps fits take (ridge.h), where half of them gain as much. */
    int steps;
    /* Words are trusted by 1 - doubt / z^2, at least 0, where z is what a word alone says about the
     * target in standard errors: few of many words may matter. */
    double doubt;
    /* share of the target's variance that the fits on other parts explain, summed over outputs */
    double gain;
    float *w; /* [n_kept][n_outputs] from all training rows */
    float base[SCORE_MOST_OUTPUTS];
    /* Not saved: the table's texts as a matrix, where they fit into the budget of score_fit. */
    struct corpus cache;
    struct sparse_columns cache_columns; /* of the cache; zeros where it has none */
    const char *const *cached;
    /* Not saved: what score_fold would give of the rows that it was fitted on, where their texts are
     * one matrix; mem_try_free. NULL = not made. */
    float *first;
};

/* sep: "" for texts, else what stands between the items of a list. cache_bytes: how much may be
 * kept so that score_fold need not read the texts again. 1 = fitted; 0 = the texts tell nothing
 * about the target; -1 = error. */
int score_fit(const char *sep, const struct score_rows *in, int64_t cache_bytes, struct score *out,
              struct err *err);
void score_fini(struct score *s);
int score_save(const struct score *s, struct buf *out, struct err *err);
/* The bytes may come from a stranger. */
int score_load(struct view *in, struct score *out, struct err *err);

/* out: [n_levels][n_outputs] scores of any texts by the fit on all training rows. */
int score_texts(const struct score *s, const char *const *levels, int n_levels, float *out,
                struct err *err);
/* Scores of the levels by fits on the used rows only: out [n_levels][n_outputs][parts + 1]. The first
 * of the last index is by all used rows, for rows that are not used; number 1 + p by the used rows
 * of the parts other than p, for the used rows of part p. */
int score_fold(const struct score *s, const struct score_rows *in, float *out, struct err *err);

#endif
