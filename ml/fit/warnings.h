/* warnings.h - what a person should know of a learning problem before its scores are believed:
 * columns that are left out, columns that give the answer away, rows that repeat, groups and order
 * that nobody named, too few rows of a class.
 *
 * Pure functions of an open problem: equal data give equal warnings. Bounded cost: statistics look
 * at no more than WARN_CELLS values (every n-th row of the table), repeated rows and groups at the
 * first WARN_ROWS rows and WARN_ALL_CELLS values. Called by the worker with the study's baseline
 * and by tests. */
#ifndef ML_FIT_WARNINGS_H
#define ML_FIT_WARNINGS_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/model/data.h"

enum {
    WARN_MOST = 24,
    WARN_CELLS = 2000000,
    WARN_SAMPLE = 20000,
    WARN_ROWS = 200000,
    WARN_ALL_CELLS = 8000000
};

/* How the texts name keys of a spec. `assay fit` looks for these words and names its options instead
 * (cli/fit_words.c). %.80s is the column. */
#define WARN_SAY_IGNORE      "columns: {%.80s: ignore}"
#define WARN_SAY_LABEL       "columns: {%.80s: label}"
#define WARN_SAY_TYPE        "say so in columns"
#define WARN_SAY_GROUPS      "give groups: %.80s"
#define WARN_SAY_SOME_GROUPS "give groups"
#define WARN_SAY_AS_GROUPS   "as groups"
#define WARN_SAY_TIME        "give time: %.80s"
#define WARN_SAY_SOME_TIME   "give time"
#define WARN_SAY_AS_TIME     "as time"

struct warning {
    /* one word that stays: no_target, target_dates, constant, empty, never_repeats, leak, identifier,
     * repeats, few_rows, few_of_class, alike, no_test_target, other_test_rows, few_groups, large_group, grouped,
     * ordered, left_out, more */
    const char *code;
    /* "" = the whole table */
    char column[128];
    /* one sentence with the fact, then what to do */
    char text[400];
};

struct warnings {
    int n;
    struct warning of[WARN_MOST];
};

/* by: the columns that say how rows are used, as the problem was opened with. Fails without memory
 * only; *out then holds what was found before. */
int warnings_find(struct ml_data *d, const struct ml_rows_spec *by, struct warnings *out,
                  struct err *err);
/* [{"code": .., "column": .., "text": ..}] */
int warnings_json(const struct warnings *w, struct buf *out, struct err *err);

#endif
