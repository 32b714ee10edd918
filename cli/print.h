/* print.h - what people see: aligned columns, scores, times. Heads are bold on a terminal only, and
 * NO_COLOR is respected.
 *
 * Text that a server, a file or another user wrote is shown with its control characters escaped,
 * so that it cannot steer the terminal. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

bool print_is_terminal(FILE *out);
bool print_is_utf8(void);          /* by LC_ALL, LC_CTYPE, LANG; nothing set counts as yes */
int print_columns(FILE *out);      /* of the terminal now, else COLUMNS, else 80 */
int print_width(const char *text); /* columns that it takes on screen */
void print_json(const json_t *v);  /* indented, to stdout; control characters as \u009b */

/* Returns the text in a form that is safe to show: control characters, bytes that are not UTF-8,
 * and characters that change the direction of writing are written as \n, \x1b or \u202e. The
 * result is `text` itself when nothing had to be escaped, else one of 16 buffers that are used
 * in turn. */
const char *print_safe(const char *text);

/* A table: rows of cells, column widths computed at the end; numbers aligned right. */
struct table;
struct table *table_new(const char *const *heads, int n_cols);
void table_cell(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));    /* row by row, left to right */
void table_print(struct table *t, FILE *out); /* and frees it */

/* Text forms of JSON values of answers; "-" when absent or null. */
void print_score(const json_t *value, const json_t *se, char *out, size_t size);
void print_ms(const json_t *ms, char *out, size_t size);
void print_us(const json_t *us, char *out, size_t size);
void print_ns(const json_t *ns, char *out, size_t size);        /* "583 ns", "1.93 us", "4.5 ms" */
void print_when(const json_t *wall_ms, char *out, size_t size); /* "2026-05-01 12:30 UTC" */
void print_instant(const json_t *wall_ms, char *out, size_t size); /* with seconds, for logs */
/* The text at `key`, made safe to show; "-" when it is absent or empty. */
const char *print_text(const json_t *o, const char *key);

int64_t print_ended_trials(
    const json_t *study); /* the trials of a study (its JSON) that have ended, in whatever way */

/* Says on stderr how many cells of a column of numbers, or with the kind "date" of dates, hold other
 * text. */
void print_not_read(const char *file, const char *column, const char *kind, int64_t n);

/* Says below the table when the list goes on. */
void print_more(const json_t *answer);

/* Prints the leaderboard (an answer of the API) as a table; limit 0 = all rows. Ids are shown
 * where they differ from the numbers. */
void print_leaderboard(const json_t *board, int limit, FILE *out);

#endif
