/* test_11_12_limits.c - the leaderboard and the list of trials took a limit of 10,000 and answered 1,000 rows. Every route
 * with a limit refuses what it does not give, with the bound, and the API's description says the same bound. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* The largest `limit` of a route, as described; 0 = it takes none. */
static json_int_t described(const json_t *get)
{
    json_t *param = NULL;
    size_t i = 0;

    json_array_foreach(json_object_get(get, "parameters"), i, param)
    {
        if (strcmp(json_string_value(json_object_get(param, "name")), "limit") == 0)
            return json_integer_value(json_object_get(json_object_get(param, "schema"), "maximum"));
    }
    return 0;
}

static struct web_reply ask(struct web_rig *rig, const char *path, json_int_t limit)
{
    const char *brace = strchr(path, '{'), *end = strchr(path, '}');
    char text[300];

    snprintf(text, sizeof text, "%.*s%s%s?limit=%" JSON_INTEGER_FORMAT,
             brace ? (int)(brace - path) : (int)strlen(path), path,
             !brace                              ? ""
             : strncmp(brace, "{trial}", 7) == 0 ? "1"
                                                 : "a",
             brace ? end + 1 : "", limit);
    return web_rig_call(rig, true, "GET", text, NULL, NULL);
}

static void every_limit_is_kept_or_refused_with_its_bound(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    struct web_reply r = web_rig_call(rig, true, "GET", "/api/v1/openapi.json", NULL, NULL);
    json_t *doc = json_loads(r.body, 0, NULL), *of = NULL;
    const char *path = NULL;
    int n = 0, most_1000 = 0;

    (void)state;
    web_reply_free(&r);
    json_object_foreach(json_object_get(doc, "paths"), path, of)
    {
        json_int_t most = described(json_object_get(of, "get"));
        char bound[40];

        if (!most)
            continue;
        n++;
        most_1000 += most == 1000;
        snprintf(bound, sizeof bound, "%" JSON_INTEGER_FORMAT, most);
        r = ask(rig, path, most + 1);
        if (r.status != 400 || !strstr(r.body, "limit") || !strstr(r.body, bound))
            fail_msg("%s with a limit of %d: %d %s", path, (int)most + 1, r.status, r.body);
        web_reply_free(&r);
        r = ask(rig, path, most);
        if (r.status != 200)
            fail_msg("%s with a limit of %d: %d %s", path, (int)most, r.status, r.body);
        web_reply_free(&r);
    }
    assert_true(n >= 8);
    assert_int_equal(most_1000, n - 2); /* lists of columns are longer, pieces of output shorter */
    json_decref(doc);
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_is_kept_or_refused_with_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
