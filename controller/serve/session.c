/* session.c - sessions of the page: how they begin (by a one-time link or a token), whose they are,
 * and how they end.
 *
 * A session is two secrets of 32 random bytes each. One is a cookie. Browsers send a cookie to
 * every port of its host, so any program that listens on this machine may see it. The other secret
 * is sent only as a header by the page itself. Neither opens anything alone. A session has the role
 * with which it was opened. It ends a week after its last use, a month after its beginning, or with
 * the token that opened it.
 *
 * A link opens one session, once. A ticket stands for the header where the page cannot send one,
 * for example in a link to a file: it is good for one path, once. Links and tickets are in memory,
 * are good for minutes, and end at a restart. */
#include "controller/serve/auth.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LINKS_MAX = 64,    /* at the same time; a new one takes the place of the oldest */
    TICKETS_MAX = 256, /* likewise */
    SESSIONS_MAX = 64, /* of one token; the oldest ends */
    LINK_MS = 600000,
    TICKET_MS = 60000,
    HOUR_MS = 3600000
};
/* A session ends so long after its last use, and so long after its beginning. */
static const int64_t idle_ms = INT64_C(7) * 24 * HOUR_MS, life_ms = INT64_C(30) * 24 * HOUR_MS;

struct link {
    char code[33]; /* "" = used, or never made */
    int64_t until_ms;
    struct ctl_who by; /* who made it, with the role that the session will have */
};
struct ticket {
    char text[33]; /* "" = used, or never made */
    char path_hash[SHA256_HEX];
    int64_t until_ms, session;
};
/* Somebody who must be told when a token or a session ends: an open event stream, for example. */
struct ctl_watch {
    struct ctl_watch *next;
    int64_t token, session;
    void (*on_end)(void *arg);
    void *arg;
    bool is_told;
};
struct auth {
    struct link links[LINKS_MAX];
    struct ticket tickets[TICKETS_MAX];
    unsigned next_link, next_ticket; /* the places that are used next, modulo the sizes */
    struct ctl_watch *watches;
};

struct auth *auth_new(void)
{
    return mem_zalloc(sizeof(struct auth));
}

void auth_free(struct auth *a)
{
    while (a->watches) {
        struct ctl_watch *w = a->watches;

        a->watches = w->next;
        mem_free(w);
    }
    mem_free(a);
}

/* Looks at every byte, so that the time it takes tells nothing about the secret. */
static bool secret_equals(const char *a, const char *b)
{
    size_t n = strlen(a);
    unsigned diff = 0;

    if (n == 0 || strlen(b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        diff |= (unsigned char)(a[i] ^ b[i]);
    return diff == 0;
}

/* ---- who watches ---- */

static bool is_there(struct ctl *ctl, const struct ctl_watch *w)
{
    if (w->session)
        return store_session_has(ctl->store, w->session, NULL) != 0;
    return !w->token || store_token_has(ctl->store, w->token, NULL) != 0;
}

static void on_committed(void *arg, bool ok, const struct err *err)
{
    struct ctl *ctl = arg;
    struct ctl_watch *w = ctl->auth->watches;

    (void)ok, (void)err;
    while (w) {
        if (w->is_told || is_there(ctl, w)) {
            w = w->next;
            continue;
        }
        w->is_told = true;
        w->on_end(w->arg);
        w = ctl->auth->watches; /* on_end may have changed the list: begin again */
    }
}

void auth_changed(struct ctl *ctl)
{
    ctl_after_commit(ctl, on_committed, ctl);
}

struct ctl_watch *ctl_who_watch(struct ctl *ctl, const struct ctl_who *who,
                                void (*on_end)(void *arg), void *arg)
{
    struct ctl_watch *w = mem_zalloc(sizeof *w);

    *w = (struct ctl_watch){ ctl->auth->watches, who->token, who->session, on_end, arg, false };
    ctl->auth->watches = w;
    return w;
}

void ctl_who_unwatch(struct ctl *ctl, struct ctl_watch *watch)
{
    struct ctl_watch **at = &ctl->auth->watches;

    if (!watch)
        return;
    while (*at != watch) {
        CHECK(*at);
        at = &(*at)->next;
    }
    *at = watch->next;
    mem_free(watch);
}

/* ---- sessions ---- */

static void hash_of(const char *text, char out[SHA256_HEX])
{
    sha256_hex(text, strlen(text), out);
}

static int session_make(struct ctl *ctl, const struct ctl_who *by, struct ctl_keys *keys,
                        int64_t *id, struct err *err)
{
    int64_t now = ctl_wall(ctl);
    struct session_row row = {
        .token = by->token, .created_at = now, .seen_at = now, .ends_at = now + idle_ms
    };
    int rc = -1, trimmed = 0;

    if (auth_random_hex(keys->cookie, 32, err) < 0 || auth_random_hex(keys->secret, 32, err) < 0)
        return -1;
    hash_of(keys->cookie, row.cookie_hash);
    hash_of(keys->secret, row.secret_hash);
    row.name = mem_strdup(by->name);
    row.role = mem_strdup(ctl_role_name(by->role));
    rc = store_session_put(ctl->store, &row, err);
    if (rc == 0)
        rc = trimmed = store_session_trim(ctl->store, by->token, SESSIONS_MAX, err);
    if (rc >= 0)
        log_info("session.new session=%" PRId64 " token=%" PRId64 " name=%s role=%s", row.id,
                 row.token, row.name, row.role);
    if (trimmed > 0)
        auth_changed(ctl);
    *id = row.id;
    session_row_fini(&row);
    return rc < 0 ? -1 : 0;
}

int ctl_session_open(struct ctl *ctl, const char *token, struct ctl_keys *out, struct ctl_who *who,
                     struct err *err)
{
    if (ctl_token_who(ctl, token, who, err) < 0)
        return -1;
    if (who->role == CTL_NOBODY)
        return err_set(err, ERR_AUTH, "this token is not known here, or was revoked");
    if (who->role == CTL_RUNNER)
        return err_set(err, ERR_DENIED, "a runner's token does not open the page");
    return session_make(ctl, who, out, &who->session, err);
}

/* Moves the end of a session on because it was used, at most once an hour. If the write fails, the
 * next request of the session tries again. */
static void session_seen(struct ctl *ctl, struct session_row *row)
{
    int64_t now = ctl_wall(ctl);
    struct err err = { 0 };

    if (now - row->seen_at < HOUR_MS || ctl->in_request || ctl_request_begin(ctl, &err) < 0)
        return;
    row->seen_at = now;
    row->ends_at = MIN(now + idle_ms, row->created_at + life_ms);
    int rc = store_session_put(ctl->store, row, &err);
    if (ctl_request_end(ctl, rc == 0, &err) < 0 || rc < 0)
        log_warn("session.seen session=%" PRId64 " err=\"%s\"", row->id, err.text);
}

/* 1 = *row and *who are filled, 0 = no such session or it is over, -1. */
static int session_find(struct ctl *ctl, const char *cookie, struct session_row *row,
                        struct ctl_who *who, struct err *err)
{
    char hash[SHA256_HEX];
    int rc = 0;

    *who = (struct ctl_who){ 0 };
    hash_of(cookie, hash);
    rc = store_session_find(ctl->store, hash, row, err);
    if (rc != 1 || row->ends_at <= ctl_wall(ctl))
        return rc < 0 ? -1 : 0;
    who->role = auth_role_parse(row->role);
    who->token = row->token;
    who->session = row->id;
    str_copy(who->name, sizeof who->name, row->name);
    return 1;
}

int ctl_session_who(struct ctl *ctl, const struct ctl_keys *keys, struct ctl_who *who,
                    struct err *err)
{
    struct session_row row = { 0 };
    char hash[SHA256_HEX];
    int rc = session_find(ctl, keys->cookie, &row, who, err);

    hash_of(keys->secret, hash);
    if (rc == 1 && secret_equals(row.secret_hash, hash))
        session_seen(ctl, &row);
    else
        *who = (struct ctl_who){ 0 };
    session_row_fini(&row);
    return rc < 0 ? -1 : 0;
}

static int on_session(void *arg, struct session_row *row)
{
    json_array_append_new(
        arg, json_pack("{s:I, s:s, s:s, s:o, s:I, s:I, s:I}", "id", (json_int_t)row->id, "name",
                       row->name, "role", row->role, "token",
                       row->token ? json_integer((json_int_t)row->token) : json_null(),
                       "created_at", (json_int_t)row->created_at, "seen_at",
                       (json_int_t)row->seen_at, "ends_at", (json_int_t)row->ends_at));
    return 0;
}

int ctl_sessions(struct ctl *ctl, json_t **out, struct err *err)
{
    json_t *list = json_array();

    if (store_session_each(ctl->store, on_session, list, err) < 0) {
        json_decref(list);
        return -1;
    }
    *out = json_pack("{s:o}", "sessions", list);
    return 0;
}

int ctl_session_end(struct ctl *ctl, int64_t id, struct err *err)
{
    if (store_session_delete(ctl->store, id, err) < 0)
        return -1;
    log_info("session.ended session=%" PRId64, id);
    auth_changed(ctl);
    return 0;
}

void auth_collect(struct ctl *ctl)
{
    struct err err = { 0 };
    int n = 0;

    if (ctl_request_begin(ctl, &err) < 0)
        return;
    n = store_session_expire(ctl->store, ctl_wall(ctl), &err);
    if (n > 0)
        auth_changed(ctl);
    if (ctl_request_end(ctl, n >= 0, n >= 0 ? &err : NULL) < 0 || n < 0)
        log_warn("session.collect err=\"%s\"", err.text);
}

/* ---- links ---- */

int ctl_link_new(struct ctl *ctl, const struct ctl_who *by, const char *role, char code[33],
                 struct err *err)
{
    static const struct ctl_who program = { .role = CTL_ADMIN, .name = "local" };
    struct link *l = &ctl->auth->links[ctl->auth->next_link++ % LINKS_MAX];
    enum ctl_role as = role ? auth_role_parse(role) : CTL_NOBODY;

    by = by ? by : &program;
    if (role && (as == CTL_NOBODY || as == CTL_RUNNER || as > by->role))
        return err_at(err, "role",
                      "must be viewer, user or admin, and not a higher role than your own");
    if (auth_random_hex(code, 16, err) < 0)
        return -1;
    str_copy(l->code, sizeof l->code, code);
    l->until_ms = ctl_now(ctl) + LINK_MS;
    l->by = *by;
    if (role)
        l->by.role = as;
    return 0;
}

int ctl_link_use(struct ctl *ctl, const char *code, struct ctl_keys *out, struct err *err)
{
    struct auth *a = ctl->auth;
    int64_t id = 0;

    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *l = &a->links[i];
        int rc = 1;

        if (!secret_equals(l->code, code) || l->until_ms < ctl_now(ctl))
            continue;
        l->code[0] = '\0'; /* it is good for one use, also if that fails */
        if (l->by.token)
            rc = store_token_has(ctl->store, l->by.token, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return err_set(err, ERR_AUTH, "the token that asked for this link was revoked");
        return session_make(ctl, &l->by, out, &id, err);
    }
    return err_set(err, ERR_AUTH, "this link was used already, or is older than ten minutes");
}

/* ---- tickets ---- */

int ctl_ticket_new(struct ctl *ctl, const struct ctl_who *who, const char *path, char ticket[33],
                   struct err *err)
{
    struct ticket *t = &ctl->auth->tickets[ctl->auth->next_ticket++ % TICKETS_MAX];

    if (!who->session)
        return err_set(err, ERR_CONFLICT,
                       "only a session of the page can have a ticket: send the token as a header");
    if (auth_random_hex(ticket, 16, err) < 0)
        return -1;
    str_copy(t->text, sizeof t->text, ticket);
    hash_of(path, t->path_hash);
    t->session = who->session;
    t->until_ms = ctl_now(ctl) + TICKET_MS;
    return 0;
}

int ctl_ticket_use(struct ctl *ctl, const char *cookie, const char *ticket, const char *path,
                   struct ctl_who *who, struct err *err)
{
    struct session_row row = { 0 };
    char path_hash[SHA256_HEX];
    bool fits = false;
    int rc = session_find(ctl, cookie, &row, who, err);

    hash_of(path, path_hash);
    for (int i = 0; rc == 1 && i < TICKETS_MAX; i++) {
        struct ticket *t = &ctl->auth->tickets[i];

        if (!secret_equals(t->text, ticket) || t->session != row.id || t->until_ms < ctl_now(ctl) ||
            !str_eq(t->path_hash, path_hash))
            continue;
        t->text[0] = '\0'; /* it is good for one use */
        fits = true;
    }
    if (!fits)
        *who = (struct ctl_who){ 0 };
    session_row_fini(&row);
    return rc < 0 ? -1 : 0;
}
