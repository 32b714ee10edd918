/* test_11_29_shares.c - a thousand connections with one token that sent one costly request after another kept everybody
 * else waiting for five seconds: requests were handled in the order in which the kernel told of them. They wait in one
 * line for each token now, and the lines take turns. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define LIST(token) \
    "GET /api/v1/studies HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " token "\r\n\r\n"

enum { CROWD = 80, COST_US = 2000 };

static void write_all(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void crowd_begin(struct web_rig *rig, int *fds)
{
    for (int i = 0; i < CROWD; i++)
        fds[i] = web_rig_connect(rig, false);
    for (int i = 0; i < CROWD; i++) /* all of them before the server looks */
        write_all(fds[i], LIST("viewer-token"));
}

static void a_newcomer_does_not_wait_for_the_crowd(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fds[CROWD];
    struct web_reply r;

    (void)state;
    rig->ctl->list_us = 1;
    int newcomer = web_rig_connect(rig, false); /* which may be the last that is accepted */
    web_rig_write(rig, newcomer, LIST("user-token"), strlen(LIST("user-token")));
    assert_int_equal(web_rig_read(rig, newcomer, false, &r), 1);
    web_reply_free(&r);
    rig->ctl->list_us = COST_US;
    crowd_begin(rig, fds);
    web_rig_pump(rig, 3); /* the crowd has come, and a few of it were answered */
    int before = rig->ctl->calls;
    write_all(newcomer, LIST("user-token"));
    assert_int_equal(web_rig_read(rig, newcomer, false, &r), 1);
    assert_int_equal(r.status, 200);
    web_reply_free(&r);
    printf("%d requests were handled meanwhile\n", rig->ctl->calls - before);
    assert_true(rig->ctl->calls - before < CROWD / 4);
    rig->ctl->list_us = 1; /* and each of the crowd is answered, in order */
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(web_rig_read(rig, fds[i], false, &r), 1);
        assert_int_equal(r.status, 200);
        web_reply_free(&r);
        close(fds[i]);
    }
    close(newcomer);
    web_rig_free(rig, fake_ctl_free);
}

static void who_leaves_or_is_left_in_line_is_freed(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fds[CROWD];

    (void)state;
    rig->ctl->list_us = COST_US;
    crowd_begin(rig, fds);
    web_rig_pump(rig, 3);
    for (int i = 0; i < CROWD / 2; i++) {
        struct linger now = { 1, 0 };
        (void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(fds[i]);
    }
    web_rig_pump(rig, 10);
    web_rig_free(rig, fake_ctl_free); /* the others still wait */
    for (int i = CROWD / 2; i < CROWD; i++)
        close(fds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_does_not_wait_for_the_crowd),
        cmocka_unit_test(who_leaves_or_is_left_in_line_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
