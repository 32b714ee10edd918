/* test_11_7_turns.c - a turn of the loop took as long as all that was ready at its start: with 1,000 runners up to 1.6 s, in
 * which nobody was answered and nothing committed, while the counter of the longest turn counted only a part of it. A turn
 * ends after a few milliseconds now, whatever is left; and polls that cannot have work cost nothing. */
#include "tests/rig.h"

#include "base/loop.h"
#include "base/str.h"
#include "controller/state/idmap.h"

#include <event2/event.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 60, PIECE_US = 1000 };

struct work {
    struct loop *loop;
    struct event *events[PIECES];
    int done, hooks, done_at_first_hook;
};

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* One request's worth of work. */
static void on_piece(evutil_socket_t fd, short what, void *arg)
{
    struct work *w = arg;
    int64_t from = cpu_us();

    (void)fd, (void)what;
    while (cpu_us() - from < PIECE_US) {
    }
    w->done++;
    loop_turn_mark(w->loop);
    loop_breathe(w->loop);
}

static void on_turn_end(void *arg)
{
    struct work *w = arg;

    if (w->hooks++ == 0)
        w->done_at_first_hook = w->done;
    if (w->done == PIECES)
        loop_stop(w->loop);
}

static void a_turn_ends_before_all_that_is_ready_is_done(void **state)
{
    struct clk clk;
    struct work w = { 0 };
    struct err err = { 0 };

    (void)state;
    clk_init_system(&clk);
    w.loop = loop_new(&clk, &err);
    loop_turn_hook(w.loop, on_turn_end, &w);
    for (int i = 0; i < PIECES; i++) {
        w.events[i] = event_new(loop_base(w.loop), -1, 0, on_piece, &w);
        event_active(w.events[i], EV_TIMEOUT, 0);
    }
    assert_int_equal(loop_run(w.loop, &err), 0);
    assert_int_equal(w.done, PIECES);
    assert_true(w.done_at_first_hook < PIECES / 2);
    assert_true(w.hooks >= 3);
    /* 60 ms of work, of which no turn had more than a part; whatever else the machine does is not told here. */
    assert_true(loop_turn_max_us(w.loop) >= PIECE_US);
    for (int i = 0; i < PIECES; i++)
        event_free(w.events[i]);
    loop_free(w.loop);
}

static void the_longest_turn_is_never_forgotten(void **state)
{
    struct clk clk;
    struct work w = { .done = PIECES - 1 };
    struct err err = { 0 };

    (void)state;
    clk_init_system(&clk);
    w.loop = loop_new(&clk, &err);
    loop_turn_hook(w.loop, on_turn_end, &w);
    w.events[0] = event_new(loop_base(w.loop), -1, 0, on_piece, &w);
    event_active(w.events[0], EV_TIMEOUT, 0);
    assert_int_equal(loop_run(w.loop, &err), 0);
    for (int i = 0; i < 40; i++) { /* more turns than are kept of the recent ones, without work */
        loop_turn_mark(w.loop);
        assert_int_equal(loop_run(w.loop, &err), 0);
    }
    assert_true(loop_turn_max_us(w.loop) >= PIECE_US);
    event_free(w.events[0]);
    loop_free(w.loop);
}

/* Each end of a turn begins another turn, as an end that serves waiting polls does. Somebody writes to a pipe meanwhile. */
struct chain {
    struct loop *loop;
    int pipe[2], hooks, hooks_when_read;
};

static void on_chain_end(void *arg)
{
    struct chain *c = arg;

    if (c->hooks++ == 0)
        assert_int_equal(write(c->pipe[1], "x", 1), 1);
    if (c->hooks < PIECES)
        loop_turn_mark(c->loop);
    else
        loop_stop(c->loop);
}

static void on_chain_read(int fd, void *arg)
{
    struct chain *c = arg;
    char byte = 0;

    assert_int_equal(read(fd, &byte, 1), 1);
    c->hooks_when_read = c->hooks;
}

static void turns_that_begin_turns_keep_nobody_waiting(void **state)
{
    struct clk clk;
    struct chain c = { 0 };
    struct err err = { 0 };

    (void)state;
    clk_init_system(&clk);
    assert_int_equal(pipe(c.pipe), 0);
    c.loop = loop_new(&clk, &err);
    loop_turn_hook(c.loop, on_chain_end, &c);
    struct loop_watch *watch = loop_watch_new(c.loop, c.pipe[0], on_chain_read, &c);
    loop_turn_mark(c.loop);
    assert_int_equal(loop_run(c.loop, &err), 0);
    assert_int_equal(c.hooks, PIECES);
    assert_in_range(c.hooks_when_read, 1, 2);
    loop_watch_free(watch);
    loop_free(c.loop);
    close(c.pipe[0]);
    close(c.pipe[1]);
}

/* ---- polls ---- */

static void on_grant(void *arg, json_t *grant, const struct err *err)
{
    int *granted = arg;

    (void)err;
    *granted += grant && !json_is_null(json_object_get(grant, "grant"));
    json_decref(grant);
}

static void polls_that_cannot_have_work_cost_no_request(void **state)
{
    enum { RUNNERS = 60 };
    struct rig r;
    static struct fake f; /* only to register */
    struct ctl_wait *waits[RUNNERS] = { NULL };
    json_t *out = NULL;
    int granted = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    rig_study(&r, "{'name':'s','dataset':'d','target':'y','budget':{'time':'10h'},'seed':7,"
                  "'validation':'kfold','sampler':'random','scheduler':'none'}");
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "s", CTL_PAUSE, &out, &rig_err)), 0);
    json_decref(out);
    for (int i = 0; i < RUNNERS; i++) {
        struct msg_ask ask = { .n = 1, .max_trials = 1, .wait_s = 30 };
        char session[33];

        snprintf(session, sizeof session, "w%d", i);
        fake_open(&f, &r, session, 1);
        str_copy(ask.session, sizeof ask.session, session);
        str_copy(ask.device, sizeof ask.device, "cpu0");
        json_t *body = msg_ask_json_new(&ask);
        assert_int_equal(RIG_CALL(&r, ctl_runner_lease(r.ctl, 0, f.id, body, on_grant, &granted,
                                                       &waits[i], &rig_err)),
                         0);
        assert_non_null(waits[i]);
        json_decref(body);
    }
    int64_t before = r.ctl->stats.requests;
    rig_blob(&r, "news", (char[SHA256_HEX]){ 0 }); /* any request, and one turn */
    r.ctl->has_news = true;
    rig_turn(&r);
    assert_true(r.ctl->stats.requests - before < 5);
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "s", CTL_RESUME, &out, &rig_err)), 0);
    json_decref(out);
    for (int i = 0; i < RUNNERS && granted < RUNNERS; i++)
        rig_pass(&r, 1);
    assert_int_equal(granted, RUNNERS);
    rig_close(&r);
}

/* ---- ids ---- */

static void a_map_of_ids_finds_what_a_list_would(void **state)
{
    enum { KEYS = 300, STEPS = 20000 };
    struct idmap m = { 0 };
    int place[KEYS + 1] = { 0 };
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        int key = (int)(x % KEYS) + 1;
        int64_t id = key % 2 ? key : -(int64_t)key * 4096;

        if (x >> 40 & 1) {
            idmap_put(&m, id, i + 1);
            place[key] = i + 1;
        } else {
            idmap_remove(&m, id);
            place[key] = 0;
        }
        for (int k = 1; k <= KEYS && i % 97 == 0; k++)
            assert_int_equal(idmap_find(&m, k % 2 ? k : -(int64_t)k * 4096),
                             place[k] ? place[k] : -1);
    }
    idmap_fini(&m);
    assert_int_equal(idmap_find(&m, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_ends_before_all_that_is_ready_is_done),
        cmocka_unit_test(the_longest_turn_is_never_forgotten),
        cmocka_unit_test(turns_that_begin_turns_keep_nobody_waiting),
        cmocka_unit_test(polls_that_cannot_have_work_cost_no_request),
        cmocka_unit_test(a_map_of_ids_finds_what_a_list_would),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
