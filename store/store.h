/* store.h - the only SQL of the project: one SQLite file (WAL, foreign keys, STRICT tables) and a folder of blobs.
 *
 * Transactions: store functions never begin or commit. The controller's loop turn is the transaction
 * (store_turn_*), a request in it a savepoint. A state change and its journal row are written by one call, so they
 * stand or fall together. One thread; only blob.h has calls that a pool thread may make.
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

/* Opens or creates `dir` (0700), takes its lock (ERR_BUSY: another assayd has it), migrates, prepares every statement.
 * A newer user_version is ERR_VERSION and nothing is touched. vfs: NULL or the name of a test VFS. */
struct store *store_open(const char *dir, const char *vfs, struct clk *clk, struct err *err);
/* The same, but a folder that has lost its database begins empty (--new); store_open refuses it with ERR_CONFLICT. */
struct store *store_open_empty(const char *dir, const char *vfs, struct clk *clk, struct err *err);
/* What was odd about the folder, to be told once; "" = nothing. */
const char *store_warning(const struct store *s);
bool store_ended_badly(const struct store *s); /* the program before did not close it */
/* Whether the database file is whole, by a connection of its own: a pool thread may call it. ERR_IO: it is damaged. */
int store_quick_check(const char *dir, struct err *err);
/* For debug commands while assayd runs. */
struct store *store_open_readonly(const char *dir, struct err *err);
void store_close(struct store *s);
/* Online; path must not exist (ERR_CONFLICT); fsynced; a pool thread may call it. */
int store_backup(struct store *s, const char *path, struct err *err);
int store_integrity(struct store *s, struct err *err); /* quick_check + foreign keys */
/* Runs one read-only statement and prints rows as JSON lines through `on_row`; for `debug sql`. */
int store_sql_readonly(struct store *s, const char *sql, int (*on_row)(void *arg, const char *json),
                       void *arg, struct err *err);

/* The turn's transaction: begin is lazy (the first write begins it). Commit failing leaves the database as before the
 * turn: the caller answers 503 and reloads what it touched. */
int store_turn_commit(struct store *s, struct err *err); /* 0 also when nothing was written */
void store_turn_rollback(struct store *s);
bool store_turn_is_open(const struct store *s);
struct savepoint {
    struct store *store;
    int depth;
};
int savepoint_open(struct savepoint *sp, struct store *s, struct err *err);
/* When it fails the savepoint is undone; closed either way. */
int savepoint_keep(struct savepoint *sp, struct err *err);
void savepoint_undo(struct savepoint *sp);

/* WAL checkpoint off the loop: callable from a pool thread with its own connection. */
int store_wal_checkpoint(const char *dir, struct err *err);
int64_t store_db_bytes(const struct store *s);

/* One hash over all facts (rows in key order, times left out): equal before and after a restart. */
int store_digest(struct store *s, char out[SHA256_HEX], struct err *err);

/* Small values by name: schema_time, token file hash, id counters. */
/* 1/0/-1. */
int store_meta_get(struct store *s, const char *name, struct buf *out, struct err *err);
int store_meta_put(struct store *s, const char *name, const char *value, struct err *err);
/* Idempotency keys of clients: an answer kept for a day. */
int store_idem_get(struct store *s, const char *key, struct buf *out, struct err *err); /* 1/0/-1 */
int store_idem_put(struct store *s, const char *key, const char *answer, struct err *err);
int store_idem_expire(struct store *s, int64_t before_wall_ms, struct err *err);

#endif
