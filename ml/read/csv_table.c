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

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLAB_CELLS = 2 << 20 };

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

static void col_override(struct csv_col *col, enum frame_type type)
{
    col->must_be_number = type == FRAME_NUMERIC;
    col->mode = type == FRAME_NUMERIC ? COL_INT : type == FRAME_IGNORED ? COL_IGNORED : COL_TEXT;
    if (col->mode != COL_TEXT || col->dict)
        return;
    col->dict = mem_alloc(sizeof(*col->dict));
    csv_dict_init(col->dict);
}

static int cols_override(struct csv_table *t, const struct csv_opts *opts, struct err *err)
{
    struct name_at *sorted = mem_array((size_t)t->n_cols, sizeof(*sorted));
    int rc = 0;

    for (int c = 0; c < t->n_cols; c++)
        sorted[c] = (struct name_at){ t->cols[c].name, c };
    qsort(sorted, (size_t)t->n_cols, sizeof(*sorted), by_name);
    for (int i = 0; i < opts->n_overrides && rc == 0; i++) {
        const struct csv_override *o = &opts->overrides[i];
        struct name_at key = { o->name, 0 };
        const struct name_at *hit =
            bsearch(&key, sorted, (size_t)t->n_cols, sizeof(*sorted), by_name);
        if (hit)
            col_override(&t->cols[hit->col], o->type);
        else if (!opts->overrides_optional)
            rc = fail_unknown(t, o->name, err);
    }
    mem_free(sorted);
    return rc;
}

int csv_table_init(struct csv_table *t, const char *path, char **names, int n,
                   const struct csv_opts *opts, struct err *err)
{
    *t = (struct csv_table){ .n_cols = n, .spool = -1, .path = path };
    t->chunk_rows = FRAME_CHUNK_ROWS;
    while (t->chunk_rows > FRAME_MIN_CHUNK_ROWS && t->chunk_rows * n > SLAB_CELLS)
        t->chunk_rows /= 2;
    if (opts->chunk_rows)
        t->chunk_rows = opts->chunk_rows;
    CHECK(t->chunk_rows >= FRAME_MIN_CHUNK_ROWS && t->chunk_rows <= FRAME_CHUNK_ROWS);
    t->cols = mem_array((size_t)n, sizeof(*t->cols));
    t->slab = FAULT("csv.slab") ? NULL : mem_try_alloc((size_t)t->chunk_rows * (size_t)n * 8);
    t->pack = mem_alloc((size_t)t->chunk_rows * 8);
    for (int c = 0; c < n; c++) {
        struct csv_col *col = &t->cols[c];
        col->name = names[c];
        col->stage = (char *)t->slab + (size_t)c * (size_t)t->chunk_rows * 8;
        frame_stats_init(&col->stats);
    }
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
        frame_stats_fini(&col->stats);
        mem_free(col->dict);
        mem_free(col->name);
        mem_free(col->entries);
        mem_free(col->odd);
        mem_free(col->odd_at);
        mem_free(col->junk);
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

static int col_flush(struct csv_table *t, struct csv_col *col, struct err *err)
{
    enum frame_chunk type = FC_U8;
    int64_t n = t->filled, bytes;

    if (col->mode == COL_IGNORED)
        return 0;
    if (col->mode == COL_TEXT) {
        bytes = frame_pack_codes(col->codes, n, t->pack, &type);
    } else if (col->mode == COL_INT) {
        frame_stats_ints(&col->stats, col->ints, n);
        bytes = frame_pack_ints(col->ints, n, t->pack, &type);
    } else {
        frame_stats_numbers(&col->stats, col->doubles, n);
        bytes = frame_pack_numbers(col->doubles, n, t->pack, &type);
    }
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
        if (col_flush(t, &t->cols[c], err) < 0)
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

int64_t csv_table_bytes(const struct csv_table *t)
{
    int64_t bytes = t->chunk_rows * t->n_cols * 8;

    for (int c = 0; c < t->n_cols; c++) {
        const struct csv_col *col = &t->cols[c];
        bytes += (int64_t)(sizeof(*col) + col->odd_cap + (size_t)t->n_chunks * 8 +
                           (size_t)col->stats.set_cap * 8);
        bytes += col->dict ? csv_dict_bytes(col->dict) : 0;
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

static int col_end(struct csv_table *t, struct csv_col *col, struct err *err)
{
    struct frame_levels levels = { 0 };

    if (col->junk && col->stats.distinct == 0)
        return err_set(err, ERR_ARG,
                       "column \"%.100s\" is to hold numbers, and no cell of it is one: \"%s\"",
                       col->name, col->junk);
    if (col->mode == COL_IGNORED)
        return frame_out_col(t->out, col->name, FRAME_IGNORED, &col->stats, NULL, 0, NULL, err);
    if (col->mode != COL_TEXT)
        return frame_out_col(t->out, col->name, FRAME_NUMERIC, &col->stats, col->entries,
                             t->n_chunks, NULL, err);
    if (csv_dict_levels(col->dict, &levels, err) < 0)
        return -1;
    int rc = frame_out_col(t->out, col->name, FRAME_CATEGORICAL, &col->stats, col->entries,
                           t->n_chunks, &levels, err);
    csv_dict_fini(col->dict);
    return rc;
}

int csv_table_end(struct csv_table *t, char hash[SHA256_HEX], struct err *err)
{
    int64_t rows = t->n_chunks * t->chunk_rows + t->filled;

    if (rows == 0)
        return err_set(err, ERR_ARG, "there is a header but no data");
    if (t->filled > 0 && table_flush(t, err) < 0)
        return -1;
    for (int c = 0; c < t->n_cols; c++) {
        if (col_end(t, &t->cols[c], err) < 0)
            return -1;
    }
    struct frame_out *out = t->out;
    t->out = NULL;
    return frame_out_end(out, rows, t->chunk_rows, hash, err);
}
