/* hold.c - calls of programs that wait for a trial (hold.h).
 *
 * Each try is a request of its own at the end of a turn, as those of lease calls are (wait.c), so
 * that its rows are committed with that turn and its answer leaves after the commit. All callers of
 * a study are alike: what one of them does not get, the next one does not get either. So a turn
 * tries one call more for each study than there are trials to be given, however many wait. */
#include "controller/serve/hold.h"

#include "base/mem.h"
#include "controller/api.h"
#include "controller/serve/serve.h"

enum { SERVE_US = 4000 }; /* calls are tried for so long in one turn */

/* A call that waits. */
struct ctl_hold {
    struct ctl_hold *next, *prev;
    struct hold_call call;
    json_t *answer;      /* what it gets if it must end now; owned */
    int64_t until_ms;    /* monotonic */
    int64_t tried_round; /* the last one in which it or an older one of its study got nothing */
};

static void drop(struct ctl *ctl, struct ctl_hold *h)
{
    *(h->prev ? &h->prev->next : &ctl->serve->holds) = h->next;
    *(h->next ? &h->next->prev : &ctl->serve->holds_last) = h->prev;
    h->call.free(h->call.state);
    json_decref(h->answer);
    mem_free(h);
}

struct ctl_hold *hold_add(struct ctl *ctl, const struct hold_call *call, json_t *answer)
{
    struct ctl_hold *h = mem_zalloc(sizeof *h);

    CHECK(call->wait_ms > 0);
    h->call = *call;
    h->answer = json_incref(answer);
    h->until_ms = ctl_now(ctl) + MIN(call->wait_ms, ctl->conf.max_wait_ms);
    ctl->serve->holds_due =
        ctl->serve->holds ? MIN(ctl->serve->holds_due, h->until_ms) : h->until_ms;
    h->prev = ctl->serve->holds_last;
    *(h->prev ? &h->prev->next : &ctl->serve->holds) = h;
    ctl->serve->holds_last = h;
    return h;
}

void ctl_study_hold_cancel(struct ctl *ctl, struct ctl_hold *hold)
{
    drop(ctl, hold);
}

static void answer(struct ctl *ctl, struct ctl_hold *h, const struct err *err)
{
    h->call.on_answer(h->call.arg, err ? NULL : json_incref(h->answer), err);
    drop(ctl, h);
}

/* Tries one call, and answers it if it got something or an error, or must end: 1 = it is answered
 * and gone, 0 = it waits. */
static int try_one(struct ctl *ctl, struct ctl_hold *h, bool must_end)
{
    struct err err = { 0 };
    json_t *out = NULL;
    int rc = ctl_request_begin(ctl, &err);

    if (rc == 0) {
        rc = h->call.try(ctl, h->call.state, &out, &err);
        if (ctl_request_end(ctl, rc >= 0, &err) < 0)
            rc = -1;
    }
    if (rc >= 0) {
        json_decref(h->answer);
        h->answer = out;
    } else {
        json_decref(out);
    }
    if (rc == 0 && !must_end)
        return 0;
    answer(ctl, h, rc < 0 ? &err : NULL);
    return 1;
}

/* The calls of its study after this one get nothing in this round. */
static void skip_study(struct ctl *ctl, const struct ctl_hold *from)
{
    for (struct ctl_hold *h = from->next; h; h = h->next) {
        if (h->call.study == from->call.study)
            h->tried_round = ctl->serve->hold_round;
    }
}

void hold_serve(struct ctl *ctl)
{
    int64_t from_us = clk_now_us(ctl->clk);
    struct ctl_hold *h = NULL, *next = NULL;

    if (ctl->has_news)
        ctl->serve->is_hold_due = true;
    if (!ctl->serve->is_hold_due || ctl->is_stopping || ctl->is_deferred)
        return;
    ctl->serve->is_hold_due = false;
    ctl->serve->hold_round++;
    for (h = ctl->serve->holds; h; h = next) {
        next = h->next;
        if (clk_now_us(ctl->clk) - from_us >= SERVE_US) {
            ctl->serve->is_hold_due = true;
            return;
        }
        if (h->tried_round != ctl->serve->hold_round && try_one(ctl, h, false) == 0)
            skip_study(ctl, h);
    }
}

bool hold_goes_on(const struct ctl *ctl)
{
    return ctl->serve->is_hold_due && !ctl->is_stopping && !ctl->is_deferred;
}

void hold_tick(struct ctl *ctl)
{
    struct ctl_hold *h = ctl->serve->holds, *next = NULL;
    int64_t now = ctl_now(ctl), due = INT64_MAX;

    if (now < hold_due(ctl))
        return;
    for (; h; h = next) {
        next = h->next;
        if (h->until_ms <= now)
            (void)try_one(ctl, h, true);
        else
            due = MIN(due, h->until_ms);
    }
    ctl->serve->holds_due = due;
}

int64_t hold_due(const struct ctl *ctl)
{
    return ctl->serve->holds ? ctl->serve->holds_due : INT64_MAX;
}

void hold_end_all(struct ctl *ctl)
{
    while (ctl->serve->holds)
        answer(ctl, ctl->serve->holds, NULL);
}

void hold_free_all(struct ctl *ctl)
{
    while (ctl->serve->holds)
        drop(ctl, ctl->serve->holds);
}
