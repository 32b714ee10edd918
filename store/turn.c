/* turn.c - the loop turn's transaction and the savepoints in it.
 *
 * The first write of a turn begins its transaction; store_turn_commit or store_turn_rollback ends
 * it. SQLite may roll back a whole transaction by itself (disk full, I/O error). The turn is then
 * marked as broken: all its later writes fail and so does its commit. Without this mark, later
 * writes would each be committed on their own, and half a turn would be stored.
 *
 * The journal's last number is kept in memory. It is saved when the turn or a savepoint begins
 * (journal_was) and set back when that turn or savepoint is undone.
 *
 * A commit is numbered, and is durable when the log is synced behind it. Commonly SQLite syncs it
 * within the commit. After store_sync_apart it does not, and the owner calls store_sync, which may
 * run on another thread: it uses nothing but the log's file, whose place in the connection does not
 * change while the connection is open. SQLite itself still syncs the log before a checkpoint copies
 * pages from it, and the log's header when the log begins again, so that the log on the disk is
 * always a beginning of what was committed.
 *
 * Called by the controller at the end of each loop turn and around each request, and by every
 * function of store/ that makes several writes. */
#include "store/store.h"

#include "base/fault.h"
#include "base/io.h"
#include "store/query.h"

static int broken(const struct store *s, struct err *err)
{
    if (s->broken_code == ERR_FULL)
        return err_set(err, ERR_FULL, "the disk of the data folder is full");
    return err_set(err, ERR_IO, "the turn's transaction was rolled back");
}

int turn_begin(struct store *s, struct err *err)
{
    struct query q;

    if (s->turn_is_broken)
        return broken(s, err);
    if (s->turn_is_open)
        return 0;
    if (s->is_readonly)
        return err_set(err, ERR_DENIED, "the store is opened to read");
    CHECK(s->depth == 0 && sqlite3_get_autocommit(s->db));
    s->turn_is_open =
        true; /* set first: stepping BEGIN calls turn_begin, which must return at once */
    q = query_open(s, SQL_BEGIN);
    if (query_run(&q, err) < 0) {
        s->turn_is_open = s->turn_is_broken = false;
        return -1;
    }
    CHECK(!sqlite3_get_autocommit(s->db));
    s->journal_was[0] = s->journal_last;
    s->changes_was = sqlite3_total_changes64(s->db);
    return 0;
}

static int run(struct store *s, enum sql_id id, struct err *err)
{
    struct query q = query_open(s, id);

    return query_run(&q, err) < 0 ? -1 : 0;
}

static void turn_end(struct store *s)
{
    s->turn_is_open = s->turn_is_broken = false;
    s->broken_code = ERR_NONE;
    s->depth = 0;
}

int store_sync_apart(struct store *s, struct err *err)
{
    CHECK(!s->turn_is_open && s->n_durable == s->n_commits);
    if (io == &io_unsynced) /* such a folder waits for no disk at all */
        return 0;
    if (db_setup(s->db, SETUP_SET_SYNC_APART, err) < 0)
        return -1;
    CHECK(sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&s->log) ==
              SQLITE_OK &&
          s->log && s->log->pMethods);
    s->is_sync_apart = true;
    /* Synced once on this thread: the first sync of a new log also syncs its folder, and notes in
     * SQLite's own structures that it did. */
    return store_sync(s, err);
}

bool store_owes_sync(const struct store *s)
{
    return s->n_durable < s->n_commits;
}

int store_sync(struct store *s, struct err *err)
{
    CHECK(s->is_sync_apart);
    if (FAULT("turn.sync") ||
        s->log->pMethods->xSync(s->log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) != SQLITE_OK)
        return err_set(err, ERR_IO, "the database's log cannot be synced to the disk");
    return 0;
}

void store_synced(struct store *s)
{
    s->n_durable = s->n_commits;
    s->journal_durable = s->journal_committed;
    store_note(s, true);
}

/* The transaction has been committed. */
static void committed(struct store *s)
{
    bool is_new = s->journal_last != s->journal_was[0] || !s->is_noted;

    CHECK(sqlite3_get_autocommit(s->db));
    /* A turn that only read has added nothing to the log, so there is nothing to sync. */
    if (sqlite3_total_changes64(s->db) == s->changes_was && s->is_noted)
        return;
    s->n_commits++;
    s->journal_committed = s->journal_last;
    if (s->is_sync_apart)
        return;
    s->n_durable = s->n_commits;
    s->journal_durable = s->journal_committed;
    if (is_new)
        store_note(s, true);
}

int store_turn_commit(struct store *s, struct err *err)
{
    CHECK(s->depth == 0);                            /* a request forgot its savepoint */
    CHECK(!s->is_sync_apart || !store_owes_sync(s)); /* one commit at a time is synced */
    if (!s->turn_is_open)
        return 0;
    if (s->turn_is_broken)
        broken(s, err);
    else if (FAULT("turn.commit"))
        err_set(err, ERR_IO, "commit: injected fault");
    else if (run(s, SQL_COMMIT, err) == 0) {
        committed(s);
        turn_end(s);
        return 0;
    }
    store_turn_rollback(s);
    return err_wrap(err, "commit");
}

void store_turn_rollback(struct store *s)
{
    if (!s->turn_is_open)
        return;
    /* Stepped directly and not by query_run, because an injected fault must not stop a rollback.
     * SQLite's ROLLBACK fails only when no transaction is open. */
    if (!sqlite3_get_autocommit(s->db)) {
        sqlite3_step(s->stmt[SQL_ROLLBACK]);
        sqlite3_reset(s->stmt[SQL_ROLLBACK]);
    }
    CHECK(sqlite3_get_autocommit(s->db));
    s->journal_last = s->journal_was[0];
    s->dropped_in = MIN(s->dropped_in, s->n_commits);
    turn_end(s);
}

bool store_turn_is_open(const struct store *s)
{
    return s->turn_is_open;
}

int savepoint_open(struct savepoint *sp, struct store *s, struct err *err)
{
    CHECK(s->depth < SAVEPOINT_MAX);
    *sp = (struct savepoint){ 0 };
    if (turn_begin(s, err) < 0 || run(s, SQL_SAVEPOINT, err) < 0)
        return -1;
    s->journal_was[++s->depth] = s->journal_last;
    s->is_spoiled[s->depth] = false;
    sp->store = s;
    sp->depth = s->depth;
    return 0;
}

int savepoint_join(struct savepoint *sp, struct store *s, struct err *err)
{
    if (s->depth == 0)
        return savepoint_open(sp, s, err);
    *sp = (struct savepoint){ 0 };
    if (turn_begin(s, err) < 0)
        return -1;
    *sp = (struct savepoint){ .store = s, .depth = s->depth, .is_joined = true };
    return 0;
}

int savepoint_keep(struct savepoint *sp, struct err *err)
{
    struct store *s = sp->store;

    CHECK(s && sp->depth == s->depth);
    if (s->turn_is_broken)
        broken(s, err);
    else if (sp->is_joined) {
        sp->store = NULL;
        return 0;
    } else if (s->is_spoiled[s->depth])
        err_set(err, ERR_IO, "a part of the request could not be stored");
    else if (run(s, SQL_RELEASE, err) == 0) {
        s->depth--;
        sp->store = NULL;
        return 0;
    }
    savepoint_undo(sp);
    return -1;
}

void savepoint_undo(struct savepoint *sp)
{
    struct store *s = sp->store;

    if (!s)
        return; /* not opened, or closed already: error paths may call this in any case */
    CHECK(sp->depth == s->depth);
    if (sp->is_joined) {
        s->is_spoiled[s->depth] = true;
        sp->store = NULL;
        return;
    }
    if (!s->turn_is_broken) {
        /* Stepped directly, as in store_turn_rollback. If this fails, some writes of the savepoint
         * may remain, so the turn must not be committed. */
        if (sqlite3_step(s->stmt[SQL_ROLLBACK_TO]) != SQLITE_DONE ||
            sqlite3_step(s->stmt[SQL_RELEASE]) != SQLITE_DONE)
            s->turn_is_broken = true;
        sqlite3_reset(s->stmt[SQL_ROLLBACK_TO]);
        sqlite3_reset(s->stmt[SQL_RELEASE]);
    }
    CHECK(s->depth > 0 && s->journal_was[s->depth] <= s->journal_last);
    s->journal_last = s->journal_was[s->depth];
    s->depth--;
    sp->store = NULL;
}
