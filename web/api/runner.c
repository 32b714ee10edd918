/* runner.c - what runners call (hello, the long poll for work, report), and what people do with
 * runners. Work may be granted in a later turn of the loop: the request is deferred, and the grant
 * leaves after that turn's commit. When the client leaves first, the wait is cancelled, so that no
 * work is given to a runner that is not there. */
#include "web/api/handlers.h"

#include "base/mem.h"
#include "web/request/send.h"

static int runner_hello(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_runner_hello(r->ctl, r->who.token, r->json, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

struct lease {
    struct ctl_wait *wait;
    struct ctl_watch *watch;
    bool is_over;
};

static void on_grant(void *arg, json_t *grant_new, const struct err *err)
{
    struct web_req *r = arg;
    struct lease *lease = r->state;

    lease->is_over = true;
    r->on_gone = NULL;
    ctl_who_unwatch(r->ctl, lease->watch);
    if (err && err->code != ERR_NONE) {
        json_decref(grant_new);
        web_fail(r, err);
    } else {
        web_json(r, 200, grant_new);
        web_finish(r, true);
    }
    web_release(r);
}

static void lease_cancel(struct web_req *r)
{
    struct lease *lease = r->state;

    if (lease->is_over)
        return;
    lease->is_over = true;
    ctl_runner_lease_cancel(r->ctl, lease->wait);
    ctl_who_unwatch(r->ctl, lease->watch);
    web_release(r);
}

/* The runner's token was revoked while its request for work waited. */
static void on_who_ended(void *arg)
{
    struct web_req *r = arg;
    struct err err = { 0 };

    web_hold(r);
    r->on_gone = NULL;
    lease_cancel(r);
    err_set(&err, ERR_AUTH, "this token was revoked");
    web_fail(r, &err);
    web_release(r);
}

static int runner_lease(struct web_req *r, struct err *err)
{
    struct lease *lease = arena_alloc(&r->arena, sizeof *lease);
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0)
        return -1;
    r->state = lease;
    r->is_deferred = true;
    web_hold(r);
    if (ctl_runner_lease(r->ctl, r->who.token, id, r->json, on_grant, r, &lease->wait, err) < 0) {
        web_release(r);
        r->is_deferred = false;
        return -1;
    }
    if (!lease->is_over) {
        r->on_gone = lease_cancel;
        web_watch(r);
        lease->watch = ctl_who_watch(r->ctl, &r->who, on_who_ended, r);
    }
    return 0;
}

static int runner_report(struct web_req *r, struct err *err)
{
    json_t *out = NULL;
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 ||
        ctl_runner_report(r->ctl, r->who.token, id, r->json, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int runner_list(struct web_req *r, struct err *err)
{
    int64_t after = 0, limit = 200;
    json_t *out = NULL;

    if (web_arg_i64(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0 ||
        ctl_runners(r->ctl, after, (int)limit, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int pool_list(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_pools(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int act(struct web_req *r, const char *verb, struct err *err)
{
    json_t *out = NULL;
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 || ctl_runner_act(r->ctl, id, verb, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int runner_drain(struct web_req *r, struct err *err)
{
    return act(r, "drain", err);
}

static int runner_enable(struct web_req *r, struct err *err)
{
    return act(r, "enable", err);
}

static const struct web_route routes[] = {
    { WEB_POST, "/api/v1/runners", runner_hello, WEB_RUNNERS, WEB_WRITE | WEB_JSON | WEB_NO_PAGE,
      NULL, "A runner says who it is; a known session keeps its id", "RunnerHello",
      "RunnerWelcome" },
    { WEB_GET, "/api/v1/runners", runner_list, WEB_VIEWERS, 0, "after,limit", "List runners", NULL,
      "RunnerList" },
    { WEB_POST, "/api/v1/runners/{runner}/lease", runner_lease, WEB_RUNNERS,
      WEB_WRITE | WEB_JSON | WEB_ADMIT | WEB_NO_PAGE, NULL,
      "Ask for work; waits up to wait_s seconds", "RunnerAsk", "RunnerGrant" },
    { WEB_POST, "/api/v1/runners/{runner}/report", runner_report, WEB_RUNNERS,
      WEB_WRITE | WEB_JSON | WEB_NO_PAGE, NULL, "Renew and report all trials in one call",
      "RunnerReport", "RunnerAnswer" },
    { WEB_POST, "/api/v1/runners/{runner}/drain", runner_drain, WEB_USERS, WEB_WRITE | WEB_JSON_MAY,
      NULL, "Give the runner no more work", NULL, "Runner" },
    { WEB_POST, "/api/v1/runners/{runner}/enable", runner_enable, WEB_USERS,
      WEB_WRITE | WEB_JSON_MAY, NULL, "Give the runner work again", NULL, "Runner" },
    { WEB_GET, "/api/v1/pools", pool_list, WEB_VIEWERS, 0, NULL,
      "List pools, whose runners a cluster's scheduler starts", NULL, "PoolList" },
};
const struct web_table web_runner_table = { routes, ARRAY_LEN(routes) };
