/* maint.c - work on a whole database: backup, checkpoint, checks, the digest, read-only SQL.
 *
 * store_backup, store_wal_checkpoint and store_quick_check open connections of their own and use no
 * field of the store that changes, so a pool thread may run them while the loop writes. The other
 * functions use the store's connection and belong to the loop's thread. Called by the controller's
 * housekeeping and by debug commands; declared in store.h. */
#include "store/store.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "store/query.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies all pages as they are at one moment into a file that no other program uses yet. */
static int pages_copy(const struct store *s, const char *to_path, struct err *err)
{
    sqlite3 *from = db_open(s->db_path, s->vfs, SQLITE_OPEN_READONLY, err), *to = NULL;
    sqlite3_backup *b = NULL;
    int rc = SQLITE_ERROR;

    if (!from)
        return -1;
    to = db_open(to_path, NULL, SQLITE_OPEN_READWRITE, err);
    if (to && db_setup(to, SETUP_SET_JOURNAL_OFF, err) == 0) {
        b = sqlite3_backup_init(to, "main", from, "main");
        rc = b && !FAULT("backup.step") ? sqlite3_backup_step(b, -1) : SQLITE_IOERR;
        sqlite3_backup_finish(b);
        if (rc != SQLITE_DONE)
            db_fail(to, rc, err);
    }
    sqlite3_close(to);
    sqlite3_close(from);
    return rc == SQLITE_DONE ? 0 : -1;
}

static int file_sync(const char *path, struct err *err)
{
    int fd = io->open(path, O_RDWR, 0), rc = -1;

    if (fd < 0)
        return err_errno(err, "open");
    if (FAULT("backup.fsync") || io->fsync(fd) < 0)
        err_errno(err, "fsync");
    else
        rc = 0;
    io->close(fd);
    return rc;
}

int store_backup(struct store *s, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? mem_strdup(path) : mem_strdup(".");
    char *tmp = NULL;
    int fd = -1, rc = -1;

    CHECK(path[0]);
    if (slash)
        dir[slash == path ? 1 : slash - path] = '\0';
    /* The name is taken first, so that of two backups to one path only one goes on. */
    if (FAULT("backup.open") ||
        (fd = io->open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)) < 0) {
        rc = errno == EEXIST ? err_set(err, ERR_CONFLICT, "the file exists")
                             : err_errno(err, "create");
        goto out;
    }
    io->close(fd);
    fd = io_open_aside(path, "tmp", 0600, &tmp, err);
    if (fd < 0)
        goto undo;
    io->close(fd);
    if (pages_copy(s, tmp, err) < 0 || file_sync(tmp, err) < 0)
        goto undo;
    if (FAULT("backup.rename") || io->rename(tmp, path) < 0) {
        err_errno(err, "rename");
        goto undo;
    }
    rc = io_fsync_dir(dir, err);
    goto out;
undo:
    if (tmp)
        io->unlink(tmp);
    io->unlink(path);
out:
    mem_free(tmp);
    mem_free(dir);
    return rc < 0 ? err_wrap(err, "backup to %s", path) : 0;
}

enum { PASSES = 5 };

int store_wal_checkpoint(const char *dir, struct err *err)
{
    size_t size = strlen(dir) + 16;
    char *path = mem_alloc(size);
    sqlite3 *db = NULL;
    int64_t version = 0;
    int rc = -1;

    snprintf(path, size, "%s/assay.db", dir);
    db = db_open(path, NULL, SQLITE_OPEN_READWRITE, err);
    /* The read comes first because a connection that has read nothing does not know of the log yet:
     * its checkpoint would do nothing and report success. */
    if (db && db_setup_i64(db, SETUP_READ_VERSION, &version, err) == 0) {
        /* PASSIVE does not wait for readers; pages that one still needs are left for the next
         * checkpoint. The log begins again only when all of it was moved, and meanwhile more may
         * have been written: that little is moved at once, too. */
        int step = FAULT("store.checkpoint") ? SQLITE_IOERR : SQLITE_OK, in_log = 1, moved = 0;

        for (int i = 0; i < PASSES && step == SQLITE_OK && moved < in_log; i++)
            step = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
        rc = step == SQLITE_OK ? 0 : db_fail(db, step, err);
    }
    sqlite3_close(db);
    mem_free(path);
    return rc < 0 ? err_wrap(err, "checkpoint") : 0;
}

/* Runs a SETUP statement whose rows name damage; only a row with the text `fine` names none. 0 when
 * there is no damage, -1 with the first damage found. */
static int findings_none(struct store *s, enum setup_id id, const char *fine, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = FAULT("store.check") ? SQLITE_IOERR
                                  : sqlite3_prepare_v2(s->db, setup_text[id], -1, &stmt, NULL);
    int found = 0;

    while (rc == SQLITE_OK && !found && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        rc = SQLITE_OK;
        if (!fine || !text || strcmp(text, fine) != 0)
            found = err_set(err, ERR_IO, "integrity: %s: %s",
                            fine ? "damaged" : "broken reference in", text ? text : "?");
    }
    if (!found && rc != SQLITE_OK && rc != SQLITE_DONE)
        found = db_fail(s->db, rc, err);
    sqlite3_finalize(stmt);
    return found;
}

int store_integrity(struct store *s, struct err *err)
{
    if (findings_none(s, SETUP_QUICK_CHECK, "ok", err) < 0)
        return -1;
    return findings_none(s, SETUP_FOREIGN_KEY_CHECK, NULL, err);
}

int store_quick_check(const char *dir, struct err *err)
{
    struct store s = { 0 };
    size_t size = strlen(dir) + 16;
    char *path = mem_alloc(size);
    int rc = -1;

    snprintf(path, size, "%s/assay.db", dir);
    s.db = db_open(path, NULL, SQLITE_OPEN_READONLY, err);
    if (s.db)
        rc = findings_none(&s, SETUP_QUICK_CHECK, "ok", err);
    sqlite3_close(s.db);
    mem_free(path);
    return rc < 0 ? err_wrap(err, "%s", dir) : 0;
}

/* Hashes the type, the length and the bytes of one value. With the length, two different rows never
 * give the same sequence of bytes. */
static void digest_value(struct sha256 *h, sqlite3_stmt *stmt, int i)
{
    int type = sqlite3_column_type(stmt, i);
    unsigned char tag[9] = { (unsigned char)type };
    const void *p = NULL;
    uint64_t n = 0;

    if (type == SQLITE_INTEGER) {
        n = (uint64_t)sqlite3_column_int64(stmt, i);
    } else if (type == SQLITE_FLOAT) {
        double v = sqlite3_column_double(stmt, i);

        memcpy(&n, &v, sizeof n);
    } else if (type != SQLITE_NULL) {
        p = sqlite3_column_blob(stmt, i);
        n = (uint64_t)sqlite3_column_bytes(stmt, i);
    }
    for (int b = 0; b < 8; b++)
        tag[1 + b] = (unsigned char)(n >> (8 * b));
    sha256_add(h, tag, sizeof tag);
    if (p)
        sha256_add(h, p, (size_t)n);
}

int store_digest(struct store *s, char out[SHA256_HEX], struct err *err)
{
    struct sha256 h;

    sha256_init(&h);
    for (int id = SQL_DIGEST_FIRST; id <= SQL_DIGEST_LAST; id++) {
        struct query q = query_open(s, (enum sql_id)id);
        int rc = 0, n = sqlite3_column_count(q.stmt);

        sha256_add(&h, &id, sizeof id);
        while ((rc = query_step(&q, err)) == 1) {
            for (int i = 0; i < n; i++)
                digest_value(&h, q.stmt, i);
        }
        query_close(&q);
        if (rc < 0)
            return -1;
    }
    sha256_end_hex(&h, out);
    return 0;
}

/* One call of these functions may take any time, depending on its argument. SQLite cannot be stopped
 * within such a call, so the time limit below would not hold. */
static bool is_boundless(const char *function)
{
    static const char *const names[] = { "printf", "format", "randomblob", "zeroblob" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (function && sqlite3_stricmp(function, names[i]) == 0)
            return true;
    }
    return false;
}

/* While a user's statement is compiled, only reading is allowed: no PRAGMA, no ATTACH, no transaction
 * and no write. */
static int on_authorize(void *arg, int action, const char *a, const char *b, const char *c,
                        const char *d)
{
    (void)arg, (void)a, (void)c, (void)d;
    switch (action) {
    case SQLITE_FUNCTION:
        return is_boundless(b) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static json_t *cell_new(sqlite3_stmt *stmt, int i)
{
    const char *text = NULL;
    json_t *v = NULL;

    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(stmt, i));
    case SQLITE_FLOAT:
        return jsonx_real(sqlite3_column_double(stmt, i));
    case SQLITE_TEXT:
        text = (const char *)sqlite3_column_text(stmt, i);
        v = json_stringn(text, (size_t)sqlite3_column_bytes(stmt, i));
        return v ? v : json_string("(not UTF-8)");
    case SQLITE_BLOB:
        return json_pack("{s:i}", "bytes", sqlite3_column_bytes(stmt, i));
    default:
        return json_null();
    }
}

static int row_tell(sqlite3_stmt *stmt, int (*on_row)(void *arg, const char *json), void *arg)
{
    json_t *row = json_object();
    char *text = NULL;
    int stop = 0;

    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        json_object_set_new(row, sqlite3_column_name(stmt, i), cell_new(stmt, i));
    text = jsonx_dump(row);
    stop = on_row(arg, text);
    mem_free(text);
    json_decref(row);
    return stop;
}

/* SQL_MS: a user's statement runs on the loop's thread, and while it runs the controller does nothing
 * else; one second is enough for debugging. SQL_STEPS: SQLite's instructions between two looks at
 * the clock. SQL_VALUE_BYTES: the largest value that the statement may make. */
enum { SQL_MS = 1000, SQL_STEPS = 20000, SQL_VALUE_BYTES = 4 << 20 };

static int on_steps(void *arg)
{
    struct clk clk;

    clk_init_system(&clk);
    return clk_now_ms(&clk) >= *(const int64_t *)arg;
}

int store_sql_readonly(struct store *s, const char *sql, int (*on_row)(void *arg, const char *json),
                       void *arg, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *tail = "";
    struct clk clk;
    int64_t end = 0;
    int rc = SQLITE_OK, stop = 0;

    sqlite3_set_authorizer(s->db, on_authorize, NULL);
    rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, &tail);
    sqlite3_set_authorizer(s->db, NULL, NULL);
    if (rc == SQLITE_AUTH)
        return err_set(err, ERR_DENIED, "only one SELECT may be run here");
    if (rc != SQLITE_OK)
        return err_set(err, ERR_ARG, "%s", sqlite3_errmsg(s->db));
    if (!stmt || tail[strspn(tail, " \t\r\n;")] != '\0') {
        sqlite3_finalize(stmt);
        return err_set(err, ERR_ARG, "one statement is expected");
    }
    if (!sqlite3_stmt_readonly(stmt)) { /* for VACUUM, SQLite does not call the authorizer */
        sqlite3_finalize(stmt);
        return err_set(err, ERR_DENIED, "only one SELECT may be run here");
    }
    clk_init_system(&clk);
    end = clk_now_ms(&clk) + SQL_MS;
    sqlite3_progress_handler(s->db, SQL_STEPS, on_steps, &end);
    int most = sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, SQL_VALUE_BYTES);
    while (!stop && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        stop = row_tell(stmt, on_row, arg);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, most);
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    if (rc == SQLITE_INTERRUPT)
        stop = err_set(err, ERR_TOOBIG,
                       "the statement took over %d ms, in which the controller does nothing else: "
                       "narrow it, or ask a backup",
                       SQL_MS);
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        stop = store_fail(s, rc, err);
    sqlite3_finalize(stmt);
    return stop < 0 ? -1 : 0;
}
