/* test_memory.c - what a lane is said to take: by level, by what completed trials took, and no more of it promised than a
 * device has. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/config.h"
#include "controller/memory.h"
#include "proto/msg.h"

#include <math.h>

static struct study *study_of(struct rig *r)
{
    rig_dataset(r, "d");
    int64_t id = rig_study(
        r, "{'dataset':'d','target':'y','budget':{'trials':40},"
           "'space':[{'family':'boost','bins':'255'}],'validation':{'kind':'kfold','folds':5}}");
    return rig_get(r, id);
}

static int64_t bytes_of(struct study *st, const char *config, int from, int to)
{
    struct trial_row row = { .config = (char *)config, .run_to = to, .max_level = 3 };

    return memory_of_lane(st, &row, from);
}

static const char quick[] = "{\"family\":\"boost\",\"learning_rate\":0.2}",
                  slow[] = "{\"family\":\"boost\",\"learning_rate\":0.02}";

static void a_level_takes_what_its_folds_take(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    int64_t one = bytes_of(st, quick, 0, 1), all = bytes_of(st, quick, 1, 3);
    assert_true(one > 0 && all > 2 * one);
    /* The same key: nothing is kept beside. Another learning rate at the top: the level before is. */
    assert_int_equal(all, bytes_of(st, quick, 0, 3));
    assert_true(bytes_of(st, slow, 2, 3) > bytes_of(st, slow, 0, 3) + bytes_of(st, slow, 0, 1));
    assert_int_equal(bytes_of(st, "{\"family\":\"nothing\"}", 0, 1), 0);
    rig_close(&r);
}

static void trials_teach_how_long_fits_grow(void **state)
{
    static const double rates[] = { 0.3, 0.25, 0.2, 0.15, 0.12, 0.1 };
    struct rig r;
    double growth = 2.5;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    int64_t before = bytes_of(st, slow, 0, 3);
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        struct trial_mem t = { .family = 1 };
        struct config c;
        char text[80];
        snprintf(text, sizeof text, "{\"family\":\"boost\",\"learning_rate\":%g}", rates[i]);
        struct trial_row row = { .config = text, .level = 3, .max_level = 3 };
        assert_int_equal(config_parse_text(&c, text, NULL), 0);
        struct family_shape s = st->problem.shape;
        s.growth = growth;
        json_t *info =
            json_pack("{s:I}", "peak_bytes", (json_int_t)c.family->host_bytes(&s, c.params));
        memory_note(st, &t, &row, info);
        double once = st->memory[1].sum;
        memory_note(st, &t, &row, info); /* again: nothing new */
        assert_true(st->memory[1].sum == once);
        json_decref(info);
    }
    struct config c;
    struct family_shape s = st->problem.shape;
    assert_int_equal(config_parse_text(&c, slow, NULL), 0);
    s.growth = growth;
    double truth = (double)c.family->host_bytes(&s, c.params);
    assert_true(fabs((double)bytes_of(st, slow, 0, 3) / truth - 1) < 0.1);
    assert_true((double)before < truth * 0.8); /* or there was nothing to learn */
    rig_close(&r);
}

static void what_says_nothing_is_not_learned(void **state)
{
    static const struct {
        const char *config, *info;
        int level;
    } cases[] = {
        { quick, "{'peak_bytes':0}", 3 },
        { quick, "{'peak_bytes':100000000}", 2 },
        { quick, "{'peak_bytes':100000000,'cut':true}", 3 },
        { slow, "{'peak_bytes':100000000}", 3 }, /* two sets of lanes, or one: who knows */
        { "{\"family\":\"nothing\"}", "{'peak_bytes':100000000}", 3 },
    };
    struct rig r;

    (void)state;
    rig_open(&r);
    struct study *st = study_of(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_mem t = { .family = 1 };
        struct trial_row row = { .config = (char *)cases[i].config,
                                 .level = cases[i].level,
                                 .max_level = 3 };
        json_t *info = rig_json(cases[i].info);
        memory_note(st, &t, &row, info);
        json_decref(info);
        assert_int_equal(st->memory[1].n, 0);
    }
    rig_close(&r);
}

/* Lanes in one grant, by what the device says is free. */
static int lanes_for(int64_t host_bytes)
{
    struct rig r;
    struct fake f;
    struct msg_grant g = { 0 };
    json_t *body = NULL, *json = NULL;

    rig_open(&r);
    (void)study_of(&r);
    fake_open(&f, &r, "one", 8);
    assert_int_equal(fake_ask(&f), 1); /* the baseline goes alone */
    struct msg_ask ask = { .n = ++f.n, .max_lanes = 7, .host_bytes = host_bytes };
    str_copy(ask.session, sizeof ask.session, f.session);
    str_copy(ask.device, sizeof ask.device, "cpu0");
    body = msg_ask_json_new(&ask);
    json = fake_ask_of(&f, body);
    int rc = msg_grant_parse(&g, json, &rig_err), n = rc == 1 && g.kind == MSG_FIT ? g.n_lanes : 0;
    msg_grant_fini(&g);
    json_decref(json);
    json_decref(body);
    rig_close(&r);
    return n;
}

static void no_more_is_promised_than_there_is(void **state)
{
    (void)state;
    int many = lanes_for(0), tight = lanes_for(1 << 20);

    assert_true(many > 1);
    assert_int_equal(tight, 1); /* one goes out whatever it takes: the worker ends it in time */
    assert_true(lanes_for(INT64_C(1) << 40) == many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_takes_what_its_folds_take),
        cmocka_unit_test(trials_teach_how_long_fits_grow),
        cmocka_unit_test(what_says_nothing_is_not_learned),
        cmocka_unit_test(no_more_is_promised_than_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
