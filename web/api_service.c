/* api_service.c - the service itself: health, metrics, configuration, tokens, one-time links to the page and
 * the session they open, backup, and the description of this API. */
#include "web/route.h"

#include "base/clk.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { METRICS_MAX = 4 << 20 };

static int health(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_health(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int web_metrics(const struct web *web, struct buf *out, struct err *err)
{
    if (buf_addf(out, err,
                 "# HELP assay_http_connections Open connections.\n"
                 "# TYPE assay_http_connections gauge\nassay_http_connections %" PRId64 "\n"
                 "# HELP assay_http_answers_total Answers sent, by class of status.\n"
                 "# TYPE assay_http_answers_total counter\n",
                 web_count(web, 0)) < 0)
        return -1;
    for (int c = 2; c <= 5; c++) {
        if (buf_addf(out, err, "assay_http_answers_total{class=\"%dxx\"} %" PRId64 "\n", c,
                     web_count(web, c)) < 0)
            return -1;
    }
    return 0;
}

static int metrics(struct web_req *r, struct err *err)
{
    struct buf out;
    int rc = 0;

    buf_init(&out, METRICS_MAX);
    rc = ctl_metrics(r->ctl, &out, err);
    if (rc == 0)
        rc = web_metrics(r->web, &out, err);
    if (rc == 0)
        web_bytes(r, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.len);
    buf_fini(&out);
    return rc;
}

static int config(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_config(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

/* ---- tokens, links, sessions ---- */

static int token_new(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "name", "role" };
    const char *name = NULL, *role = NULL;
    json_t *out = NULL;

    if (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_str(r->json, NULL, "name", JSONX_REQUIRED, 120, &name, err) < 0 ||
        jsonx_str(r->json, NULL, "role", JSONX_REQUIRED, 20, &role, err) < 0 ||
        ctl_token_new(r->ctl, name, role, &out, err) < 0)
        return -1;
    return web_json(r, 201, out);
}

static int token_list(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_tokens(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int token_revoke(struct web_req *r, struct err *err)
{
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 || ctl_token_revoke(r->ctl, id, err) < 0)
        return -1;
    return web_fixed(r, 204, NULL, "", 0);
}

static int link_new(struct web_req *r, struct err *err)
{
    char code[33] = "", path[64], url[160];
    const char *address = web_address(r->web);

    if (ctl_link_new(r->ctl, code, err) < 0)
        return -1;
    (void)!snprintf(path, sizeof path, "/open?code=%s", code);
    (void)!snprintf(url, sizeof url, "%s%s", address, path);
    return web_json(
        r, 201,
        json_pack("{s:s, s:o}", "path", path, "url", address[0] ? json_string(url) : json_null()));
}

static int link_open(struct web_req *r, struct err *err)
{
    static const char page[] =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Assay</title>"
        "<link rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" content=\"0;url=/\"><p><a href=\"/\">Open Assay</a>";
    const char *code = web_arg(r, "code");
    char cookie[WEB_COOKIE_SIZE] = "", name[32], text[200];

    if (!code || strlen(code) != 32)
        return err_set(err, ERR_DENIED, "this link is not whole: copy all of it");
    if (ctl_link_use(r->ctl, code, cookie, err) < 0)
        return -1;
    /* A page that leads on by itself, not a redirect: a strict cookie is not sent along a redirect that
     * began in another site, such as a chat window where the link was pasted. */
    web_auth_cookie_name(r, name, sizeof name);
    (void)!snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800",
                    name, cookie);
    web_header_add(r, "Set-Cookie", text);
    web_header_add(r, "Referrer-Policy", "no-referrer");
    return web_fixed(r, 200, "text/html; charset=utf-8", page, sizeof page - 1);
}

static int session(struct web_req *r, struct err *err)
{
    static const char *const name[] = { "nobody", "viewer", "runner", "user", "admin" };
    char csrf[SHA256_HEX] = "";

    (void)err;
    if (r->by_cookie)
        web_auth_csrf(r->cookie, csrf);
    return web_json(r, 200,
                    json_pack("{s:s, s:s, s:o, s:b}", "role", name[r->role], "name", r->who, "csrf",
                              csrf[0] ? json_string(csrf) : json_null(), "dev",
                              web_conf_get(r->web)->dev));
}

/* ---- backup, description ---- */

static int backup(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "name" };
    char path[1024], made_up[64];
    const char *name = made_up;
    json_t *out = NULL;

    (void)!snprintf(made_up, sizeof made_up, "assay-%" PRId64 ".db",
                    clk_wall_ms(loop_clk(web_loop(r->web))));
    if (r->json && (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
                    jsonx_str(r->json, NULL, "name", JSONX_OPTIONAL, 120, &name, err) < 0))
        return -1;
    /* A name, never a path: a token must not be a way to write anywhere on this machine. */
    if (!str_name_ok(name))
        return err_at(err, "name", "a backup's name may hold letters, digits, '.', '_' and '-'");
    if (snprintf(path, sizeof path, "%s/backups", ctl_data_dir(r->ctl)) >= (int)sizeof path - 128)
        return err_set(err, ERR_IO, "the data folder's path is too long");
    if (io_mkdirs(path, 0700, err) < 0)
        return -1;
    (void)!snprintf(path, sizeof path, "%s/backups/%s", ctl_data_dir(r->ctl), name);
    if (io_file_bytes(path) >= 0)
        return err_set(err, ERR_CONFLICT, "there is a backup named %s", name);
    if (ctl_backup(r->ctl, path, &out, err) < 0)
        return -1;
    return web_json(r, 201, out);
}

static int openapi(struct web_req *r, struct err *err)
{
    (void)err;
    return web_json(r, 200, web_openapi_new());
}

static const struct web_route routes[] = {
    { WEB_GET, "/health", health, 0, WEB_OPEN, NULL, "Is the controller well? Needs no token", NULL,
      "Health" },
    { WEB_GET, "/metrics", metrics, WEB_VIEWERS, 0, NULL, "Counters as Prometheus text", NULL,
      "Text" },
    { WEB_GET, "/open", link_open, 0, WEB_OPEN | WEB_WRITE | WEB_HTML, "code",
      "Open the page by a one-time link", NULL, "Html" },
    { WEB_GET, "/api/v1/health", health, WEB_ANYONE, 0, NULL,
      "The same as /health, for a token's check", NULL, "Health" },
    { WEB_GET, "/api/v1/session", session, WEB_ANYONE, 0, NULL,
      "Who am I, and the CSRF token of a page", NULL, "Session" },
    { WEB_GET, "/api/v1/config", config, WEB_USERS, 0, NULL, "The controller's options", NULL,
      "Any" },
    { WEB_GET, "/api/v1/tokens", token_list, WEB_ADMINS, 0, NULL, "List tokens, without their text",
      NULL, "TokenList" },
    { WEB_POST, "/api/v1/tokens", token_new, WEB_ADMINS, WEB_WRITE | WEB_JSON, NULL,
      "Make a token; its text is shown this once", "TokenNew", "Token" },
    { WEB_DELETE, "/api/v1/tokens/{token}", token_revoke, WEB_ADMINS, WEB_WRITE, NULL,
      "Revoke a token", NULL, NULL },
    { WEB_POST, "/api/v1/links", link_new, WEB_ADMINS, WEB_WRITE | WEB_JSON_MAY, NULL,
      "A one-time link that opens the page", NULL, "Link" },
    { WEB_POST, "/api/v1/backup", backup, WEB_ADMINS, WEB_JSON_MAY, NULL,
      "Copy the database into the data folder's backups/", "BackupNew", "Backup" },
    { WEB_GET, "/api/v1/openapi.json", openapi, WEB_ANYONE, 0, NULL, "This description", NULL,
      "Any" },
};
const struct web_table web_service_table = { routes, ARRAY_LEN(routes) };
