/* mock.c - see mock.h. Everything in arrays; asserts are cmocka's, since only tests run it. */
#include "tests/runner/mock.h"

#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>

enum { BLOBS_MAX = 64, GRANTS_MAX = 64, TRIALS_MAX = 64, DEVICES_MAX = 8 };

struct blob {
    char id[33], sha256[SHA256_HEX]; /* id: while it is an upload */
    char *bytes;
    size_t n;
};
struct granted {
    int64_t trial, fence, seq;
    bool is_task;
    struct msg_reply last;
};
struct asked {
    char device[32];
    int64_t n;
    char *answer;
};

struct mock {
    struct loop *loop;
    struct server *server;
    struct mock_rules rules;
    struct blob blobs[BLOBS_MAX];
    int n_blobs, n_grants, n_trials, n_events, n_asked, repeats, hellos, gets, drops, epoch;
    char *grants[GRANTS_MAX];
    struct granted trials[TRIALS_MAX];
    struct asked asked[DEVICES_MAX];
    struct mock_event events[MOCK_EVENTS_MAX];
    struct msg_hello hello;
    struct msg_held held[TRIALS_MAX];
    int n_held;
};

static void say_text(struct server_answer *a, int status, const char *text)
{
    a->status = status;
    a->body = mem_strdup(text);
    a->len = strlen(text);
}

static void say(struct server_answer *a, int status, json_t *j_steal)
{
    a->status = status;
    a->body = jsonx_dump(j_steal);
    a->len = strlen(a->body);
    json_decref(j_steal);
}

/* ---- blobs ---- */

static struct blob *blob_at(struct mock *f, const char *id)
{
    for (int i = 0; i < f->n_blobs; i++) {
        if (strcmp(f->blobs[i].id, id) == 0)
            return &f->blobs[i];
    }
    return NULL;
}

bool mock_has_blob(const struct mock *f, const char *sha256, const char **bytes, size_t *n)
{
    for (int i = 0; i < f->n_blobs; i++) {
        if (strcmp(f->blobs[i].sha256, sha256) != 0)
            continue;
        if (bytes)
            *bytes = f->blobs[i].bytes;
        if (n)
            *n = f->blobs[i].n;
        return true;
    }
    return false;
}

static struct blob *blob_add(struct mock *f)
{
    struct blob *b = &f->blobs[f->n_blobs++];

    assert_true(f->n_blobs <= BLOBS_MAX);
    snprintf(b->id, sizeof b->id, "up%d", f->n_blobs);
    return b;
}

void mock_blob(struct mock *f, const void *p, size_t n, char sha256[SHA256_HEX])
{
    struct blob *b = blob_add(f);

    b->bytes = mem_dup(p, n);
    b->n = n;
    sha256_hex(p, n, b->sha256);
    memcpy(sha256, b->sha256, SHA256_HEX);
}

static void upload_part(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    char id[33] = "";
    const char *at = strstr(r->path, "?offset=");
    int64_t offset = -1;
    struct blob *b = NULL;

    assert_non_null(at);
    assert_int_equal(str_i64(at + strlen("?offset="), 0, INT64_MAX, &offset, NULL), 0);
    assert_int_equal(sscanf(r->path, "/api/v1/uploads/%32[a-z0-9]", id), 1);
    b = blob_at(f, id);
    if (!b) {
        say_text(a, 404, "{\"detail\":\"no such upload\"}");
        return;
    }
    assert_true(r->len <= 4 << 20);
    if ((size_t)offset > b->n) {
        say_text(a, 409, "{\"detail\":\"a gap\"}");
        return;
    }
    b->bytes = mem_resize(b->bytes, (size_t)offset + r->len);
    memcpy(b->bytes + offset, r->body, r->len);
    b->n = (size_t)offset + r->len;
    say_text(a, 200, "{}");
}

static void upload_drop(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    char id[33] = "";

    assert_int_equal(sscanf(r->path, "/api/v1/uploads/%32[a-z0-9]", id), 1);
    f->drops += blob_at(f, id) != NULL;
    say_text(a, 204, "");
}

static void upload_commit(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    json_t *j = jsonx_load(r->body, r->len, "commit", NULL);
    const char *want = json_string_value(json_object_get(j, "sha256"));
    char id[33] = "", got[SHA256_HEX];
    struct blob *b = NULL;

    assert_int_equal(sscanf(r->path, "/api/v1/uploads/%32[a-z0-9]/commit", id), 1);
    b = blob_at(f, id);
    if (!b) {
        say_text(a, 404, "{}");
    } else {
        sha256_hex(b->bytes ? b->bytes : "", b->n, got);
        assert_string_equal(got, want);
        memcpy(b->sha256, got, sizeof got);
        say_text(a, 200, "{}");
    }
    json_decref(j);
}

static void blob_get(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    const char *sha = r->path + strlen("/api/v1/blobs/"), *bytes = NULL;
    size_t n = 0, from = r->range_from > 0 ? (size_t)r->range_from : 0;

    if (!mock_has_blob(f, sha, &bytes, &n)) {
        say_text(a, 404, "{\"detail\":\"no such blob\"}");
        return;
    }
    f->gets += strcmp(r->method, "GET") == 0;
    if (from >= n && from > 0) {
        say_text(a, 416, "{}");
        return;
    }
    a->status = from ? 206 : 200;
    a->len = n - from;
    a->body = mem_dup(bytes + from, a->len);
}

/* ---- runners ---- */

static void hello(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    json_t *j = jsonx_load(r->body, r->len, "hello", NULL);
    struct msg_welcome w = { .runner = 1 + f->epoch, .lease_ms = f->rules.lease_ms };

    char session[33];

    str_copy(session, sizeof session, f->hello.session);
    assert_int_equal(msg_hello_parse(&f->hello, j, NULL), 0);
    if (!str_eq(session, f->hello.session)) { /* another process: it counts its asks anew */
        for (int i = 0; i < f->n_asked; i++)
            mem_free(f->asked[i].answer);
        memset(f->asked, 0, sizeof f->asked);
        f->n_asked = 0;
    }
    f->hellos++;
    json_decref(j);
    say(a, 200, msg_welcome_json_new(&w));
}

static struct asked *asked_of(struct mock *f, const char *device)
{
    for (int i = 0; i < f->n_asked; i++) {
        if (strcmp(f->asked[i].device, device) == 0)
            return &f->asked[i];
    }
    assert_true(f->n_asked < DEVICES_MAX);
    str_copy(f->asked[f->n_asked].device, sizeof f->asked[0].device, device);
    return &f->asked[f->n_asked++];
}

static void lease(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    json_t *j = jsonx_load(r->body, r->len, "ask", NULL);
    struct msg_ask m = { 0 };
    struct asked *s = NULL;

    assert_int_equal(msg_ask_parse(&m, j, NULL), 0);
    json_decref(j);
    s = asked_of(f, m.device);
    assert_true(m.n == s->n || m.n == s->n + 1);
    if (m.n == s->n + 1) {
        mem_free(s->answer);
        s->answer = NULL;
        s->n = m.n;
    }
    if (!s->answer && f->n_grants > 0) {
        s->answer = f->grants[0];
        memmove(f->grants, f->grants + 1, (size_t)--f->n_grants * sizeof f->grants[0]);
    }
    say_text(a, 200, s->answer ? s->answer : "{\"grant\":null}");
    if (!s->answer && m.wait_s > 0)
        a->delay_ms = f->rules.empty_ms;
}

static struct granted *trial_of(struct mock *f, const struct msg_event *e, bool is_task)
{
    for (int i = 0; i < f->n_trials; i++) {
        struct granted *l = &f->trials[i];

        if (l->trial == e->trial && l->fence == e->fence && l->is_task == is_task)
            return l;
    }
    assert_true(f->n_trials < TRIALS_MAX);
    f->trials[f->n_trials] =
        (struct granted){ .trial = e->trial, .fence = e->fence, .is_task = is_task };
    return &f->trials[f->n_trials++];
}

static struct msg_reply by_default(const struct mock_event *ev)
{
    struct msg_reply r = { .action = MSG_OK };

    if (ev->type == MSG_FINAL)
        r.action = MSG_DROP;
    if (ev->type == MSG_RUNG) {
        r.action = MSG_RUN_TO;
        r.to = 3;
    }
    return r;
}

static struct msg_reply take_event(struct mock *f, const struct msg_event *e)
{
    struct granted *l = trial_of(f, e, e->type == MSG_TASK_DONE || e->type == MSG_TASK_FAILED);
    struct mock_event *ev = &f->events[f->n_events];
    bool is_progress = e->type == MSG_PROGRESS; /* changes nothing, may be lost, has no number */

    assert_true(is_progress == (e->seq == 0));
    if (!is_progress && e->seq <= l->seq) {
        f->repeats++;
        if (e->seq < l->seq) /* only the last answer is kept; the runner has had the older ones */
            l->last.action = MSG_OK;
        l->last.seq = e->seq;
        return l->last;
    }
    assert_true(is_progress || e->seq == l->seq + 1);
    assert_true(!e->blob[0] || mock_has_blob(f, e->blob, NULL, NULL));
    assert_true(f->n_events < MOCK_EVENTS_MAX);
    *ev = (struct mock_event){ .type = e->type,
                               .trial = e->trial,
                               .fence = e->fence,
                               .seq = e->seq,
                               .level = e->level,
                               .value = e->value,
                               .cut = e->cut,
                               .reason = e->reason };
    str_copy(ev->blob, sizeof ev->blob, e->blob);
    str_copy(ev->detail, sizeof ev->detail, e->detail ? e->detail : "");
    f->n_events++;
    if (is_progress)
        return (struct msg_reply){ .trial = e->trial, .fence = e->fence, .action = MSG_OK };
    l->seq = e->seq;
    l->last = f->rules.on_event ? f->rules.on_event(f->rules.arg, ev) : by_default(ev);
    l->last.trial = e->trial;
    l->last.fence = e->fence;
    l->last.seq = e->seq;
    return l->last;
}

static void report(struct mock *f, const struct server_request *r, struct server_answer *a)
{
    json_t *j = jsonx_load(r->body, r->len, "report", NULL);
    struct msg_report m = { 0 };
    struct msg_answer out = { .lease_ms = f->rules.lease_ms };
    struct err err = { 0 };

    if (msg_report_parse(&m, j, &err) < 0)
        fail_msg("report: %s", err.text);
    out.n_replies = m.n_events;
    out.replies = mem_array((size_t)m.n_events + 1, sizeof *out.replies);
    for (int i = 0; i < m.n_events; i++)
        out.replies[i] = take_event(f, &m.events[i]);
    f->n_held = MIN(m.n_held, TRIALS_MAX);
    for (int i = 0; i < f->n_held; i++)
        f->held[i] = m.held[i];
    if (f->rules.on_answer)
        f->rules.on_answer(f->rules.arg, &m, &out);
    say(a, 200, msg_answer_json_new(&out));
    msg_report_fini(&m);
    msg_answer_fini(&out);
    json_decref(j);
}

static void handle(void *arg, const struct server_request *r, struct server_answer *a)
{
    struct mock *f = arg;
    char lease_path[64], report_path[64];

    if (f->rules.on_request && f->rules.on_request(f->rules.arg, r, a))
        return;
    snprintf(lease_path, sizeof lease_path, "/api/v1/runners/%d/lease", 1 + f->epoch);
    snprintf(report_path, sizeof report_path, "/api/v1/runners/%d/report", 1 + f->epoch);
    if (str_eq(r->path, "/api/v1/runners"))
        hello(f, r, a);
    else if (f->hellos > 0 && str_eq(r->path, lease_path))
        lease(f, r, a);
    else if (f->hellos > 0 && str_eq(r->path, report_path))
        report(f, r, a);
    else if (str_eq(r->path, "/api/v1/uploads"))
        say(a, 201, json_pack("{s:s}", "id", blob_add(f)->id));
    else if (str_starts(r->path, "/api/v1/uploads/") && str_eq(r->method, "DELETE"))
        upload_drop(f, r, a);
    else if (str_starts(r->path, "/api/v1/uploads/") && str_eq(r->method, "PUT"))
        upload_part(f, r, a);
    else if (str_starts(r->path, "/api/v1/uploads/"))
        upload_commit(f, r, a);
    else if (str_starts(r->path, "/api/v1/blobs/"))
        blob_get(f, r, a);
    else
        say_text(a, 404, "{\"detail\":\"no such runner\"}");
}

/* ---- for tests ---- */

void mock_grant(struct mock *f, const struct msg_grant *g)
{
    json_t *j = msg_grant_json_new(g);

    assert_true(f->n_grants < GRANTS_MAX);
    f->grants[f->n_grants++] = jsonx_dump(j);
    json_decref(j);
}

int mock_asks_waiting_grants(const struct mock *f)
{
    return f->n_grants;
}

void mock_forget_runners(struct mock *f)
{
    f->epoch++;
    f->hellos = 0;
}

struct server *mock_server(struct mock *f)
{
    return f->server;
}

int mock_drops(const struct mock *f)
{
    return f->drops;
}

int mock_blob_gets(const struct mock *f)
{
    return f->gets;
}

int mock_n_events(const struct mock *f)
{
    return f->n_events;
}

const struct mock_event *mock_event(const struct mock *f, int i)
{
    return &f->events[i];
}

const struct mock_event *mock_find(const struct mock *f, enum msg_type type, int64_t trial)
{
    for (int i = f->n_events - 1; i >= 0; i--) {
        if (f->events[i].type == type && f->events[i].trial == trial)
            return &f->events[i];
    }
    return NULL;
}

int mock_count(const struct mock *f, enum msg_type type)
{
    int n = 0;

    for (int i = 0; i < f->n_events; i++)
        n += f->events[i].type == type;
    return n;
}

int mock_repeats(const struct mock *f)
{
    return f->repeats;
}

int mock_hellos(const struct mock *f)
{
    return f->hellos;
}

const struct msg_hello *mock_hello(const struct mock *f)
{
    return &f->hello;
}

int mock_n_held(const struct mock *f)
{
    return f->n_held;
}

bool mock_is_held(const struct mock *f, int64_t trial)
{
    for (int i = 0; i < f->n_held; i++) {
        if (f->held[i].trial == trial)
            return true;
    }
    return false;
}

struct mock *mock_new(struct loop *loop, const char *socket, const struct mock_rules *rules)
{
    struct mock *f = mem_zalloc(sizeof *f);

    f->loop = loop;
    f->rules = *rules;
    f->server = server_new(loop, socket, handle, f);
    return f;
}

void mock_free(struct mock *f)
{
    if (!f)
        return;
    server_free(f->server);
    for (int i = 0; i < f->n_blobs; i++)
        mem_free(f->blobs[i].bytes);
    for (int i = 0; i < f->n_grants; i++)
        mem_free(f->grants[i]);
    for (int i = 0; i < f->n_asked; i++)
        mem_free(f->asked[i].answer);
    mem_free(f);
}
