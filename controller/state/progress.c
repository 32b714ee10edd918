/* progress.c - the column `result` of a study that has not ended (progress.h). */
#include "controller/state/progress.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/board.h"
#include "store/runner.h"

#include <string.h>

json_t *progress_load(const struct study *st)
{
    struct err ignored = { 0 };
    json_t *o = st->row.result
                    ? jsonx_load(st->row.result, strlen(st->row.result), "result", &ignored)
                    : NULL;

    if (json_is_object(o))
        return o;
    json_decref(o);
    return json_object();
}

int progress_save(struct study *st, json_t *o, struct err *err)
{
    mem_free(st->row.result);
    st->row.result = jsonx_dump(o);
    json_decref(o);
    return study_save(st, err);
}

void progress_forget(struct study *st)
{
    mem_free(st->row.result);
    st->row.result = NULL;
    st->row.artifact[0] = '\0';
    st->early = (struct study_early){ 0 };
}

/* *out = this task, if it is open. It is looked up in its row, because tasks may come into memory
 * after studies. */
static int open_task(struct study *st, const json_t *id, int64_t *out, struct err *err)
{
    struct task_row task = { 0 };
    int rc = json_integer_value(id) > 0
                 ? store_task_get(st->ctl->store, json_integer_value(id), &task, err)
                 : 0;

    if (rc == 1 && (str_eq(task.state, "queued") || str_eq(task.state, "running")))
        *out = json_integer_value(id);
    task_row_fini(&task);
    return MIN(rc, 0);
}

void progress_early_note(struct study *st, const json_t *ensemble, const json_t *best)
{
    const json_t *score = json_object_get(ensemble, "score"),
                 *single = json_object_get(ensemble, "single");

    st->early.is_better = json_is_true(json_object_get(ensemble, "ships")) &&
                          json_is_number(score) && json_is_number(best);
    st->early.best = json_number_value(best);
    st->early.gain = study_gain(st, json_number_value(score)) -
                     study_gain(st, json_number_value(json_is_number(single) ? single : best));
}

static int early_fill(struct study *st, const json_t *early, struct err *err)
{
    const json_t *ensemble = json_object_get(early, "ensemble");

    st->early.tried_ms = json_integer_value(json_object_get(early, "tried_ms"));
    st->early.took_ms = json_integer_value(json_object_get(early, "took_ms"));
    progress_early_note(st, ensemble, json_object_get(early, "best"));
    return open_task(st, json_object_get(early, "task"), &st->early.task, err);
}

int progress_fill(struct study *st, struct err *err)
{
    static const char *const keys[] = { "ensemble_task", "refit_task" };
    int rc = 0;

    st->early = (struct study_early){ 0 };
    if (study_is_final(st->row.state) || !st->row.result)
        return 0;
    json_t *o = progress_load(st);
    for (size_t k = 0; k < ARRAY_LEN(keys) && rc == 0 && st->row.state == SS_FINISHING; k++)
        rc = open_task(st, json_object_get(o, keys[k]), &st->refit, err);
    if (rc == 0)
        rc = early_fill(st, json_object_get(o, "early"), err);
    json_decref(o);
    return rc;
}

bool progress_early_ships(const struct study *st)
{
    int64_t best = board_best(st);

    return best && st->early.is_better &&
           study_gain(st, st->trials[best - 1].score) - study_gain(st, st->early.best) <=
               st->early.gain;
}

json_t *progress_ensemble(const struct study *st)
{
    bool is_final = study_is_final(st->row.state);

    if (!st->row.result || !strstr(st->row.result, "\"ensemble\"") ||
        (!is_final && !progress_early_ships(st)))
        return NULL;
    json_t *o = progress_load(st);
    const json_t *from = is_final ? o : json_object_get(o, "early");
    json_t *e = json_incref(json_object_get(from, "ensemble"));

    json_decref(o);
    return e;
}
