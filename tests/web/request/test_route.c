/* test_route.c - the route table against a fake controller: every row is reachable and says who may call it,
 * errors have one shape and the right status, and hostile requests change nothing. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"
#include "web/api/tables.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ADMIN  "Authorization: Bearer admin-token\r\n"
#define YAML   "Content-Type: application/yaml\r\n"
#define SHA    "9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4" /* of "model" */
#define UPLOAD "00000000000000000000000000000001"

static struct web_rig *rig;

static int setup(void **state)
{
    struct web_conf conf = { .host_names = "assay.lan" };

    (void)state;
    rig = web_rig_new(fake_ctl_new, &conf);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    web_rig_free(rig, fake_ctl_free);
    return 0;
}

static struct web_reply call(const char *method, const char *path, const char *headers,
                             const char *body)
{
    return web_rig_call(rig, false, method, path, headers, body);
}

/* The pattern with something legal in place of each {x}. */
static void path_of(const struct web_route *route, char *out, size_t size)
{
    static const char *const values[][2] = { { "{study}", "adult" },   { "{trial}", "100" },
                                             { "{upload}", UPLOAD },   { "{sha256}", SHA },
                                             { "{dataset}", "adult" }, { "{runner}", "3" },
                                             { "{token}", "1" },       { "{verb}", "digest" },
                                             { "{file}", "app.js" },   { "{session}", "9" },
                                             { "{model}", "adult" } };
    size_t n = 0;

    for (const char *p = route->pattern; *p; p++) {
        size_t v = 0;

        while (*p == '{' && strncmp(p, values[v][0], strlen(values[v][0])) != 0)
            CHECK(++v < ARRAY_LEN(values));
        if (*p != '{') {
            out[n++] = *p;
            continue;
        }
        n += str_copy(out + n, size - n, values[v][1]);
        p += strlen(values[v][0]) - 1;
    }
    out[n] = '\0';
}

static void each_route_is_found_and_says_who_may(void **state)
{
    const struct web_route *route = NULL, *found = NULL;
    const char *vars[WEB_VARS_MAX];
    size_t i = 0;

    (void)state;
    for (; (route = web_route_at(&web_tables, i)); i++) {
        struct arena a;
        struct args_path path;
        char text[200];
        unsigned others = 0;
        struct web_asked asked = { route->method, &path, true };

        arena_init(&a);
        path_of(route, text, sizeof text);
        assert_int_equal(args_path_parse(&a, text, strlen(text), &path, NULL), 0);
        assert_int_equal(web_route_find(&web_tables, &asked, &found, vars, &others), 1);
        if (found != route)
            fail_msg("%s is hidden by %s", route->pattern, found->pattern);
        if ((route->allow == 0) != ((route->flags & WEB_OPEN) != 0))
            fail_msg("%s: either open or for someone", route->pattern);
        if (route->method != WEB_GET && !(route->flags & (WEB_WRITE | WEB_RAW)) &&
            !strstr(route->pattern, "/uploads") && !strstr(route->pattern, "/backup") &&
            !strstr(route->pattern, ":preview") && !strstr(route->pattern, "/tickets"))
            fail_msg("%s changes something without a savepoint", route->pattern);
        arena_fini(&a);
    }
    assert_true(i > 40);
}

/* Every route against every kind of caller: who is not allowed gets 401 or 403 and reaches no controller. */
static void only_the_allowed_come_in(void **state)
{
    static const char *const who[] = { NULL,         "viewer-token", "runner-token",
                                       "user-token", "admin-token",  "wrong-token" };
    const struct web_route *route = NULL;

    (void)state;
    for (size_t i = 0; (route = web_route_at(&web_tables, i)); i++) {
        char path[200], header[100];

        path_of(route, path, sizeof path);
        if (route->flags & (WEB_OPEN | WEB_DEV) || strstr(path, "/lease") ||
            strstr(path, "/events"))
            continue;
        for (int w = 0; w < (int)ARRAY_LEN(who); w++) {
            bool allowed = w >= 1 && w <= 4 && route->allow >> w & 1;
            int calls = rig->ctl->calls, begins = rig->ctl->begins;
            struct web_reply r;

            (void)!snprintf(header, sizeof header, "Authorization: Bearer %s\r\n",
                            who[w] ? who[w] : "");
            r = call(web_method_name[route->method], path, who[w] ? header : NULL,
                     route->flags & (WEB_JSON | WEB_RAW) ? "{\"name\":\"x\"}" : NULL);
            if (allowed == (r.status == 401 || r.status == 403))
                fail_msg("%s %s as %s: %d", web_method_name[route->method], path,
                         who[w] ? who[w] : "nobody", r.status);
            if (!allowed) {
                assert_int_equal(r.status, w == 0 || w == 5 ? 401 : 403);
                assert_int_equal(rig->ctl->calls, calls);
                assert_int_equal(rig->ctl->begins, begins);
            }
            web_reply_free(&r);
        }
    }
}

static void health_and_the_page_s_files_need_no_token(void **state)
{
    struct web_reply r = call("GET", "/health", NULL, NULL);

    (void)state;
    assert_int_equal(r.status, 200);
    web_reply_free(&r);
    r = call("GET", "/", NULL, NULL); /* the page holds no data, and a form to sign in */
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(web_reply_header(&r, "Content-Type"), "text/html"));
    web_reply_free(&r);
    r = call("GET", "/open?code=short", NULL, NULL);
    assert_int_equal(r.status, 403);
    assert_non_null(strstr(web_reply_header(&r, "Content-Type"), "text/html"));
    web_reply_free(&r);
}

struct hostile {
    const char *method, *path, *headers, *body;
    int status;
    const char *detail;
};

static const struct hostile hostiles[] = {
    /* Host, Origin, tokens */
    { "GET", "/api/v1/studies", "Host: evil.example\r\n" ADMIN, NULL, 403, "Host" },
    { "GET", "/health", "Host: evil.example\r\n", NULL, 403, "Host" },
    { "GET", "/api/v1/studies", "Host: assay.lan\r\n" ADMIN, NULL, 200, NULL },
    { "GET", "/api/v1/studies", "Host: \r\n" ADMIN, NULL, 403, "Host" },
    { "POST", "/api/v1/studies", ADMIN "Origin: http://evil.example\r\n", "{}", 403, "origin" },
    { "POST", "/api/v1/studies", ADMIN "Origin: null\r\n", "{}", 403, "origin" },
    { "POST", "/api/v1/studies", ADMIN "Origin: http://localhost\r\n", "{}", 201, NULL },
    { "GET", "/api/v1/studies", "Authorization: Basic YTpi\r\n", NULL, 401, "Bearer" },
    { "GET", "/api/v1/studies", "Authorization: Bearer a b\r\n", NULL, 401, "Bearer" },
    { "GET", "/api/v1/studies", "Cookie: assay-0=cccc\r\n", NULL, 401, NULL },
    /* addresses */
    { "GET", "/nothing", ADMIN, NULL, 404, "nothing at this address" },
    { "GET", "/api/v1/studies/", ADMIN, NULL, 404, NULL },
    { "GET", "/api/v1//studies", ADMIN, NULL, 404, NULL },
    { "GET", "/static/../server.c", ADMIN, NULL, 404, NULL },
    { "GET", "/static/%2e%2e%2fserver.c", ADMIN, NULL, 404, NULL },
    { "GET", "/static/nothing.js", ADMIN, NULL, 404, NULL },
    { "GET", "/api/v1/studies/%00", ADMIN, NULL, 400, "control byte" },
    { "GET", "/api/v1/studies/%ff", ADMIN, NULL, 400, "UTF-8" },
    { "GET", "/api/v1/studies/%zz", ADMIN, NULL, 400, "escape" },
    { "GET", "/api/v1/debug/digest", ADMIN, NULL, 404, NULL },
    { "POST", "/api/v1/debug/digest", ADMIN, "{}", 404, NULL },
    /* methods */
    { "DELETE", "/api/v1/studies", ADMIN, NULL, 405, "does not take DELETE" },
    { "PATCH", "/health", ADMIN, NULL, 405, NULL },
    { "OPTIONS", "/api/v1/studies", ADMIN, NULL, 405, NULL },
    /* query */
    { "GET", "/api/v1/studies?limt=5", ADMIN, NULL, 400, "\"where\":\"limt\"" },
    { "GET", "/api/v1/studies?limit=5&limit=6", ADMIN, NULL, 400, "twice" },
    { "GET", "/api/v1/studies?limit=0", ADMIN, NULL, 400, "from 1 to 1000" },
    { "GET", "/api/v1/studies?limit=5x", ADMIN, NULL, 400, "\"where\":\"limit\"" },
    { "GET", "/api/v1/studies?limit=99999999999999999999", ADMIN, NULL, 400, NULL },
    { "GET", "/api/v1/studies?archived=maybe", ADMIN, NULL, 400, "true or false" },
    { "GET", "/api/v1/studies?limit", ADMIN, NULL, 400, "key=value" },
    { "GET", "/api/v1/studies?%6cimit=5", ADMIN, NULL, 200, NULL },
    { "GET", "/health?x=1", ADMIN, NULL, 400, "takes none" },
    /* ids */
    { "GET", "/api/v1/trials/abc", ADMIN, NULL, 404, "no id" },
    { "GET", "/api/v1/trials/-1", ADMIN, NULL, 404, NULL },
    { "GET", "/api/v1/trials/0", ADMIN, NULL, 404, NULL },
    { "GET", "/api/v1/trials/9223372036854775808", ADMIN, NULL, 404, NULL },
    { "GET", "/api/v1/trials/404", ADMIN, NULL, 404, "no trial 404" },
    { "GET", "/api/v1/blobs/xyz", ADMIN, NULL, 404, NULL },
    { "GET", "/api/v1/blobs/../../../etc/passwd", ADMIN, NULL, 404, NULL },
    /* bodies */
    { "POST", "/api/v1/studies", ADMIN, NULL, 400, "JSON object is needed" },
    { "POST", "/api/v1/studies", ADMIN, "", 400, "JSON object is needed" },
    { "POST", "/api/v1/studies", ADMIN, "{", 400, "line 1" },
    { "POST", "/api/v1/studies", ADMIN, "[]", 400, "must be a JSON object" },
    { "POST", "/api/v1/studies", ADMIN, "\"x\"", 400, "must be a JSON object" },
    { "POST", "/api/v1/studies", ADMIN, "{\"a\":1,\"a\":2}", 400, NULL },
    { "POST", "/api/v1/studies", ADMIN, "{\"a\":\"\xff\"}", 400, NULL },
    { "POST", "/api/v1/studies", ADMIN, "{} {}", 400, NULL },
    { "POST", "/api/v1/studies", ADMIN YAML, "a: [1\nb: 2\n", 400, "line 2" },
    { "POST", "/api/v1/studies", ADMIN YAML, "a: &x 1\nb: *x\n", 400, NULL },
    { "POST", "/api/v1/studies", ADMIN YAML, "- a\n", 400, "keys and values are needed" },
    { "POST", "/api/v1/studies", ADMIN YAML, "", 400, "the YAML is empty" },
    { "POST", "/api/v1/studies", ADMIN, "dataset: d\ntarget: y\n", 400, "line 1" },
    { "POST", "/api/v1/studies", ADMIN,
      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 400, "deeper" },
    { "POST", "/api/v1/tokens", ADMIN, "{\"name\":\"x\"}", 400, "\"where\":\"role\"" },
    { "POST", "/api/v1/tokens", ADMIN, "{\"name\":1,\"role\":\"user\"}", 400,
      "\"where\":\"name\"" },
    { "POST", "/api/v1/tokens", ADMIN, "{\"nam\":\"x\",\"role\":\"user\"}", 400, "did you mean" },
    { "DELETE", "/api/v1/studies/adult", ADMIN, "{}", 400, "takes no body" },
    { "PUT", "/api/v1/uploads/" UPLOAD, ADMIN, "abc", 400, "\"where\":\"offset\"" },
    { "PUT", "/api/v1/uploads/" UPLOAD "?offset=-1", ADMIN, "abc", 400, NULL },
    { "PUT", "/api/v1/uploads/" UPLOAD "?offset=0", ADMIN, "", 400, "empty" },
    { "PUT", "/api/v1/uploads/" UPLOAD "?offset=9", ADMIN, "abc", 409, "has 5 bytes" },
    { "POST", "/api/v1/uploads/" UPLOAD "/commit", ADMIN, "{\"sha256\":\"ABC\"}", 400, "hash" },
    { "POST", "/api/v1/uploads/" UPLOAD "/commit", ADMIN,
      "{\"sha256\":\"" SHA "\",\"kind\":\"a/b\"}", 400, "\"where\":\"kind\"" },
    { "POST", "/api/v1/backup", ADMIN, "{\"name\":\"../../x\"}", 400, "\"where\":\"name\"" },
    { "POST", "/api/v1/backup", ADMIN, "{\"path\":\"/etc/x\"}", 400, NULL },
    { "GET", "/api/v1/events", ADMIN "Last-Event-ID: x\r\n", NULL, 400, "Last-Event-ID" },
    { "GET", "/api/v1/events?study=nosuch", ADMIN, NULL, 404, "no study nosuch" },
    { "POST", "/api/v1/runners/9/lease", ADMIN, "{}", 409, "\"type\":\"stale\"" },
    /* the link */
    { "GET", "/open", NULL, NULL, 403, "not whole" },
    { "GET", "/open?code=0123456789abcdef0123456789abcdef", NULL, NULL, 401, "used or is too old" },
};

static void hostile_requests_get_one_clear_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostiles); i++) {
        const struct hostile *h = &hostiles[i];
        struct web_reply r = call(h->method, h->path, h->headers, h->body);
        const char *type = web_reply_header(&r, "Content-Type");

        if (r.status != h->status || (h->detail && !strstr(r.body, h->detail)))
            fail_msg("%s %s: %d, wanted %d; %.300s", h->method, h->path, r.status, h->status,
                     r.body ? r.body : "-");
        if (r.status >= 400 && strcmp(h->method, "GET") != 0)
            assert_string_equal(type, "application/problem+json");
        if (r.status == 405)
            assert_non_null(web_reply_header(&r, "Allow"));
        web_reply_free(&r);
    }
    assert_int_equal(rig->ctl->keeps, 1); /* the one study of our own origin */
}

static void errors_become_statuses_in_one_place(void **state)
{
    static const int status[ERR_CODES] = {
        [ERR_ARG] = 400,      [ERR_AUTH] = 401,    [ERR_DENIED] = 403,      [ERR_NOTFOUND] = 404,
        [ERR_CONFLICT] = 409, [ERR_STALE] = 409,   [ERR_TOOBIG] = 413,      [ERR_VERSION] = 426,
        [ERR_BUSY] = 503,     [ERR_FULL] = 507,    [ERR_IO] = 500,          [ERR_NOMEM] = 500,
        [ERR_DEVICE] = 500,   [ERR_TIMEOUT] = 504, [ERR_UNREACHABLE] = 502, [ERR_DAMAGED] = 500,
        [ERR_DIVERGED] = 500,
    };
    char path[60];

    (void)state;
    for (int code = 1; code < ERR_CODES; code++) {
        struct web_reply r;
        json_t *j = NULL;

        (void)!snprintf(path, sizeof path, "/api/v1/studies/err-%d", code);
        r = call("GET", path, ADMIN, NULL);
        assert_int_equal(r.status, status[code]);
        j = json_loads(r.body, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(j, "status")), status[code]);
        assert_true(json_is_string(json_object_get(j, "title")));
        assert_true(json_is_string(json_object_get(j, "detail")));
        assert_string_equal(json_string_value(json_object_get(j, "type")),
                            code == ERR_STALE ? "stale" : "about:blank");
        json_decref(j);
        web_reply_free(&r);
    }
}

static void busy_controller_refuses_submit_and_lease_only(void **state)
{
    struct web_reply r;

    (void)state;
    rig->ctl->is_busy = true;
    r = call("POST", "/api/v1/studies", ADMIN, "{}");
    assert_int_equal(r.status, 503);
    assert_string_equal(web_reply_header(&r, "Retry-After"), "1");
    web_reply_free(&r);
    r = call("POST", "/api/v1/runners/3/lease", ADMIN, "{}");
    assert_int_equal(r.status, 503);
    web_reply_free(&r);
    r = call("POST", "/api/v1/runners/3/report", ADMIN, "{}");
    assert_int_equal(r.status, 200);
    web_reply_free(&r);
    /* A trial cannot complete before its model is uploaded: that must not wait behind new work. */
    r = call("POST", "/api/v1/uploads", ADMIN, NULL);
    assert_int_equal(r.status, 201);
    web_reply_free(&r);
    rig->ctl->is_busy = false;
}

static void link_opens_one_session_that_needs_its_secret_also_to_read(void **state)
{
    struct web_reply r = web_rig_call(rig, true, "POST", "/api/v1/links", NULL, NULL);
    json_t *j = json_loads(r.body, 0, NULL);
    char path[200], cookie[300], headers[600], secret[80];

    (void)state;
    assert_int_equal(r.status, 201);
    str_copy(path, sizeof path, json_string_value(json_object_get(j, "path")));
    json_decref(j);
    web_reply_free(&r);
    r = call("GET", path, NULL, NULL);
    assert_int_equal(r.status, 200);
    str_copy(cookie, sizeof cookie, web_reply_header(&r, "Set-Cookie"));
    assert_non_null(strstr(cookie, "; HttpOnly; SameSite=Strict"));
    *strchr(cookie, ';') = '\0';
    (void)!snprintf(secret, sizeof secret, "%.64s", strstr(r.body, "#key=") + 5);
    web_reply_free(&r);
    r = call("GET", path, NULL, NULL); /* once only */
    assert_int_equal(r.status, 401);
    web_reply_free(&r);
    (void)!snprintf(headers, sizeof headers, "Cookie: other=1; %s\r\n", cookie);
    r = call("GET", "/api/v1/session", headers, NULL);
    assert_int_equal(r.status, 401);
    web_reply_free(&r);
    (void)!snprintf(headers, sizeof headers, "Cookie: %s\r\nX-Assay-CSRF: %.63s\r\n", cookie,
                    secret);
    r = call("POST", "/api/v1/studies/adult/pause", headers, NULL);
    assert_int_equal(r.status, 401);
    web_reply_free(&r);
    (void)!snprintf(headers, sizeof headers, "Cookie: other=1; %s\r\nX-Assay-CSRF: %s\r\n", cookie,
                    secret);
    r = call("GET", "/api/v1/session", headers, NULL);
    assert_int_equal(r.status, 200);
    assert_null(strstr(r.body, "ssss"));
    web_reply_free(&r);
    r = call("POST", "/api/v1/studies/adult/pause", headers, NULL);
    assert_int_equal(r.status, 200);
    web_reply_free(&r);
}

/* A spec as people write it. */
static void yaml_bodies_are_read_as_json_would_be(void **state)
{
    struct web_reply yaml = call("POST", "/api/v1/studies", ADMIN YAML, "name: s\nseed: 7 # x\n");
    struct web_reply json = call("POST", "/api/v1/studies", ADMIN, "{\"name\":\"s\",\"seed\":7}");

    (void)state;
    assert_int_equal(yaml.status, 201);
    assert_string_equal(yaml.body, json.body);
    web_reply_free(&yaml);
    web_reply_free(&json);
}

static struct web_reply keyed(const char *who, const char *key, const char *path, const char *body)
{
    char headers[500];

    (void)!snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\nIdempotency-Key: %s\r\n",
                    who, key);
    return call("POST", path, headers, body);
}

/* `again`: the same as before, or a controller's call. */
static void keyed_case(const char *who, const char *key, const char *path, const char *body,
                       int status, bool again)
{
    int calls = rig->ctl->calls;
    struct web_reply r = keyed(who, key, path, body);

    if (r.status != status)
        fail_msg("%s %s %s: %d %s", key, path, body, r.status, r.body);
    assert_int_equal(rig->ctl->calls - calls, again || status >= 400 ? 0 : 1);
    assert_int_equal(web_reply_header(&r, "Idempotent-Replayed") != NULL, again);
    if (status < 300) {
        json_t *j = json_loads(r.body, 0, NULL);
        assert_true(json_integer_value(json_object_get(j, "id")) > 0);
        json_decref(j);
    }
    web_reply_free(&r);
}

static void request_repeated_under_its_key_is_done_once(void **state)
{
    static const char studies[] = "/api/v1/studies", a[] = "{\"name\":\"a\"}";
    char long_key[300];

    (void)state;
    keyed_case("admin-token", "k1", studies, a, 201, false);
    keyed_case("admin-token", "k1", studies, a, 201, true);
    keyed_case("admin-token", "k1", studies, a, 201, true);
    keyed_case("admin-token", "k1", studies, "{\"name\":\"b\"}", 409, false);
    keyed_case("admin-token", "k1", "/api/v1/studies?load_if_exists=true", a, 409, false);
    keyed_case("admin-token", "k1", "/api/v1/studies/a/trials", "{\"family\":\"linear\"}", 409,
               false);
    keyed_case("user-token", "k1", studies, a, 201, false); /* keys are their owner's */
    keyed_case("user-token", "k1", studies, a, 201, true);
    keyed_case("user-token", "k2", "/api/v1/trials/100/retry", "", 200, false);
    keyed_case("user-token", "k2", "/api/v1/trials/100/retry", "", 200, true);
    keyed_case("user-token", "k3", "/api/v1/studies/a/pause", "", 200, false); /* always the same */
    keyed_case("user-token", "k3", "/api/v1/studies/a/pause", "", 200, false);
    memset(long_key, 'k', sizeof long_key - 1);
    long_key[sizeof long_key - 1] = '\0';
    keyed_case("user-token", long_key, studies, a, 400, false);
    keyed_case("user-token", "", studies, a, 400, false);
    keyed_case("user-token", "schl\xc3\xbcssel", studies, a, 400, false);
}

static void refused_request_keeps_nothing_under_its_key(void **state)
{
    struct web_reply r = keyed("admin-token", "k9", "/api/v1/studies", "{\"name\":\"err-1\"}");

    (void)state;
    assert_int_equal(r.status, 400);
    web_reply_free(&r);
    keyed_case("admin-token", "k9", "/api/v1/studies", "{\"name\":\"a\"}", 201, false);
}

static void arguments_reach_the_controller(void **state)
{
    static const struct {
        const char *method, *path, *body, *want;
    } cases[] = {
        { "GET", "/api/v1/studies?state=running&archived=true&after=5&limit=7", NULL,
          "studies running 1 5 7" },
        { "POST", "/api/v1/studies?load_if_exists=true", "{\"name\":\"a\"}",
          "study_create a by admin-token load" },
        { "PATCH", "/api/v1/studies/7", "{\"priority\":3}", "study_patch 7 1" },
        { "POST", "/api/v1/studies/7/stop", NULL, "study_act 7 2" },
        { "POST", "/api/v1/studies/7/archive", "{}", "study_act 7 4" },
        { "GET", "/api/v1/studies/a/page?limit=20", NULL, "page a 20" },
        { "GET", "/api/v1/studies/a/changes?after=9", NULL, "changes a 9 300" },
        { "GET", "/api/v1/studies/a/columns?after=5&limit=10000&config=true", NULL,
          "columns a 5 10000 1" },
        { "GET", "/api/v1/studies/a/rows?numbers=4,2", NULL, "rows a 4,2 - - 0 300" },
        { "GET", "/api/v1/studies/a/rows?state=failed&sort=rank&after=2&limit=4", NULL,
          "rows a - failed rank 2 4" },
        { "GET", "/api/v1/studies/my%20study/leaderboard?offset=3&limit=2", NULL,
          "leaderboard my study 3 2" },
        { "GET", "/api/v1/studies/7/importance?method=fanova", NULL, "importance 7 fanova" },
        { "GET", "/api/v1/studies/7/pareto?x=model_bytes&y=score", NULL,
          "pareto 7 model_bytes score" },
        { "GET", "/api/v1/studies/7/trials?state=failed&sort=score", NULL,
          "trials 7 failed score 0 100" },
        { "POST", "/api/v1/trials/12/kill", NULL, "trial_kill 12" },
        { "PUT", "/api/v1/uploads/" UPLOAD "?offset=5", "abc", "upload_write 0000 5 3" },
        { "POST", "/api/v1/uploads/" UPLOAD "/commit", "{\"sha256\":\"" SHA "\"}",
          "blob_add 9372c470 5 upload" },
        { "POST", "/api/v1/runners/3/drain", NULL, "runner_act 3 drain" },
        { "POST", "/api/v1/backup", "{\"name\":\"a.db\"}", "backup /backups/a.db" },
        { "DELETE", "/api/v1/tokens/1", NULL, "token_revoke 1" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct web_reply r = call(cases[i].method, cases[i].path, ADMIN, cases[i].body);

        if (r.status >= 300)
            fail_msg("%s: %d %s", cases[i].path, r.status, r.body);
        assert_string_equal(rig->ctl->last, cases[i].want);
        web_reply_free(&r);
    }
}

static void blobs_answer_ranges_heads_and_etags(void **state)
{
    static const struct {
        const char *method, *path, *headers;
        int status;
        const char *body, *range;
    } cases[] = {
        { "GET", "/api/v1/blobs/" SHA, ADMIN, 200, "model", NULL },
        { "HEAD", "/api/v1/blobs/" SHA, ADMIN, 200, "", NULL },
        { "GET", "/api/v1/blobs/" SHA, ADMIN "Range: bytes=1-3\r\n", 206, "ode", "bytes 1-3/5" },
        { "GET", "/api/v1/blobs/" SHA, ADMIN "Range: bytes=-2\r\n", 206, "el", "bytes 3-4/5" },
        { "GET", "/api/v1/blobs/" SHA, ADMIN "Range: bytes=1-3\r\nIf-Range: \"" SHA "\"\r\n", 206,
          "ode", "bytes 1-3/5" },
        { "GET", "/api/v1/blobs/" SHA, ADMIN "Range: bytes=1-3\r\nIf-Range: \"other\"\r\n", 200,
          "model", NULL },
        { "GET", "/api/v1/blobs/" SHA, ADMIN "Range: bytes=5-\r\n", 416, NULL, "bytes */5" },
        { "GET", "/api/v1/blobs/" SHA, ADMIN "If-None-Match: \"" SHA "\"\r\n", 304, "", NULL },
        { "GET", "/api/v1/studies/7/best/artifact", ADMIN, 200, "model", NULL },
        { "GET", "/api/v1/trials/100/artifact", ADMIN, 200, "model", NULL },
        { "GET", "/api/v1/trials/101/artifact", ADMIN, 404, NULL, NULL },
    };
    char path[300];

    (void)state;
    (void)!snprintf(path, sizeof path, "%s/blobs/" SHA, rig->dir);
    assert_int_equal(io_replace(path, "model", 5, 0600, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct web_reply r = call(cases[i].method, cases[i].path, cases[i].headers, NULL);
        const char *range = web_reply_header(&r, "Content-Range");

        if (r.status != cases[i].status)
            fail_msg("%zu: %d", i, r.status);
        if (cases[i].body)
            assert_string_equal(r.body, cases[i].body);
        if (cases[i].range)
            assert_string_equal(range, cases[i].range);
        if (strcmp(cases[i].method, "HEAD") == 0)
            assert_string_equal(web_reply_header(&r, "Content-Length"), "5");
        web_reply_free(&r);
    }
    {
        struct web_reply r = call("GET", "/api/v1/studies/7/best/artifact", ADMIN, NULL);

        assert_string_equal(web_reply_header(&r, "Content-Disposition"),
                            "attachment; filename=\"adult-best.assay\"");
        web_reply_free(&r);
    }
}

static void page_files_come_compressed_with_a_strict_policy(void **state)
{
    struct web_reply r = call("GET", "/", ADMIN, NULL);
    char etag[60], header[200];

    (void)state;
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "<title>Assay</title>"));
    assert_non_null(strstr(web_reply_header(&r, "Content-Security-Policy"), "script-src 'self'"));
    assert_null(strstr(r.body, "http://"));
    web_reply_free(&r);
    r = call("GET", "/static/app.js", ADMIN "Accept-Encoding: gzip\r\n", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(web_reply_header(&r, "Content-Encoding"), "gzip");
    assert_memory_equal(r.body, "\x1f\x8b", 2);
    str_copy(etag, sizeof etag, web_reply_header(&r, "ETag"));
    web_reply_free(&r);
    (void)!snprintf(header, sizeof header, ADMIN "If-None-Match: %s\r\n", etag);
    r = call("GET", "/static/app.js", header, NULL);
    assert_int_equal(r.status, 304);
    web_reply_free(&r);
}

static void metrics_hold_the_servers_own_counters(void **state)
{
    struct web_reply r = call("GET", "/metrics", ADMIN, NULL);

    (void)state;
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "assay_studies 1\n"));
    assert_non_null(strstr(r.body, "assay_http_answers_total{class=\"2xx\"}"));
    web_reply_free(&r);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(each_route_is_found_and_says_who_may),
        T(only_the_allowed_come_in),
        T(health_and_the_page_s_files_need_no_token),
        T(hostile_requests_get_one_clear_answer),
        T(errors_become_statuses_in_one_place),
        T(busy_controller_refuses_submit_and_lease_only),
        T(link_opens_one_session_that_needs_its_secret_also_to_read),
        T(yaml_bodies_are_read_as_json_would_be),
        T(request_repeated_under_its_key_is_done_once),
        T(refused_request_keeps_nothing_under_its_key),
        T(arguments_reach_the_controller),
        T(blobs_answer_ranges_heads_and_etags),
        T(page_files_come_compressed_with_a_strict_policy),
        T(metrics_hold_the_servers_own_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
