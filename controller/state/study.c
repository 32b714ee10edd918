/* study.c - a study in memory: its facts, and the changes of its row.
 *
 * A change is recorded here whole: the row, its line in the journal, and memory, in one call. Nobody above is told. What a
 * change means for the search is decided later from the list of what happened (happened.h); serve/settle.c sees to that at
 * the end of each request that touched the study.
 *
 * The clock of a study counts the milliseconds of its budget that were used. It is a recorded fact like any other: whether
 * it should run is decided elsewhere. Called by all rooms above; the loop's thread only. */
#include "controller/state/study.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/damage.h"
#include "store/journal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- memory ---- */

void study_init(struct study *st, struct ctl *ctl)
{
    *st = (struct study){ .ctl = ctl,
                          .clock_from = -1,
                          .honest = mem_zalloc(sizeof(struct honest_memo)) };
}

struct study *study_new(struct ctl *ctl)
{
    struct study *st = mem_zalloc(sizeof *st);

    study_init(st, ctl);
    st->asked_ms = ctl_now(ctl);
    return st;
}

void study_fini(struct study *st)
{
    CHECK(!st->search && !st->analysis); /* their rooms close them first */
    CHECK(st->n_trials <= st->cap_trials && st->n_queue <= st->cap_queue);
    json_decref(st->rungs);
    json_decref(st->warnings);
    study_space_fini(&st->space);
    spec_fini(&st->spec);
    study_row_fini(&st->row);
    trial_row_fini(&st->newest);
    for (int i = 0; i < st->n_trials; i++)
        mem_free(st->trials[i].blocks);
    mem_free(st->trials);
    mem_free(st->honest);
    mem_free(st->queue);
    mem_free(st->paused);
    mem_free(st->board);
    mem_free(st->kept);
    mem_free(st->happened);
    mem_free(st->retries);
}

void study_delete(struct study *st)
{
    study_fini(st);
    mem_free(st);
}

struct study *study_loaded(struct ctl *ctl, int64_t id)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        if (ctl->studies[i]->row.id == id)
            return ctl->studies[i];
    }
    return NULL;
}

bool study_is_unread(const struct ctl *ctl, int64_t id)
{
    for (int i = 0; i < ctl->n_unread; i++) {
        if (ctl->unread[i] == id)
            return true;
    }
    return false;
}

void study_unread(struct ctl *ctl, int64_t id, bool is_unread)
{
    CHECK(study_is_unread(ctl, id) != is_unread);
    if (is_unread) {
        MEM_GROW(ctl->unread, ctl->n_unread, ctl->cap_unread);
        ctl->unread[ctl->n_unread++] = id;
        return;
    }
    for (int i = 0; i < ctl->n_unread; i++) {
        if (ctl->unread[i] == id)
            ctl->unread[i] = ctl->unread[--ctl->n_unread];
    }
}

void study_hold(struct study *st)
{
    CHECK(st->ctl->in_request);
    st->touched_turn = st->ctl->turn_no;
    st->touched_request = st->ctl->request_no;
}

void ctl_touch(struct ctl *ctl, struct study *st)
{
    CHECK(st->ctl == ctl);
    study_hold(st);
    st->needs_settling = true;
    ctl->has_news = true;
}

void study_happened(struct study *st, struct happening h)
{
    CHECK(h.number >= 1 && h.number <= st->n_trials);
    MEM_GROW(st->happened, st->n_happened, st->cap_happened);
    st->happened[st->n_happened++] = h;
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
    st->row.used_ms = study_used_ms(st);
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
        if (st->warnings)
            json_object_set(data, "warnings", st->warnings);
        mem_free(st->row.data);
        st->row.data = jsonx_dump(data);
        json_decref(data);
    }
    st->row.used_ms = study_used_ms(st);
    st->used_saved_ms = ctl_now(st->ctl);
    if (store_study_update(st->ctl->store, &st->row, err) < 0)
        return damage_suspect(st->ctl, st->row.id, err);
    return 0;
}

int study_say(struct study *st, const char *event, const char *data, struct err *err)
{
    ctl_touch(st->ctl, st);
    return journal_add(st->ctl->store, st->row.id, 0, event, data, err);
}

/* ---- the clock of its budget ---- */

int64_t study_used_ms(const struct study *st)
{
    return st->used_base + (st->clock_from >= 0 ? ctl_now(st->ctl) - st->clock_from : 0);
}

void study_clock_start(struct study *st)
{
    if (st->clock_from < 0)
        st->clock_from = ctl_now(st->ctl);
}

void study_clock_stop(struct study *st)
{
    st->used_base = study_used_ms(st);
    st->clock_from = -1;
    st->row.used_ms = st->used_base;
}

bool study_waits_for_table(const struct study *st)
{
    return st->table_next_ms > ctl_now(st->ctl);
}
