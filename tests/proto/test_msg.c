/* test_msg.c - each message with random content is the same after it was written as JSON and read
 * again. Unknown fields, which a newer peer may send, are ignored. Each wrong input of a table is
 * refused with one error that names the field. */
#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "proto/msg.h"

#include <inttypes.h>
#include <math.h>

enum { ROUNDS = 200 };
#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* ---- random content ---- */

static void random_text(struct rng *r, char *out, size_t size)
{
    static const char *const bits[] = { "a",  "Z",    "7", "-",  "\"",  "\\",
                                        "\n", "\x01", "ü", "漢", "🙂" };
    size_t want = rng_below(r, (uint32_t)size), len = 0;

    for (;;) {
        const char *bit = bits[rng_below(r, ARRAY_LEN(bits))];
        if (len + strlen(bit) > want)
            break;
        memcpy(out + len, bit, strlen(bit));
        len += strlen(bit);
    }
    out[len] = '\0';
}

static void random_name(struct rng *r, char *out, size_t size)
{
    size_t n = 1 + rng_below(r, (uint32_t)size - 1);

    for (size_t i = 0; i < n; i++)
        out[i] = "abcdefghijklmnop"[rng_below(r, 16)];
    out[n] = '\0';
}

static void random_sha(struct rng *r, char out[SHA256_HEX])
{
    memset(out, 0, SHA256_HEX);
    if (rng_below(r, 8) == 0)
        return;
    for (int i = 0; i < 64; i++)
        out[i] = "0123456789abcdef"[rng_below(r, 16)];
}

static int64_t random_i64(struct rng *r, int64_t min)
{
    int64_t v = (int64_t)(rng_u64(r) >> (1 + rng_below(r, 63)));
    return rng_below(r, 50) == 0 ? INT64_MAX : MAX(v, min);
}

static double random_f64(struct rng *r)
{
    static const double odd[] = { 0, 1, -1, 0.1, 1e308, -1e-308, 5e-324, 1.0 / 3, 123456789 };
    return rng_below(r, 2) ? odd[rng_below(r, ARRAY_LEN(odd))] : rng_normal(r);
}

/* Returns NaN in a quarter of the calls. It is the NaN of msg_event_init, because the tests compare
 * bytes. */
static double random_score(struct rng *r)
{
    return rng_below(r, 4) ? random_f64(r) : NAN;
}

static char *random_config(struct rng *r)
{
    json_t *o = json_object();
    char text[40];

    for (uint32_t i = rng_below(r, 6); i > 0; i--) {
        random_name(r, text, sizeof text);
        json_object_set_new(o, text, json_real(random_f64(r)));
        random_text(r, text, sizeof text);
        json_object_set_new(o, "text", json_string(text));
    }
    char *s = jsonx_dump(o);
    json_decref(o);
    return s;
}

/* Writes the value as text and reads it again, as the other side would. Frees the first value. */
static json_t *over_the_wire(json_t *j)
{
    struct err err = { 0 };
    char *text = jsonx_dump(j);
    json_t *again = jsonx_load(text, strlen(text), "wire", &err);

    assert_non_null(again);
    json_decref(j);
    mem_free(text);
    return again;
}

static void same_text(char *a, char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

/* ---- round trips ---- */

static void hello_round_trips(void **state)
{
    struct msg_hello *a = mem_zalloc(sizeof *a), *b = mem_zalloc(sizeof *b);
    struct err err = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        memset(a, 0, sizeof *a);
        a->protocol = MSG_PROTOCOL;
        random_text(&r, a->name, sizeof a->name);
        random_name(&r, a->session, sizeof a->session);
        random_text(&r, a->numeric_sig, sizeof a->numeric_sig);
        random_text(&r, a->labels, sizeof a->labels);
        a->n_devices = 1 + (int)rng_below(&r, MSG_MAX_DEVICES);
        for (int i = 0; i < a->n_devices; i++) {
            struct msg_device *d = &a->devices[i];
            (void)snprintf(d->id, sizeof d->id, "cpu%d", i);
            random_text(&r, d->kind, sizeof d->kind);
            random_text(&r, d->name, sizeof d->name);
            d->memory_bytes = random_i64(&r, 0);
            d->max_trials = 1 + (int)rng_below(&r, MSG_MAX_TRIALS);
        }
        json_t *j = over_the_wire(msg_hello_json_new(a));
        if (msg_hello_parse(b, j, &err) < 0)
            fail_msg("%s", err.text);
        assert_memory_equal(a, b, sizeof *a);
        json_decref(j);
    }
    mem_free(a);
    mem_free(b);
}

static void welcome_round_trips(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < ROUNDS; round++) {
        struct msg_welcome a = { random_i64(&r, 1), random_i64(&r, 1) }, b;
        json_t *j = over_the_wire(msg_welcome_json_new(&a));
        assert_int_equal(msg_welcome_parse(&b, j, NULL), 0);
        assert_memory_equal(&a, &b, sizeof a);
        json_decref(j);
    }
}

static void ask_round_trips(void **state)
{
    struct msg_ask a, b;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < ROUNDS; round++) {
        memset(&a, 0, sizeof a);
        random_name(&r, a.session, sizeof a.session);
        a.n = random_i64(&r, 1);
        random_text(&r, a.device, sizeof a.device);
        a.max_trials = 1 + (int)rng_below(&r, MSG_MAX_TRIALS);
        a.host_bytes = random_i64(&r, 0);
        a.device_bytes = random_i64(&r, 0);
        for (uint32_t i = rng_below(&r, MSG_MAX_CACHED + 1); i > 0; i--) {
            random_sha(&r, a.cached[a.n_cached]);
            a.n_cached += a.cached[a.n_cached][0] != '\0';
        }
        a.wait_s = rng_below(&r, 61);
        json_t *j = over_the_wire(msg_ask_json_new(&a));
        assert_int_equal(msg_ask_parse(&b, j, NULL), 0);
        assert_memory_equal(&a, &b, sizeof a);
        json_decref(j);
    }
}

static void random_data(struct rng *r, struct msg_data *d)
{
    memcpy(d->frame, SHA_A, sizeof d->frame);
    random_sha(r, d->test_frame);
    random_text(r, d->target, sizeof d->target);
    random_text(r, d->positive, sizeof d->positive);
    random_text(r, d->monotone, sizeof d->monotone);
    random_text(r, d->groups, sizeof d->groups);
    random_text(r, d->time_column, sizeof d->time_column);
    random_text(r, d->weights, sizeof d->weights);
    d->gap = floor(rng_unit(r) * 1000);
    d->groups_are_input = rng_below(r, 2);
    d->time_is_input = rng_below(r, 2);
    random_text(r, d->task, sizeof d->task);
    random_text(r, d->metric, sizeof d->metric);
    d->test_fraction = rng_below(r, 2) ? 0 : rng_unit(r);
    d->folds = (int)rng_below(r, 21);
    d->holdout = rng_below(r, 2);
    d->split_seed = rng_below(r, 9) ? rng_u64(r) : 0;
    d->rows = random_i64(r, 0);
    d->columns = random_i64(r, 0);
}

static void random_grant(struct rng *r, struct msg_grant *g)
{
    memset(g, 0, sizeof *g);
    g->kind = (enum msg_kind)rng_below(r, 4);
    g->group = random_i64(r, 0);
    g->study = random_i64(r, 0);
    g->deadline_ms = random_i64(r, 0);
    g->trial_time_ms = random_i64(r, 0);
    g->trial_steep_ms = random_i64(r, 0);
    g->trial_memory_bytes = random_i64(r, 0);
    random_data(r, &g->data);
    g->task = random_i64(r, 1);
    g->fence = random_i64(r, 1);
    g->config = g->kind == MSG_REFIT || rng_below(r, 2) ? random_config(r) : NULL;
    memcpy(g->source, SHA_A, sizeof g->source);
    memcpy(g->model, SHA_A, sizeof g->model);
    random_text(r, g->source_name, sizeof g->source_name);
    g->seed = rng_u64(r);
    g->rounds_hint = (int)rng_below(r, 100000);
    random_text(r, g->free_json, sizeof g->free_json);
    if (g->kind != MSG_FIT && g->kind != MSG_RANK)
        return;
    g->n_trials =
        g->kind == MSG_RANK ? 1 : 1 + (int)rng_below(r, rng_below(r, 10) ? 8 : MSG_MAX_TRIALS);
    if (g->n_trials == 1 && (g->kind == MSG_RANK || rng_below(r, 2))) {
        g->ranks = 2 + (int)rng_below(r, MSG_MAX_RANKS - 1);
        g->rank = g->kind == MSG_RANK ? 1 + (int)rng_below(r, (uint32_t)g->ranks - 1) : 0;
        str_copy(g->secret, sizeof g->secret, "0123456789abcdef");
    }
    g->trials = mem_array((size_t)g->n_trials, sizeof *g->trials);
    for (int i = 0; i < g->n_trials; i++) {
        struct msg_trial *l = &g->trials[i];
        l->trial = random_i64(r, 1);
        l->fence = random_i64(r, 1);
        l->config = random_config(r);
        l->seed = rng_below(r, 9) ? rng_u64(r) : 0;
        l->from = (int)rng_below(r, 9);
        l->to = l->from + 1 + (int)rng_below(r, 9);
        random_sha(r, l->checkpoint);
        l->growth = rng_below(r, 2) ? 16 * rng_unit(r) : 0;
    }
}

static void grants_are_equal(struct msg_grant *a, struct msg_grant *b)
{
    struct msg_grant x = *a, y = *b;

    same_text(a->config, b->config);
    x.config = y.config = NULL;
    x.trials = y.trials = NULL;
    assert_memory_equal(&x, &y, sizeof x);
    for (int i = 0; i < a->n_trials; i++) {
        struct msg_trial p = a->trials[i], q = b->trials[i];
        same_text(p.config, q.config);
        p.config = q.config = NULL;
        assert_memory_equal(&p, &q, sizeof p);
    }
}

static void grant_round_trips(void **state)
{
    struct err err = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 4);
    for (int round = 0; round < ROUNDS; round++) {
        struct msg_grant a, b;
        random_grant(&r, &a);
        json_t *j = over_the_wire(msg_grant_json_new(&a));
        if (msg_grant_parse(&b, j, &err) != 1)
            fail_msg("%s", err.text);
        grants_are_equal(&a, &b);
        json_decref(j);
        msg_grant_fini(&a);
        msg_grant_fini(&b);
        msg_grant_fini(&b); /* freeing it twice is legal */
    }
}

static void a_missing_grant_is_read_as_no_grant(void **state)
{
    struct msg_grant g;
    json_t *j = over_the_wire(msg_grant_json_new(NULL));

    (void)state;
    assert_int_equal(msg_grant_parse(&g, j, NULL), 0);
    msg_grant_fini(&g);
    json_decref(j);
}

static void random_event(struct rng *r, struct msg_event *e)
{
    char text[300];

    msg_event_init(e);
    e->type = (enum msg_type)rng_below(r, MSG_TYPES);
    e->trial = random_i64(r, 1);
    e->fence = random_i64(r, 1);
    e->seq = random_i64(r, 1);
    e->level = (int)rng_below(r, 100);
    e->progress = rng_unit(r);
    e->value = random_score(r);
    e->se = random_score(r);
    e->select_value = random_score(r);
    e->test_value = random_score(r);
    e->test_se = random_score(r);
    e->fit_us = random_i64(r, 0);
    e->predict_ns_row = random_i64(r, 0);
    e->model_bytes = random_i64(r, 0);
    e->work_units = random_i64(r, 0);
    e->peak_bytes = random_i64(r, 0);
    e->cut = rng_below(r, 2);
    random_sha(r, e->blob);
    e->reason = (enum trial_reason)rng_below(r, TR_REASONS);
    random_text(r, text, sizeof text);
    e->detail = rng_below(r, 2) ? mem_strdup(text) : NULL;
    e->epochs = rng_below(r, 2) ? mem_strdup("{\"epoch\":[1,2]}") : NULL;
}

static struct msg_held *random_held(struct rng *r, int *n)
{
    *n = (int)rng_below(r, 9);
    struct msg_held *h = *n ? mem_array((size_t)*n, sizeof *h) : NULL;

    for (int i = 0; i < *n; i++)
        h[i] = (struct msg_held){ random_i64(r, 1), random_i64(r, 1) };
    return h;
}

static void held_are_equal(const struct msg_held *a, int n, const struct msg_held *b, int m)
{
    assert_int_equal(n, m);
    if (n > 0)
        assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static void report_round_trips(void **state)
{
    struct err err = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 5);
    for (int round = 0; round < ROUNDS; round++) {
        struct msg_report a, b;
        memset(&a, 0, sizeof a);
        random_name(&r, a.session, sizeof a.session);
        random_text(&r, a.device, sizeof a.device);
        a.n_events = (int)rng_below(&r, 20);
        a.events = mem_array((size_t)a.n_events + 1, sizeof *a.events);
        for (int i = 0; i < a.n_events; i++)
            random_event(&r, &a.events[i]);
        a.held = random_held(&r, &a.n_held);
        a.tasks = random_held(&r, &a.n_tasks);
        json_t *j = over_the_wire(msg_report_json_new(&a));
        if (msg_report_parse(&b, j, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(a.session, b.session);
        assert_string_equal(a.device, b.device);
        assert_int_equal(a.n_events, b.n_events);
        for (int i = 0; i < a.n_events; i++) {
            struct msg_event p = a.events[i], q = b.events[i];
            same_text(p.detail, q.detail);
            same_text(p.epochs, q.epochs);
            p.detail = q.detail = p.epochs = q.epochs = NULL;
            assert_memory_equal(&p, &q, sizeof p);
        }
        held_are_equal(a.held, a.n_held, b.held, b.n_held);
        held_are_equal(a.tasks, a.n_tasks, b.tasks, b.n_tasks);
        json_decref(j);
        msg_report_fini(&a);
        msg_report_fini(&b);
    }
}

static void answer_round_trips(void **state)
{
    struct err err = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 6);
    for (int round = 0; round < ROUNDS; round++) {
        struct msg_answer a, b;
        memset(&a, 0, sizeof a);
        a.n_replies = (int)rng_below(&r, 20);
        a.replies = mem_array((size_t)a.n_replies + 1, sizeof *a.replies);
        for (int i = 0; i < a.n_replies; i++) {
            struct msg_reply *p = &a.replies[i];
            p->trial = random_i64(&r, 1);
            p->fence = random_i64(&r, 1);
            p->seq = random_i64(&r, 1);
            p->action = (enum msg_action)rng_below(&r, MSG_ACTIONS);
            p->to = (int)rng_below(&r, 50);
            p->deadline_ms = random_i64(&r, 0);
        }
        a.stop = random_held(&r, &a.n_stop);
        a.stop_tasks = random_held(&r, &a.n_stop_tasks);
        a.lease_ms = random_i64(&r, 1);
        a.drain = rng_below(&r, 2);
        json_t *j = over_the_wire(msg_answer_json_new(&a));
        if (msg_answer_parse(&b, j, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(a.n_replies, b.n_replies);
        if (a.n_replies > 0)
            assert_memory_equal(a.replies, b.replies, (size_t)a.n_replies * sizeof *a.replies);
        held_are_equal(a.stop, a.n_stop, b.stop, b.n_stop);
        held_are_equal(a.stop_tasks, a.n_stop_tasks, b.stop_tasks, b.n_stop_tasks);
        assert_int_equal(a.lease_ms, b.lease_ms);
        assert_int_equal(a.drain, b.drain);
        json_decref(j);
        msg_answer_fini(&a);
        msg_answer_fini(&b);
    }
}

/* ---- unknown and wrong inputs ---- */

enum { HELLO, WELCOME, ASK, GRANT, REPORT, ANSWER };

static int parse_as(int what, const char *text, struct err *err)
{
    json_t *j = jsonx_load(text, strlen(text), "input", err);
    struct msg_hello *hello = mem_zalloc(sizeof *hello);
    struct msg_welcome welcome;
    struct msg_ask ask;
    struct msg_grant grant = { 0 };
    struct msg_report report = { 0 };
    struct msg_answer answer = { 0 };
    int rc = -1;

    assert_non_null(j);
    if (what == HELLO)
        rc = msg_hello_parse(hello, j, err);
    else if (what == WELCOME)
        rc = msg_welcome_parse(&welcome, j, err);
    else if (what == ASK)
        rc = msg_ask_parse(&ask, j, err);
    else if (what == GRANT)
        rc = msg_grant_parse(&grant, j, err);
    else if (what == REPORT)
        rc = msg_report_parse(&report, j, err);
    else
        rc = msg_answer_parse(&answer, j, err);
    if (rc >= 0) {
        msg_grant_fini(&grant);
        msg_report_fini(&report);
        msg_answer_fini(&answer);
    }
    json_decref(j);
    mem_free(hello);
    return rc;
}

#define DEVICE "{\"id\":\"cpu0\",\"kind\":\"cpu\",\"max_lanes\":1}"
#define HELLO_OF(devices)                                                                         \
    "{\"protocol\":1,\"name\":\"n\",\"session\":\"s\",\"numeric_sig\":\"x\",\"devices\":" devices \
    "}"
#define TRIAL(fields) "{\"trial\":1,\"fence\":1,\"seed\":\"00000000000000ff\"," fields "}"
#define RANK(ranks, rank)                                                                    \
    "{\"grant\":{\"kind\":\"rank\",\"task\":1,\"fence\":1,\"secret\":\"s\",\"ranks\":" ranks \
    ",\"rank\":" rank ",\"data\":{\"frame\":\"" SHA_A                                        \
    "\"},\"lanes\":[{\"trial\":1,\"fence\":1,\"seed\":\"00000000000000ff\",\"config\":{},\"to\":1}]}}"
#define FIT(trials) \
    "{\"grant\":{\"kind\":\"fit\",\"data\":{\"frame\":\"" SHA_A "\"},\"lanes\":" trials "}}"
#define EVENT(fields)                                                                            \
    "{\"session\":\"s\",\"events\":[{\"type\":\"rung\",\"trial\":1,\"fence\":1,\"seq\":1" fields \
    "}]}"

static void unknown_fields_are_ignored(void **state)
{
    static const struct {
        int what;
        const char *text;
    } cases[] = {
        { HELLO,
          "{\"protocol\":1,\"name\":\"n\",\"session\":\"s\",\"numeric_sig\":\"x\",\"devices\":[{"
          "\"id\":\"cpu0\",\"kind\":\"cpu\",\"max_lanes\":1,\"colour\":{\"a\":[1]}}],\"new\":[1]}" },
        { WELCOME, "{\"runner\":1,\"lease_ms\":30000,\"motd\":\"hi\"}" },
        { ASK, "{\"session\":\"s\",\"n\":1,\"device\":\"cpu0\",\"max_lanes\":1,\"mood\":null}" },
        { GRANT, "{\"grant\":null,\"later\":7}" },
        { GRANT, FIT("[" TRIAL("\"config\":{},\"to\":1,\"extra\":true") "]") },
        { REPORT, EVENT(",\"weather\":\"wet\"") },
        { ANSWER, "{\"lease_ms\":1,\"news\":{}}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        if (parse_as(cases[i].what, cases[i].text, &err) < 0)
            fail_msg("case %zu: %s", i, err.text);
    }
}

static const struct {
    int what;
    const char *text, *where;
} hostile[] = {
    { HELLO, "[]", "" },
    { HELLO, "7", "" },
    { HELLO, "{}", "protocol" },
    { HELLO, "{\"protocol\":\"1\"}", "protocol" },
    { HELLO, "{\"protocol\":1}", "name" },
    { HELLO, HELLO_OF("[]"), "devices" },
    { HELLO, HELLO_OF("{}"), "devices" },
    { HELLO, HELLO_OF("[7]"), "devices[0]" },
    { HELLO, HELLO_OF("[" DEVICE "," DEVICE "]"), "devices[1]" },
    { HELLO, HELLO_OF("[{\"id\":\"../x\",\"kind\":\"cpu\",\"max_lanes\":1}]"), "devices[0]" },
    { HELLO, HELLO_OF("[{\"id\":\"cpu0\",\"kind\":\"cpu\",\"max_lanes\":0}]"),
      "devices[0].max_lanes" },
    { HELLO, HELLO_OF("[{\"id\":\"cpu0\",\"kind\":\"cpu\",\"max_lanes\":257}]"),
      "devices[0].max_lanes" },
    { HELLO, HELLO_OF("[{\"id\":\"cpu0\",\"kind\":\"cpu\",\"max_lanes\":1,\"memory_bytes\":-1}]"),
      "devices[0].memory_bytes" },
    { HELLO,
      "{\"protocol\":1,\"name\":\"n\",\"session\":\"\",\"numeric_sig\":\"x\",\"devices\":[" DEVICE
      "]}",
      "session" },
    { HELLO,
      "{\"protocol\":1,\"name\":\"n\",\"session\":\"0123456789012345678901234567890123\","
      "\"numeric_sig\":\"x\",\"devices\":[" DEVICE "]}",
      "session" },
    { WELCOME, "{\"runner\":0,\"lease_ms\":1}", "runner" },
    { WELCOME, "{\"runner\":1}", "lease_ms" },
    { WELCOME, "{\"runner\":1.5,\"lease_ms\":1}", "runner" },
    { ASK, "{\"session\":\"s\",\"n\":0,\"device\":\"d\",\"max_lanes\":1}", "n" },
    { ASK, "{\"session\":\"a b\",\"n\":1,\"device\":\"d\",\"max_lanes\":1}", "session" },
    { ASK, "{\"session\":\"s\",\"n\":1,\"device\":\"d\",\"max_lanes\":1,\"wait_s\":61}", "wait_s" },
    { ASK,
      "{\"session\":\"s\",\"n\":1,\"device\":\"d\",\"max_lanes\":1,\"cached\":[\"" SHA_A
      "\",\"x\"]}",
      "cached[1]" },
    { ASK, "{\"session\":\"s\",\"n\":1,\"device\":\"d\",\"max_lanes\":1,\"cached\":[null]}",
      "cached[0]" },
    { ASK, "{\"session\":\"s\",\"n\":9223372036854775807,\"device\":1,\"max_lanes\":1}", "device" },
    { GRANT, "{}", "grant" },
    { GRANT, "[]", "grant" },
    { GRANT, "{\"grant\":[]}", "grant" },
    { GRANT, "{\"grant\":{}}", "grant.kind" },
    { GRANT, "{\"grant\":{\"kind\":\"dance\"}}", "grant.kind" },
    { GRANT, "{\"grant\":{\"kind\":\"fit\"}}", "grant.data.frame" },
    { GRANT, "{\"grant\":{\"kind\":\"fit\",\"data\":{\"frame\":\"AB\"}}}", "grant.data.frame" },
    { GRANT,
      "{\"grant\":{\"kind\":\"fit\",\"data\":{\"frame\":\"" SHA_A "\",\"test_fraction\":1}}}",
      "grant.data.test_fraction" },
    { GRANT, FIT("[]"), "grant.lanes" },
    { GRANT, FIT("[{}]"), "grant.lanes[0].trial" },
    { GRANT, FIT("[" TRIAL("\"config\":\"{}\",\"to\":1") "]"), "grant.lanes[0].config" },
    { GRANT, FIT("[" TRIAL("\"config\":{},\"to\":0") "]"), "grant.lanes[0].to" },
    { GRANT, FIT("[" TRIAL("\"config\":{},\"from\":2,\"to\":2") "]"), "grant.lanes[0]" },
    { GRANT, FIT("[" TRIAL("\"config\":{},\"to\":1") ",{\"trial\":2}]"), "grant.lanes[1].fence" },
    { GRANT, FIT("[{\"trial\":1,\"fence\":1,\"seed\":255,\"config\":{},\"to\":1}]"),
      "grant.lanes[0].seed" },
    { GRANT, FIT("[{\"trial\":1,\"fence\":1,\"seed\":\"ff\",\"config\":{},\"to\":1}]"),
      "grant.lanes[0].seed" },
    { GRANT,
      FIT("[{\"trial\":1,\"fence\":1,\"seed\":\"00000000000000fg\",\"config\":{},\"to\":1}]"),
      "grant.lanes[0].seed" },
    { GRANT, "{\"grant\":{\"kind\":\"ingest\"}}", "grant" },
    { GRANT, "{\"grant\":{\"kind\":\"ingest\",\"task\":1,\"fence\":1}}", "grant.source" },
    { GRANT,
      "{\"grant\":{\"kind\":\"refit\",\"task\":1,\"fence\":1,\"data\":{\"frame\":\"" SHA_A "\"}}}",
      "grant.config" },
    { GRANT, RANK("2", "2"), "grant.ranks" },
    { GRANT, RANK("1", "0"), "grant.ranks" },
    { GRANT, RANK("2", "0"), "grant.ranks" }, /* rank 0 has the trial, not a task */
    { GRANT, RANK("65", "1"), "grant.ranks" },
    { GRANT, RANK("0", "0"), "grant.ranks" },
    { REPORT, "{}", "session" },
    { REPORT, "{\"session\":\"s\",\"events\":{}}", "events" },
    { REPORT, "{\"session\":\"s\",\"events\":[[]]}", "events[0]" },
    { REPORT, "{\"session\":\"s\",\"events\":[{\"type\":\"rung\"}]}", "events[0].trial" },
    { REPORT, EVENT(",\"value\":\"0.5\""), "events[0].value" },
    { REPORT, EVENT(",\"blob\":\"x\""), "events[0].blob" },
    { REPORT, EVENT(",\"reason\":\"bored\""), "events[0].reason" },
    { REPORT, EVENT(",\"level\":-1"), "events[0].level" },
    { REPORT, EVENT(",\"cut\":1"), "events[0].cut" },
    { REPORT, EVENT(",\"detail\":{\"a\":1}"), "events[0].detail" },
    { REPORT,
      "{\"session\":\"s\",\"events\":[{\"type\":\"rung\",\"trial\":1,\"fence\":1,\"seq\":-1}]}",
      "events[0].seq" },
    { REPORT, "{\"session\":\"s\",\"held\":[{\"trial\":1}]}", "held[0].fence" },
    { REPORT, "{\"session\":\"s\",\"tasks\":[{\"trial\":-5,\"fence\":1}]}", "tasks[0].trial" },
    { ANSWER, "{}", "lease_ms" },
    { ANSWER,
      "{\"lease_ms\":1,\"replies\":[{\"trial\":1,\"fence\":1,\"seq\":1,\"action\":\"hop\"}]}",
      "replies[0].action" },
    { ANSWER, "{\"lease_ms\":1,\"drain\":\"no\"}", "drain" },
    { ANSWER, "{\"lease_ms\":1,\"stop\":[{\"trial\":1,\"fence\":1},{\"trial\":\"1\"}]}",
      "stop[1].trial" },
};

static void hostile_messages_get_one_error_that_names_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        struct err err = { 0 };
        if (parse_as(hostile[i].what, hostile[i].text, &err) >= 0)
            fail_msg("accepted: %s", hostile[i].text);
        assert_int_equal(err.code, ERR_ARG);
        assert_true(err.text[0] != '\0');
        if (!str_eq(err.where, hostile[i].where))
            fail_msg("%s: the error names \"%s\", not \"%s\"", hostile[i].text, err.where,
                     hostile[i].where);
    }
}

static void another_protocol_is_an_error_that_names_both_versions(void **state)
{
    static const char *const texts[] = { "{\"protocol\":0}",
                                         "{\"protocol\":99,\"devices\":\"?\"}" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = { 0 };
        assert_int_equal(parse_as(HELLO, texts[i], &err), -1);
        assert_int_equal(err.code, ERR_VERSION);
    }
    struct err err = { 0 };
    assert_int_equal(parse_as(HELLO, texts[1], &err), -1);
    assert_non_null(strstr(err.text, "99"));
    assert_non_null(strstr(err.text, "1"));
}

static void a_list_longer_than_its_limit_is_refused(void **state)
{
    struct msg_report report;
    struct msg_grant grant;
    struct err err = { 0 };
    json_t *trials = json_array(), *held = json_array();

    (void)state;
    for (int i = 0; i < MSG_MAX_TRIALS + 1; i++)
        json_array_append_new(trials, json_object());
    for (int i = 0; i < MSG_MAX_TRIALS * MSG_MAX_DEVICES + 1; i++)
        json_array_append_new(held, json_object());
    json_t *g = json_pack("{s:{s:s,s:o}}", "grant", "kind", "fit", "lanes", trials);
    json_t *r = json_pack("{s:s,s:o}", "session", "s", "held", held);
    assert_int_equal(msg_grant_parse(&grant, g, &err), -1);
    assert_string_equal(err.where, "grant.lanes");
    assert_int_equal(msg_report_parse(&report, r, &err), -1);
    assert_string_equal(err.where, "held");
    json_decref(g);
    json_decref(r);
}

static void a_host_name_that_is_not_utf8_is_repaired(void **state)
{
    struct msg_hello *a = mem_zalloc(sizeof *a), *b = mem_zalloc(sizeof *b);

    (void)state;
    *a = (struct msg_hello){ .protocol = MSG_PROTOCOL, .n_devices = 1 };
    str_copy(a->name, sizeof a->name, "caf\xe9");
    str_copy(a->session, sizeof a->session, "s");
    a->devices[0] = (struct msg_device){ .id = "cpu0", .kind = "cpu", .max_trials = 1 };
    json_t *j = over_the_wire(msg_hello_json_new(a));
    assert_int_equal(msg_hello_parse(b, j, NULL), 0);
    assert_string_equal(b->name, "caf?");
    json_decref(j);
    mem_free(a);
    mem_free(b);
}

static void an_infinite_score_is_read_as_no_score(void **state)
{
    struct msg_event e;
    struct msg_report a = { .session = "s", .n_events = 1, .events = &e }, b;

    (void)state;
    msg_event_init(&e);
    e.trial = e.fence = e.seq = 1;
    e.value = -INFINITY;
    json_t *j = over_the_wire(msg_report_json_new(&a));
    assert_int_equal(msg_report_parse(&b, j, NULL), 0);
    assert_true(isnan(b.events[0].value));
    json_decref(j);
    msg_report_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_round_trips),
        cmocka_unit_test(welcome_round_trips),
        cmocka_unit_test(ask_round_trips),
        cmocka_unit_test(grant_round_trips),
        cmocka_unit_test(a_missing_grant_is_read_as_no_grant),
        cmocka_unit_test(report_round_trips),
        cmocka_unit_test(answer_round_trips),
        cmocka_unit_test(unknown_fields_are_ignored),
        cmocka_unit_test(hostile_messages_get_one_error_that_names_the_field),
        cmocka_unit_test(another_protocol_is_an_error_that_names_both_versions),
        cmocka_unit_test(a_list_longer_than_its_limit_is_refused),
        cmocka_unit_test(a_host_name_that_is_not_utf8_is_repaired),
        cmocka_unit_test(an_infinite_score_is_read_as_no_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
