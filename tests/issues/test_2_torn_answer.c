/* test_2_torn_answer.c - found by tests/e2e/test_torn.c: libcurl reports success when a connection ends within an answer's
 * headers, so that a client took half an answer for an empty one, and a download for an empty file. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/loop.h"
#include "base/sha256.h"
#include "cli/client.h"
#include "trial-runner/agent/http.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char answer[] =
    "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: application/json\r\n"
    "Content-Length: 13\r\nConnection: close\r\n\r\n{\"good\":true}";
enum { ANSWER_LEN = sizeof answer - 1, CALLS = 2 };

struct server {
    int listener;
    pthread_t thread;
};

/* Answers 0, 1, 2 ... bytes, each length CALLS times, and then hangs up. */
static void *serve(void *arg)
{
    struct server *s = arg;
    char request[4096];

    for (size_t i = 0; i < (ANSWER_LEN + 1) * CALLS; i++) {
        int fd = accept(s->listener, NULL, NULL);

        if (recv(fd, request, sizeof request, 0) > 0)
            (void)!send(fd, answer, i / CALLS, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        while (recv(fd, request, sizeof request, 0) > 0) {
        }
        close(fd);
    }
    return NULL;
}

static void server_start(struct server *s, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    (void)!snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    unlink(path);
    s->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->listener, 8), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void an_answer_cut_off_anywhere_is_no_answer(void **state)
{
    char path[108], url[128], file[200], sha256[SHA256_HEX], blob[100];
    struct server s;
    struct err err = { 0 };

    (void)state;
    server_start(&s, test_path(path, sizeof path, "torn.sock"));
    (void)!snprintf(url, sizeof url, "unix:%s", path);
    test_path(file, sizeof file, "torn.out");
    sha256_hex(answer + ANSWER_LEN - 13, 13, sha256);
    (void)!snprintf(blob, sizeof blob, "/blobs/%s", sha256);
    struct client *c = client_new(url, NULL, &err);
    for (size_t n = 0; n <= ANSWER_LEN; n++) {
        int want = n == ANSWER_LEN ? 0 : -1;

        if (client_get(c, NULL, &err, "/health") != want ||
            client_download(c, blob, file, &err) != want)
            fail_msg("%zu bytes of %d were taken for an answer", n, ANSWER_LEN);
        assert_int_equal(io_file_bytes(file), want == 0 ? 13 : -1);
    }
    client_free(c);
    pthread_join(s.thread, NULL);
    close(s.listener);
    unlink(file);
    unlink(path);
}

struct reply {
    struct loop *loop;
    int status;
    enum err_code code;
};

static void on_done(void *arg, const struct http_reply *r)
{
    struct reply *reply = arg;

    reply->status = r->status;
    reply->code = r->err.code;
    loop_stop(reply->loop);
}

static void nor_is_it_for_a_runner(void **state)
{
    char path[108], url[128];
    struct server s;
    struct clk clk;
    struct reply reply = { NULL, 0, ERR_NONE };

    (void)state;
    server_start(&s, test_path(path, sizeof path, "torn.sock"));
    (void)!snprintf(url, sizeof url, "unix:%s", path);
    clk_init_system(&clk);
    reply.loop = loop_new(&clk, NULL);
    struct http *http = http_new(reply.loop, &(struct http_conf){ .controller = url }, NULL);
    for (size_t n = 0; n < (ANSWER_LEN + 1) * CALLS; n++) {
        http_send(http, &(struct http_request){
                            .path = "/api/v1/health", .on_done = on_done, .arg = &reply });
        loop_run(reply.loop, NULL);
        if (reply.status != (n / CALLS == ANSWER_LEN ? 200 : 0))
            fail_msg("%zu bytes of %d gave status %d", n / CALLS, ANSWER_LEN, reply.status);
        assert_int_equal(reply.code != ERR_NONE, reply.status == 0);
    }
    http_free(http);
    loop_free(reply.loop);
    pthread_join(s.thread, NULL);
    close(s.listener);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_cut_off_anywhere_is_no_answer),
        cmocka_unit_test(nor_is_it_for_a_runner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
