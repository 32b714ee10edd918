/* ask.c - ask and tell, the first half: the trials of a study with a space of its own
 * (problem/own.h) are run by programs of the user's. A program asks for configurations (here),
 * reports values at levels and gets the scheduler's verdict, and tells the result (tell.c).
 *
 * Such a program is to the rest of the controller what a runner is: it holds a lease under a fence,
 * and what it says goes through report_row, so that nothing is taken twice and a program that
 * was given up cannot overwrite its successor's result. One row of a runner, "clients", stands for
 * all of them; the session of a lease is the client's name, by which a client that was started
 * again gets the trials back that it held. There are no files: a paused trial begins anew unless
 * its program kept what it needs. */
#include "controller/api/ask.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "controller/decide/ahead.h"
#include "controller/decide/live.h"
#include "controller/serve/dispatch.h"
#include "controller/serve/hold.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"

#include <stdlib.h>

enum {
    SOON_MS = 5,    /* a suggestion is being computed */
    LATER_MS = 500, /* others must report first: the longest wait, and part of a trial's time */
    LATER_SHARE = 8,
    WAIT_MOST_MS = 60000 /* a call that waits keeps a connection */
};
#define CLIENTS "clients"

struct study *ask_study(struct ctl *ctl, const char *ref, struct err *err)
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
    runner_heard(ctl, r);
    if (r->row.id && str_eq(r->row.state, "enabled"))
        return r;
    return runner_hello(ctl, r, 0, &hello, err) < 0 ? NULL : r;
}

int ask_client(const json_t *body, const char **client, struct err *err)
{
    if (jsonx_str(body, NULL, "client", JSONX_REQUIRED, 32, client, err) < 0)
        return -1;
    return str_name_ok(*client)
               ? 0
               : err_at(err, "client", "must be a name of 1 to 32 letters, digits, . _ or -");
}

static int holding_parse(struct asked *a, const json_t *body, struct err *err)
{
    json_t *list = NULL, *id = NULL;
    size_t i = 0;
    char key[40];

    if (jsonx_arr(body, NULL, "holding", JSONX_OPTIONAL, ASK_MOST, &list, err) < 0)
        return -1;
    json_array_foreach(list, i, id)
    {
        jsonx_path_at(key, sizeof key, "holding", i);
        if (!json_is_integer(id) || json_integer_value(id) < 1)
            return err_at(err, key, "must be the id of a trial");
        a->holding[a->n_holding++] = json_integer_value(id);
    }
    return 0;
}

int ask_parse(struct asked *a, const json_t *body, int64_t least_count, struct err *err)
{
    a->count = least_count;
    a->ahead = a->wait_ms = 0;
    a->n_holding = 0;
    if (ask_client(body, &a->client, err) < 0 ||
        jsonx_i64(body, NULL, "count", JSONX_OPTIONAL, least_count, ASK_MOST, &a->count, err) < 0 ||
        jsonx_i64(body, NULL, "ahead", JSONX_OPTIONAL, 0, ASK_MOST - 1, &a->ahead, err) < 0 ||
        jsonx_i64(body, NULL, "wait_ms", JSONX_OPTIONAL, 0, WAIT_MOST_MS, &a->wait_ms, err) < 0)
        return -1;
    return holding_parse(a, body, err);
}

/* ---- the trials ---- */

/* The values of its parameters; NULL = an error. */
static json_t *params_new(const struct study *st, const struct trial_row *row, struct err *err)
{
    json_t *params = NULL;
    struct config c;

    if (!row->config_json) /* it was not made just now */
        return config_parse_text(&c, row->config, st->space.own, err) < 0
                   ? NULL
                   : own_params_json(st->space.own, c.params);
    params = json_copy(row->config_json);
    json_object_del(params, "family");
    return params;
}

static int add_row(struct study *st, const struct trial_row *row, json_t *list, struct err *err)
{
    json_t *params = params_new(st, row, err);

    if (!params)
        return -1;
    json_array_append_new(list,
                          json_pack("{s:I, s:I, s:I, s:o, s:i, s:i, s:i}", "trial",
                                    (json_int_t)row->id, "number", (json_int_t)row->number, "lease",
                                    (json_int_t)row->fence, "params", params, "level", row->level,
                                    "run_to", row->run_to, "levels", row->max_level));
    return 0;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool is_holding(const struct asked *a, int64_t trial)
{
    for (int i = 0; i < a->n_holding; i++) {
        if (a->holding[i] == trial)
            return true;
    }
    return false;
}

/* The trials that are this client's already and that it does not know of, because it did not get
 * the answer or was started again: in the order in which they were given out, so that a repeat has
 * the same answer. *n_known: how many of the trials that it says it holds are its own. */
static int add_held(struct study *st, const struct asked *a, json_t *list, int64_t *n_known,
                    struct err *err)
{
    struct ctl *ctl = st->ctl;
    int64_t *held = NULL;
    int n = 0, cap = 0, rc = 0;

    for (int i = 0; i < ctl->n_leases; i++) {
        struct lease *l = &ctl->leases[i];

        if (l->is_task || l->study != st->row.id || !str_eq(l->session, a->client))
            continue;
        lease_renew(ctl, l);
        if (is_holding(a, l->id)) {
            (*n_known)++;
            continue;
        }
        MEM_GROW(held, n, cap);
        held[n++] = l->number;
    }
    if (n > 1)
        qsort(held, (size_t)n, sizeof *held, by_number);
    for (int i = 0; i < n && i < a->count + a->ahead - *n_known && rc == 0; i++) {
        struct trial_row row = { 0 };

        rc = trial_load(st, held[i], &row, err);
        if (rc == 0)
            rc = add_row(st, &row, list, err);
        trial_row_fini(&row);
    }
    mem_free(held);
    return rc;
}

static bool takes_work(const struct study *st)
{
    return (st->row.state == SS_RUNNING || st->row.state == SS_QUEUED) && st->problem.is_ready &&
           st->search;
}

/* New ones, until the client has as many as it runs, and as many more as it may keep for later. A
 * client that holds trials which it does not name repeats a call: it gets those, and no further ones
 * for later. */
static int add_new(struct study *st, const struct asked *a, int64_t n_known, json_t *list,
                   struct err *err)
{
    int64_t want = a->count;
    struct runner *r = clients(st->ctl, err);

    if (!r)
        return -1;
    if (want > 0 && json_array_size(list) == 0)
        want = MIN(want + MIN(a->ahead, live_ahead(st, a->ahead)), ASK_MOST);
    want -= n_known;
    while (takes_work(st) && (int64_t)json_array_size(list) < want) {
        struct trial_row row = { 0 };
        int64_t number = 0;

        if (settle_fill(st, 1, err) < 0)
            return -1;
        number = dispatch_own_next(st);
        if (!number) {
            st->needs_settling = true; /* the space may just have been found to be used up */
            return 0;
        }
        int rc = dispatch_own(st, r, a->client, number, &row, err);
        if (rc == 0)
            rc = add_row(st, &row, list, err);
        trial_row_fini(&row);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Others must report first. That takes a part of a trial's time, so the wait is one, too. */
static int64_t later_ms(const struct study *st)
{
    return st->trial_us ? MIN(MAX(st->trial_us / 1000 / LATER_SHARE, SOON_MS), LATER_MS) : LATER_MS;
}

int ask_answer(struct study *st, const struct asked *a, json_t **out, struct err *err)
{
    json_t *list = json_array();
    int64_t n_known = 0;

    if (add_held(st, a, list, &n_known, err) < 0 ||
        (takes_work(st) && add_new(st, a, n_known, list, err) < 0) || study_settle(st, err) < 0) {
        json_decref(list);
        return -1;
    }
    bool is_over = study_is_final(st->row.state) || st->row.state == SS_FINISHING;
    int64_t wait = json_array_size(list) > 0 || is_over        ? 0
                   : ahead_is_open(st) || st->ctl->is_deferred ? SOON_MS
                                                               : later_ms(st);
    *out =
        json_pack("{s:s, s:o, s:b, s:I}", "state", study_state_name[st->row.state], "trials", list,
                  "done", is_over && json_array_size(list) == 0, "wait_ms", (json_int_t)wait);
    return 0;
}

int ctl_study_suggest(struct ctl *ctl, const char *ref, const json_t *body, json_t **out,
                      struct err *err)
{
    static const char *const keys[] = { "client", "count", "ahead", "holding", "wait_ms" };
    struct study *st = NULL;
    struct asked a;

    if (jsonx_only(body, NULL, keys, ARRAY_LEN(keys), err) < 0 || ask_parse(&a, body, 1, err) < 0)
        return -1;
    st = ask_study(ctl, ref, err);
    return st ? ask_answer(st, &a, out, err) : -1;
}

/* ---- calls that wait ---- */

/* A call that is answered later: what it asks for, and the answers to the results that it told. */
struct later {
    int64_t study;
    json_t *body;    /* owns the texts that asked borrows */
    json_t *results; /* NULL = it told none */
    struct asked asked;
};

static void later_free(void *arg)
{
    struct later *l = arg;

    json_decref(l->body);
    json_decref(l->results);
    mem_free(l);
}

static bool is_empty(const json_t *answer)
{
    return json_array_size(json_object_get(answer, "trials")) == 0 &&
           !json_is_true(json_object_get(answer, "done"));
}

static int later_try(struct ctl *ctl, void *arg, json_t **out, struct err *err)
{
    struct later *l = arg;
    struct study *st = study_by_id(ctl, l->study, err);
    json_t *answer = NULL;

    if (!st || ask_answer(st, &l->asked, &answer, err) < 0)
        return -1;
    bool is_full = !is_empty(answer);
    *out = l->results ? json_pack("{s:O, s:o}", "results", l->results, "next", answer) : answer;
    return is_full;
}

struct ctl_hold *ctl_study_hold(
    struct ctl *ctl, const char *ref, const json_t *body, json_t *answer,
    void (*on_answer)(void *arg, json_t *answer_new, const struct err *err), void *arg)
{
    json_t *results = json_object_get(answer, "results");
    const json_t *asked = results ? json_object_get(answer, "next") : answer;
    struct study *st = asked && is_empty(asked) ? ask_study(ctl, ref, NULL) : NULL;
    struct later *l = mem_zalloc(sizeof *l);

    l->body = json_incref((json_t *)(uintptr_t)body);
    l->results = json_incref(results);
    if (!st || ctl->is_stopping || ask_parse(&l->asked, body, results ? 0 : 1, NULL) < 0 ||
        l->asked.wait_ms == 0 || l->asked.n_holding > 0) {
        later_free(l);
        return NULL;
    }
    l->study = st->row.id;
    return hold_add(ctl,
                    &(struct hold_call){ .study = st->row.id,
                                         .wait_ms = l->asked.wait_ms,
                                         .try = later_try,
                                         .free = later_free,
                                         .state = l,
                                         .on_answer = on_answer,
                                         .arg = arg },
                    answer);
}
