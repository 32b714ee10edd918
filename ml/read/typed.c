/* typed.c - see typed.h. The table's chunks are filled column by column within a group of rows: the
 * number of the chunk and its filled rows go back to the group's start for each column. */
#include "ml/read/typed.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "ml/read/csv_dialect.h"
#include "ml/table/frame.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* TEXT_BYTES: of texts copied at once. CODE_UNKNOWN: no code, as FRAME_CODE_MISSING is one. */
enum { TEXT_BYTES = 1 << 20, TEXT_ROWS = 4096, TEXT_PAD = 64 };

#define CODE_UNKNOWN (UINT32_MAX - 1)

/* A file of few bytes may declare any number of rows: what packs to so much less than a byte a cell
 * was made to fill disks. */
#define CELLS_FLOOR    (INT64_C(256) << 20)
#define CELLS_PER_BYTE 4096

int typed_init(struct typed *t, const char *path, char **names, int n, const struct csv_opts *opts,
               struct err *err)
{
    *t = (struct typed){ .opts = opts, .col = -1, .serial_col = -1 };
    t->table.spool = -1;
    if (csv_names_check(names, n, err) < 0) {
        for (int i = 0; i < n; i++)
            mem_free(names[i]);
        return -1;
    }
    t->ends = mem_array(TEXT_ROWS, sizeof(*t->ends));
    return csv_table_init(&t->table, path, names, n, opts, err);
}

void typed_fini(struct typed *t)
{
    csv_table_fini(&t->table);
    mem_free(t->text);
    mem_free(t->ends);
    mem_try_free(t->codes);
}

void typed_group(struct typed *t, int64_t rows)
{
    t->group_rows = rows;
    t->given = 0;
    t->col = -1;
}

/* Goes to the start of the group in column col. */
static void col_begin(struct typed *t, int col)
{
    CHECK(col > t->col && col < t->table.n_cols);
    CHECK(t->col < 0 || t->given == t->group_rows);
    t->col = col;
    t->given = 0;
    t->table.n_chunks = t->rows / t->table.chunk_rows;
    t->table.filled = t->rows % t->table.chunk_rows;
}

/* n rows of the column are in its chunk. */
static int rows_done(struct typed *t, int64_t n, struct err *err)
{
    struct csv_table *table = &t->table;

    t->given += n;
    table->filled += n;
    if (table->filled < table->chunk_rows)
        return 0;
    if (csv_col_flush(table, &table->cols[t->col], err) < 0)
        return -1;
    table->n_chunks++;
    table->filled = 0;
    return 0;
}

static int fail_row(const struct typed *t, int64_t i, struct err *err)
{
    return err_wrap(err, "row %" PRId64, t->rows + t->given + i + 1);
}

/* ---- texts ---- */

/* UTF-8 without NUL. Plain ASCII, which is nearly all, is seen eight bytes at a time. */
static int text_check(const struct cells_text *c, struct err *err)
{
    const uint64_t high = 0x8080808080808080ull, ones = 0x0101010101010101ull;
    uint64_t odd = 0;
    size_t i = 0;

    if (c->n > CSV_MAX_FIELD)
        return err_set(err, ERR_TOOBIG, "a text of %u bytes is over the limit of %d", c->n,
                       CSV_MAX_FIELD);
    for (; i + 8 <= c->n; i += 8) {
        uint64_t w;
        memcpy(&w, c->p + i, 8);
        odd |= (w | ((w - ones) & ~w)) & high;
    }
    for (; i < c->n; i++)
        odd |= (uint64_t)((signed char)c->p[i] <= 0);
    if (!odd || (!memchr(c->p, 0, c->n) && utf8_ok(c->p, c->n)))
        return 0;
    return err_set(err, ERR_ARG, "bytes that are no text (UTF-8)");
}

static void text_room(struct typed *t, size_t n)
{
    if (n + TEXT_PAD <= t->text_cap)
        return;
    t->text_cap = n + n / 2 + TEXT_PAD;
    t->text = mem_resize(t->text, t->text_cap);
}

/* Text i of a stretch; p NULL = missing. */
static struct cells_text text_of(const struct cells *c, int64_t i)
{
    if (!c->index)
        return c->texts[i];
    return c->index[i] == CELLS_MISSING_INDEX ? (struct cells_text){ NULL, 0 }
                                              : c->texts[c->index[i]];
}

/* Gives n texts that lie in t->text, up to t->ends, to the column as cells of CSV. */
static int texts_put(struct typed *t, int64_t n, struct err *err)
{
    struct csv_rows rows = { .text = t->text, .ends = t->ends, .n = n, .is_single = true };
    int64_t bad = -1;

    for (int64_t at = 0; at < n;) {
        int64_t part = MIN(n - at, t->table.chunk_rows - t->table.filled);
        if (csv_col_take(&t->table, t->col, &rows, at, part, &bad, err) < 0)
            return fail_row(t, MAX(bad, at) - at, err);
        if (rows_done(t, part, err) < 0)
            return -1;
        at += part;
    }
    return 0;
}

static int texts_take(struct typed *t, const struct cells *c, struct err *err)
{
    for (int64_t i = 0; i < c->n;) {
        size_t bytes = 0;
        int64_t n = 0;
        for (; i < c->n && n < TEXT_ROWS && bytes < TEXT_BYTES; i++, n++) {
            struct cells_text text = text_of(c, i);
            if (text.p && text_check(&text, err) < 0)
                return fail_row(t, n, err);
            size_t len = text.p ? text.n : 0;
            text_room(t, bytes + len + 1);
            if (len)
                memcpy(t->text + bytes, text.p, len);
            bytes += len;
            t->text[bytes] = 0;
            t->ends[n] = (uint32_t)bytes++;
        }
        memset(t->text + bytes, 0, TEXT_PAD - 1);
        if (texts_put(t, n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- texts that stretches share ---- */

static int codes_room(struct typed *t, const struct cells *c, struct err *err)
{
    if (t->serial == c->serial && t->serial_col == t->col && t->codes)
        return 0;
    if (c->n_texts > t->codes_cap || !t->codes) {
        mem_try_free(t->codes);
        t->codes_cap = 0;
        t->codes = mem_try_alloc(((size_t)c->n_texts + 16) * sizeof(*t->codes));
        if (!t->codes)
            return err_set(err, ERR_NOMEM, "no memory for a dictionary of %u texts", c->n_texts);
        t->codes_cap = c->n_texts;
    }
    for (size_t i = 0; i < c->n_texts; i++)
        t->codes[i] = CODE_UNKNOWN;
    t->serial = c->serial;
    t->serial_col = t->col;
    return 0;
}

static int code_find(struct csv_dict *dict, const struct cells_text *text, uint32_t *code,
                     struct err *err)
{
    *code = FRAME_CODE_MISSING;
    if (!text->p || text->n == 0)
        return 0;
    return text_check(text, err) < 0 || csv_dict_add(dict, text->p, text->n, code, err) < 0 ? -1
                                                                                            : 0;
}

/* Each of the shared texts is looked up once. Returns the rows taken, which are fewer than there
 * are when the chunk is full; -1 = error. */
static int64_t index_put(struct typed *t, const struct cells *c, int64_t from, struct err *err)
{
    struct csv_col *col = &t->table.cols[t->col];
    int64_t n = MIN(c->n - from, t->table.chunk_rows - t->table.filled);

    for (int64_t i = 0; i < n; i++) {
        uint32_t place = c->index[from + i], code = FRAME_CODE_MISSING;
        if (place != CELLS_MISSING_INDEX) {
            code = t->codes[place];
            if (code == CODE_UNKNOWN) {
                if (code_find(col->dict, &c->texts[place], &code, err) < 0)
                    return fail_row(t, i, err);
                t->codes[place] = code;
            }
        }
        col->codes[t->table.filled + i] = code;
        if (code == FRAME_CODE_MISSING)
            col->stats.missing++;
        else
            csv_dict_count(col->dict, code);
    }
    return n;
}

/* Until the column is known to be text, its texts might all be numbers: then they are taken one by
 * one, as they are without an index. */
static int index_take(struct typed *t, const struct cells *c, struct err *err)
{
    enum { LOOK = 64 };

    for (int64_t at = 0; at < c->n;) {
        struct csv_col *col = &t->table.cols[t->col];
        if (col->mode != COL_TEXT) {
            struct cells some = *c;
            some.index += at;
            some.n = MIN(c->n - at, LOOK);
            if (texts_take(t, &some, err) < 0)
                return -1;
            at += some.n;
            continue;
        }
        if (codes_room(t, c, err) < 0)
            return -1;
        int64_t n = index_put(t, c, at, err);
        if (n < 0 || rows_done(t, n, err) < 0)
            return -1;
        at += n;
    }
    return 0;
}

/* ---- numbers ---- */

/* How many of n numbers fit an int32 (NaN does, as missing), from the first one on. */
static int64_t ints_store(const double *v, int64_t n, int32_t *out)
{
    int64_t i = 0;

    for (; i < n; i++) {
        double x = v[i];
        bool is_nan = x != x, is_in = x > (double)INT32_MIN && x <= (double)INT32_MAX;
        int32_t k = is_in ? (int32_t)x : 0;
        if (!is_nan && (!is_in || (double)k != x))
            break;
        out[i] = is_nan ? FRAME_INT_MISSING : k;
    }
    return i;
}

static void numbers_put(struct typed *t, const double *v, int64_t n)
{
    struct csv_col *col = &t->table.cols[t->col];
    int64_t place = t->table.filled, done = 0;

    if (col->mode == COL_INT) {
        done = ints_store(v, n, col->ints + place);
        if (done == n)
            return;
        csv_col_widen(col, place + done);
    }
    memcpy(col->doubles + place + done, v + done, (size_t)(n - done) * sizeof(*v));
}

static int numbers_take(struct typed *t, const struct cells *c, struct err *err)
{
    for (int64_t at = 0; at < c->n;) {
        int64_t n = MIN(c->n - at, t->table.chunk_rows - t->table.filled);
        numbers_put(t, c->numbers + at, n);
        if (rows_done(t, n, err) < 0)
            return -1;
        at += n;
    }
    return 0;
}

/* The shortest text that gives the number back. */
static int number_text(double v, char *out, size_t size)
{
    double again = 0;
    int n = 0;

    if (v == floor(v) && fabs(v) < 1e15)
        return snprintf(out, size, "%" PRId64, (int64_t)v);
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, size, "%.*g", digits, v);
        (void)sscanf(out, "%lf", &again); /* NOLINT(cert-err34-c): only compared */
        if (again == v)
            break;
    }
    return n;
}

/* 2024-03-01, or 2024-03-01 12:30:15.25. The day's number to its date: Howard Hinnant's
 * days_from_civil, turned round. */
static int date_text(double v, char *out, size_t size)
{
    double day = floor(v / 86400), second = v - day * 86400;

    if (!(fabs(day) < 4e6))
        return number_text(v, out, size);
    int64_t z = (int64_t)day + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9, year = yoe + era * 400 + (month <= 2);
    int n = snprintf(out, size, "%04" PRId64 "-%02" PRId64 "-%02" PRId64, year, month,
                     doy - (153 * mp + 2) / 5 + 1);
    if (second == 0)
        return n;
    int s = (int)second;
    n += snprintf(out + n, size - (size_t)n, " %02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    if (second > s)
        n += snprintf(out + n, size - (size_t)n, ".%06d", (int)((second - s) * 1e6));
    return n;
}

/* Numbers of a column that is declared to hold texts, each as a text file would have it. */
static int spelled_take(struct typed *t, const struct cells *c, struct err *err)
{
    enum { MOST = 64 };

    for (int64_t at = 0; at < c->n; at += TEXT_ROWS) {
        int64_t n = MIN(c->n - at, TEXT_ROWS);
        size_t bytes = 0;
        text_room(t, (size_t)n * MOST);
        for (int64_t i = 0; i < n; i++) {
            double v = c->numbers[at + i];
            if (!isnan(v))
                bytes += (size_t)(c->kind == CELLS_DATES ? date_text(v, t->text + bytes, MOST)
                                                         : number_text(v, t->text + bytes, MOST));
            t->text[bytes] = 0;
            t->ends[i] = (uint32_t)bytes++;
        }
        memset(t->text + bytes, 0, TEXT_PAD - 1);
        if (texts_put(t, n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- groups ---- */

int typed_take(void *ctx, int col, const struct cells *cells, struct err *err)
{
    struct typed *t = ctx;

    if (col != t->col)
        col_begin(t, col);
    struct csv_col *c = &t->table.cols[col];
    if (c->mode == COL_IGNORED) {
        t->given += cells->n;
        return 0;
    }
    if (cells->kind == CELLS_TEXTS)
        return cells->index ? index_take(t, cells, err) : texts_take(t, cells, err);
    bool is_date = cells->kind == CELLS_DATES && (!c->is_declared || c->kind == FRAME_DATE);
    /* Of dates that are declared texts are expected, but not needed. */
    if (is_date && c->mode == COL_TEXT && c->dict->n_levels == 0)
        c->mode = COL_INT;
    if (c->mode == COL_TEXT)
        return spelled_take(t, cells, err);
    c->is_date = is_date;
    return numbers_take(t, cells, err);
}

int typed_check(const struct typed *t, int64_t bytes, int64_t taken, struct err *err)
{
    int64_t limit = t->opts->max_bytes, rows = t->rows + t->group_rows;
    int64_t most = CELLS_FLOOR + (taken < INT64_MAX / CELLS_PER_BYTE / 2 ? taken * CELLS_PER_BYTE
                                                                         : INT64_MAX / 2);

    if (rows > most / t->table.n_cols)
        return err_set(err, ERR_TOOBIG,
                       "%" PRId64 " rows of %d columns in %" PRId64
                       " bytes: such a file was made to fill disks",
                       rows, t->table.n_cols, taken);
    if (limit > 0 && csv_table_bytes(&t->table) + bytes + (int64_t)t->text_cap > limit)
        return err_set(err, ERR_TOOBIG, "reading on would need more than the memory allowed");
    return 0;
}

void typed_group_end(struct typed *t)
{
    CHECK(t->col < 0 || t->given == t->group_rows);
    t->rows += t->group_rows;
    t->group_rows = 0;
    t->col = -1;
    t->table.n_chunks = t->rows / t->table.chunk_rows;
    t->table.filled = t->rows % t->table.chunk_rows;
}

int typed_end(struct typed *t, char hash[SHA256_HEX], struct err *err)
{
    if (t->rows == 0)
        return err_set(err, ERR_ARG, "the table has no rows");
    return csv_table_end(&t->table, hash, err);
}
