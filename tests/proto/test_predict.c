/* test_predict.c - the frames between controller and predictor: what was put comes back, at every cut
 * it asks for more and says how much, and what is broken is refused. */
#include "tests/unit.h"

#include "proto/predict.h"

static void a_frame_comes_back_whole_and_asks_for_more_when_cut(void **state)
{
    static const char body[] = "a,b\n1,\0002\n";
    json_t *head = json_pack("{s:s, s:i}", "op", "predict", "n", 7);
    struct predict_frame f = { 0 };
    struct buf b;
    size_t wanted = 0;

    (void)state;
    buf_init(&b, 1 << 16);
    assert_int_equal(predict_frame_put(&b, head, body, sizeof body, NULL), 0);
    for (size_t n = 0; n < b.len; n++) {
        assert_int_equal(predict_frame_get(b.data, n, &f, &wanted, NULL), 0);
        assert_int_equal(wanted, n < PREDICT_PREFIX ? PREDICT_PREFIX : b.len);
    }
    assert_int_equal(predict_frame_get(b.data, b.len, &f, &wanted, NULL), 1);
    assert_true(json_equal(f.head, head));
    assert_int_equal(f.body_len, sizeof body);
    assert_int_equal(f.len, b.len);
    assert_memory_equal(b.data + f.body_at, body, sizeof body);
    json_decref(f.head);
    json_decref(head);
    buf_fini(&b);
}

static void broken_frames_are_refused(void **state)
{
    static const char *const cases[] = {
        "0000000g 00000000\n{}", "00000002_00000000\n{}", "00000002 00000000 {}",
        "00000001 00000000\n{",  "00000002 00000000\n[]", "00000002 00000000\n{x",
        "0000ffff 00000000\n{}", "00000002 ffffffff\n{}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct predict_frame f = { 0 };
        struct err err = { 0 };
        size_t wanted = 0;

        if (predict_frame_get(cases[i], strlen(cases[i]), &f, &wanted, &err) != -1)
            fail_msg("taken: %s", cases[i]);
        assert_null(f.head);
        assert_true(err.code != ERR_NONE);
    }
}

static void what_is_too_long_is_not_sent(void **state)
{
    json_t *head = json_object();
    struct err err = { 0 };
    struct buf b;

    (void)state;
    buf_init(&b, 64);
    assert_int_equal(predict_frame_put(&b, head, "", (size_t)PREDICT_BODY_MAX + 1, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_int_equal(b.len, 0);
    json_decref(head);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_back_whole_and_asks_for_more_when_cut),
        cmocka_unit_test(broken_frames_are_refused),
        cmocka_unit_test(what_is_too_long_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
