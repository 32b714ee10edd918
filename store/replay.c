/* replay.c - rebuilds every state from the journal and compares it with the rows.
 *
 * From the first journal row on, each event is applied by the same tables that the controller uses
 * (proto/trial.h). One small entry per study, trial and report is kept in sorted arrays. Then the
 * rows are read and compared with the entries. Each difference is one line for the caller, and any
 * difference means that a change was written without its journal row, or the file was changed by
 * another program. This file only reads. Called by `assay debug replay` and by tests. */
#include "base/bisect.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/journal.h"
#include "store/query.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ordered by (id, level). A study's or a trial's entry has level 0; a report's has the trial's id. */
struct entry {
    int64_t id, level, study;
    int state;
    double value, se;
    bool is_seen; /* a row of this id was found */
};
struct table {
    struct entry *v;
    size_t n, cap;
};
struct replay {
    struct store *store;
    struct table studies, trials, reports;
    int differences;
    void (*on_diff)(void *arg, const char *line);
    void *arg;
};

static void tell(struct replay *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void tell(struct replay *r, const char *fmt, ...)
{
    char line[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    r->differences++;
    if (r->on_diff)
        r->on_diff(r->arg, line);
}

static int entry_order(const struct entry *e, int64_t id, int64_t level)
{
    if (e->id != id)
        return e->id < id ? -1 : 1;
    return e->level == level ? 0 : e->level < level ? -1 : 1;
}

/* The index at which (id, level) stands, or at which it must be inserted. */
static size_t table_place(const struct table *t, int64_t id, int64_t level)
{
    size_t at;

    BISECT(at, t->n, entry_order(&t->v[at], id, level) < 0);
    return at;
}

static struct entry *table_find(struct table *t, int64_t id, int64_t level)
{
    size_t i = table_place(t, id, level);

    return i < t->n && entry_order(&t->v[i], id, level) == 0 ? &t->v[i] : NULL;
}

/* Inserts an entry; NULL when there is one already. Ids grow with the journal, so nearly every insert
 * is an append and moves nothing. */
static struct entry *table_add(struct table *t, int64_t id, int64_t level)
{
    size_t i = table_place(t, id, level);

    if (i < t->n && entry_order(&t->v[i], id, level) == 0)
        return NULL;
    MEM_GROW(t->v, t->n, t->cap);
    memmove(&t->v[i + 1], &t->v[i], (t->n - i) * sizeof *t->v);
    t->v[i] = (struct entry){ .id = id, .level = level };
    t->n++;
    return &t->v[i];
}

static void study_step(struct replay *r, int64_t seq, int64_t id, const char *name)
{
    enum study_event ev = SE_CREATE;
    struct entry *e = NULL;
    struct err err = { 0 };
    enum study_state state = SS_NONE;

    if (strcmp(name, "delete") == 0)
        return; /* the study's other journal rows were deleted with it, so no entry exists */
    if (study_event_parse(name, &ev, &err) < 0) {
        tell(r, "journal %" PRId64 ": study %" PRId64 ": %s", seq, id, err.text);
        return;
    }
    e = ev == SE_CREATE ? table_add(&r->studies, id, 0) : table_find(&r->studies, id, 0);
    if (!e) {
        tell(r, "journal %" PRId64 ": study %" PRId64 " is %s", seq, id,
             ev == SE_CREATE ? "created twice" : "not created yet");
        return;
    }
    state = (enum study_state)e->state;
    if (study_next(&state, ev, id, &err) < 0)
        tell(r, "journal %" PRId64 ": %s", seq, err.text);
    e->state = (int)state;
}

static void trial_step(struct replay *r, int64_t seq, int64_t study, int64_t id, const char *name)
{
    enum trial_event ev = TE_CREATE;
    struct entry *e = NULL;
    struct err err = { 0 };
    enum trial_state state = TS_NONE;

    if (trial_event_parse(name, &ev, &err) < 0) {
        tell(r, "journal %" PRId64 ": trial %" PRId64 ": %s", seq, id, err.text);
        return;
    }
    e = ev == TE_CREATE ? table_add(&r->trials, id, 0) : table_find(&r->trials, id, 0);
    if (!e) {
        tell(r, "journal %" PRId64 ": trial %" PRId64 " is %s", seq, id,
             ev == TE_CREATE ? "created twice" : "not created yet");
        return;
    }
    e->study = study;
    state = (enum trial_state)e->state;
    if (trial_next(&state, ev, id, &err) < 0)
        tell(r, "journal %" PRId64 ": %s", seq, err.text);
    e->state = (int)state;
}

static void report_step(struct replay *r, int64_t seq, int64_t trial, const char *data)
{
    struct err err = { 0 };
    json_t *j = jsonx_load(data ? data : "", data ? strlen(data) : 0, "report", &err);
    int64_t level = 0;
    double value = NAN, se = NAN;
    struct entry *e = NULL;

    if (!j || jsonx_i64(j, NULL, "level", JSONX_REQUIRED, 0, INT32_MAX, &level, &err) < 0 ||
        jsonx_f64(j, NULL, "value", JSONX_OPTIONAL, &value, &err) < 0 ||
        jsonx_f64(j, NULL, "se", JSONX_OPTIONAL, &se, &err) < 0) {
        tell(r, "journal %" PRId64 ": %s", seq, err.text);
    } else if (!(e = table_add(&r->reports, trial, level))) {
        tell(r, "journal %" PRId64 ": trial %" PRId64 " reports level %" PRId64 " twice", seq,
             trial, level);
    } else {
        e->value = value;
        e->se = se;
    }
    json_decref(j);
}

static int journal_walk(struct replay *r, struct err *err)
{
    struct query q = query_open(r->store, SQL_REPLAY_JOURNAL);
    int64_t last = 0;
    int rc = 0;

    while ((rc = query_step(&q, err)) == 1) {
        int64_t seq = query_col_i64(&q, 0), study = query_col_i64(&q, 1),
                trial = query_col_i64(&q, 2);
        const char *event = query_col_text(&q, 3);

        CHECK(seq > last);
        last = seq;
        if (str_starts(event, "study."))
            study_step(r, seq, study, event + strlen("study."));
        else if (str_starts(event, "trial."))
            trial_step(r, seq, study, trial, event + strlen("trial."));
        else if (strcmp(event, "report") == 0)
            report_step(r, seq, trial, query_col_text(&q, 4));
    }
    query_close(&q);
    return rc;
}

static int studies_compare(struct replay *r, struct err *err)
{
    struct query q = query_open(r->store, SQL_REPLAY_STUDIES);
    int rc = 0;

    while ((rc = query_step(&q, err)) == 1) {
        int64_t id = query_col_i64(&q, 0);
        const char *state = query_col_text(&q, 1);
        struct entry *e = table_find(&r->studies, id, 0);

        if (!e)
            tell(r, "study %" PRId64 ": a row, but not in the journal", id);
        else if (strcmp(study_state_name[e->state], state) != 0)
            tell(r, "study %" PRId64 ": row says %s, journal %s", id, state,
                 study_state_name[e->state]);
        if (e)
            e->is_seen = true;
    }
    query_close(&q);
    return rc;
}

static int trials_compare(struct replay *r, struct err *err)
{
    struct query q = query_open(r->store, SQL_REPLAY_TRIALS);
    int rc = 0;

    while ((rc = query_step(&q, err)) == 1) {
        int64_t id = query_col_i64(&q, 0), study = query_col_i64(&q, 1);
        const char *state = query_col_text(&q, 2);
        struct entry *e = table_find(&r->trials, id, 0);

        if (!e)
            tell(r, "trial %" PRId64 ": a row, but not in the journal", id);
        else if (e->study != study)
            tell(r, "trial %" PRId64 ": row says study %" PRId64 ", journal %" PRId64, id, study,
                 e->study);
        else if (strcmp(trial_state_name[e->state], state) != 0)
            tell(r, "trial %" PRId64 ": row says %s, journal %s", id, state,
                 trial_state_name[e->state]);
        if (e)
            e->is_seen = true;
    }
    query_close(&q);
    return rc;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static int reports_compare(struct replay *r, struct err *err)
{
    struct query q = query_open(r->store, SQL_REPLAY_REPORTS);
    int rc = 0;

    while ((rc = query_step(&q, err)) == 1) {
        int64_t trial = query_col_i64(&q, 0), level = query_col_i64(&q, 1);
        double value = query_col_f64(&q, 2), se = query_col_f64(&q, 3);
        struct entry *e = table_find(&r->reports, trial, level);

        if (!e)
            tell(r, "report of trial %" PRId64 " at %" PRId64 ": a row, but not in the journal",
                 trial, level);
        else if (!same(e->value, value) || !same(e->se, se))
            tell(r,
                 "report of trial %" PRId64 " at %" PRId64
                 ": row says %.17g +- %.17g, journal %.17g +- %.17g",
                 trial, level, value, se, e->value, e->se);
        if (e)
            e->is_seen = true;
    }
    query_close(&q);
    return rc;
}

static void unseen_tell(struct replay *r, const struct table *t, const char *what)
{
    for (size_t i = 0; i < t->n; i++) {
        if (!t->v[i].is_seen)
            tell(r, "%s %" PRId64 ": in the journal, but no row", what, t->v[i].id);
    }
}

int store_replay(struct store *s, void (*on_diff)(void *arg, const char *line), void *arg,
                 struct err *err)
{
    struct replay r = { .store = s, .on_diff = on_diff, .arg = arg };
    int rc = journal_walk(&r, err);

    if (rc == 0)
        rc = studies_compare(&r, err);
    if (rc == 0)
        rc = trials_compare(&r, err);
    if (rc == 0)
        rc = reports_compare(&r, err);
    if (rc == 0) {
        unseen_tell(&r, &r.studies, "study");
        unseen_tell(&r, &r.trials, "trial");
        unseen_tell(&r, &r.reports, "report of trial");
        rc = r.differences > 0;
    }
    mem_free(r.studies.v);
    mem_free(r.trials.v);
    mem_free(r.reports.v);
    return rc;
}
