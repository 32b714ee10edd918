/* fake_ctl.h - controller/api.h in memory, so that web/ is tested alone: what it calls, when it answers, what
 * it does when a commit fails or a client leaves. Included by one file of a test program, instead of
 * linking controller/. A study named err-N makes the call fail with err code N. */
#ifndef TESTS_WEB_FAKE_CTL_H
#define TESTS_WEB_FAKE_CTL_H

#include "base/base.h"
#include "base/io.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FAKE_MAX = 4096 };

struct fake_after {
    void (*on_done)(void *arg, bool ok, const struct err *err);
    void *arg;
};
struct fake_event {
    int64_t seq, study;
    char event[24], json[200];
};
struct ctl_wait {
    void (*on_grant)(void *arg, json_t *grant_new, const struct err *err);
    void *arg;
    struct ctl *ctl;
};
struct ctl_sub {
    int64_t study;
    void (*on_event)(void *arg, int64_t study, int64_t seq, const char *event, const char *json);
    void *arg;
    struct ctl_sub *next;
};
struct ctl_watch {
    struct ctl_watch *next;
    int64_t token, session;
    void (*on_end)(void *arg);
    void *arg;
};
struct ctl {
    struct loop *loop;
    char dir[200];
    bool is_busy, commit_fails, grants_at_once, end_fails;
    int begins, keeps, undos, commits, cancels, calls;
    int open; /* savepoints; at most 1 */
    struct fake_after after[FAKE_MAX];
    int n_after;
    struct ctl_wait *wait;
    struct ctl_sub *subs;
    struct fake_event *events;
    int n_events;
    void (*hashed)(void *arg, int64_t bytes, const struct err *err);
    void *hashed_arg;
    bool hash_waits;    /* the test calls fake_hash_done */
    int links, revoked; /* revoked: the token of this role */
    bool session_ended, revokes;
    char ticket_path[200];
    struct ctl_watch *watches;
    bool study_waits; /* the test calls on_ready */
    int awaits;
    void (*on_ready)(void *arg);
    void *on_ready_arg;
    int rows;        /* of the leaderboard */
    int64_t list_us; /* processor time that a list of studies takes */
    char once_key[SHA256_HEX], *once_answer;
    char last[400]; /* the last call and its arguments */
};

#define SAY(ctl, ...) ((ctl)->calls++, (void)!snprintf((ctl)->last, sizeof(ctl)->last, __VA_ARGS__))

static int64_t fake_cpu_us(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void fake_turn(void *arg)
{
    struct ctl *ctl = arg;
    struct err err = { 0 };
    int n = ctl->n_after;
    struct fake_after *list = mem_dup(ctl->after, sizeof ctl->after);

    ctl->n_after = 0;
    ctl->commits++;
    err_set(&err, ERR_IO, "disk said no");
    for (int i = 0; i < n; i++)
        list[i].on_done(list[i].arg, !ctl->commit_fails, ctl->commit_fails ? &err : NULL);
    mem_free(list);
}

static struct ctl *fake_ctl_new(struct loop *loop, const char *dir)
{
    struct ctl *ctl = mem_zalloc(sizeof *ctl);
    char path[300];

    ctl->loop = loop;
    str_copy(ctl->dir, sizeof ctl->dir, dir);
    ctl->events = mem_array(30000, sizeof *ctl->events);
    ctl->rows = 3;
    (void)!snprintf(path, sizeof path, "%s/blobs", dir);
    CHECK(io_mkdirs(path, 0700, NULL) == 0);
    loop_turn_hook(loop, fake_turn, ctl);
    return ctl;
}

static void fake_ctl_free(struct ctl *ctl)
{
    CHECK(!ctl->subs && !ctl->wait && !ctl->watches && ctl->open == 0);
    mem_free(ctl->events);
    mem_free(ctl->once_answer);
    mem_free(ctl);
}

static void __attribute__((unused))
fake_emit(struct ctl *ctl, int64_t study, const char *event, const char *json)
{
    struct fake_event *e = &ctl->events[ctl->n_events];

    e->seq = ++ctl->n_events;
    e->study = study;
    str_copy(e->event, sizeof e->event, event);
    str_copy(e->json, sizeof e->json, json);
    for (struct ctl_sub *s = ctl->subs, *next; s; s = next) {
        next = s->next;
        if (s->study == 0 || s->study == study)
            s->on_event(s->arg, study, e->seq, event, e->json);
    }
}

static void __attribute__((unused)) fake_grant(struct ctl *ctl, json_t *grant)
{
    struct ctl_wait *w = ctl->wait;

    CHECK(w);
    ctl->wait = NULL;
    w->on_grant(w->arg, grant, NULL);
    mem_free(w);
}

static void __attribute__((unused)) fake_hash_done(struct ctl *ctl)
{
    CHECK(ctl->hashed);
    ctl->hashed(ctl->hashed_arg, 5, NULL);
    ctl->hashed = NULL;
}

static int fake_fails(const char *ref, struct err *err)
{
    int64_t code = 0;

    if (!str_starts(ref, "err-"))
        return 0;
    CHECK(str_i64(ref + 4, 1, ERR_CODES - 1, &code, NULL) == 0);
    if (code == ERR_ARG)
        return err_at(err, "budget.time", "not a duration");
    return err_set(err, (enum err_code)code, "failed as asked");
}

static json_t *fake_study(const char *name)
{
    return json_pack("{s:i, s:s, s:s}", "id", 7, "name", name, "state", "running");
}

static void fake_ended(struct ctl *ctl)
{
    for (struct ctl_watch *w = ctl->watches, *next; w; w = next) {
        next = w->next;
        if ((w->session && ctl->session_ended) || (!w->session && w->token == ctl->revoked))
            w->on_end(w->arg);
    }
}
/* ---- api.h ---- */

void ctl_after_commit(struct ctl *ctl, void (*on_done)(void *, bool, const struct err *), void *arg)
{
    CHECK(ctl->n_after < FAKE_MAX);
    ctl->after[ctl->n_after++] = (struct fake_after){ on_done, arg };
    loop_turn_mark(ctl->loop);
}
int ctl_request_begin(struct ctl *ctl, struct err *err)
{
    (void)err;
    CHECK(ctl->open == 0);
    ctl->open++;
    ctl->begins++;
    return 0;
}
int ctl_request_end(struct ctl *ctl, bool keep, struct err *err)
{
    CHECK(ctl->open == 1);
    ctl->open--;
    if (keep && ctl->end_fails)
        return err_set(err, ERR_FULL, "disk full");
    *(keep ? &ctl->keeps : &ctl->undos) += 1;
    return 0;
}
struct loop *ctl_loop(struct ctl *ctl)
{
    return ctl->loop;
}
const char *ctl_data_dir(const struct ctl *ctl)
{
    return ctl->dir;
}
bool ctl_admits(const struct ctl *ctl)
{
    return !ctl->is_busy;
}
int ctl_admit(const struct ctl *ctl, struct err *err)
{
    return ctl_admits(ctl) ? 0 : err_set(err, ERR_BUSY, "the controller is busy: try again");
}
const char *ctl_role_name(enum ctl_role role)
{
    static const char *const name[] = { "nobody", "viewer", "runner", "user", "admin" };

    return name[role];
}
/* The token's id is its role's number. */
int ctl_token_who(struct ctl *ctl, const char *token, struct ctl_who *who, struct err *err)
{
    static const char *const tokens[] = { "-", "viewer-token", "runner-token", "user-token",
                                          "admin-token" };

    (void)err;
    *who = (struct ctl_who){ 0 };
    for (int i = 1; i <= CTL_ADMIN; i++) {
        if (strcmp(tokens[i], token) == 0 && ctl->revoked != i)
            *who = (struct ctl_who){ .role = (enum ctl_role)i, .token = i };
    }
    str_copy(who->name, sizeof who->name, token);
    return 0;
}
int ctl_token_new(struct ctl *ctl, const char *name, const char *role, json_t **out,
                  struct err *err)
{
    (void)err;
    SAY(ctl, "token_new %s %s", name, role);
    *out = json_pack("{s:i, s:s}", "id", 1, "token", "secret");
    return 0;
}
int ctl_tokens(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_pack("{s:[]}", "tokens");
    return 0;
}
int ctl_token_revoke(struct ctl *ctl, int64_t id, struct err *err)
{
    SAY(ctl, "token_revoke %d", (int)id);
    if (id < 1 || id > CTL_ADMIN)
        return err_set(err, ERR_NOTFOUND, "no token %d", (int)id);
    if (ctl->revokes) {
        ctl->revoked = (int)id;
        fake_ended(ctl);
    }
    return 0;
}
int ctl_link_new(struct ctl *ctl, const struct ctl_who *by, const char *role, char code[33],
                 struct err *err)
{
    (void)err;
    SAY(ctl, "link_new %s %s", by ? by->name : "-", role ? role : "-");
    ctl->links++;
    str_copy(code, 33, "0123456789abcdef0123456789abcdef");
    return 0;
}
/* The one session: number 1, cookie "ccc...", secret "sss...". */
static void fake_keys(struct ctl_keys *out)
{
    memset(out, 0, sizeof *out);
    memset(out->cookie, 'c', 64);
    memset(out->secret, 's', 64);
}
int ctl_link_use(struct ctl *ctl, const char *code, struct ctl_keys *out, struct err *err)
{
    if (ctl->links <= 0 || strcmp(code, "0123456789abcdef0123456789abcdef") != 0)
        return err_set(err, ERR_AUTH, "this link was used or is too old");
    ctl->links--;
    fake_keys(out);
    return 0;
}
int ctl_session_open(struct ctl *ctl, const char *token, struct ctl_keys *out, struct ctl_who *who,
                     struct err *err)
{
    ctl_token_who(ctl, token, who, err);
    if (who->role == CTL_NOBODY)
        return err_set(err, ERR_AUTH, "unknown token");
    who->session = 1;
    fake_keys(out);
    return 0;
}
int ctl_session_who(struct ctl *ctl, const struct ctl_keys *keys, struct ctl_who *who,
                    struct err *err)
{
    (void)err;
    *who = (struct ctl_who){ 0 };
    if (!ctl->session_ended && strspn(keys->cookie, "c") == 64 && strspn(keys->secret, "s") == 64)
        *who = (struct ctl_who){ .role = CTL_ADMIN, .session = 1, .name = "page" };
    return 0;
}
int ctl_sessions(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_pack("{s:[{s:i, s:s, s:s, s:n}]}", "sessions", "id", 1, "name", "page", "role",
                     "admin", "token");
    return 0;
}
int ctl_session_end(struct ctl *ctl, int64_t id, struct err *err)
{
    if (id != 1 || ctl->session_ended)
        return err_set(err, ERR_NOTFOUND, "no session %d", (int)id);
    ctl->session_ended = true;
    fake_ended(ctl);
    return 0;
}
int ctl_ticket_new(struct ctl *ctl, const struct ctl_who *who, const char *path, char ticket[33],
                   struct err *err)
{
    if (!who->session)
        return err_set(err, ERR_CONFLICT, "no session");
    str_copy(ctl->ticket_path, sizeof ctl->ticket_path, path);
    str_copy(ticket, 33, "fedcba9876543210fedcba9876543210");
    return 0;
}
int ctl_ticket_use(struct ctl *ctl, const char *cookie, const char *ticket, const char *path,
                   struct ctl_who *who, struct err *err)
{
    (void)cookie, (void)err;
    *who = (struct ctl_who){ 0 };
    if (strcmp(ticket, "fedcba9876543210fedcba9876543210") != 0 ||
        strcmp(path, ctl->ticket_path) != 0)
        return 0;
    ctl->ticket_path[0] = '\0';
    *who = (struct ctl_who){ .role = CTL_ADMIN, .session = 1, .name = "page" };
    return 0;
}
struct ctl_watch *ctl_who_watch(struct ctl *ctl, const struct ctl_who *who,
                                void (*on_end)(void *arg), void *arg)
{
    struct ctl_watch *w = mem_zalloc(sizeof *w);

    *w = (struct ctl_watch){ ctl->watches, who->token, who->session, on_end, arg };
    return ctl->watches = w;
}
void ctl_who_unwatch(struct ctl *ctl, struct ctl_watch *watch)
{
    struct ctl_watch **at = &ctl->watches;

    if (!watch)
        return;
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    mem_free(watch);
}
int ctl_study_create(struct ctl *ctl, const json_t *spec, const char *owner, bool load_if_exists,
                     json_t **out, struct err *err)
{
    const char *name = json_string_value(json_object_get(spec, "name"));

    SAY(ctl, "study_create %s by %s%s", name ? name : "-", owner, load_if_exists ? " load" : "");
    if (fake_fails(name ? name : "-", err) < 0)
        return -1;
    *out = fake_study(name ? name : "-");
    return 0;
}
/* The last key only: enough to see which keys are the same. */
int ctl_once_get(struct ctl *ctl, const char *key, struct buf *out, struct err *err)
{
    if (!ctl->once_answer || strcmp(ctl->once_key, key) != 0)
        return 0;
    return buf_adds(out, ctl->once_answer, err) < 0 ? -1 : 1;
}
int ctl_once_put(struct ctl *ctl, const char *key, const char *answer, struct err *err)
{
    (void)err;
    CHECK(ctl->open == 1);
    str_copy(ctl->once_key, sizeof ctl->once_key, key);
    mem_free(ctl->once_answer);
    ctl->once_answer = mem_strdup(answer);
    return 0;
}
int ctl_searchers(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "searchers");
    *out = json_pack("{s:[{s:s, s:s, s:[]}], s:[]}", "samplers", "name", "tpe", "help", "it learns",
                     "options", "schedulers");
    return 0;
}
int ctl_study_preview(struct ctl *ctl, const json_t *spec, json_t **out, struct err *err)
{
    SAY(ctl, "study_preview %s", json_string_value(json_object_get(spec, "dataset")));
    if (!json_object_get(spec, "target"))
        return err_at(err, "target", "is required");
    *out = json_pack("{s:s, s:n, s:s, s:n, s:b, s:i, s:b, s:b, s:[{s:s, s:i, s:i, s:s, s:i, s:i}],"
                     " s:n}",
                     "sampler", "tpe", "sampler_why", "scheduler", "none", "scheduler_why",
                     "deterministic", 1, "trials", 10, "open", 0, "scaled", 0, "lines", "family",
                     "boost", "level", 3, "max_level", 3, "what", "all", "typical", 10, "most", 10,
                     "cost");
    return 0;
}
int ctl_studies(struct ctl *ctl, const char *state, bool with_archived, int64_t after, int limit,
                json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "studies %s %d %d %d", state ? state : "-", with_archived, (int)after, limit);
    for (int64_t from = fake_cpu_us(); fake_cpu_us() - from < ctl->list_us;) {
    }
    *out = json_pack("{s:[o]}", "studies", fake_study("adult"));
    return 0;
}
int ctl_study_await(struct ctl *ctl, int64_t by, const char *ref, void (*on_ready)(void *arg),
                    void *arg, struct err *err)
{
    (void)by, (void)ref, (void)err;
    ctl->awaits += ctl->study_waits;
    ctl->on_ready = on_ready;
    ctl->on_ready_arg = arg;
    return ctl->study_waits ? 0 : 1;
}
int ctl_study_id(struct ctl *ctl, const char *ref, int64_t *id, struct err *err)
{
    json_t *o = NULL;

    if (ctl_study_get(ctl, ref, &o, err) < 0)
        return -1;
    *id = json_integer_value(json_object_get(o, "id"));
    json_decref(o);
    return 0;
}
int ctl_study_get(struct ctl *ctl, const char *ref, json_t **out, struct err *err)
{
    SAY(ctl, "study_get %s", ref);
    if (fake_fails(ref, err) < 0)
        return -1;
    if (strcmp(ref, "adult") != 0 && strcmp(ref, "7") != 0)
        return err_set(err, ERR_NOTFOUND, "no study %s", ref);
    *out = fake_study("adult");
    return 0;
}
int ctl_study_act(struct ctl *ctl, const char *ref, enum ctl_study_verb verb, json_t **out,
                  struct err *err)
{
    SAY(ctl, "study_act %s %d", ref, verb);
    if (fake_fails(ref, err) < 0)
        return -1;
    *out = fake_study(ref);
    return 0;
}
int ctl_study_patch(struct ctl *ctl, const char *ref, const json_t *patch, json_t **out,
                    struct err *err)
{
    (void)err;
    SAY(ctl, "study_patch %s %zu", ref, json_object_size(patch));
    *out = fake_study(ref);
    return 0;
}
int ctl_study_delete(struct ctl *ctl, const char *ref, struct err *err)
{
    SAY(ctl, "study_delete %s", ref);
    return fake_fails(ref, err);
}
int ctl_leaderboard(struct ctl *ctl, const char *ref, int64_t offset, int limit, json_t **out,
                    struct err *err)
{
    json_t *rows = json_array();

    SAY(ctl, "leaderboard %s %d %d", ref, (int)offset, limit);
    if (fake_fails(ref, err) < 0) {
        json_decref(rows);
        return -1;
    }
    for (int i = (int)offset; i < ctl->rows && i < (int)offset + limit; i++)
        json_array_append_new(rows, json_pack("{s:i,s:i,s:i,s:s,s:f,s:f,s:n,s:s,s:b}", "rank",
                                              i + 1, "trial", i + 100, "number", i + 1, "family",
                                              i % 2 ? "boost" : "linear", "score", 0.9 - i * 1e-4,
                                              "se", 0.002, "test_score", "state", "completed",
                                              "artifact", i < 2));
    *out = json_pack("{s:o, s:i}", "rows", rows, "total", ctl->rows);
    return 0;
}
#include "tests/web/fake_page.h"
int ctl_importance(struct ctl *ctl, const char *ref, const char *method, json_t **out,
                   struct err *err)
{
    SAY(ctl, "importance %s %s", ref, method ? method : "-");
    if (fake_fails(ref, err) < 0)
        return -1;
    *out = json_pack("{s:s, s:s, s:i, s:n, s:[{s:s, s:n, s:f}, {s:s, s:s, s:f}]}", "method",
                     "ped_anova", "state", "ready", "trials", 30, "main_effects", "parameters",
                     "name", "family", "family", "importance", 0.7, "name", "boost.leaves",
                     "family", "boost", "importance", 0.3);
    return 0;
}
int ctl_pareto(struct ctl *ctl, const char *ref, const char *x, const char *y, json_t **out,
               struct err *err)
{
    json_t *board = NULL;

    if (ctl_leaderboard(ctl, ref, 0, 3, &board, err) < 0)
        return -1;
    SAY(ctl, "pareto %s %s %s", ref, x ? x : "-", y ? y : "-");
    *out = json_pack("{s:s, s:s, s:s, s:i, s:i, s:n, s:O}", "x", "fit_us", "y", "score", "state",
                     "ready", "compared", 30, "total", 3, "volume", "rows",
                     json_object_get(board, "rows"));
    json_decref(board);
    return 0;
}
int ctl_best_artifact(struct ctl *ctl, const char *ref, char sha256[SHA256_HEX], char *file_name,
                      size_t size, struct err *err)
{
    (void)ctl;
    if (fake_fails(ref, err) < 0)
        return -1;
    sha256_hex("model", 5, sha256);
    str_copy(file_name, size, "adult-best.assay");
    return 0;
}
int ctl_trials(struct ctl *ctl, const char *ref, const char *state, const char *sort, int64_t after,
               int limit, json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "trials %s %s %s %d %d", ref, state ? state : "-", sort ? sort : "-", (int)after,
        limit);
    *out = json_pack("{s:[]}", "trials");
    return 0;
}
static int fake_trial(struct ctl *ctl, const char *what, int64_t id, json_t **out, struct err *err)
{
    SAY(ctl, "%s %d", what, (int)id);
    if (id == 404)
        return err_set(err, ERR_NOTFOUND, "no trial 404");
    *out = json_pack("{s:I, s:i, s:s}", "id", (json_int_t)id, "number", 1, "state", "running");
    return 0;
}
int ctl_trial_get(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    return fake_trial(ctl, "trial_get", id, out, err);
}
int ctl_trial_kill(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    return fake_trial(ctl, "trial_kill", id, out, err);
}
int ctl_trial_retry(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    return fake_trial(ctl, "trial_retry", id, out, err);
}
int ctl_trial_logs(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    return fake_trial(ctl, "trial_logs", id, out, err);
}
#include "tests/web/fake_ask.h"
int ctl_trial_artifact(struct ctl *ctl, int64_t id, char sha256[SHA256_HEX], struct err *err)
{
    (void)ctl;
    if (id != 100)
        return err_set(err, ERR_NOTFOUND, "no model is kept of trial %d", (int)id);
    sha256_hex("model", 5, sha256);
    return 0;
}
int ctl_blob_add(struct ctl *ctl, const char *sha256, int64_t bytes, const char *kind,
                 struct err *err)
{
    (void)err;
    CHECK(ctl->open == 1);
    SAY(ctl, "blob_add %.8s %d %s", sha256, (int)bytes, kind);
    return 0;
}
int ctl_blob_has(struct ctl *ctl, const char *sha256, int64_t *bytes, struct err *err)
{
    (void)ctl, (void)sha256, (void)bytes, (void)err;
    return 0;
}
int ctl_blob_check(struct ctl *ctl, const char *sha256,
                   void (*on_done)(void *arg, const struct err *err), void *arg, struct err *err)
{
    (void)ctl, (void)sha256, (void)on_done, (void)arg, (void)err;
    return 1;
}
int ctl_blob_path(struct ctl *ctl, const char *sha256, char *out, size_t size, struct err *err)
{
    (void)!snprintf(out, size, "%s/blobs/%s", ctl->dir, sha256);
    return io_file_bytes(out) >= 0 ? 0 : err_set(err, ERR_NOTFOUND, "no blob %.8s", sha256);
}
int ctl_upload_named(struct ctl *ctl, const char *id, const char *sha256, struct err *err)
{
    (void)ctl, (void)id, (void)sha256, (void)err;
    return 0;
}
int ctl_upload_new(struct ctl *ctl, const struct ctl_upload_by *by, char id[33], struct err *err)
{
    (void)ctl, (void)by, (void)err;
    str_copy(id, 33, "00000000000000000000000000000001");
    return 0;
}
int ctl_upload_size(struct ctl *ctl, const char *id, int64_t *size, struct err *err)
{
    (void)ctl;
    *size = 5;
    return strlen(id) == 32 ? 0 : err_set(err, ERR_NOTFOUND, "no upload %s", id);
}
int ctl_upload_write(struct ctl *ctl, const char *id, int64_t offset, const void *p, size_t n,
                     struct err *err)
{
    (void)p;
    SAY(ctl, "upload_write %.4s %d %zu", id, (int)offset, n);
    return offset > 5 ? err_set(err, ERR_CONFLICT, "the upload has 5 bytes") : 0;
}
int ctl_upload_drop(struct ctl *ctl, const char *id, struct err *err)
{
    (void)err;
    SAY(ctl, "upload_drop %.4s", id);
    return 0;
}
int ctl_upload_commit(struct ctl *ctl, const char *id, const char *sha256,
                      void (*on_done)(void *, int64_t, const struct err *), void *arg,
                      struct err *err)
{
    (void)id, (void)sha256, (void)err;
    ctl->hashed = on_done;
    ctl->hashed_arg = arg;
    if (!ctl->hash_waits)
        fake_hash_done(ctl);
    return 0;
}
int ctl_dataset_create(struct ctl *ctl, const json_t *body, json_t **out, struct err *err)
{
    (void)body, (void)err;
    SAY(ctl, "dataset_create");
    *out = json_pack("{s:i, s:s, s:s}", "id", 1, "name", "adult", "state", "ingesting");
    return 0;
}
int ctl_datasets(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_pack("{s:[]}", "datasets");
    return 0;
}
int ctl_dataset_get(struct ctl *ctl, const char *ref, json_t **out, struct err *err)
{
    (void)ctl, (void)ref;
    *out = NULL;
    return err_set(err, ERR_NOTFOUND, "no dataset %s", ref);
}
int ctl_dataset_delete(struct ctl *ctl, const char *ref, struct err *err)
{
    (void)err;
    SAY(ctl, "dataset_delete %s", ref);
    return 0;
}
int ctl_runner_hello(struct ctl *ctl, int64_t token, const json_t *body, json_t **out,
                     struct err *err)
{
    (void)ctl, (void)token, (void)body, (void)err;
    *out = json_pack("{s:i, s:i}", "runner", 3, "lease_ms", 30000);
    return 0;
}
int ctl_runner_lease(struct ctl *ctl, int64_t token, int64_t runner, const json_t *body,
                     void (*on_grant)(void *, json_t *, const struct err *), void *arg,
                     struct ctl_wait **wait, struct err *err)
{
    struct ctl_wait *w = NULL;

    (void)token, (void)body;
    SAY(ctl, "runner_lease %d", (int)runner);
    if (runner != 3)
        return err_set(err, ERR_STALE, "runner %d is not known", (int)runner);
    w = mem_zalloc(sizeof *w);
    w->on_grant = on_grant;
    w->arg = arg;
    w->ctl = ctl;
    ctl->wait = *wait = w;
    if (ctl->grants_at_once)
        fake_grant(ctl, json_pack("{s:n}", "grant"));
    return 0;
}
void ctl_runner_lease_cancel(struct ctl *ctl, struct ctl_wait *wait)
{
    CHECK(ctl->wait == wait);
    ctl->wait = NULL;
    ctl->cancels++;
    mem_free(wait);
}
int ctl_runner_report(struct ctl *ctl, int64_t token, int64_t runner, const json_t *body,
                      json_t **out, struct err *err)
{
    (void)token, (void)body, (void)err;
    SAY(ctl, "runner_report %d", (int)runner);
    *out = json_pack("{s:[]}", "replies");
    return 0;
}
int ctl_runners(struct ctl *ctl, int64_t after, int limit, json_t **out, struct err *err)
{
    (void)ctl, (void)err, (void)after, (void)limit;
    *out = json_pack("{s:[]}", "runners");
    return 0;
}
int ctl_pools(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_pack("{s:[{s:s, s:s, s:s, s:i, s:i, s:i, s:[]}]}", "pools", "name", "gpu", "state",
                     "idle", "why", "", "min", 0, "max", 4, "wanted", 0, "jobs");
    return 0;
}
int ctl_runner_act(struct ctl *ctl, int64_t runner, const char *verb, json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "runner_act %d %s", (int)runner, verb);
    *out = json_pack("{s:I}", "id", (json_int_t)runner);
    return 0;
}
struct ctl_sub *ctl_subscribe(struct ctl *ctl, int64_t study,
                              void (*on_event)(void *, int64_t, int64_t, const char *,
                                               const char *),
                              void *arg)
{
    struct ctl_sub *s = mem_zalloc(sizeof *s);

    *s = (struct ctl_sub){ study, on_event, arg, ctl->subs };
    return ctl->subs = s;
}
void ctl_unsubscribe(struct ctl *ctl, struct ctl_sub *sub)
{
    struct ctl_sub **link = &ctl->subs;

    while (*link != sub)
        link = &(*link)->next;
    *link = sub->next;
    mem_free(sub);
}
int ctl_events_since(struct ctl *ctl, int64_t study, int64_t seq, int limit,
                     void (*on_event)(void *, int64_t, const char *, const char *), void *arg,
                     bool *more, struct err *err)
{
    int n = 0;

    (void)err;
    *more = false;
    for (int i = (int)seq; i < ctl->n_events; i++) {
        const struct fake_event *e = &ctl->events[i];

        if (study && e->study != study)
            continue;
        if (n++ == limit) {
            *more = true;
            return 0;
        }
        on_event(arg, e->seq, e->event, e->json);
    }
    return 0;
}
int64_t ctl_events_last(struct ctl *ctl)
{
    return ctl->n_events;
}
int ctl_health(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_pack("{s:s}", "status", "ok");
    return 0;
}
int ctl_metrics(struct ctl *ctl, struct buf *out, struct err *err)
{
    (void)ctl;
    return buf_adds(out, "assay_studies 1\n", err);
}
int ctl_config(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_object();
    return 0;
}
int ctl_backup(struct ctl *ctl, const char *path,
               void (*on_done)(void *arg, json_t *out_new, const struct err *err), void *arg,
               struct err *err)
{
    (void)err;
    SAY(ctl, "backup %s", path + strlen(ctl->dir));
    on_done(arg,
            json_pack("{s:s, s:i, s:i, s:i, s:i}", "path", path, "db_bytes", 1, "blobs", 0, "bytes",
                      0, "missing", 0),
            NULL);
    return 0;
}
int ctl_debug(struct ctl *ctl, const char *verb, const json_t *args, json_t **out, struct err *err)
{
    (void)args, (void)err;
    SAY(ctl, "debug %s", verb);
    *out = json_object();
    return 0;
}

#include "tests/web/fake_dump.h"

#endif
