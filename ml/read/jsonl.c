/* jsonl.c - see jsonl.h. Rows are gathered as texts, a hundred at a time, and handed to the
 * table column by column (typed.h). The table begins with the columns of the first rows, so that
 * its chunks suit its width. */
#include "ml/read/jsonl.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "ml/read/json_row.h"
#include "ml/read/typed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { READ_BYTES = 256 << 10, ROW_MOST = 256 << 20, BATCH_ROWS = 128, BATCH_BYTES = 1 << 20 };

#define TOO_LONG "a key or value is over the limit of 1048576 bytes"

/* A column's texts of the batch: where each lies in `text`; at 0 = missing, else place + 1. */
struct cell {
    uint32_t at, n;
};

struct key {
    char *name;
    size_t n;
    uint32_t hash;
    struct cell *cells; /* [BATCH_ROWS] */
};

struct reader {
    struct feed *feed;
    const struct csv_opts *opts;
    const char *path;
    char *buf;
    size_t n, cap;
    bool at_end, in_array, is_closed;
    /* of the first byte of buf */
    int64_t line;
    struct key *keys;
    int n_keys, cap_keys;
    /* open addressing: number of a key + 1 */
    int *slots;
    int n_slots;
    /* the batch: its rows, and its texts */
    int64_t rows;
    char *text;
    size_t text_n, text_cap;
    struct typed table;
    bool has_table;
    struct cells_text *texts; /* [BATCH_ROWS] */
};

bool jsonl_is(const uint8_t *head, long n)
{
    const char *p = (const char *)head;
    struct json_row r = { .p = p, .end = p + n };

    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        r.p += 3;
    if (!json_row_space(&r))
        return false;
    if (*r.p == '[') {
        r.p++;
        if (!json_row_space(&r))
            return false;
    }
    if (*r.p++ != '{' || !json_row_space(&r))
        return false;
    if (*r.p == '}')
        return true;
    if (*r.p++ != '"')
        return false;
    while (r.p < r.end && *r.p != '"' && *r.p != '\n')
        r.p += *r.p == '\\' ? 2 : 1;
    /* A key may be longer than what can be seen of the file. */
    if (r.p >= r.end)
        return true;
    return *r.p++ == '"' && json_row_space(&r) && *r.p == ':';
}

/* ---- errors and the buffer ---- */

static int64_t line_of(const struct reader *r, const char *at)
{
    int64_t line = r->line;

    for (const char *p = r->buf; p < at; p++)
        line += *p == '\n';
    return line;
}

static int fail_at(const struct reader *r, const char *at, const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "line %" PRId64 ": %s", line_of(r, at), what);
}

static int buffer_fill(struct reader *r, struct err *err)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : READ_BYTES;
        char *buf = cap > ROW_MOST ? NULL : mem_try_alloc(cap);
        if (!buf)
            return err_set(err, ERR_TOOBIG, "line %" PRId64 ": a row is over %d MiB", r->line,
                           ROW_MOST >> 20);
        if (r->n)
            memcpy(buf, r->buf, r->n);
        mem_try_free(r->buf);
        r->buf = buf;
        r->cap = cap;
    }
    while (!r->at_end && r->n < r->cap) {
        long got = feed_read(r->feed, r->buf + r->n, r->cap - r->n, err);
        if (got < 0)
            return -1;
        r->at_end = got == 0;
        r->n += (size_t)got;
    }
    return 0;
}

static void buffer_drop(struct reader *r, size_t n)
{
    for (const char *p = r->buf, *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))) != NULL;
         p++)
        r->line++;
    memmove(r->buf, r->buf + n, r->n - n);
    r->n -= n;
}

/* ---- keys ---- */

static uint32_t hash_of(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3ull;
    return (uint32_t)(h ^ h >> 32);
}

static void slots_grow(struct reader *r)
{
    int n = r->n_slots ? r->n_slots * 2 : 64;

    mem_free(r->slots);
    r->slots = mem_array((size_t)n, sizeof(*r->slots));
    r->n_slots = n;
    for (int k = 0; k < r->n_keys; k++) {
        int i = (int)(r->keys[k].hash & (uint32_t)(n - 1));
        while (r->slots[i])
            i = (i + 1) & (n - 1);
        r->slots[i] = k + 1;
    }
}

static bool is_key(const struct key *k, const char *s, size_t n)
{
    return k->n == n && memcmp(k->name, s, n) == 0;
}

/* A new key; n is its length. */
static int key_add(struct reader *r, const char *s, size_t n, uint32_t hash, struct err *err)
{
    if (n == 0 || memchr(s, 0, n) || !utf8_ok(s, n))
        return err_set(err, ERR_ARG, "a key that is no text");
    if (r->n_keys == CSV_MAX_COLUMNS)
        return err_set(err, ERR_TOOBIG, "more than %d keys", CSV_MAX_COLUMNS);
    char *name = mem_alloc(n + 1);
    memcpy(name, s, n);
    name[n] = 0;
    if (r->has_table && csv_table_widen(&r->table.table, mem_strdup(name), r->opts, err) < 0) {
        mem_free(name);
        return -1;
    }
    MEM_GROW(r->keys, r->n_keys, r->cap_keys);
    r->keys[r->n_keys] = (struct key){ .name = name, .n = n, .hash = hash };
    r->keys[r->n_keys++].cells = mem_array(BATCH_ROWS, sizeof(struct cell));
    return r->n_keys - 1;
}

/* The number of a key, which is added when it is new. guess: the one that is likely. -1 = error. */
static int key_find(struct reader *r, const char *s, size_t n, int guess, struct err *err)
{
    uint32_t hash;

    if (guess < r->n_keys && is_key(&r->keys[guess], s, n))
        return guess;
    if (r->n_keys * 2 >= r->n_slots)
        slots_grow(r);
    hash = hash_of(s, n);
    for (uint32_t mask = (uint32_t)r->n_slots - 1, i = hash & mask;; i = (i + 1) & mask) {
        int k = r->slots[i] - 1;
        if (k < 0) {
            k = key_add(r, s, n, hash, err);
            r->slots[i] = k + 1;
            return k;
        }
        if (r->keys[k].hash == hash && is_key(&r->keys[k], s, n))
            return k;
    }
}

/* ---- the batch ---- */

static int names_give(struct reader *r, struct err *err)
{
    struct csv_opts opts = *r->opts;
    char **names = mem_array((size_t)r->n_keys + 1, sizeof(*names));

    for (int k = 0; k < r->n_keys; k++)
        names[k] = mem_strdup(r->keys[k].name);
    /* A key that an override names may appear late: looked for at the end. */
    opts.overrides_optional = true;
    int rc = typed_init(&r->table, r->path, names, r->n_keys, &opts, err);
    r->table.opts = r->opts;
    r->has_table = true;
    mem_free(names);
    return rc;
}

static int64_t reader_bytes(const struct reader *r)
{
    return (int64_t)(r->cap + r->text_cap) +
           (int64_t)r->n_keys * (int64_t)(BATCH_ROWS * sizeof(struct cell));
}

/* Room for n more bytes of text and the padding behind them. */
static void text_reserve(struct reader *r, size_t n)
{
    size_t need = r->text_n + n + CELLS_PAD;

    if (need <= r->text_cap)
        return;
    r->text_cap = need * 3 / 2;
    r->text = mem_resize(r->text, r->text_cap);
}

static int batch_end(struct reader *r, struct err *err)
{
    if (r->rows == 0)
        return 0;
    if (r->n_keys == 0)
        return err_set(err, ERR_ARG, "the objects have no keys");
    if (!r->has_table && names_give(r, err) < 0)
        return -1;
    typed_group(&r->table, r->rows);
    text_reserve(r, 0); /* rows of missing values only have added no text */
    memset(r->text + r->text_n, 0, CELLS_PAD);
    for (int k = 0; k < r->n_keys; k++) {
        struct cells cells = { .kind = CELLS_TEXTS, .n = r->rows, .texts = r->texts };
        struct cell *from = r->keys[k].cells;
        for (int64_t i = 0; i < r->rows; i++)
            r->texts[i] = from[i].at ? (struct cells_text){ r->text + from[i].at - 1, from[i].n }
                                     : (struct cells_text){ NULL, 0 };
        if (typed_take(&r->table, k, &cells, err) < 0)
            return err_wrap(err, "column \"%.100s\"", r->keys[k].name);
        memset(from, 0, (size_t)r->rows * sizeof(*from));
    }
    typed_group_end(&r->table);
    r->rows = 0;
    r->text_n = 0;
    return typed_check(&r->table, reader_bytes(r), INT64_MAX / 2, err);
}

/* Copies a text of the row at hand, unescaped, behind the others. */
static void text_add(struct reader *r, const struct json_piece *piece, struct cell *out)
{
    text_reserve(r, piece->n);
    char *to = r->text + r->text_n;
    size_t n = piece->n;
    if (piece->has_escapes)
        n = json_unescape(piece, to);
    else if (n)
        memcpy(to, piece->p, n);
    if (out)
        *out = (struct cell){ (uint32_t)r->text_n + 1, (uint32_t)n };
    r->text_n += n;
}

/* A key of the row at hand; -1 = error. */
static int key_of(struct reader *r, const struct json_piece *key, int guess, struct err *err)
{
    size_t before = r->text_n;

    if (!key->has_escapes)
        return key_find(r, key->p, key->n, guess, err);
    text_add(r, key, NULL);
    int k = key_find(r, r->text + before, r->text_n - before, guess, err);
    r->text_n = before;
    return k;
}

/* Takes one object at row->p. JSON_MORE: the row is as if it had not begun. */
static enum json_end object_take(struct reader *r, struct json_row *row, struct err *err)
{
    struct json_piece key, value;
    size_t before = r->text_n;
    bool is_last = false;
    enum json_end rc = json_row_open(row);

    for (int k = -1, n = 0; rc == JSON_OK; n++) {
        rc = json_row_next(row, n == 0, &key, &value, &is_last);
        if (rc != JSON_OK || is_last)
            break;
        if (key.n > CSV_MAX_FIELD || value.n > CSV_MAX_FIELD) {
            row->what = TOO_LONG;
            return JSON_BAD;
        }
        k = key_of(r, &key, k + 1, err);
        if (k < 0) {
            row->what = NULL;
            return JSON_BAD;
        }
        struct cell *cell = &r->keys[k].cells[r->rows];
        *cell = (struct cell){ 0 };
        if (value.kind != JSON_NULL && value.n > 0)
            text_add(r, &value, cell);
    }
    if (rc == JSON_MORE) {
        for (int k = 0; k < r->n_keys; k++)
            r->keys[k].cells[r->rows] = (struct cell){ 0 };
        r->text_n = before;
    }
    return rc;
}

/* Passes over what is between objects. True = there is an object; false = the text ends. */
static bool between_pass(struct reader *r, struct json_row *row, bool *has_comma)
{
    while (json_row_space(row)) {
        if (r->in_array && *row->p == ',' && !*has_comma) {
            *has_comma = true;
        } else if (r->in_array && *row->p == ']') {
            r->in_array = false;
            r->is_closed = true;
        } else {
            return true;
        }
        row->p++;
    }
    return false;
}

/* Takes the whole objects of the buffer. */
static int buffer_take(struct reader *r, struct err *err)
{
    struct json_row row = { .p = r->buf, .end = r->buf + r->n };
    bool has_comma = false;

    for (;;) {
        if (!between_pass(r, &row, &has_comma))
            break;
        if (r->is_closed)
            return fail_at(r, row.p, "text behind the end of the array", err);
        const char *start = row.p;
        enum json_end rc = object_take(r, &row, err);
        if (rc == JSON_MORE && r->at_end && r->opts->may_be_cut) {
            row.p = row.end;
            break;
        }
        if (rc == JSON_MORE && r->at_end)
            return fail_at(r, start, "the file ends within the object that begins here", err);
        if (rc == JSON_MORE && row.open && row.end - row.open > CSV_MAX_FIELD)
            return fail_at(r, row.open, TOO_LONG, err);
        if (rc == JSON_MORE) {
            row.p = start;
            break;
        }
        if (rc == JSON_BAD)
            return row.what ? fail_at(r, row.p, row.what, err)
                            : err_wrap(err, "line %" PRId64, line_of(r, row.p));
        has_comma = false;
        r->rows++;
        if ((r->rows == BATCH_ROWS || r->text_n > BATCH_BYTES) && batch_end(r, err) < 0)
            return -1;
    }
    buffer_drop(r, (size_t)(row.p - r->buf));
    return 0;
}

static void start_pass(struct reader *r)
{
    struct json_row row = { .p = r->buf, .end = r->buf + r->n };

    if (r->n >= 3 && memcmp(row.p, "\xef\xbb\xbf", 3) == 0)
        row.p += 3;
    if (json_row_space(&row) && *row.p == '[') {
        row.p++;
        r->in_array = true;
    }
    buffer_drop(r, (size_t)(row.p - r->buf));
}

static int reader_run(struct reader *r, char hash[SHA256_HEX], struct err *err)
{
    if (buffer_fill(r, err) < 0)
        return -1;
    start_pass(r);
    do {
        if (buffer_fill(r, err) < 0 || buffer_take(r, err) < 0)
            return -1;
    } while (!r->at_end || r->n > 0);
    if (r->in_array && !r->opts->may_be_cut)
        return fail_at(r, r->buf + r->n, "the array is not closed: the file is cut short", err);
    if (batch_end(r, err) < 0)
        return -1;
    if (!r->has_table)
        return err_set(err, ERR_ARG, "there are no objects");
    return csv_table_check(&r->table.table, r->opts, err) < 0 ? -1
                                                              : typed_end(&r->table, hash, err);
}

int jsonl_to_frame(struct feed *f, const struct csv_opts *opts, const char *frame_path,
                   char hash[SHA256_HEX], struct err *err)
{
    struct reader r = { .feed = f, .opts = opts, .path = frame_path, .line = 1 };

    r.table.table.spool = -1;
    r.texts = mem_array(BATCH_ROWS, sizeof(*r.texts));
    int rc = reader_run(&r, hash, err);
    typed_fini(&r.table);
    for (int k = 0; k < r.n_keys; k++) {
        mem_free(r.keys[k].name);
        mem_free(r.keys[k].cells);
    }
    mem_free(r.keys);
    mem_free(r.slots);
    mem_free(r.text);
    mem_free(r.texts);
    mem_try_free(r.buf);
    return rc < 0 ? err_wrap(err, "%s", f->name) : 0;
}
