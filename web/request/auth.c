/* auth.c - see auth.h. Who may come in:
 *
 * At the Unix socket everybody is an administrator, because its folder is private. Over TCP, also
 * on loopback, a request needs a bearer token or a session of the page.
 *
 * A session is a cookie plus the secret in the X-Assay-CSRF header, for reads as well as for
 * writes. Browsers send the cookie to every port of this host, and on behalf of any page there;
 * only a page of this origin knows the secret. A link to a file cannot carry a header, so its
 * address carries a ticket that works once.
 *
 * The Host header must be a literal address or a name that the server was told of (against DNS
 * rebinding), and an Origin must be this server's own. These two checks need no secret and come
 * first. */
#include "web/request/auth.h"

#include "base/str.h"
#include "web/http/http_server.h"
#include "web/request/route.h"

#include <stdio.h>
#include <string.h>

int web_auth_origin(const struct web_req *r, struct err *err)
{
    const char *host = web_header(r, "Host");

    if (r->is_local)
        return 0;
    if (!args_host_ok(host, r->web->host_names))
        return err_set(err, ERR_DENIED,
                       "this Host is not served here: use the address, localhost, or a name given "
                       "by --host-names");
    if (!args_origin_ok(web_header(r, "Origin"), host))
        return err_set(err, ERR_DENIED, "requests from pages of another origin are refused");
    return 0;
}

static void cookie_name(const struct web_req *r, char *out, size_t size)
{
    /* The port is part of the name: two services on one machine share their cookies otherwise, and
     * one would sign the other's pages out. */
    (void)!snprintf(out, size, "assay-%d", http_server_port(r->web->http));
}

void web_auth_cookie(struct web_req *r, const char *cookie)
{
    char name[32], text[200];

    cookie_name(r, name, sizeof name);
    (void)!snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s; Max-Age=%d",
                    name, cookie ? cookie : "", http_server_pin(r->web->http)[0] ? "; Secure" : "",
                    cookie ? 30 * 86400 : 0);
    web_header_add(r, "Set-Cookie", text);
}

/* The ticket in the address, if the route takes one; NULL = none. */
static const char *ticket_of(struct web_req *r, const char *query, struct err *err)
{
    struct args_query q = { 0 };

    if (!(r->route->flags & WEB_TICKET) || args_query_parse(&r->arena, query, &q, err) < 0)
        return NULL;
    return args_query_get(&q, "ticket");
}

static int by_page(struct web_req *r, const char *uri, struct err *err)
{
    size_t path_len = strcspn(uri, "?");
    const char *secret = web_header(r, "X-Assay-CSRF"), *ticket = NULL;
    struct ctl_keys keys = { .cookie = "" };
    char name[32];

    cookie_name(r, name, sizeof name);
    if (!args_cookie(web_header(r, "Cookie"), name, keys.cookie, sizeof keys.cookie))
        return err_set(err, ERR_AUTH,
                       "a token is needed: send \"Authorization: Bearer TOKEN\", or sign in on the "
                       "page");
    if (!secret)
        ticket = ticket_of(r, uri[path_len] ? uri + path_len + 1 : NULL, err);
    if (ticket) {
        char path[ARGS_TEXT_MAX];

        (void)!snprintf(path, sizeof path, "%.*s", (int)path_len, uri);
        if (ctl_ticket_use(r->ctl, keys.cookie, ticket, path, &r->who, err) < 0)
            return -1;
        return r->who.role != CTL_NOBODY
                   ? 0
                   : err_set(err, ERR_AUTH,
                             "this ticket was used already, is older than a minute, or is for "
                             "another address");
    }
    if (!secret || strlen(secret) >= sizeof keys.secret)
        return err_set(err, ERR_AUTH,
                       "a request of the page needs its X-Assay-CSRF header: sign in on the page");
    str_copy(keys.secret, sizeof keys.secret, secret);
    if (ctl_session_who(r->ctl, &keys, &r->who, err) < 0)
        return -1;
    return r->who.role != CTL_NOBODY ? 0
                                     : err_set(err, ERR_AUTH,
                                               "the session has ended: sign in again, or open the "
                                               "page by a new one-time link");
}

static int who_is_it(struct web_req *r, const char *uri, struct err *err)
{
    char token[256];
    int rc = 0;

    if (r->is_local) {
        r->who = (struct ctl_who){ .role = CTL_ADMIN, .name = "local" };
        return 0;
    }
    rc = args_bearer(web_header(r, "Authorization"), token, sizeof token);
    if (rc == 0)
        return by_page(r, uri, err);
    if (rc < 0)
        return err_set(err, ERR_AUTH, "the Authorization header must be \"Bearer TOKEN\"");
    if (ctl_token_who(r->ctl, token, &r->who, err) < 0)
        return -1;
    if (r->who.role == CTL_NOBODY)
        return err_set(err, ERR_AUTH, "this token is not known here, or was revoked");
    return 0;
}

int web_auth_check(struct web_req *r, const char *uri, struct err *err)
{
    if (r->route->flags & WEB_OPEN)
        return 0;
    if (who_is_it(r, uri, err) < 0)
        return -1;
    if (!(r->route->allow >> r->who.role & 1))
        return err_set(err, ERR_DENIED, "the role %s may not do this", ctl_role_name(r->who.role));
    if (r->route->flags & WEB_NO_PAGE && r->who.session)
        return err_set(err, ERR_DENIED,
                       "a session of the page may not do this: send a token, or use the assay "
                       "command on the machine of the controller");
    return 0;
}
