/* test_11_7_events.c - each of 200 streams that lagged read and dumped the same journal rows for itself, a sixth of the
 * loop's work. A row is told as it was written now, and says the same. */
#include "tests/rig.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "controller/serve/events.h"
#include "store/journal.h"

enum { ROWS = 2000 };

struct told {
    char *texts[ROWS];
    int n, compared;
};

static void on_event(void *arg, int64_t seq, const char *event, const char *json)
{
    struct told *t = arg;

    (void)seq, (void)event;
    assert_true(t->n < ROWS);
    t->texts[t->n++] = mem_strdup(json);
}

static int on_row(void *arg, const struct journal_row *row)
{
    struct told *t = arg;
    const char *text = t->texts[t->compared];
    json_t *json = events_json(row), *told = jsonx_load(text, strlen(text), "event", &rig_err);

    assert_true(t->compared++ < t->n);
    assert_true(json_equal(told, json));
    json_decref(told);
    json_decref(json);
    return 0;
}

static void a_row_is_told_as_it_was_written(void **state)
{
    static struct told t;
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    int64_t id = rig_study(&r, "{'name':'s','dataset':'d','target':'y','seed':7,"
                               "'budget':{'trials':40},'scheduler':'asha'}");
    rig_run(&r, id, 2, 1, 0, 0);
    assert_int_equal(ctl_events_since(r.ctl, 0, 0, ROWS, on_event, &t, NULL, &rig_err), 0);
    assert_true(t.n > 100);
    assert_int_equal(store_journal_each(r.ctl->store, 0, 0, ROWS, on_row, &t, &rig_err), 0);
    assert_int_equal(t.compared, t.n);
    for (int i = 0; i < t.n; i++)
        mem_free(t.texts[i]);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_row_is_told_as_it_was_written) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
