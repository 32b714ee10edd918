/* test_own.c - spaces of the user's own: what may be written, one clear error for everything else,
 * and configurations that come back from their JSON and from points as they were. */
#include "tests/rig.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "controller/problem/config.h"
#include "controller/problem/space.h"

#include <math.h>
#include <string.h>

static struct err err;

static int build(struct study_space *out, const char *text)
{
    json_t *spec = rig_json(text);
    int rc = study_space_own(out, spec, NULL, 9, &err);

    json_decref(spec);
    return rc;
}

static const char whole[] =
    "{'lr':{'log':[1e-5,0.1]},'drop':[0,0.5],'mom':{'uniform':[0,1],'step':0.25,'when':{'opt':['sgd','nag']}},"
    "'opt':{'choice':['sgd','adam','nag'],'default':'adam'},'layers':{'int':[1,8]},'width':{'int_log':[16,512]},"
    "'batch':{'choice':[16,32,64]},'flag':{'choice':[true,false]},'mixed':{'choice':['a',1,2.5,false]},"
    "'deep':{'int':[1,3],'when':{'kind':'b'}},'kind':{'choice':['a','b'],'when':{'opt':'adam'}},'fixed':7,"
    "'name':'x'}";

static void a_space_is_the_same_however_its_object_is_ordered(void **state)
{
    static const char turned[] =
        "{'b':{'int':[1,3],'when':{'a':'y'}},'a':{'choice':['x','y']},'c':[0,1]}";
    static const char straight[] =
        "{'c':[0,1],'a':{'choice':['x','y']},'b':{'when':{'a':'y'},'int':[1,3]}}";
    struct study_space s[2];

    (void)state;
    assert_int_equal(build(&s[0], turned), 0);
    assert_int_equal(build(&s[1], straight), 0);
    assert_int_equal(s[0].space->n, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(s[0].space->params[i].name, s[1].space->params[i].name);
    assert_string_equal(s[0].space->params[2].name, "own.b");
    assert_string_equal(s[0].space->params[3].name, "own.c");
    study_space_fini(&s[0]);
    study_space_fini(&s[1]);
}

static void configurations_come_back_from_points_and_from_json(void **state)
{
    struct study_space s;
    struct rng rng;
    int inactive = 0;

    (void)state;
    assert_int_equal(build(&s, whole), 0);
    assert_int_equal(s.own->family.levels, 9);
    rng_init(&rng, test_seed(), 1);
    double *unit = mem_array((size_t)s.space->n, sizeof *unit);
    double *point = mem_array((size_t)s.space->n, sizeof *point);
    double *back = mem_array((size_t)s.space->n, sizeof *back);
    for (int round = 0; round < TEST_ROUNDS(2000, 200); round++) {
        struct config c, again;

        for (int i = 0; i < s.space->n; i++)
            unit[i] = rng_unit(&rng);
        space_from_unit(s.space, unit, point);
        config_from_point(&c, s.space, s.own, point);
        char *text = config_text_new(&c);
        if (config_parse_text(&again, text, s.own, &err) < 0)
            fail_msg("%s: %s %s", text, err.where, err.text);
        char *twice = config_text_new(&again);
        assert_string_equal(text, twice);
        assert_int_equal(config_to_point(&again, s.space, back, &err), 0);
        assert_true(space_points_equal(s.space, point, back));
        inactive += strstr(text, "\"mom\"") == NULL;
        /* as a program wants its values: numbers, texts, true and false as they were written */
        json_t *o = jsonx_load(text, strlen(text), "configuration", &err);
        assert_true(json_is_integer(json_object_get(o, "batch")));
        assert_true(json_is_boolean(json_object_get(o, "flag")));
        assert_true(json_is_integer(json_object_get(o, "layers")));
        assert_int_equal(json_integer_value(json_object_get(o, "fixed")), 7);
        assert_string_equal(json_string_value(json_object_get(o, "name")), "x");
        assert_int_equal(!json_object_get(o, "kind"),
                         !str_eq(json_string_value(json_object_get(o, "opt")), "adam"));
        json_decref(o);
        mem_free(text);
        mem_free(twice);
    }
    assert_true(inactive > 0);
    mem_free(unit);
    mem_free(point);
    mem_free(back);
    study_space_fini(&s);
}

static void one_clear_error_for_everything_else(void **state)
{
    static const struct {
        const char *space, *where, *text;
    } bad[] = {
        { "{'lr':{'log':[0,1]}}", "space.lr", "above 0" },
        { "{'lr':[1,1]}", "space.lr", "empty range" },
        { "{'lr':[1]}", "space.lr", "[lowest, highest]" },
        { "{'lr':[1,'a']}", "space.lr", "[lowest, highest]" },
        { "{'lr':{'log':[1,2],'int':[1,2]}}", "space.lr", "both" },
        { "{'lr':{'default':1}}", "space.lr", "must have one of" },
        { "{'lr':{'logg':[1,2]}}", "space.lr.logg", "did you mean log" },
        { "{'n':{'int':[0.5,2]}}", "space.n", "whole limits" },
        { "{'n':{'int':[0,2],'step':3}}", "space.n", "" },
        { "{'n':{'log':[1,2],'step':1}}", "space.n", "step" },
        { "{'n':{'int':[0,9],'default':10}}", "space.n", "default" },
        { "{'c':{'choice':[]}}", "space.c", "list of 1 to" },
        { "{'c':{'choice':['a','a']}}", "space.c[1]", "twice" },
        { "{'c':{'choice':['a|b']}}", "space.c[0]", "without" },
        { "{'c':{'choice':[null]}}", "space.c[0]", "must be" },
        { "{'c':{'choice':[[1]]}}", "space.c[0]", "must be" },
        { "{'c':{'choice':['a'],'default':'b'}}", "space.c", "none of its choices" },
        { "{'a':{'choice':['x'],'when':{'b':1}}}", "space.a", "no other parameter" },
        { "{'a':{'choice':['x'],'when':{'a':'x'}}}", "space.a", "no other parameter" },
        { "{'a':{'choice':['x'],'when':{'b':'y'}},'b':{'choice':['y'],'when':{'a':'x'}}}", "space",
          "circle" },
        { "{'a':{'int':[1,2],'when':{'b':'z'}},'b':{'choice':['y']}}", "space.a", "does not have" },
        { "{'a':{'int':[1,2],'when':{'b':[]}},'b':{'choice':['y']}}", "space.a", "no value" },
        { "{'a':{'int':[1,2],'when':{'b':1}},'b':[0,1]}", "space.a", "must be a choice" },
        { "{'a':{'int':[1,2],'when':'b'},'b':{'choice':['y']}}", "space.a", "when" },
        { "{'family':[0,1]}", "space.family", "cannot be a parameter's name" },
        { "{'a b':[0,1]}", "space.a b", "cannot be a parameter's name" },
        { "{'a':null}", "space.a", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct study_space s;

        err = (struct err){ 0 };
        if (build(&s, bad[i].space) == 0)
            fail_msg("%s was taken", bad[i].space);
        if (!str_starts(err.where, bad[i].where) || !strstr(err.text, bad[i].text))
            fail_msg("%s: %s: %s", bad[i].space, err.where, err.text);
        assert_null(s.space);
    }
}

static void a_configuration_of_ones_own_must_lie_in_the_space(void **state)
{
    static const struct {
        const char *config, *where, *text;
    } bad[] = {
        { "{'lr':1}", "lr", "must be from" },
        { "{'opt':'rms'}", "opt", "must be one of" },
        { "{'opt':'adam','mom':0.5}", "mom", "not active" },
        { "{'opt':'sgd','mom':0.3}", "mom", "none of its values" },
        { "{'layers':1.5}", "layers", "whole" },
        { "{'nothing':1}", "nothing", "no such parameter" },
        { "{'family':'boost'}", "family", "must be own" },
        { "[]", "", "must be an object" },
    };
    struct study_space s;

    (void)state;
    assert_int_equal(build(&s, whole), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        json_t *v = rig_json(bad[i].config);
        struct config c;

        err = (struct err){ 0 };
        if (config_parse(&c, v, NULL, s.own, &err) == 0)
            fail_msg("%s was taken", bad[i].config);
        if (!str_eq(err.where, bad[i].where) || !strstr(err.text, bad[i].text))
            fail_msg("%s: %s: %s", bad[i].config, err.where, err.text);
        json_decref(v);
    }
    json_t *v = rig_json("{'opt':'nag','mom':0.75,'batch':64}"); /* the rest has its default */
    struct config c;
    assert_int_equal(config_parse(&c, v, NULL, s.own, &err), 0);
    json_decref(v);
    study_space_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_space_is_the_same_however_its_object_is_ordered),
        cmocka_unit_test(configurations_come_back_from_points_and_from_json),
        cmocka_unit_test(one_clear_error_for_everything_else),
        cmocka_unit_test(a_configuration_of_ones_own_must_lie_in_the_space),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
