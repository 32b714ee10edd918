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
 * Called by the controller at the end of each loop turn and around each request, and by every
 * function of store/ that makes several writes. */
#include "store/store.h"

#include "base/fault.h"
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
    return 0;
}

static int run(struct store *s, enum sql_id id, struct err *err)
{
    struct query q = query_open(s, id);

    return query_run(&q, err) < 0 ? -1 : 0;
}

static void turn_end(struct store *s)
{
    s->turn_is_open = s->turn_is_broken = s->blob_rows_dropped = false;
    s->broken_code = ERR_NONE;
    s->depth = 0;
}

int store_turn_commit(struct store *s, struct err *err)
{
    CHECK(s->depth == 0); /* a request forgot its savepoint */
    if (!s->turn_is_open)
        return 0;
    if (s->turn_is_broken)
        broken(s, err);
    else if (FAULT("turn.commit"))
        err_set(err, ERR_IO, "commit: injected fault");
    else if (run(s, SQL_COMMIT, err) == 0) {
        CHECK(sqlite3_get_autocommit(s->db));
        if (s->journal_last != s->journal_was[0] || !s->is_noted)
            store_note(s, true);
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
    sp->store = s;
    sp->depth = s->depth;
    return 0;
}

int savepoint_keep(struct savepoint *sp, struct err *err)
{
    struct store *s = sp->store;

    CHECK(s && sp->depth == s->depth);
    if (s->turn_is_broken)
        broken(s, err);
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
