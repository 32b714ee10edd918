/* ask.c - ask and tell: the trials of a study with a space of its own (problem/own.h) are run by
 * programs of the user's. A program asks for configurations (suggest), reports values at levels and
 * gets the scheduler's verdict, and tells the result.
 *
 * Such a program is to the rest of the controller what a runner is: it holds a lease under a fence,
 * and what it says goes through report_trial, so that nothing is taken twice and a program that
 * was given up cannot overwrite its successor's result. One row of a runner, "clients", stands for
 * all of them; the session of a lease is the client's name, by which a client that was started
 * again gets the trials back that it held. There are no files: a paused trial begins anew unless
 * its program kept what it needs. */
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "controller/decide/ahead.h"
#include "controller/serve/dispatch.h"
#include "controller/serve/report.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MOST_AT_ONCE = 256,
    SOON_MS = 10,  /* a suggestion is being computed */
    LATER_MS = 500 /* others must report first */
};
#define CLIENTS "clients"

static struct study *own_study(struct ctl *ctl, const char *ref, struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);

    if (st && !st->spec.is_own) {
        err_set(err, ERR_CONFLICT,
                "study %s searches models on a table: its trials go to runners, not to programs "
                "that ask",
                st->row.name);
        return NULL;
    }
    if (st && st->spec.command) {
        err_set(err, ERR_CONFLICT,
                "study %s has a command, which runners run: its trials are not asked for",
                st->row.name);
        return NULL;
    }
    return st;
}

/* The runner that stands for all clients; it is made when the first one asks. */
static struct runner *clients(struct ctl *ctl, struct err *err)
{
    struct msg_hello hello = { .protocol = MSG_PROTOCOL, .name = CLIENTS, .session = CLIENTS };
    struct runner *r = runner_of_session(ctl, 0, CLIENTS, err);

    if (!r)
        return NULL;
    r->heard_ms = ctl_now(ctl);
    if (r->row.id && str_eq(r->row.state, "enabled"))
        return r;
    return runner_hello(ctl, r, 0, &hello, err) < 0 ? NULL : r;
}

static int client_parse(const json_t *body, const char **client, struct err *err)
{
    if (jsonx_str(body, NULL, "client", JSONX_REQUIRED, 32, client, err) < 0)
        return -1;
    return str_name_ok(*client)
               ? 0
               : err_at(err, "client", "must be a name of 1 to 32 letters, digits, . _ or -");
}

/* ---- ask ---- */

static int add_trial(struct study *st, const struct lease *l, json_t *list, struct err *err)
{
    struct trial_row row = { 0 };
    struct config c;
    int rc = trial_load(st, l->number, &row, err);

    if (rc == 0)
        rc = config_parse_text(&c, row.config, st->space.own, err);
    if (rc == 0)
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:o, s:i, s:i, s:i}", "trial", (json_int_t)row.id,
                            "number", (json_int_t)row.number, "lease", (json_int_t)row.fence,
                            "params", own_params_json(st->space.own, c.params), "level", row.level,
                            "run_to", row.run_to, "levels", row.max_level));
    trial_row_fini(&row);
    return rc;
}

/* The trials that this client holds already: it asks again because it did not get the answer, or
 * was started again. */
static int add_held(struct study *st, const char *client, int64_t count, json_t *list,
                    struct err *err)
{
    struct ctl *ctl = st->ctl;

    for (int i = 0; i < ctl->n_leases && (int64_t)json_array_size(list) < count; i++) {
        struct lease *l = &ctl->leases[i];

        if (l->is_task || l->study != st->row.id || !str_eq(l->session, client))
            continue;
        lease_renew(ctl, l);
        if (add_trial(st, l, list, err) < 0)
            return -1;
    }
    return 0;
}

static bool takes_work(const struct study *st)
{
    return (st->row.state == SS_RUNNING || st->row.state == SS_QUEUED) && st->problem.is_ready &&
           st->search;
}

static int add_new(struct study *st, const char *client, int64_t count, json_t *list,
                   struct err *err)
{
    struct runner *r = clients(st->ctl, err);

    if (!r)
        return -1;
    while (takes_work(st) && (int64_t)json_array_size(list) < count) {
        int64_t number = 0;

        if (settle_fill(st, 1, err) < 0)
            return -1;
        number = dispatch_own_next(st);
        if (!number) {
            st->needs_settling = true; /* the space may just have been found to be used up */
            return 0;
        }
        if (dispatch_own(st, r, client, number, err) < 0 ||
            add_trial(st, lease_find(st->ctl, false, trial_mem(st, number)->id), list, err) < 0)
            return -1;
    }
    return 0;
}

/* The answer to a client that asks for up to `count` trials of the study. */
static int suggest(struct study *st, const char *client, int64_t count, json_t **out,
                   struct err *err)
{
    json_t *list = json_array();

    if (add_held(st, client, count, list, err) < 0 ||
        (takes_work(st) && add_new(st, client, count, list, err) < 0) ||
        study_settle(st, err) < 0) {
        json_decref(list);
        return -1;
    }
    bool is_over = study_is_final(st->row.state) || st->row.state == SS_FINISHING;
    int64_t wait = json_array_size(list) > 0 || is_over        ? 0
                   : ahead_is_open(st) || st->ctl->is_deferred ? SOON_MS
                                                               : LATER_MS;
    *out =
        json_pack("{s:s, s:o, s:b, s:I}", "state", study_state_name[st->row.state], "trials", list,
                  "done", is_over && json_array_size(list) == 0, "wait_ms", (json_int_t)wait);
    return 0;
}

int ctl_study_suggest(struct ctl *ctl, const char *ref, const json_t *body, json_t **out,
                      struct err *err)
{
    static const char *const keys[] = { "client", "count" };
    struct study *st = NULL;
    const char *client = NULL;
    int64_t count = 1;

    if (jsonx_only(body, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
        client_parse(body, &client, err) < 0 ||
        jsonx_i64(body, NULL, "count", JSONX_OPTIONAL, 1, MOST_AT_ONCE, &count, err) < 0)
        return -1;
    st = own_study(ctl, ref, err);
    return st ? suggest(st, client, count, out, err) : -1;
}

/* ---- tell ---- */

/* What a program says of a trial. */
struct told {
    int64_t lease, level; /* level 0 = not given */
    double value;         /* NaN = not given */
    json_t *values;       /* instead, with several objectives: one number for each; borrowed */
    const char *client, *failed;
    bool is_end;
    bool asks; /* for the next trial, if this one leaves the program with this call */
};

/* `values`: one number for each objective, and then no `value`. */
static int values_parse(struct told *t, const json_t *body, struct err *err)
{
    json_t *v = NULL;
    size_t i = 0;
    char where[40];
    int rc = jsonx_arr(body, NULL, "values", JSONX_OPTIONAL, SPEC_MAX_OBJECTIVES, &t->values, err);

    if (rc <= 0)
        return rc;
    if (json_object_get(body, "value"))
        return err_at(err, "values", "holds all values; leave out `value`");
    if (json_array_size(t->values) == 0)
        return err_at(err, "values", "must have one number for each objective");
    json_array_foreach(t->values, i, v)
    {
        jsonx_path_at(where, sizeof where, "values", i);
        if (!json_is_number(v))
            return err_at(err, where, "must be a number");
    }
    return 0;
}

/* As many values as the study has objectives? */
static int values_check(struct ctl *ctl, const struct told *t, int64_t study, struct err *err)
{
    struct study *st = isnan(t->value) ? NULL : study_by_id(ctl, study, err);
    int wanted = st ? MAX(st->spec.n_objectives, 1) : 1,
        have = t->values ? (int)json_array_size(t->values) : 1;

    if (isnan(t->value))
        return 0;
    if (!st)
        return -1;
    if (wanted > 1 && !t->values)
        return err_at(err, "values", "the study has %d objectives: a list of %d numbers is needed",
                      wanted, wanted);
    return wanted == have
               ? 0
               : err_at(err, "values", "has %d numbers, and the study has %d objective%s", have,
                        wanted, wanted == 1 ? "" : "s");
}

static int told_parse(struct told *t, const json_t *body, bool is_end, struct err *err)
{
    static const char *const report[] = { "client", "lease", "level", "value", "values", "ask" };
    static const char *const end[] = { "client", "lease",  "level", "value",
                                       "ask",    "values", "failed" };
    const json_t *value = json_object_get(body, "value");

    *t = (struct told){ .value = NAN, .is_end = is_end };
    if (jsonx_only(body, NULL, is_end ? end : report, is_end ? ARRAY_LEN(end) : ARRAY_LEN(report),
                   err) < 0 ||
        client_parse(body, &t->client, err) < 0 ||
        jsonx_i64(body, NULL, "lease", JSONX_REQUIRED, 1, INT64_MAX, &t->lease, err) < 0 ||
        jsonx_i64(body, NULL, "level", JSONX_OPTIONAL, 1, INT32_MAX, &t->level, err) < 0 ||
        jsonx_bool(body, NULL, "ask", JSONX_OPTIONAL, &t->asks, err) < 0 ||
        (is_end && jsonx_str(body, NULL, "failed", JSONX_OPTIONAL, 1000, &t->failed, err) < 0))
        return -1;
    if (values_parse(t, body, err) < 0)
        return -1;
    value = t->values ? json_array_get(t->values, 0) : value;
    if (json_is_number(value))
        t->value = json_number_value(value);
    else if (value && !json_is_null(value))
        return err_at(err, "value", "must be a number, or null where the program got none");
    if (t->failed && json_is_number(value))
        return err_at(err, "failed", "is the reason why there is no value; give one of the two");
    if (!is_end && t->level && !json_is_number(value))
        return err_at(err, "value", "must be the number that was reached at this level");
    if (!is_end && !t->level && json_is_number(value))
        return err_at(err, "level", "must say at which level this value was reached");
    return 0;
}

/* The values beside the first one, as a message's detail: {"values": [...]}. NULL = there is none;
 * mem_free it. */
static char *more_text(const struct told *t)
{
    json_t *list = json_array(), *o = json_pack("{s:o}", "values", list);

    for (size_t i = 1; i < json_array_size(t->values); i++)
        json_array_append(list, json_array_get(t->values, i));
    char *text = json_array_size(list) > 0 ? jsonx_dump(o) : NULL;
    json_decref(o);
    return text;
}

/* Sends one message for the trial, numbered after the last one that was taken. */
static int send(struct ctl *ctl, const struct told *t, struct trial_row *row, enum msg_type type,
                int level, struct msg_reply *reply, struct err *err)
{
    const struct lease *l = lease_find(ctl, false, row->id);
    struct msg_event e;

    msg_event_init(&e);
    e.type = type;
    e.trial = row->id;
    e.fence = t->lease;
    e.seq = row->msg_seq + 1;
    e.level = level;
    e.value = t->value;
    e.reason = TR_INVALID;
    char *more = t->failed ? NULL : more_text(t);
    e.detail = t->failed ? (char *)(uintptr_t)t->failed : more;
    e.fit_us = l ? (ctl_now(ctl) - l->granted_ms) * 1000 : 0;
    *reply = (struct msg_reply){ .trial = row->id, .fence = t->lease, .seq = e.seq };
    int rc = report_trial(ctl, t->client, &e, reply, err);
    mem_free(more);
    int64_t id = row->id;
    trial_row_fini(row);
    *row = (struct trial_row){ 0 };
    return rc < 0 || store_trial_get(ctl->store, id, row, err) < 0 ? -1 : 0;
}

/* A program may report less often than the scheduler compares. The value then also stands for the
 * rungs that it passed by. */
static int report(struct ctl *ctl, const struct told *t, struct trial_row *row,
                  struct msg_reply *reply, struct err *err)
{
    int rc = 0;

    do {
        int at = (int)MIN(t->level, row->run_to);

        rc = send(ctl, t, row, at < row->max_level ? MSG_RUNG : MSG_FINAL, at, reply, err);
    } while (rc == 0 && reply->action == MSG_RUN_TO && row->state == TS_RUNNING &&
             row->level < t->level && row->run_to > row->level);
    return rc;
}

/* Nothing of a paused trial is kept here: it is paused as soon as its program knows it. */
static int pause_now(struct ctl *ctl, struct trial_row *row, struct err *err)
{
    struct study *st = study_by_id(ctl, row->study, err);

    if (!st)
        return -1;
    json_t *data = json_pack("{s:i}", "level", row->level);
    if (trial_move(st, row, TE_PAUSE, data, NULL, err) < 0)
        return -1;
    if (row->run_to <= row->level)
        return 0;
    row->reason = TR_NONE;
    data = json_pack("{s:i}", "to", row->run_to);
    return trial_move(st, row, TE_PROMOTE, data, NULL, err) < 0 ? -1 : 0;
}

static const char *verdict(const struct trial_row *row, const struct msg_reply *reply)
{
    if (reply->action == MSG_STALE)
        return "gone";
    switch (row->state) {
    case TS_RUNNING:
        return "continue";
    case TS_COMPLETED:
        return "completed";
    case TS_FAILED:
        return "failed";
    case TS_PAUSED:
    case TS_QUEUED:
        return "pause";
    default:
        return "stop";
    }
}

static int heartbeat(struct ctl *ctl, const struct told *t, const struct trial_row *row,
                     struct msg_reply *reply)
{
    struct lease *l = lease_find(ctl, false, row->id);
    bool is_held = l && l->fence == t->lease && str_eq(l->session, t->client);

    reply->action = is_held ? MSG_OK : MSG_STALE;
    if (is_held)
        lease_renew(ctl, l);
    return 0;
}

static int told_apply(struct ctl *ctl, const struct told *t, struct trial_row *row,
                      struct msg_reply *reply, struct err *err)
{
    if (trial_is_final(row->state) && row->fence == t->lease)
        return 0; /* it has ended; a repeat of the last call gets the same answer */
    if (t->failed || (t->is_end && isnan(t->value)))
        return send(ctl, t, row, MSG_FAILED, row->level, reply, err);
    if (t->is_end)
        return send(ctl, t, row, MSG_FINAL,
                    (int)MIN(t->level ? t->level : row->run_to, row->run_to), reply, err);
    if (!t->level)
        return heartbeat(ctl, t, row, reply);
    if (t->level > row->max_level)
        return err_at(err, "level", "is above the %d levels of this study", row->max_level);
    if (report(ctl, t, row, reply, err) < 0)
        return -1;
    return reply->action == MSG_PAUSE && row->state == TS_RUNNING ? pause_now(ctl, row, err) : 0;
}

/* The answer, with the next trial in it if it was asked for and this one is out of the program's
 * hands. One call for both halves the calls of short trials. */
static int tell_answer(struct ctl *ctl, const struct told *t, const struct trial_row *row,
                       const struct msg_reply *reply, json_t **out, struct err *err)
{
    const char *say = verdict(row, reply);
    json_t *next = NULL;

    if (t->asks && !str_eq(say, "continue")) {
        struct study *st = study_by_id(ctl, row->study, err);

        if (!st || suggest(st, t->client, 1, &next, err) < 0)
            return -1;
    }
    *out = json_pack("{s:I, s:s, s:i, s:i}", "trial", (json_int_t)row->id, "verdict", say, "level",
                     row->level, "run_to", row->run_to);
    if (next)
        json_object_set_new(*out, "next", next);
    return 0;
}

int ctl_trial_tell(struct ctl *ctl, int64_t id, const json_t *body, bool is_end, json_t **out,
                   struct err *err)
{
    struct msg_reply reply = { .action = MSG_OK };
    struct trial_row row = { 0 };
    struct told t;
    int rc = told_parse(&t, body, is_end, err);

    if (rc == 0)
        rc = store_trial_get(ctl->store, id, &row, err);
    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc == 1 && !str_eq(row.family, OWN_FAMILY))
        rc = err_set(err, ERR_CONFLICT, "trial %" PRId64 " is run by a runner", id);
    if (rc == 1 && row.fence != t.lease)
        reply.action = MSG_STALE;
    else if (rc == 1 && values_check(ctl, &t, row.study, err) < 0)
        rc = -1;
    else if (rc == 1)
        rc = told_apply(ctl, &t, &row, &reply, err) < 0 ? -1 : 1;
    if (rc == 1)
        rc = study_settle_all(ctl, err) < 0 ? -1 : 1;
    if (rc == 1)
        rc = tell_answer(ctl, &t, &row, &reply, out, err);
    trial_row_fini(&row);
    return rc < 0 ? -1 : 0;
}
