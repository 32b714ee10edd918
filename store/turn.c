/* turn.c - the loop turn's transaction and the savepoints in it.
 *
 * The first write of a turn begins it, store_turn_commit ends it, and nothing else does: SQLite may roll a whole
 * transaction back by itself (disk full, I/O error), and then the turn is broken: its later writes fail, so that no half
 * of it can be committed, and so does its commit. The journal's sequence steps back with whatever is undone. */
#include "store/store.h"

#include "base/fault.h"
#include "store/query.h"

static int broken(const struct store *s, struct err *err)
{
    if (s->broken_code == ERR_FULL)
        return err_set(err, ERR_FULL, "database: no space left on device");
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
    s->turn_is_open = true; /* before the step, which would begin a turn for BEGIN itself */
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
    /* Stepped directly: no fault point may stop a rollback. It fails only when there is nothing left to roll back. */
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
        return; /* never opened */
    CHECK(sp->depth == s->depth);
    if (!s->turn_is_broken) {
        /* Stepped directly, as in the rollback above; a failure here leaves the turn unfit to be committed. */
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
