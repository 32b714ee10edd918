/* study.c - a study in memory, from its rows. Loading is one function for the start of the process, for an ended study that
 * somebody asks about, and for undoing a request: the row, the spec, the resolved data, the space, one short record per
 * trial, then the search decisions so far (plan.c runs again, live.c replays the journal). Ended studies have no searchers.
 *
 * study_settle is the one place that draws consequences: handlers change rows, then settle moves the study on. */
#include "controller/state/study.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/finish.h"
#include "controller/decide/live.h"
#include "controller/decide/plan.h"
#include "controller/decide/probe.h"
#include "controller/decide/propose.h"
#include "controller/decide/searchers.h"
#include "controller/decide/warm.h"
#include "controller/serve/dataset.h"
#include "controller/snapshot.h"
#include "controller/state/board.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/trial.h"
#include "controller/view/analysis.h"
#include "controller/view/brief.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SETTLE_MAX = 10000, CHECKED_ROWS = 1000, EXPECT_US = 20000 };

/* ---- memory ---- */

static struct study *study_new(struct ctl *ctl)
{
    struct study *st = mem_zalloc(sizeof *st);

    st->ctl = ctl;
    st->clock_from = -1;
    st->best_score = NAN;
    st->expect_us = EXPECT_US;
    st->asked_ms = ctl_now(ctl);
    return st;
}

/* Everything but the struct itself, which stays where it is. */
static void study_clear(struct study *st)
{
    analysis_free(st->analysis);
    st->analysis = NULL;
    propose_close(st);
    plan_fini(st);
    json_decref(st->warm);
    json_decref(st->rungs);
    study_space_fini(&st->space);
    spec_fini(&st->spec);
    study_row_fini(&st->row);
    mem_free(st->trials);
    mem_free(st->queue);
    mem_free(st->paused);
    mem_free(st->board);
    mem_free(st->kept);
}

void study_free(struct study *st)
{
    study_clear(st);
    mem_free(st);
}

void study_drop(struct ctl *ctl, struct study *st)
{
    brief_forget(ctl, st->row.id);
    for (int i = 0; i < ctl->n_studies; i++) {
        if (ctl->studies[i] == st)
            ctl->studies[i] = ctl->studies[--ctl->n_studies];
    }
    for (int i = ctl->n_leases - 1; i >= 0; i--) {
        if (!ctl->leases[i].is_task && ctl->leases[i].study == st->row.id)
            lease_remove(ctl, i);
    }
    study_free(st);
}

struct study *study_loaded(struct ctl *ctl, int64_t id)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        if (ctl->studies[i]->row.id == id)
            return ctl->studies[i];
    }
    return NULL;
}

/* ---- facts ---- */

double study_gain(const struct study *st, double score)
{
    return st->problem.metric && !st->problem.metric->larger_is_better ? -score : score;
}

bool study_is_open(const struct study *st)
{
    return st->row.state == SS_QUEUED || st->row.state == SS_RUNNING || st->row.state == SS_PAUSED;
}

bool study_has_open_trials(const struct study *st)
{
    return st->count[TS_QUEUED] + st->count[TS_RUNNING] + st->count[TS_PAUSED] > 0;
}

/* ---- loading ---- */

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

static int space_load(struct study *st, struct err *err)
{
    struct space_for need = { st->problem.task, st->problem.data.metric,
                              st->problem.data.monotone[0] != '\0' };

    if (study_space_build(&st->space, st->spec.space, &need, err) < 0)
        return -1;
    st->families[0] = family_find("baseline");
    if (!st->families[0])
        return err_set(err, ERR_IO, "there is no family called baseline");
    st->n_families = 1;
    for (int i = 0; i < st->space.n_families; i++)
        st->families[st->n_families++] = st->space.first[i].family;
    return 0;
}

struct loading {
    struct study *st;
    struct err *err;
};

static bool is_level(int level, int most)
{
    return level >= 0 && level <= most;
}

/* What the code relies on and no constraint of the table promises. */
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

static int search_load(struct study *st, struct err *err)
{
    int64_t seq = 0;
    int rc = 0;

    if (study_is_final(st->row.state) || st->row.state == SS_FINISHING)
        return 0;
    if (!st->problem.search.sampler[0])
        searchers_choose(st); /* stored before there was a choice: what its spec names */
    if (propose_open(st, err) < 0)
        return -1;
    if (st->is_deterministic)
        plan_init(st);
    rc = snapshot_load(st, &seq, err);
    if (rc < 0 || (rc == 0 && warm_tell(st, err) < 0))
        return -1;
    return st->is_deterministic ? 0 : live_replay(st, seq, err);
}

static void clock_load(struct study *st)
{
    st->used_base = st->row.used_ms;
    st->clock_from = -1;
    if (st->row.state == SS_RUNNING || st->row.state == SS_FINISHING)
        budget_clock_start(st);
}

/* Only one trial can be running while the validation is undecided. */
static void probe_load(struct study *st)
{
    for (int64_t k = 1; st->problem.is_undecided && k <= st->n_trials; k++) {
        if (st->trials[k - 1].state == TS_RUNNING)
            st->probe = k;
    }
}

static void rungs_load(struct study *st)
{
    json_t *o = NULL;

    if (!st->row.data || (!study_is_final(st->row.state) && st->row.state != SS_FINISHING))
        return;
    o = jsonx_load(st->row.data, strlen(st->row.data), "study data", NULL);
    st->rungs = json_incref(json_object_get(o, "brackets"));
    json_decref(o);
}

static int refit_load(struct study *st, struct err *err)
{
    struct task_row task = { 0 };
    json_t *o = NULL;

    if (st->row.state != SS_FINISHING || !st->row.result)
        return 0;
    o = jsonx_load(st->row.result, strlen(st->row.result), "result", NULL);
    int64_t id = json_integer_value(json_object_get(o, "refit_task"));
    json_decref(o);
    /* Its row, not memory: tasks may be loaded after this. */
    int rc = id > 0 ? store_task_get(st->ctl->store, id, &task, err) : 0;
    if (rc == 1 && (str_eq(task.state, "queued") || str_eq(task.state, "running")))
        st->refit = id;
    task_row_fini(&task);
    return rc < 0 ? -1 : 0;
}

static int row_check(const struct study *st, struct err *err)
{
    const struct study_row *row = &st->row;
    struct dataset_row data = { 0 };
    int rc = 0;

    if (row->id < 1 || !row->name || !row->name[0] || !row->spec || row->state == SS_NONE)
        return err_set(err, ERR_DAMAGED, "its row is not whole");
    /* An ended one may outlive its dataset. */
    rc = row->dataset && !study_is_final(row->state)
             ? store_dataset_get(st->ctl->store, row->dataset, &data, err)
             : 1;
    dataset_row_fini(&data);
    return rc == 0 ? err_set(err, ERR_DAMAGED, "its row names a dataset that there is not")
                   : MIN(rc, 0);
}

/* What its row says: 1, 0 = there is no such row, -1. */
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

/* All but its trials. */
static int head_load(struct study *st, int64_t id, struct err *err)
{
    int rc = row_load(st, id, err);

    return rc == 1 && st->row.data && space_load(st, err) < 0 ? -1 : rc;
}

struct study *study_row_load(struct ctl *ctl, int64_t id, struct err *err)
{
    struct study *st = study_new(ctl);
    int rc = row_load(st, id, err);

    if (rc == 1)
        return st;
    if (rc == 0)
        err_set(err, ERR_NOTFOUND, "no study %" PRId64, id);
    study_free(st);
    return NULL;
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

/* Fills an empty study from its rows: 1, 0 = there is no such row, -1. */
static int fill(struct study *st, int64_t id, struct err *err)
{
    int rc = head_load(st, id, err);

    if (rc <= 0)
        return rc;
    if (study_fill_trials(st, st->ctl->store, err) < 0 || refit_load(st, err) < 0)
        return -1;
    if (!st->problem.is_ready && st->n_trials > 0)
        return err_set(err, ERR_DAMAGED, "it has trials, but its data is not there");
    clock_load(st);
    probe_load(st);
    rungs_load(st);
    if (st->problem.is_ready && search_load(st, err) < 0)
        return -1;
    /* If this turn's commit fails, what it was read from is gone. */
    st->touched_turn = st->ctl->turn_no;
    st->needs_settling = !study_is_final(st->row.state);
    return lease_restore(st->ctl, st, err) < 0 ? -1 : 1;
}

struct study *study_head_load(struct ctl *ctl, int64_t id, struct err *err)
{
    struct study *st = study_new(ctl);

    if (head_load(st, id, err) == 1)
        return st;
    study_free(st);
    return NULL;
}

int study_adopt(struct ctl *ctl, struct study *st, struct err *err)
{
    struct study_row now = { 0 };
    int rc = store_study_get(ctl->store, st->row.id, &now, err);

    if (rc != 1 || !study_is_final(now.state)) {
        study_row_fini(&now);
        return -1;
    }
    study_row_fini(&st->row);
    st->row = now;
    clock_load(st);
    rungs_load(st);
    st->asked_ms = ctl_now(ctl);
    CTL_GROW(ctl->studies, ctl->n_studies, ctl->cap_studies);
    ctl->studies[ctl->n_studies++] = st;
    return 0;
}

static struct study_kept kept_of(const struct study *st)
{
    return (struct study_kept){ .used_ms = budget_used(st),
                                .keep_ms = st->keep_ms,
                                .lane_us = st->lane_us,
                                .was_running = st->clock_from >= 0 };
}

static void kept_take(struct study *st, const struct study_kept *kept)
{
    st->keep_ms = kept->keep_ms;
    st->lane_us = kept->lane_us;
    if (kept->was_running && st->clock_from >= 0)
        st->used_base = MAX(kept->used_ms, st->used_base);
}

struct study *study_load(struct ctl *ctl, int64_t id, struct err *err)
{
    struct err why = { 0 };
    struct study *st = NULL;
    int rc = 0;

    if (damage_check(ctl, id, err) < 0)
        return NULL;
    st = study_new(ctl);
    rc = fill(st, id, &why);
    if (rc == 1) {
        if (damage_of(ctl, id))
            kept_take(st, &damage_of(ctl, id)->kept);
        damage_forget(ctl, id);
        CTL_GROW(ctl->studies, ctl->n_studies, ctl->cap_studies);
        ctl->studies[ctl->n_studies++] = st;
        return st;
    }
    study_free(st);
    if (rc == 0) {
        err_set(err, ERR_NOTFOUND, "no study %" PRId64, id);
    } else {
        damage_note(ctl, id, &why, NULL);
        err_set(err, why.code, "study %" PRId64 ": %s", id, why.text);
    }
    return NULL;
}

int study_reload(struct ctl *ctl, struct study *st, struct err *err)
{
    int64_t id = st->row.id, asked = st->asked_ms;
    struct study_kept kept = kept_of(st);

    study_clear(st);
    *st = (struct study){
        .ctl = ctl, .clock_from = -1, .best_score = NAN, .asked_ms = asked, .expect_us = EXPECT_US
    };
    int rc = fill(st, id, err);
    if (rc == 1) {
        kept_take(st, &kept);
        return 0;
    }
    st->row.id = id;
    study_drop(ctl, st);
    if (rc < 0)
        damage_note(ctl, id, err, &kept);
    return rc < 0 ? -1 : 1; /* made by what is undone */
}

struct study *study_by_id(struct ctl *ctl, int64_t id, struct err *err)
{
    struct study *st = study_loaded(ctl, id);

    if (!st)
        st = study_load(ctl, id, err);
    if (st)
        st->asked_ms = ctl_now(ctl);
    return st;
}

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
    return rc < 0 && !damage_is_passing(&why) ? 1 : rc; /* a damaged one is found, too */
}

struct study *study_by_ref(struct ctl *ctl, const char *ref, struct err *err)
{
    int64_t id = 0;

    return study_ref(ctl, ref, &id, err) < 0 ? NULL : study_by_id(ctl, id, err);
}

int study_open_search(struct study *st, struct err *err)
{
    CHECK(st->problem.is_ready && !st->sampler && st->n_trials == 0);
    if (space_load(st, err) < 0)
        return -1;
    searchers_choose(st);
    if ((st->spec.warm_start[0] && warm_gather(st, err) < 0) || propose_open(st, err) < 0 ||
        warm_tell(st, err) < 0)
        return -1;
    if (st->is_deterministic)
        plan_init(st);
    return 0;
}

/* ---- changes of the row ---- */

int study_may(const struct study *st, enum study_event ev, struct err *err)
{
    static const char *const done[SE_EVENTS] = { [SE_PAUSE] = "paused",
                                                 [SE_RESUME] = "resumed",
                                                 [SE_FINISH] = "stopped",
                                                 [SE_STOP] = "killed" };
    enum study_state state = st->row.state;
    const char *now = study_state_name[state];

    if (study_next(&state, ev, st->row.id, NULL) == 0)
        return 0;
    CHECK(done[ev]);
    if (study_is_final(st->row.state))
        return err_set(err, ERR_CONFLICT, "study \"%s\" has already ended (%s)", st->row.name, now);
    return str_eq(now, done[ev])
               ? err_set(err, ERR_CONFLICT, "study \"%s\" is %s already", st->row.name, now)
               : err_set(err, ERR_CONFLICT, "study \"%s\" is %s and cannot be %s", st->row.name,
                         now, done[ev]);
}

int study_move(struct study *st, enum study_event ev, const char *reason, json_t *data,
               struct err *err)
{
    char *text = data ? jsonx_dump(data) : NULL, *copy = mem_strdup(reason);
    int rc = -1;

    json_decref(data);
    ctl_touch(st->ctl, st);
    st->row.used_ms = budget_used(st);
    if (study_next(&st->row.state, ev, st->row.id, err) < 0)
        goto out;
    mem_free(st->row.reason);
    st->row.reason = mem_strdup(copy);
    if (store_study_event(st->ctl->store, &st->row, ev, text, err) < 0) {
        damage_suspect(st->ctl, st->row.id, err);
        goto out;
    }
    log_info("study.%s study=%" PRId64 " name=%s%s%s%s", study_event_name[ev], st->row.id,
             st->row.name, copy ? " reason=\"" : "", copy ? copy : "", copy ? "\"" : "");
    rc = 0;
out:
    mem_free(copy);
    mem_free(text);
    return rc;
}

int study_save(struct study *st, struct err *err)
{
    ctl_touch(st->ctl, st);
    if (st->problem.is_ready) {
        json_t *data = problem_json_new(&st->problem);
        CHECK(data);
        if (st->rungs)
            json_object_set(data, "brackets", st->rungs);
        mem_free(st->row.data);
        st->row.data = jsonx_dump(data);
        json_decref(data);
    }
    st->row.used_ms = budget_used(st);
    st->used_saved_ms = ctl_now(st->ctl);
    if (store_study_update(st->ctl->store, &st->row, err) < 0)
        return damage_suspect(st->ctl, st->row.id, err);
    return 0;
}

int study_fail(struct study *st, const char *reason, struct err *err)
{
    budget_clock_stop(st);
    st->row.ended_at = ctl_wall(st->ctl);
    return study_move(st, SE_FAIL, reason, NULL, err);
}

/* ---- consequences ---- */

static int settle_once(struct study *st, struct err *err)
{
    if (!st->problem.is_ready && study_is_open(st) && dataset_resolve_study(st, err) < 0)
        return -1;
    if (study_is_final(st->row.state))
        return brief_keep(st, err);
    if (!st->problem.is_ready)
        return 0;
    if (st->probe && probe_step(st, err) < 0)
        return -1;
    if (study_is_open(st) && st->is_deterministic && plan_advance(st, err) < 0)
        return -1;
    if (study_is_open(st) && !st->is_deterministic && live_settle(st, err) < 0)
        return -1;
    if (st->row.state == SS_FINISHING && finish_step(st, err) < 0)
        return -1;
    return st->n_kept > 0 ? board_evict(st, err) : 0;
}

/* What must hold between requests. The lists are short; the board's top is walked only with --dev. */
static void study_check(const struct study *st)
{
    int64_t total = 0;

    for (int s = TS_QUEUED; s < TS_STATES; s++) {
        CHECK(st->count[s] >= 0);
        total += st->count[s];
    }
    CHECK(total == st->n_trials && st->count[TS_NONE] == 0);
    CHECK(st->n_queue == st->count[TS_QUEUED] && st->n_paused == st->count[TS_PAUSED]);
    CHECK(st->n_board <= st->count[TS_COMPLETED] && st->n_kept <= st->n_board);
    CHECK(!study_is_final(st->row.state) || !study_has_open_trials(st));
    CHECK(!study_is_final(st->row.state) || st->clock_from < 0);
    CHECK(st->probe <= st->n_trials && st->plan.n_runs <= st->plan.workers);
    for (int i = 0; i < st->n_queue; i++) {
        CHECK(st->trials[st->queue[i] - 1].state == TS_QUEUED);
        CHECK(i == 0 || st->queue[i - 1] < st->queue[i]);
    }
    for (int i = 0; i < st->n_kept; i++)
        CHECK(st->trials[st->kept[i] - 1].has_artifact);
    for (int i = 0; st->ctl->conf.dev && i < MIN(st->n_board, CHECKED_ROWS); i++) {
        const struct trial_mem *t = &st->trials[st->board[i] - 1];

        CHECK(t->state == TS_COMPLETED && !isnan(t->score));
        CHECK(i == 0 ||
              study_gain(st, st->trials[st->board[i - 1] - 1].score) >= study_gain(st, t->score));
    }
}

/* Every running trial is under exactly one lease, every lease is of a running trial. */
static void leases_check(const struct ctl *ctl, const struct study *st)
{
    int64_t n = 0;

    for (int i = 0; i < ctl->n_leases; i++) {
        const struct lease *l = &ctl->leases[i];

        if (l->is_task || l->study != st->row.id)
            continue;
        CHECK(l->number >= 1 && l->number <= st->n_trials);
        CHECK(st->trials[l->number - 1].id == l->id);
        CHECK(st->trials[l->number - 1].state == TS_RUNNING);
        CHECK(l->from < l->to && l->fence >= 1 && l->runner > 0);
        n++;
    }
    CHECK(n == st->count[TS_RUNNING]);
}

int study_settle(struct study *st, struct err *err)
{
    for (int i = 0; st->needs_settling; i++) {
        CHECK(i < SETTLE_MAX); /* every round moves the study towards its end */
        st->needs_settling = false;
        if (settle_once(st, err) < 0)
            return err_wrap(err, "study %s", st->row.name);
        if (!st->needs_settling) {
            study_check(st);
            leases_check(st->ctl, st);
        }
    }
    return 0;
}

int study_settle_all(struct ctl *ctl, struct err *err)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        if (study_settle(ctl->studies[i], err) < 0)
            return damage_suspect(ctl, ctl->studies[i]->row.id, err);
    }
    return 0;
}
