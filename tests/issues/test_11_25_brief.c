/* test_11_25_brief.c - a page was told of every step of every trial, hundreds of events a second each of which it answered by
 * loading anew. A brief stream tells once a second which studies changed; and however many streams there are, each event is
 * made into text once and a stream gets all that is new to it as one piece. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static int follow(struct web_rig *rig, const char *query)
{
    int fd = web_rig_connect(rig, true);
    char text[300];

    (void)!snprintf(text, sizeof text, "GET /api/v1/events%s HTTP/1.1\r\nHost: x\r\n\r\n", query);
    web_rig_write(rig, fd, text, strlen(text));
    return fd;
}

static void said(struct web_rig *rig, int fd, const char *want)
{
    char *got = web_rig_read_raw(rig, fd, want);

    if (!strstr(got, want))
        fail_msg("no %s in %s", want, got);
    mem_free(got);
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, word)); p++)
        n++;
    return n;
}

static void a_brief_stream_tells_once_what_changed(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fd = follow(rig, "?brief=true");
    char *got = NULL;

    (void)state;
    said(rig, fd, "hello");
    for (int i = 0; i < 500; i++)
        fake_emit(rig->ctl, i % 2 ? 7 : 9, "trial.lease", "{\"trial\":1}");
    got = web_rig_read_raw(rig, fd, "\"studies\":[9,7]}");
    assert_non_null(
        strstr(got, "id: 500\nevent: changed\ndata: {\"seq\":500,\"studies\":[9,7]}\n\n"));
    assert_null(strstr(got, "trial.lease"));
    mem_free(got);
    /* What follows at once waits until a second has passed. */
    fake_emit(rig->ctl, 7, "trial.lease", "{\"trial\":2}");
    got = web_rig_read_raw(rig, fd, NULL);
    assert_int_equal(count(got, "changed"), 0);
    mem_free(got);
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

static void a_brief_stream_of_one_study_is_silent_about_others(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fd = follow(rig, "?brief=true&study=adult");

    (void)state;
    said(rig, fd, "hello");
    fake_emit(rig->ctl, 8, "other", "{}");
    fake_emit(rig->ctl, 7, "mine", "{}");
    fake_emit(rig->ctl, 8, "other", "{}");
    said(rig, fd, "{\"seq\":2,\"studies\":[7]}");
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

static void a_brief_stream_that_comes_back_is_told_that_anything_may_have_changed(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fd = -1;

    (void)state;
    for (int i = 0; i < 30; i++)
        fake_emit(rig->ctl, 7, "mine", "{}");
    fd = follow(rig, "?brief=true&after=3");
    said(rig, fd, "{\"seq\":30,\"studies\":null}");
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

static void many_readers_each_get_every_event_in_few_pieces(void **state)
{
    enum { READERS = 60, EVENTS = 300 };
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fds[READERS];

    (void)state;
    for (int i = 0; i < READERS; i++) {
        fds[i] = follow(rig, "");
        said(rig, fds[i], "hello");
    }
    for (int i = 0; i < EVENTS; i++)
        fake_emit(rig->ctl, 7, "trial.lease", i == EVENTS - 1 ? "{\"last\":1}" : "{}");
    for (int i = 0; i < READERS; i++) {
        char *got = web_rig_read_raw(rig, fds[i], "{\"last\":1}");

        assert_int_equal(count(got, "event: trial.lease"), EVENTS);
        assert_true(count(got, "\r\n") <= 4); /* chunks have two each */
        mem_free(got);
        close(fds[i]);
    }
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_brief_stream_tells_once_what_changed),
        cmocka_unit_test(a_brief_stream_of_one_study_is_silent_about_others),
        cmocka_unit_test(a_brief_stream_that_comes_back_is_told_that_anything_may_have_changed),
        cmocka_unit_test(many_readers_each_get_every_event_in_few_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
