/* test_openapi.c - the OpenAPI document describes every route, and every reference in it leads to a
 * schema. Answers and errors of the fake controller fit their schemas. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"
#include "web/api/tables.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct web_rig *rig;
static json_t *doc;

static int setup(void **state)
{
    struct web_reply r;

    (void)state;
    rig = web_rig_new(fake_ctl_new, NULL);
    r = web_rig_call(rig, true, "GET", "/api/v1/openapi.json", NULL, NULL);
    assert_int_equal(r.status, 200);
    doc = json_loads(r.body, 0, NULL);
    web_reply_free(&r);
    return doc ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(doc);
    web_rig_free(rig, fake_ctl_free);
    return 0;
}

static const json_t *resolve(const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));

    if (!ref)
        return schema;
    assert_true(str_starts(ref, "#/components/schemas/"));
    schema = json_object_get(json_object_get(json_object_get(doc, "components"), "schemas"),
                             strrchr(ref, '/') + 1);
    if (!schema)
        fail_msg("the document has no schema %s", ref);
    return schema;
}

static bool type_fits(const char *type, const json_t *v)
{
    return !type || (strcmp(type, "object") == 0 && json_is_object(v)) ||
           (strcmp(type, "array") == 0 && json_is_array(v)) ||
           (strcmp(type, "string") == 0 && json_is_string(v)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(v)) ||
           (strcmp(type, "number") == 0 && json_is_number(v)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(v));
}

/* Checks a value by the part of JSON Schema that openapi.c uses: type, nullable, required,
 * properties, items, enum. */
static void check(const json_t *schema, const json_t *v, const char *where)
{
    const char *type = NULL, *key = NULL;
    json_t *sub = NULL;
    size_t i = 0;

    schema = resolve(schema);
    type = json_string_value(json_object_get(schema, "type"));
    if (json_is_null(v) && json_is_true(json_object_get(schema, "nullable")))
        return;
    if (!type_fits(type, v))
        fail_msg("%s should have the type %s", where, type);
    json_array_foreach(json_object_get(schema, "required"), i, sub)
    {
        if (!json_object_get(v, json_string_value(sub)))
            fail_msg("%s has no member %s", where, json_string_value(sub));
    }
    json_object_foreach(json_object_get(schema, "properties"), key, sub)
    {
        if (json_object_get(v, key))
            check(sub, json_object_get(v, key), key);
    }
    if (json_object_get(schema, "items"))
        json_array_foreach(v, i, sub) check(json_object_get(schema, "items"), sub, where);
    if (json_object_get(schema, "enum")) {
        bool found = false;

        json_array_foreach(json_object_get(schema, "enum"), i, sub) found |= json_equal(sub, v);
        assert_true(found);
    }
}

static void check_references(const json_t *v)
{
    const char *key = NULL;
    json_t *sub = NULL;
    size_t i = 0;

    if (json_object_get(v, "$ref"))
        resolve(v);
    json_object_foreach((json_t *)(uintptr_t)v, key, sub) check_references(sub);
    json_array_foreach(v, i, sub) check_references(sub);
}

static void document_describes_every_route_and_its_references_lead_to_schemas(void **state)
{
    static const char *const key[] = { "get", "head", "post", "put", "patch", "delete" };
    const struct web_route *route = NULL;
    json_t *ids = json_object();

    (void)state;
    assert_string_equal(json_string_value(json_object_get(doc, "openapi")), "3.0.3");
    for (size_t i = 0; (route = web_route_at(&web_tables, i)); i++) {
        json_t *op = json_object_get(json_object_get(json_object_get(doc, "paths"), route->pattern),
                                     key[route->method]);
        size_t braces = 0, in_path = 0, n = 0;
        json_t *p = NULL;

        if (!op || !json_object_get(op, "responses") || !json_object_get(op, "summary"))
            fail_msg("%s is not described", route->pattern);
        const char *id = json_string_value(json_object_get(op, "operationId"));
        if (!id || json_object_get(ids, id))
            fail_msg("%s: operation %s is named twice", route->pattern, id ? id : "(none)");
        json_object_set_new(ids, id, json_true());
        for (const char *c = route->pattern; *c; c++)
            braces += *c == '{';
        json_array_foreach(json_object_get(op, "parameters"), n, p) in_path +=
            strcmp(json_string_value(json_object_get(p, "in")), "path") == 0;
        assert_int_equal(braces, in_path);
    }
    check_references(doc);
    json_decref(ids);
}

static void requests_and_answers_fit_their_schemas(void **state)
{
    static const struct {
        const char *method, *path, *body, *pattern;
    } cases[] = {
        { "GET", "/health", NULL, "/health" },
        { "GET", "/api/v1/studies", NULL, "/api/v1/studies" },
        { "GET", "/api/v1/searchers", NULL, "/api/v1/searchers" },
        { "POST", "/api/v1/studies:preview", "{\"dataset\":\"a\",\"target\":\"b\"}",
          "/api/v1/studies:preview" },
        { "POST", "/api/v1/studies", "{\"dataset\":\"a\",\"target\":\"b\"}", "/api/v1/studies" },
        { "GET", "/api/v1/studies/adult", NULL, "/api/v1/studies/{study}" },
        { "GET", "/api/v1/studies/adult/page", NULL, "/api/v1/studies/{study}/page" },
        { "GET", "/api/v1/studies/adult/changes", NULL, "/api/v1/studies/{study}/changes" },
        { "GET", "/api/v1/studies/adult/rows", NULL, "/api/v1/studies/{study}/rows" },
        { "GET", "/api/v1/studies/adult/leaderboard", NULL, "/api/v1/studies/{study}/leaderboard" },
        { "GET", "/api/v1/studies/adult/importance", NULL, "/api/v1/studies/{study}/importance" },
        { "GET", "/api/v1/studies/adult/pareto", NULL, "/api/v1/studies/{study}/pareto" },
        { "GET", "/api/v1/studies/adult/trials", NULL, "/api/v1/studies/{study}/trials" },
        { "GET", "/api/v1/trials/5", NULL, "/api/v1/trials/{trial}" },
        { "GET", "/api/v1/trials/5/epochs", NULL, "/api/v1/trials/{trial}/epochs" },
        { "GET", "/api/v1/trials/5/output?after=3&limit=20", NULL,
          "/api/v1/trials/{trial}/output" },
        { "GET", "/api/v1/trials/5/pipeline", NULL, "/api/v1/trials/{trial}/pipeline" },
        { "GET", "/api/v1/models/adult", NULL, "/api/v1/models/{model}" },
        { "POST", "/api/v1/models/trial:5/predict", "{\"rows\":[{\"a\":1}]}",
          "/api/v1/models/{model}/predict" },
        { "POST", "/api/v1/uploads", NULL, "/api/v1/uploads" },
        { "GET", "/api/v1/datasets", NULL, "/api/v1/datasets" },
        { "POST", "/api/v1/datasets", "{\"name\":\"a\",\"blob\":\"b\"}", "/api/v1/datasets" },
        { "GET", "/api/v1/runners", NULL, "/api/v1/runners" },
        { "POST", "/api/v1/runners",
          "{\"protocol\":1,\"name\":\"h\",\"session\":\"s\",\"numeric_sig\":\"x\",\"devices\":[]}",
          "/api/v1/runners" },
        { "GET", "/api/v1/session", NULL, "/api/v1/session" },
        { "GET", "/api/v1/sessions", NULL, "/api/v1/sessions" },
        { "POST", "/api/v1/session", "{\"token\":\"user-token\"}", "/api/v1/session" },
        { "GET", "/api/v1/tokens", NULL, "/api/v1/tokens" },
        { "POST", "/api/v1/links", NULL, "/api/v1/links" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct web_reply r =
            web_rig_call(rig, true, cases[i].method, cases[i].path, NULL, cases[i].body);
        bool is_get = cases[i].method[0] == 'G';
        json_t *op =
            json_object_get(json_object_get(json_object_get(doc, "paths"), cases[i].pattern),
                            is_get ? "get" : "post");
        json_t *answers = json_object_get(op, "responses"), *v = json_loads(r.body, 0, NULL);

        assert_true(r.status >= 200 && r.status < 300);
        check(json_object_get(
                  json_object_get(json_object_get(json_object_get(answers, "2XX"), "content"),
                                  "application/json"),
                  "schema"),
              v, cases[i].path);
        json_decref(v);
        web_reply_free(&r);
        if (json_object_get(op, "requestBody") && cases[i].body) {
            v = json_loads(cases[i].body, 0, NULL);
            check(
                json_object_get(
                    json_object_get(json_object_get(json_object_get(op, "requestBody"), "content"),
                                    "application/json"),
                    "schema"),
                v, "the request");
            json_decref(v);
        }
    }
}

static void errors_fit_the_problem_schema(void **state)
{
    struct web_reply r = web_rig_call(rig, true, "GET", "/api/v1/studies/err-1", NULL, NULL);
    json_t *ref = json_pack("{s:s}", "$ref", "#/components/schemas/Problem");
    json_t *v = json_loads(r.body, 0, NULL);

    (void)state;
    check(ref, v, "problem");
    json_decref(ref);
    json_decref(v);
    web_reply_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_describes_every_route_and_its_references_lead_to_schemas),
        cmocka_unit_test(requests_and_answers_fit_their_schemas),
        cmocka_unit_test(errors_fit_the_problem_schema),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
