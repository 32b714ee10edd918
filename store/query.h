/* query.h - private to store/: prepared statements, binds, and rows as tables of columns.
 *
 * A query borrows one prepared statement: open it, bind by name, step, read the columns, close it.
 * Three mistakes are bugs and end the process (CHECK): opening a statement that is still in use,
 * binding a name that the statement does not have, and stepping with a parameter left unbound.
 * A statement that writes begins the turn's transaction by itself. query_close cannot fail, so
 * error paths need no second label. Used by every file of store/ that reads or writes rows. */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include "store/impl.h"

struct query {
    struct store *store;
    sqlite3_stmt *stmt;
    enum sql_id id;
    int bound; /* parameters bound so far */
    int rows;  /* rows read so far */
};

/* How a field of a row's struct is stored in its column. */
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
    /* at: offset of the field. size: bytes of a COL_CHARS array, number of names of a COL_ENUM. */
    size_t at, size;
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
/* A NULL pointer binds SQL's NULL. The text must live until query_close. */
void query_text(struct query *q, const char *bind, const char *v);
void query_blob(struct query *q, const char *bind, const void *p, size_t n);
/* Binds every field of the row for which the statement has a parameter. */
void query_row(struct query *q, const struct columns *cols, const void *row);
int query_step(struct query *q, struct err *err); /* 1 row, 0 none, -1 error */
int64_t query_col_i64(const struct query *q, int i);
double query_col_f64(const struct query *q, int i);       /* NULL = NaN */
const char *query_col_text(const struct query *q, int i); /* valid until the next step */
/* Fills every field of `row` from the columns, whose names and order must be those of `cols`; free
 * the strings with row_fini. A stored name that the enum does not have becomes 0 in the row and the
 * error ERR_DAMAGED, because only another program can have written it. */
int query_load(struct query *q, const struct columns *cols, void *row, struct err *err);
void query_close(struct query *q);

/* The next four also close the query. */
/* Runs a statement that returns no rows. Returns the number of rows changed, or -1. */
int query_run(struct query *q, struct err *err);
/* Reads the first row: 1 found, 0 none, -1 error. */
int query_get(struct query *q, const struct columns *cols, void *row, struct err *err);
/* Runs an UPDATE or DELETE of one row by its id; ERR_NOTFOUND when there is no such row. */
int query_put(struct query *q, const char *what, int64_t id, struct err *err);
int64_t query_insert(struct query *q, struct err *err); /* the new row's id, or -1 */

void row_fini(const struct columns *cols, void *row); /* frees and clears the row's strings */

#endif
