/* score_private.h - private to score*.c: sums of the training rows by text, and blocks of fits. */
#ifndef ML_TEXT_SCORE_PRIVATE_H
#define ML_TEXT_SCORE_PRIVATE_H

#include "ml/text/score.h"

#include "ml/text/ridge.h"

/* How much is read at most for one round of fits. */
struct score_limits {
    int64_t texts, entries;
};

/* Sums of the used rows by text of a corpus and part. */
struct score_cells {
    const struct corpus *corpus;
    /* its matrix column by column, where there is memory for it (corpus_columns) */
    struct sparse_columns columns;
    bool owns_columns;
    int parts, n_outputs;
    float *n;   /* [texts][parts] rows */
    float *sum; /* [n_outputs][texts][parts] of the target in units of its spread */
    double rows[SCORE_MOST_PARTS], total[SCORE_MOST_OUTPUTS][SCORE_MOST_PARTS];
    double squares[SCORE_MOST_OUTPUTS];
};
/* Rows whose text is not in the corpus are left out. columns: of the corpus, NULL = they are made. */
int score_cells_make(const struct score *s, const struct score_rows *in,
                     const struct corpus *corpus, const struct sparse_columns *columns,
                     struct score_cells *out, struct err *err);
void score_cells_fini(struct score_cells *c);

/* One fit: of an output, on the rows of all parts but `without` (-1 = on all). */
struct score_one {
    int output, without;
    double doubt;
};
/* Fits that run at once, each for any penalty. */
struct score_block {
    struct score_one fit[SPARSE_WIDE];
    int n;
    int steps;                /* of each (ridge.h) */
    bool is_choice;           /* whether score_block_gains will be called */
    int wide;                 /* room for n fits: SPARSE_WIDE or SPARSE_HALF */
    double base[SPARSE_WIDE]; /* mean of the target in the rows of the fit */
    struct ridge_basis basis;
    float *trust; /* [kept][wide]; NULL = no fit doubts */
};
/* Sets wide, base, basis and trust. */
int score_block_make(const struct score_cells *c, struct score_block *b, struct err *err);
void score_block_fini(struct score_block *b);
/* The fits with a penalty, after so many steps: [kept][wide], mem_try_free; NULL = there is no memory. */
float *score_block_weights(const struct score_block *b, double lambda, int steps, struct err *err);
/* What each fit gains in the rows of the part that it has not seen is told by two sums over them, of
 * score times target and of score^2. Sets those with each of n penalties and numbers of steps. */
int score_block_gains(const struct score_cells *c, const struct score_block *b,
                      const double *lambda, const int *steps, int n, double (*along)[SPARSE_WIDE],
                      double (*squares)[SPARSE_WIDE], struct err *err);

/* score_rule.c. Sets the rule and the doubt. */
int score_rule_choose(struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
                      int64_t n_texts, struct score *s, struct err *err);

/* score_lambda.c. Sets the penalty and the gain by fits of so many steps on all but a part, for some
 * parts. */
int score_lambda_try(const struct score_cells *c, int steps, struct score *s, struct err *err);
/* Sets the penalty, the steps and the gain by the fits of all outputs that scores of the training rows are
 * made of, with all parts. A single output has them in one block, which is left in b. */
int score_lambda_last(const struct score_cells *c, struct score_block *b, struct score *s,
                      struct err *err);

/* score_fold.c. Outputs that fit into one block with the fits of all parts. */
int score_at_once(const struct score_rows *in);
/* The fits of outputs [first, first + n): of each first on all rows, then without each part. */
int score_fold_block(const struct score *s, const struct score_cells *c, int first, int n,
                     struct score_block *b, struct err *err);
/* Writes what the fits w of such a block give all levels to out, as score_fold. whole: the matrix of all
 * levels, NULL = they are read. */
int score_fold_levels(const struct score *s, const struct score_rows *in,
                      const struct corpus *whole, const struct score_block *b, const float *w,
                      float *out, struct err *err);

/* score_sample.c. The rows that use each level ([n_levels], mem_try_free) and how many levels are
 * used. */
int64_t *score_level_rows(const struct score_rows *in, int64_t *n_texts, struct err *err);
bool score_is_used(const struct score_rows *in, int64_t i);
/* The target of a used row in units of its spread. */
double score_target(const struct score *s, const struct score_rows *in, int64_t i, int output);
struct score_limits score_limits_of(int n_outputs, int parts);
/* The texts that are used, or a sample of them within the limits, as a matrix. */
int score_corpus(const struct bag *bag, const struct score_rows *in, const int64_t *rows,
                 int64_t n_texts, const struct score_limits *most, struct corpus *out,
                 struct err *err);
/* What a sample of the texts says about rules: of the rows of all words, the share of rare words and of
 * misspelt ones (spelling.h). Texts that are too many to be read once count as rare and spelt well. */
struct score_signs {
    double rare, misspelt;
};
int score_signs_of(const struct score_rows *in, const int64_t *rows, int64_t n_texts,
                   const struct score_limits *most, struct score_signs *out, struct err *err);
/* Fits the bag on a sample of the texts. */
int score_bag(const struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
              int64_t n_texts, const struct score_limits *most, struct bag *out, struct err *err);
/* The bag of a sample, and the matrix that it makes of the texts. */
int score_sample_make(const struct words_rule *rule, const struct score_rows *in,
                      const int64_t *rows, int64_t n_texts, const struct score_limits *most,
                      struct bag *bag, struct corpus *corpus, struct err *err);

#endif
