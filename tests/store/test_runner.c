/* test_runner.c - rows of runners and tokens. */
#include "tests/store/store_rig.h"

#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void seeing_a_runner_again_is_no_event_but_quarantine_is(void **state)
{
    struct store_rig *r = store_rig_new();
    struct runner_row row = { 0 };

    store_rig_runner(r, "s1");
    assert_int_equal(journal_last(r->store), 1);
    assert_int_equal(store_runner_find(r->store, "s1", &row, NULL), 1);
    assert_string_equal(row.name, "host");
    assert_string_equal(row.devices, "[]");
    assert_null(row.labels);
    row.last_seen = 12345;
    assert_int_equal(store_runner_put(r->store, &row, NULL), 0);
    assert_int_equal(journal_last(r->store), 1);
    mem_free(row.state);
    row.state = mem_strdup("quarantined");
    row.reason = mem_strdup("two ECC errors");
    assert_int_equal(store_runner_put(r->store, &row, NULL), 0);
    assert_int_equal(journal_last(r->store), 2);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM journal WHERE event = 'runner' AND"
                                        " data ->> 'reason' = 'two ECC errors'"),
                     1);
    runner_row_fini(&row);
    assert_int_equal(store_runner_find(r->store, "s2", &row, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static void a_runner_must_be_known_to_be_updated_and_in_a_known_state(void **state)
{
    struct store_rig *r = store_rig_new();
    struct runner_row row = { .id = 9,
                              .session = mem_strdup("s9"),
                              .state = mem_strdup("enabled") };
    struct err err = { 0 };

    assert_int_equal(store_runner_put(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    row.id = 0;
    mem_free(row.state);
    row.state = mem_strdup("happy");
    assert_int_equal(store_runner_put(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_int_equal(row.id, 0);
    runner_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

static int on_runner(void *arg, struct runner_row *row)
{
    assert_string_equal(row->state, "enabled");
    *(int *)arg += 1;
    return 0;
}

static int on_token(void *arg, struct token_row *row)
{
    assert_true(row->id > 0 && row->role);
    *(int *)arg += 1;
    return 0;
}

static void runners_are_listed(void **state)
{
    struct store_rig *r = store_rig_new();
    int n = 0;

    store_rig_runner(r, "s1");
    store_rig_runner(r, "s2");
    assert_int_equal(store_runner_each(r->store, on_runner, &n, NULL), 0);
    assert_int_equal(n, 2);
    store_rig_free(r);
    (void)state;
}

static void tokens_are_found_by_their_hash_and_can_be_taken_away(void **state)
{
    struct store_rig *r = store_rig_new();
    struct token_row in = { .name = mem_strdup("ci"), .role = mem_strdup("runner") }, out = { 0 };
    struct err err = { 0 };
    int n = 0;

    sha256_hex("secret", 6, in.hash);
    assert_int_equal(store_token_put(r->store, &in, NULL), 0);
    assert_true(in.id > 0 && in.created_at > 0);
    assert_int_equal(store_token_find(r->store, in.hash, &out, NULL), 1);
    assert_string_equal(out.name, "ci");
    assert_string_equal(out.role, "runner");
    token_row_fini(&out);
    mem_free(in.name);
    in.name = mem_strdup("renamed");
    assert_int_equal(store_token_put(r->store, &in, NULL), 0);
    assert_int_equal(store_token_each(r->store, on_token, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(store_token_delete(r->store, in.id, NULL), 0);
    assert_int_equal(store_token_find(r->store, in.hash, &out, NULL), 0);
    assert_int_equal(store_token_delete(r->store, in.id, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    in.id = 0;
    mem_free(in.role);
    in.role = mem_strdup("god");
    assert_int_equal(store_token_put(r->store, &in, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    token_row_fini(&in);
    store_rig_free(r);
    (void)state;
}

static int count_session(void *arg, struct session_row *row)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static void sessions_go_with_their_token_their_time_and_their_number(void **state)
{
    struct store_rig *r = store_rig_new();
    struct token_row token = { .name = mem_strdup("ci"), .role = mem_strdup("user") };
    int n = 0;

    sha256_hex("secret", 6, token.hash);
    assert_int_equal(store_token_put(r->store, &token, NULL), 0);
    for (int i = 0; i < 6; i++) {
        struct session_row s = { .token = i < 4 ? token.id : 0, .ends_at = 10 + i };
        struct session_row found = { 0 };

        s.name = mem_strdup("ci");
        s.role = mem_strdup("user");
        sha256_hex(&i, sizeof i, s.cookie_hash);
        sha256_hex("x", 1, s.secret_hash);
        assert_int_equal(store_session_put(r->store, &s, NULL), 0);
        assert_int_equal(store_session_find(r->store, s.cookie_hash, &found, NULL), 1);
        assert_int_equal(found.token, s.token);
        assert_int_equal(store_session_has(r->store, s.id, NULL), 1);
        session_row_fini(&found);
        session_row_fini(&s);
    }
    assert_int_equal(store_session_expire(r->store, 10, NULL), 1);
    assert_int_equal(store_session_trim(r->store, token.id, 1, NULL), 2);
    assert_int_equal(store_session_trim(r->store, 0, 1, NULL), 1);
    assert_int_equal(store_token_delete(r->store, token.id, NULL), 0);
    assert_int_equal(store_session_each(r->store, count_session, &n, NULL), 0);
    assert_int_equal(n, 1); /* the one that no token opened */
    token_row_fini(&token);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeing_a_runner_again_is_no_event_but_quarantine_is),
        cmocka_unit_test(a_runner_must_be_known_to_be_updated_and_in_a_known_state),
        cmocka_unit_test(runners_are_listed),
        cmocka_unit_test(tokens_are_found_by_their_hash_and_can_be_taken_away),
        cmocka_unit_test(sessions_go_with_their_token_their_time_and_their_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
