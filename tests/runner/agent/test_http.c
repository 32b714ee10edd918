/* test_http.c - the client against a server that tears, delays, refuses and asks for patience. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/str.h"
#include "tests/runner/server.h"
#include "trial-runner/agent/http.h"

#include <unistd.h>

struct rig {
    struct clk clk;
    struct loop *loop;
    struct server *server;
    struct http *http;
    struct http_call *call;
    struct server_answer next; /* what the server says */
    char path[100], seen_method[8], seen_path[200], seen_auth[100], seen_body[200];
    int64_t seen_from;
    int done, wanted, status; /* of the last reply */
    struct err err;
    int64_t retry_after_ms, bytes;
    char body[5000];
    size_t streamed;
    int refuse_data;
};

static void handle(void *arg, const struct server_request *r, struct server_answer *a)
{
    struct rig *g = arg;

    str_copy(g->seen_method, sizeof g->seen_method, r->method);
    str_copy(g->seen_path, sizeof g->seen_path, r->path);
    str_copy(g->seen_auth, sizeof g->seen_auth, r->auth);
    str_copy(g->seen_body, sizeof g->seen_body, r->body);
    g->seen_from = r->range_from;
    *a = g->next;
    a->body = g->next.body ? mem_dup(g->next.body, g->next.len + 1) : NULL;
}

static void on_done(void *arg, const struct http_reply *r)
{
    struct rig *g = arg;

    g->call = NULL;
    g->status = r->status;
    g->err = r->err;
    g->retry_after_ms = r->retry_after_ms;
    g->bytes = r->bytes;
    str_copy(g->body, sizeof g->body, r->body);
    if (++g->done >= g->wanted)
        loop_stop(g->loop);
}

static int on_data(void *arg, int status, const void *p, size_t n)
{
    struct rig *g = arg;

    (void)p;
    assert_true(status == 200 || status == 206);
    g->streamed += n;
    return g->refuse_data ? -1 : 0;
}

static int setup(void **state)
{
    struct rig *g = mem_zalloc(sizeof *g);
    char name[40], url[120];
    struct http_conf conf = { .controller = url, .token = "secret" };

    clk_init_system(&g->clk);
    g->loop = loop_new(&g->clk, NULL);
    snprintf(name, sizeof name, "http-%ld.sock", (long)getpid());
    test_path(g->path, sizeof g->path, name);
    snprintf(url, sizeof url, "unix:%s", g->path);
    g->server = server_new(g->loop, g->path, handle, g);
    g->http = http_new(g->loop, &conf, NULL);
    g->next = (struct server_answer){ .status = 200, .tear_after = -1 };
    assert_non_null(g->http);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    struct rig *g = *state;

    http_free(g->http);
    server_free(g->server);
    loop_free(g->loop);
    mem_free(g);
    return 0;
}

static void say(struct rig *g, int status, const char *body)
{
    g->next.status = status;
    g->next.body = (char *)body;
    g->next.len = strlen(body);
}

static void ask(struct rig *g, struct http_request *r)
{
    r->on_done = on_done;
    r->arg = g;
    g->wanted = g->done + 1;
    g->call = http_send(g->http, r);
    assert_int_equal(g->done, g->wanted - 1); /* never from inside the call */
    assert_int_equal(loop_run(g->loop, NULL), 0);
}

static void a_request_arrives_whole_and_its_answer_too(void **state)
{
    struct rig *g = *state;

    say(g, 200, "{\"id\":1}");
    ask(g, &(struct http_request){ .method = HTTP_POST,
                                   .path = "/api/v1/runners",
                                   .body = mem_strdup("{\"a\":1}"),
                                   .body_len = 7,
                                   .is_json = true });
    assert_int_equal(g->status, 200);
    assert_string_equal(g->body, "{\"id\":1}");
    assert_string_equal(g->seen_method, "POST");
    assert_string_equal(g->seen_path, "/api/v1/runners");
    assert_string_equal(g->seen_body, "{\"a\":1}");
    assert_string_equal(g->seen_auth, "Bearer secret");
}

static void connections_are_kept(void **state)
{
    struct rig *g = *state;

    for (int i = 0; i < 5; i++)
        ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
    assert_int_equal(server_connections(g->server), 1);
}

static void an_error_carries_its_problem(void **state)
{
    static const struct {
        int status;
        enum err_code code;
        const char *body, *text;
    } cases[] = {
        { 409, ERR_STALE, "{\"type\":\"stale\",\"detail\":\"fence 3 is over\"}",
          "fence 3 is over (status 409)" },
        { 409, ERR_CONFLICT, "{\"type\":\"about:blank\",\"detail\":\"is done\"}",
          "is done (status 409)" },
        { 404, ERR_NOTFOUND, "", "the controller refused (status 404)" },
        { 400, ERR_ARG, "not json", "the controller refused (status 400)" },
        { 401, ERR_AUTH, "{}", "the controller refused (status 401)" },
        { 413, ERR_TOOBIG, "{\"detail\":7}", "the controller refused (status 413)" },
        { 426, ERR_VERSION, "{\"detail\":\"speak 2\"}", "speak 2 (status 426)" },
        { 507, ERR_FULL, "{}", "the controller refused (status 507)" },
        { 500, ERR_IO, "{}", "the controller refused (status 500)" },
    };
    struct rig *g = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        say(g, cases[i].status, cases[i].body);
        ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
        assert_int_equal(g->status, cases[i].status);
        assert_int_equal(g->err.code, cases[i].code);
        assert_string_equal(g->err.text, cases[i].text);
    }
}

static void retry_after_is_understood(void **state)
{
    struct rig *g = *state;

    say(g, 503, "{}");
    g->next.headers = "Retry-After: 7\r\n";
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
    assert_int_equal(g->retry_after_ms, 7000);
    assert_int_equal(g->err.code, ERR_BUSY);
    g->next.headers = NULL;
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
    assert_int_equal(g->retry_after_ms, -1);
}

static void a_torn_answer_is_no_answer(void **state)
{
    struct rig *g = *state;

    say(g, 200, "{\"whole\":true}");
    g->next.tear_after = 5;
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
    assert_int_equal(g->status, 0);
    assert_int_equal(g->err.code, ERR_IO);
    g->next.tear_after = -1;
    g->next.close = true;
    ask(g, &(struct http_request){ .method = HTTP_POST, .path = "/x" });
    assert_int_equal(g->status, 0);
}

static void nobody_there_is_told_as_unreachable(void **state)
{
    struct rig *g = *state;

    server_away(g->server);
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
    assert_int_equal(g->status, 0);
    assert_int_equal(g->err.code, ERR_UNREACHABLE);
    server_back(g->server);
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x" });
    assert_int_equal(g->status, 200);
}

static void a_slow_answer_ends_at_the_limit(void **state)
{
    struct rig *g = *state;

    g->next.delay_ms = 20;
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x", .limit_ms = 5000 });
    assert_int_equal(g->status, 200);
    g->next.withhold = true;
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x", .limit_ms = 30 });
    assert_int_equal(g->status, 0);
    assert_int_equal(g->err.code, ERR_TIMEOUT);
}

static void a_body_streams_with_its_range(void **state)
{
    struct rig *g = *state;

    say(g, 206, "0123456789");
    ask(g, &(struct http_request){
               .method = HTTP_GET, .path = "/x", .range_from = 33, .on_data = on_data });
    assert_int_equal(g->seen_from, 33);
    assert_int_equal(g->streamed, 10);
    assert_string_equal(g->body, "");
    say(g, 404, "{\"detail\":\"no such blob\"}");
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x", .on_data = on_data });
    assert_int_equal(g->streamed, 10);
    assert_string_equal(g->err.text, "no such blob (status 404)");
    say(g, 200, "0123456789");
    g->refuse_data = 1;
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/x", .on_data = on_data });
    assert_int_equal(g->status, 0);
}

static void head_asks_for_nothing_but_the_size(void **state)
{
    struct rig *g = *state;

    say(g, 200, "0123456789");
    ask(g, &(struct http_request){ .method = HTTP_HEAD, .path = "/x" });
    assert_int_equal(g->status, 200);
    assert_int_equal(g->bytes, 10);
    assert_string_equal(g->body, "");
}

static void a_cancelled_call_says_nothing(void **state)
{
    struct rig *g = *state;

    g->next.withhold = true;
    http_cancel(http_send(
        g->http,
        &(struct http_request){ .method = HTTP_GET, .path = "/a", .on_done = on_done, .arg = g }));
    g->next.withhold = false;
    ask(g, &(struct http_request){ .method = HTTP_GET, .path = "/b" });
    assert_int_equal(g->done, 1);
    assert_string_equal(g->seen_path, "/b");
    http_send(g->http, &(struct http_request){
                           .method = HTTP_GET, .path = "/left", .on_done = on_done, .arg = g });
}

static void only_what_may_change_is_retried(void **state)
{
    static const struct {
        int status;
        bool retry;
    } cases[] = { { 0, true },    { 400, false }, { 401, true },  { 403, true },
                  { 404, false }, { 408, true },  { 409, false }, { 413, false },
                  { 429, true },  { 500, true },  { 503, true },  { 507, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(http_may_retry(&(struct http_reply){ .status = cases[i].status }),
                         cases[i].retry);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_request_arrives_whole_and_its_answer_too),
        T(connections_are_kept),
        T(an_error_carries_its_problem),
        T(retry_after_is_understood),
        T(a_torn_answer_is_no_answer),
        T(nobody_there_is_told_as_unreachable),
        T(a_slow_answer_ends_at_the_limit),
        T(a_body_streams_with_its_range),
        T(head_asks_for_nothing_but_the_size),
        T(a_cancelled_call_says_nothing),
        T(only_what_may_change_is_retried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
