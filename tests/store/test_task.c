/* test_task.c - rows of tasks: leased work that is no trial. */
#include "tests/store/store_rig.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int64_t task_new(struct store_rig *r, const char *kind, int64_t study)
{
    struct task_row row = { .kind = mem_strdup(kind),
                            .study = study,
                            .state = mem_strdup("queued"),
                            .config = mem_strdup("{\"a\":1}") };
    int64_t id = 0;

    assert_int_equal(store_task_put(r->store, &row, NULL), 0);
    id = row.id;
    task_row_fini(&row);
    return id;
}

static void set_state(struct store_rig *r, int64_t id, const char *state, int64_t seq)
{
    struct task_row row = { 0 };

    assert_int_equal(store_task_get(r->store, id, &row, NULL), 1);
    mem_free(row.state);
    row.state = mem_strdup(state);
    row.msg_seq = seq;
    mem_free(row.error);
    row.error = mem_strdup("line 3: \"x\"");
    assert_int_equal(store_task_put(r->store, &row, NULL), 0);
    task_row_fini(&row);
}

static void a_change_of_state_is_journaled_and_nothing_else_is(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t study = store_rig_study(r, "one"), id = task_new(r, "refit", study);
    struct task_row row = { 0 };

    assert_int_equal(journal_last(r->store), 2);
    set_state(r, id, "running", 0);
    set_state(r, id, "running", 1);
    set_state(r, id, "running", 2);
    assert_int_equal(journal_last(r->store), 3);
    set_state(r, id, "failed", 3);
    assert_int_equal(
        store_rig_count(r,
                        "SELECT count(*) FROM journal WHERE event = 'task.failed' AND study = 1"),
        1);
    assert_int_equal(store_task_get(r->store, id, &row, NULL), 1);
    assert_int_equal(row.msg_seq, 3);
    assert_int_equal(row.study, study);
    assert_int_equal(row.dataset, 0);
    assert_string_equal(row.config, "{\"a\":1}");
    assert_string_equal(row.error, "line 3: \"x\"");
    assert_null(row.result);
    task_row_fini(&row);
    store_rig_free(r);
    (void)state;
}

static int on_task(void *arg, struct task_row *row)
{
    *(int64_t *)arg = *(int64_t *)arg * 10 + row->id;
    return 0;
}

static void open_tasks_are_listed_apart(void **state)
{
    static const char *const states[] = { "queued", "running", "done", "failed", "cancelled" };
    struct store_rig *r = store_rig_new();
    int64_t all = 0, open = 0;

    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        set_state(r, task_new(r, "ingest", 0), states[i], 1);
    assert_int_equal(store_task_each(r->store, false, on_task, &all, NULL), 0);
    assert_int_equal(store_task_each(r->store, true, on_task, &open, NULL), 0);
    assert_int_equal(all, 12345);
    assert_int_equal(open, 12);
    store_rig_free(r);
    (void)state;
}

static void what_is_not_there_or_not_known_is_refused(void **state)
{
    struct store_rig *r = store_rig_new();
    struct task_row row = { .id = 5, .kind = mem_strdup("ingest"), .state = mem_strdup("queued") };
    struct err err = { 0 };

    assert_int_equal(store_task_put(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    row.id = 0;
    row.dataset = 8;
    assert_int_equal(store_task_put(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    row.dataset = 0;
    mem_free(row.state);
    row.state = mem_strdup("maybe");
    assert_int_equal(store_task_put(r->store, &row, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    task_row_fini(&row);
    assert_int_equal(store_task_get(r->store, 1, &row, NULL), 0);
    assert_int_equal(journal_last(r->store), 0);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_state_is_journaled_and_nothing_else_is),
        cmocka_unit_test(open_tasks_are_listed_apart),
        cmocka_unit_test(what_is_not_there_or_not_known_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
