/* ask.c - ask and tell, for programs of the user's that run the trials themselves: suggest, tell,
 * reports, complete. Each handler calls one function of the controller and answers with its JSON.
 * An answer without a trial may come in a later turn, if the client wants to wait for one. When the
 * client leaves first, the wait is cancelled, so that no trial is given to a client that is gone. */
#include "web/api/handlers.h"

#include "base/mem.h"
#include "web/request/send.h"

/* A call that waits. */
struct held {
    struct ctl_hold *hold; /* NULL = it is answered */
    struct ctl_watch *watch;
};

static void on_answer(void *arg, json_t *answer_new, const struct err *err)
{
    struct web_req *r = arg;
    struct held *h = r->state;

    h->hold = NULL;
    r->on_gone = NULL;
    ctl_who_unwatch(r->ctl, h->watch);
    if (err) {
        web_fail(r, err);
    } else {
        web_json(r, 200, answer_new);
        web_finish(r, true);
    }
    web_release(r);
}

static void cancel(struct web_req *r)
{
    struct held *h = r->state;

    if (!h->hold)
        return;
    ctl_study_hold_cancel(r->ctl, h->hold);
    h->hold = NULL;
    ctl_who_unwatch(r->ctl, h->watch);
    web_release(r);
}

/* The caller's token was revoked, or its session ended, while it waited. */
static void on_who_ended(void *arg)
{
    struct web_req *r = arg;
    struct err err = { 0 };

    web_hold(r);
    r->on_gone = NULL;
    cancel(r);
    err_set(&err, ERR_AUTH, "this token was revoked");
    web_fail(r, &err);
    web_release(r);
}

/* Answers now, or when there is a trial. */
static int answer(struct web_req *r, json_t *out)
{
    struct held *h = arena_alloc(&r->arena, sizeof *h);

    *h = (struct held){ .hold = ctl_study_hold(r->ctl, r->vars[0], r->json, out, on_answer, r) };
    if (!h->hold)
        return web_json(r, 200, out);
    json_decref(out);
    r->state = h;
    r->is_deferred = true;
    r->on_gone = cancel;
    web_hold(r);
    web_watch(r);
    h->watch = ctl_who_watch(r->ctl, &r->who, on_who_ended, r);
    return 0;
}

static int suggest(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_study_suggest(r->ctl, r->vars[0], r->json, &out, err) < 0 ? -1 : answer(r, out);
}

static int tell_many(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_study_tell(r->ctl, r->vars[0], r->json, &out, err) < 0 ? -1 : answer(r, out);
}

static int tell(struct web_req *r, bool is_end, struct err *err)
{
    json_t *out = NULL;
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 ||
        ctl_trial_tell(r->ctl, id, r->json, is_end, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int report(struct web_req *r, struct err *err)
{
    return tell(r, false, err);
}

static int complete(struct web_req *r, struct err *err)
{
    return tell(r, true, err);
}

static const struct web_route routes[] = {
    { WEB_POST, "/api/v1/studies/{study}/suggest", suggest, WEB_USERS,
      WEB_WRITE | WEB_JSON | WEB_ADMIT, NULL,
      "Ask for configurations that a program of one's own will try", "Suggest", "Suggestions" },
    { WEB_POST, "/api/v1/studies/{study}/tell", tell_many, WEB_USERS, WEB_WRITE | WEB_JSON, NULL,
      "Tell the results of many trials at once, and ask for the next ones", "Results", "Verdicts" },
    { WEB_POST, "/api/v1/trials/{trial}/reports", report, WEB_USERS, WEB_WRITE | WEB_JSON, NULL,
      "Tell a value at a level, or only that the trial is still running", "Report", "Verdict" },
    { WEB_POST, "/api/v1/trials/{trial}/complete", complete, WEB_USERS, WEB_WRITE | WEB_JSON, NULL,
      "Tell the result of a trial, or that it failed", "Completion", "Verdict" },
};
const struct web_table web_ask_table = { routes, ARRAY_LEN(routes) };
