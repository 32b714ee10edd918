/* impl.h - private to store/: the struct of the open store, the list of its statements, and the
 * functions that the files of store/ share.
 *
 * Which file changes which fields: turn.c the turn's (turn_*, broken_code, depth, journal_was, the
 * counts of commits, journal_committed, journal_durable),
 * journal.c journal_last, query.c the statements' (stmt, is_busy, param), blob_row.c the collection's
 * (gone, loose_after, folder, dropped_in), and store.c the rest. Three exceptions: turn.c sets
 * journal_last and dropped_in back when something is undone, and query.c's store_fail marks a turn
 * as broken. */
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

enum { SAVEPOINT_MAX = 16 }; /* far deeper than any request nests; more is a bug (CHECK) */

struct store {
    sqlite3 *db;
    char *dir, *db_path, *vfs; /* vfs NULL = the system's */
    const struct clk *clk;
    int lock_fd; /* -1 when opened to read */
    bool is_readonly;
    bool is_open;      /* store_open has succeeded; store_close then notes a clean end */
    bool is_noted;     /* the last write to the lock file succeeded */
    bool may_be_empty; /* opened with --new */
    bool ended_badly;  /* the lock file says that the previous program did not close the store */
    /* The journal's last number according to the lock file; 0 = not known. */
    int64_t last_known;
    char warning[400];
    bool turn_is_open;
    /* SQLite has rolled the turn back by itself, so nothing more may be written in it. */
    bool turn_is_broken;
    enum err_code broken_code; /* the error that broke the turn */
    /* Commits of this process, and how many of them are durable. */
    int64_t n_commits, n_durable;
    int64_t changes_was; /* rows that SQLite had changed when the turn began */
    int64_t
        dropped_in; /* the commit that drops rows of blobs: their files stay until it is durable */
    bool is_sync_apart; /* commits do not wait for the disk (store_sync_apart) */
    sqlite3_file *log;  /* then: what store_sync syncs; owned by the connection */
    int64_t journal_committed, journal_durable; /* journal_last after these commits */
    int log_pages, log_folded; /* of the log: pages in it; how many when it was last to be moved */
    /* Blobs whose rows were dropped. Their files are removed in a later turn (blob_row.c). */
    struct blob_gone *gone;
    int n_gone, cap_gone;
    /* Where the next call of collection goes on: in the table blob_loose and in the folders. */
    char loose_after[SHA256_HEX];
    int folder;
    int depth; /* number of open savepoints */
    /* Of savepoint d: a part of it was undone (savepoint_join), so it cannot be kept. */
    bool is_spoiled[SAVEPOINT_MAX + 1];
    int64_t journal_last; /* number of the newest journal row, this turn included */
    /* journal_last when the turn began ([0]) and when savepoint d was opened ([d]). */
    int64_t journal_was[SAVEPOINT_MAX + 1];
    sqlite3_stmt *stmt[SQL_COUNT];
    bool is_busy[SQL_COUNT]; /* between query_open and query_close */
    /* For each column of a row, the index of its parameter in the statement, 0 = it has none. Made
     * when the statement first binds a row. */
    int *param[SQL_COUNT];
    bool is_checked[SQL_COUNT]; /* its columns are those of the row that it is read into */
};

/* Fills err from the connection's last error and returns -1. When SQLite has rolled the transaction
 * back by itself, this marks the turn as broken. */
int store_fail(struct store *s, int rc, struct err *err);
/* Writes the journal's last committed number, and whether the store is open, to the lock file. */
void store_note(struct store *s, bool is_open);
int turn_begin(struct store *s, struct err *err); /* no-op when it is open */
/* journal_add with the data as a JSON value, which this call frees. */
int journal_add_new(struct store *s, int64_t study, int64_t trial, const char *event, json_t *data,
                    struct err *err);
int journal_load_last(struct store *s, struct err *err);

#endif
