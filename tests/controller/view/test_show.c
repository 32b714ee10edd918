/* test_show.c - what is shown of studies and trials whose stored texts are odd. A runner's sentence
 * is cut to the bytes that a row has room for, which may be in the middle of a letter; such a text
 * is no UTF-8, and jansson refuses to make a JSON string of it. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/state/trial.h"

#include <string.h>

#define SPEC "{'name':'s','dataset':'d','target':'y','budget':{'trials':4},'parallel':1}"

/* So many letters of two bytes after `odd` of one byte: any cut at an even or an odd byte is in the
 * middle of one. */
static void letters(char *out, size_t n, bool odd)
{
    size_t k = 0;

    if (odd)
        out[k++] = 'x';
    for (; k + 2 < n; k += 2)
        memcpy(out + k, "\xc3\xa4", 2);
    out[k] = '\0';
}

static const char *text_of(json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    if (!text)
        fail_msg("%s is no text", key);
    return text;
}

static void a_failure_that_was_cut_in_a_letter_is_shown(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        struct msg_answer answer = { 0 };
        struct msg_event e = { 0 };
        char detail[3000];
        json_t *trial = NULL, *study = NULL;
        struct fake f;
        struct rig r;

        rig_open(&r);
        rig_dataset(&r, "d");
        rig_study(&r, SPEC);
        fake_open(&f, &r, "one", 1);
        while (f.n_trials == 0)
            fake_ask(&f);
        fake_event(&f, 0, &e);
        letters(detail, sizeof detail, odd);
        e.type = MSG_FAILED;
        e.reason = TR_DIVERGED;
        e.detail = detail;
        if (fake_report(&f, &e, 1, &answer) < 0)
            fail_msg("%s: %s", rig_err.where, rig_err.text);
        msg_answer_fini(&answer);
        assert_int_equal(ctl_trial_get(r.ctl, e.trial, &trial, &rig_err), 0);
        assert_true(str_starts(text_of(trial, "detail"), odd ? "x\xc3\xa4" : "\xc3\xa4\xc3\xa4"));
        json_decref(trial);
        fake_drop(&f, 0);
        assert_int_equal(ctl_study_get(r.ctl, "s", &study, &rig_err), 0);
        json_decref(study);
        rig_close(&r);
    }
}

/* The same by any way into a row, for example a database that was damaged. */
static void texts_that_are_no_utf8_are_shown_with_question_marks(void **state)
{
    json_t *study = NULL;
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    struct study *st = rig_get(&r, rig_study(&r, SPEC));
    mem_free(st->row.reason);
    mem_free(st->row.owner);
    st->row.reason = mem_strdup("caf\xe9");
    st->row.owner = mem_strdup("\xff");
    assert_int_equal(ctl_study_get(r.ctl, "s", &study, &rig_err), 0);
    assert_string_equal(text_of(study, "reason"), "caf?");
    assert_string_equal(text_of(study, "owner"), "?");
    json_decref(study);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_that_was_cut_in_a_letter_is_shown),
        cmocka_unit_test(texts_that_are_no_utf8_are_shown_with_question_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
