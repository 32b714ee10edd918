/* trial.c - trials: list, show, log, epochs, pipeline, enqueue, kill, retry, download. Each handler reads its
 * arguments, calls one function of the controller, and answers with its JSON unchanged. */
#include "web/api/handlers.h"

#include "web/api/blob.h"

#include <inttypes.h>
#include <stdio.h>

static int trial_list(struct web_req *r, struct err *err)
{
    int64_t after = 0, limit = 100;
    json_t *out = NULL;

    if (web_arg_i64(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0 ||
        ctl_trials(r->ctl, r->vars[0], web_arg(r, "state"), web_arg(r, "sort"), after, (int)limit,
                   &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int trial_enqueue(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_trial_enqueue(r->ctl, r->vars[0], r->json, &out, err) < 0)
        return -1;
    return web_json(r, 201, out);
}

/* For the handlers that need nothing but the trial's id from the address. */
static int by_id(struct web_req *r, int (*call)(struct ctl *, int64_t, json_t **, struct err *),
                 struct err *err)
{
    json_t *out = NULL;
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 || call(r->ctl, id, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int trial_show(struct web_req *r, struct err *err)
{
    return by_id(r, ctl_trial_get, err);
}

static int trial_logs(struct web_req *r, struct err *err)
{
    return by_id(r, ctl_trial_logs, err);
}

static int trial_epochs(struct web_req *r, struct err *err)
{
    return by_id(r, ctl_trial_epochs, err);
}

static int trial_output(struct web_req *r, struct err *err)
{
    int64_t id = 0, after = 0, limit = 200;
    json_t *out = NULL;

    if (web_var_i64(r, 0, &id, err) < 0 || web_arg_i64(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 200, &limit, err) < 0 ||
        ctl_trial_output(r->ctl, id, after, (int)limit, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int trial_pipeline(struct web_req *r, struct err *err)
{
    return by_id(r, ctl_trial_pipeline, err);
}

static int trial_kill(struct web_req *r, struct err *err)
{
    return by_id(r, ctl_trial_kill, err);
}

static int trial_retry(struct web_req *r, struct err *err)
{
    return by_id(r, ctl_trial_retry, err);
}

static int trial_artifact(struct web_req *r, struct err *err)
{
    char sha256[SHA256_HEX] = "", file_name[64];
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 || ctl_trial_artifact(r->ctl, id, sha256, err) < 0)
        return -1;
    (void)!snprintf(file_name, sizeof file_name, "trial-%" PRId64 ".assay", id);
    return web_artifact(r, sha256, file_name, err);
}

static const struct web_route routes[] = {
    { WEB_GET, "/api/v1/studies/{study}/trials", trial_list, WEB_VIEWERS, 0,
      "state,sort,after,limit", "Trials of a study", NULL, "TrialList" },
    { WEB_POST, "/api/v1/studies/{study}/trials", trial_enqueue, WEB_USERS,
      WEB_WRITE | WEB_JSON | WEB_ADMIT | WEB_ONCE, NULL, "Enqueue a configuration of one's own",
      "Configuration", "Trial" },
    { WEB_GET, "/api/v1/trials/{trial}", trial_show, WEB_VIEWERS, 0, NULL,
      "One trial: configuration, reports, attempts", NULL, "Trial" },
    { WEB_GET, "/api/v1/trials/{trial}/logs", trial_logs, WEB_VIEWERS, 0, NULL,
      "What happened to a trial, from the journal", NULL, "TrialLog" },
    { WEB_GET, "/api/v1/trials/{trial}/epochs", trial_epochs, WEB_VIEWERS, 0, NULL,
      "How the networks of a trial learned, epoch by epoch", NULL, "TrialEpochs" },
    { WEB_GET, "/api/v1/trials/{trial}/output", trial_output, WEB_VIEWERS, 0, "after,limit",
      "What the program of a trial printed, piece by piece", NULL, "TrialOutput" },
    { WEB_GET, "/api/v1/trials/{trial}/pipeline", trial_pipeline, WEB_VIEWERS, 0, NULL,
      "What becomes of the table's columns in a trial", NULL, "TrialPipeline" },
    { WEB_POST, "/api/v1/trials/{trial}/kill", trial_kill, WEB_USERS, WEB_WRITE | WEB_JSON_MAY,
      NULL, "Cancel a trial", NULL, "Trial" },
    { WEB_POST, "/api/v1/trials/{trial}/retry", trial_retry, WEB_USERS,
      WEB_WRITE | WEB_JSON_MAY | WEB_ONCE, NULL, "A new trial of the same configuration", NULL,
      "Trial" },
    { WEB_GET, "/api/v1/trials/{trial}/artifact", trial_artifact, WEB_VIEWERS, WEB_TICKET, "ticket",
      "Download a kept model", NULL, "Bytes" },
};
const struct web_table web_trial_table = { routes, ARRAY_LEN(routes) };
