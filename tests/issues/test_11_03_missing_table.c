/* test_11_03_missing_table.c - found by removing a table's file from a data folder: one trial was tried 2,610 times in 15 s, the
 * journal grew by 68 MB, and the study said `running`. Now the controller looks before it gives a trial away, and pauses the
 * study with a sentence; what only a runner sees is tried five times, with pauses that double. */
#include "tests/rig.h"

#include "base/str.h"

#include <string.h>
#include <unistd.h>

#define SPEC                                                                              \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':4},'seed':3,'parallel':2," \
    "'sampler':'random','scheduler':'none','validation':'holdout','deterministic':false}"

struct world {
    struct rig r;
    struct fake f;
    int64_t study;
    char frame[SHA256_HEX], path[700], bytes[200];
    size_t n;
};

static void world_open(struct world *w)
{
    FILE *f = NULL;

    rig_open(&w->r);
    rig_dataset(&w->r, "d");
    w->study = rig_study(&w->r, SPEC);
    fake_open(&w->f, &w->r, "one", 2);
    str_copy(w->frame, sizeof w->frame, rig_get(&w->r, w->study)->problem.data.frame);
    (void)snprintf(w->path, sizeof w->path, "%s/blobs/%.2s/%s", w->r.dir, w->frame, w->frame);
    f = fopen(w->path, "rb");
    assert_non_null(f);
    w->n = fread(w->bytes, 1, sizeof w->bytes, f);
    fclose(f);
    assert_true(w->n > 0 && w->n < sizeof w->bytes);
}

static bool is_paused(struct world *w)
{
    return rig_get(&w->r, w->study)->row.state == SS_PAUSED;
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

static void act(struct world *w, enum ctl_study_verb verb)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(&w->r, ctl_study_act(w->r.ctl, "s", verb, &out, &rig_err)), 0);
    json_decref(out);
}

static int64_t attempts(struct world *w)
{
    return w->r.ctl->stats.granted_trials;
}

static void work_to_the_end(struct world *w)
{
    for (int i = 0; i < 100 && rig_get(&w->r, w->study)->row.state != SS_COMPLETED; i++) {
        fake_ask(&w->f);
        while (w->f.n_trials > 0)
            fake_step(&w->f, w->f.n_trials - 1);
        rig_pass(&w->r, 100);
    }
    assert_int_equal(rig_get(&w->r, w->study)->row.state, SS_COMPLETED);
    assert_int_equal(rig_count(&w->r, w->study, TS_FAILED), 0);
}

static void pauses_and_goes_on(struct world *w, const char *what)
{
    for (int i = 0; i < 50; i++) {
        assert_int_equal(fake_ask(&w->f), 0);
        rig_pass(&w->r, 10);
    }
    assert_int_equal(attempts(w), 0);
    assert_true(is_paused(w));
    says(w, "reason", "the table d cannot be read");
    says(w, "reason", what);
    says(w, "reason", "add the same file again");
    act(w, CTL_RESUME); /* in vain: it says so again */
    assert_int_equal(fake_ask(&w->f), 0);
    assert_true(is_paused(w));
    rig_restart(&w->r);
    w->f.n = w->f.asked = 0;
    fake_open(&w->f, &w->r, "two", 2);
    says(w, "reason", "the table d cannot be read");
    rig_file(&w->r, w->frame, w->bytes, w->n);
    act(w, CTL_RESUME);
    work_to_the_end(w);
    rig_close(&w->r);
}

static void a_missing_table_pauses_its_study_before_any_attempt(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w);
    assert_int_equal(unlink(w.path), 0);
    pauses_and_goes_on(&w, "is missing");
}

static void an_emptied_table_pauses_its_study_before_any_attempt(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w);
    rig_file(&w.r, w.frame, "", 0);
    pauses_and_goes_on(&w, "is damaged");
}

static void a_flipped_bit_pauses_its_study_before_any_attempt(void **state)
{
    struct world w = { 0 };
    char other[200] = { 0 };

    (void)state;
    world_open(&w);
    memcpy(other, w.bytes, w.n);
    other[w.n / 2] ^= 4;
    rig_file(&w.r, w.frame, other, w.n);
    pauses_and_goes_on(&w, "is damaged");
}

/* All trials of the runner fail with this reason, as they do when its download was refused. */
static void fail_all(struct world *w)
{
    struct msg_event e[MSG_MAX_TRIALS];
    struct msg_answer a;

    for (int i = 0; i < w->f.n_trials; i++) {
        fake_event(&w->f, i, &e[i]);
        e[i].type = MSG_FAILED;
        e[i].reason = TR_DATA;
        e[i].detail = (char *)"no file for the runner";
    }
    assert_int_equal(fake_report(&w->f, e, w->f.n_trials, &a), 0);
    msg_answer_fini(&a);
    while (w->f.n_trials > 0)
        fake_drop(&w->f, 0);
}

static void what_only_a_runner_sees_is_tried_five_times_with_growing_pauses(void **state)
{
    struct world w = { 0 };
    int waves = 0;

    (void)state;
    world_open(&w);
    for (int i = 0; i < 1000 && !is_paused(&w); i++) {
        if (fake_ask(&w.f) > 0) {
            waves++;
            fail_all(&w);
            if (!is_paused(&w))
                says(&w, "why", "could not read its table");
        }
        rig_pass(&w.r, 100);
    }
    assert_int_equal(waves, 5);
    assert_true(is_paused(&w));
    says(&w, "reason", "no file for the runner");
    assert_int_equal(w.r.ctl->stats.quarantined, 0);
    assert_int_equal(rig_count(&w.r, w.study, TS_FAILED), 0);
    act(&w, CTL_RESUME);
    work_to_the_end(&w);
    rig_close(&w.r);
}

static void adding_the_same_table_again_makes_its_file_again(void **state)
{
    struct world w = { 0 };
    char source[SHA256_HEX];
    json_t *body = NULL, *out = NULL;

    (void)state;
    world_open(&w);
    assert_int_equal(unlink(w.path), 0);
    assert_int_equal(fake_ask(&w.f), 0);
    assert_true(is_paused(&w));
    sha256_hex("d", 1, source);
    body = json_pack("{s:s, s:s, s:s}", "name", "d", "blob", source, "file_name", "t.csv");
    assert_int_equal(RIG_CALL(&w.r, ctl_dataset_create(w.r.ctl, body, &out, &rig_err)), 0);
    assert_string_equal(json_string_value(json_object_get(out, "state")), "ingesting");
    json_decref(out);
    json_decref(body);
    assert_int_equal(fake_ask(&w.f), 0); /* the ingest, once more */
    assert_int_equal(access(w.path, R_OK), 0);
    act(&w, CTL_RESUME);
    work_to_the_end(&w);
    rig_close(&w.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_table_pauses_its_study_before_any_attempt),
        cmocka_unit_test(an_emptied_table_pauses_its_study_before_any_attempt),
        cmocka_unit_test(a_flipped_bit_pauses_its_study_before_any_attempt),
        cmocka_unit_test(what_only_a_runner_sees_is_tried_five_times_with_growing_pauses),
        cmocka_unit_test(adding_the_same_table_again_makes_its_file_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
