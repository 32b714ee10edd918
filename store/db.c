/* db.c - one connection to the database file: opens it, runs the SETUP statements of sql.def, and
 * translates SQLite's result codes into struct err.
 *
 * Every error of SQLite in store/ passes through db_fail. A full disk becomes ERR_FULL also when
 * SQLite reports it as an I/O error, a broken foreign key or a repeated key becomes ERR_CONFLICT,
 * and a damaged page becomes ERR_DAMAGED, so that callers can choose the right HTTP status.
 * Called by the other files of store/ on any thread; a connection itself belongs to one thread. */
#include "store/db.h"

#include "base/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

/* How long SQLite waits for a lock of another connection (backup, checkpoint, a debug command)
 * before a statement fails with ERR_BUSY. */
enum { BUSY_MS = 5000 };

const char *const setup_text[SETUP_COUNT] = {
#define SQL(name, text)
#define SETUP(name, text) [SETUP_##name] = (text),
#include "store/sql.def"
#undef SQL
#undef SETUP
};

int db_fail(sqlite3 *db, int rc, struct err *err)
{
    const char *text = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    bool is_full = (rc & 0xff) == SQLITE_FULL ||
                   (db && (rc & 0xff) == SQLITE_IOERR && sqlite3_system_errno(db) == ENOSPC);

    if (is_full)
        return err_set(err, ERR_FULL, "the disk of the data folder is full");
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_BUSY, "database: %s", text);
    case SQLITE_NOMEM:
        return err_set(err, ERR_NOMEM, "database: %s", text);
    case SQLITE_CONSTRAINT:
        if (rc == SQLITE_CONSTRAINT_FOREIGNKEY)
            return err_set(err, ERR_CONFLICT, "it names something that is not stored");
        if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY)
            return err_set(err, ERR_CONFLICT, "there is one already (%s)", text);
        return err_set(err, ERR_ARG, "not storable: %s", text);
    case SQLITE_CORRUPT:
        return err_set(err, ERR_DAMAGED, "database: %s", text);
    case SQLITE_NOTADB:
        return err_set(err, ERR_IO, "the file is not a database");
    default:
        return err_set(err, ERR_IO, "database: %s", text);
    }
}

int db_setup(sqlite3 *db, enum setup_id id, struct err *err)
{
    int rc =
        FAULT("store.setup") ? SQLITE_IOERR : sqlite3_exec(db, setup_text[id], NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : db_fail(db, rc, err);
}

int db_setup_i64(sqlite3 *db, enum setup_id id, int64_t *out, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = FAULT("store.setup") ? SQLITE_IOERR
                                  : sqlite3_prepare_v2(db, setup_text[id], -1, &stmt, NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        *out = sqlite3_column_int64(stmt, 0);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_OK)
        db_fail(db, rc, err);
    sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? 0 : -1;
}

/* SQLite's own counts of memory cost a lock at each allocation, and nobody reads them. Before the
 * first connection of the process only. */
static void sqlite_begin(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

sqlite3 *db_open(const char *path, const char *vfs, int flags, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sqlite3 *db = NULL;

    pthread_once(&once, sqlite_begin);
    int rc = FAULT("store.open") ? SQLITE_CANTOPEN
                                 : sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, vfs);

    if (rc != SQLITE_OK) {
        db_fail(db, rc, err);
        err_wrap(err, "open %s", path);
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, BUSY_MS);
    return db;
}
