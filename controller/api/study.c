/* study.c - the verbs on studies: create, list, show, pause and its kin, patch, delete,
 * leaderboard, best model. Their contracts are in controller/api.h. Each checks its whole input
 * before it changes anything, then changes rows, and then calls study_settle, which decides and
 * carries out what follows. */
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api/spec_check.h"
#include "controller/decide/finish.h"
#include "controller/serve/retry.h"
#include "controller/serve/table.h"
#include "controller/settle/dataset.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/settle/ship.h"
#include "controller/state/board.h"
#include "controller/state/damage.h"
#include "controller/state/progress.h"
#include "controller/state/task.h"
#include "controller/state/trial.h"
#include "controller/view/brief.h"
#include "controller/view/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PAGE_MAX = 1000, /* rows of one answer */
    LIST_US = 8000,  /* a list works on one page for so long */
    IDS_MAX = 100,   /* studies that are asked for by their ids in one call */
    PRIORITY_MAX = 1000
};

/* ---- create ---- */

/* If the spec gives no name, the study is named after its dataset: the first free one of w, w-2,
 * w-3 ... Returns 0, or -1. */
static int name_free(struct ctl *ctl, struct spec *spec, struct err *err)
{
    struct dataset_row data = { 0 };
    char name[sizeof spec->name];
    int rc = spec->is_own ? 1 : store_dataset_find(ctl->store, spec->dataset, &data, err);

    if (rc == 1 && !spec->is_own) /* the spec may name the dataset by its hash */
        str_copy(spec->name, sizeof spec->name, data.name);
    dataset_row_fini(&data);
    str_copy(name, sizeof name, spec->name);
    if (rc == 0)
        rc = 1; /* there is no such dataset: datasets_of will say so */
    for (int i = 2; rc == 1; i++) {
        struct study_row old = { 0 };

        rc = store_study_find(ctl->store, name, &old, err);
        study_row_fini(&old);
        if (rc == 1)
            (void)snprintf(name, sizeof name, "%.110s-%d", spec->name, i);
    }
    str_copy(spec->name, sizeof spec->name, name);
    return rc;
}

/* Looks for a study of this name: 1 = it was loaded and shown, 0 = there is none, -1, also because
 * it must not be there (load = false). */
static int load_existing(struct ctl *ctl, const struct spec *spec, bool load, json_t **out,
                         struct err *err)
{
    struct study_row row = { 0 };
    int rc = store_study_find(ctl->store, spec->name, &row, err);

    if (rc == 1 && !load)
        rc = err_set(err, ERR_CONFLICT, "there is a study called %s already", spec->name);
    if (rc == 1) {
        struct study *st = study_by_id(ctl, row.id, err);
        *out = st ? show_study(st, true, err) : NULL;
        rc = *out ? 1 : -1;
    }
    study_row_fini(&row);
    return rc;
}

/* Writes the row of a new study. The spec is stored as spec_json_new writes it, and not as the user
 * wrote it. */
static int insert(struct ctl *ctl, const struct spec *spec, const char *owner, int64_t dataset,
                  int64_t *id, struct err *err)
{
    struct study_row row = { .seed = (int64_t)spec->seed,
                             .priority = spec->priority,
                             .dataset = dataset,
                             .created_at = ctl_wall(ctl) };
    json_t *json = spec_json_new(spec);
    int rc = 0;

    row.name = mem_strdup(spec->name);
    row.owner = mem_strdup(owner ? owner : "");
    row.spec = jsonx_dump(json);
    row.numeric_sig = mem_strdup("");
    json_decref(json);
    rc = store_study_insert(ctl->store, &row, err);
    *id = row.id;
    study_row_fini(&row);
    return rc;
}

/* Finds or makes the datasets that the spec names. */
static int datasets_of(struct ctl *ctl, struct spec *spec, int64_t *id, struct err *err)
{
    struct dataset_row train = { 0 }, test = { 0 };

    if (spec->is_own)
        return 0;
    int rc = dataset_for_spec(ctl, spec->dataset, spec->columns, "dataset", &train, err);

    *id = train.id;
    if (rc == 0 && spec->test_dataset[0]) {
        rc = dataset_for_spec(ctl, spec->test_dataset, spec->columns, "test.dataset", &test, err);
        if (rc == 0)
            str_copy(spec->test_dataset, sizeof spec->test_dataset, test.name);
    }
    dataset_row_fini(&train);
    dataset_row_fini(&test);
    return rc;
}

/* If the dataset is ready, settling tells whether the spec fits it. If it does not fit, the request
 * fails and no study is made; otherwise users would find a failed study later. */
static int settle_new(struct study *st, struct err *err)
{
    ctl_touch(st->ctl, st);
    if (study_settle(st, err) < 0)
        return -1;
    if (st->row.state == SS_FAILED)
        return err_set(err, ERR_ARG, "%s",
                       st->row.reason ? st->row.reason : "the study cannot run");
    return 0;
}

int ctl_study_create(struct ctl *ctl, const json_t *json, const char *owner, bool load_if_exists,
                     json_t **out, struct err *err)
{
    struct spec spec;
    struct study *st = NULL;
    int64_t dataset = 0, id = 0;
    int rc = -1;

    if (spec_parse(&spec, json, err) < 0)
        return -1;
    rc = json_is_string(json_object_get(json, "name")) || load_if_exists
             ? load_existing(ctl, &spec, load_if_exists, out, err)
             : name_free(ctl, &spec, err);
    if (rc != 0) {
        spec_fini(&spec);
        return rc < 0 ? -1 : 0;
    }
    rc = -1;
    if (study_check_spec(ctl, &spec, err) < 0 || datasets_of(ctl, &spec, &dataset, err) < 0 ||
        insert(ctl, &spec, owner, dataset, &id, err) < 0)
        goto out;
    damage_forget(ctl, id); /* a study that was never committed may have had this id */
    st = study_load(ctl, id, err);
    if (!st || settle_new(st, err) < 0)
        goto out;
    log_info("study.create study=%" PRId64 " name=%s dataset=%" PRId64 " deterministic=%d", id,
             st->row.name, dataset, st->is_deterministic);
    *out = show_study(st, true, err);
    rc = *out ? 0 : -1;
out:
    if (rc < 0 && id)
        damage_forget(ctl, id);
    spec_fini(&spec);
    return rc;
}

/* ---- list, show ---- */

struct list {
    struct ctl *ctl;
    json_t *out;
    int64_t ids[PAGE_MAX + 1];
    int n, limit;
    bool only_damaged;
};

static int on_study(void *arg, struct study_row *row)
{
    struct list *l = arg;

    if (l->only_damaged && !damage_of(l->ctl, row->id))
        return 0;
    CHECK(l->n <= l->limit && l->limit <= PAGE_MAX);
    l->ids[l->n++] = row->id;
    return l->n > l->limit;
}

/* Adds a study to a list: from memory if it is there, else from its row. No study is loaded for a
 * list. A damaged one is shown as such. */
static int list_add(struct list *l, int64_t id, struct err *err)
{
    struct study *st = study_loaded(l->ctl, id);
    const struct damage *d = damage_of(l->ctl, id);
    struct err why = { 0 };
    json_t *o = NULL;

    if (st)
        o = show_study(st, false, &why);
    else if (d)
        o = show_damaged(l->ctl, id, &d->why);
    else if (study_is_unread(l->ctl, id))
        o = show_unread(l->ctl, id);
    else
        o = brief_json(l->ctl, id, &why);
    if (!o && why.code != ERR_NOTFOUND)
        o = show_damaged(l->ctl, id, &why);
    if (!o)
        *err = why;
    return o ? json_array_append_new(l->out, o) : -1;
}

int ctl_studies_of(struct ctl *ctl, const char *ids, json_t **out, struct err *err)
{
    struct list l = { .ctl = ctl, .out = json_array() };
    int rc = 0;

    for (const char *p = ids; *p && rc == 0; l.n++) {
        size_t len = strcspn(p, ",");
        struct err why = { 0 };
        char text[24];
        int64_t id = 0;

        str_copy(text, MIN(sizeof text, len + 1), p);
        if (str_i64(text, 1, INT64_MAX, &id, NULL) < 0 || l.n == IDS_MAX ||
            strcmp(p + len, ",") == 0)
            rc = err_at(err, "ids", "must be at most %d ids with commas between them", IDS_MAX);
        else if (list_add(&l, id, &why) < 0 && why.code != ERR_NOTFOUND)
            rc = err_set(err, why.code, "%s", why.text);
        p += len + (p[len] == ',');
    }
    if (rc == 0)
        *out = json_pack("{s:O, s:n}", "studies", l.out, "next");
    json_decref(l.out);
    return rc;
}

int ctl_studies(struct ctl *ctl, const char *state, bool with_archived, int64_t after, int limit,
                json_t **out, struct err *err)
{
    struct list *l = mem_zalloc(sizeof *l);
    enum study_state only = SS_NONE;
    int64_t from_us = clk_now_us(ctl->clk);
    int rc = -1, n = 0;

    l->ctl = ctl;
    l->limit = limit < 1 || limit > PAGE_MAX ? PAGE_MAX : limit;
    l->out = json_array();
    l->only_damaged = str_eq(state, SHOW_DAMAGED);
    if (state && state[0] && !l->only_damaged && study_state_parse(state, &only, err) < 0)
        goto out;
    if (store_study_each(ctl->store, only ? 1u << only : 0, with_archived, after,
                         l->only_damaged ? INT32_MAX : l->limit + 1, on_study, l, err) < 0)
        goto out;
    /* An ended study that was in no list before costs about 0.1 ms. If a page takes too long, it
     * ends early and names the next one, so that other requests do not wait. */
    while (n < MIN(l->n, l->limit) && (n == 0 || clk_now_us(ctl->clk) - from_us < LIST_US)) {
        if (list_add(l, l->ids[n++], err) < 0)
            goto out;
    }
    *out = json_pack("{s:O, s:o}", "studies", l->out, "next",
                     l->n > n ? json_integer((json_int_t)l->ids[n - 1]) : json_null());
    rc = 0;
out:
    json_decref(l->out);
    mem_free(l);
    return rc;
}

/* The study as JSON, or what can be said of a damaged one; NULL = there is none. */
static json_t *show_any(struct ctl *ctl, int64_t id, bool whole, struct err *err)
{
    struct err why = { 0 };

    if (study_is_unread(ctl, id))
        return show_unread(ctl, id);
    struct study *st = study_by_id(ctl, id, &why);
    json_t *o = st ? show_study(st, whole, &why) : NULL;

    if (o || why.code == ERR_NOTFOUND) {
        if (!o)
            *err = why;
        return o;
    }
    return show_damaged(ctl, id, damage_of(ctl, id) ? &damage_of(ctl, id)->why : &why);
}

int ctl_study_get(struct ctl *ctl, const char *ref, json_t **out, struct err *err)
{
    int64_t id = 0;

    *out = study_ref(ctl, ref, &id, err) == 0 ? show_any(ctl, id, true, err) : NULL;
    return *out ? 0 : -1;
}

int ctl_study_dump(struct ctl *ctl, const char *ref, int64_t after, int limit, json_t **out,
                   struct err *err)
{
    int64_t id = 0;

    return study_ref(ctl, ref, &id, err) < 0
               ? -1
               : store_study_dump(ctl->store, id, after, MIN(MAX(limit, 1), PAGE_MAX), out, err);
}

/* ---- verbs ---- */

/* While a study is paused no trial of it is granted. Trials that run go on. */
static int act_pause(struct study *st, struct err *err)
{
    if (study_may(st, SE_PAUSE, err) < 0)
        return -1;
    ctl_touch(st->ctl, st);
    study_clock_stop(st);
    return study_move(st, SE_PAUSE, "paused by a user", NULL, err);
}

/* A resumed study begins its counts of failures anew, because a user has repaired what was
 * wrong. */
static int act_resume(struct study *st, struct err *err)
{
    if (study_may(st, SE_RESUME, err) < 0)
        return -1;
    ctl_touch(st->ctl, st);
    table_worked(st);
    retry_forget(st);
    if (st->row.started_at)
        study_clock_start(st);
    return study_move(st, SE_RESUME, NULL, NULL, err);
}

static int act_stop(struct study *st, struct err *err)
{
    if (st->row.state == SS_FINISHING)
        return 0; /* it finishes already */
    if (st->row.state == SS_QUEUED || !st->problem.is_ready)
        return ship_kill(st, err); /* it has no trials from which a model could be made */
    if (study_may(st, SE_FINISH, err) < 0)
        return -1;
    return ship_finish(st, FINISH_BY_USER, true, err);
}

static int act_archive(struct study *st, bool on, struct err *err)
{
    if (!study_is_final(st->row.state))
        return err_set(err, ERR_CONFLICT, "study %s is %s: only ended studies are archived",
                       st->row.name, study_state_name[st->row.state]);
    ctl_touch(st->ctl, st);
    st->row.is_archived = on;
    return store_study_update(st->ctl->store, &st->row, err);
}

int ctl_study_act(struct ctl *ctl, const char *ref, enum ctl_study_verb verb, json_t **out,
                  struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    int rc = -1;

    if (!st)
        return -1;
    switch (verb) {
    case CTL_PAUSE:
        rc = act_pause(st, err);
        break;
    case CTL_RESUME:
        rc = act_resume(st, err);
        break;
    case CTL_STOP:
        rc = act_stop(st, err);
        break;
    case CTL_KILL:
        rc = ship_kill(st, err);
        break;
    case CTL_ARCHIVE:
    case CTL_UNARCHIVE:
        rc = act_archive(st, verb == CTL_ARCHIVE, err);
        break;
    }
    if (rc < 0 || study_settle(st, err) < 0)
        return -1;
    *out = show_study(st, true, err);
    return *out ? 0 : -1;
}

/* ---- patch ---- */

/* A budget may be raised. A limit can be neither added, nor lowered, nor taken away. */
static int patch_budget(struct study *st, const json_t *budget, struct spec *to, struct err *err)
{
    static const char *const keys[] = { "time_ms", "trials" };

    if (!budget)
        return 0;
    if (jsonx_only(budget, "budget", keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_i64(budget, "budget", "time_ms", JSONX_OPTIONAL, 1, INT64_C(31622400000),
                  &to->budget_time_ms, err) < 0 ||
        jsonx_i64(budget, "budget", "trials", JSONX_OPTIONAL, 1, 1000000000, &to->budget_trials,
                  err) < 0)
        return -1;
    if (st->is_deterministic && to->budget_time_ms)
        return err_at(err, "budget.time_ms", "a deterministic study has no limit in time");
    if (!st->spec.budget_time_ms != !to->budget_time_ms)
        return err_at(err, "budget.time_ms", "the study has no limit in time");
    if (!st->spec.budget_trials != !to->budget_trials)
        return err_at(err, "budget.trials", "the study has no limit in trials");
    if (to->budget_time_ms < st->spec.budget_time_ms || to->budget_trials < st->spec.budget_trials)
        return err_at(err, "budget", "a budget can be raised, not lowered");
    return 0;
}

int ctl_study_patch(struct ctl *ctl, const char *ref, const json_t *patch, json_t **out,
                    struct err *err)
{
    static const char *const keys[] = { "priority", "budget" };
    struct study *st = study_by_ref(ctl, ref, err);
    int64_t priority = st ? st->row.priority : 0;
    json_t *budget = NULL, *json = NULL;

    if (!st || jsonx_only(patch, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_i64(patch, NULL, "priority", JSONX_OPTIONAL, -PRIORITY_MAX, PRIORITY_MAX, &priority,
                  err) < 0 ||
        jsonx_obj(patch, NULL, "budget", JSONX_OPTIONAL, &budget, err) < 0)
        return -1;
    if (!study_is_open(st))
        return err_set(err, ERR_CONFLICT, "study %s is %s: nothing can be changed", st->row.name,
                       study_state_name[st->row.state]);
    struct spec to = st->spec;
    if (patch_budget(st, budget, &to, err) < 0)
        return -1;
    ctl_touch(ctl, st);
    to.priority = (int)priority;
    st->spec = to;
    st->row.priority = priority;
    json = spec_json_new(&st->spec);
    mem_free(st->row.spec);
    st->row.spec = jsonx_dump(json);
    json_decref(json);
    if (st->search)
        st->search->plan.is_filled = false; /* the raised budget may allow more trials */
    if (study_save(st, err) < 0 || study_settle(st, err) < 0)
        return -1;
    *out = show_study(st, true, err);
    return *out ? 0 : -1;
}

/* Deletes the rows, whatever they say. The study leaves the list of damaged ones when somebody
 * finds that it has no row any more (damage_check). */
static int delete_damaged(struct ctl *ctl, int64_t id, struct err *err)
{
    if (task_cancel_of_study(ctl, id, err) < 0 || store_study_delete(ctl->store, id, err) < 0)
        return -1;
    log_info("study.delete study=%" PRId64 " damaged=true", id);
    return 0;
}

int ctl_study_delete(struct ctl *ctl, const char *ref, struct err *err)
{
    struct err why = { 0 };
    struct study *st = NULL;
    int64_t ref_id = 0;

    if (study_ref(ctl, ref, &ref_id, err) < 0)
        return -1;
    st = study_by_id(ctl, ref_id, &why);
    if (!st && damage_is_lasting(ctl, ref_id))
        return delete_damaged(ctl, ref_id, err);
    if (!st) {
        *err = why;
        return -1;
    }
    if (!study_is_final(st->row.state))
        return err_set(err, ERR_CONFLICT, "study %s is %s: stop or kill it first", st->row.name,
                       study_state_name[st->row.state]);
    int64_t id = st->row.id;
    if (store_study_delete(ctl->store, id, err) < 0)
        return -1;
    log_info("study.delete study=%" PRId64 " name=%s", id, st->row.name);
    study_drop(ctl, st); /* if the commit fails, it is loaded again when somebody asks for it */
    return 0;
}

/* ---- results ---- */

static json_t *board_row_json(struct study *st, const struct trial_row *row, int64_t rank,
                              const bool *is_front)
{
    json_t *o = show_board_row(row, rank);

    if (st->spec.n_objectives > 1)
        json_object_set_new(o, "front", json_boolean(is_front[row->number - 1]));
    return o;
}

/* Says of each row how much its model counts in the ensemble that ships. */
static void weights_add(json_t *rows, const json_t *ensemble)
{
    json_t *row = NULL, *member = NULL;
    size_t i = 0, k = 0;

    if (!json_is_true(json_object_get(ensemble, "ships")))
        return;
    json_array_foreach(rows, i, row)
    {
        json_array_foreach(json_object_get(ensemble, "members"), k, member)
        {
            if (json_equal(json_object_get(member, "trial"), json_object_get(row, "trial")))
                json_object_set(row, "weight", json_object_get(member, "weight"));
        }
    }
}

int ctl_leaderboard(struct ctl *ctl, const char *ref, int64_t offset, int limit, json_t **out,
                    struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    json_t *rows = NULL;
    bool *is_front = NULL;

    if (!st)
        return -1;
    if (offset < 0)
        return err_at(err, "offset", "must not be below 0");
    limit = limit < 1 || limit > PAGE_MAX ? PAGE_MAX : limit;
    rows = json_array();
    is_front = show_front_new(st);
    CHECK(is_front || st->spec.n_objectives < 2);
    for (int64_t i = offset; i < MIN(offset + limit, st->n_board); i++) {
        struct trial_row row = { 0 };
        int rc = trial_load(st, st->board[i], &row, err);

        if (rc == 0)
            json_array_append_new(rows, board_row_json(st, &row, i + 1, is_front));
        trial_row_fini(&row);
        if (rc < 0) {
            mem_free(is_front);
            json_decref(rows);
            return -1;
        }
    }
    mem_free(is_front);
    json_t *ensemble = progress_ensemble(st);
    weights_add(rows, ensemble);
    bool ready = st->problem.is_ready;
    *out = json_pack(
        "{s:I, s:s, s:o, s:b, s:i, s:o}", "study", (json_int_t)st->row.id, "name", st->row.name,
        "metric", ready ? json_string(st->problem.data.metric) : json_null(), "larger_is_better",
        !ready || st->problem.metric->larger_is_better, "total", st->n_board, "rows", rows);
    if (*out && ensemble)
        json_object_set(*out, "ensemble", ensemble);
    json_decref(ensemble);
    return 0;
}

int ctl_best_artifact(struct ctl *ctl, const char *ref, char sha256[SHA256_HEX], char *file_name,
                      size_t size, struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    struct trial_row row = { 0 };
    int64_t best = 0;

    if (!st)
        return -1;
    (void)snprintf(file_name, size, "%s.assay", st->row.name);
    if (st->row.artifact[0] && (study_is_final(st->row.state) || progress_early_ships(st))) {
        str_copy(sha256, SHA256_HEX, st->row.artifact);
        return 0;
    }
    best = board_best_artifact(st);
    if (!best)
        return err_set(err, ERR_NOTFOUND, "study %s has no model yet", st->row.name);
    int rc = trial_load(st, best, &row, err);
    if (rc == 0)
        str_copy(sha256, SHA256_HEX, row.artifact);
    trial_row_fini(&row);
    return rc;
}
