/* ledger_check.c - the ledger held against a running service, and against a data folder nobody serves any more. The folder
 * is read with the store's own functions; the journal is walked here once more by hand, so that the count of ends does
 * not hang on the code that wrote them. */
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/blob.h"
#include "store/journal.h"
#include "store/store.h"
#include "store/study.h"
#include "store/trial.h"
#include "tests/e2e/ledger_priv.h"
#include "tests/e2e/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- live ---- */

static void check_ids_live(struct ledger *l, struct client *c, const struct id_list *list,
                           const char *what)
{
    struct err err = { 0 };

    for (int i = 0; i < list->n && !ledger_wrong(l); i++) {
        if (client_get(c, NULL, &err, "/%s/%" PRId64, what, list->ids[i]) < 0 &&
            err.code == ERR_NOTFOUND)
            ledger_fail(l, "%s/%" PRId64 " was acknowledged and is gone: %.200s", what,
                        list->ids[i], err.text);
    }
}

/* Only the thread that checks adds nothing meanwhile; others may: work on copies. */
static struct id_list copy(struct ledger *l, const struct id_list *list)
{
    struct id_list out = { NULL, 0 };

    pthread_mutex_lock(&l->lock);
    out.n = list->n;
    out.ids = mem_dup(list->ids, (size_t)list->n * sizeof *list->ids);
    pthread_mutex_unlock(&l->lock);
    return out;
}

void ledger_check_live(struct ledger *l, struct client *c, int blobs)
{
    struct id_list studies = copy(l, &l->studies), datasets = copy(l, &l->datasets);
    char sha256[SHA256_HEX], path[100];
    struct blob_seen b = { "", "" };
    struct err err = { 0 };

    check_ids_live(l, c, &studies, "studies");
    check_ids_live(l, c, &datasets, "datasets");
    for (int i = 0; i < blobs; i++) {
        pthread_mutex_lock(&l->lock);
        bool has = i < l->n_blobs;
        if (has)
            b = l->blobs[l->n_blobs - 1 - i];
        pthread_mutex_unlock(&l->lock);
        (void)!snprintf(path, sizeof path, "/blobs/%s", b.sha256);
        if (!has)
            break;
        if (api_download_sha(c, path, sha256, &err) == 0 ? !str_eq(sha256, b.sha256)
                                                         : err.code == ERR_NOTFOUND)
            ledger_fail(l, "blob %s (%s) is gone or other: %.200s", b.sha256, b.what, err.text);
    }
    mem_free(studies.ids);
    mem_free(datasets.ids);
}

/* ---- the folder ---- */

struct walk {
    struct ledger *l;
    struct store *store;
    const char *dir;
    bool all_ended;
    int *ends; /* per trial id: how many in the journal */
    int64_t cap_ends, seq;
    bool study_is_final;
};

static int on_journal(void *arg, const struct journal_row *row)
{
    struct walk *w = arg;
    const char *e = row->event;
    struct ledger *l = w->l;

    w->seq = row->seq;
    if (str_eq(e, "trial.complete") || str_eq(e, "trial.prune") || str_eq(e, "trial.fail") ||
        str_eq(e, "trial.cancel")) {
        if (row->trial >= w->cap_ends) {
            int64_t cap = (row->trial + 1) * 2;

            w->ends = mem_resize(w->ends, (size_t)cap * sizeof *w->ends);
            memset(w->ends + w->cap_ends, 0, (size_t)(cap - w->cap_ends) * sizeof *w->ends);
            w->cap_ends = cap;
        }
        w->ends[row->trial]++;
    }
    if (row->seq < l->cap_events && l->events[row->seq]) {
        json_t *j = row->data ? jsonx_load(row->data, strlen(row->data), "journal", NULL) : NULL;
        char *data = ledger_data_text(j);

        if (ledger_event_hash(e, row->study, row->trial, data) != l->events[row->seq])
            ledger_fail(l, "journal row %" PRId64 " (%s %s) is not what was told", row->seq, e,
                        data);
        l->events[row->seq] = 0;
        mem_free(data);
        json_decref(j);
    }
    return 0;
}

static void check_journal(struct walk *w)
{
    struct err err = { 0 };
    int64_t before = -1;

    while (w->seq != before) {
        before = w->seq;
        if (store_journal_each(w->store, 0, w->seq, 1000, on_journal, w, &err) < 0) {
            ledger_fail(w->l, "reading the journal: %.300s", err.text);
            return;
        }
    }
    for (int64_t i = 0; i < w->l->cap_events; i++) {
        if (w->l->events[i])
            ledger_fail(w->l, "event %" PRId64 " was told and is not in the journal", i);
    }
}

static void check_blob(struct walk *w, const char *sha256, const char *what, int64_t id)
{
    struct err err = { 0 };
    int64_t bytes = 0;

    if (!sha256[0])
        return;
    if (store_blob_has(w->store, sha256, &bytes, &err) != 1 ||
        blob_verify(w->dir, sha256, &err) < 0)
        ledger_fail(w->l, "%s %" PRId64 ": blob %s: %.300s", what, id, sha256,
                    err.text[0] ? err.text : "has no row");
}

static int on_trial(void *arg, struct trial_row *t)
{
    struct walk *w = arg;
    int ends = t->id < w->cap_ends ? w->ends[t->id] : 0;
    const char *state = trial_state_name[t->state];

    if (ends != (trial_is_final(t->state) ? 1 : 0))
        ledger_fail(w->l, "trial %" PRId64 " is %s and has %d ends in the journal", t->id, state,
                    ends);
    if (w->study_is_final && !trial_is_final(t->state))
        ledger_fail(w->l, "study %" PRId64 " has ended and its trial %" PRId64 " is %s", t->study,
                    t->number, state);
    for (int i = 0; i < w->l->n_ends; i++) {
        const struct trial_end *e = &w->l->ends[i];

        if (e->trial == t->id &&
            (!str_eq(e->state, state) || (e->has_score && e->score != t->score)))
            ledger_fail(w->l, "trial %" PRId64 " was told as %s %.17g, stored is %s %.17g", t->id,
                        e->state, e->score, state, t->score);
    }
    check_blob(w, t->artifact, "artifact of trial", t->id);
    check_blob(w, t->checkpoint, "checkpoint of trial", t->id);
    return 0;
}

static void check_studies(struct walk *w)
{
    struct err err = { 0 };

    for (int i = 0; i < w->l->studies.n; i++) {
        struct study_row r = { 0 };
        int64_t id = w->l->studies.ids[i];
        int rc = store_study_get(w->store, id, &r, &err);

        if (rc != 1) {
            ledger_fail(w->l, "study %" PRId64 " was acknowledged and is gone: %.300s", id,
                        err.text);
            continue;
        }
        w->study_is_final = study_is_final(r.state);
        if (w->all_ended && !w->study_is_final)
            ledger_fail(w->l, "study %" PRId64 " has not ended: %s", id, study_state_name[r.state]);
        if (r.state == SS_FAILED || (r.state == SS_COMPLETED && !r.artifact[0]))
            ledger_fail(w->l, "study %" PRId64 " is %s without a model: %.200s", id,
                        study_state_name[r.state], r.reason ? r.reason : "");
        check_blob(w, r.artifact, "artifact of study", id);
        study_row_fini(&r);
        if (store_trial_each(w->store, id, on_trial, w, &err) < 0)
            ledger_fail(w->l, "trials of study %" PRId64 ": %.300s", id, err.text);
    }
}

static void on_diff(void *arg, const char *line)
{
    ledger_fail(arg, "replay: %.300s", line);
}

void ledger_check_folder(struct ledger *l, const char *data_dir, bool all_ended)
{
    struct err err = { 0 };
    struct walk w = { .l = l, .dir = data_dir, .all_ended = all_ended };

    w.store = store_open_readonly(data_dir, &err);
    if (!w.store) {
        ledger_fail(l, "opening the data folder: %.300s", err.text);
        return;
    }
    if (store_integrity(w.store, &err) < 0)
        ledger_fail(l, "integrity: %.300s", err.text);
    if (store_replay(w.store, on_diff, l, &err) < 0)
        ledger_fail(l, "replay: %.300s", err.text);
    check_journal(&w);
    check_studies(&w);
    for (int i = 0; i < l->n_blobs;
         i++) /* uploaded by hand: the file; a row stays as long as collection leaves it */
        check_blob(&w, l->blobs[i].sha256, l->blobs[i].what, i);
    mem_free(w.ends);
    store_close(w.store);
}
