/* params.c - see params.h. The schemas say exactly what the handlers refuse. Clients and tests that
 * are generated from the description (tests/api/check.sh) are then refused only for what does or
 * does not exist. Called by openapi.c. */
#include "web/api/params.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define ID          "{\"type\":\"integer\",\"minimum\":1,\"maximum\":9223372036854775807}"
#define NAME        "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_][A-Za-z0-9._-]{0,119}$\"}"
#define HEX32       "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{32}$\"}"
#define BOOL        "{\"type\":\"boolean\"}"
#define TO(max)     "{\"type\":\"integer\",\"minimum\":0,\"maximum\":" max "}"
#define FROM_1(max) "{\"type\":\"integer\",\"minimum\":1,\"maximum\":" max "}"
#define INT31       "2147483647"
#define INT63       "9223372036854775807"
#define FACT                                                                                  \
    "{\"type\":\"string\",\"enum\":[\"score\",\"fit_us\",\"predict_ns_row\",\"model_bytes\"," \
    "\"value_2\",\"value_3\",\"value_4\"]}"

/* The first row that fits counts: by the name of the parameter, and by the end of the address (NULL
 * = any). */
static const struct {
    const char *name, *route, *json;
} params[] = {
    { "study", NULL, NAME },
    { "dataset", NULL, NAME },
    { "model", NULL,
      "{\"type\":\"string\",\"pattern\":\"^([A-Za-z0-9_][A-Za-z0-9._-]{0,119}|"
      "trial:[1-9][0-9]{0,17})$\"}" },
    { "format", NULL, "{\"type\":\"string\",\"enum\":[\"json\",\"csv\"]}" },
    { "missing_columns", NULL, "{\"type\":\"string\",\"enum\":[\"error\",\"missing\"]}" },
    { "bad_cells", NULL, "{\"type\":\"string\",\"enum\":[\"missing\",\"error\"]}" },
    { "threshold", NULL, "{\"type\":\"number\",\"minimum\":0,\"maximum\":1}" },
    { "interval", NULL,
      "{\"type\":\"number\",\"minimum\":0,\"exclusiveMinimum\":true,\"maximum\":1,"
      "\"exclusiveMaximum\":true}" },
    { "trial", NULL, ID },
    { "runner", NULL, ID },
    { "token", NULL, ID },
    { "session", NULL, ID },
    { "upload", NULL, HEX32 },
    { "sha256", NULL, "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"}" },
    { "file", NULL, "{\"type\":\"string\",\"pattern\":\"^[a-z]+[.][a-z]+$\"}" },
    { "verb", NULL, "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}" },
    { "code", NULL, HEX32 },
    { "ticket", NULL, HEX32 },
    { "archived", NULL, BOOL },
    { "load_if_exists", NULL, BOOL },
    { "config", NULL, BOOL },
    { "brief", NULL, BOOL },
    { "after", "/columns", TO(INT31) },
    { "after", "/rows", TO(INT31) },
    { "after", NULL, TO(INT63) },
    { "offset", "/leaderboard", TO(INT31) },
    { "offset", NULL, TO("1099507433472") },
    { "limit", "/columns", FROM_1("10000") },
    { "limit", "/output", FROM_1("200") },
    { "limit", NULL, FROM_1("1000") },
    { "numbers", NULL,
      "{\"type\":\"string\",\"pattern\":\"^[1-9][0-9]{0,6}(,[1-9][0-9]{0,6}){0,20}$\"}" },
    { "ids", NULL, /* at most 100 */
      "{\"type\":\"string\",\"pattern\":\"^([1-9][0-9]{0,17}(,[1-9][0-9]{0,17}){0,99})?$\"}" },
    { "method", NULL, "{\"type\":\"string\",\"enum\":[\"ped_anova\",\"fanova\"]}" },
    { "x", NULL, FACT },
    { "y", NULL, FACT },
    { "state", "/studies",
      "{\"type\":\"string\",\"enum\":[\"\",\"queued\",\"running\",\"paused\",\"finishing\","
      "\"completed\",\"stopped\",\"failed\"]}" },
    { "sort", "/trials", "{\"type\":\"string\",\"enum\":[\"number\",\"-number\",\"score\"]}" },
    { "Idempotency-Key", NULL, "{\"type\":\"string\",\"pattern\":\"^[!-~][ -~]{0,254}$\"}" },
};

static json_t *schema_new(const char *name, size_t n, const struct web_route *route)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++) {
        const char *end = params[i].route;
        size_t len = strlen(route->pattern), k = end ? strlen(end) : 0;

        if (strlen(params[i].name) == n && memcmp(params[i].name, name, n) == 0 &&
            (!end || (len >= k && strcmp(route->pattern + len - k, end) == 0))) {
            json_t *schema = jsonx_load(params[i].json, strlen(params[i].json), name, NULL);

            CHECK(schema);
            return schema;
        }
    }
    return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[ -~]*$");
}

/* The route refuses a request without this parameter. */
static bool is_needed(const struct web_route *route, const char *name, const char *in)
{
    return strcmp(in, "path") == 0 || str_starts(name, "code") ||
           (str_starts(name, "offset") && route->method == WEB_PUT);
}

static void add(json_t *list, const struct web_route *route, const char *name, size_t n,
                const char *in)
{
    json_array_append_new(list, json_pack("{s:s%, s:s, s:b, s:o}", "name", name, n, "in", in,
                                          "required", is_needed(route, name, in), "schema",
                                          schema_new(name, n, route)));
}

json_t *params_new(const struct web_route *route)
{
    json_t *list = json_array();

    for (const char *p = strchr(route->pattern, '{'); p; p = strchr(p, '{')) {
        size_t n = strcspn(++p, "}");

        add(list, route, p, n, "path");
    }
    for (const char *q = route->query; q && *q;) {
        size_t n = strcspn(q, ",");

        add(list, route, q, n, "query");
        q += n + (q[n] == ',');
    }
    if (route->flags & WEB_ONCE)
        add(list, route, "Idempotency-Key", strlen("Idempotency-Key"), "header");
    return list;
}
