/* judge_private.h - private to judge*.c: words that are counted for a note, and the three
 * judgements. */
#ifndef ML_CELLS_JUDGE_PRIVATE_H
#define ML_CELLS_JUDGE_PRIVATE_H

#include "base/buf.h"
#include "ml/cells/judge.h"

enum { JUDGE_TOP = 8 };

/* The most frequent of some words. */
struct judge_top {
    struct {
        const char *text;
        int64_t count;
    } word[JUDGE_TOP];
    int n;
    int64_t rows, distinct;
};
void judge_top_add(struct judge_top *t, const char *text, int64_t count);

/* What a column would be as numbers or dates. */
struct judge_tally {
    /* rows and texts that are values */
    int64_t rows, distinct;
    struct judge_top missing, other;
    /* rows of other texts with a digit; rows of words for missing that have letters */
    int64_t digit_rows, letter_rows;
    /* as in judge_opts */
    bool has_list;
};
void judge_tally_word(struct judge_tally *t, const char *text, int64_t count);
/* Whether the words beside the values may be taken for missing. */
bool judge_tally_wins(const struct judge_tally *t);

/* Adds ,"missing":{..} and ,"not_numbers":{..} where there are some. */
int judge_note_words(struct buf *b, const struct judge_tally *t, const char *other);
/* Puts the text of b into the note, and frees b; rc: of what was added to b. */
int judge_note_set(struct judged *out, struct buf *b, int rc, struct err *err);

static inline const char *judge_text(const struct frame_levels *l, int64_t i, size_t *n)
{
    const char *s = l->text + l->text_at[i];
    *n = __builtin_strlen(s);
    return s;
}

/* 1 = the column is that, and `out` is set; 0 = it is not; -1 = error. */
int judge_numbers(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                  struct err *err);
int judge_measures(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                   struct err *err);
int judge_dates(const struct frame_levels *l, const struct judge_opts *o, struct judged *out,
                struct err *err);
/* One text of a column whose note tells what is measured, as an amount; false = it is none. */
bool judge_measure_as(const char *note, const char *s, size_t n, double *out);
/* Never fail. */
bool judge_list(const struct frame_levels *l, bool must, struct judged *out);
bool judge_long_text(const struct frame_levels *l, struct judged *out);

#endif
