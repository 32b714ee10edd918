/* test_events.c - the live feed: ids, resuming without gap or double, the bound on what a slow reader costs,
 * heartbeats, and that a leaving reader is forgotten. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"
#include "web/request/req.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct web_rig *rig;

static int setup(void **state)
{
    struct web_conf conf = { .heartbeat_ms = 40 };

    (void)state;
    rig = web_rig_new(fake_ctl_new, &conf);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    web_rig_free(rig, fake_ctl_free); /* checks that nobody is subscribed any more */
    return 0;
}

static int follow(const char *query, const char *last_id)
{
    int fd = web_rig_connect(rig, true);
    char text[300], header[60] = "";

    if (last_id)
        (void)!snprintf(header, sizeof header, "Last-Event-ID: %s\r\n", last_id);
    (void)!snprintf(text, sizeof text, "GET /api/v1/events%s HTTP/1.1\r\nHost: x\r\n%s\r\n", query,
                    header);
    web_rig_write(rig, fd, text, strlen(text));
    return fd;
}

static void emit_many(int n, int64_t study)
{
    char json[180];

    for (int i = 0; i < n; i++) {
        (void)!snprintf(json, sizeof json, "{\"n\":%d,\"pad\":\"%0120d\"}", rig->ctl->n_events + 1,
                        0);
        fake_emit(rig->ctl, study, "trial.complete", json);
    }
}

/* Ids in the order they came; returns how many. */
static int ids_of(const char *text, int64_t *ids, int max)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, "id: ")) && n < max; p += 4)
        ids[n++] = strtoll(p + 4, NULL, 10);
    return n;
}

static void new_reader_is_told_where_it_stands_and_what_follows(void **state)
{
    int fd = -1;
    char *got = NULL;

    (void)state;
    emit_many(3, 7);
    fd = follow("", NULL);
    got = web_rig_read_raw(rig, fd, "event: hello\ndata: {\"seq\":3}");
    assert_non_null(strstr(got, "text/event-stream"));
    assert_null(strstr(got, "\"n\":"));
    mem_free(got);
    fake_emit(rig->ctl, 7, "trial.lease", "{\"trial\":1}");
    got = web_rig_read_raw(rig, fd, "{\"trial\":1}\n\n"); /* a heartbeat may come first */
    assert_non_null(strstr(got, "id: 4\nevent: trial.lease\ndata: {\"trial\":1}\n\n"));
    mem_free(got);
    close(fd);
}

static void only_the_asked_study_is_heard(void **state)
{
    int fd = follow("?study=adult", NULL);
    char *got = web_rig_read_raw(rig, fd, "hello");

    (void)state;
    mem_free(got);
    fake_emit(rig->ctl, 8, "other", "{}");
    fake_emit(rig->ctl, 7, "mine", "{}");
    got = web_rig_read_raw(rig, fd, "mine");
    assert_null(strstr(got, "other"));
    mem_free(got);
    close(fd);
}

static void reader_that_comes_back_misses_nothing_and_hears_nothing_twice(void **state)
{
    enum { BEFORE = 3000, AFTER = 50 };
    static int64_t ids[BEFORE + AFTER + 10];
    int fd = -1, n = 0;
    char *got = NULL, *rest = NULL;

    (void)state;
    emit_many(BEFORE, 7);
    fd = follow("", "1000");
    for (int i = 0; i < AFTER; i++) { /* while the past is still being told */
        web_rig_pump(rig, 1);
        emit_many(1, 7);
    }
    got = web_rig_read_raw(rig, fd, "\"n\":3050,");
    n = ids_of(got, ids, ARRAY_LEN(ids));
    assert_int_equal(n, BEFORE - 1000 + AFTER);
    for (int i = 0; i < n; i++)
        assert_int_equal(ids[i], 1001 + i);
    mem_free(got);
    emit_many(1, 7);
    rest = web_rig_read_raw(rig, fd, "\"n\":3051,");
    assert_int_equal(ids_of(rest, ids, 10), 1);
    mem_free(rest);
    close(fd);
}

static void number_of_another_database_means_resync(void **state)
{
    int fd = -1;
    char *got = NULL;

    (void)state;
    emit_many(5, 7);
    fd = follow("?after=900", NULL);
    got = web_rig_read_raw(rig, fd, "resync");
    assert_non_null(strstr(got, "event: resync\ndata: {\"seq\":5}"));
    mem_free(got);
    close(fd);
    emit_many(21000, 7);
    fd = follow("?after=2", NULL);
    got = web_rig_read_raw(rig, fd, "resync");
    assert_non_null(strstr(got, "{\"seq\":21005}"));
    mem_free(got);
    close(fd);
}

static void slow_reader_costs_a_bounded_buffer_and_is_told_to_resync(void **state)
{
    static int64_t ids[30000];
    int fd = follow("", NULL), small = 4096, n = 0;
    char *got = web_rig_read_raw(rig, fd, "hello");
    const char *resync = NULL;
    size_t len = 0;

    (void)state;
    mem_free(got);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 100; i++) {
        emit_many(200, 7);
        web_rig_pump(rig, 2);
    }
    got = web_rig_read_raw(rig, fd, "resync\ndata: {\"seq\":20000}");
    resync = strstr(got, "event: resync");
    assert_non_null(resync);
    len = strlen(got);
    assert_true(len < 2 * WEB_STREAM_MAX + (1 << 20)); /* of 3.6 MB; the rest is the kernel's */
    n = ids_of(got, ids, ARRAY_LEN(ids));
    for (int i = 1; i < n; i++)
        assert_true(ids[i] > ids[i - 1]);
    mem_free(got);
    emit_many(1, 7);
    got = web_rig_read_raw(rig, fd, "\"n\":20001,");
    mem_free(got);
    close(fd);
}

static void silence_is_filled_with_heartbeats(void **state)
{
    int fd = follow("", NULL);
    char *got = web_rig_read_raw(rig, fd, "\n:\n\n");

    (void)state;
    assert_non_null(strstr(got, ":\n\n"));
    mem_free(got);
    close(fd);
}

static void leaving_reader_is_forgotten_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct linger reset = { 1, 0 };
        int fd = follow("", NULL);
        char *got = i % 3 ? web_rig_read_raw(rig, fd, "hello") : NULL;

        if (i % 2)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        mem_free(got);
        for (int t = 0; t < 50; t++)
            web_rig_pump(rig, 1);
        assert_null(rig->ctl->subs);
    }
}

static void server_may_end_with_readers_on(void **state)
{
    int fds[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        fds[i] = follow("", NULL);
        mem_free(web_rig_read_raw(rig, fds[i], "hello"));
    }
    teardown(state);
    setup(state);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(new_reader_is_told_where_it_stands_and_what_follows),
        T(only_the_asked_study_is_heard),
        T(reader_that_comes_back_misses_nothing_and_hears_nothing_twice),
        T(number_of_another_database_means_resync),
        T(slow_reader_costs_a_bounded_buffer_and_is_told_to_resync),
        T(silence_is_filled_with_heartbeats),
        T(leaving_reader_is_forgotten_at_once),
        T(server_may_end_with_readers_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
