/* output.c - what a trial's program printed, in numbered pieces.
 *
 * A piece is written once and never changed. The pieces are no part of the journal or of a replay,
 * because no decision rests on them. Declared in trial.h; called by controller/serve/message.c, and
 * by controller/api/trial.c for readers. */
#include "store/query.h"
#include "store/trial.h"

#include <string.h>

/* The last piece of the trial: its number and the bytes up to it; 0 and 0 if there is none. */
static int last_piece(struct store *s, int64_t trial, int64_t *piece, int64_t *total,
                      struct err *err)
{
    struct query q = query_open(s, SQL_OUTPUT_LAST);
    int rc = 0;

    *piece = *total = 0;
    query_i64(&q, ":trial", trial);
    rc = query_step(&q, err);
    if (rc == 1) {
        *piece = query_col_i64(&q, 0);
        *total = query_col_i64(&q, 1);
    }
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

int store_output_add(struct store *s, int64_t trial, int64_t fence, const char *text, int64_t most,
                     struct err *err)
{
    int64_t piece = 0, total = 0, n = (int64_t)strlen(text);
    struct query q;

    CHECK(trial > 0 && fence > 0);
    if (last_piece(s, trial, &piece, &total, err) < 0)
        return -1;
    if (n == 0 || total + n > most)
        return 0;
    q = query_open(s, SQL_OUTPUT_ADD);
    query_i64(&q, ":trial", trial);
    query_i64(&q, ":piece", piece + 1);
    query_i64(&q, ":fence", fence);
    query_i64(&q, ":at", clk_wall_ms(s->clk));
    query_i64(&q, ":total", total + n);
    query_text(&q, ":text", text);
    if (query_run(&q, err) < 0)
        return err_wrap(err, "output of trial %lld", (long long)trial);
    return 0;
}

int store_output_each(struct store *s, int64_t trial, int64_t after, int limit,
                      int (*on_row)(void *arg, const struct output_row *row), void *arg,
                      struct err *err)
{
    struct query q = query_open(s, SQL_OUTPUT_EACH);
    int rc = 0, stop = 0;

    query_i64(&q, ":trial", trial);
    query_i64(&q, ":after", after);
    query_i64(&q, ":limit", limit);
    while (!stop && (rc = query_step(&q, err)) == 1) {
        struct output_row row = { .piece = query_col_i64(&q, 0),
                                  .fence = query_col_i64(&q, 1),
                                  .at = query_col_i64(&q, 2),
                                  .text = query_col_text(&q, 3) };
        stop = on_row(arg, &row);
    }
    query_close(&q);
    return rc < 0 || stop < 0 ? -1 : 0;
}
