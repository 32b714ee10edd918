/* rows.c - a study in memory is built from its rows here and nowhere else: at the start of the
 * process, when somebody asks for an ended study, and after a failed request. Everything is checked
 * before it is believed, because a database can be damaged: what no constraint of a table promises
 * and the code relies on is checked by row_check and trial_check.
 *
 * The search is not rebuilt here: it belongs to decide/ and is opened by settle/load.c, which owns
 * the list of loaded studies. A study may also be filled by a thread of the pool
 * (settle/load_beside.c), which then has a store of its own and is the only one that knows the
 * study. */
#include "controller/state/rows.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/board.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/progress.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <string.h>

/* ---- the head: row, spec, data, space ---- */

static int spec_load(struct study *st, struct err *err)
{
    json_t *json = jsonx_load(st->row.spec, strlen(st->row.spec), "spec", err);
    int rc = json ? spec_parse(&st->spec, json, err) : -1;

    json_decref(json);
    if (rc < 0)
        return -1;
    st->is_deterministic = spec_is_deterministic(&st->spec);
    return 0;
}

int study_space_load(struct study *st, struct err *err)
{
    struct space_for need = { st->problem.task,
                              st->problem.data.metric,
                              st->problem.data.monotone[0] != '\0',
                              st->problem.shape.image.height > 0,
                              false,
                              &st->problem.shape,
                              !str_eq(st->spec.sampler, "auto") };

    if ((st->spec.is_own ? study_space_own(&st->space, st->spec.space, st->spec.constraints,
                                           st->spec.levels, err)
                         : study_space_build(&st->space, st->spec.space, &need, err)) < 0)
        return -1;
    st->families[0] = family_find("baseline");
    if (!st->families[0])
        return err_set(err, ERR_IO, "there is no family called baseline");
    st->n_families = 1;
    for (int i = 0; i < st->space.n_families; i++)
        st->families[st->n_families++] = st->space.first[i].family;
    return 0;
}

static int row_check(const struct study *st, struct err *err)
{
    const struct study_row *row = &st->row;
    char *name = NULL;
    bool is_deleted = false;
    int rc = 0;

    if (row->id < 1 || !row->name || !row->name[0] || !row->spec || row->state == SS_NONE)
        return err_set(err, ERR_DAMAGED, "its row is not whole");
    /* An ended one may outlive its dataset. */
    rc = row->dataset && !study_is_final(row->state)
             ? store_dataset_name(st->ctl->store, row->dataset, &name, &is_deleted, err)
             : 1;
    mem_free(name);
    return rc == 0 || is_deleted
               ? err_set(err, ERR_DAMAGED, "its row names a dataset that there is not")
               : MIN(rc, 0);
}

/* Reads the row, and parses the spec and the data in it: 1, 0 = there is no such row, -1. */
static int row_load(struct study *st, int64_t id, struct err *err)
{
    int rc = store_study_get(st->ctl->store, id, &st->row, err);

    if (rc <= 0)
        return rc;
    if (row_check(st, err) < 0)
        return -1;
    if (spec_load(st, err) < 0)
        return -1;
    if (st->row.data && problem_load(&st->problem, st->row.data, err) < 0)
        return -1;
    st->used_base = st->row.used_ms;
    return 1;
}

/* The same, and builds the space if the data is known. */
static int head_load(struct study *st, int64_t id, struct err *err)
{
    int rc = row_load(st, id, err);

    return rc == 1 && st->row.data && study_space_load(st, err) < 0 ? -1 : rc;
}

struct study *study_row_load(struct ctl *ctl, int64_t id, struct err *err)
{
    struct study *st = study_new(ctl);
    int rc = row_load(st, id, err);

    if (rc == 1)
        return st;
    if (rc == 0)
        err_set(err, ERR_NOTFOUND, "no study %" PRId64, id);
    study_delete(st);
    return NULL;
}

struct study *study_head_load(struct ctl *ctl, int64_t id, struct err *err)
{
    struct study *st = study_new(ctl);

    if (head_load(st, id, err) == 1)
        return st;
    study_delete(st);
    return NULL;
}

/* ---- its trials ---- */

struct loading {
    struct study *st;
    struct err *err;
};

static bool is_level(int level, int most)
{
    return level >= 0 && level <= most;
}

/* Checks everything about a trial's row that the code relies on and that no constraint of the table
 * promises. What passes here may be CHECKed elsewhere. */
static int trial_check(const struct study *st, const struct trial_row *row, struct err *err)
{
    const char *what = NULL;

    if (row->number != st->n_trials + 1)
        return err_set(err, ERR_DAMAGED, "trial %d is missing: the next one is %" PRId64,
                       st->n_trials + 1, row->number);
    if (row->id < 1 || (st->n_trials > 0 && row->id <= st->trials[st->n_trials - 1].id))
        what = "id";
    else if (row->state == TS_NONE ||
             (study_is_final(st->row.state) && !trial_is_final(row->state)))
        what = "state";
    else if (!row->config || !row->config_hash[0])
        what = "configuration";
    else if (!row->family || !row->shape_key)
        what = "family";
    else if (row->max_level < 1 || row->max_level > INT16_MAX ||
             !is_level(row->level, row->max_level) || !is_level(row->run_to, row->max_level) ||
             !is_level(row->checkpoint_level, row->max_level))
        what = "level";
    else if (row->fence < (row->state == TS_RUNNING) || row->msg_seq < 0)
        what = "fence";
    return what ? err_set(err, ERR_DAMAGED, "the stored %s of trial %" PRId64 " makes no sense",
                          what, row->number)
                : 0;
}

static int on_trial(void *arg, struct trial_row *row)
{
    struct loading *l = arg;

    if (trial_check(l->st, row, l->err) < 0)
        return -1;
    trial_note(l->st, row);
    return 0;
}

int study_fill_trials(struct study *st, struct store *store, struct err *err)
{
    struct loading l = { st, err };
    int rc = 0;

    st->is_filling = true;
    rc = store_trial_each(store, st->row.id, on_trial, &l, err);
    st->is_filling = false;
    board_sort(st);
    return rc;
}

/* ---- leases of its running trials ---- */

static int on_attempt(void *arg, const struct attempt_row *a)
{
    struct lease *l = arg;

    if (a->fence != l->fence)
        return 0;
    l->runner = a->runner;
    str_copy(l->session, sizeof l->session, a->session);
    str_copy(l->device, sizeof l->device, a->device);
    l->from = a->from_level;
    l->to = a->to_level;
    return 1;
}

/* Gives one running trial its lease again, with the runner, session and levels of its attempt. */
static int restore_one(struct ctl *ctl, struct study *st, int64_t number, struct err *err)
{
    int64_t now = ctl_now(ctl);
    struct trial_row row = { 0 };
    struct lease l = { .study = st->row.id, .number = number, .group_size = 1 }, *old = NULL;
    int rc = trial_load(st, number, &row, err);

    if (rc < 0)
        goto out;
    l.id = row.id;
    l.fence = row.fence;
    old = lease_find(ctl, false, row.id);
    if (old && old->fence == row.fence)
        goto out; /* it was here before the reload */
    if (old)
        lease_drop(ctl, old->id, old->fence);
    rc = store_attempt_each(ctl->store, row.id, on_attempt, &l, err);
    if (rc == 0 && (l.runner <= 0 || !l.session[0] || l.from < 0 || l.from >= l.to))
        rc = err_set(err, ERR_DAMAGED, "trial %" PRId64 " runs without an attempt that says where",
                     number);
    if (rc < 0)
        goto out;
    l.granted_ms = now;
    l.period_ms = st->spec.lost_after_ms;
    l.expires_ms = now + lease_period(ctl, l.period_ms);
    l.is_probe = number == st->probe;
    lease_add(ctl, &l);
out:
    trial_row_fini(&row);
    return rc;
}

int lease_restore(struct ctl *ctl, struct study *st, struct err *err)
{
    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        struct lease *l = &ctl->leases[i];

        if (l->is_task || l->study != st->row.id)
            continue;
        if (l->number > st->n_trials || st->trials[l->number - 1].state != TS_RUNNING ||
            st->trials[l->number - 1].id != l->id)
            lease_remove(ctl, i);
    }
    for (int64_t k = 1; st->count[TS_RUNNING] > 0 && k <= st->n_trials; k++) {
        if (st->trials[k - 1].state == TS_RUNNING && restore_one(ctl, st, k, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the rest ---- */

static void clock_load(struct study *st)
{
    st->used_base = st->row.used_ms;
    st->clock_from = -1;
    if (st->row.state == SS_RUNNING || st->row.state == SS_FINISHING)
        study_clock_start(st);
}

/* While the validation is undecided only the probe can be running, so a running trial is the
 * probe. */
static void probe_load(struct study *st)
{
    for (int64_t k = 1; st->problem.is_undecided && k <= st->n_trials; k++) {
        if (st->trials[k - 1].state == TS_RUNNING)
            st->probe = k;
    }
}

/* What stands beside the problem in the stored data: the warnings, and the rungs of a search that
 * has ended. */
static void extras_load(struct study *st)
{
    json_t *o = NULL;

    if (!st->row.data)
        return;
    o = jsonx_load(st->row.data, strlen(st->row.data), "study data", NULL);
    st->warnings = json_incref(json_object_get(o, "warnings"));
    if (study_is_final(st->row.state) || st->row.state == SS_FINISHING)
        st->rungs = json_incref(json_object_get(o, "brackets"));
    json_decref(o);
}

int study_fill(struct study *st, int64_t id, struct err *err)
{
    CHECK(st->n_trials == 0 && st->n_happened == 0 && !st->search);
    int rc = head_load(st, id, err);

    if (rc <= 0)
        return rc;
    if (study_fill_trials(st, st->ctl->store, err) < 0 || progress_fill(st, err) < 0)
        return -1;
    if (!st->problem.is_ready && st->n_trials > 0)
        return err_set(err, ERR_DAMAGED, "it has trials, but its data is not there");
    clock_load(st);
    probe_load(st);
    extras_load(st);
    /* The rows may have been written in this turn: if its commit fails, the study is read again. */
    st->touched_turn = st->ctl->turn_no;
    st->needs_settling = !study_is_final(st->row.state);
    return 1;
}

int study_take_row(struct study *st, struct err *err)
{
    struct study_row now = { 0 };
    int rc = store_study_get(st->ctl->store, st->row.id, &now, err);

    if (rc != 1 || !study_is_final(now.state)) {
        study_row_fini(&now);
        return -1;
    }
    study_row_fini(&st->row);
    st->row = now;
    clock_load(st);
    extras_load(st);
    return 0;
}

/* ---- counts of an ended study, for lists ---- */

static char *counts_text(const struct study *st)
{
    int64_t best = board_best(st);
    json_t *o = json_pack("{s:I}", "best", (json_int_t)(best ? st->trials[best - 1].id : 0));

    for (int s = TS_QUEUED; s < TS_STATES; s++)
        json_object_set_new(o, trial_state_name[s], json_integer((json_int_t)st->count[s]));
    char *text = jsonx_dump(o);
    json_decref(o);
    return text;
}

int study_keep_counts(struct study *st, struct err *err)
{
    char *text = counts_text(st);

    if (str_eq(st->row.counts, text)) {
        mem_free(text);
        return 0;
    }
    ctl_touch(st->ctl, st);
    mem_free(st->row.counts);
    st->row.counts = text;
    return store_study_update(st->ctl->store, &st->row, err);
}

/* ---- finding ---- */

int study_ref(struct ctl *ctl, const char *ref, int64_t *id, struct err *err)
{
    int rc = 0;

    if (str_i64(ref, 1, INT64_MAX, id, NULL) == 0)
        return 0;
    for (int i = 0; i < ctl->n_studies; i++) {
        if (str_eq(ctl->studies[i]->row.name, ref)) {
            *id = ctl->studies[i]->row.id;
            return 0;
        }
    }
    rc = store_study_id(ctl->store, ref, id, err);
    if (rc == 0)
        return err_set(err, ERR_NOTFOUND, "no study \"%.80s\"", ref);
    return rc < 0 ? -1 : 0;
}

int study_find(struct ctl *ctl, const char *ref, int64_t *id, bool *is_final, struct err *err)
{
    struct study_row row = { 0 };
    struct err why = { 0 };
    const struct study *st = NULL;

    if (study_ref(ctl, ref, id, &why) < 0) {
        if (why.code != ERR_NOTFOUND)
            *err = why;
        return why.code == ERR_NOTFOUND ? 0 : -1;
    }
    st = study_loaded(ctl, *id);
    if (st) {
        *is_final = study_is_final(st->row.state);
        return 1;
    }
    int rc = store_study_get(ctl->store, *id, &row, &why);
    *is_final = rc == 1 && study_is_final(row.state);
    study_row_fini(&row);
    if (rc < 0 && damage_is_passing(&why))
        *err = why;
    return rc < 0 && !damage_is_passing(&why) ? 1 : rc; /* a damaged study is there, too */
}
