/* study.c - studies: submit, list, show, change, steer, delete; their leaderboard, and what the
 * page shows of them. Each handler reads its arguments, calls one function of the controller, and
 * answers with its JSON unchanged. */
#include "web/api/handlers.h"

#include "web/api/blob.h"
#include "web/request/fair.h"
#include "web/request/send.h"

static int study_create(struct web_req *r, struct err *err)
{
    bool load_if_exists = false;
    json_t *out = NULL;

    if (web_arg_bool(r, "load_if_exists", &load_if_exists, err) < 0 ||
        ctl_study_create(r->ctl, r->json, r->who.name, load_if_exists, &out, err) < 0)
        return -1;
    return web_json(r, 201, out);
}

/* The preview is there, or failed. web_finish(r, false) answers without a commit, because nothing
 * was written. */
static void on_previewed(void *arg, json_t *out, const struct err *err)
{
    struct web_req *r = arg;

    if (out)
        web_json(r, 200, out);
    else
        web_problem(r, err);
    web_finish(r, false);
    web_release(r);
}

/* The preview is computed beside the loop, so the answer is deferred: the request is held until
 * on_previewed releases it. */
static int study_preview(struct web_req *r, struct err *err)
{
    r->is_deferred = true;
    web_hold(r);
    if (ctl_study_preview_beside(r->ctl, fair_line_of(r), r->json, on_previewed, r, err) == 0)
        return 0;
    web_release(r);
    r->is_deferred = false;
    return -1;
}

static int searchers(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_searchers(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int study_list(struct web_req *r, struct err *err)
{
    int64_t after = 0, limit = 100;
    bool with_archived = false;
    const char *ids = web_arg(r, "ids");
    json_t *out = NULL;

    if (web_arg_i64(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0 ||
        web_arg_bool(r, "archived", &with_archived, err) < 0 ||
        (ids ? ctl_studies_of(r->ctl, ids, &out, err)
             : ctl_studies(r->ctl, web_arg(r, "state"), with_archived, after, (int)limit, &out,
                           err)) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int study_show(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_study_get(r->ctl, r->vars[0], &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int study_patch(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_study_patch(r->ctl, r->vars[0], r->json, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int study_delete(struct web_req *r, struct err *err)
{
    if (ctl_study_delete(r->ctl, r->vars[0], err) < 0)
        return -1;
    return web_fixed(r, 204, NULL, "", 0);
}

static int act(struct web_req *r, enum ctl_study_verb verb, struct err *err)
{
    json_t *out = NULL;

    return ctl_study_act(r->ctl, r->vars[0], verb, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int study_pause(struct web_req *r, struct err *err)
{
    return act(r, CTL_PAUSE, err);
}

static int study_resume(struct web_req *r, struct err *err)
{
    return act(r, CTL_RESUME, err);
}

static int study_stop(struct web_req *r, struct err *err)
{
    return act(r, CTL_STOP, err);
}

static int study_kill(struct web_req *r, struct err *err)
{
    return act(r, CTL_KILL, err);
}

static int study_archive(struct web_req *r, struct err *err)
{
    return act(r, CTL_ARCHIVE, err);
}

static int study_unarchive(struct web_req *r, struct err *err)
{
    return act(r, CTL_UNARCHIVE, err);
}

static int study_leaderboard(struct web_req *r, struct err *err)
{
    int64_t offset = 0, limit = 100;
    json_t *out = NULL;

    if (web_arg_i64(r, "offset", 0, INT32_MAX, &offset, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0 ||
        ctl_leaderboard(r->ctl, r->vars[0], offset, (int)limit, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

/* ---- what the page asks ---- */

enum { ANSWER_MAX = 64 << 20 };

/* Answers with the text, or drops it. */
static int text_answer(struct web_req *r, int rc, struct buf *text)
{
    if (rc == 0)
        web_json_text(r, 200, text);
    buf_fini(text);
    return rc;
}

static int study_page(struct web_req *r, struct err *err)
{
    int64_t limit = 300;
    struct buf text;

    if (web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0)
        return -1;
    buf_init(&text, ANSWER_MAX);
    return text_answer(r, ctl_study_page(r->ctl, r->vars[0], (int)limit, &text, err), &text);
}

static int study_changes(struct web_req *r, struct err *err)
{
    int64_t after = 0, limit = 300;
    struct buf text;

    if (web_arg_i64(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0)
        return -1;
    buf_init(&text, ANSWER_MAX);
    return text_answer(r, ctl_study_changes(r->ctl, r->vars[0], after, (int)limit, &text, err),
                       &text);
}

static int study_columns(struct web_req *r, struct err *err)
{
    int64_t after = 0, limit = 1000;
    bool with_config = false;
    struct buf text;

    if (web_arg_i64(r, "after", 0, INT32_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 10000, &limit, err) < 0 ||
        web_arg_bool(r, "config", &with_config, err) < 0)
        return -1;
    buf_init(&text, ANSWER_MAX);
    return text_answer(
        r, ctl_study_columns(r->ctl, r->vars[0], after, (int)limit, with_config, &text, err),
        &text);
}

static int study_rows(struct web_req *r, struct err *err)
{
    struct ctl_rows want = { .numbers = web_arg(r, "numbers"),
                             .state = web_arg(r, "state"),
                             .sort = web_arg(r, "sort") };
    int64_t limit = 300;
    struct buf text;

    if (web_arg_i64(r, "after", 0, INT32_MAX, &want.after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0)
        return -1;
    want.limit = (int)limit;
    buf_init(&text, ANSWER_MAX);
    return text_answer(r, ctl_study_rows(r->ctl, r->vars[0], &want, &text, err), &text);
}

static int study_importance(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_importance(r->ctl, r->vars[0], web_arg(r, "method"), &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int study_pareto(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_pareto(r->ctl, r->vars[0], web_arg(r, "x"), web_arg(r, "y"), &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int study_dump(struct web_req *r, struct err *err)
{
    int64_t after = 0, limit = 1000;
    json_t *out = NULL;

    if (web_arg_i64(r, "after", 0, INT64_MAX, &after, err) < 0 ||
        web_arg_i64(r, "limit", 1, 1000, &limit, err) < 0 ||
        ctl_study_dump(r->ctl, r->vars[0], after, (int)limit, &out, err) < 0)
        return -1;
    return web_json(r, 200, out);
}

static int study_artifact(struct web_req *r, struct err *err)
{
    char sha256[SHA256_HEX] = "", file_name[256] = "";

    if (ctl_best_artifact(r->ctl, r->vars[0], sha256, file_name, sizeof file_name, err) < 0)
        return -1;
    return web_artifact(r, sha256, file_name[0] ? file_name : "best.assay", err);
}

static const struct web_route routes[] = {
    { WEB_POST, "/api/v1/studies", study_create, WEB_USERS,
      WEB_WRITE | WEB_JSON | WEB_ADMIT | WEB_ONCE, "load_if_exists",
      "Submit a study, or find the one of that name", "Spec", "Study" },
    { WEB_POST, "/api/v1/studies:preview", study_preview, WEB_VIEWERS, WEB_JSON, NULL,
      "What a spec would do: trials by length, cost, time; nothing is stored", "Spec", "Preview" },
    { WEB_GET, "/api/v1/searchers", searchers, WEB_VIEWERS, 0, NULL,
      "Samplers and schedulers that a spec may name, with their options", NULL, "Searchers" },
    { WEB_GET, "/api/v1/studies", study_list, WEB_VIEWERS, 0, "state,archived,after,limit,ids",
      "List studies", NULL, "StudyList" },
    { WEB_GET, "/api/v1/studies/{study}", study_show, WEB_VIEWERS, 0, NULL, "One study", NULL,
      "Study" },
    { WEB_PATCH, "/api/v1/studies/{study}", study_patch, WEB_USERS, WEB_WRITE | WEB_JSON, NULL,
      "Change the priority or raise the budget of a study", "StudyPatch", "Study" },
    { WEB_DELETE, "/api/v1/studies/{study}", study_delete, WEB_USERS, WEB_WRITE, NULL,
      "Delete an ended or damaged study with its trials", NULL, NULL },
    { WEB_POST, "/api/v1/studies/{study}/pause", study_pause, WEB_USERS, WEB_WRITE | WEB_JSON_MAY,
      NULL, "Pause: running trials stop at their next rung", NULL, "Study" },
    { WEB_POST, "/api/v1/studies/{study}/resume", study_resume, WEB_USERS, WEB_WRITE | WEB_JSON_MAY,
      NULL, "Resume a paused study", NULL, "Study" },
    { WEB_POST, "/api/v1/studies/{study}/stop", study_stop, WEB_USERS, WEB_WRITE | WEB_JSON_MAY,
      NULL, "End the study now, with its best model", NULL, "Study" },
    { WEB_POST, "/api/v1/studies/{study}/kill", study_kill, WEB_USERS, WEB_WRITE | WEB_JSON_MAY,
      NULL, "End the study now, without a model", NULL, "Study" },
    { WEB_POST, "/api/v1/studies/{study}/archive", study_archive, WEB_USERS,
      WEB_WRITE | WEB_JSON_MAY, NULL, "Hide the study from lists", NULL, "Study" },
    { WEB_POST, "/api/v1/studies/{study}/unarchive", study_unarchive, WEB_USERS,
      WEB_WRITE | WEB_JSON_MAY, NULL, "Show the study in lists again", NULL, "Study" },
    { WEB_GET, "/api/v1/studies/{study}/leaderboard", study_leaderboard, WEB_VIEWERS, 0,
      "offset,limit", "Trials, best first", NULL, "Leaderboard" },
    { WEB_GET, "/api/v1/studies/{study}/page", study_page, WEB_VIEWERS, 0, "limit",
      "The first sight of a study: the study and its first rows", NULL, "StudyPage" },
    { WEB_GET, "/api/v1/studies/{study}/changes", study_changes, WEB_VIEWERS, 0, "after,limit",
      "The study and the trials that changed after a number of the journal", NULL, "StudyChanges" },
    { WEB_GET, "/api/v1/studies/{study}/columns", study_columns, WEB_VIEWERS, 0,
      "after,limit,config", "Facts of all trials, one array each", NULL, "StudyColumns" },
    { WEB_GET, "/api/v1/studies/{study}/rows", study_rows, WEB_VIEWERS, 0,
      "numbers,state,sort,after,limit", "Rows of some trials", NULL, "StudyRows" },
    { WEB_GET, "/api/v1/studies/{study}/dump", study_dump, WEB_VIEWERS, 0, "after,limit",
      "The rows of a study as they are stored, also of a damaged one", NULL, "StudyDump" },
    { WEB_GET, "/api/v1/studies/{study}/importance", study_importance, WEB_VIEWERS, 0, "method",
      "Which parameters made the difference", NULL, "Importance" },
    { WEB_GET, "/api/v1/studies/{study}/pareto", study_pareto, WEB_VIEWERS, 0, "x,y",
      "Trials that no other beats in two facts at once", NULL, "Pareto" },
    { WEB_GET, "/api/v1/studies/{study}/best/artifact", study_artifact, WEB_VIEWERS, WEB_TICKET,
      "ticket", "Download the best model", NULL, "Bytes" },
};
const struct web_table web_study_table = { routes, ARRAY_LEN(routes) };
