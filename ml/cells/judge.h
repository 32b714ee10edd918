/* judge.h - decides from all values of a column of texts what the column is: numbers, dates, texts
 * to be cut into words, lists, or categories.
 *
 * The caller hands over the different texts with their counts. A column holds numbers (or dates)
 * when nearly all of its values are, and the others are words for missing (words.h) or a small
 * share of something else, which is counted as not_numbers. The rules are in judge_numbers.c and
 * judge_shape.c; every decision is told in a note, one JSON object (docs/SPEC.md, "Columns").
 * Called by the reader of CSV; whoever reads columns of texts from another format may call it
 * too. */
#ifndef ML_CELLS_JUDGE_H
#define ML_CELLS_JUDGE_H

#include "base/err.h"
#include "ml/cells/date.h"
#include "ml/table/frame_file.h"

enum judge_want { JUDGE_ANY, JUDGE_NUMBERS, JUDGE_DATES, JUDGE_TEXT, JUDGE_LIST };

struct judge_opts {
    /* what the caller declares: then nothing else is considered */
    enum judge_want want;
    enum date_order order;
    /* other columns of the file have decimal commas */
    bool has_comma;
    /* the column has its own list of texts for missing: no other word is one */
    bool has_list;
};

struct judged {
    enum frame_type type;
    enum frame_kind kind;
    /* of FRAME_NUMERIC: the value of each text, NaN = missing; mem_try_free */
    double *values;
    int64_t not_numbers;
    char note[FRAME_MAX_NOTE + 1];
};

/* Error: no memory; or a declared column of numbers or dates without a single one. */
int judge_texts(const struct frame_levels *l, const struct judge_opts *opts, struct judged *out,
                struct err *err);

/* ---- columns of plain numbers with a few words among them ---- */

enum judge_doubt { JUDGE_IS_NUMERIC, JUDGE_IS_TEXT, JUDGE_NEEDS_ALL, JUDGE_FAILED };
/* words: the texts that are no plain numbers, with their counts. rows and distinct: of the numbers.
 * NEEDS_ALL: some words may be numbers in another form, so judge_texts must see all values. With
 * IS_NUMERIC the note and not_numbers are set. */
enum judge_doubt judge_words(const struct frame_levels *words, int64_t rows, int64_t distinct,
                             const struct judge_opts *opts, struct judged *out, struct err *err);
/* Whether a column of plain numbers holds seconds or milliseconds since 1970, by its name and its
 * range: DATE_EPOCH_S, DATE_EPOCH_MS, or DATE_BY_VALUES for neither. */
enum date_order judge_epoch(const char *name, double min, double max);
/* Whether all of a column's plain numbers may be days written as 20240301, by their range and how
 * many differ; the caller then looks at each (judge_whole_day). */
bool judge_may_be_whole_days(double min, double max, int64_t distinct);
bool judge_is_whole_day(double number);

/* ---- a table read as another one was ---- */

/* One text of a column whose note is known, as a number; false = it is none. */
bool judge_number_as(const char *note, const char *s, size_t n, double *out);
/* The texts that a note tells to be the only ones for missing, up to a NULL; each and the array are
 * mem_free'd. NULL = the note tells none. judge_note_missing adds them to a note; false = they do
 * not fit. */
char **judge_missing_of(const char *note);
bool judge_note_missing(char note[FRAME_MAX_NOTE + 1], const char *const *list);
/* The order of dates that a note tells. */
enum date_order judge_order_of(const char *note);

#endif
