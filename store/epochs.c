/* epochs.c - how the networks of a trial learned, epoch by epoch: one row for each time that its
 * folds began anew.
 *
 * The rows hold measured speeds. They are therefore no part of the journal or of a replay,
 * and the digest does not read them: a trial is the same without them. Declared in trial.h; called on the loop's thread by
 * controller/state/epochs.c. */
#include "store/query.h"
#include "store/trial.h"

static int trim(struct store *s, int64_t trial, int level, struct err *err)
{
    struct query q = query_open(s, SQL_EPOCHS_TRIM);

    query_i64(&q, ":trial", trial);
    query_i64(&q, ":level", level);
    query_i64(&q, ":most", EPOCHS_RUNS);
    return query_run(&q, err) < 0 ? -1 : 0;
}

int store_epochs_put(struct store *s, int64_t trial, int level, const char *data_json,
                     struct err *err)
{
    struct savepoint sp;
    struct query q;

    CHECK(trial > 0 && level >= 1 && data_json);
    if (savepoint_open(&sp, s, err) < 0)
        return -1;
    q = query_open(s, SQL_EPOCHS_PUT);
    query_i64(&q, ":trial", trial);
    query_i64(&q, ":level", level);
    query_text(&q, ":data", data_json);
    if (query_run(&q, err) < 0 || trim(s, trial, level, err) < 0)
        goto rollback;
    if (savepoint_keep(&sp, err) == 0)
        return 0;
rollback:
    savepoint_undo(&sp);
    return err_wrap(err, "epochs of trial %lld", (long long)trial);
}

int store_epochs_each(struct store *s, int64_t trial,
                      int (*on_row)(void *arg, int level, const char *data_json), void *arg,
                      struct err *err)
{
    struct query q = query_open(s, SQL_EPOCHS_EACH);
    int rc = 0, stop = 0;

    query_i64(&q, ":trial", trial);
    while (!stop && (rc = query_step(&q, err)) == 1)
        stop = on_row(arg, (int)query_col_i64(&q, 0), query_col_text(&q, 1));
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}
