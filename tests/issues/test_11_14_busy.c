/* test_11_14_busy.c - found by hand: `fit` of 200 rows and 10,000 columns ended with "the controller is busy: try again in a
 * second", although the controller was its own and nobody else's. Here a server says "busy" a number of times first. */
#include "tests/unit.h"

#include "base/clk.h"
#include "base/io.h"
#include "cli/client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FINE      "{\"id\":\"abc\"}"
#define FINE_HASH "d2b93f12ee128bad970b0fea0d8c6a2e1f5f84d47fe2bac08a39808a04b43433"

enum { BUSY_ANSWERS = 4, PATIENCE_MS = 60000 };

/* A request to the end of its body; false at the end of the connection. */
static bool request_read(int fd)
{
    char text[65536];
    size_t n = 0, body = 0;
    ssize_t got;

    for (;;) {
        text[n] = '\0';
        char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length: ");
        if (end && length && length < end)
            body = strtoul(length + 16, NULL, 10);
        if (end && n >= (size_t)(end + 4 - text) + body)
            return true;
        if ((got = read(fd, text + n, sizeof text - 1 - n)) <= 0)
            return false;
        n += (size_t)got;
    }
}

/* Answers "busy" to the first requests, then with an upload's id. */
static void serve(int listener)
{
    static const char busy[] =
        "{\"title\":\"busy\",\"status\":503,\"detail\":\"the controller is busy\"}",
                      fine[] = FINE;
    int answers = 0;

    for (;;) {
        int fd = accept(listener, NULL, NULL);
        while (fd >= 0 && request_read(fd)) {
            bool is_busy = answers++ < BUSY_ANSWERS;
            const char *body = is_busy ? busy : fine;
            dprintf(fd,
                    "HTTP/1.1 %s\r\nX-Assay-SHA256: " FINE_HASH
                    "\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                    is_busy ? "503 Service Unavailable" : "200 OK", strlen(body), body);
        }
        close(fd);
    }
}

static pid_t server_start(char *url, size_t size)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "/tmp/assay-busy-%d", (int)getpid());
    unlink(a.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 8), 0);
    snprintf(url, size, "unix:%s", a.sun_path);
    pid_t pid = fork();
    if (pid == 0)
        serve(fd);
    close(fd);
    return pid;
}

static void server_stop(pid_t pid, const char *url)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unlink(url + 5);
}

/* 0 or -1 of each kind of call. */
static int call_of(struct client *c, int kind, const char *file, struct err *err)
{
    json_t *answer = NULL;

    if (kind == 0)
        return client_download(c, "/studies/1/best/artifact", file, err);
    int rc = kind == 1 ? client_get(c, &answer, err, "/studies/1")
                       : client_post(c, NULL, &answer, err, "/studies");
    if (rc == 0)
        assert_string_equal(json_string_value(json_object_get(answer, "id")), "abc");
    json_decref(answer);
    return rc;
}

static void who_started_the_controller_waits_while_it_is_busy(void **state)
{
    char url[120], file[300];

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct err err = { 0 };
        pid_t pid = server_start(url, sizeof url);
        struct client *c = client_new(url, NULL, &err);
        assert_non_null(c);
        client_patience(c, PATIENCE_MS);
        if (call_of(c, kind, test_path(file, sizeof file, "got"), &err) < 0)
            fail_msg("%s", err.text);
        assert_true(kind != 0 || io_file_bytes(file) == sizeof FINE - 1); /* nothing of "busy" */
        client_free(c);
        server_stop(pid, url);
    }
}

static void a_command_to_another_controller_waits_too(void **state)
{
    char url[120], file[300];

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct err err = { 0 };
        pid_t pid = server_start(url, sizeof url);
        struct client *c = client_of(&(struct cli_common){ .server = url }, &err);
        assert_non_null(c);
        if (call_of(c, kind, test_path(file, sizeof file, "had"), &err) < 0)
            fail_msg("%s", err.text);
        client_free(c);
        server_stop(pid, url);
    }
}

static void who_has_no_patience_is_told(void **state)
{
    char url[120], file[300];

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct err err = { 0 };
        pid_t pid = server_start(url, sizeof url);
        struct client *c = client_new(url, NULL, &err);
        assert_int_equal(call_of(c, kind, test_path(file, sizeof file, "not"), &err), -1);
        assert_int_equal(err.code, ERR_BUSY);
        client_free(c);
        server_stop(pid, url);
    }
}

static void a_deadline_ends_the_waiting(void **state)
{
    char url[120];
    struct err err = { 0 };
    struct clk clk;

    (void)state;
    clk_init_system(&clk);
    pid_t pid = server_start(url, sizeof url);
    struct client *c = client_new(url, NULL, &err);
    client_patience(c, PATIENCE_MS);
    client_deadline(c, &clk, clk_now_ms(&clk));
    assert_int_equal(call_of(c, 1, "", &err), -1);
    assert_true(err.code == ERR_BUSY || err.code == ERR_UNREACHABLE);
    client_free(c);
    server_stop(pid, url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_started_the_controller_waits_while_it_is_busy),
        cmocka_unit_test(a_command_to_another_controller_waits_too),
        cmocka_unit_test(who_has_no_patience_is_told),
        cmocka_unit_test(a_deadline_ends_the_waiting),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
