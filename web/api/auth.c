/* auth.c - access tokens, one-time links to the page, sessions of the page, and tickets for its
 * links to files. A session is opened by a link (GET /open) or by a token (POST /session, the
 * page's sign-in form). Who may come in with which of them is decided in web/request/auth.c. */
#include "web/api/handlers.h"

#include "base/jsonx.h"
#include "web/http/http_server.h"
#include "web/request/auth.h"

#include <stdio.h>
#include <string.h>

/* ---- tokens ---- */

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

/* ---- links ---- */

static int link_new(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "role" };
    char code[33] = "", path[64], url[160];
    const char *address = http_server_address(r->web->http), *role = NULL;

    if ((r->json && (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
                     jsonx_str(r->json, NULL, "role", JSONX_OPTIONAL, 20, &role, err) < 0)) ||
        ctl_link_new(r->ctl, &r->who, role, code, err) < 0)
        return -1;
    (void)!snprintf(path, sizeof path, "/open?code=%s", code);
    (void)!snprintf(url, sizeof url, "%s%s", address, path);
    return web_json(
        r, 201,
        json_pack("{s:s, s:o}", "path", path, "url", address[0] ? json_string(url) : json_null()));
}

/* Answers the one-time link with a page that leads to the app. The session's secret stands in the
 * fragment of the address (after #), which browsers never send to a server. api.js takes it from
 * there and removes it from the address. */
static int link_open(struct web_req *r, struct err *err)
{
    static const char page[] =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Assay</title>"
        "<link rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" "
        "content=\"0;url=/#key=%s\"><p><a href=\"/#key=%s\">Open Assay</a>";
    const char *code = web_arg(r, "code");
    struct ctl_keys keys;
    char text[sizeof page + 2 * sizeof keys.secret];

    if (!code || strlen(code) != 32)
        return err_set(err, ERR_DENIED, "this link is not whole: copy all of it");
    if (ctl_link_use(r->ctl, code, &keys, err) < 0)
        return -1;
    /* This is a page that goes on by itself, and not a redirect, because a browser does not send a
     * strict cookie along a redirect that began on another site, such as a chat window with the
     * link. */
    int n = snprintf(text, sizeof text, page, keys.secret, keys.secret);
    web_auth_cookie(r, keys.cookie);
    web_header_add(r, "Referrer-Policy", "no-referrer");
    return web_bytes(r, 200, "text/html; charset=utf-8", text, (size_t)n);
}

/* ---- sessions ---- */

static json_t *session_json(const struct web_req *r, const struct ctl_who *who, const char *secret)
{
    json_t *o = json_pack(
        "{s:s, s:s, s:o, s:b}", "role", ctl_role_name(who->role), "name", who->name, "session",
        who->session ? json_integer((json_int_t)who->session) : json_null(), "dev", r->web->dev);

    if (secret)
        json_object_set_new(o, "secret", json_string(secret));
    return o;
}

static int session_show(struct web_req *r, struct err *err)
{
    (void)err;
    return web_json(r, 200, session_json(r, &r->who, NULL));
}

static int session_open(struct web_req *r, struct err *err)
{
    static const char *const only[] = { "token" };
    const char *token = NULL;
    struct ctl_keys keys;
    struct ctl_who who;

    if (jsonx_only(r->json, NULL, only, ARRAY_LEN(only), err) < 0 ||
        jsonx_str(r->json, NULL, "token", JSONX_REQUIRED, 200, &token, err) < 0 ||
        ctl_session_open(r->ctl, token, &keys, &who, err) < 0)
        return -1;
    web_auth_cookie(r, keys.cookie);
    return web_json(r, 201, session_json(r, &who, keys.secret));
}

static int session_leave(struct web_req *r, struct err *err)
{
    if (!r->who.session)
        return err_set(err, ERR_CONFLICT,
                       "there is no session to end: this request came with a token");
    if (ctl_session_end(r->ctl, r->who.session, err) < 0)
        return -1;
    web_auth_cookie(r, NULL);
    return web_fixed(r, 204, NULL, "", 0);
}

static int session_list(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_sessions(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int session_end(struct web_req *r, struct err *err)
{
    int64_t id = 0;

    if (web_var_i64(r, 0, &id, err) < 0 || ctl_session_end(r->ctl, id, err) < 0)
        return -1;
    return web_fixed(r, 204, NULL, "", 0);
}

static int ticket_new(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "path" };
    const char *path = NULL;
    char ticket[33];

    if (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_str(r->json, NULL, "path", JSONX_REQUIRED, ARGS_TEXT_MAX, &path, err) < 0 ||
        ctl_ticket_new(r->ctl, &r->who, path, ticket, err) < 0)
        return -1;
    return web_json(r, 201, json_pack("{s:s}", "ticket", ticket));
}

static const struct web_route routes[] = {
    { WEB_GET, "/open", link_open, 0, WEB_OPEN | WEB_WRITE | WEB_HTML, "code",
      "Open the page by a one-time link", NULL, "Html" },
    { WEB_GET, "/api/v1/session", session_show, WEB_ANYONE, 0, NULL, "Who am I", NULL, "Session" },
    { WEB_POST, "/api/v1/session", session_open, 0, WEB_OPEN | WEB_WRITE | WEB_JSON, NULL,
      "Sign a page in: sets its cookie, gives the secret of its X-Assay-CSRF header", "SessionNew",
      "Session" },
    { WEB_DELETE, "/api/v1/session", session_leave, WEB_ANYONE, WEB_WRITE, NULL,
      "Sign the page out: ends the session that asks", NULL, NULL },
    { WEB_GET, "/api/v1/sessions", session_list, WEB_ADMINS, 0, NULL, "List sessions of the page",
      NULL, "SessionList" },
    { WEB_DELETE, "/api/v1/sessions/{session}", session_end, WEB_ADMINS, WEB_WRITE, NULL,
      "End a session, its event streams included", NULL, NULL },
    { WEB_POST, "/api/v1/tickets", ticket_new, WEB_VIEWERS, WEB_JSON, NULL,
      "A one-use ticket with which the page follows a link to a file", "TicketNew", "Ticket" },
    { WEB_GET, "/api/v1/tokens", token_list, WEB_ADMINS, 0, NULL, "List tokens, without their text",
      NULL, "TokenList" },
    { WEB_POST, "/api/v1/tokens", token_new, WEB_ADMINS, WEB_WRITE | WEB_JSON | WEB_NO_PAGE, NULL,
      "Make a token; its text is shown this once", "TokenNew", "Token" },
    { WEB_DELETE, "/api/v1/tokens/{token}", token_revoke, WEB_ADMINS, WEB_WRITE, NULL,
      "Revoke a token; its sessions and streams end with it", NULL, NULL },
    { WEB_POST, "/api/v1/links", link_new, WEB_ADMINS, WEB_WRITE | WEB_JSON_MAY | WEB_NO_PAGE, NULL,
      "A one-time link that opens the page", "LinkNew", "Link" },
};
const struct web_table web_auth_table = { routes, ARRAY_LEN(routes) };
