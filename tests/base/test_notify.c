/* test_notify.c - what is sent to NOTIFY_SOCKET, by path and by abstract name; the watchdog of another process is not
 * ours; children do not inherit the variables. */
#include "tests/unit.h"

#include "base/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket that stands for systemd's; the name as NOTIFY_SOCKET says it. */
static int listener(const char *name)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0 && strlen(name) < sizeof at.sun_path);
    memcpy(at.sun_path, name, strlen(name));
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    return fd;
}

static void said(int fd, const char *what)
{
    char got[200] = "";
    ssize_t n = recv(fd, got, sizeof got - 1, 0);

    if (!what) {
        assert_true(n < 0);
        return;
    }
    assert_true(n >= 0);
    assert_string_equal(got, what);
}

static void messages_reach_both_kinds_of_socket(void **state)
{
    char path[200], abstract[200];
    const char *names[2];

    (void)state;
    names[0] = test_path(path, sizeof path, "notify");
    (void)snprintf(abstract, sizeof abstract, "@assay-notify-%d", (int)getpid());
    names[1] = abstract;
    for (int i = 0; i < 2; i++) {
        int fd = listener(names[i]);

        setenv("NOTIFY_SOCKET", names[i], 1);
        notify_init();
        assert_null(getenv("NOTIFY_SOCKET"));
        notify_send("READY=1\nSTATUS=here");
        said(fd, "READY=1\nSTATUS=here");
        close(fd);
        notify_send("READY=1"); /* nobody listens any more: lost, and no harm */
    }
}

static void without_the_variable_nothing_is_sent(void **state)
{
    char path[200];
    int fd = listener(test_path(path, sizeof path, "nobody"));

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    notify_init();
    notify_send("READY=1");
    said(fd, NULL);
    assert_int_equal(notify_watchdog_ms(), 0);
    setenv("NOTIFY_SOCKET", "relative/path", 1);
    notify_init();
    notify_send("READY=1");
    said(fd, NULL);
    close(fd);
}

static void the_watchdog_is_only_this_process_s(void **state)
{
    static const struct {
        const char *usec, *pid;
        int64_t ms;
    } cases[] = {
        { "400000", NULL, 200 }, { "400000", "1", 0 }, { "400000", "self", 200 }, { "x", NULL, 0 },
        { "-5", NULL, 0 },       { "1", NULL, 1 },     { "400000", "x", 0 },      { NULL, NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char pid[20];

        (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
        setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
        if (cases[i].usec)
            setenv("WATCHDOG_USEC", cases[i].usec, 1);
        if (cases[i].pid)
            setenv("WATCHDOG_PID", strcmp(cases[i].pid, "self") == 0 ? pid : cases[i].pid, 1);
        notify_init();
        assert_int_equal(notify_watchdog_ms(), cases[i].ms);
        assert_null(getenv("WATCHDOG_USEC"));
        assert_null(getenv("WATCHDOG_PID"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_reach_both_kinds_of_socket),
        cmocka_unit_test(without_the_variable_nothing_is_sent),
        cmocka_unit_test(the_watchdog_is_only_this_process_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
