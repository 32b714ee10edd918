/* store.h - opens the data folder: one SQLite file (WAL, foreign keys, STRICT tables) and a folder
 * of blobs. Only store/ contains SQL.
 *
 * Transactions: store functions never begin or commit one. All writes of one turn of the
 * controller's loop are one transaction (store_turn_*), and each request in that turn is a
 * savepoint. A state change and its journal row are written by one call, so either both are stored
 * or neither is.
 *
 * Threads: the thread that opened the store owns it. Pool threads may call only the file functions
 * of blob.h and the functions that say so below; these use a connection of their own.
 *
 * Layout of the data folder: assay.db (+ -wal, -shm), blobs/ab/<sha256>, uploads/<id>, lock. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/sha256.h"
#include "proto/trial.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/* Opens or creates `dir` (mode 0700), takes its lock (ERR_BUSY: another assayd holds it), brings the
 * schema up to date and prepares every statement. A database with a newer schema than this program
 * knows is refused with ERR_VERSION, and the file is not changed. vfs: the name of a test's VFS, or
 * NULL for the system's. */
struct store *store_open(const char *dir, const char *vfs, struct clk *clk, struct err *err);
/* The same for `assayd --new`: a folder that was in use but has lost its database starts with an
 * empty one. store_open refuses such a folder with ERR_CONFLICT. */
struct store *store_open_empty(const char *dir, const char *vfs, struct clk *clk, struct err *err);
/* A warning about the folder that the caller logs once after opening; "" when there is none. */
const char *store_warning(const struct store *s);
/* True when the previous assayd ended without store_close, for example by SIGKILL or a power cut. */
bool store_ended_badly(const struct store *s);
/* Runs SQLite's quick_check over the database file; ERR_IO when it is damaged. Opens a connection of
 * its own, so a pool thread may call it. */
int store_quick_check(const char *dir, struct err *err);
/* Opens the folder without its lock, for debug commands that run beside assayd. */
struct store *store_open_readonly(const char *dir, struct err *err);
void store_close(struct store *s);
/* Copies the database to `path` while the store stays in use, and syncs the copy. ERR_CONFLICT when
 * `path` exists already. A pool thread may call it. */
int store_backup(struct store *s, const char *path, struct err *err);
int store_integrity(struct store *s, struct err *err); /* quick_check and the foreign keys */
/* Runs one read-only statement for `assay debug sql`; on_row gets each row as one line of JSON. */
int store_sql_readonly(struct store *s, const char *sql, int (*on_row)(void *arg, const char *json),
                       void *arg, struct err *err);

/* The turn's transaction. The first write of a turn begins it. When the commit fails, the database
 * is as it was before the turn; the caller then answers 503 and reloads what it had changed in
 * memory. */
int store_turn_commit(struct store *s, struct err *err); /* 0 also when nothing was written */
void store_turn_rollback(struct store *s);
/* From now on a commit does not wait for the disk, which halves the time of a busy loop's turn. What
 * it committed is durable, and may be acknowledged, when a store_sync that began afterwards has
 * returned 0. store_sync may run on another thread meanwhile; the next commit must wait for
 * store_synced, which the owner calls then. When store_sync fails, nobody knows what the disk
 * holds: the process must end, and the next start reads what is there. */
int store_sync_apart(struct store *s, struct err *err);
bool store_owes_sync(const struct store *s); /* a commit is not known to be durable */
int store_sync(struct store *s, struct err *err);
void store_synced(struct store *s);
bool store_turn_is_open(const struct store *s);
struct savepoint {
    struct store *store;
    int depth;
    bool is_joined;
};
int savepoint_open(struct savepoint *sp, struct store *s, struct err *err);
/* The same, but if another savepoint is open this one is a part of it: nothing is executed, and when
 * the part is undone, the other one cannot be kept any more. For small changes that are made many
 * times in a request, whose failure ends the request anyway: SQLite's own savepoints copy every page
 * that is changed in them. */
int savepoint_join(struct savepoint *sp, struct store *s, struct err *err);
/* The savepoint is closed in any case; when keeping it fails, its writes are undone. */
int savepoint_keep(struct savepoint *sp, struct err *err);
void savepoint_undo(struct savepoint *sp);

/* Moves committed pages from the log into the database file. It uses a connection of its own, so
 * that a pool thread can do this slow work beside the loop. */
int store_wal_checkpoint(const char *dir, struct err *err);
/* True once for each 32 MiB by which the log has grown: then it is time for that. */
bool store_log_grown(struct store *s);
int64_t store_db_bytes(const struct store *s);

/* One hash over all rows in the order of their keys, without the columns that hold times. It is
 * equal before and after a restart. */
int store_digest(struct store *s, char out[SHA256_HEX], struct err *err);

/* Small values by name. 1 found, 0 none, -1 error. */
int store_meta_get(struct store *s, const char *name, struct buf *out, struct err *err);
int store_meta_put(struct store *s, const char *name, const char *value, struct err *err);
/* Answers kept under the idempotency key that a client sent, so that a repeated request gets the
 * first answer again. The caller removes old ones with store_idem_expire. */
int store_idem_get(struct store *s, const char *key, struct buf *out, struct err *err); /* 1/0/-1 */
int store_idem_put(struct store *s, const char *key, const char *answer, struct err *err);
int store_idem_expire(struct store *s, int64_t before_wall_ms, struct err *err);

#endif
