/* test_11_1_closed_connection.c - a client that asked for `Connection: close`, or that spoke HTTP/1.0, left a
 * dead reader behind on its descriptor. The next connection got the same number and waited for its own bytes
 * until the idle limit: every second upload with a body over 4 KB hung for 60 s. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { BODY = 6000, CLIENTS = 400, ROUNDS = 6 };

/* One upload part of BODY bytes; how the client says that it will leave depends on the kind. */
static char *request_new(int kind, size_t *n)
{
    static const char *const version[] = { "1.1", "1.0", "1.1", "1.0" };
    static const char *const connection[] = { "Connection: close\r\n", "",
                                              "Connection: keep-alive\r\n",
                                              "Connection: keep-alive\r\n" };
    char *text = mem_alloc(BODY + 400);

    *n = (size_t)snprintf(
        text, 400,
        "PUT /api/v1/uploads/00000000000000000000000000000001?offset=0 HTTP/%s\r\n"
        "Host: localhost\r\nAuthorization: Bearer admin-token\r\n%sContent-Length: %d\r\n\r\n",
        version[kind], connection[kind], BODY);
    memset(text + *n, 'x', BODY);
    *n += BODY;
    return text;
}

static bool is_kept(int kind)
{
    return kind >= 2;
}

static void upload(struct web_rig *rig, int fd, int kind)
{
    struct web_reply r;
    size_t n = 0;
    char *text = request_new(kind, &n);

    /* In two pieces, so that the body is still on its way when its headers are read. */
    web_rig_write(rig, fd, text, n - BODY + 100);
    web_rig_pump(rig, 1);
    web_rig_write(rig, fd, text + n - BODY + 100, BODY - 100);
    if (web_rig_read(rig, fd, false, &r) != 1 || r.status != 200)
        fail_msg("an upload of kind %d was not answered: status %d", kind, r.status);
    web_reply_free(&r);
    mem_free(text);
}

static void clients_that_close_and_clients_that_stay_do_not_disturb_each_other(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int kept[4] = { -1, -1, -1, -1 };

    (void)state;
    for (int i = 0; i < CLIENTS * ROUNDS; i++) {
        bool is_local = i % 2;
        int kind = i / 2 % 4, place = i % 4;

        if (is_kept(kind)) {
            if (kept[place] < 0 || i % 40 < 4) {
                if (kept[place] >= 0)
                    close(kept[place]);
                kept[place] = web_rig_connect(rig, is_local);
            }
            upload(rig, kept[place], kind);
        } else {
            int fd = web_rig_connect(rig, is_local);

            upload(rig, fd, kind);
            close(fd);
        }
    }
    for (int i = 0; i < 4; i++) {
        if (kept[i] >= 0)
            close(kept[i]);
    }
    web_rig_free(rig, fake_ctl_free);
}

/* The server closes first here, so that its descriptor's number is free for whoever comes next. */
static void many_at_once_get_their_answers_whoever_hangs_up(void **state)
{
    enum { AT_ONCE = 24 };
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);

    (void)state;
    for (int round = 0; round < 20; round++) {
        int fds[AT_ONCE];
        size_t n[4];
        char *text[4];

        for (int k = 0; k < 4; k++)
            text[k] = request_new(k, &n[k]);
        for (int i = 0; i < AT_ONCE; i++) {
            fds[i] = web_rig_connect(rig, i % 2);
            web_rig_write(rig, fds[i], text[(i + round) % 4], n[(i + round) % 4] - 50);
        }
        for (int i = AT_ONCE - 1; i >= 0; i--) {
            struct web_reply r;

            web_rig_write(rig, fds[i], text[0] + n[0] - 50, 50);
            if (web_rig_read(rig, fds[i], false, &r) != 1 || r.status != 200)
                fail_msg("client %d of round %d was not answered", i, round);
            web_reply_free(&r);
            close(fds[i]);
        }
        for (int k = 0; k < 4; k++)
            mem_free(text[k]);
    }
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_that_close_and_clients_that_stay_do_not_disturb_each_other),
        cmocka_unit_test(many_at_once_get_their_answers_whoever_hangs_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
