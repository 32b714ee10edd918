/* openapi.c - GET /api/v1/openapi.json: an OpenAPI 3 document made from the route table, so that no route can
 * be missing from it, with the schemas below. Schemas say what a client may rely on; answers may hold more.
 * tests/web/test_openapi.c checks the document, and answers against it. */
#include "web/route.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "web/server.h"

#include <stdio.h>
#include <string.h>

struct schema {
    const char *name;
    const char *type; /* of the body that carries it */
    const char *json;
};

#define JSON      "application/json"
#define REF(name) "{\"$ref\":\"#/components/schemas/" name "\"}"
#define ID        "{\"type\":\"integer\",\"minimum\":1}"
#define NUM       "{\"type\":\"number\",\"nullable\":true}"
#define INT       "{\"type\":\"integer\",\"nullable\":true}"
#define STR       "{\"type\":\"string\"}"
#define TEXT      "{\"type\":\"string\",\"nullable\":true}"
#define OBJ       "{\"type\":\"object\",\"nullable\":true}"
#define LIST(key, item)                                                      \
    "{\"type\":\"object\",\"required\":[\"" key "\"],\"properties\":{\"" key \
    "\":{\"type\":\"array\",\"items\":" item "}}}"

static const struct schema schemas[] = {
    { "Problem", "application/problem+json",
      "{\"type\":\"object\",\"required\":[\"type\",\"title\",\"status\",\"detail\"],\"properties\":{"
      "\"type\":" STR ",\"title\":" STR ",\"status\":{\"type\":\"integer\"},\"detail\":" STR
      ",\"where\":" STR "}}" },
    { "Any", JSON, "{\"type\":\"object\"}" },
    { "Bytes", "application/octet-stream", "{\"type\":\"string\",\"format\":\"binary\"}" },
    { "Text", "text/plain", STR },
    { "Html", "text/html", STR },
    { "Events", "text/event-stream", STR },
    { "Spec", JSON,
      "{\"type\":\"object\",\"required\":[\"dataset\",\"target\"],\"properties\":{\"name\":" STR
      ",\"dataset\":" STR ",\"target\":" STR ",\"metric\":" STR ",\"budget\":{\"type\":\"object\"},"
      "\"seed\":{\"type\":\"integer\"}}}" },
    { "StudyPatch", JSON,
      "{\"type\":\"object\",\"properties\":{\"priority\":{\"type\":\"integer\"},"
      "\"budget\":{\"type\":\"object\"}}}" },
    { "Study", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"state\"],\"properties\":{\"id\":" ID
      ",\"name\":" STR
      ",\"state\":{\"type\":\"string\",\"enum\":[\"queued\",\"running\",\"paused\","
      "\"finishing\",\"completed\",\"stopped\",\"failed\"]}}}" },
    { "Searcher", JSON,
      "{\"type\":\"object\",\"required\":[\"name\",\"help\",\"options\"],\"properties\":{\"name\":" STR
      ",\"help\":" STR ",\"options\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}" },
    { "Searchers", JSON,
      "{\"type\":\"object\",\"required\":[\"samplers\",\"schedulers\"],\"properties\":{"
      "\"samplers\":{\"type\":\"array\",\"items\":" REF(
          "Searcher") "},"
                      "\"schedulers\":{\"type\":\"array\",\"items\":" REF("Searcher") "}}}" },
    { "PreviewLine", JSON,
      "{\"type\":\"object\",\"required\":[\"family\",\"level\",\"max_level\",\"typical\",\"most\"],"
      "\"properties\":{\"family\":" STR ",\"level\":" ID ",\"max_level\":" ID ",\"what\":" STR
      ",\"typical\":{\"type\":\"integer\"},\"most\":{\"type\":\"integer\"}}}" },
    { "Preview", JSON,
      "{\"type\":\"object\",\"required\":[\"sampler\",\"scheduler\",\"trials\",\"open\",\"lines\",\"cost\"],"
      "\"properties\":{\"sampler\":" STR ",\"sampler_why\":" TEXT ",\"scheduler\":" STR
      ",\"scheduler_why\":" TEXT ",\"deterministic\":{\"type\":\"boolean\"},\"trials\":" ID
      ",\"open\":{\"type\":\"boolean\"},\"scaled\":{\"type\":\"boolean\"},"
      "\"lines\":{\"type\":\"array\",\"items\":" REF("PreviewLine") "},\"cost\":" OBJ "}}" },
    { "StudyList", JSON, LIST("studies", REF("Study")) },
    { "LeaderboardRow", JSON,
      "{\"type\":\"object\",\"required\":[\"rank\",\"trial\",\"number\",\"family\",\"score\","
      "\"state\"],\"properties\":{\"rank\":" ID ",\"trial\":" ID ",\"number\":" ID
      ",\"family\":" STR ",\"config\":" OBJ ",\"score\":" NUM ",\"se\":" NUM ",\"test_score\":" NUM
      ",\"test_se\":" NUM ",\"level\":" INT ",\"max_level\":" INT ",\"fit_us\":" INT
      ",\"predict_ns_row\":" INT ",\"model_bytes\":" INT ",\"state\":" STR
      ",\"cut\":{\"type\":\"boolean\"},\"front\":{\"type\":\"boolean\"},"
      "\"artifact\":{\"type\":\"boolean\"}}}" },
    { "Leaderboard", JSON, LIST("rows", REF("LeaderboardRow")) },
    { "StudyRow", JSON,
      "{\"type\":\"object\",\"required\":[\"rank\",\"trial\",\"number\",\"family\",\"config\","
      "\"state\",\"reason\",\"score\",\"reported\"],\"properties\":{\"rank\":" INT ",\"trial\":" ID
      ",\"number\":" ID ",\"family\":" STR ",\"config\":" OBJ ",\"state\":" STR ",\"reason\":" STR
      ",\"detail\":" TEXT ",\"source\":" STR ",\"score\":" NUM ",\"reported\":" NUM ",\"se\":" NUM
      ",\"test_score\":" NUM ",\"test_se\":" NUM ",\"level\":" INT ",\"max_level\":" INT
      ",\"fit_us\":" INT ",\"predict_ns_row\":" INT ",\"model_bytes\":" INT ",\"started_at\":" INT
      ",\"ended_at\":" INT ",\"cut\":{\"type\":\"boolean\"},"
      "\"front\":{\"type\":\"boolean\"},\"artifact\":{\"type\":\"boolean\"}}}" },
    { "StudyPage", JSON,
      "{\"type\":\"object\",\"required\":[\"seq\",\"study\",\"rows\"],\"properties\":{"
      "\"seq\":{\"type\":\"integer\"},\"study\":" REF(
          "Study") ",\"rows\":{\"type\":\"array\",\"items\":" REF("StudyRow") "}}}" },
    { "StudyChanges", JSON,
      "{\"type\":\"object\",\"required\":[\"seq\",\"more\",\"reset\",\"study\",\"kept\","
      "\"rows\"],\"properties\":{\"seq\":{\"type\":\"integer\"},"
      "\"more\":{\"type\":\"boolean\"},\"reset\":{\"type\":\"boolean\"},"
      "\"kept\":{\"type\":\"array\",\"items\":" ID "},\"study\":" REF(
          "Study") ",\"rows\":{\"type\":\"array\",\"items\":" REF("StudyRow") "}}}" },
    { "StudyColumns", JSON,
      "{\"type\":\"object\",\"required\":[\"seq\",\"from\",\"count\",\"total\",\"next\","
      "\"families\",\"states\",\"reasons\",\"trial\",\"state\",\"reason\",\"family\",\"score\","
      "\"level\",\"max_level\",\"fit_us\",\"predict_ns_row\",\"model_bytes\",\"ended_at\","
      "\"flags\"],\"properties\":{\"seq\":{\"type\":\"integer\"},"
      "\"from\":{\"type\":\"integer\"},\"count\":{\"type\":\"integer\"},"
      "\"total\":{\"type\":\"integer\"},\"next\":" INT ",\"score\":{\"type\":\"array\","
      "\"items\":" NUM "},\"flags\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}}}" },
    { "StudyRows", JSON,
      "{\"type\":\"object\",\"required\":[\"seq\",\"rows\",\"next\"],\"properties\":{"
      "\"seq\":{\"type\":\"integer\"},\"next\":" INT
      ",\"rows\":{\"type\":\"array\",\"items\":" REF("StudyRow") "}}}" },
    { "Importance", JSON,
      "{\"type\":\"object\",\"required\":[\"method\",\"state\",\"trials\",\"parameters\"],"
      "\"properties\":{\"method\":{\"type\":\"string\",\"enum\":[\"ped_anova\",\"fanova\"]},"
      "\"state\":{\"type\":\"string\",\"enum\":[\"ready\",\"computing\",\"too_few\"]},"
      "\"trials\":{\"type\":\"integer\"},\"main_effects\":" NUM
      ",\"parameters\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\","
      "\"importance\"],\"properties\":{\"name\":" STR ",\"family\":" TEXT
      ",\"importance\":{\"type\":\"number\"}}}}}}" },
    { "Pareto", JSON,
      "{\"type\":\"object\",\"required\":[\"x\",\"y\",\"state\",\"rows\"],\"properties\":{\"x\":" STR
      ",\"y\":" STR ",\"facts\":{\"type\":\"array\",\"items\":" STR
      "},\"state\":{\"type\":\"string\",\"enum\":[\"ready\",\"computing\"]},"
      "\"compared\":{\"type\":\"integer\"},\"total\":{\"type\":\"integer\"},\"volume\":" NUM
      ",\"rows\":{\"type\":\"array\",\"items\":" REF("LeaderboardRow") "}}}" },
    { "Configuration", JSON,
      "{\"type\":\"object\",\"required\":[\"family\"],\"properties\":{\"family\":" STR "}}" },
    { "Trial", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"number\",\"state\"],\"properties\":{\"id\":" ID
      ",\"number\":" ID
      ",\"state\":{\"type\":\"string\",\"enum\":[\"queued\",\"running\",\"paused\","
      "\"completed\",\"pruned\",\"failed\",\"cancelled\"]},\"score\":" NUM "}}" },
    { "TrialList", JSON, LIST("trials", REF("Trial")) },
    { "TrialLog", JSON, "{\"type\":\"object\"}" },
    { "Upload", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"size\"],\"properties\":{\"id\":" STR
      ",\"size\":{\"type\":\"integer\"}}}" },
    { "UploadNew", JSON,
      "{\"type\":\"object\",\"properties\":{\"trial\":" INT ",\"task\":" INT ",\"fence\":" INT
      "}}" },
    { "UploadCommit", JSON,
      "{\"type\":\"object\",\"required\":[\"sha256\"],\"properties\":{\"sha256\":" STR
      ",\"kind\":" STR "}}" },
    { "Blob", JSON,
      "{\"type\":\"object\",\"required\":[\"sha256\",\"bytes\"],\"properties\":{\"sha256\":" STR
      ",\"bytes\":{\"type\":\"integer\"}}}" },
    { "DatasetNew", JSON,
      "{\"type\":\"object\",\"required\":[\"name\",\"blob\"],\"properties\":{\"name\":" STR
      ",\"blob\":" STR ",\"file_name\":" STR ",\"columns\":{\"type\":\"object\"}}}" },
    { "Dataset", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"state\"],\"properties\":{\"id\":" ID
      ",\"name\":" STR ",\"state\":" STR ",\"rows\":" INT ",\"error\":" TEXT "}}" },
    { "DatasetList", JSON, LIST("datasets", REF("Dataset")) },
    { "RunnerHello", JSON, "{\"type\":\"object\"}" },
    { "RunnerWelcome", JSON,
      "{\"type\":\"object\",\"required\":[\"runner\",\"lease_ms\"],\"properties\":{\"runner\":" ID
      ",\"lease_ms\":{\"type\":\"integer\"}}}" },
    { "RunnerAsk", JSON, "{\"type\":\"object\"}" },
    { "RunnerGrant", JSON, "{\"type\":\"object\"}" },
    { "RunnerReport", JSON, "{\"type\":\"object\"}" },
    { "RunnerAnswer", JSON, "{\"type\":\"object\"}" },
    { "Runner", JSON,
      "{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":" ID ",\"name\":" STR
      "}}" },
    { "RunnerList", JSON, LIST("runners", REF("Runner")) },
    { "Health", JSON, "{\"type\":\"object\"}" },
    { "Session", JSON,
      "{\"type\":\"object\",\"required\":[\"role\",\"name\",\"session\"],\"properties\":{\"role\":" STR
      ",\"name\":" STR ",\"session\":" INT ",\"secret\":" STR ",\"dev\":{\"type\":\"boolean\"}}}" },
    { "SessionNew", JSON,
      "{\"type\":\"object\",\"required\":[\"token\"],\"additionalProperties\":false,"
      "\"properties\":{\"token\":{\"type\":\"string\",\"maxLength\":200}}}" },
    { "SessionRow", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"role\",\"token\"],\"properties\":{\"id\":" ID
      ",\"name\":" STR ",\"role\":" STR ",\"token\":" INT ",\"created_at\":" INT ",\"seen_at\":" INT
      ",\"ends_at\":" INT "}}" },
    { "SessionList", JSON, LIST("sessions", REF("SessionRow")) },
    { "TicketNew", JSON,
      "{\"type\":\"object\",\"required\":[\"path\"],\"additionalProperties\":false,"
      "\"properties\":{\"path\":{\"type\":\"string\",\"maxLength\":1024}}}" },
    { "Ticket", JSON,
      "{\"type\":\"object\",\"required\":[\"ticket\"],\"properties\":{\"ticket\":" STR "}}" },
    { "LinkNew", JSON,
      "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"role\":{"
      "\"type\":\"string\",\"nullable\":true,\"enum\":[\"viewer\",\"user\",\"admin\",null]}}}" },
    { "TokenNew", JSON,
      "{\"type\":\"object\",\"required\":[\"name\",\"role\"],\"properties\":{\"name\":" STR
      ",\"role\":{\"type\":\"string\",\"enum\":[\"viewer\",\"runner\",\"user\",\"admin\"]}}}" },
    { "Token", JSON, "{\"type\":\"object\"}" },
    { "TokenList", JSON, LIST("tokens", REF("Token")) },
    { "Link", JSON,
      "{\"type\":\"object\",\"required\":[\"path\"],\"properties\":{\"path\":" STR ",\"url\":" TEXT
      "}}" },
    { "BackupNew", JSON, "{\"type\":\"object\",\"properties\":{\"name\":" STR "}}" },
    { "Backup", JSON, "{\"type\":\"object\"}" },
};

static const struct schema *schema_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
        if (strcmp(schemas[i].name, name) == 0)
            return &schemas[i];
    }
    CHECK(!"a route names a schema that is not there");
    return NULL;
}

/* {"<type>": {"schema": {"$ref": ...}}} */
static json_t *content_new(const char *schema)
{
    const struct schema *s = schema_find(schema);
    char ref[80];

    (void)!snprintf(ref, sizeof ref, "#/components/schemas/%s", schema);
    return json_pack("{s:{s:{s:s}}}", s->type, "schema", "$ref", ref);
}

/* The same for a body: what is JSON may come as YAML. */
static json_t *body_content_new(const char *schema)
{
    json_t *o = content_new(schema), *json = json_object_get(o, "application/json");

    if (json)
        json_object_set(o, "application/yaml", json);
    return o;
}

static void parameter_add(json_t *list, const char *name, size_t n, const char *in)
{
    json_array_append_new(list, json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name", name, n, "in", in,
                                          "required", strcmp(in, "path") == 0, "schema", "type",
                                          "string"));
}

static json_t *parameters_new(const struct web_route *route)
{
    json_t *list = json_array();

    for (const char *p = strchr(route->pattern, '{'); p; p = strchr(p, '{')) {
        size_t n = strcspn(++p, "}");

        parameter_add(list, p, n, "path");
    }
    for (const char *q = route->query; q && *q;) {
        size_t n = strcspn(q, ",");

        parameter_add(list, q, n, "query");
        q += n + (q[n] == ',');
    }
    if (route->flags & WEB_ONCE)
        parameter_add(list, "Idempotency-Key", strlen("Idempotency-Key"), "header");
    return list;
}

static json_t *operation_new(const struct web_route *route)
{
    json_t *answers = json_object(), *op = NULL;

    if (route->gives) {
        json_object_set_new(
            answers, "2XX",
            json_pack("{s:s, s:o}", "description", "done", "content", content_new(route->gives)));
    } else {
        json_object_set_new(answers, "204", json_pack("{s:s}", "description", "done"));
    }
    json_object_set_new(
        answers, "default",
        json_pack("{s:s, s:o}", "description", "refused", "content", content_new("Problem")));
    op = json_pack("{s:s, s:o, s:o}", "summary", route->summary, "parameters",
                   parameters_new(route), "responses", answers);
    if (route->takes)
        json_object_set_new(op, "requestBody",
                            json_pack("{s:b, s:o}", "required",
                                      (route->flags & (WEB_JSON | WEB_RAW)) != 0, "content",
                                      body_content_new(route->takes)));
    if (route->flags & WEB_OPEN)
        json_object_set_new(op, "security", json_array());
    return op;
}

static json_t *paths_new(void)
{
    static const char *const key[] = { "get", "head", "post", "put", "patch", "delete" };
    json_t *paths = json_object();
    const struct web_route *route = NULL;

    for (size_t i = 0; (route = web_route_at(i)); i++) {
        json_t *item = json_object_get(paths, route->pattern);

        if (!item) {
            item = json_object();
            json_object_set_new(paths, route->pattern, item);
        }
        json_object_set_new(item, key[route->method], operation_new(route));
    }
    return paths;
}

json_t *web_openapi_new(void)
{
    json_t *all = json_object();

    for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
        json_t *schema =
            jsonx_load(schemas[i].json, strlen(schemas[i].json), schemas[i].name, NULL);

        CHECK(schema);
        json_object_set_new(all, schemas[i].name, schema);
    }
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:o, s:{s:{s:s, s:s}}}, s:[{s:[]}]}",
                     "openapi", "3.0.3", "info", "title", "Assay", "version", "1", "description",
                     "Search over pipelines and hyperparameters as a service", "paths", paths_new(),
                     "components", "schemas", all, "securitySchemes", "token", "type", "http",
                     "scheme", "bearer", "security", "token");
}
