/* brief.c - ended studies in lists (brief.h). Each one costs the reading of two rows: its own and
 * that of its best trial. The JSON made from them is cached. An ended study can change only while
 * it is in memory (it is archived, or deleted). When it leaves memory, settle/load.c calls
 * brief_forget, so that the next list reads its row again. */
#include "controller/view/brief.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/view/show.h"

#include <string.h>

/* One page of the list has at most so many studies (PAGE_MAX in api/study.c). */
enum { BRIEFS_MAX = 1000 };

struct brief {
    int64_t id;
    json_t *json; /* owned */
};

/* ---- counts, as stored ---- */

/* A study that ended before counts were stored, or while it could not be loaded, has none in its
 * row: then its trials are counted in the database. */
static int counts_load(struct study *st, struct err *err)
{
    const char *text = st->row.counts;
    json_t *o = text ? jsonx_load(text, strlen(text), "counts", NULL) : NULL;
    int rc = 0;

    if (o) {
        for (int s = TS_QUEUED; s < TS_STATES; s++)
            st->count[s] = json_integer_value(json_object_get(o, trial_state_name[s]));
        st->brief_best = json_integer_value(json_object_get(o, "best"));
        json_decref(o);
    } else {
        rc = store_trial_count(st->ctl->store, st->row.id, st->count, err);
        st->brief_best = st->row.best_trial;
    }
    for (int s = TS_QUEUED; s < TS_STATES; s++)
        st->n_trials += (int)st->count[s];
    return rc;
}

/* ---- the cache ---- */

static void forget_all(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_briefs; i++)
        json_decref(ctl->briefs[i].json);
    ctl->n_briefs = 0;
    idmap_fini(&ctl->brief_at);
}

void brief_free_all(struct ctl *ctl)
{
    forget_all(ctl);
    mem_free(ctl->briefs);
    ctl->briefs = NULL;
    ctl->cap_briefs = 0;
}

void brief_forget(struct ctl *ctl, int64_t id)
{
    int i = idmap_find(&ctl->brief_at, id);

    if (i < 0)
        return;
    json_decref(ctl->briefs[i].json);
    idmap_remove(&ctl->brief_at, id);
    ctl->briefs[i] = ctl->briefs[--ctl->n_briefs];
    if (i < ctl->n_briefs)
        idmap_put(&ctl->brief_at, ctl->briefs[i].id, i);
}

static void cache(struct ctl *ctl, int64_t id, json_t *json)
{
    if (ctl->n_briefs == BRIEFS_MAX)
        forget_all(ctl); /* simpler than to track which ones were used last */
    MEM_GROW(ctl->briefs, ctl->n_briefs, ctl->cap_briefs);
    ctl->briefs[ctl->n_briefs] = (struct brief){ id, json_incref(json) };
    idmap_put(&ctl->brief_at, id, ctl->n_briefs++);
}

json_t *brief_json(struct ctl *ctl, int64_t id, struct err *err)
{
    int i = idmap_find(&ctl->brief_at, id);
    struct study *st = NULL;
    json_t *json = NULL;

    if (i >= 0)
        return json_incref(ctl->briefs[i].json);
    st = study_row_load(ctl, id, err);
    if (!st)
        return NULL;
    if (counts_load(st, err) == 0)
        json = show_study(st, false, err);
    if (json && study_is_final(st->row.state))
        cache(ctl, id, json);
    st->n_trials = 0; /* it was set for the count that is shown; there are no records behind it */
    study_delete(st);
    return json;
}
