/* tell.c - ask and tell, the second half: what programs of the user's say of the trials that they
 * run (ask.c), one trial in a call or many results in one.
 *
 * What a program says goes through report_row, as what a runner says does, so that nothing is
 * taken twice and a program that was given up cannot overwrite its successor's result. */
#include "controller/api/ask.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "controller/serve/message.h"
#include "controller/serve/report.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/state/lease.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is said ---- */

/* What a program says of a trial. */
struct told {
    int64_t trial;        /* of a result among many */
    int64_t lease, level; /* level 0 = not given */
    double value;         /* NaN = not given */
    json_t *values;       /* instead, with several objectives: one number for each; borrowed */
    const char *client, *failed;
    bool is_end;
    bool is_released; /* the program gives the trial back */
    bool asks;        /* for the next trial, if this one leaves the program with this call */
};

/* An error at a key of the object at `path` (NULL = the whole body). */
static int bad(struct err *err, const char *path, const char *key, const char *text)
{
    char where[80];

    jsonx_path(where, sizeof where, path, key);
    return err_at(err, where, "%s", text);
}

/* `values`: one number for each objective, and then no `value`. */
static int values_parse(struct told *t, const json_t *body, const char *path, struct err *err)
{
    json_t *v = NULL;
    size_t i = 0;
    char key[40];
    int rc = jsonx_arr(body, path, "values", JSONX_OPTIONAL, SPEC_MAX_OBJECTIVES, &t->values, err);

    if (rc <= 0)
        return rc;
    if (json_object_get(body, "value"))
        return bad(err, path, "values", "holds all values; leave out `value`");
    if (json_array_size(t->values) == 0)
        return bad(err, path, "values", "must have one number for each objective");
    json_array_foreach(t->values, i, v)
    {
        jsonx_path_at(key, sizeof key, "values", i);
        if (!json_is_number(v))
            return bad(err, path, key, "must be a number");
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

/* What all forms have in common; `is_end` is set already. */
static int told_parse_at(struct told *t, const json_t *o, const char *path, struct err *err)
{
    const json_t *value = json_object_get(o, "value");

    t->value = NAN;
    if (jsonx_i64(o, path, "lease", JSONX_REQUIRED, 1, INT64_MAX, &t->lease, err) < 0 ||
        jsonx_i64(o, path, "level", JSONX_OPTIONAL, 1, INT32_MAX, &t->level, err) < 0 ||
        (t->is_end && jsonx_str(o, path, "failed", JSONX_OPTIONAL, 1000, &t->failed, err) < 0) ||
        values_parse(t, o, path, err) < 0)
        return -1;
    value = t->values ? json_array_get(t->values, 0) : value;
    if (json_is_number(value))
        t->value = json_number_value(value);
    else if (value && !json_is_null(value))
        return bad(err, path, "value", "must be a number, or null where the program got none");
    if (t->failed && json_is_number(value))
        return bad(err, path, "failed", "is the reason why there is no value; give one of the two");
    if (!t->is_end && t->level && !json_is_number(value))
        return bad(err, path, "value", "must be the number that was reached at this level");
    if (!t->is_end && !t->level && json_is_number(value))
        return bad(err, path, "level", "must say at which level this value was reached");
    return 0;
}

static int told_parse(struct told *t, const json_t *body, bool is_end, struct err *err)
{
    static const char *const report[] = { "client", "lease", "level", "value", "values", "ask" };
    static const char *const end[] = { "client", "lease",  "level", "value",
                                       "ask",    "values", "failed" };

    *t = (struct told){ .is_end = is_end };
    if (jsonx_only(body, NULL, is_end ? end : report, is_end ? ARRAY_LEN(end) : ARRAY_LEN(report),
                   err) < 0 ||
        ask_client(body, &t->client, err) < 0 ||
        jsonx_bool(body, NULL, "ask", JSONX_OPTIONAL, &t->asks, err) < 0)
        return -1;
    return told_parse_at(t, body, NULL, err);
}

/* One of many results in a call. */
static int result_parse(struct told *t, const json_t *o, const char *path, struct err *err)
{
    static const char *const keys[] = { "trial", "lease", "value", "values", "failed", "released" };

    t->is_end = true;
    if (jsonx_only(o, path, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_i64(o, path, "trial", JSONX_REQUIRED, 1, INT64_MAX, &t->trial, err) < 0 ||
        jsonx_bool(o, path, "released", JSONX_OPTIONAL, &t->is_released, err) < 0 ||
        told_parse_at(t, o, path, err) < 0)
        return -1;
    if (json_object_get(o, "released") && !t->is_released)
        return bad(err, path, "released", "must be true, or left out");
    if (t->is_released && (t->failed || !isnan(t->value)))
        return bad(err, path, "released", "gives the trial back, so there is no result");
    if (!t->is_released && !t->failed && !t->values && !json_object_get(o, "value"))
        return bad(err, path, "value", "is missing, and so are `failed` and `released`");
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

/* ---- what follows ---- */

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
    int rc = report_row(ctl, t->client, &e, row, reply, err);
    mem_free(more);
    return rc;
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

static const char *verdict(const struct told *t, const struct trial_row *row,
                           const struct msg_reply *reply)
{
    if (reply->action == MSG_STALE)
        return "gone";
    if (t->is_released && row->state == TS_QUEUED)
        return "released";
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

/* The lease of the trial, if this client holds it. */
static struct lease *held(struct ctl *ctl, const struct told *t, const struct trial_row *row)
{
    struct lease *l = lease_find(ctl, false, row->id);

    return l && l->fence == t->lease && str_eq(l->session, t->client) ? l : NULL;
}

static int heartbeat(struct ctl *ctl, const struct told *t, const struct trial_row *row,
                     struct msg_reply *reply)
{
    struct lease *l = held(ctl, t, row);

    reply->action = l ? MSG_OK : MSG_STALE;
    if (l)
        lease_renew(ctl, l);
    return 0;
}

/* The trial goes back to the queue; where that was done before, nothing is left to do. */
static int release(struct ctl *ctl, const struct told *t, struct trial_row *row,
                   struct msg_reply *reply, struct err *err)
{
    struct study *st = NULL;

    reply->action = row->state == TS_QUEUED ? MSG_OK : MSG_STALE;
    if (!held(ctl, t, row))
        return 0;
    st = study_by_id(ctl, row->study, err);
    reply->action = MSG_OK;
    return st ? message_requeue(st, row, TR_DRAINED, err) : -1;
}

static int told_apply(struct ctl *ctl, const struct told *t, struct trial_row *row,
                      struct msg_reply *reply, struct err *err)
{
    if (trial_is_final(row->state) && row->fence == t->lease)
        return 0; /* it has ended; a repeat of the last call gets the same answer */
    if (t->is_released)
        return release(ctl, t, row, reply, err);
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

/* Finds the trial and does what was said of it: 0, or -1. The err is the caller's fault
 * (*is_refused) if nothing was changed; then row may be empty. study: the one that it must be of;
 * 0 = any. */
static int tell_one(struct ctl *ctl, const struct told *t, int64_t id, int64_t study,
                    struct trial_row *row, struct msg_reply *reply, bool *is_refused,
                    struct err *err)
{
    int rc = store_trial_get(ctl->store, id, row, err);

    *is_refused = rc >= 0;
    reply->action = MSG_OK;
    if (rc < 0)
        return -1;
    if (rc == 0 || (study && row->study != study))
        return err_set(err, ERR_NOTFOUND, "no trial %" PRId64 "%s", id,
                       study ? " in this study" : "");
    if (!str_eq(row->family, OWN_FAMILY))
        return err_set(err, ERR_CONFLICT, "trial %" PRId64 " is run by a runner", id);
    if (row->fence != t->lease) {
        reply->action = MSG_STALE;
        return 0;
    }
    if (values_check(ctl, t, row->study, err) < 0)
        return -1;
    *is_refused = false;
    return told_apply(ctl, t, row, reply, err);
}

/* ---- one trial in a call ---- */

/* The answer, with the next trial in it if it was asked for and this one is out of the program's
 * hands. One call for both halves the calls of short trials. */
static int tell_answer(struct ctl *ctl, const struct told *t, const struct trial_row *row,
                       const struct msg_reply *reply, json_t **out, struct err *err)
{
    const struct asked one = { .client = t->client, .count = 1 };
    const char *say = verdict(t, row, reply);
    json_t *next = NULL;

    if (t->asks && !str_eq(say, "continue")) {
        struct study *st = study_by_id(ctl, row->study, err);

        if (!st || ask_answer(st, &one, &next, err) < 0)
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
    bool is_refused = false;
    struct told t;
    int rc = told_parse(&t, body, is_end, err);

    if (rc == 0)
        rc = tell_one(ctl, &t, id, 0, &row, &reply, &is_refused, err);
    if (rc == 0)
        rc = study_settle_all(ctl, err);
    if (rc == 0)
        rc = tell_answer(ctl, &t, &row, &reply, out, err);
    trial_row_fini(&row);
    return rc;
}

/* ---- many results in a call ---- */

/* Reads all results before the first one is taken: mem_free the list. NULL = an error, which names
 * the place. */
static struct told *results_parse(const json_t *results, const char *client, struct err *err)
{
    struct told *list = mem_array(json_array_size(results) + 1, sizeof *list);
    const json_t *o = NULL;
    size_t i = 0;
    char path[40];

    json_array_foreach(results, i, o)
    {
        list[i] = (struct told){ .client = client };
        jsonx_path_at(path, sizeof path, "results", i);
        if (result_parse(&list[i], o, path, err) < 0) {
            mem_free(list);
            return NULL;
        }
    }
    return list;
}

/* Takes one result and adds what became of it to the answers. One that does not fit what is stored
 * is answered as refused, with the place and the reason, and the others count all the same. -1 = the
 * whole call fails. */
static int result_take(struct study *st, const struct told *t, json_t *answers, struct err *err)
{
    struct msg_reply reply = { .action = MSG_OK };
    struct trial_row row = { 0 };
    bool is_refused = false;
    char where[sizeof err->where + 40];
    int rc = tell_one(st->ctl, t, t->trial, st->row.id, &row, &reply, &is_refused, err);
    json_t *answer = json_pack("{s:I, s:s}", "trial", (json_int_t)t->trial, "verdict",
                               rc < 0 ? "refused" : verdict(t, &row, &reply));

    if (rc < 0 && is_refused) {
        jsonx_path_at(where, sizeof where, "results", json_array_size(answers));
        if (err->where[0]) {
            str_copy(where + strlen(where), 2, ".");
            str_copy(where + strlen(where), sizeof err->where, err->where);
        }
        json_object_set_new(answer, "where", json_string(where));
        json_object_set_new(answer, "detail", json_string(err->text));
        err_clear(err);
        rc = 0;
    }
    json_array_append_new(answers, answer);
    trial_row_fini(&row);
    return rc;
}

int ctl_study_tell(struct ctl *ctl, const char *ref, const json_t *body, json_t **out,
                   struct err *err)
{
    static const char *const keys[] = {
        "client", "results", "count", "ahead", "holding", "wait_ms"
    };
    json_t *results = NULL, *answers = NULL, *next = NULL;
    struct study *st = NULL;
    struct told *told = NULL;
    struct asked a;
    int rc = 0;

    if (jsonx_only(body, NULL, keys, ARRAY_LEN(keys), err) < 0 || ask_parse(&a, body, 0, err) < 0 ||
        jsonx_arr(body, NULL, "results", JSONX_REQUIRED, ASK_MOST, &results, err) < 0)
        return -1;
    st = ask_study(ctl, ref, err);
    told = st ? results_parse(results, a.client, err) : NULL;
    if (!told)
        return -1;
    int64_t id = st->row.id;
    answers = json_array();
    for (size_t i = 0; i < json_array_size(results) && rc == 0; i++)
        rc = result_take(st, &told[i], answers, err);
    if (rc == 0)
        rc = study_settle_all(ctl, err);
    st = rc == 0 && a.count > 0 ? study_by_id(ctl, id, err) : NULL;
    if (rc == 0 && a.count > 0)
        rc = st ? ask_answer(st, &a, &next, err) : -1;
    if (rc == 0) {
        *out = json_pack("{s:O}", "results", answers);
        if (next)
            json_object_set_new(*out, "next", next);
    }
    json_decref(answers);
    mem_free(told);
    return rc;
}
