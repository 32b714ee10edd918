/* csv_table.h - private to the CSV reader: the columns that are being built. csv.c cuts text into
 * rows and fields; csv_table.c owns the chunks and the end; csv_col.c takes the fields of one
 * column; csv_retype.c turns a numeric column into text; csv_end.c decides at the end. */
#ifndef ML_READ_CSV_TABLE_H
#define ML_READ_CSV_TABLE_H

#include "base/err.h"
#include "ml/read/csv_dict.h"
#include "ml/read/csv_opts.h"
#include "ml/read/csv_seen.h"
#include "ml/table/frame_file.h"

#include <stdbool.h>

enum csv_mode {
    COL_INT,
    COL_DOUBLE,
    COL_TEXT,
    COL_IGNORED
}; /* INT and DOUBLE: of the chunk being filled */

struct csv_col {
    char *name;
    enum csv_mode mode;
    /* By an override: nothing else is considered. */
    bool is_declared, must_be_number;
    enum frame_kind kind;
    enum date_order order;
    /* Not NULL: how an earlier table was read (csv_opts.h). Text is missing then, and spellings
     * need not be kept. is_slow: plain numbers mean something else by it too. */
    const char *note;
    bool is_slow;
    /* The values are seconds since 1970, as the file declares (typed.h). */
    bool is_date;
    /* NULL, or the only texts that are missing; `listed` when they are of the note */
    const char *const *missing;
    char **listed;
    /* the numbers among them */
    double *marks;
    int n_marks;
    /* the first text where a number must be, shortened; NULL = none */
    char *junk;
    /* The texts among the numbers, with their counts: words for missing, and others while they
     * are few. NULL = none yet. doubt_rows: rows of texts that are no word for missing. */
    struct csv_dict *doubts;
    int64_t doubt_rows;
    union {
        /* missing: FRAME_INT_MISSING */
        int32_t *ints;
        /* missing: NaN */
        double *doubles;
        /* missing: FRAME_CODE_MISSING */
        uint32_t *codes;
        /* chunk_rows * 8 bytes of the table's slab */
        void *stage;
    };
    struct frame_stats stats;
    /* entries of the chunks written so far */
    uint64_t *entries;
    /* of a text column; seen: what stands before the dictionary */
    struct csv_dict *dict;
    struct csv_seen seen;
    /* Numbers whose text %.15g would not give back, for the case that the column turns out to be
     * text: u16 row, u8 length (255 = a u32 follows), bytes. Those of the chunk being filled; those
     * of earlier chunks are in the spool file. */
    uint8_t *odd;
    size_t odd_bytes, odd_cap;
    /* [2 * chunks]: offset and length in the spool */
    uint64_t *odd_at;
};

struct csv_table {
    struct frame_out *out;
    struct csv_col *cols;
    /* cap_cols: columns that cols and the slab have room for; first_cols: those of the start */
    int n_cols, cap_cols, first_cols;
    /* numbers may have a decimal comma */
    bool has_comma;
    /* filled: rows of the chunk being filled; rows: of the whole table, set at its end */
    int64_t chunk_rows, filled, n_chunks, rows;
    /* pack: room for one chunk */
    void *slab, *pack;
    /* of the sets of distinct values of all columns */
    int64_t set_bytes;
    /* the unlinked file of odd spellings; -1 = none yet */
    int spool;
    uint64_t spool_bytes;
    const char *path;
    /* of csv_opts.h */
    int (*go_on)(void *ctx, struct err *err);
    void *go_on_ctx;
    /* for fields with doubled quotes */
    char *scratch;
    size_t scratch_cap;
};

/* Rows with the same number of fields, as places in a text. */
struct csv_rows {
    const char *text;
    /* of the first row */
    uint32_t start;
    const uint32_t *ends; /* [n * n_cols] */
    int64_t n;
    bool has_quotes, has_escapes;
    /* the rows hold one column only, whose texts are taken as they are (typed.c) */
    bool is_single;
};

/* names: n of them, which it takes. Applies the overrides; an unknown name is an error. */
int csv_table_init(struct csv_table *t, const char *path, char **names, int n,
                   const struct csv_opts *opts, struct err *err);
/* aborts the file unless it was ended */
void csv_table_fini(struct csv_table *t);
int csv_table_add(struct csv_table *t, const struct csv_rows *rows, int64_t *bad_field,
                  struct err *err);
/* Adds a column to a table that may have rows already: they have no value of it. Takes the name. */
int csv_table_widen(struct csv_table *t, char *name, const struct csv_opts *opts, struct err *err);
/* Writes the column's part of the chunk, whose t->filled rows are taken, as chunk t->n_chunks. */
int csv_col_flush(struct csv_table *t, struct csv_col *col, struct err *err);
/* An error unless the column that an override names is there. */
int csv_table_check(const struct csv_table *t, const struct csv_opts *opts, struct err *err);
int csv_table_end(struct csv_table *t, char hash[SHA256_HEX], struct err *err);
/* memory held */
int64_t csv_table_bytes(const struct csv_table *t);

/* csv_col.c: takes rows [first, first + n) of column c into the places from t->filled on of its
 * chunk. On an error *bad_field = row * n_cols + c. */
int csv_col_take(struct csv_table *t, int c, const struct csv_rows *rows, int64_t first, int64_t n,
                 int64_t *bad_field, struct err *err);
void csv_col_odd(struct csv_col *col, int64_t place, const char *s, size_t n);
/* Widens the chunk, of which `place` rows are taken, from int32 to double. */
void csv_col_widen(struct csv_col *col, int64_t place);
/* text where a number must be */
void csv_col_junk(struct csv_col *col, const char *s, size_t n);

/* A field without its quotes; where it must be unescaped it is in t->scratch. */
void csv_field(struct csv_table *t, const struct csv_rows *rows, int64_t i, bool is_last,
               const char **s, size_t *n);

/* rows of a chunk that is in the file */
static inline int64_t csv_chunk_rows(const struct csv_table *t, int64_t chunk)
{
    int64_t left = t->rows ? t->rows - chunk * t->chunk_rows : t->chunk_rows;
    return left < t->chunk_rows ? left : t->chunk_rows;
}

/* csv_end.c: decides what the column is, now that all its values are there, and adds it to the
 * frame. */
int csv_col_end(struct csv_table *t, int c, struct err *err);

/* csv_retype.c: everything of the column so far becomes text; `place` rows of the chunk being
 * filled are taken. */
int csv_col_retype(struct csv_table *t, int c, int64_t place, struct err *err);
/* The spellings of numbers that "%.15g" would not give back, as {"spelt":["1.0","+1"]} of the first
 * chunks; "" where there are none, or too many for `size`. */
int csv_spelt(struct csv_table *t, const struct csv_col *col, char *note, size_t size,
              struct err *err);
/* moves the odd spellings of a full chunk to the spool */
int csv_spool(struct csv_table *t, struct csv_col *col, struct err *err);

#endif
