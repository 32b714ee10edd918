/* csv_table.c - the table that a CSV file becomes: its columns with their overrides, the chunk
 * being filled, and the end.
 *
 * The chunk being filled is one slab of 8 bytes a cell, 16 MiB at most. So wide tables have short
 * chunks, and memory stays small whatever the file; full chunks go straight to the frame file.
 * Called by csv.c. */
#include "ml/read/csv_table.h"

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/cells/csv_num.h"
#include "ml/cells/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* LATE_SLAB_BYTES: what columns that appear late may make of the slab. */
enum { SLAB_CELLS = 2 << 20, LATE_SLAB_BYTES = 128 << 20 };
/* What the sets of distinct values may take together. Above it, values are counted at the end, column
 * by column, for which each chunk is read back. 1,000 columns stay below it whatever they hold. */
enum { SETS_BYTES = 64 << 20 };

struct name_at {
    const char *name;
    int col;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct name_at *)a)->name, ((const struct name_at *)b)->name);
}

static int fail_unknown(const struct csv_table *t, const char *name, struct err *err)
{
    const char **names = mem_array((size_t)t->n_cols, sizeof(*names));

    for (int c = 0; c < t->n_cols; c++)
        names[c] = t->cols[c].name;
    const char *near = str_nearest(name, names, (size_t)t->n_cols);
    mem_free(names);
    return err_set(err, ERR_ARG, "no column is called \"%.60s\"%s%.60s%s", name,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static void col_override(struct csv_col *col, const struct csv_override *o)
{
    enum date_order order = o->note && o->kind == FRAME_DATE ? judge_order_of(o->note) : o->order;
    bool is_number = order == DATE_EPOCH_S || order == DATE_EPOCH_MS || order == DATE_WHOLE;

    col->is_declared = true;
    col->kind = o->kind;
    col->order = order;
    col->note = o->note;
    col->must_be_number = o->type == FRAME_NUMERIC && (o->kind == FRAME_PLAIN || is_number);
    col->is_slow = col->must_be_number && o->note && strstr(o->note, "\"decimal\":\",\"");
    col->mode = col->must_be_number ? COL_INT : o->type == FRAME_IGNORED ? COL_IGNORED : COL_TEXT;
    if (o->note)
        col->missing = (const char *const *)(col->listed = judge_missing_of(o->note));
    if (col->mode != COL_TEXT || col->dict)
        return;
    col->dict = mem_alloc(sizeof(*col->dict));
    csv_dict_init(col->dict);
    col->dict->is_exact = o->is_exact;
}

/* The texts that are missing in the column, once all overrides are known. */
static void col_missing(struct csv_col *col)
{
    char text[80];
    size_t n = 0;

    while (col->missing && col->missing[n])
        n++;
    if (col->dict)
        col->dict->missing = col->missing;
    if (n == 0)
        return;
    col->marks = mem_array(n, sizeof(*col->marks));
    for (size_t i = 0; i < n; i++) {
        struct csv_value v;
        size_t len = strlen(col->missing[i]);
        if (len + 16 > sizeof(text))
            continue;
        memset(text, 0, sizeof(text));
        memcpy(text, col->missing[i], len);
        csv_number(text, len, &v);
        if (v.kind == CSV_INT || v.kind == CSV_DOUBLE)
            col->marks[col->n_marks++] = v.d;
    }
}

static int cols_override(struct csv_table *t, const struct csv_opts *opts, struct err *err)
{
    struct name_at *sorted = mem_array((size_t)t->n_cols, sizeof(*sorted));
    const char *const *everywhere = NULL;
    int rc = 0;

    for (int c = 0; c < t->n_cols; c++)
        sorted[c] = (struct name_at){ t->cols[c].name, c };
    qsort(sorted, (size_t)t->n_cols, sizeof(*sorted), by_name);
    for (int i = 0; i < opts->n_overrides && rc == 0; i++) {
        const struct csv_override *o = &opts->overrides[i];
        struct name_at key = { o->name, 0 };
        const struct name_at *hit =
            bsearch(&key, sorted, (size_t)t->n_cols, sizeof(*sorted), by_name);
        if (hit && o->missing)
            t->cols[hit->col].missing = o->missing;
        if (hit && !o->has_no_type)
            col_override(&t->cols[hit->col], o);
        else if (!hit && strcmp(o->name, "*") == 0)
            everywhere = o->missing;
        else if (!hit && !opts->overrides_optional)
            rc = fail_unknown(t, o->name, err);
    }
    for (int c = 0; c < t->n_cols; c++) {
        t->cols[c].missing = t->cols[c].missing ? t->cols[c].missing : everywhere;
        col_missing(&t->cols[c]);
    }
    mem_free(sorted);
    return rc;
}

int csv_table_check(const struct csv_table *t, const struct csv_opts *opts, struct err *err)
{
    for (int i = 0; i < opts->n_overrides && !opts->overrides_optional; i++) {
        int c = 0;
        while (c < t->n_cols && !str_eq(t->cols[c].name, opts->overrides[i].name))
            c++;
        if (c == t->n_cols)
            return fail_unknown(t, opts->overrides[i].name, err);
    }
    return 0;
}

static void stages_set(struct csv_table *t)
{
    for (int c = 0; c < t->n_cols; c++)
        t->cols[c].stage = (char *)t->slab + (size_t)c * (size_t)t->chunk_rows * 8;
}

int csv_table_init(struct csv_table *t, const char *path, char **names, int n,
                   const struct csv_opts *opts, struct err *err)
{
    *t = (struct csv_table){ .n_cols = n,
                             .first_cols = n,
                             .spool = -1,
                             .path = path,
                             .go_on = opts->go_on,
                             .go_on_ctx = opts->go_on_ctx };
    t->chunk_rows = FRAME_CHUNK_ROWS;
    while (t->chunk_rows > FRAME_MIN_CHUNK_ROWS && t->chunk_rows * n > SLAB_CELLS)
        t->chunk_rows /= 2;
    if (opts->chunk_rows)
        t->chunk_rows = opts->chunk_rows;
    CHECK(t->chunk_rows >= FRAME_MIN_CHUNK_ROWS && t->chunk_rows <= FRAME_CHUNK_ROWS);
    t->cap_cols = n;
    t->cols = mem_array((size_t)n, sizeof(*t->cols));
    t->slab = FAULT("csv.slab") ? NULL : mem_try_alloc((size_t)t->chunk_rows * (size_t)n * 8);
    t->pack = mem_alloc((size_t)t->chunk_rows * 8);
    for (int c = 0; c < n; c++) {
        t->cols[c].name = names[c];
        frame_stats_init(&t->cols[c].stats);
    }
    stages_set(t);
    if (!t->slab)
        return err_set(err, ERR_NOMEM, "no memory for %d columns", n);
    if (cols_override(t, opts, err) < 0)
        return -1;
    t->out = frame_out_new(path, err);
    return t->out ? 0 : -1;
}

void csv_table_fini(struct csv_table *t)
{
    for (int c = 0; t->cols && c < t->n_cols; c++) {
        struct csv_col *col = &t->cols[c];
        if (col->dict)
            csv_dict_fini(col->dict);
        if (col->doubts)
            csv_dict_fini(col->doubts);
        csv_seen_fini(&col->seen);
        frame_stats_fini(&col->stats);
        mem_free(col->dict);
        mem_free(col->doubts);
        mem_free(col->name);
        mem_free(col->entries);
        mem_free(col->odd);
        mem_free(col->odd_at);
        mem_free(col->junk);
        for (char **one = col->listed; one && *one; one++)
            mem_free(*one);
        mem_free(col->listed);
        mem_free(col->marks);
    }
    frame_out_abort(t->out);
    if (t->spool >= 0)
        close(t->spool);
    mem_free(t->cols);
    mem_try_free(t->slab);
    mem_free(t->pack);
    mem_free(t->scratch);
    *t = (struct csv_table){ .spool = -1 };
}

/* The capacity doubles: n_chunks is a power of two exactly when there is no room left. */
static void entries_grow(const struct csv_table *t, struct csv_col *col)
{
    if ((t->n_chunks & (t->n_chunks - 1)) == 0)
        col->entries =
            mem_resize(col->entries, (size_t)MAX(t->n_chunks * 2, 1) * sizeof(*col->entries));
}

/* Numbers that stand for missing. */
static void drop_marks(struct csv_col *col, int64_t n)
{
    for (int m = 0; m < col->n_marks; m++) {
        double mark = col->marks[m];
        for (int64_t i = 0; i < n && col->mode == COL_INT; i++)
            col->ints[i] = col->ints[i] == mark ? FRAME_INT_MISSING : col->ints[i];
        for (int64_t i = 0; i < n && col->mode == COL_DOUBLE; i++)
            col->doubles[i] = col->doubles[i] == mark ? (double)NAN : col->doubles[i];
    }
}

static void sets_bound(struct csv_table *t)
{
    if (t->set_bytes <= SETS_BYTES)
        return;
    for (int c = 0; c < t->n_cols; c++)
        frame_stats_defer(&t->cols[c].stats);
    t->set_bytes = 0;
}

int csv_col_flush(struct csv_table *t, struct csv_col *col, struct err *err)
{
    enum frame_chunk type = FC_U8;
    int64_t n = t->filled, bytes, set = col->stats.set_cap;

    if (col->mode == COL_IGNORED)
        return 0;
    drop_marks(col, n);
    if (col->mode == COL_TEXT) {
        bytes = frame_pack_codes(col->codes, n, t->pack, &type);
    } else if (col->mode == COL_INT) {
        frame_stats_ints(&col->stats, col->ints, n);
        bytes = frame_pack_ints(col->ints, n, t->pack, &type);
    } else {
        frame_stats_numbers(&col->stats, col->doubles, n);
        bytes = frame_pack_numbers(col->doubles, n, t->pack, &type);
    }
    t->set_bytes += ((int64_t)col->stats.set_cap - set) * 8;
    sets_bound(t);
    entries_grow(t, col);
    if (frame_out_chunk(t->out, type, t->pack, bytes, &col->entries[t->n_chunks], err) < 0)
        return -1;
    if (col->mode == COL_TEXT)
        return 0;
    col->mode = COL_INT;
    return csv_spool(t, col, err);
}

static int table_flush(struct csv_table *t, struct err *err)
{
    for (int c = 0; c < t->n_cols; c++) {
        if (csv_col_flush(t, &t->cols[c], err) < 0)
            return -1;
    }
    t->n_chunks++;
    t->filled = 0;
    return 0;
}

int csv_table_add(struct csv_table *t, const struct csv_rows *rows, int64_t *bad_field,
                  struct err *err)
{
    *bad_field = -1;
    for (int64_t first = 0; first < rows->n;) {
        int64_t n = MIN(rows->n - first, t->chunk_rows - t->filled);
        for (int c = 0; c < t->n_cols; c++) {
            if (csv_col_take(t, c, rows, first, n, bad_field, err) < 0)
                return -1;
        }
        *bad_field = -1;
        t->filled += n;
        first += n;
        if (t->filled == t->chunk_rows && table_flush(t, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- columns that appear late ---- */

static int cols_room(struct csv_table *t, struct err *err)
{
    int cap = t->cap_cols + t->cap_cols / 2 + 1;
    size_t stage = (size_t)t->chunk_rows * 8;

    if (t->n_cols < t->cap_cols)
        return 0;
    void *slab = (size_t)cap * stage > LATE_SLAB_BYTES ? NULL : mem_try_alloc((size_t)cap * stage);
    if (!slab)
        return err_set(err, ERR_TOOBIG, "columns keep appearing: %d so far, %d of them late",
                       t->n_cols + 1, t->n_cols + 1 - t->first_cols);
    memcpy(slab, t->slab, (size_t)t->n_cols * stage);
    mem_try_free(t->slab);
    t->slab = slab;
    t->cap_cols = cap;
    t->cols = mem_resize(t->cols, (size_t)cap * sizeof(*t->cols));
    stages_set(t);
    return 0;
}

/* The chunks that are written already hold no value of a new column: all are the same one. */
static int col_backfill(struct csv_table *t, struct csv_col *col, struct err *err)
{
    int64_t full = t->n_chunks, filled = t->filled, cap = 1;

    for (int64_t i = 0; i < t->chunk_rows; i++) {
        if (col->mode == COL_TEXT)
            col->codes[i] = FRAME_CODE_MISSING;
        else
            col->ints[i] = FRAME_INT_MISSING;
    }
    if (col->mode == COL_TEXT)
        col->stats.missing = full * t->chunk_rows + filled;
    if (full == 0)
        return 0;
    t->n_chunks = 0;
    t->filled = t->chunk_rows;
    int rc = csv_col_flush(t, col, err);
    t->n_chunks = full;
    t->filled = filled;
    if (rc < 0)
        return -1;
    while (cap < full)
        cap *= 2;
    col->entries = mem_resize(col->entries, (size_t)cap * sizeof(*col->entries));
    for (int64_t i = 1; i < full; i++)
        col->entries[i] = col->entries[0];
    if (col->mode != COL_TEXT)
        col->stats.missing = col->stats.rows = full * t->chunk_rows;
    return 0;
}

int csv_table_widen(struct csv_table *t, char *name, const struct csv_opts *opts, struct err *err)
{
    if (cols_room(t, err) < 0) {
        mem_free(name);
        return -1;
    }
    struct csv_col *col = &t->cols[t->n_cols++];
    *col = (struct csv_col){ .name = name };
    frame_stats_init(&col->stats);
    stages_set(t);
    for (int i = 0; i < opts->n_overrides; i++) {
        if (str_eq(opts->overrides[i].name, name))
            col_override(col, &opts->overrides[i]);
    }
    return col->mode == COL_IGNORED ? 0 : col_backfill(t, col, err);
}

int64_t csv_table_bytes(const struct csv_table *t)
{
    int64_t bytes = t->chunk_rows * t->n_cols * 8;

    for (int c = 0; c < t->n_cols; c++) {
        const struct csv_col *col = &t->cols[c];
        bytes += (int64_t)(sizeof(*col) + col->odd_cap + (size_t)t->n_chunks * 8 +
                           (size_t)col->stats.set_cap * 8);
        bytes += csv_seen_bytes(&col->seen);
        bytes += col->dict ? csv_dict_bytes(col->dict) : 0;
        bytes += col->doubts ? csv_dict_bytes(col->doubts) : 0;
    }
    return bytes;
}

enum { JUNK_SHOWN = 60 };

void csv_col_junk(struct csv_col *col, const char *s, size_t n)
{
    col->stats.not_numbers++;
    if (!col->junk) {
        col->junk = mem_zalloc(JUNK_SHOWN + 1);
        memcpy(col->junk, s, MIN(n, JUNK_SHOWN));
    }
}

int csv_table_end(struct csv_table *t, char hash[SHA256_HEX], struct err *err)
{
    int64_t rows = t->n_chunks * t->chunk_rows + t->filled;

    t->rows = rows;
    if (rows == 0)
        return err_set(err, ERR_ARG, "there is a header but no data");
    if (t->filled > 0 && table_flush(t, err) < 0)
        return -1;
    for (int c = 0; c < t->n_cols; c++) {
        if ((t->go_on && t->go_on(t->go_on_ctx, err) < 0) || csv_col_end(t, c, err) < 0)
            return -1;
    }
    struct frame_out *out = t->out;
    t->out = NULL;
    return frame_out_end(out, rows, t->chunk_rows, hash, err);
}
