/* csv_dialect.c - what a file's first rows say about the file.
 *
 * Only whole rows of the sample are judged, with quotes respected; a delimiter under which the
 * quoting makes no sense is out. Where commas do not separate fields, a comma may be the decimal
 * sign, as spreadsheets in many countries write it. The first row is a header unless there is a
 * number in it. Column names must be present, short and different. Called by csv.c once per
 * file. */
#include "ml/read/csv_dialect.h"

#include "base/mem.h"
#include "ml/cells/csv_num.h"
#include "ml/read/csv_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 4096 };

/* The number of fields of the first row; 0 when more than one in ten of the other whole rows
 * differ, or the row makes no sense. */
static int64_t fields_under(const char *text, size_t n, char delimiter, uint32_t *ends)
{
    struct csv_scan s = { .ends = ends, .cap_ends = n };
    int64_t first = 0, fields = 0, rows = 0, odd = 0;

    csv_scan(&s, (const uint8_t *)text, n, delimiter);
    if (s.fault == CSV_SCAN_QUOTE_OPEN || s.fault == CSV_SCAN_QUOTE_CLOSE)
        return 0;
    for (size_t i = 0; i < s.n_ends; i++) {
        fields++;
        if (text[ends[i]] != '\n')
            continue;
        if (rows == 0)
            first = fields;
        odd += fields != first;
        rows++;
        fields = 0;
    }
    return odd * 10 > rows ? 0 : first;
}

char csv_delimiter_guess(const char *text, size_t n, uint32_t *ends)
{
    static const char candidates[] = { ',', ';', '\t', '|' };
    int64_t most = 1;
    char best = ',';

    for (size_t i = 0; i < sizeof(candidates); i++) {
        int64_t fields = fields_under(text, n, candidates[i], ends);
        if (fields > most) {
            most = fields;
            best = candidates[i];
        }
    }
    return best;
}

static bool is_number(const char *s, size_t n, bool has_comma)
{
    struct csv_value v;

    csv_number(s, n, &v);
    if (has_comma && v.kind == CSV_TEXT)
        csv_number_comma(s, n, &v);
    return v.kind == CSV_INT || v.kind == CSV_DOUBLE;
}

bool csv_comma_guess(const char *text, const uint32_t *ends, size_t n_ends)
{
    bool found = false;
    size_t from = 0;

    for (size_t i = 0; i < n_ends; from = ends[i++] + 1) {
        const char *s = text + from;
        size_t n = ends[i] - from;
        n -= n > 0 && s[n - 1] == '\r';
        if (n >= 2 && s[0] == '"' && s[n - 1] == '"')
            s++, n -= 2;
        if (memchr(s, '.', n) && is_number(s, n, false))
            return false;
        found = found || (memchr(s, ',', n) && is_number(s, n, true));
    }
    return found;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int csv_names_check(char **names, int n, struct err *err)
{
    char **sorted = mem_dup(names, (size_t)n * sizeof(*names));
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++) {
        if (!*names[i])
            rc = err_set(err, ERR_ARG, "column %d has no name", i + 1);
        else if (strlen(names[i]) > NAME_MAX_BYTES)
            rc = err_set(err, ERR_ARG, "the name of column %d is over %d bytes", i + 1,
                         NAME_MAX_BYTES);
    }
    qsort(sorted, (size_t)n, sizeof(*sorted), by_name);
    for (int i = 1; i < n && rc == 0; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            rc = err_set(err, ERR_ARG, "two columns are called \"%.100s\"", sorted[i]);
    }
    mem_free(sorted);
    return rc;
}

/* Calls each column without a name by its place, "c1" for the first; "c1_2" where the table has a
 * "c1", so that what is made here is never what is made for another column. */
static void names_make(char **names, int n)
{
    char **sorted = mem_dup(names, (size_t)n * sizeof(*names)), made[40];

    qsort(sorted, (size_t)n, sizeof(*sorted), by_name);
    for (int i = 0; i < n; i++) {
        if (*names[i])
            continue;
        const char *key = made;
        (void)!snprintf(made, sizeof(made), "c%d", i + 1);
        for (int again = 2; bsearch(&key, sorted, (size_t)n, sizeof(*sorted), by_name); again++)
            (void)!snprintf(made, sizeof(made), "c%d_%d", i + 1, again);
        names[i] = mem_strdup(made); /* the old text is freed below: sorted still needs it */
    }
    for (int i = 0; i < n && !*sorted[i]; i++)
        mem_free(sorted[i]);
    mem_free(sorted);
}

char **csv_names(const struct csv_rows *first, int n_cols, enum csv_header header, bool has_comma,
                 bool *is_header, struct err *err)
{
    /* only for its scratch */
    struct csv_table fields = { .n_cols = n_cols };
    char **names = mem_array((size_t)n_cols + 1, sizeof(*names));
    const char *s;
    size_t n;
    bool is_named = false;

    *is_header = header != CSV_HEADER_NO;
    for (int i = 0; i < n_cols && header == CSV_HEADER_AUTO && *is_header; i++) {
        csv_field(&fields, first, i, i == n_cols - 1, &s, &n);
        *is_header = !is_number(s, n, has_comma);
    }
    for (int i = 0; i < n_cols; i++) {
        csv_field(&fields, first, i, i == n_cols - 1, &s, &n);
        n = *is_header ? n : 0;
        names[i] = mem_alloc(n + 1);
        memcpy(names[i], s, n);
        names[i][n] = '\0';
        is_named = is_named || n > 0;
    }
    /* A header that names no column at all is an empty line of cells: csv_names_check refuses it. */
    if (is_named || !*is_header)
        names_make(names, n_cols);
    mem_free(fields.scratch);
    if (csv_names_check(names, n_cols, err) == 0)
        return names;
    for (int i = 0; i < n_cols; i++)
        mem_free(names[i]);
    mem_free(names);
    return NULL;
}
