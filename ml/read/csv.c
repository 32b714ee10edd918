/* csv.c - the CSV reader's way through a stream.
 *
 * Fill a buffer; find where fields and rows end (csv_scan.c); check that all rows have the same
 * number of fields; hand the whole rows to the table, column by column (csv_table.c); keep the rest
 * and go on. The buffer is a fraction of the second-level cache, so that the columns' passes over
 * it are cheap; it grows only for a row that does not fit. An error is found as a place in the
 * buffer and reported as line and column; lines are counted as the text has them, line feeds within
 * quotes included. One thread; memory is bounded whatever the stream holds. */
#include "ml/read/csv.h"

#include "base/mem.h"
#include "ml/read/csv_dialect.h"
#include "ml/read/csv_format.h"
#include "ml/read/csv_scan.h"
#include "ml/read/csv_table.h"

#include <stdio.h>
#include <string.h>

enum { READ_BYTES = 192 << 10, ROW_MAX_BYTES = 256 << 20, PAD_BYTES = 64 };

#define NOT_UTF8 \
    "invalid UTF-8; if this is Latin-1 or Windows-1252, convert it: iconv -f WINDOWS-1252 -t UTF-8"

struct reader {
    csv_source *source;
    void *ctx;
    const struct csv_opts *opts;
    const char *path;
    char *buf; /* [cap + 2 * PAD_BYTES], text from PAD_BYTES on */
    char *text;
    /* room for text, and bytes of text */
    size_t cap, n;
    bool at_end, has_table;
    char delimiter;
    /* number of the first line of the text */
    int64_t line;
    struct csv_scan scan;
    struct csv_table table;
};

/* ---- errors with a place ---- */

/* An error such as "train.csv: line 7, column "age": ..." for the byte at `at`; uses the field ends
 * found so far. */
static int fail_at(struct reader *r, size_t at, bool name_column, enum err_code code,
                   const char *what, struct err *err)
{
    const char *name = r->opts->name ? r->opts->name : "csv";
    int64_t line = r->line, field = 0;
    char where[160] = "";

    for (size_t i = 0; i < at; i++)
        line += r->text[i] == '\n';
    for (size_t i = 0; i < r->scan.n_ends && r->scan.ends[i] < at; i++)
        field = r->text[r->scan.ends[i]] == '\n' ? 0 : field + 1;
    if (name_column && r->has_table && field < r->table.n_cols)
        (void)snprintf(where, sizeof(where), ", column \"%.100s\"", r->table.cols[field].name);
    else if (name_column)
        (void)snprintf(where, sizeof(where), ", column %lld", (long long)field + 1);
    return err_set(err, code, "%s: line %lld%s: %s", name, (long long)line, where, what);
}

static int fail(struct reader *r, struct err *err)
{
    return err_wrap(err, "%s", r->opts->name ? r->opts->name : "csv");
}

static int fail_scan(struct reader *r, struct err *err)
{
    static const char *const what[] = {
        [CSV_SCAN_NUL] = "a NUL byte: this is not a text file",
        [CSV_SCAN_CR] = "a carriage return without a line feed after it",
        [CSV_SCAN_QUOTE_OPEN] = "a quote inside a field that does not start with one",
        [CSV_SCAN_QUOTE_CLOSE] = "text after the closing quote of a field",
    };
    /* A fault CSV_SCAN_CR or QUOTE_CLOSE is noted at the byte after it. */
    size_t at = r->scan.fault_at - (r->scan.fault == CSV_SCAN_CR && r->scan.fault_at > 0);

    return fail_at(r, at, true, ERR_ARG, what[r->scan.fault], err);
}

/* ---- the buffer ---- */

static int buffer_grow(struct reader *r, size_t cap, struct err *err)
{
    char *buf = cap > ROW_MAX_BYTES ? NULL : mem_try_alloc(cap + 2 * PAD_BYTES);
    uint32_t *ends = buf ? mem_try_alloc((cap + PAD_BYTES) * sizeof(*ends)) : NULL;

    if (!ends) {
        mem_try_free(buf);
        return fail_at(r, 0, false, ERR_TOOBIG, "a row is over 256 MiB", err);
    }
    memset(buf, 0, PAD_BYTES);
    if (r->n)
        memcpy(buf + PAD_BYTES, r->text, r->n);
    mem_try_free(r->buf);
    mem_try_free(r->scan.ends);
    r->buf = buf;
    r->text = buf + PAD_BYTES;
    r->cap = cap;
    r->scan.ends = ends;
    r->scan.cap_ends = cap + PAD_BYTES;
    return 0;
}

/* Reads until the buffer is full or the stream ends. The last row gets its line feed if it has
 * none. */
static int buffer_fill(struct reader *r, struct err *err)
{
    while (!r->at_end && r->n < r->cap - 1) {
        long got = r->source(r->ctx, r->text + r->n, r->cap - 1 - r->n, err);
        if (got < 0)
            return fail(r, err);
        r->at_end = got == 0;
        r->n += (size_t)got;
    }
    if (r->at_end && r->n > 0 && r->text[r->n - 1] != '\n')
        r->text[r->n++] = '\n';
    memset(r->text + r->n, 0, PAD_BYTES);
    return 0;
}

static void buffer_drop(struct reader *r, size_t n)
{
    memmove(r->text, r->text + n, r->n - n);
    r->n -= n;
}

static int64_t feeds_in(const char *p, size_t n)
{
    const char *end = p + n;
    int64_t feeds = 0;

    while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL)
        p++, feeds++;
    return feeds;
}

/* Drops what was taken: the rest of the text moves to the front. */
static void buffer_take(struct reader *r, size_t n)
{
    r->line += feeds_in(r->text, n);
    buffer_drop(r, n);
}

static void scan_text(struct reader *r)
{
    csv_scan(&r->scan, (const uint8_t *)r->text, r->n, r->delimiter);
}

/* ---- rows ---- */

static size_t row_start(const struct reader *r, size_t end_index)
{
    return end_index ? r->scan.ends[end_index - 1] + 1 : 0;
}

static int rows_add(struct reader *r, size_t first_end, size_t n_ends, struct err *err)
{
    struct csv_rows rows = { .text = r->text, .start = (uint32_t)row_start(r, first_end) };
    int64_t bad_field = -1;

    rows.ends = r->scan.ends + first_end;
    rows.n = (int64_t)(n_ends / (size_t)r->table.n_cols);
    rows.has_quotes = r->scan.has_quotes;
    rows.has_escapes = r->scan.has_escapes;
    if (csv_table_add(&r->table, &rows, &bad_field, err) == 0)
        return 0;
    if (bad_field < 0 || !err)
        return fail(r, err);
    char what[sizeof(err->text)];
    enum err_code code = err->code;
    (void)snprintf(what, sizeof(what), "%.200s", err->text);
    return fail_at(r, row_start(r, first_end + (size_t)bad_field), true, code, what, err);
}

/* The usual case: every row has n_cols fields. */
static bool rows_are_even(const struct reader *r, size_t n_ends, size_t n_rows)
{
    size_t cols = (size_t)r->table.n_cols;

    if (n_ends != n_rows * cols)
        return false;
    for (size_t i = cols - 1; i < n_ends; i += cols) {
        if (r->text[r->scan.ends[i]] != '\n')
            return false;
    }
    return true;
}

static int fail_ragged(struct reader *r, size_t at, size_t fields, struct err *err)
{
    char what[160];
    int n = r->table.n_cols;

    (void)snprintf(
        what, sizeof(what), "expected %d field%s, found %zu%s", n, n == 1 ? "" : "s", fields,
        n == 1 ? "; the first line tells the delimiter, one of comma, semicolon, tab and |" : "");
    return fail_at(r, at, false, ERR_ARG, what, err);
}

/* Row by row: empty lines between rows are passed over; a row of another length is an error. */
static int rows_uneven(struct reader *r, size_t n_ends, struct err *err)
{
    /* the first end that is not added yet */
    size_t cols = (size_t)r->table.n_cols, from = 0;

    for (size_t i = 0, fields = 1; i < n_ends; i++, fields++) {
        if (r->text[r->scan.ends[i]] != '\n')
            continue;
        size_t first = i + 1 - fields, start = row_start(r, first), len = r->scan.ends[i] - start;
        if (fields == 1 && cols > 1 && (len == 0 || (len == 1 && r->text[start] == '\r'))) {
            if (first > from && rows_add(r, from, first - from, err) < 0)
                return -1;
            from = i + 1;
        } else if (fields != cols) {
            return fail_ragged(r, start, fields, err);
        }
        fields = 0;
    }
    return from < n_ends ? rows_add(r, from, n_ends - from, err) : 0;
}

static int memory_check(struct reader *r, struct err *err)
{
    int64_t limit = r->opts->max_bytes, held = 0;

    if (limit <= 0)
        return 0;
    held = csv_table_bytes(&r->table) + (int64_t)r->cap * 5;
    if (held <= limit)
        return 0;
    return fail_at(r, 0, false, ERR_TOOBIG, "reading on would need more than the memory allowed",
                   err);
}

/* Takes the whole rows of the buffer: n_ends field ends, `bytes` of text. */
static int rows_take(struct reader *r, size_t n_ends, size_t bytes, struct err *err)
{
    if (r->scan.has_high) {
        size_t bad = csv_utf8_fault((const uint8_t *)r->text, bytes);
        if (bad < bytes)
            return fail_at(r, bad, true, ERR_ARG, NOT_UTF8, err);
    }
    if (rows_are_even(r, n_ends, r->scan.n_lines)) {
        if (rows_add(r, 0, n_ends, err) < 0)
            return -1;
    } else if (rows_uneven(r, n_ends, err) < 0) {
        return -1;
    }
    r->line += (int64_t)r->scan.n_feeds - feeds_in(r->text + bytes, r->n - bytes);
    buffer_drop(r, bytes);
    return memory_check(r, err);
}

/* There is no whole row in the buffer: checks the limits that hold for a row before more memory is
 * spent on it. */
static int row_unfinished(struct reader *r, struct err *err)
{
    size_t n = r->scan.n_ends, last = row_start(r, n);
    int most = r->has_table ? r->table.n_cols : CSV_MAX_COLUMNS;
    char what[100];

    if (r->at_end)
        return fail_at(r, last, true, ERR_ARG, "a quote is opened here and never closed", err);
    if (r->n - last > CSV_MAX_FIELD + 2) {
        (void)snprintf(what, sizeof(what), "a field is over the limit of %d bytes%s", CSV_MAX_FIELD,
                       r->scan.in_quotes ? "; is a quote left open here?" : "");
        return fail_at(r, last, true, ERR_TOOBIG, what, err);
    }
    if (n >= (size_t)most) {
        (void)snprintf(what, sizeof(what),
                       !r->has_table ? "more than %d columns"
                       : most == 1   ? "more than the expected %d field"
                                     : "more than the expected %d fields",
                       most);
        return fail_at(r, 0, false, r->has_table ? ERR_ARG : ERR_TOOBIG, what, err);
    }
    return buffer_grow(r, r->cap * 2, err);
}

/* Scans what is there. 1 = at least one whole row (*n_ends, *bytes), 0 = end of the stream, -1 =
 * error. */
static int rows_next(struct reader *r, size_t *n_ends, size_t *bytes, struct err *err)
{
    for (;;) {
        if (buffer_fill(r, err) < 0)
            return -1;
        if (r->n == 0)
            return 0;
        scan_text(r);
        if (r->scan.fault != CSV_SCAN_OK)
            return fail_scan(r, err);
        size_t n = r->scan.n_ends;
        while (n > 0 && r->text[r->scan.ends[n - 1]] != '\n')
            n--;
        if (r->at_end && (r->scan.in_quotes || n < r->scan.n_ends))
            n = 0;
        if (n > 0) {
            *n_ends = n;
            *bytes = r->scan.ends[n - 1] + 1;
            return 1;
        }
        if (row_unfinished(r, err) < 0)
            return -1;
    }
}

/* ---- the start ---- */

static void skip_mark(struct reader *r)
{
    if (r->n >= 3 && memcmp(r->text, "\xef\xbb\xbf", 3) == 0)
        buffer_take(r, 3);
}

/* Empty lines before the first row are passed over. */
static void skip_empty_lines(struct reader *r)
{
    size_t n = 0;

    for (;;) {
        size_t cr = n + 1 < r->n && r->text[n] == '\r';
        if (n + cr >= r->n || r->text[n + cr] != '\n')
            break;
        n += cr + 1;
    }
    if (n > 0)
        buffer_take(r, n);
}

/* The number of fields of the first row, once the buffer holds all of it; 0 = error. Faults behind
 * the first row are reported later, when the columns have names. */
static size_t first_row(struct reader *r, struct err *err)
{
    size_t n_ends = 0, bytes = 0;

    scan_text(r);
    for (;;) {
        size_t sound = r->scan.fault == CSV_SCAN_OK ? r->n : r->scan.fault_at;
        for (size_t i = 0; i < r->scan.n_ends && r->scan.ends[i] < sound; i++) {
            if (r->text[r->scan.ends[i]] == '\n')
                return i + 1;
        }
        if (rows_next(r, &n_ends, &bytes, err) <= 0)
            return 0;
    }
}

/* Judged by what was read together with the first row, as far as it can be scanned. */
static bool guess_comma(const struct reader *r)
{
    size_t n = 0;

    while (n < r->scan.n_ends &&
           (r->scan.fault == CSV_SCAN_OK || r->scan.ends[n] < r->scan.fault_at))
        n++;
    return r->delimiter != ',' && csv_comma_guess(r->text, r->scan.ends, n);
}

static int refuse_others(const struct reader *r, struct err *err)
{
    const char *what = csv_format_other(r->text, r->n);

    return what ? err_set(err, ERR_ARG, "%s: the file is %s", r->opts->name ? r->opts->name : "csv",
                          what)
                : 0;
}

/* Finds delimiter, names and table from the first row, which is taken out when it is a header. */
static int reader_begin(struct reader *r, struct err *err)
{
    size_t n = 0;
    bool is_header = false;

    if (buffer_fill(r, err) < 0)
        return -1;
    skip_mark(r);
    if (refuse_others(r, err) < 0)
        return -1;
    skip_empty_lines(r);
    if (r->n == 0)
        return err_set(err, ERR_ARG, "%s: the file is empty",
                       r->opts->name ? r->opts->name : "csv");
    r->delimiter = r->opts->delimiter;
    if (!r->delimiter)
        r->delimiter = csv_delimiter_guess(r->text, r->n, r->scan.ends);
    n = first_row(r, err);
    if (n == 0)
        return -1;
    if (n > CSV_MAX_COLUMNS)
        return fail_at(r, 0, false, ERR_TOOBIG, "more than 100000 columns", err);
    size_t row_bytes = r->scan.ends[n - 1] + 1,
           bad = csv_utf8_fault((const uint8_t *)r->text, row_bytes);
    if (bad < row_bytes)
        return fail_at(r, bad, true, ERR_ARG, NOT_UTF8, err);
    bool has_comma = guess_comma(r);
    struct csv_rows first = { .text = r->text,
                              .ends = r->scan.ends,
                              .n = 1,
                              .has_quotes = r->scan.has_quotes,
                              .has_escapes = r->scan.has_escapes };
    struct err why = { 0 };
    char **names = csv_names(&first, (int)n, r->opts->header, has_comma, &is_header, &why);
    if (!names)
        return fail_at(r, 0, false, why.code, why.text, err);
    r->has_table = true;
    int rc = csv_table_init(&r->table, r->path, names, (int)n, r->opts, err);
    mem_free(names);
    if (rc < 0)
        return fail(r, err);
    r->table.has_comma = has_comma;
    if (is_header)
        buffer_take(r, row_bytes);
    return 0;
}

static int reader_run(struct reader *r, char hash[SHA256_HEX], struct err *err)
{
    size_t n_ends = 0, bytes = 0;
    int rc;

    if (buffer_grow(r, READ_BYTES, err) < 0 || reader_begin(r, err) < 0)
        return -1;
    while ((rc = rows_next(r, &n_ends, &bytes, err)) > 0) {
        if (rows_take(r, n_ends, bytes, err) < 0)
            return -1;
    }
    if (rc < 0)
        return -1;
    return csv_table_end(&r->table, hash, err) < 0 ? fail(r, err) : 0;
}

int csv_to_frame(csv_source *source, void *ctx, const struct csv_opts *opts, const char *frame_path,
                 char hash[SHA256_HEX], struct err *err)
{
    struct reader r = { .source = source, .ctx = ctx, .opts = opts, .path = frame_path, .line = 1 };
    struct err own = { 0 };
    int rc = 0;

    r.table.spool = -1;
    rc = reader_run(&r, hash, err ? err : &own);
    csv_table_fini(&r.table);
    mem_try_free(r.buf);
    mem_try_free(r.scan.ends);
    return rc;
}
