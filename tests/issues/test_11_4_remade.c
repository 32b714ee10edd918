/* test_11_4_remade.c - a table's file (frame) that is damaged or missing on the controller's disk paused its study, and a user
 * had to add the same file again. The file that the user brought first is still there: where its hash is right, the table
 * is made again from it, the journal says why, and the study goes on by itself. */
#include "tests/rig.h"

#include "base/str.h"
#include "store/journal.h"

#include <string.h>
#include <unistd.h>

#define SPEC                                                                              \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':4},'seed':3,'parallel':2," \
    "'sampler':'random','scheduler':'none','validation':'holdout','deterministic':false}"

struct world {
    struct rig r;
    struct fake f;
    int64_t study;
    char frame[SHA256_HEX], source[SHA256_HEX], path[700];
};

static void world_open(struct world *w, const char *source)
{
    rig_open(&w->r);
    rig_dataset(&w->r, "d");
    sha256_hex("d", 1, w->source);
    rig_file(&w->r, w->source, source, strlen(source));
    w->study = rig_study(&w->r, SPEC);
    fake_open(&w->f, &w->r, "one", 2);
    str_copy(w->frame, sizeof w->frame, rig_get(&w->r, w->study)->problem.data.frame);
    (void)snprintf(w->path, sizeof w->path, "%s/blobs/%.2s/%s", w->r.dir, w->frame, w->frame);
}

static void says(struct world *w, const char *key, const char *part)
{
    json_t *out = NULL;
    const char *text = NULL;

    assert_int_equal(RIG_CALL(&w->r, ctl_study_get(w->r.ctl, "s", &out, &rig_err)), 0);
    text = json_string_value(json_object_get(out, key));
    if (!text || !strstr(text, part))
        fail_msg("%s is \"%s\", without \"%s\"", key, text ? text : "", part);
    json_decref(out);
}

static void work_to_the_end(struct world *w)
{
    for (int i = 0; i < 100 && rig_get(&w->r, w->study)->row.state != SS_COMPLETED; i++) {
        fake_ask(&w->f); /* works off the ingest, too */
        while (w->f.n_trials > 0)
            fake_step(&w->f, w->f.n_trials - 1);
        rig_pass(&w->r, 100);
    }
    assert_int_equal(rig_get(&w->r, w->study)->row.state, SS_COMPLETED);
    assert_int_equal(rig_count(&w->r, w->study, TS_COMPLETED), 4);
}

struct seen {
    const char *part;
    bool any;
};

static int on_row(void *arg, const struct journal_row *row)
{
    struct seen *s = arg;

    s->any = s->any || (str_eq(row->event, "dataset") && row->data && strstr(row->data, s->part));
    return 0;
}

static void journal_says(struct world *w, const char *part)
{
    struct seen s = { .part = part };

    assert_int_equal(store_journal_each(w->r.ctl->store, 0, 0, 10000, on_row, &s, NULL), 0);
    if (!s.any)
        fail_msg("no entry on the dataset in the journal says \"%s\"", part);
}

static void goes_on(struct world *w, const char *what)
{
    assert_int_equal(fake_ask(&w->f), 0); /* it is seen to be bad */
    assert_int_equal(rig_get(&w->r, w->study)->row.state, SS_QUEUED);
    says(w, "why", "made again from its source");
    work_to_the_end(w);
    journal_says(w, what);
    journal_says(w, "it is made again from the file it came from");
    assert_int_equal(access(w->path, R_OK), 0);
    rig_close(&w->r);
}

static void a_damaged_table_is_made_again_from_its_source(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w, "d");
    rig_file(&w.r, w.frame, "something else", 14);
    goes_on(&w, "is damaged");
}

static void a_missing_table_is_made_again_from_its_source(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w, "d");
    assert_int_equal(unlink(w.path), 0);
    goes_on(&w, "is missing");
}

static void a_source_that_is_damaged_too_pauses_the_study(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w, "no d");
    assert_int_equal(unlink(w.path), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(fake_ask(&w.f), 0);
        rig_pass(&w.r, 100);
    }
    assert_int_equal(rig_get(&w.r, w.study)->row.state, SS_PAUSED);
    says(&w, "reason", "the table d cannot be read");
    rig_close(&w.r);
}

/* A disk that damages every file: the study does not make it for ever. */
static void a_table_that_is_bad_again_and_again_pauses_the_study(void **state)
{
    struct world w = { 0 };
    int asks = 0;

    (void)state;
    world_open(&w, "d");
    for (; asks < 200 && rig_get(&w.r, w.study)->row.state != SS_PAUSED; asks++) {
        rig_file(&w.r, w.frame, "something else", 14);
        assert_int_equal(fake_ask(&w.f), 0);
        rig_pass(&w.r, 500);
    }
    assert_int_equal(rig_get(&w.r, w.study)->row.state, SS_PAUSED);
    assert_in_range(asks, 4, 40);
    rig_close(&w.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_table_is_made_again_from_its_source),
        cmocka_unit_test(a_missing_table_is_made_again_from_its_source),
        cmocka_unit_test(a_source_that_is_damaged_too_pauses_the_study),
        cmocka_unit_test(a_table_that_is_bad_again_and_again_pauses_the_study),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
