/* auth.c - access tokens. A token is 32 random bytes, shown as 64 hexadecimal digits when it is
 * made and never again. Only its SHA-256 is stored, so that somebody who reads the database does
 * not get access by it. A plain hash is enough, because a token has 256 random bits and cannot be
 * guessed. Sessions of the page are in session.c. */
#include "controller/serve/auth.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { NAME_MAX_BYTES = 60 };

static const char *const role_name[] = { [CTL_NOBODY] = "nobody",
                                         [CTL_VIEWER] = "viewer",
                                         [CTL_RUNNER] = "runner",
                                         [CTL_USER] = "user",
                                         [CTL_ADMIN] = "admin" };

const char *ctl_role_name(enum ctl_role role)
{
    CHECK((size_t)role < ARRAY_LEN(role_name));
    return role_name[role];
}

enum ctl_role auth_role_parse(const char *name)
{
    for (int i = CTL_VIEWER; i <= CTL_ADMIN; i++) {
        if (str_eq(role_name[i], name))
            return (enum ctl_role)i;
    }
    return CTL_NOBODY;
}

int auth_random_hex(char *out, size_t bytes, struct err *err)
{
    uint8_t raw[32];

    CHECK(bytes <= sizeof raw);
    if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
        return err_errno(err, "random bytes");
    str_hex(raw, bytes, out);
    return 0;
}

/* ---- tokens ---- */

int ctl_token_who(struct ctl *ctl, const char *token, struct ctl_who *who, struct err *err)
{
    char hash[SHA256_HEX];
    struct token_row row = { 0 };
    int rc = 0;

    *who = (struct ctl_who){ 0 };
    sha256_hex(token, strlen(token), hash);
    rc = store_token_find(ctl->store, hash, &row, err);
    if (rc == 1) {
        who->role = auth_role_parse(row.role);
        who->token = row.id;
        str_copy(who->name, sizeof who->name, row.name);
    }
    token_row_fini(&row);
    return rc < 0 ? -1 : 0;
}

static int token_make(struct ctl *ctl, const char *name, const char *role, char token[65],
                      int64_t *id, struct err *err)
{
    struct token_row row = { .created_at = ctl_wall(ctl) };
    int rc = 0;

    if (auth_random_hex(token, 32, err) < 0)
        return -1;
    row.name = mem_strdup(name);
    row.role = mem_strdup(role);
    sha256_hex(token, strlen(token), row.hash);
    rc = store_token_put(ctl->store, &row, err);
    *id = row.id;
    token_row_fini(&row);
    return rc;
}

int ctl_token_new(struct ctl *ctl, const char *name, const char *role, json_t **out,
                  struct err *err)
{
    char token[65];
    int64_t id = 0;

    if (!name || !str_name_ok(name) || strlen(name) > NAME_MAX_BYTES)
        return err_at(err, "name", "must be a name of letters, digits, . _ -");
    if (!role || auth_role_parse(role) == CTL_NOBODY)
        return err_at(err, "role", "must be admin, user, viewer or runner");
    if (token_make(ctl, name, role, token, &id, err) < 0)
        return -1;
    log_info("token.new token=%" PRId64 " name=%s role=%s", id, name, role);
    *out = json_pack("{s:I, s:s, s:s, s:s}", "id", (json_int_t)id, "name", name, "role", role,
                     "token", token);
    return 0;
}

static int on_token(void *arg, struct token_row *row)
{
    json_array_append_new(arg, json_pack("{s:I, s:s, s:s, s:I}", "id", (json_int_t)row->id, "name",
                                         row->name, "role", row->role, "created_at",
                                         (json_int_t)row->created_at));
    return 0;
}

int ctl_tokens(struct ctl *ctl, json_t **out, struct err *err)
{
    json_t *list = json_array();

    if (store_token_each(ctl->store, on_token, list, err) < 0) {
        json_decref(list);
        return -1;
    }
    *out = json_pack("{s:o}", "tokens", list);
    return 0;
}

int ctl_token_revoke(struct ctl *ctl, int64_t id, struct err *err)
{
    if (store_token_delete(ctl->store, id, err) < 0)
        return -1;
    log_info("token.revoked token=%" PRId64, id);
    auth_changed(ctl);
    return 0;
}

static int count_token(void *arg, struct token_row *row)
{
    *(int *)arg += str_eq(row->role, "admin");
    return 0;
}

int auth_first_token(struct ctl *ctl, struct err *err)
{
    char token[66], path[600];
    int64_t id = 0;
    int admins = 0;

    if (store_token_each(ctl->store, count_token, &admins, err) < 0)
        return -1;
    if (admins > 0)
        return 0;
    if ((size_t)snprintf(path, sizeof path, "%s/admin-token", ctl->conf.data_dir) >= sizeof path)
        return err_set(err, ERR_ARG, "the data folder's path is too long");
    if (token_make(ctl, "admin", "admin", token, &id, err) < 0)
        return -1;
    size_t n = strlen(token);
    token[n] = '\n';
    return io_replace(path, token, n + 1, 0600, err);
}
