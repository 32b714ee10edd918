/* auth.c - who may come in. The Unix socket's folder is private, so whoever reaches it is an administrator.
 * Over TCP, loopback too, a request needs a bearer token or the session cookie of the page; a write by
 * cookie also needs the CSRF token, which only a page of this origin can have read. The Host header must
 * be a literal address or a name we were told of (DNS rebinding), an Origin must be our own. The checks
 * that need no secret come first. Called by route.c, once per request. */
#include "base/str.h"
#include "web/route.h"
#include "web/server.h"

#include <stdio.h>
#include <string.h>

int web_auth_origin(const struct web_req *r, struct err *err)
{
    const char *host = web_header(r, "Host");

    if (r->is_local)
        return 0;
    if (!args_host_ok(host, web_conf_get(r->web)->host_names))
        return err_set(err, ERR_DENIED,
                       "this Host is not served here: use the address, localhost, or a name given "
                       "by --host-names");
    if (!args_origin_ok(web_header(r, "Origin"), host))
        return err_set(err, ERR_DENIED, "requests from pages of another origin are refused");
    return 0;
}

void web_auth_csrf(const char *cookie, char out[SHA256_HEX])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, "assay-csrf:", 11);
    sha256_add(&s, cookie, strlen(cookie));
    sha256_end_hex(&s, out);
}

void web_auth_cookie_name(const struct web_req *r, char *out, size_t size)
{
    /* Cookies are shared by all ports of a host; sessions must not be. */
    (void)!snprintf(out, size, "assay-%d", web_port(r->web));
}

static bool same_text(const char *a, const char *b)
{
    size_t n = strlen(a);
    unsigned diff = 0;

    if (strlen(b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        diff |= (unsigned char)(a[i] ^ b[i]);
    return diff == 0;
}

static int by_cookie(struct web_req *r, struct err *err)
{
    char name[32], want[SHA256_HEX];
    const char *got = web_header(r, "X-Assay-CSRF");

    web_auth_cookie_name(r, name, sizeof name);
    if (!args_cookie(web_header(r, "Cookie"), name, r->cookie, sizeof r->cookie))
        return err_set(err, ERR_AUTH,
                       "a token is needed: send \"Authorization: Bearer TOKEN\", or open the page "
                       "by the one-time link that the server printed");
    if (ctl_cookie_role(r->ctl, r->cookie, &r->role, err) < 0)
        return -1;
    if (r->role == CTL_NOBODY)
        return err_set(err, ERR_AUTH,
                       "the session has ended: open the page by a new one-time link");
    r->by_cookie = true;
    str_copy(r->who, sizeof r->who, "page");
    web_auth_csrf(r->cookie, want);
    if (r->method != WEB_GET && r->method != WEB_HEAD && (!got || !same_text(want, got)))
        return err_set(err, ERR_DENIED, "a write by the page needs its X-Assay-CSRF header");
    return 0;
}

static int who_is_it(struct web_req *r, struct err *err)
{
    char token[256];
    int rc = 0;

    if (r->is_local) {
        r->role = CTL_ADMIN;
        str_copy(r->who, sizeof r->who, "local");
        return 0;
    }
    rc = args_bearer(web_header(r, "Authorization"), token, sizeof token);
    if (rc == 0)
        return by_cookie(r, err);
    if (rc < 0)
        return err_set(err, ERR_AUTH, "the Authorization header must be \"Bearer TOKEN\"");
    if (ctl_token_role(r->ctl, token, &r->role, r->who, sizeof r->who, err) < 0)
        return -1;
    if (r->role == CTL_NOBODY)
        return err_set(err, ERR_AUTH, "this token is not known here, or was revoked");
    return 0;
}

int web_auth_check(struct web_req *r, struct err *err)
{
    static const char *const name[] = { "nobody", "viewer", "runner", "user", "admin" };

    if (r->route->flags & WEB_OPEN)
        return 0;
    if (who_is_it(r, err) < 0)
        return -1;
    if (!(r->route->allow >> r->role & 1))
        return err_set(err, ERR_DENIED, "the role %s may not do this", name[r->role]);
    return 0;
}
