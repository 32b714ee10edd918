/* test_11_28_strangers.c - eight connections without a token held 64 MiB of unfinished bodies, and then every
 * other request of both doors was answered 503; thousands of idle ones (point 2) took all places of both
 * doors. Strangers now have small shares of their own, and a body is read for those with a token only. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include "web/request/req.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define ADMIN "Authorization: Bearer admin-token\r\n"
#define UPLOAD \
    "PUT /api/v1/uploads/00000000000000000000000000000001?offset=0 HTTP/1.1\r\nHost: localhost\r\n"

enum { PART = 100000, MANY = 300 };
static char part[6 * PART];

static void expect_health(struct web_rig *rig)
{
    for (int is_local = 0; is_local < 2; is_local++) {
        struct web_reply r = web_rig_call(rig, is_local, "GET", "/api/v1/studies", ADMIN, NULL);

        if (r.status != 200)
            fail_msg("%s door: status %d: %.200s", is_local ? "unix" : "tcp", r.status,
                     r.body ? r.body : "-");
        web_reply_free(&r);
    }
}

static int begin(struct web_rig *rig, bool is_local, const char *auth, int length)
{
    char head[400];
    int fd = web_rig_connect(rig, is_local);

    (void)!snprintf(head, sizeof head, UPLOAD "%sContent-Length: %d\r\n\r\n", auth, length);
    web_rig_write(rig, fd, head, strlen(head));
    web_rig_pump(rig, 5);
    return fd;
}

static void expect_answer(struct web_rig *rig, int fd, int status)
{
    struct web_reply r;

    (void)web_rig_read(rig, fd, false, &r);
    assert_int_equal(r.status, status);
    web_reply_free(&r);
}

static void a_body_is_not_read_before_the_token_is_checked(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fd = begin(rig, false, "", 8000000); /* not a byte of its body follows */

    (void)state;
    expect_answer(rig, fd, 401);
    close(fd);
    fd = begin(rig, false, "Authorization: Bearer wrong\r\n", 8000000);
    web_rig_write(rig, fd, part, 2000);
    expect_answer(rig, fd, 401);
    close(fd);
    assert_int_equal(rig->ctl->calls, 0);
    web_rig_free(rig, fake_ctl_free);
}

static void unfinished_bodies_without_a_token_hold_nobody_up(void **state)
{
    struct web_conf conf = { .http.max_inflight_bytes = 4 * PART };
    struct web_rig *rig = web_rig_new(fake_ctl_new, &conf);
    int fds[8];

    (void)state;
    for (int i = 0; i < 8; i++) {
        static const char head[] = UPLOAD "Content-Length: 100000\r\n\r\n";

        /* All in all 3 bytes less than the budget: no room for the head of another request. */
        fds[i] = begin(rig, false, "", PART);
        (void)!send(fds[i], part, PART / 2 - (sizeof head - 1) - (i == 0 ? 3 : 0), MSG_NOSIGNAL);
        web_rig_pump(rig, 5);
    }
    expect_health(rig);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    web_rig_free(rig, fake_ctl_free);
}

static void the_largest_unfinished_body_is_shed_and_the_others_end(void **state)
{
    struct web_conf conf = { .http.max_inflight_bytes = 6 * PART };
    struct web_rig *rig = web_rig_new(fake_ctl_new, &conf);
    int large = begin(rig, false, ADMIN, 5 * PART), small = begin(rig, false, ADMIN, 2 * PART),
        next;

    (void)state;
    web_rig_write(rig, large, part, 4 * PART);
    web_rig_write(rig, small, part, PART);
    web_rig_pump(rig, 20);
    next = begin(rig, false, ADMIN, 2 * PART);
    web_rig_write(rig, next, part, 2 * PART);
    expect_answer(rig, next, 200);
    expect_answer(rig, large, 503);
    web_rig_write(rig, small, part, PART);
    expect_answer(rig, small, 200);
    close(large), close(small), close(next);
    web_rig_free(rig, fake_ctl_free);
}

static void bodies_at_one_door_cost_the_other_nothing(void **state)
{
    struct web_conf conf = { .http.max_inflight_bytes = 2 * PART };
    struct web_rig *rig = web_rig_new(fake_ctl_new, &conf);
    int tcp = begin(rig, false, ADMIN, 2 * PART), local = begin(rig, true, "", 2 * PART);

    (void)state;
    web_rig_write(rig, tcp, part, PART + PART / 2);
    web_rig_pump(rig, 20);
    web_rig_write(rig, local, part, 2 * PART);
    expect_answer(rig, local, 200);
    web_rig_write(rig, tcp, part, PART / 2);
    expect_answer(rig, tcp, 200);
    close(tcp), close(local);
    web_rig_free(rig, fake_ctl_free);
}

static void idle_connections_without_a_token_leave_room_for_all(void **state)
{
    struct web_conf conf = { .http.max_connections = 100 };
    struct web_rig *rig = web_rig_new(fake_ctl_new, &conf);
    int *fds = mem_array(MANY, sizeof *fds);

    (void)state;
    for (int i = 0; i < MANY; i++) {
        fds[i] = web_rig_connect(rig, false);
        if (i % 2)
            web_rig_write(rig, fds[i], "G", 1);
    }
    expect_health(rig);
    assert_true(http_server_count(web_http(rig->web)) < 100);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    web_rig_pump(rig, 20);
    expect_health(rig);
    mem_free(fds);
    web_rig_free(rig, fake_ctl_free);
}

static void strangers_have_a_short_life_and_the_known_stay(void **state)
{
    static const char ask[] = "GET /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n" ADMIN "\r\n";
    struct web_conf conf = { .http.head_ms = 20 };
    struct web_rig *rig = web_rig_new(fake_ctl_new, &conf);
    int idle = web_rig_connect(rig, false), slow = web_rig_connect(rig, false),
        known = web_rig_connect(rig, false);
    char *got = NULL;

    (void)state;
    web_rig_write(rig, known, ask, sizeof ask - 1);
    expect_answer(rig, known, 200);
    web_rig_write(rig, slow, "GET / HT", 8);
    got = web_rig_read_raw(rig, slow, "408");
    assert_non_null(strstr(got, "408"));
    mem_free(got);
    mem_free(web_rig_read_raw(rig, idle, "closed by the server"));
    web_rig_write(rig, known, ask, sizeof ask - 1);
    expect_answer(rig, known, 200);
    close(idle), close(slow), close(known);
    web_rig_free(rig, fake_ctl_free);
}

/* A client with a token that asks without end and never reads holds one answer, and goes when its time is over. */
static void answers_that_nobody_reads_are_given_up(void **state)
{
    static const char ask[] =
        "GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n" ADMIN "\r\n";
    struct web_conf conf = { .http.idle_ms = 30 };
    struct web_rig *rig = web_rig_new(fake_ctl_new, &conf);
    int fd = web_rig_connect(rig, false), size = 4096;

    (void)state;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    for (int i = 0; i < 400; i++)
        (void)!send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL);
    web_rig_pump(rig, 50);
    assert_int_equal(http_server_count(web_http(rig->web)), 1);
    for (int i = 0; i < 20000 && http_server_count(web_http(rig->web)) > 0; i++) {
        web_rig_pump(rig, 1);
        if (i % 100 == 99)
            poll(NULL, 0, 20);
    }
    assert_int_equal(http_server_count(web_http(rig->web)), 0);
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_not_read_before_the_token_is_checked),
        cmocka_unit_test(unfinished_bodies_without_a_token_hold_nobody_up),
        cmocka_unit_test(the_largest_unfinished_body_is_shed_and_the_others_end),
        cmocka_unit_test(bodies_at_one_door_cost_the_other_nothing),
        cmocka_unit_test(idle_connections_without_a_token_leave_room_for_all),
        cmocka_unit_test(strangers_have_a_short_life_and_the_known_stay),
        cmocka_unit_test(answers_that_nobody_reads_are_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
