/* test_wire.c - framing of the pipe between supervisor and worker: whole, in pieces, hostile. */
#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "trial-runner/wire.h"

#include <sys/socket.h>
#include <unistd.h>

static void a_frame_comes_back_as_it_was_sent(void **state)
{
    struct buf out;
    json_t *sent = json_pack("{s:s, s:I}", "op", "run", "run", (json_int_t)7), *got = NULL;
    size_t used = 0;

    (void)state;
    buf_init(&out, 1 << 20);
    assert_int_equal(wire_put(&out, sent, NULL), 0);
    assert_int_equal(wire_put(&out, sent, NULL), 0);
    assert_int_equal(wire_get(out.data, out.len, &used, &got, NULL), 1);
    assert_int_equal(used, out.len / 2);
    assert_true(json_equal(sent, got));
    json_decref(sent);
    json_decref(got);
    buf_fini(&out);
}

static void every_cut_of_a_frame_asks_for_more(void **state)
{
    static const char frame[] = "0000000c {\"op\":\"end\"}\n";
    size_t used = 0;
    json_t *got = NULL;

    (void)state;
    for (size_t n = 0; n < sizeof frame - 1; n++)
        assert_int_equal(wire_get(frame, n, &used, &got, NULL), 0);
    assert_int_equal(wire_get(frame, sizeof frame - 1, &used, &got, NULL), 1);
    json_decref(got);
}

static void hostile_frames_are_refused(void **state)
{
    static const char *const frames[] = {
        "ffffffff {}\n", "00800001 {}\n",   "00000000 \n",    "00000001 1\n",   "0000000g {}\n",
        "-0000002 {}\n", "0000000c{\"op\"", "00000002 {}x",   "00000002 []\n",  "00000002 {x\n",
        "GET / HTTP/1",  "00000002\t{}\n",  "00000003 {}}\n", "          {}\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
        struct err err = { 0 };
        json_t *got = NULL;
        size_t used = 0;

        assert_int_equal(wire_get(frames[i], strlen(frames[i]), &used, &got, &err), -1);
        assert_null(got);
        assert_true(err.text[0] != '\0');
    }
}

static void a_message_that_is_too_long_is_not_sent(void **state)
{
    char *text = mem_zalloc(WIRE_MAX + 1);
    struct err err = { 0 };
    struct buf out;
    json_t *j = NULL;

    (void)state;
    memset(text, 'x', WIRE_MAX);
    j = json_pack("{s:s}", "op", text);
    buf_init(&out, (size_t)2 * WIRE_MAX);
    assert_int_equal(wire_put(&out, j, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
    json_decref(j);
    mem_free(text);
}

static void the_blocking_end_takes_frames_in_pieces(void **state)
{
    static const char two[] = "0000000c {\"op\":\"end\"}\n0000000d {\"op\":\"quit\"}\n";
    int fds[2] = { -1, -1 };
    struct wire w;
    json_t *j = NULL;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    wire_init(&w, fds[0]);
    assert_false(wire_has_input(&w));
    assert_int_equal(wire_recv(&w, 0, &j, NULL), 0);
    assert_int_equal(write(fds[1], two, 30), 30);
    assert_true(wire_has_input(&w));
    assert_int_equal(wire_recv(&w, -1, &j, NULL), 1);
    assert_string_equal(json_string_value(json_object_get(j, "op")), "end");
    json_decref(j);
    assert_int_equal(wire_recv(&w, 0, &j, NULL), 0);
    assert_int_equal(write(fds[1], two + 30, sizeof two - 31), sizeof two - 31);
    assert_int_equal(wire_recv(&w, -1, &j, NULL), 1);
    assert_string_equal(json_string_value(json_object_get(j, "op")), "quit");
    json_decref(j);
    close(fds[1]);
    assert_true(wire_has_input(&w));
    assert_int_equal(wire_recv(&w, -1, &j, NULL), -1);
    wire_fini(&w);
    close(fds[0]);
}

static void a_big_frame_passes_through_a_small_pipe(void **state)
{
    int fds[2] = { -1, -1 };
    struct wire w, peer;
    char *text = mem_zalloc(100001);
    json_t *j = NULL;

    (void)state;
    memset(text, 'y', 100000);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    wire_init(&w, fds[0]);
    wire_init(&peer, fds[1]);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(wire_send(&w, json_pack("{s:s, s:i}", "text", text, "i", i), NULL), 0);
        assert_int_equal(wire_recv(&peer, -1, &j, NULL), 1);
        assert_int_equal(json_integer_value(json_object_get(j, "i")), i);
        json_decref(j);
    }
    wire_fini(&w);
    wire_fini(&peer);
    close(fds[0]);
    close(fds[1]);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_back_as_it_was_sent),
        cmocka_unit_test(every_cut_of_a_frame_asks_for_more),
        cmocka_unit_test(hostile_frames_are_refused),
        cmocka_unit_test(a_message_that_is_too_long_is_not_sent),
        cmocka_unit_test(the_blocking_end_takes_frames_in_pieces),
        cmocka_unit_test(a_big_frame_passes_through_a_small_pipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
