/* impl.h - private to store/: the open store itself, its list of statements, and what its files call of each other. The
 * fields are turn.c's (turn_*, depth, journal_*), query.c's (stmt, is_busy, param) and store.c's (the rest). */
#ifndef STORE_IMPL_H
#define STORE_IMPL_H

#include "base/clk.h"
#include "base/err.h"
#include "base/jsonx.h"
#include "base/sha256.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdint.h>

enum sql_id {
#define SQL(name, text) SQL_##name,
#define SETUP(name, text)
#include "store/sql.def"
#undef SQL
#undef SETUP
    SQL_COUNT
};
extern const char *const sql_text[SQL_COUNT];

enum { SAVEPOINT_MAX = 16 };

struct store {
    sqlite3 *db;
    char *dir, *db_path, *vfs; /* vfs NULL = the system's */
    const struct clk *clk;
    int lock_fd; /* -1 when opened to read */
    bool is_readonly;
    bool is_open;      /* to the end of store_open */
    bool is_noted;     /* the lock file says that it is open */
    bool may_be_empty; /* --new */
    bool ended_badly;  /* the lock file says so */
    int64_t
        last_known; /* the journal's last row when the lock file was last written; 0 = not known */
    char warning[400];
    bool turn_is_open;
    bool turn_is_broken; /* SQLite rolled it back by itself: nothing more may be written in it */
    enum err_code broken_code; /* by what */
    bool blob_rows_dropped;    /* in this turn; their files stay until it is committed */
    struct blob_gone *gone; /* blobs whose rows were dropped: their files go later (blob_row.c) */
    int n_gone, cap_gone;
    char loose_after[SHA256_HEX]; /* how far collection has come in the table of loose blobs */
    int folder;                   /* and in the folders of blobs */
    int depth;                    /* of open savepoints */
    int64_t journal_last;
    int64_t journal_was[SAVEPOINT_MAX + 1]; /* [0]: when the turn began; [d]: savepoint d */
    sqlite3_stmt *stmt[SQL_COUNT];
    bool is_busy[SQL_COUNT];
    int *param[SQL_COUNT]; /* index of each column's parameter, 0 = none; made when first used */
};

/* Fills err from the connection's last error; returns -1. Notices when SQLite ended the transaction by itself. */
int store_fail(struct store *s, int rc, struct err *err);
/* Writes to the lock file how far the journal is committed (store.c). */
void store_note(struct store *s, bool is_open);
int turn_begin(struct store *s, struct err *err); /* no-op when it is open */
/* journal_add with data as a value, which it takes. */
int journal_add_new(struct store *s, int64_t study, int64_t trial, const char *event, json_t *data,
                    struct err *err);
int journal_load_last(struct store *s, struct err *err);

#endif
