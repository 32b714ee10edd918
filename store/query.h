/* query.h - private to store/: prepared statements, binds, and rows as tables of columns.
 *
 * A query borrows one prepared statement: open, bind by name, step, read, close. Opening a statement that is still in
 * use is a bug (CHECK), and so is a wrong bind name or a parameter left unbound. A statement that writes begins the
 * turn's transaction by itself. query_close cannot fail, so error paths need no second label. */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include "store/impl.h"

struct query {
    struct store *store;
    sqlite3_stmt *stmt;
    enum sql_id id;
    int bound; /* parameters so far */
    int rows;  /* stepped so far */
};

/* How a field of a row struct and a column of a table correspond. */
enum column_kind {
    COL_I64,   /* int64_t */
    COL_REF,   /* int64_t, 0 = NULL */
    COL_INT,   /* int */
    COL_U64,   /* uint64_t, its bits as SQL's signed integer */
    COL_F64,   /* double, NaN = NULL */
    COL_BOOL,  /* bool as 0 or 1 */
    COL_TEXT,  /* char * on the heap, NULL = NULL */
    COL_STR,   /* char * on the heap, NULL is written as "" */
    COL_CHARS, /* char[size], "" = NULL */
    COL_ENUM,  /* int-sized enum, its name as text; value 0 = NULL */
};
struct column {
    const char *bind; /* ":name" */
    enum column_kind kind;
    size_t at, size; /* size: of a CHARS array, number of names of an ENUM */
    const char *const *names;
};
struct columns {
    const struct column *v;
    size_t n;
};
#define COLUMN(kind, row, field)                                                              \
    {                                                                                         \
        ":" #field, kind, offsetof(struct row, field), sizeof(((struct row *)0)->field), NULL \
    }
#define COLUMN_ENUM(row, field, names)                                             \
    {                                                                              \
        ":" #field, COL_ENUM, offsetof(struct row, field), ARRAY_LEN(names), names \
    }

int query_prepare_all(struct store *s, struct err *err);
void query_finalize_all(struct store *s);

struct query query_open(struct store *s, enum sql_id id);
void query_i64(struct query *q, const char *bind, int64_t v);
void query_ref(struct query *q, const char *bind, int64_t v); /* 0 = NULL */
void query_f64(struct query *q, const char *bind, double v);  /* NaN = NULL */
/* NULL = NULL; borrowed until close. */
void query_text(struct query *q, const char *bind, const char *v);
void query_blob(struct query *q, const char *bind, const void *p, size_t n);
/* Every field the statement has a parameter for. */
void query_row(struct query *q, const struct columns *cols, const void *row);
int query_step(struct query *q, struct err *err); /* 1 row, 0 none, -1 error */
int64_t query_col_i64(const struct query *q, int i);
double query_col_f64(const struct query *q, int i);       /* NULL = NaN */
const char *query_col_text(const struct query *q, int i); /* until the next step; NULL = NULL */
/* Fills every field of `row` from the columns, whose names and order must be those of `cols`. row_fini frees. A name that
 * no version of the enum has is 0 in the row, and ERR_DAMAGED: the file was changed by something else. */
int query_load(struct query *q, const struct columns *cols, void *row, struct err *err);
void query_close(struct query *q);

/* To the end of a statement without rows, and closes; -1 or rows changed. */
int query_run(struct query *q, struct err *err);
/* First row, and closes: 1/0/-1. */
int query_get(struct query *q, const struct columns *cols, void *row, struct err *err);
/* An UPDATE of one row by id: none is ERR_NOTFOUND. */
int query_put(struct query *q, const char *what, int64_t id, struct err *err);
int64_t query_insert(struct query *q, struct err *err); /* the new row's id, or -1 */
void row_fini(const struct columns *cols, void *row);   /* frees strings and zeroes */

#endif
