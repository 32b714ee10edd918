/* ask.c - ask and tell, for programs of the user's that run the trials themselves: suggest, tell,
 * reports, complete. Each handler calls one function of the controller and answers with its JSON. */
#include "web/api/handlers.h"

static int suggest(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_study_suggest(r->ctl, r->vars[0], r->json, &out, err) < 0 ? -1
                                                                         : web_json(r, 200, out);
}

static int tell_many(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_study_tell(r->ctl, r->vars[0], r->json, &out, err) < 0 ? -1 : web_json(r, 200, out);
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
