/* test_meta.c - small values by name, and answers kept for clients that repeat a request. */
#include "tests/store/store_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_value_is_replaced_and_absent_before(void **state)
{
    struct store_rig *r = store_rig_new();
    struct buf out;

    buf_init(&out, 100);
    assert_int_equal(store_meta_get(r->store, "a", &out, NULL), 0);
    assert_int_equal(store_meta_put(r->store, "a", "one", NULL), 0);
    assert_int_equal(store_meta_put(r->store, "a", "two", NULL), 0);
    store_rig_commit(r);
    store_rig_restart(r);
    assert_int_equal(store_meta_get(r->store, "a", &out, NULL), 1);
    assert_string_equal(out.data, "two");
    buf_fini(&out);
    store_rig_free(r);
    (void)state;
}

static void answers_expire_by_age(void **state)
{
    struct store_rig *r = store_rig_new();
    struct buf out;

    buf_init(&out, 100);
    assert_int_equal(store_idem_put(r->store, "old", "{\"id\":1}", NULL), 0);
    clk_advance(&r->clk, 24 * 3600 * 1000);
    assert_int_equal(store_idem_put(r->store, "new", "{\"id\":2}", NULL), 0);
    assert_int_equal(store_idem_expire(r->store, clk_wall_ms(&r->clk) - 1000, NULL), 0);
    assert_int_equal(store_idem_get(r->store, "old", &out, NULL), 0);
    assert_int_equal(store_idem_get(r->store, "new", &out, NULL), 1);
    assert_string_equal(out.data, "{\"id\":2}");
    buf_fini(&out);
    store_rig_free(r);
    (void)state;
}

static void a_value_too_long_for_the_buffer_is_an_error(void **state)
{
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };
    struct buf out;

    buf_init(&out, 4);
    assert_int_equal(store_meta_put(r->store, "a", "longer than that", NULL), 0);
    assert_int_equal(store_meta_get(r->store, "a", &out, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    buf_fini(&out);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_replaced_and_absent_before),
        cmocka_unit_test(answers_expire_by_age),
        cmocka_unit_test(a_value_too_long_for_the_buffer_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
