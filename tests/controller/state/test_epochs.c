/* test_epochs.c - how a network learned, as runners tell it: shown live from the lease, stored at a rung and at the end,
 * replaced by each message, joined by epoch with what an earlier lease had trained; what is not as it should be is left out
 * and hurts nobody. */
#include "tests/rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/api.h"
#include "controller/state/lease.h"

#define SPEC                                                                               \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':30},'seed':7,'parallel':1," \
    "'scheduler':'hyperband','space':[{'family':'boost'}]}"

struct scene {
    struct rig r;
    struct fake a;
};

static void set(struct scene *s)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    rig_study(&s->r, SPEC);
    fake_open(&s->a, &s->r, "a", 1);
    assert_int_equal(fake_ask(&s->a), 1);
}

/* A run of epochs from to last; those up to `restored` come from a checkpoint. */
static char *run_text(int level, int last, int restored)
{
    json_t *epoch = json_array(), *loss = json_array(), *speed = json_array();

    for (int i = 1; i <= last; i++) {
        json_array_append_new(epoch, json_integer(i));
        json_array_append_new(loss, json_real(1.0 / i));
        json_array_append_new(speed, i <= restored ? json_null() : json_real(1000 + i));
    }
    json_t *o = json_pack("{s:i, s:i, s:s, s:b, s:o, s:O, s:O, s:O, s:O, s:o, s:s}", "level", level,
                          "folds", 1, "metric", "logloss", "larger_is_better", 0, "epoch", epoch,
                          "train_loss", loss, "score", loss, "learning_rate", loss, "gradient_norm",
                          loss, "samples_per_s", speed, "unknown", "left out");
    char *text = json_dumps(o, 0);
    assert_non_null(text);
    json_decref(loss);
    json_decref(o);
    return text;
}

static void tell(struct scene *s, enum msg_type type, const char *epochs)
{
    struct msg_answer a;
    struct msg_event e;

    fake_event(&s->a, 0, &e);
    if (type == MSG_PROGRESS) {
        mem_free(e.detail);
        e.detail = NULL;
        e.type = type;
        e.seq = 0;
    }
    e.epochs = (char *)epochs;
    if (fake_report(&s->a, &e, 1, &a) < 0)
        fail_msg("%s", rig_err.text);
    assert_int_not_equal(a.replies[0].action, MSG_STALE);
    mem_free(e.detail);
    msg_answer_fini(&a);
}

static json_t *shown(struct scene *s)
{
    json_t *out = NULL;

    if (ctl_trial_epochs(s->r.ctl, s->a.trials[0].trial, &out, &rig_err) < 0)
        fail_msg("%s", rig_err.text);
    return out;
}

/* "live 1: 1a 2a 3b" - the runs by level, each epoch with the fence that trained it; ? = unknown. */
static void assert_shown(struct scene *s, const char *want)
{
    json_t *o = shown(s), *run = NULL, *epoch = NULL;
    struct buf text;
    size_t i = 0, k = 0;

    buf_init(&text, 4096);
    buf_addf(&text, NULL, "%s", json_is_true(json_object_get(o, "live")) ? "live " : "");
    json_array_foreach(json_object_get(o, "runs"), i, run)
    {
        const json_t *fences = json_object_get(run, "fence");
        buf_addf(&text, NULL, "%d:", (int)json_integer_value(json_object_get(run, "level")));
        assert_null(json_object_get(run, "unknown"));
        json_array_foreach(json_object_get(run, "epoch"), k, epoch)
        {
            const json_t *fence = json_array_get(fences, k);
            buf_addf(&text, NULL, " %d%c", (int)json_integer_value(epoch),
                     json_is_null(fence) ? '?' : 'a' + (char)json_integer_value(fence) - 1);
        }
        buf_addf(&text, NULL, "; ");
    }
    assert_string_equal(text.data, want);
    buf_fini(&text);
    json_decref(o);
}

static void progress_is_shown_and_not_stored(void **state)
{
    struct scene s;
    char *text = run_text(1, 2, 0);

    (void)state;
    set(&s);
    assert_shown(&s, "");
    tell(&s, MSG_PROGRESS, text);
    assert_shown(&s, "live 1: 1a 2a; ");
    rig_restart(&s.r);
    assert_shown(&s, "");
    mem_free(text);
    rig_close(&s.r);
}

/* The rung's message stores; the trial is lost, comes back under another fence and goes on from what it had saved. */
static void a_resumed_trial_has_each_epoch_once_under_the_lease_that_trained_it(void **state)
{
    struct scene s;
    char *two = run_text(1, 2, 0), *three = run_text(1, 3, 2), *top = run_text(3, 1, 0);
    struct fake b;

    (void)state;
    set(&s);
    tell(&s, MSG_RUNG, two);
    rig_restart(&s.r);
    assert_shown(&s, "1: 1a 2a; ");
    int64_t trial = s.a.trials[0].trial;
    rig_pass(&s.r, RIG_LEASE_MS + 1);
    fake_open(&b, &s.r, "b", 1);
    assert_int_equal(fake_ask(&b), 1);
    assert_int_equal(b.trials[0].trial, trial);
    s.a = b;
    tell(&s, MSG_PROGRESS, three);
    assert_shown(&s, "live 1: 1a 2a 3b; ");
    tell(&s, MSG_PROGRESS, top); /* its folds begin anew, for a higher level */
    assert_shown(&s, "live 1: 1a 2a; 3: 1b; ");
    mem_free(two);
    mem_free(three);
    mem_free(top);
    rig_close(&s.r);
}

static void what_is_broken_is_left_out_and_hurts_nobody(void **state)
{
    static const char *const broken[] = {
        "{}",
        "{\"level\":1}",
        "{\"level\":0,\"folds\":1,\"metric\":\"m\",\"larger_is_better\":true,\"epoch\":[1],"
        "\"train_loss\":[1],\"score\":[1],\"learning_rate\":[1],\"gradient_norm\":[1],"
        "\"samples_per_s\":[1]}",
        "{\"level\":1,\"folds\":1,\"metric\":\"m\",\"larger_is_better\":true,\"epoch\":[2,2],"
        "\"train_loss\":[1,1],\"score\":[1,1],\"learning_rate\":[1,1],\"gradient_norm\":[1,1],"
        "\"samples_per_s\":[1,1]}",
        "{\"level\":1,\"folds\":1,\"metric\":\"m\",\"larger_is_better\":true,\"epoch\":[1,2],"
        "\"train_loss\":[1],\"score\":[1,1],\"learning_rate\":[1,1],\"gradient_norm\":[1,1],"
        "\"samples_per_s\":[1,1]}",
        "{\"level\":1,\"folds\":1,\"metric\":\"m\",\"larger_is_better\":true,\"epoch\":[1],"
        "\"train_loss\":[\"x\"],\"score\":[1],\"learning_rate\":[1],\"gradient_norm\":[1],"
        "\"samples_per_s\":[1]}",
    };
    struct scene s;
    char *many = run_text(1, 257, 0), *good = run_text(1, 256, 0);

    (void)state;
    set(&s);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        tell(&s, MSG_PROGRESS, broken[i]);
    tell(&s, MSG_PROGRESS, many);
    assert_shown(&s, "");
    tell(&s, MSG_PROGRESS, good);
    json_t *o = shown(&s);
    assert_int_equal(
        json_array_size(json_object_get(json_array_get(json_object_get(o, "runs"), 0), "epoch")),
        256);
    json_decref(o);
    mem_free(many);
    mem_free(good);
    rig_close(&s.r);
}

static void a_trial_that_is_not_there_is_said_so(void **state)
{
    struct scene s;
    json_t *out = NULL;

    (void)state;
    set(&s);
    assert_int_equal(ctl_trial_epochs(s.r.ctl, 999, &out, &rig_err), -1);
    assert_int_equal(rig_err.code, ERR_NOTFOUND);
    rig_close(&s.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_shown_and_not_stored),
        cmocka_unit_test(a_resumed_trial_has_each_epoch_once_under_the_lease_that_trained_it),
        cmocka_unit_test(what_is_broken_is_left_out_and_hurts_nobody),
        cmocka_unit_test(a_trial_that_is_not_there_is_said_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
