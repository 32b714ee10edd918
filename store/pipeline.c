/* pipeline.c - the pipelines of a study's trials: one row for each that differs. Declared in study.h;
 * called on the loop's thread by controller/state/pipelines.c. */
#include "base/mem.h"
#include "store/query.h"
#include "store/study.h"

int store_pipeline_put(struct store *s, int64_t study, const char *key, const char *data_json,
                       struct err *err)
{
    struct query q = query_open(s, SQL_PIPELINE_PUT);

    query_i64(&q, ":study", study);
    query_text(&q, ":key", key);
    query_text(&q, ":data", data_json);
    query_i64(&q, ":most", PIPELINES_MOST);
    return query_run(&q, err) < 0 ? err_wrap(err, "pipeline of study %lld", (long long)study) : 0;
}

int store_pipeline_get(struct store *s, int64_t study, const char *key, char **data_json,
                       struct err *err)
{
    struct query q = query_open(s, SQL_PIPELINE_GET);

    query_i64(&q, ":study", study);
    query_text(&q, ":key", key);
    int rc = query_step(&q, err);
    if (rc == 1)
        *data_json = mem_strdup(query_col_text(&q, 0));
    query_close(&q);
    return rc;
}
