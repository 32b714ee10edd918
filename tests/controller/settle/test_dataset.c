/* test_dataset.c - datasets and the studies that wait for them: a table that is read, and one that cannot be. */
#include "tests/rig.h"

#include <inttypes.h>

#define BASE "'name':'s','dataset':'d','target':'y','seed':7,"

static int64_t dataset_make(struct rig *r, const char *name, const char *file)
{
    char sha[SHA256_HEX];
    json_t *out = NULL, *body = json_pack("{s:s, s:s, s:s}", "name", name, "blob",
                                          rig_blob(r, file, sha), "file_name", "d.csv");
    int64_t id = RIG_CALL(r, ctl_dataset_create(r->ctl, body, &out, &rig_err)) == 0
                     ? json_integer_value(json_object_get(out, "id"))
                     : -1;

    json_decref(body);
    json_decref(out);
    return id;
}

static void a_study_waits_for_its_dataset(void **state)
{
    struct rig r;
    struct fake f;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    assert_true(dataset_make(&r, "d", "d") > 0);
    id = rig_study(&r, "{" BASE "'budget':{'trials':2}}");
    assert_int_equal(rig_get(&r, id)->n_trials, 0);
    rig_restart(&r);
    fake_open(&f, &r, "f", 1);
    assert_int_equal(fake_ask(&f), 0); /* the ingest */
    assert_true(rig_get(&r, id)->n_trials > 0);
    assert_int_equal(fake_ask(&f), 1);
    rig_close(&r);
}

/* A runner cannot read the table. */
static void ingest_fail(struct rig *r, struct fake *f)
{
    struct msg_grant g;
    struct msg_event e;
    struct msg_answer a;
    json_t *out = NULL;

    fake_open(f, r, "f", 1);
    out = fake_ask_raw(f, 1, 1);
    assert_int_equal(msg_grant_parse(&g, out, &rig_err), 1);
    json_decref(out);
    msg_event_init(&e);
    e.type = MSG_TASK_FAILED;
    e.trial = g.task;
    e.fence = g.fence;
    e.seq = 1;
    e.reason = TR_INVALID;
    e.detail = (char *)"d.csv: line 3: 4 fields where 5 are expected";
    msg_grant_fini(&g);
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    assert_int_equal(a.replies[0].action, MSG_OK);
    msg_answer_fini(&a);
}

static void a_table_that_cannot_be_read_fails_its_studies_with_the_parsers_words(void **state)
{
    struct rig r;
    struct fake f;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    assert_true(dataset_make(&r, "d", "d") > 0);
    id = rig_study(&r, "{" BASE "'budget':{'trials':2}}");
    ingest_fail(&r, &f);
    assert_string_equal(study_state_name[rig_get(&r, id)->row.state], "failed");
    assert_non_null(strstr(rig_get(&r, id)->row.reason, "line 3"));
    rig_close(&r);
}

/* Found by hand: a user mends a file that was cut off and adds it again under the same name. */
static void a_table_that_could_not_be_read_gives_up_its_name(void **state)
{
    struct rig r;
    struct fake f;
    json_t *out = NULL;
    char text[24];

    (void)state;
    rig_open(&r);
    int64_t bad = dataset_make(&r, "d", "cut off");
    assert_int_equal(dataset_make(&r, "d", "whole"), -1); /* nobody knows yet that it is bad */
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    ingest_fail(&r, &f);
    int64_t good = dataset_make(&r, "d", "whole");
    assert_true(good > bad);
    snprintf(text, sizeof text, "%" PRId64, bad);
    assert_int_equal(RIG_CALL(&r, ctl_dataset_get(r.ctl, text, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_NOTFOUND);
    assert_int_equal(dataset_make(&r, "d", "other"), -1); /* the good one keeps it */
    rig_restart(&r);
    assert_int_equal(dataset_make(&r, "d", "whole"), good);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_waits_for_its_dataset),
        cmocka_unit_test(a_table_that_cannot_be_read_fails_its_studies_with_the_parsers_words),
        cmocka_unit_test(a_table_that_could_not_be_read_gives_up_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
