/* store.c - opens and closes the data folder: lock, database file, pragmas, schema, statements.
 *
 * The order of the steps matters:
 *   1. The lock is taken first, so that two controllers never read or write the same folder.
 *   2. The schema version is read from the file's header before SQLite opens the file, so that a
 *      database of a newer Assay is refused without changing a byte of it.
 *   3. The schema is brought up to date and the statements are prepared.
 *   4. The folders are synced, so that the names of all files survive a power cut.
 *
 * Called by assayd at start and end, and by debug commands through store_open_readonly. */
#include "store/store.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/migrate.h"
#include "store/query.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x41737361, /* "Assa": marks an SQLite file as one of Assay's */
    /* Pages of 4 KiB. With ten thousand runners the log grows by 10 to 20 MB a second. When SQLite
     * moved it within a commit, at 16,384 pages, the loop stood still for 100 to 200 ms. */
    LOG_PAGES = 8192,
    LOG_PAGES_MOST = 65536
};

static char *path_join(const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = mem_alloc(size);

    snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* Allows one controller per folder. flock is used because it also keeps two stores of one process
 * apart, and because the kernel releases it when the process ends in any way. */
static int lock_take(struct store *s, struct err *err)
{
    char *path = path_join(s->dir, "lock");
    int rc = 0;

    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0)
        rc = err_errno(err, "open %s", path);
    else if (FAULT("store.lock") || flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
        rc = err_set(err, ERR_BUSY,
                     "another assayd uses this folder: stop it, or choose another --data-dir");
    mem_free(path);
    return rc;
}

/* The lock file also holds the number of the journal's last committed row and whether the folder is
 * open. From these a start can tell that the database has been replaced by an older one, and that
 * the previous program did not end by itself. The note is written after the commit, so it is never
 * ahead of the database; therefore it need not be synced. */
static void note_read(struct store *s)
{
    static const char head[] = "journal ";
    char text[64] = "", *end = NULL;
    long long last = 0;

    if (pread(s->lock_fd, text, sizeof text - 1, 0) <= 0 || !str_starts(text, head))
        return;
    last = strtoll(text + sizeof head - 1, &end, 10);
    if (last > 0 && *end == ' ') {
        s->last_known = last;
        s->ended_badly = str_starts(end + strspn(end, " "), "open");
    }
}

void store_note(struct store *s, bool is_open)
{
    char text[64];
    int n = 0;

    if (s->lock_fd < 0)
        return;
    n = snprintf(text, sizeof text, "journal %-20lld %-6s\n", (long long)s->journal_durable,
                 is_open ? "open" : "closed");
    s->is_noted = pwrite(s->lock_fd, text, (size_t)n, 0) == n; /* a failure costs only a warning */
}

/* True when blobs/ has at least one folder, which is made with its first blob. */
static bool has_blobs(const struct store *s)
{
    char *path = path_join(s->dir, "blobs");
    DIR *d = opendir(path);
    bool has = false;

    for (const struct dirent *e = NULL; d && !has && (e = readdir(d));)
        has = e->d_name[0] != '.';
    if (d)
        closedir(d);
    mem_free(path);
    return has;
}

/* A database without any table is normal in a new folder. In a folder that was in use before, it
 * means that the file or its log was lost, so that is refused unless the user passed --new. */
static int empty_check(struct store *s, struct err *err)
{
    int64_t version = 0;

    if (db_setup_i64(s->db, SETUP_READ_VERSION, &version, err) < 0)
        return -1;
    if (version != 0 || (s->last_known == 0 && !has_blobs(s)))
        return 0;
    if (!s->may_be_empty)
        return err_set(
            err, ERR_CONFLICT,
            "the database is empty or missing (assay.db, assay.db-wal), though the folder "
            "was in use before: put it back, or a backup, or start assayd once with "
            "--new to begin without it");
    (void)!snprintf(s->warning, sizeof s->warning,
                    "the folder was in use before, and its database is empty or missing: beginning "
                    "without it, as --new says");
    return 0;
}

/* Warns when the journal ends before the row that the lock file names as the last committed one:
 * the database file or its log was lost, cut short, or replaced by an older copy. */
static void age_check(struct store *s)
{
    if (!s->warning[0] && s->journal_last < s->last_known)
        (void)!snprintf(s->warning, sizeof s->warning,
                        "the database is older than when it was last used: its journal ends at "
                        "%" PRId64 ", it ended at %" PRId64
                        "; assay.db or assay.db-wal was lost, damaged or replaced",
                        s->journal_last, s->last_known);
}

const char *store_warning(const struct store *s)
{
    return s->warning;
}

bool store_ended_badly(const struct store *s)
{
    return s->ended_badly;
}

static int version_check(int64_t version, int64_t application, struct err *err)
{
    if (application != APPLICATION_ID && (application != 0 || version != 0))
        return err_set(err, ERR_ARG, "the database is not one of Assay's");
    if (version > store_version_newest())
        return err_set(err, ERR_VERSION,
                       "the database has schema %" PRId64
                       ", this program knows up to %d: use a newer one",
                       version, store_version_newest());
    return 0;
}

/* Bytes 60..63 and 68..71 of a database file are user_version and application_id, big-endian (SQLite's file format). */
static int header_check(const char *path, struct err *err)
{
    uint8_t h[72];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(err, "open %s", path);
    got = pread(fd, h, sizeof h, 0);
    close(fd);
    if (got < 0)
        return err_errno(err, "read %s", path);
    if (got < (ssize_t)sizeof h)
        return 0; /* new, or its first transaction is still in the log: SQLite decides */
    if (memcmp(h, "SQLite format 3", 16) != 0)
        return 0; /* not an SQLite file: SQLite reports that when it opens it */
    return version_check((int64_t)h[60] << 24 | h[61] << 16 | h[62] << 8 | h[63],
                         (int64_t)h[68] << 24 | h[69] << 16 | h[70] << 8 | h[71], err);
}

/* The same check on the version that SQLite reads. This one counts: the newest version may still
 * stand in the log and not in the file's header. */
static int log_check(sqlite3 *db, struct err *err)
{
    int64_t version = 0, application = 0;

    if (db_setup_i64(db, SETUP_READ_VERSION, &version, err) < 0 ||
        db_setup_i64(db, SETUP_READ_APPLICATION, &application, err) < 0)
        return -1;
    return version_check(version, application, err);
}

/* After each commit. The owner moves the log into the file beside its loop (store_log_grown); only if
 * that does not keep up, it is done here, as SQLite would do it, and the loop waits for the disk. */
static int on_log_grown(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct store *s = arg;

    if (pages < s->log_folded)
        s->log_folded = 0; /* the log has begun again */
    s->log_pages = pages;
    if (pages >= LOG_PAGES_MOST)
        (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

bool store_log_grown(struct store *s)
{
    if (s->log_pages - s->log_folded < LOG_PAGES)
        return false;
    s->log_folded = s->log_pages;
    return true;
}

static int schema_open(struct store *s, struct err *err)
{
    static const enum setup_id pragmas[] = {
        SETUP_SET_WAL,          SETUP_SET_SYNCHRONOUS,    SETUP_SET_FOREIGN_KEYS,
        SETUP_SET_SIZE_LIMIT,   SETUP_SET_TRUSTED_SCHEMA, SETUP_SET_TEMP_STORE,
        SETUP_SET_SECURE_DELETE
    };
    int64_t application = 0;
    bool is_unsynced = io == &io_unsynced;

    /* Closing a connection moves the log into the file. Until the version is known to be ours, this
     * is switched off, because a database of a newer Assay must stay as it is. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (log_check(s->db, err) < 0 || empty_check(s, err) < 0)
        return -1;
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    for (size_t i = 0; i < ARRAY_LEN(pragmas); i++) {
        if (db_setup(s->db, pragmas[i], err) < 0)
            return -1;
    }
    sqlite3_wal_hook(s->db, on_log_grown, s);
    if (is_unsynced && db_setup(s->db, SETUP_SET_UNSYNCED, err) < 0)
        return -1;
    if (db_setup_i64(s->db, SETUP_READ_APPLICATION, &application, err) < 0 ||
        (application == 0 && db_setup(s->db, SETUP_SET_APPLICATION, err) < 0) ||
        store_migrate(s->db, err) < 0)
        return -1;
    /* A process that was killed during a commit may leave that commit complete in the page cache but
     * not synced. This start would read it and tell clients of it, and a later power cut could
     * still undo it. A checkpoint syncs the log first and so makes the commit durable. */
    return db_setup(s->db, SETUP_CHECKPOINT, err);
}

/* Syncs the folder that holds the data folder, so that the data folder's own name is durable. A
 * parent that we may not read is left out: such a system folder existed before. */
static int parent_sync(const char *dir, struct err *err)
{
    char *parent = path_join(dir, "..");
    int rc = access(parent, R_OK) == 0 ? io_fsync_dir(parent, err) : 0;

    mem_free(parent);
    return rc;
}

/* Syncs the folders' names at every start, also when they exist already. A start that was killed
 * may have made a folder without syncing its name; a later power cut would then lose the folder
 * with everything that was acknowledged since. */
static int folders_make(const struct store *s, struct err *err)
{
    char *blobs = path_join(s->dir, "blobs"), *uploads = path_join(s->dir, "uploads");
    int rc = parent_sync(s->dir, err);

    if (rc == 0)
        rc = io_mkdirs(blobs, 0700, err);
    if (rc == 0)
        rc = io_mkdirs(uploads, 0700, err);
    mem_free(blobs);
    mem_free(uploads);
    return rc;
}

/* Takes away other users' rights on the database files; earlier versions left them readable. */
static int files_close(const struct store *s, struct err *err)
{
    static const char *const names[] = { "assay.db", "assay.db-wal", "assay.db-shm" };
    int rc = 0;

    for (size_t i = 0; i < ARRAY_LEN(names) && rc == 0; i++) {
        char *path = path_join(s->dir, names[i]);
        struct stat st;

        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) != 0 &&
            chmod(path, 0600) < 0)
            rc = err_errno(err, "chmod 600 %s", path);
        mem_free(path);
    }
    return rc;
}

static struct store *store_new(const char *dir, const char *vfs, const struct clk *clk)
{
    struct store *s = mem_zalloc(sizeof *s);

    s->dir = mem_strdup(dir);
    s->db_path = path_join(dir, "assay.db");
    s->vfs = mem_strdup(vfs);
    s->clk = clk;
    s->lock_fd = -1;
    return s;
}

static struct store *open_it(const char *dir, const char *vfs, struct clk *clk, bool may_be_empty,
                             struct err *err)
{
    struct store *s = store_new(dir, vfs, clk);

    s->may_be_empty = may_be_empty;

    CHECK(clk); /* journal rows carry its time */
    if (io_private_dir(s->dir, err) < 0 || files_close(s, err) < 0 || lock_take(s, err) < 0)
        goto fail;
    note_read(s);
    if (header_check(s->db_path, err) < 0 || folders_make(s, err) < 0)
        goto fail;
    s->db = db_open(s->db_path, vfs, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!s->db || schema_open(s, err) < 0 || query_prepare_all(s, err) < 0 ||
        journal_load_last(s, err) < 0)
        goto fail;
    if (io_fsync_dir(s->dir, err) < 0)
        goto fail;
    age_check(s);
    s->is_open = true;
    return s;
fail:
    err_wrap(err, "%s", dir);
    store_close(s);
    return NULL;
}

struct store *store_open(const char *dir, const char *vfs, struct clk *clk, struct err *err)
{
    return open_it(dir, vfs, clk, false, err);
}

struct store *store_open_empty(const char *dir, const char *vfs, struct clk *clk, struct err *err)
{
    return open_it(dir, vfs, clk, true, err);
}

struct store *store_open_readonly(const char *dir, struct err *err)
{
    struct store *s = store_new(dir, NULL, NULL);
    int64_t version = 0;

    s->is_readonly = true;
    if (io_file_bytes(s->db_path) < 0) {
        err_set(err, ERR_NOTFOUND, "no database here");
        goto fail;
    }
    if (header_check(s->db_path, err) < 0)
        goto fail;
    s->db = db_open(s->db_path, NULL, SQLITE_OPEN_READONLY, err);
    if (!s->db || log_check(s->db, err) < 0 ||
        db_setup_i64(s->db, SETUP_READ_VERSION, &version, err) < 0)
        goto fail;
    if (version < store_version_newest()) {
        err_set(err, ERR_VERSION,
                "the database has schema %" PRId64 ", older than this program's: start assayd once",
                version);
        goto fail;
    }
    if (db_setup(s->db, SETUP_SET_QUERY_ONLY, err) < 0 || query_prepare_all(s, err) < 0 ||
        journal_load_last(s, err) < 0)
        goto fail;
    return s;
fail:
    err_wrap(err, "%s", dir);
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->db) {
        store_turn_rollback(s); /* what was not committed was not acknowledged */
        if (s->is_sync_apart && store_owes_sync(s) && store_sync(s, NULL) == 0)
            store_synced(s);
        query_finalize_all(s);
        CHECK(sqlite3_close(s->db) == SQLITE_OK);
    }
    if (s->is_open)
        store_note(s, false);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    mem_free(s->gone);
    mem_free(s->dir);
    mem_free(s->db_path);
    mem_free(s->vfs);
    mem_free(s);
}

int64_t store_db_bytes(const struct store *s)
{
    char *wal = path_join(s->dir, "assay.db-wal");
    int64_t db = io_file_bytes(s->db_path), log = io_file_bytes(wal);

    mem_free(wal);
    return MAX(db, 0) + MAX(log, 0);
}
