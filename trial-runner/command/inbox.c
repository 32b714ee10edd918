/* inbox.c - see inbox.h. One request for each connection; whatever is not understood is refused with a
 * sentence and the connection is closed. */
#include "trial-runner/command/inbox.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALL_MS = 10000 };

int inbox_open(struct inbox *d, struct err *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t n = sizeof at;
    uint8_t bytes[16];

    for (int i = 0; i < INBOX_CALLS; i++)
        d->calls[i].fd = -1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    d->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0 || bind(d->fd, (struct sockaddr *)&at, sizeof at) < 0 ||
        listen(d->fd, INBOX_CALLS) < 0 || getsockname(d->fd, (struct sockaddr *)&at, &n) < 0 ||
        getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        err_errno(err, "a port for reports");
        inbox_close(d);
        return -1;
    }
    str_hex(bytes, sizeof bytes, d->token);
    (void)snprintf(d->url, sizeof d->url, "http://127.0.0.1:%d", (int)ntohs(at.sin_port));
    return 0;
}

static void call_close(struct inbox_call *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->len = 0;
    c->level = 0;
}

void inbox_close(struct inbox *d)
{
    for (int i = 0; i < INBOX_CALLS; i++)
        call_close(&d->calls[i]);
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}

int inbox_poll(const struct inbox *d, struct pollfd *out)
{
    int n = 0;

    if (d->fd < 0)
        return 0;
    out[n++] = (struct pollfd){ .fd = d->fd, .events = POLLIN };
    for (int i = 0; i < INBOX_CALLS; i++) {
        if (d->calls[i].fd >= 0)
            out[n++] = (struct pollfd){ .fd = d->calls[i].fd, .events = POLLIN };
    }
    return n;
}

/* Answers are short, so that they fit into the socket's buffer. */
static void answer(struct inbox_call *c, int status, json_t *body_steal)
{
    char *body = jsonx_dump(body_steal), head[200];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n",
                     status, status == 200 ? "OK" : "Refused", strlen(body));

    if (send(c->fd, head, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n)
        (void)!send(c->fd, body, strlen(body), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(c->fd, SHUT_WR);
    mem_free(body);
    json_decref(body_steal);
    call_close(c);
}

static void refuse(struct inbox_call *c, int status, const char *why)
{
    answer(c, status, json_pack("{s:i, s:s}", "status", status, "detail", why));
}

/* The value of a header; "" = it is not there. */
static void header(const char *text, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);

    out[0] = '\0';
    for (const char *line = strstr(text, "\r\n"); line && line[2] != '\r';
         line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;

        if (strncasecmp(at, name, n) != 0 || at[n] != ':')
            continue;
        at += n + 1;
        at += strspn(at, " \t");
        (void)snprintf(out, size, "%.*s", (int)MIN(strcspn(at, "\r"), size - 1), at);
        return;
    }
}

/* Compares without telling by its time how much was right. */
static bool is_token(const struct inbox *d, const char *given)
{
    unsigned differ = 0;

    if (!str_starts(given, "Bearer ") || strlen(given) != 7 + strlen(d->token))
        return false;
    for (size_t i = 0; d->token[i]; i++)
        differ |= (unsigned)(given[7 + i] ^ d->token[i]);
    return differ == 0;
}

static void take_report(struct inbox *d, struct inbox_call *c, const char *body)
{
    struct report r;
    struct err err = { 0 };
    json_t *o = jsonx_load(body, strlen(body), "the report", &err);
    int level = o && report_json(&r, o, d->metric, &err) == 1 ? d->on_report(d->arg, &r, &err) : -1;

    json_decref(o);
    if (level < 0) {
        refuse(c, 400, err.text);
        return;
    }
    c->level = level;
    c->until_ms = 0;
}

static void serve(struct inbox *d, struct inbox_call *c, const char *body)
{
    char auth[80] = "";

    header(c->text, "authorization", auth, sizeof auth);
    if (!is_token(d, auth))
        refuse(c, 401, "send the header Authorization: Bearer, with the token in ASSAY_TOKEN");
    else if (str_starts(c->text, "POST /report "))
        take_report(d, c, body);
    else if (str_starts(c->text, "GET /params "))
        answer(c, 200, json_deep_copy(d->params));
    else
        refuse(c, 404, "there are POST /report and GET /params");
}

/* Serves the request once it is complete. */
static void look(struct inbox *d, struct inbox_call *c)
{
    char length[24], chunked[24];
    const char *end = NULL;
    int64_t n = 0;

    c->text[c->len] = '\0';
    end = strstr(c->text, "\r\n\r\n");
    if (!end) {
        if (c->len == INBOX_BYTES)
            refuse(c, 431, "the request is too long");
        return;
    }
    header(c->text, "content-length", length, sizeof length);
    header(c->text, "transfer-encoding", chunked, sizeof chunked);
    if (chunked[0] || (length[0] && str_i64(length, 0, INBOX_BYTES, &n, NULL) < 0) ||
        (size_t)(end + 4 - c->text) + (size_t)n > INBOX_BYTES)
        refuse(c, 413, "send a short body with Content-Length");
    else if (c->len >= (size_t)(end + 4 - c->text) + (size_t)n)
        serve(d, c, end + 4);
}

static void accept_calls(struct inbox *d, int64_t now_ms)
{
    for (int i = 0; i < INBOX_CALLS; i++) {
        struct inbox_call *c = &d->calls[i];

        if (c->fd >= 0)
            continue;
        c->fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (c->fd < 0)
            return;
        c->len = 0;
        c->level = 0;
        c->until_ms = now_ms + CALL_MS;
    }
}

static void read_call(struct inbox *d, struct inbox_call *c)
{
    char rest[256];
    ssize_t n = c->level ? read(c->fd, rest, sizeof rest)
                         : read(c->fd, c->text + c->len, INBOX_BYTES - c->len);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        call_close(c);
        return;
    }
    if (!c->level) {
        c->len += (size_t)n;
        look(d, c);
    }
}

void inbox_turn(struct inbox *d, int64_t now_ms)
{
    if (d->fd < 0)
        return;
    accept_calls(d, now_ms);
    for (int i = 0; i < INBOX_CALLS; i++) {
        struct inbox_call *c = &d->calls[i];

        if (c->fd >= 0)
            read_call(d, c);
        if (c->fd >= 0 && c->until_ms && now_ms > c->until_ms)
            call_close(c);
    }
}

void inbox_verdict(struct inbox *d, int level, const char *verdict, int run_to)
{
    for (int i = 0; i < INBOX_CALLS; i++) {
        struct inbox_call *c = &d->calls[i];

        if (c->fd >= 0 && c->level && c->level <= level)
            answer(c, 200,
                   json_pack("{s:s, s:i, s:i}", "verdict", verdict, "level", c->level, "run_to",
                             run_to));
    }
}
