/* print.h - what people see: aligned columns, one progress line on a terminal, colours only there (NO_COLOR respected). */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

bool print_is_terminal(FILE *out);
void print_json(const json_t *v); /* indented, to stdout */

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
void print_when(const json_t *wall_ms, char *out, size_t size); /* "2026-05-01 12:30" UTC */
const char *print_text(const json_t *o, const char *key);

int64_t print_ended_trials(
    const json_t *study); /* of a study's answer: all that reached one of the four ends */

/* Says on stderr how many cells of a column said to be numeric are other text. */
void print_not_numbers(const char *file, const char *column, int64_t n);

/* The leaderboard answer of the API as a table; limit 0 = all. Ids stand there where they are not the numbers. */
void print_leaderboard(const json_t *board, int limit, FILE *out);

/* One line that is redrawn, on stderr, only when that is a terminal; elsewhere a line when `text` differs and 5 s passed. */
struct progress {
    bool is_terminal;
    int64_t last_ms;
    int width;
};
void progress_init(struct progress *p);
void progress_draw(struct progress *p, double share, int64_t now_ms, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void progress_end(struct progress *p);

#endif
