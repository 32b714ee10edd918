/* csv_table.h - private to the CSV reader: the columns being built. csv.c cuts text into rows and fields; csv_table.c owns
 * chunks and the end; csv_col.c takes the fields of one column; csv_retype.c turns a numeric column into text. */
#ifndef ML_READ_CSV_TABLE_H
#define ML_READ_CSV_TABLE_H

#include "base/err.h"
#include "ml/read/csv_dict.h"
#include "ml/read/csv_opts.h"
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
    bool
        must_be_number; /* by an override: other text reads as missing, and spellings need not be kept */
    char *junk;         /* the first text where a number must be, shortened; NULL = none */
    union {
        int32_t *ints;   /* FRAME_INT_MISSING */
        double *doubles; /* NaN */
        uint32_t *codes; /* FRAME_CODE_MISSING */
        void *stage;     /* chunk_rows * 8 bytes of the table's slab */
    };
    struct frame_stats stats;
    uint64_t *entries;     /* chunks written so far */
    struct csv_dict *dict; /* of a text column */
    /* Numbers whose text %.15g would not give back, in case the column turns out to be text: u16 row, u8 length (255 = a
     * u32 follows), bytes. Of the chunk being filled; earlier chunks' lie in the spool file. */
    uint8_t *odd;
    size_t odd_bytes, odd_cap;
    uint64_t *odd_at; /* [2 * chunks] offset and length in the spool */
};

struct csv_table {
    struct frame_out *out;
    struct csv_col *cols;
    int n_cols;
    bool has_comma;                       /* numbers may have a decimal comma */
    int64_t chunk_rows, filled, n_chunks; /* filled: rows in the chunk being filled */
    void *slab, *pack;                    /* pack: one chunk */
    int spool;                            /* file of odd spellings, unlinked; -1 = none yet */
    uint64_t spool_bytes;
    const char *path;
    char *scratch; /* for fields with doubled quotes */
    size_t scratch_cap;
};

/* Rows of equally many fields, as places in a text. */
struct csv_rows {
    const char *text;
    uint32_t start;       /* of the first row */
    const uint32_t *ends; /* [n * n_cols] */
    int64_t n;
    bool has_quotes, has_escapes;
};

/* names: n, taken. Applies the overrides; an unknown name is an error. */
int csv_table_init(struct csv_table *t, const char *path, char **names, int n,
                   const struct csv_opts *opts, struct err *err);
void csv_table_fini(struct csv_table *t); /* aborts the file unless ended */
int csv_table_add(struct csv_table *t, const struct csv_rows *rows, int64_t *bad_field,
                  struct err *err);
int csv_table_end(struct csv_table *t, char hash[SHA256_HEX], struct err *err);
int64_t csv_table_bytes(const struct csv_table *t); /* memory held */

/* csv_col.c: rows first..first+n of column c into places t->filled.. of its chunk. On error *bad_field = row * n_cols + c. */
int csv_col_take(struct csv_table *t, int c, const struct csv_rows *rows, int64_t first, int64_t n,
                 int64_t *bad_field, struct err *err);
void csv_col_odd(struct csv_col *col, int64_t place, const char *s, size_t n);
void csv_col_junk(struct csv_col *col, const char *s, size_t n); /* text where a number must be */

/* A field without its quotes; unescaped into t->scratch where it must be. */
void csv_field(struct csv_table *t, const struct csv_rows *rows, int64_t i, bool is_last,
               const char **s, size_t *n);

/* csv_retype.c: everything of the column so far becomes text; `place` rows of the chunk being filled are taken. */
int csv_col_retype(struct csv_table *t, int c, int64_t place, struct err *err);
int csv_spool(struct csv_table *t, struct csv_col *col,
              struct err *err); /* moves the odd spellings of a full chunk out */

#endif
