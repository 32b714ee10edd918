/* load.c - studies come into memory and leave it (load.h).
 *
 * A study is its rows (state/rows.h) and its search (decide/search.h). The search is not stored: it
 * is built by telling fresh searchers what happened, in the order in which it happened. There is
 * one way to load a study, and three occasions: the start of the process; somebody asks for a study
 * that is not in memory; a request or a turn was undone.
 *
 * A study that cannot be read leaves memory and is listed as damaged (state/damage.h). What may be
 * readable later is tried again by damage_tick. Whoever holds a `struct study *` across a call that
 * may reload studies must look it up again. */
#include "controller/settle/load.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/decide/plan.h"
#include "controller/decide/propose.h"
#include "controller/decide/searchers.h"
#include "controller/decide/warm.h"
#include "controller/settle/replay.h"
#include "controller/state/damage.h"
#include "controller/state/lease.h"
#include "controller/state/rows.h"
#include "controller/view/analysis.h"
#include "controller/view/brief.h"

#include <inttypes.h>
#include <math.h>

/* ---- leaving memory ---- */

/* Frees everything in the struct, but not the struct itself: a reload fills it again at the same
 * address. */
static void study_clear(struct study *st)
{
    analysis_free(st->analysis);
    st->analysis = NULL;
    propose_close(st);
    study_fini(st);
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

/* ---- coming into memory ---- */

/* A study that finishes or has ended needs no search. A deterministic one runs its plan again when
 * it is settled; a live one replays its journal here. */
static int search_load(struct study *st, struct err *err)
{
    if (study_is_final(st->row.state) || st->row.state == SS_FINISHING)
        return 0;
    if (!st->problem.search.sampler[0])
        searchers_choose(st); /* its rows are older than the stored choice */
    search_open(st);
    if (replay_warm(st, err) < 0 || propose_open(st, err) < 0 || warm_tell(st, err) < 0)
        return -1;
    if (!st->is_deterministic)
        return replay_study(st, err);
    plan_init(st);
    return 0;
}

int study_build(struct study *st, int64_t id, struct err *err)
{
    int rc = study_fill(st, id, err);

    if (rc != 1)
        return rc;
    return st->problem.is_ready && search_load(st, err) < 0 ? -1 : 1;
}

/* The study, its search and the leases of its running trials: 1, 0 = there is no such row, -1. */
static int fill(struct study *st, int64_t id, struct err *err)
{
    int rc = study_build(st, id, err);

    if (rc != 1)
        return rc;
    return lease_restore(st->ctl, st, err) < 0 ? -1 : 1;
}

static struct study_kept kept_of(const struct study *st)
{
    return (struct study_kept){ .used_ms = study_used_ms(st),
                                .keep_ms = st->keep_ms,
                                .trial_us = st->trial_us,
                                .was_running = st->clock_from >= 0 };
}

static void kept_take(struct study *st, const struct study_kept *kept)
{
    st->keep_ms = kept->keep_ms;
    st->trial_us = kept->trial_us;
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
    if (study_is_unread(ctl, id)) {
        err_set(err, ERR_BUSY,
                "study %" PRId64 " is being read after the start: try again in a second", id);
        return NULL;
    }
    CHECK(!study_loaded(ctl, id)); /* one struct for one study */
    st = study_new(ctl);
    rc = fill(st, id, &why);
    if (rc == 1) {
        if (damage_of(ctl, id))
            kept_take(st, &damage_of(ctl, id)->kept);
        damage_forget(ctl, id);
        MEM_GROW(ctl->studies, ctl->n_studies, ctl->cap_studies);
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
    study_init(st, ctl);
    st->asked_ms = asked;
    int rc = fill(st, id, err);
    if (rc == 1) {
        kept_take(st, &kept);
        return 0;
    }
    st->row.id = id;
    study_drop(ctl, st);
    if (rc < 0)
        damage_note(ctl, id, err, &kept);
    return rc < 0 ? -1 : 1; /* 1: the study was created by what was undone */
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

struct study *study_by_ref(struct ctl *ctl, const char *ref, struct err *err)
{
    int64_t id = 0;

    return study_ref(ctl, ref, &id, err) < 0 ? NULL : study_by_id(ctl, id, err);
}

int study_adopt(struct ctl *ctl, struct study *st, struct err *err)
{
    CHECK(!study_loaded(ctl, st->row.id) && !st->search);
    if (study_take_row(st, err) < 0)
        return -1;
    st->asked_ms = ctl_now(ctl);
    MEM_GROW(ctl->studies, ctl->n_studies, ctl->cap_studies);
    ctl->studies[ctl->n_studies++] = st;
    return 0;
}

/* Takes the earlier study's trials over, and writes them into this study's journal
 * (decide/warm.h). */
static int warm_open(struct study *st, struct err *err)
{
    struct err why = { 0 };
    struct study *from = NULL;
    int rc = -1;

    if (!st->spec.warm_start[0])
        return 0;
    from = study_by_ref(st->ctl, st->spec.warm_start, &why);
    if (!from)
        return why.code == ERR_NOTFOUND ? err_at(err, "warm_start", "%s", why.text)
                                        : err_set(err, why.code, "%s", why.text);
    st->search->warm = warm_gather(st, from, err);
    if (st->search->warm) {
        char *text = jsonx_dump(st->search->warm);

        rc = study_say(st, "search.warm", text, err);
        mem_free(text);
    }
    return rc;
}

int study_open_search(struct study *st, struct err *err)
{
    CHECK(st->problem.is_ready && !st->search && st->n_trials == 0);
    if (study_space_load(st, err) < 0)
        return -1;
    searchers_choose(st);
    search_open(st);
    if (warm_open(st, err) < 0 || propose_open(st, err) < 0 || warm_tell(st, err) < 0) {
        propose_close(st);
        return -1;
    }
    if (st->is_deterministic)
        plan_init(st);
    return 0;
}

/* ---- damaged ones ---- */

void damage_convict(struct ctl *ctl)
{
    int64_t id = ctl->suspect;
    struct study *st = id ? study_loaded(ctl, id) : NULL;

    ctl->suspect = 0;
    if (st) {
        study_drop(ctl, st);
        damage_note(ctl, id, &ctl->suspect_why, NULL);
    }
}

/* An ended study is only taken off the list: it is read when somebody asks for it. */
static void try_again(struct ctl *ctl, int64_t id)
{
    struct study_row row = { 0 };
    struct err err = { 0 };
    int rc = store_study_get(ctl->store, id, &row, &err);

    if (rc == 0 || (rc == 1 && study_is_final(row.state)))
        damage_forget(ctl, id);
    else if (rc < 0)
        damage_note(ctl, id, &err, NULL);
    else if (study_load(ctl, id, &err))
        log_info("study.read_again study=%" PRId64, id);
    study_row_fini(&row);
}

void damage_tick(struct ctl *ctl)
{
    int64_t now = ctl_now(ctl);

    for (int i = ctl->n_damages - 1; i >= 0; i--) {
        if (i < ctl->n_damages && ctl->damages[i].due_ms <= now)
            try_again(ctl, ctl->damages[i].study);
    }
}
