/* fuzz_msg.c - any JSON as any message: either one clear error, or a message that comes back the same from its own JSON.
 * The first byte picks the message, the rest is the text.
 * covers: proto/msg.c proto/codec.c */
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proto/msg.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

union any {
    struct msg_hello hello;
    struct msg_welcome welcome;
    struct msg_ask ask;
    struct msg_grant grant;
    struct msg_report report;
    struct msg_answer answer;
};
enum { HELLO, WELCOME, ASK, GRANT, REPORT, ANSWER, KINDS };

/* 0 parsed, 1 a grant of nothing, -1 error. */
static int parse(int kind, union any *m, const json_t *j, struct err *err)
{
    switch (kind) {
    case HELLO:
        return msg_hello_parse(&m->hello, j, err);
    case WELCOME:
        return msg_welcome_parse(&m->welcome, j, err);
    case ASK:
        return msg_ask_parse(&m->ask, j, err);
    case GRANT: {
        int rc = msg_grant_parse(&m->grant, j, err);
        return rc < 0 ? -1 : rc == 0;
    }
    case REPORT:
        return msg_report_parse(&m->report, j, err);
    default:
        return msg_answer_parse(&m->answer, j, err);
    }
}

static json_t *json_new(int kind, const union any *m, bool is_nothing)
{
    switch (kind) {
    case HELLO:
        return msg_hello_json_new(&m->hello);
    case WELCOME:
        return msg_welcome_json_new(&m->welcome);
    case ASK:
        return msg_ask_json_new(&m->ask);
    case GRANT:
        return msg_grant_json_new(is_nothing ? NULL : &m->grant);
    case REPORT:
        return msg_report_json_new(&m->report);
    default:
        return msg_answer_json_new(&m->answer);
    }
}

static void fini(int kind, union any *m)
{
    if (kind == GRANT)
        msg_grant_fini(&m->grant);
    if (kind == REPORT)
        msg_report_fini(&m->report);
    if (kind == ANSWER)
        msg_answer_fini(&m->answer);
}

static void check_round_trip(int kind, const union any *m, bool is_nothing)
{
    union any *again = mem_zalloc(sizeof *again);
    struct err err = { 0 };
    json_t *one = json_new(kind, m, is_nothing), *two = NULL;
    char *text = jsonx_dump(one);
    json_t *wire = jsonx_load(text, strlen(text), "wire", &err);

    CHECK(wire && parse(kind, again, wire, &err) == (int)is_nothing);
    two = json_new(kind, again, is_nothing);
    CHECK(json_equal(one, two));
    fini(kind, again);
    json_decref(one);
    json_decref(two);
    json_decref(wire);
    mem_free(text);
    mem_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { 0 };

    if (size == 0)
        return 0;
    json_t *j = jsonx_load((const char *)data + 1, size - 1, "input", NULL);
    if (!j)
        return 0;
    union any *m = mem_zalloc(sizeof *m);
    int kind = data[0] % KINDS, rc = parse(kind, m, j, &err);
    if (rc < 0) {
        CHECK(err.code == ERR_ARG || err.code == ERR_VERSION);
        CHECK(err.text[0] && utf8_ok(err.text, strlen(err.text)));
        CHECK(utf8_ok(err.where, strlen(err.where)));
    } else {
        check_round_trip(kind, m, rc == 1);
        fini(kind, m);
    }
    json_decref(j);
    mem_free(m);
    return 0;
}
