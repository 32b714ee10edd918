/* once.c - see once.h. An answer is kept as JSON {request: hash of method, address and body;
 * status; body: text}, under the hash of the client's name and its key. */
#include "web/request/once.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "web/request/route.h"

#include <string.h>

enum { KEY_MAX = 255 };

static const char *key_of(const struct web_req *r)
{
    return r->route->flags & WEB_ONCE ? web_header(r, "Idempotency-Key") : NULL;
}

static int key_check(const char *key, struct err *err)
{
    size_t n = 0;

    while (key[n] >= ' ' && key[n] <= '~')
        n++;
    return n > 0 && n <= KEY_MAX && key[n] == '\0'
               ? 0
               : err_at(err, "Idempotency-Key", "must be 1 to %d printable characters", KEY_MAX);
}

/* Both are hashed with their closing NUL, so that no two pairs of name and key give the same bytes.
 */
static void name_of(const struct web_req *r, const char *key, char out[SHA256_HEX])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, r->who.name, strlen(r->who.name) + 1);
    sha256_add(&s, key, strlen(key) + 1);
    sha256_end_hex(&s, out);
}

static void request_hash(const struct web_req *r, const char *uri, char out[SHA256_HEX])
{
    const char *method = web_method_name[r->method];
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, method, strlen(method) + 1);
    sha256_add(&s, uri, strlen(uri) + 1);
    sha256_add(&s, r->body, r->body_len);
    sha256_end_hex(&s, out);
}

static int answer_again(struct web_req *r, const char *uri, const char *kept, size_t n,
                        struct err *err)
{
    json_t *j = jsonx_load(kept, n, "the answer kept for this key", err);
    const char *request = NULL, *body = NULL;
    char asked[SHA256_HEX];
    size_t len = 0;
    int status = 0, rc = 1;

    if (!j)
        return -1;
    request_hash(r, uri, asked);
    if (json_unpack(j, "{s:s, s:i, s:s%}", "request", &request, "status", &status, "body", &body,
                    &len) < 0) {
        rc = err_set(err, ERR_IO, "the answer kept for this key is damaged");
    } else if (strcmp(request, asked) != 0) {
        rc = err_set(err, ERR_CONFLICT,
                     "this Idempotency-Key came with another request: take a new one");
    } else {
        web_bytes(r, status, "application/json", body, len);
        web_header_add(r, "Idempotent-Replayed", "true");
    }
    json_decref(j);
    return rc;
}

int once_recall(struct web_req *r, const char *uri, struct err *err)
{
    const char *key = key_of(r);
    char name[SHA256_HEX];
    struct buf kept;
    int rc = 0;

    if (!key)
        return 0;
    if (key_check(key, err) < 0)
        return -1;
    buf_init(&kept, 2 * WEB_BODY_MAX);
    name_of(r, key, name);
    rc = ctl_once_get(r->ctl, name, &kept, err);
    if (rc == 1)
        rc = answer_again(r, uri, kept.data, kept.len, err);
    buf_fini(&kept);
    return rc;
}

int once_keep(const struct web_req *r, const char *uri, struct err *err)
{
    const char *key = key_of(r);
    char name[SHA256_HEX], request[SHA256_HEX];
    json_t *j = NULL;
    char *text = NULL;
    int rc = 0;

    if (!key)
        return 0;
    name_of(r, key, name);
    request_hash(r, uri, request);
    j = json_pack("{s:s, s:i, s:s%}", "request", request, "status", r->answer.status, "body",
                  (const char *)r->answer.bytes, r->answer.len);
    CHECK(j); /* answers are our own JSON, so UTF-8 */
    text = jsonx_dump(j);
    json_decref(j);
    rc = ctl_once_put(r->ctl, name, text, err);
    mem_free(text);
    return rc;
}
