/* journal.c - appends to the journal and reads it back.
 *
 * The last number is kept in memory (journal_last); turn.c sets it back when a savepoint or a turn
 * is undone. So committed rows are numbered without gaps, except where a study was deleted, and no
 * committed number is used twice. journal_add is called inside the savepoint of the change that it
 * records; readers are the event stream, the trial's history and replay.c's check. */
#include "store/journal.h"

#include "base/mem.h"
#include "store/query.h"

int journal_load_last(struct store *s, struct err *err)
{
    struct query q = query_open(s, SQL_JOURNAL_LAST);
    int rc = query_step(&q, err);

    CHECK(rc != 0); /* a SELECT of max() always returns one row */
    if (rc == 1)
        s->journal_last = s->journal_committed = s->journal_durable = query_col_i64(&q, 0);
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

int64_t journal_last(const struct store *s)
{
    return s->journal_last;
}

int64_t journal_durable(const struct store *s)
{
    return s->journal_durable;
}

int journal_add(struct store *s, int64_t study, int64_t trial, const char *event,
                const char *data_json, struct err *err)
{
    struct query q;

    CHECK(event && event[0] && study >= 0 && trial >= 0);
    if (turn_begin(s, err) < 0) /* first, because it saves journal_last for a rollback */
        return -1;
    q = query_open(s, SQL_JOURNAL_ADD);
    query_i64(&q, ":seq", s->journal_last + 1);
    query_i64(&q, ":at", clk_wall_ms(s->clk));
    query_ref(&q, ":study", study);
    query_ref(&q, ":trial", trial);
    query_text(&q, ":event", event);
    query_text(&q, ":data", data_json);
    if (query_run(&q, err) < 0)
        return err_wrap(err, "journal");
    s->journal_last++;
    return 0;
}

int journal_add_new(struct store *s, int64_t study, int64_t trial, const char *event, json_t *data,
                    struct err *err)
{
    char *text = NULL;
    int rc = 0;

    CHECK(
        data); /* json_pack fails only for text that is not UTF-8; requests with such are refused */
    text = jsonx_dump(data);
    rc = journal_add(s, study, trial, event, text, err);
    mem_free(text);
    json_decref(data);
    return rc;
}

/* Passes each row of `q` to on_row until the rows end or on_row stops, then closes `q`. */
static int each(struct query *q, int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                struct err *err)
{
    int rc = 0, stop = 0;

    while (!stop && (rc = query_step(q, err)) == 1) {
        struct journal_row row = {
            .seq = query_col_i64(q, 0),
            .at = query_col_i64(q, 1),
            .study = query_col_i64(q, 2),
            .trial = query_col_i64(q, 3),
            .event = query_col_text(q, 4),
            .data = query_col_text(q, 5),
        };

        stop = on_row(arg, &row);
    }
    query_close(q);
    return rc < 0 || stop < 0 ? -1 : 0;
}

int store_journal_each(struct store *s, int64_t study, int64_t after, int limit,
                       int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                       struct err *err)
{
    struct query q = query_open(s, study ? SQL_JOURNAL_STUDY : SQL_JOURNAL_EACH);

    if (study)
        query_i64(&q, ":study", study);
    query_i64(&q, ":after", after);
    query_i64(&q, ":limit", limit);
    return each(&q, on_row, arg, err);
}

int store_journal_count(struct store *s, int64_t study, int64_t after, int64_t limit, int64_t *out,
                        struct err *err)
{
    struct query q = query_open(s, SQL_JOURNAL_COUNT);
    int rc = 0;

    query_i64(&q, ":study", study);
    query_i64(&q, ":after", after);
    query_i64(&q, ":limit", limit);
    rc = query_step(&q, err);
    if (rc == 1)
        *out = query_col_i64(&q, 0);
    query_close(&q);
    return rc == 1 ? 0 : -1;
}

int store_journal_trial(struct store *s, int64_t trial, int limit,
                        int (*on_row)(void *arg, const struct journal_row *row), void *arg,
                        struct err *err)
{
    struct query q = query_open(s, SQL_JOURNAL_TRIAL);

    query_i64(&q, ":trial", trial);
    query_i64(&q, ":limit", limit);
    return each(&q, on_row, arg, err);
}
