/* client.c - requests to a controller, and what their answers mean.
 *
 * client_open.c finds the server and its token, client_download.c and client_upload.c move
 * files, client_list.c reads long lists. When no connection can be made, the error is
 * ERR_UNREACHABLE (exit code 4) and names the address that was tried. Used by all commands that
 * ask a controller. */
#include "cli/client.h"
#include "cli/client_private.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/status.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_WAIT_MS = 20, MOST_WAIT_MS = 500 }; /* between two calls to a busy controller */
enum { GONE_COSTS_MS = 5000 }; /* of the patience, for a call to one that had gone */
enum { CLIENT_MAX_ANSWER = 256 << 20, CLIENT_URL_MAX = 2048 };

const char *client_server(const struct client *c)
{
    return c->server;
}

void client_timeout_ms(struct client *c, int64_t ms)
{
    c->timeout_ms = ms;
}

void client_patience(struct client *c, int64_t ms)
{
    c->patience_ms = ms;
}

void client_when_gone(struct client *c,
                      bool (*is_back)(void *arg, int64_t most_ms, struct err *why), void *arg)
{
    c->is_back = is_back;
    c->back_arg = arg;
}

static bool is_back(const struct client *c, struct err *why)
{
    return c->is_back && !c->timed_out && !client_is_over(c, 0) &&
           c->is_back(c->back_arg, c->clk ? c->deadline_ms - clk_now_ms(c->clk) : INT64_MAX, why);
}

bool client_repeats(const struct client *c, struct err *why, int64_t *waited_ms)
{
    int64_t ms = MIN(FIRST_WAIT_MS + *waited_ms / 4, MOST_WAIT_MS);
    const struct timespec pause = { .tv_nsec = ms * 1000000 };

    if (*waited_ms >= c->patience_ms || client_wants_end(c))
        return false;
    if (why->code == ERR_UNREACHABLE) {
        *waited_ms += GONE_COSTS_MS;
        return is_back(c, why);
    }
    if (why->code != ERR_BUSY || client_is_over(c, ms))
        return false;
    nanosleep(&pause, NULL);
    *waited_ms += ms;
    return true;
}

void client_deadline(struct client *c, const struct clk *clk, int64_t end_ms)
{
    c->clk = clk;
    c->deadline_ms = end_ms;
}

static int64_t call_ms(const struct client *c)
{
    int64_t ms = c->timeout_ms > 0 ? c->timeout_ms : 60000;

    return c->clk ? MAX(1, MIN(ms, c->deadline_ms - clk_now_ms(c->clk))) : ms;
}

void client_quote(const char *text, char *out, size_t size)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t n = 0;

    for (; *text && n + 4 < size; text++) {
        if (strchr(plain, *text))
            out[n++] = *text;
        else
            n += (size_t)snprintf(out + n, size - n, "%%%02X", (unsigned char)*text);
    }
    out[n] = '\0';
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    return buf_add(arg, p, size * n, NULL) < 0 ? 0 : size * n;
}

static int no_token(const struct client *c, struct err *err)
{
    if (c->token)
        return err_set(err, ERR_AUTH,
                       "%s does not know this token: it was revoked, or belongs to another "
                       "controller ('assay token add NAME ROLE' makes one there)",
                       c->server);
    return err_set(err, ERR_AUTH, "%s needs a token: set ASSAY_TOKEN, or use --token-file",
                   c->server);
}

static int redirect(const struct client *c, struct err *err)
{
    char *to = NULL;

    curl_easy_getinfo(c->curl, CURLINFO_REDIRECT_URL, &to);
    return err_set(err, ERR_IO,
                   "%s answered with a redirect%s%.200s: give --server the address of "
                   "the controller itself",
                   c->server, to ? " to " : "", to ? to : "");
}

int client_check(struct client *c, const char *body, size_t n, struct err *err)
{
    struct err ignored = { 0 };
    long status = 0;

    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300)
        return 0;
    if (status >= 300 && status < 400)
        return redirect(c, err);
    if (status == 401)
        return no_token(c, err);
    json_t *j = n ? jsonx_load(body, n, "answer", &ignored) : NULL;
    const char *detail = j ? json_string_value(json_object_get(j, "detail")) : NULL;
    const char *title = j ? json_string_value(json_object_get(j, "title")) : NULL;
    const char *where = j ? json_string_value(json_object_get(j, "where")) : NULL;

    if (detail || title)
        err_set(err, status_to_err((int)status), "%s", detail ? detail : title);
    else
        err_set(err, status_to_err((int)status), "%s answered with status %ld and no explanation",
                c->server, status);
    if (where && err)
        str_copy(err->where, sizeof(err->where), where);
    json_decref(j);
    return -1;
}

int client_curl_error(const struct client *c, CURLcode rc, struct err *err)
{
    if (rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST)
        return err_set(err, ERR_UNREACHABLE,
                       "no controller answers at %s (start one with 'assay serve')", c->server);
    if (rc == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, ERR_IO, "interrupted");
    if (rc == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_UNREACHABLE, "%s did not answer in time", c->server);
    if (peer_explain(&c->peer, rc, err))
        return -1;
    return err_set(err, ERR_UNREACHABLE, "%s: %s", c->server, curl_easy_strerror(rc));
}

struct curl_slist *client_prepare(struct client *c, const char *method, const char *path)
{
    char url[CLIENT_URL_MAX], line[600];
    struct curl_slist *headers = NULL;

    curl_easy_reset(c->curl);
    snprintf(url, sizeof(url), "%s%s%s", c->base,
             path[0] == '/' && str_starts(path, "/health") ? "" : "/api/v1", path);
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)call_ms(c));
    if (c->socket)
        curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
    else
        curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
    peer_setup(&c->peer, c->curl);
    if (c->token) {
        snprintf(line, sizeof(line), "Authorization: Bearer %s", c->token);
        headers = curl_slist_append(headers, line);
    }
    return curl_slist_append(headers, "Expect:");
}

/* Keeps the hash that the controller names for a model's bytes. */
static void note_hash(struct client *c, const char *line, size_t n)
{
    static const char name[] = "x-assay-sha256:";
    size_t at = sizeof(name) - 1;

    if (n < at || strncasecmp(line, name, at) != 0)
        return;
    while (at < n && line[at] == ' ')
        at++;
    if (n - at >= SHA256_HEX - 1)
        (void)snprintf(c->sha256, sizeof(c->sha256), "%.*s", SHA256_HEX - 1, line + at);
}

bool client_is_over(const struct client *c, int64_t ms)
{
    return c->clk && clk_now_ms(c->clk) + ms >= c->deadline_ms;
}

bool client_wants_end(const struct client *c)
{
    return c->wants_end && c->wants_end();
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e)
{
    (void)a, (void)b, (void)d, (void)e;
    return client_wants_end(arg);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct client *c = arg;

    note_hash(c, p, size * n);
    if (size * n == 2 && p[0] == '\r' && p[1] == '\n')
        c->has_headers = true;
    else if (size * n > 5 && memcmp(p, "HTTP/", 5) == 0) /* a status 100 came before this answer */
        c->has_headers = false;
    return size * n;
}

/* Performs a call. Where a connection ends within the headers, libcurl reports success with an
 * empty body; has_headers tells this from a whole answer. */
CURLcode client_perform(struct client *c)
{
    c->has_headers = false;
    c->sha256[0] = '\0';
    if (c->wants_end) {
        curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, c);
    }
    curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, c);
    CURLcode code = curl_easy_perform(c->curl);
    c->timed_out = code == CURLE_OPERATION_TIMEDOUT;
    return code == CURLE_OK && !c->has_headers ? CURLE_RECV_ERROR : code;
}

/* A header that is another one at each call of this function. */
static void once_header(char *out, size_t size)
{
    static unsigned calls;
    struct timespec now = { 0 };

    clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(out, size, "Idempotency-Key: %ld-%lld-%ld-%u", (long)getpid(),
                   (long long)now.tv_sec, now.tv_nsec, ++calls);
}

/* once: a header that makes a repeated POST harmless; NULL = none. */
static int call_once(struct client *c, const char *method, const char *path, const json_t *body,
                     const char *once, json_t **out, struct err *err)
{
    struct curl_slist *headers = client_prepare(c, method, path);
    char *text = body ? jsonx_dump(body) : NULL;
    struct buf answer;
    int rc = -1;

    buf_init(&answer, CLIENT_MAX_ANSWER);
    if (out)
        *out = NULL;
    if (text) {
        headers = curl_slist_append(headers, "Content-Type: application/json");
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, text);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
    } else if (strcmp(method, "GET") != 0) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, "");
    }
    if (once)
        headers = curl_slist_append(headers, once);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &answer);
    CURLcode code = client_perform(c);
    if (code != CURLE_OK) {
        client_curl_error(c, code, err);
        goto out;
    }
    if (client_check(c, answer.data, answer.len, err) < 0)
        goto out;
    if (out && answer.len > 0 && !(*out = jsonx_load(answer.data, answer.len, "answer", NULL))) {
        err_set(err, ERR_IO, "%s answered with something that is not JSON: is it a controller?",
                c->server);
        goto out;
    }
    rc = 0;
out:
    curl_slist_free_all(headers);
    mem_free(text);
    buf_fini(&answer);
    return rc;
}

int client_call(struct client *c, const char *method, const char *path, const json_t *body,
                json_t **out, struct err *err)
{
    bool is_post = c->is_back && strcmp(method, "POST") == 0;
    struct err why = { 0 };
    int64_t waited_ms = 0;
    char once[120];
    int rc;

    once_header(once, sizeof(once));
    do
        rc = call_once(c, method, path, body, is_post ? once : NULL, out, &why);
    while (rc < 0 && client_repeats(c, &why, &waited_ms));
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int client_get(struct client *c, json_t **out, struct err *err, const char *path_fmt, ...)
{
    char path[CLIENT_URL_MAX];
    va_list ap;

    va_start(ap, path_fmt);
    vsnprintf(path, sizeof(path), path_fmt, ap);
    va_end(ap);
    return client_call(c, "GET", path, NULL, out, err);
}

int client_post(struct client *c, const json_t *body, json_t **out, struct err *err,
                const char *path_fmt, ...)
{
    char path[CLIENT_URL_MAX];
    va_list ap;

    va_start(ap, path_fmt);
    vsnprintf(path, sizeof(path), path_fmt, ap);
    va_end(ap);
    return client_call(c, "POST", path, body, out, err);
}

void client_end_when(struct client *c, int (*asked)(void))
{
    c->wants_end = asked;
}
