/* openapi.c - GET /api/v1/openapi.json: an OpenAPI 3 document made from the route table, so that no
 * route can be missing from it, with the schemas below. Schemas say what a client may rely on;
 * answers may hold more. tests/web/api/test_openapi.c checks the document, and answers against it.
 */
#include "web/api/openapi.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/api/params.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct schema {
    const char *name;
    const char *type; /* of the body that carries it */
    const char *json;
};

#define JSON           "application/json"
#define JSON_OR_CSV    "application/json, text/csv"
#define REF(name)      "{\"$ref\":\"#/components/schemas/" name "\"}"
#define ID             "{\"type\":\"integer\",\"minimum\":1,\"maximum\":9223372036854775807}"
#define NUM            "{\"type\":\"number\",\"nullable\":true}"
#define INT            "{\"type\":\"integer\",\"nullable\":true}"
#define STR            "{\"type\":\"string\"}"
#define TEXT           "{\"type\":\"string\",\"nullable\":true}"
#define OBJ            "{\"type\":\"object\",\"nullable\":true}"
#define NULLABLE(type) "{\"type\":\"" type "\",\"nullable\":true}"
#define NAME(most)     "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_][A-Za-z0-9._-]{0," most "}$\"}"
#define ID_OR_NULL \
    "{\"type\":\"integer\",\"nullable\":true,\"minimum\":1,\"maximum\":9223372036854775807}"
#define NAME_OR_NULL \
    "{\"type\":\"string\",\"nullable\":true,\"pattern\":\"^[A-Za-z0-9_][A-Za-z0-9._-]{0,119}$\"}"
#define HASH          "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"}"
#define WORD          "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_][A-Za-z0-9._/-]{0,23}$\"}"
#define CLIENT        "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_][A-Za-z0-9._-]{0,31}$\"}"
#define LEVEL         "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000}"
#define LEVEL_OR_NULL "{\"type\":\"integer\",\"nullable\":true,\"minimum\":1,\"maximum\":10000}"
#define TELLER        "\"client\":" CLIENT ",\"lease\":" ID ",\"ask\":{\"type\":\"boolean\"}"
#define VALUES        "{\"type\":\"array\",\"minItems\":1,\"maxItems\":4,\"items\":{\"type\":\"number\"}}"
#define CLOSED        "\"additionalProperties\":false"
#define SESSION       "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9]{1,32}$\"}"
#define FOLLOWS       "{\"type\":\"string\",\"nullable\":true,\"pattern\":\"^[A-Za-z0-9]{0,32}$\"}"
#define ITEMS(type)   "{\"type\":\"array\",\"items\":" type "}"
#define LIST(key, item)                                                      \
    "{\"type\":\"object\",\"required\":[\"" key "\"],\"properties\":{\"" key \
    "\":{\"type\":\"array\",\"items\":" item "}}}"
#define AHEAD   "{\"type\":\"integer\",\"nullable\":true,\"minimum\":0,\"maximum\":255}"
#define WAIT    "{\"type\":\"integer\",\"nullable\":true,\"minimum\":0,\"maximum\":60000}"
#define HOLDING "{\"type\":\"array\",\"nullable\":true,\"maxItems\":256,\"items\":" ID "}"
/* One of the forms of a result among many. */
#define RESULT(key, type)                                                         \
    "{\"required\":[\"trial\",\"lease\",\"" key "\"]," CLOSED ",\"properties\":{" \
    "\"trial\":" ID ",\"lease\":" ID ",\"" key "\":" type "}}"

static const struct schema schemas[] = {
    { "Problem", "application/problem+json",
      "{\"type\":\"object\",\"required\":[\"type\",\"title\",\"status\",\"detail\"],\"properties\":{"
      "\"type\":" STR ",\"title\":" STR ",\"status\":{\"type\":\"integer\"},\"detail\":" STR
      ",\"where\":" STR "}}" },
    { "Any", JSON, "{\"type\":\"object\"}" },
    { "Bytes", "application/octet-stream", "{\"type\":\"string\",\"format\":\"binary\"}" },
    { "Text", "text/plain", STR },
    { "Csv", "text/csv", "{\"type\":\"string\",\"minLength\":1}" },
    { "Html", "text/html", STR },
    { "Events", "text/event-stream", STR },
    { "Spec", JSON, /* docs/SPEC.md has all of it */
      "{\"type\":\"object\"," CLOSED ",\"properties\":{\"name\":" NAME_OR_NULL ",\"dataset\":" NAME(
          "119") ",\"target\":{\"type\":\"string\",\"minLength\":1},\"columns\":" OBJ
                 ",\"positive\":{},\"task\":" TEXT ",\"metric\":" TEXT
                 ",\"validation\":{},\"test\":{},"
                 "\"budget\":" OBJ ",\"stop\":" OBJ ",\"priority\":" INT
                 ",\"sampler\":{},\"scheduler\":{},"
                 "\"seed\":" INT ",\"deterministic\":" NULLABLE(
                     "boolean") ",\"parallel\":" INT ",\"space\":{},"
                                "\"enqueue\":{},\"warm_start\":{},\"objectives\":{},\"monotone\":{},\"resource\":{},"
                                "\"groups\":{},\"time\":{},\"weights\":{},\"goal\":{},"
                                "\"levels\":" INT
                                ",\"lost_after\":{},\"constraints\":{},\"command\":{},\"environment\":{},"
                                "\"files\":{},\"gpus\":" INT ",\"limits\":{},\"retry\":{}}}" },
    { "StudyPatch", JSON,
      "{\"type\":\"object\"," CLOSED ",\"properties\":{\"priority\":{\"type\":\"integer\","
      "\"nullable\":true,\"minimum\":-1000,\"maximum\":1000},\"budget\":{\"type\":\"object\","
      "\"nullable\":true," CLOSED ",\"properties\":{\"time_ms\":{\"type\":\"integer\","
      "\"nullable\":true,\"minimum\":1,\"maximum\":31622400000},\"trials\":{\"type\":\"integer\","
      "\"nullable\":true,\"minimum\":1,\"maximum\":1000000000}}}}}" },
    { "Study", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"state\"],\"properties\":{\"id\":" ID
      ",\"name\":" STR
      ",\"state\":{\"type\":\"string\",\"enum\":[\"queued\",\"running\",\"paused\","
      "\"finishing\",\"completed\",\"stopped\",\"failed\",\"damaged\"]},\"reason\":" TEXT
      ",\"why\":" TEXT ",\"warnings\":{\"type\":\"array\",\"items\":" REF("Warning") "}}}" },
    { "Warning", JSON,
      "{\"type\":\"object\",\"required\":[\"code\",\"column\",\"text\"],\"properties\":{\"code\":" STR
      ",\"column\":" STR ",\"text\":" STR "}}" },
    { "StudyDump", JSON,
      "{\"type\":\"object\",\"required\":[\"study\",\"trials\",\"next\",\"error\"],"
      "\"properties\":{\"study\":" OBJ ",\"trials\":{\"type\":\"array\",\"items\":{\"type\":"
      "\"object\"}},\"next\":" INT ",\"error\":" TEXT "}}" },
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
      "\"lines\":{\"type\":\"array\",\"items\":" REF("PreviewLine") "},\"preparation\":" ITEMS(
          "{\"type\":\"object\",\"required\":[\"family\",\"parameter\",\"choices\"],\"properties\":{"
          "\"family\":" STR ",\"parameter\":" STR ",\"choices\":" ITEMS(STR) "}}") ",\"cost\":" OBJ
                                                                                   "}}" },
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
      "{\"type\":\"object\",\"required\":[\"family\"],\"properties\":{\"family\":{\"type\":\"string\","
      "\"minLength\":1}}}" },
    { "Trial", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"number\",\"state\"],\"properties\":{\"id\":" ID
      ",\"number\":" ID
      ",\"state\":{\"type\":\"string\",\"enum\":[\"queued\",\"running\",\"paused\","
      "\"completed\",\"pruned\",\"failed\",\"cancelled\"]},\"score\":" NUM "}}" },
    { "Suggest", JSON,
      "{\"type\":\"object\",\"required\":[\"client\"]," CLOSED ",\"properties\":{\"client\":" CLIENT
      ",\"count\":{\"type\":\"integer\",\"nullable\":true,\"minimum\":1,\"maximum\":256},\"ahead\":" AHEAD
      ",\"holding\":" HOLDING ",\"wait_ms\":" WAIT "}}" },
    { "Suggestion", JSON,
      "{\"type\":\"object\",\"required\":[\"trial\",\"number\",\"lease\",\"params\",\"level\","
      "\"run_to\",\"levels\"],\"properties\":{\"trial\":" ID ",\"number\":" ID ",\"lease\":" ID
      ",\"params\":{\"type\":\"object\"},\"level\":{\"type\":\"integer\"},\"run_to\":" ID
      ",\"levels\":" ID "}}" },
    { "Suggestions", JSON,
      "{\"type\":\"object\",\"required\":[\"state\",\"trials\",\"done\",\"wait_ms\"],"
      "\"properties\":{\"state\":" STR ",\"trials\":" ITEMS(REF(
          "Suggestion")) ",\"done\":{\"type\":\"boolean\"},\"wait_ms\":{\"type\":\"integer\"}}}" },
    { "Report", JSON, /* a value at a level, or only that the trial still runs */
      "{\"type\":\"object\",\"anyOf\":[{\"required\":[\"client\",\"lease\",\"level\",\"value\"]," CLOSED
      ",\"properties\":{" TELLER ",\"level\":" LEVEL ",\"value\":{\"type\":\"number\"}}},"
      "{\"required\":[\"client\",\"lease\",\"level\",\"values\"]," CLOSED ",\"properties\":{" TELLER
      ",\"level\":" LEVEL ",\"values\":" VALUES "}},"
      "{\"required\":[\"client\",\"lease\"]," CLOSED ",\"properties\":{" TELLER "}}]}" },
    { "Completion", JSON, /* a value (null: the program got none), or why there is none */
      "{\"type\":\"object\",\"anyOf\":[{\"required\":[\"client\",\"lease\"]," CLOSED
      ",\"properties\":{" TELLER ",\"level\":" LEVEL_OR_NULL ",\"value\":" NUM "}},"
      "{\"required\":[\"client\",\"lease\",\"values\"]," CLOSED ",\"properties\":{" TELLER
      ",\"level\":" LEVEL_OR_NULL ",\"values\":" VALUES "}},"
      "{\"required\":[\"client\",\"lease\",\"failed\"]," CLOSED ",\"properties\":{" TELLER
      ",\"level\":" LEVEL_OR_NULL ",\"failed\":{\"type\":\"string\",\"maxLength\":1000}}}]}" },
    { "Verdict", JSON,
      "{\"type\":\"object\",\"required\":[\"trial\",\"verdict\",\"level\",\"run_to\"],"
      "\"properties\":{\"trial\":" ID ",\"verdict\":{\"type\":\"string\",\"enum\":[\"continue\","
      "\"pause\",\"stop\",\"completed\",\"failed\",\"gone\"]},\"level\":{\"type\":\"integer\"},"
      "\"run_to\":{\"type\":\"integer\"},\"next\":" REF("Suggestions") "}}" },
    { "Results", JSON,
      "{\"type\":\"object\",\"required\":[\"client\",\"results\"]," CLOSED ",\"properties\":{"
      "\"client\":" CLIENT ",\"count\":{\"type\":\"integer\",\"nullable\":true,\"minimum\":0,"
      "\"maximum\":256},\"ahead\":" AHEAD ",\"holding\":" HOLDING ",\"wait_ms\":" WAIT
      ",\"results\":{\"type\":\"array\",\"maxItems\":256,"
      "\"items\":" REF("Result") "}},\"example\":{\"client\":\"c\",\"count\":1,\"results\":["
                                 "{\"trial\":1,\"lease\":1,\"value\":0.5}]}}" },
    { "Result", JSON, /* a value (null: the program got none), why there is none, or given back */
      "{\"type\":\"object\",\"anyOf\":[" RESULT("value", NUM) "," RESULT("values", VALUES) "," RESULT(
          "failed",
          "{\"type\":\"string\",\"maxLength\":1000}") "," RESULT("released",
                                                                 "{\"type\":\"boolean\",\"enum\":[true]}") "]}" },
    { "Taken", JSON,
      "{\"type\":\"object\",\"required\":[\"trial\",\"verdict\"],\"properties\":{\"trial\":" ID
      ",\"verdict\":{\"type\":\"string\",\"enum\":[\"completed\",\"failed\",\"stop\",\"pause\","
      "\"gone\",\"released\",\"refused\"]},\"where\":" STR ",\"detail\":" STR "}}" },
    { "Verdicts", JSON,
      "{\"type\":\"object\",\"required\":[\"results\"],\"properties\":{\"results\":" ITEMS(
          REF("Taken")) ",\"next\":" REF("Suggestions") "}}" },
    { "Model", JSON,
      "{\"type\":\"object\",\"required\":[\"model\",\"description\"],\"properties\":{"
      "\"model\":" HASH ",\"description\":{\"type\":\"object\"}}}" },
    { "PredictRows", JSON_OR_CSV, /* the model says which columns there are */
      "{\"type\":\"object\",\"required\":[\"rows\"]," CLOSED ",\"properties\":{\"columns\":" ITEMS(
          STR) ",\"rows\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":100000,"
               "\"items\":{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"array\",\"items\":{}}]}}},"
               "\"example\":{\"rows\":[{\"age\":39,\"job\":\"nurse\"},{\"age\":null,\"job\":\"cook\"}]}}" },
    { "Predictions",
      JSON_OR_CSV, /* classes and probabilities: where the target is one of classes; interval, lower and
                       upper: where an interval is asked for */
      "{\"type\":\"object\",\"required\":[\"model\",\"rows\",\"predictions\",\"notes\"],"
      "\"properties\":{\"model\":" HASH ",\"rows\":" ID ",\"predictions\":{\"type\":\"array\","
      "\"items\":{}},\"classes\":" ITEMS(STR) ",\"probabilities\":" ITEMS(ITEMS(NUM)) ",\"interval\":{\"type\":\"number\"},\"lower\":" ITEMS(
          NUM) ",\"upper\":" ITEMS(NUM) ",\"notes\":" ITEMS(STR) "}}" },
    { "TrialList", JSON, LIST("trials", REF("Trial")) },
    { "TrialLog", JSON, "{\"type\":\"object\"}" },
    { "EpochRun", JSON, /* lists of one length; null where a number is not known */
      "{\"type\":\"object\",\"required\":[\"level\",\"folds\",\"metric\",\"larger_is_better\","
      "\"epoch\",\"train_loss\",\"score\",\"learning_rate\",\"gradient_norm\",\"samples_per_s\","
      "\"fence\"],\"properties\":{\"level\":" ID ",\"folds\":" ID ",\"metric\":" STR
      ",\"larger_is_better\":{\"type\":\"boolean\"},\"epoch\":" ITEMS(ID) ",\"train_loss\":" ITEMS(NUM) ",\"score\":" ITEMS(NUM) ",\"learning_rate\":" ITEMS(
          NUM) ",\"gradient_norm\":" ITEMS(NUM) ",\"samples_per_s\":" ITEMS(NUM) ",\"fence\":" ITEMS(INT) "}}" },
    { "TrialEpochs", JSON,
      "{\"type\":\"object\",\"required\":[\"trial\",\"number\",\"state\",\"live\",\"runs\"],"
      "\"properties\":{\"trial\":" ID ",\"study\":" ID ",\"number\":" ID ",\"state\":" STR
      ",\"live\":{\"type\":\"boolean\"},\"runs\":" ITEMS(REF("EpochRun")) "}}" },
    { "TrialOutput", JSON,
      "{\"type\":\"object\",\"required\":[\"trial\",\"number\",\"state\",\"live\",\"more\",\"next\","
      "\"pieces\"],\"properties\":{\"trial\":" ID ",\"study\":" ID ",\"number\":" ID
      ",\"state\":" STR
      ",\"live\":{\"type\":\"boolean\"},\"more\":{\"type\":\"boolean\"},\"next\":{\"type\":\"integer\"},"
      "\"pieces\":" ITEMS("{\"type\":\"object\",\"required\":[\"piece\",\"lease\",\"at\",\"text\"],"
                          "\"properties\":{\"piece\":" ID ",\"lease\":" ID
                          ",\"at\":{\"type\":\"integer\"},\"text\":" STR "}}") "}}" },
    { "PipelineGroup", JSON, /* columns with the same steps; the names of the first */
      "{\"type\":\"object\",\"required\":[\"type\",\"n\",\"columns\",\"inputs\",\"steps\"],"
      "\"properties\":{\"type\":" STR
      ",\"n\":{\"type\":\"integer\"},\"columns\":" ITEMS(STR) ",\"inputs\":{\"type\":\"integer\"},\"width\":{\"type\":\"integer\"},\"steps\":" ITEMS(
          "{\"type\":\"object\",\"required\":[\"say\",\"inputs\"],\"properties\":{\"say\":" STR
          ",\"inputs\":{\"type\":\"integer\"}}}") "}}" },
    { "Pipeline", JSON,
      "{\"type\":\"object\",\"nullable\":true,\"required\":[\"form\",\"columns\",\"inputs\","
      "\"groups\",\"dropped\"],\"properties\":{\"form\":" STR
      ",\"columns\":{\"type\":\"integer\"},\"inputs\":{\"type\":\"integer\"},"
      "\"width\":{\"type\":\"integer\"},\"groups\":" ITEMS(REF("PipelineGroup")) ",\"dropped\":" ITEMS(
          "{\"type\":\"object\",\"required\":[\"why\",\"n\",\"columns\"],\"properties\":{"
          "\"why\":" STR ",\"n\":{\"type\":\"integer\"},\"columns\":" ITEMS(STR) "}}") "}}" },
    { "TrialPipeline", JSON,
      "{\"type\":\"object\",\"required\":[\"trial\",\"number\",\"family\",\"pipeline\"],"
      "\"properties\":{\"trial\":" ID ",\"study\":" ID ",\"number\":" ID ",\"family\":" TEXT
      ",\"config\":{\"type\":\"object\",\"nullable\":true},\"pipeline\":" REF("Pipeline") "}}" },
    { "Upload", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"size\"],\"properties\":{\"id\":" STR
      ",\"size\":{\"type\":\"integer\"}}}" },
    { "UploadNew", JSON,
      "{\"type\":\"object\"," CLOSED ",\"properties\":{\"trial\":" ID_OR_NULL
      ",\"task\":" ID_OR_NULL ",\"fence\":{\"type\":\"integer\",\"nullable\":true,\"minimum\":0,"
      "\"maximum\":9223372036854775807}}}" },
    { "UploadCommit", JSON,
      "{\"type\":\"object\",\"required\":[\"sha256\"]," CLOSED ",\"properties\":{\"sha256\":" HASH
      ",\"kind\":{\"type\":\"string\",\"nullable\":true,\"pattern\":\"^[A-Za-z0-9_][A-Za-z0-9._-]{0,30}$\"}}}" },
    { "Blob", JSON,
      "{\"type\":\"object\",\"required\":[\"sha256\",\"bytes\"],\"properties\":{\"sha256\":" STR
      ",\"bytes\":{\"type\":\"integer\"}}}" },
    { "DatasetNew", JSON,
      "{\"type\":\"object\",\"required\":[\"blob\"]," CLOSED
      ",\"properties\":{\"name\":" NAME_OR_NULL ",\"blob\":" HASH
      ",\"file_name\":{\"type\":\"string\",\"nullable\":true,\"minLength\":1,"
      "\"maxLength\":120},\"columns\":{\"type\":\"object\",\"nullable\":true,"
      "\"additionalProperties\":{\"oneOf\":[{\"type\":\"string\",\"enum\":[\"numeric\",\"categorical\","
      "\"label\",\"ignore\",\"date\",\"date_dmy\",\"date_mdy\",\"date_ymd\",\"epoch_s\",\"epoch_ms\",\"yyyymmdd\","
      "\"text\",\"list\"]},{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\"},"
      "\"missing\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}]}}}}" },
    { "Dataset", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"state\"],\"properties\":{\"id\":" ID
      ",\"name\":" STR ",\"state\":" STR ",\"rows\":" INT ",\"error\":" TEXT "}}" },
    { "DatasetList", JSON, LIST("datasets", REF("Dataset")) },
    { "RunnerHello", JSON, /* docs/PROTOCOL.md */
      "{\"type\":\"object\",\"required\":[\"protocol\",\"name\",\"session\",\"numeric_sig\",\"devices\"],"
      "\"properties\":{\"protocol\":{\"type\":\"integer\",\"enum\":[1]},\"name\":" STR
      ",\"session\":" SESSION ",\"follows\":" FOLLOWS ",\"numeric_sig\":" STR ",\"labels\":" TEXT
      ",\"devices\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":64,\"items\":{\"type\":\"object\","
      "\"required\":[\"id\",\"kind\",\"max_lanes\"],\"properties\":{\"id\":" WORD ",\"kind\":" STR
      ",\"max_lanes\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":256}}}}}}" },
    { "RunnerWelcome", JSON,
      "{\"type\":\"object\",\"required\":[\"runner\",\"lease_ms\"],\"properties\":{\"runner\":" ID
      ",\"lease_ms\":{\"type\":\"integer\"}}}" },
    { "RunnerAsk", JSON,
      "{\"type\":\"object\",\"required\":[\"session\",\"n\",\"device\",\"max_lanes\"],\"properties\":{"
      "\"session\":" SESSION ",\"n\":" ID ",\"device\":" WORD
      ",\"max_lanes\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":256}}}" },
    { "RunnerGrant", JSON, "{\"type\":\"object\"}" },
    { "RunnerReport", JSON,
      "{\"type\":\"object\",\"required\":[\"session\"],\"properties\":{\"session\":" SESSION "}}" },
    { "RunnerAnswer", JSON, "{\"type\":\"object\"}" },
    { "Runner", JSON,
      "{\"type\":\"object\",\"required\":[\"id\",\"state\",\"alive\",\"last_seen\"],\"properties\":{"
      "\"id\":" ID ",\"name\":" STR ",\"state\":{\"type\":\"string\",\"enum\":[\"enabled\","
      "\"draining\",\"quarantined\",\"lost\"]},\"alive\":{\"type\":\"boolean\"},\"last_seen\":{\"type\":"
      "\"integer\"}}}" },
    { "RunnerList", JSON, LIST("runners", REF("Runner")) },
    { "Pool", JSON,
      "{\"type\":\"object\",\"required\":[\"name\",\"state\",\"why\",\"min\",\"max\",\"wanted\","
      "\"jobs\"],\"properties\":{\"name\":" STR
      ",\"state\":{\"type\":\"string\",\"enum\":[\"unreachable\",\"failing\",\"waiting\","
      "\"starting\",\"full\",\"running\",\"idle\"]},\"why\":" STR
      ",\"min\":{\"type\":\"integer\"},\"max\":{\"type\":\"integer\"},\"devices\":{\"type\":"
      "\"integer\"},\"wanted\":{\"type\":\"integer\"},\"running\":{\"type\":\"integer\"},"
      "\"pending\":{\"type\":\"integer\"},\"submitted\":{\"type\":\"integer\"},\"jobs\":" ITEMS(
          "{\"type\":\"object\",\"required\":[\"job\",\"state\",\"node\",\"runner\"],\"properties\":{"
          "\"job\":" STR ",\"state\":{\"type\":\"string\",\"enum\":[\"pending\",\"late\","
          "\"running\",\"leaving\"]},\"slurm_state\":" STR ",\"reason\":" STR ",\"node\":" STR
          ",\"kept\":{\"type\":\"boolean\"},\"runner\":" ID_OR_NULL "}}") "}}" },
    { "PoolList", JSON,
      "{\"type\":\"object\",\"required\":[\"pools\"],\"properties\":{\"pools\":" ITEMS(
          REF("Pool")) "}}" },
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
      "{\"type\":\"object\",\"required\":[\"name\",\"role\"]," CLOSED
      ",\"properties\":{\"name\":" NAME(
          "59") ",\"role\":{\"type\":\"string\",\"enum\":[\"viewer\",\"runner\",\"user\",\"admin\"]}}}" },
    { "Token", JSON, "{\"type\":\"object\"}" },
    { "TokenList", JSON, LIST("tokens", REF("Token")) },
    { "Link", JSON,
      "{\"type\":\"object\",\"required\":[\"path\"],\"properties\":{\"path\":" STR ",\"url\":" TEXT
      "}}" },
    { "BackupNew", JSON,
      "{\"type\":\"object\"," CLOSED ",\"properties\":{\"name\":" NAME_OR_NULL "}}" },
    { "Backup", JSON,
      "{\"type\":\"object\",\"required\":[\"path\",\"db_bytes\",\"blobs\",\"bytes\",\"missing\"],"
      "\"properties\":{\"path\":" STR ",\"db_bytes\":{\"type\":\"integer\"},\"blobs\":{\"type\":"
      "\"integer\"},\"bytes\":{\"type\":\"integer\"},\"missing\":{\"type\":\"integer\"}}}" },
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
    if (strcmp(s->type, JSON_OR_CSV) == 0)
        return json_pack("{s:{s:{s:s}}, s:{s:{s:s}}}", JSON, "schema", "$ref", ref, "text/csv",
                         "schema", "$ref", "#/components/schemas/Csv");
    return json_pack("{s:{s:{s:s}}}", s->type, "schema", "$ref", ref);
}

/* The same for a body: what is JSON may come as YAML, unless rows come as CSV. */
static json_t *body_content_new(const char *schema)
{
    json_t *o = content_new(schema), *json = json_object_get(o, "application/json");

    if (json && !json_object_get(o, "text/csv"))
        json_object_set(o, "application/yaml", json);
    return o;
}

/* A name for code that is made from the description: "post_models_model_predict" for POST
 * /api/v1/models/{model}/predict, "get_root_health" for GET /health. */
static json_t *operation_id_new(const struct web_route *route)
{
    static const char prefix[] = "/api/v1/";
    const bool in_api = str_starts(route->pattern, prefix);
    const char *p = route->pattern + (in_api ? sizeof prefix - 2 : 0);
    char id[160];
    size_t n = (size_t)snprintf(id, sizeof id, "%s%s", web_method_name[route->method],
                                in_api ? "" : "_root");

    for (size_t i = 0; i < n; i++)
        id[i] = (char)tolower((unsigned char)id[i]);
    for (; *p && n + 1 < sizeof id; p++) {
        bool is_word = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');

        if (is_word || (n > 0 && id[n - 1] != '_'))
            id[n++] = is_word ? *p : '_';
    }
    while (n > 0 && id[n - 1] == '_')
        n--;
    return json_stringn(id, n);
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
    json_t *refused = content_new("Problem");
    if (route->flags & WEB_HTML)
        json_object_update_missing_new(refused, content_new("Html"));
    json_object_set_new(answers, "default",
                        json_pack("{s:s, s:o}", "description", "refused", "content", refused));
    op = json_pack("{s:o, s:s, s:o, s:o}", "operationId", operation_id_new(route), "summary",
                   route->summary, "parameters", params_new(route), "responses", answers);
    if (route->takes)
        json_object_set_new(op, "requestBody",
                            json_pack("{s:b, s:o}", "required",
                                      (route->flags & (WEB_JSON | WEB_RAW)) != 0, "content",
                                      body_content_new(route->takes)));
    if (route->flags & WEB_OPEN)
        json_object_set_new(op, "security", json_array());
    return op;
}

static json_t *paths_new(const struct web_tables *all)
{
    static const char *const key[] = { "get", "head", "post", "put", "patch", "delete" };
    json_t *paths = json_object();
    const struct web_route *route = NULL;

    for (size_t i = 0; (route = web_route_at(all, i)); i++) {
        json_t *item = json_object_get(paths, route->pattern);

        if (!item) {
            item = json_object();
            json_object_set_new(paths, route->pattern, item);
        }
        json_object_set_new(item, key[route->method], operation_new(route));
    }
    return paths;
}

json_t *openapi_new(const struct web_tables *all)
{
    json_t *described = json_object();

    for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
        json_t *schema =
            jsonx_load(schemas[i].json, strlen(schemas[i].json), schemas[i].name, NULL);

        CHECK(schema);
        json_object_set_new(described, schemas[i].name, schema);
    }
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:o, s:{s:{s:s, s:s}}}, s:[{s:[]}]}",
                     "openapi", "3.0.3", "info", "title", "Assay", "version", "1", "description",
                     "Search over pipelines and hyperparameters as a service", "paths",
                     paths_new(all), "components", "schemas", described, "securitySchemes", "token",
                     "type", "http", "scheme", "bearer", "security", "token");
}
