/* test_11_29_lists.c - a viewer could stop the loop: GET /studies with more than eight ended studies loaded them again with all
 * their trials, and GET /runners answered 45 MB. Lists come from rows with stored counts, in pages that have a limit. */
#include "tests/rig.h"

#include <sqlite3.h>

#include "base/mem.h"
#include "controller/view/brief.h"

#define SPEC \
    "{'name':'%s','dataset':'d','target':'y','budget':{'trials':12},'seed':7,'scheduler':'asha'}"

static int64_t study(struct rig *r, const char *name)
{
    char spec[200];

    snprintf(spec, sizeof spec, SPEC, name);
    return rig_study(r, spec);
}

static json_t *list(struct rig *r)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_studies(r->ctl, NULL, true, 0, 1000, &out, &rig_err)), 0);
    return out;
}

static void forget(struct rig *r, int64_t id)
{
    study_drop(r->ctl, study_loaded(r->ctl, id));
}

static void a_list_loads_no_study_and_says_the_same(void **state)
{
    struct rig r;
    int64_t ids[3];
    json_t *loaded = NULL, *out = NULL, *listed = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    ids[0] = study(&r, "whole");
    rig_run(&r, ids[0], 2, 1, 0, 0);
    ids[1] = study(&r, "killed");
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "killed", CTL_KILL, &out, &rig_err)), 0);
    json_decref(out);
    ids[2] = study(&r, "live");
    loaded = list(&r);
    forget(&r, ids[0]);
    forget(&r, ids[1]);
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        listed = list(&r);
        assert_true(json_equal(listed, loaded));
        json_decref(listed);
        assert_null(study_loaded(r.ctl, ids[0]));
        assert_null(study_loaded(r.ctl, ids[1]));
    }
    assert_non_null(study_loaded(r.ctl, ids[2]));
    /* What changes an ended study shows in the next list. */
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "whole", CTL_ARCHIVE, &out, &rig_err)), 0);
    json_decref(out);
    forget(&r, ids[0]);
    listed = list(&r);
    assert_true(json_is_true(
        json_object_get(json_array_get(json_object_get(listed, "studies"), 2), "archived")));
    json_decref(listed);
    json_decref(loaded);
    rig_close(&r);
}

static void counts_survive_a_restart_and_are_counted_where_they_are_missing(void **state)
{
    struct rig r;
    int64_t id = 0;
    json_t *before = NULL, *after = NULL;
    struct study_row row = { 0 };

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    id = study(&r, "s");
    rig_run(&r, id, 2, 1, 0, 0);
    before = list(&r);
    rig_restart(&r);
    after = list(&r);
    assert_true(json_equal(before, after));
    json_decref(after);
    assert_int_equal(store_study_get(r.ctl->store, id, &row, &rig_err), 1);
    assert_non_null(row.counts);
    mem_free(row.counts);
    row.counts = NULL; /* as of an older program that could not load it */
    assert_int_equal(RIG_CALL(&r, store_study_update(r.ctl->store, &row, &rig_err)), 0);
    brief_forget(r.ctl, id);
    after = list(&r);
    assert_true(json_equal(before, after));
    assert_null(study_loaded(r.ctl, id));
    study_row_fini(&row);
    json_decref(after);
    json_decref(before);
    rig_close(&r);
}

static void some_studies_are_listed_by_their_ids(void **state)
{
    struct rig r;
    int64_t a = 0, b = 0;
    char ids[60];
    json_t *out = NULL, *studies = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    a = study(&r, "a");
    b = study(&r, "b");
    snprintf(ids, sizeof ids, "%d,999,%d", (int)b, (int)a); /* 999 was deleted meanwhile, say */
    assert_int_equal(RIG_CALL(&r, ctl_studies_of(r.ctl, ids, &out, &rig_err)), 0);
    studies = json_object_get(out, "studies");
    assert_int_equal(json_array_size(studies), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(studies, 0), "id")), b);
    json_decref(out);
    assert_int_equal(RIG_CALL(&r, ctl_studies_of(r.ctl, "1,x", &out, &rig_err)), -1);
    assert_string_equal(rig_err.where, "ids");
    rig_close(&r);
}

static void runners_are_listed_in_pages_that_have_a_limit(void **state)
{
    enum { RUNNERS = 7 };
    static struct fake f;
    struct rig r;
    int64_t after = 0;
    int seen = 0;

    (void)state;
    rig_open(&r);
    for (int i = 0; i < RUNNERS; i++) {
        char session[20];

        snprintf(session, sizeof session, "r%d", i);
        fake_open(&f, &r, session, 1);
    }
    do {
        json_t *out = NULL;

        assert_int_equal(RIG_CALL(&r, ctl_runners(r.ctl, after, 3, &out, &rig_err)), 0);
        assert_int_equal(json_integer_value(json_object_get(out, "total")), RUNNERS);
        assert_true(json_array_size(json_object_get(out, "runners")) <= 3);
        seen += (int)json_array_size(json_object_get(out, "runners"));
        after = json_integer_value(json_object_get(out, "next"));
        json_decref(out);
    } while (after);
    assert_int_equal(seen, RUNNERS);
    rig_close(&r);
}

/* A thousand ended studies that were in no list yet were one turn of 0.1 s. */
static void a_long_list_comes_in_pages_that_hold_nobody_up(void **state)
{
    enum { COPIES = 900 };
    char path[400], text[200];
    sqlite3 *db = NULL;
    struct rig r;
    json_t *out = NULL, *page = NULL;
    int64_t after = 0;
    int n = 0, pages = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    study(&r, "killed");
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "killed", CTL_KILL, &out, &rig_err)), 0);
    json_decref(out);
    snprintf(path, sizeof path, "%s/assay.db", r.dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; CREATE TEMP TABLE t AS SELECT * FROM study", 0, 0, 0),
                     SQLITE_OK);
    for (int i = 1; i <= COPIES; i++) {
        snprintf(text, sizeof text,
                 "UPDATE t SET id = %d, name = 'c%d'; INSERT INTO study SELECT * FROM t", 100 + i,
                 i);
        assert_int_equal(sqlite3_exec(db, text, 0, 0, 0), SQLITE_OK);
    }
    assert_int_equal(sqlite3_exec(db, "COMMIT", 0, 0, 0), SQLITE_OK);
    clk_init_system(&r.clk);
    for (bool more = true; more; pages++) {
        assert_int_equal(RIG_CALL(&r, ctl_studies(r.ctl, NULL, true, after, 1000, &page, &rig_err)),
                         0);
        n += (int)json_array_size(json_object_get(page, "studies"));
        more = json_is_integer(json_object_get(page, "next"));
        after = json_integer_value(json_object_get(page, "next"));
        json_decref(page);
    }
    assert_int_equal(n, COPIES + 1);
    assert_true(pages >= 2 &&
                pages < COPIES); /* a page ends after 8 ms, and the machine may be busy */
    assert_int_equal(sqlite3_exec(db, "DELETE FROM study WHERE id > 100", 0, 0, 0), SQLITE_OK);
    sqlite3_close(db); /* the journal knows nothing of them */
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_loads_no_study_and_says_the_same),
        cmocka_unit_test(counts_survive_a_restart_and_are_counted_where_they_are_missing),
        cmocka_unit_test(some_studies_are_listed_by_their_ids),
        cmocka_unit_test(runners_are_listed_in_pages_that_have_a_limit),
        cmocka_unit_test(a_long_list_comes_in_pages_that_hold_nobody_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
