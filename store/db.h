/* db.h - private to store/: one connection to the database file. The open store (impl.h) and its
 * prepared statements (query.h) build on it.
 *
 * It is used where no store is open yet or where the store's connection must not be used: at start,
 * by migrations, and by backup, checkpoint and quick check, which open their own connections on pool
 * threads. */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

/* Statements of sql.def that run on their own: pragmas, BEGIN and COMMIT of a migration. */
enum setup_id {
#define SQL(name, text)
#define SETUP(name, text) SETUP_##name,
#include "store/sql.def"
#undef SQL
#undef SETUP
    SETUP_COUNT
};
extern const char *const setup_text[SETUP_COUNT];

/* Opens the file and sets what every connection needs: extended result codes and a busy timeout.
 * NULL on error. */
sqlite3 *db_open(const char *path, const char *vfs, int flags, struct err *err);
int db_setup(sqlite3 *db, enum setup_id id, struct err *err);
int db_setup_i64(sqlite3 *db, enum setup_id id, int64_t *out, struct err *err); /* its one value */
/* Fills err from SQLite's result code and the connection's text (db may be NULL); returns -1. */
int db_fail(sqlite3 *db, int rc, struct err *err);

#endif
