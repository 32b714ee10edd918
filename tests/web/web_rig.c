/* web_rig.c - see web_rig.h. */
#include "tests/web/web_rig.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE = 20000, READ_MAX = 64 << 20 };

static int64_t real_ms(void)
{
    struct clk c;

    clk_init_system(&c);
    return clk_now_ms(&c);
}

struct web_rig *web_rig_new(struct ctl *(*make_ctl)(struct loop *loop, const char *dir),
                            const struct web_conf *conf)
{
    struct web_rig *rig = mem_zalloc(sizeof *rig);
    struct web_conf c = { .http.listen = "127.0.0.1:0" };
    struct err err = { 0 };

    (void)!snprintf(rig->dir, sizeof rig->dir, "%s/assay-web-XXXXXX",
                    getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(rig->dir));
    (void)!snprintf(rig->socket_path, sizeof rig->socket_path, "%s/sock", rig->dir);
    clk_init_system(&rig->clk);
    rig->loop = loop_new(&rig->clk, &err);
    CHECK(rig->loop);
    rig->ctl = make_ctl(rig->loop, rig->dir);
    if (conf)
        c = *conf;
    if (!c.http.listen)
        c.http.listen = "127.0.0.1:0";
    c.http.socket_path = rig->socket_path;
    rig->web = web_new(rig->ctl, rig->loop, &c, &err);
    if (!rig->web)
        fprintf(stderr, "%s\n", err.text);
    CHECK(rig->web);
    return rig;
}

void web_rig_free(struct web_rig *rig, void (*free_ctl)(struct ctl *ctl))
{
    web_free(rig->web);
    web_rig_pump(rig, 3);
    free_ctl(rig->ctl);
    loop_free(rig->loop);
    CHECK(io_remove_tree(rig->dir, NULL) == 0);
    mem_free(rig);
}

void web_rig_pump(struct web_rig *rig, int turns)
{
    for (int i = 0; i < turns; i++)
        event_base_loop(loop_base(rig->loop), EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

int web_rig_connect(struct web_rig *rig, bool is_local)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = 0, one = 1;

    str_copy(un.sun_path, sizeof un.sun_path, rig->socket_path);
    if (!is_local)
        in.sin_port = htons(
            (uint16_t)strtol(strrchr(http_server_address(web_http(rig->web)), ':') + 1, NULL, 10));
    rc = is_local ? connect(fd, (struct sockaddr *)&un, sizeof un)
                  : connect(fd, (struct sockaddr *)&in, sizeof in);
    CHECK(rc == 0);
    if (!is_local)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    web_rig_pump(rig, 2);
    return fd;
}

void web_rig_write(struct web_rig *rig, int fd, const void *p, size_t n)
{
    const char *from = p;
    int64_t end = real_ms() + PATIENCE;

    while (n > 0 && real_ms() < end) {
        ssize_t did = send(fd, from, n, MSG_NOSIGNAL);

        if (did < 0 && errno != EAGAIN)
            return; /* the server has shut the door: the reader will see */
        if (did > 0)
            from += did, n -= (size_t)did;
        web_rig_pump(rig, 1);
    }
}

/* Appends what there is: 1 open, 0 closed. */
static int slurp(int fd, char **data, size_t *len)
{
    char part[65536];
    ssize_t n = 0;

    while ((n = recv(fd, part, sizeof part, 0)) > 0) {
        CHECK(*len + (size_t)n < READ_MAX);
        *data = mem_resize(*data, *len + (size_t)n + 1);
        memcpy(*data + *len, part, (size_t)n);
        *len += (size_t)n;
        (*data)[*len] = '\0';
    }
    return n < 0 && errno == EAGAIN;
}

static size_t dechunk(char *body, size_t len, bool *is_whole)
{
    size_t from = 0, to = 0;

    *is_whole = false;
    while (from < len) {
        char *end = NULL;
        size_t n = strtoul(body + from, &end, 16);

        if (!end || !strstr(end, "\r\n") || from + n + 4 > len)
            return to;
        from = (size_t)(end + 2 - body);
        if (n == 0) {
            *is_whole = true;
            return to;
        }
        if (from + n + 2 > len)
            return to;
        memmove(body + to, body + from, n);
        to += n;
        from += n + 2;
    }
    return to;
}

const char *web_reply_header(const struct web_reply *r, const char *name)
{
    static char value[1024];
    size_t n = strlen(name);

    for (const char *line = strstr(r->head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':') {
            size_t len = strcspn(line + 2 + n + 2, "\r");

            CHECK(len < sizeof value);
            memcpy(value, line + 2 + n + 2, len);
            value[len] = '\0';
            return value;
        }
    }
    return NULL;
}

/* 1 when data holds a whole answer; out's body is then a copy. */
static int parse(char *data, size_t len, bool is_head, bool is_closed, struct web_reply *out)
{
    char *end = data ? strstr(data, "\r\n\r\n") : NULL;
    size_t head = end ? (size_t)(end + 4 - data) : 0, have = len - head;
    const char *length = NULL;
    bool is_whole = true;

    if (!end)
        return 0;
    CHECK(head < sizeof out->head);
    memcpy(out->head, data, head);
    out->head[head] = '\0';
    out->status = (int)strtol(data + 9, NULL, 10);
    if (is_head || out->status == 304 || out->status == 204)
        have = 0;
    else if ((length = web_reply_header(out, "Content-Length")))
        is_whole = have >= strtoul(length, NULL, 10);
    else if (!web_reply_header(out, "Transfer-Encoding"))
        is_whole = is_closed;
    out->body = mem_alloc(have + 1);
    memcpy(out->body, data + head, have);
    out->body[have] = '\0';
    out->len = have;
    if (have && !length && web_reply_header(out, "Transfer-Encoding")) {
        out->len = dechunk(out->body, have, &is_whole);
        out->body[out->len] = '\0';
    }
    if (is_whole)
        return 1;
    mem_free(out->body);
    out->body = NULL;
    return 0;
}

int web_rig_read(struct web_rig *rig, int fd, bool is_head, struct web_reply *out)
{
    char *data = NULL;
    size_t len = 0;
    int64_t end = real_ms() + PATIENCE;
    int is_open = 1, rc = 0;

    memset(out, 0, sizeof *out);
    while (rc == 0 && is_open && real_ms() < end) {
        web_rig_pump(rig, 1);
        is_open = slurp(fd, &data, &len);
        rc = parse(data, len, is_head, !is_open, out);
    }
    CHECK(rc == 1 || !is_open); /* else: no answer in all that time */
    mem_free(data);
    return rc;
}

char *web_rig_read_raw(struct web_rig *rig, int fd, const char *want)
{
    char *data = mem_strdup("");
    size_t len = 0;
    int64_t end = real_ms() + PATIENCE;
    int is_open = 1;

    for (int turn = 0; is_open && real_ms() < end; turn++) {
        web_rig_pump(rig, 1);
        is_open = slurp(fd, &data, &len);
        if (want ? strstr(data, want) != NULL : turn > 20)
            break;
    }
    return data;
}

struct web_reply web_rig_call(struct web_rig *rig, bool is_local, const char *method,
                              const char *path, const char *headers, const char *body)
{
    int fd = web_rig_connect(rig, is_local);
    size_t n = body ? strlen(body) : 0,
           size = strlen(path) + (headers ? strlen(headers) : 0) + n + 300;
    bool has_host = headers && strncasecmp(headers, "Host:", 5) == 0;
    struct web_reply reply;
    char *text = mem_alloc(size), length[40] = "";

    if (body)
        (void)!snprintf(length, sizeof length, "Content-Length: %zu\r\n", n);
    (void)!snprintf(text, size, "%s %s HTTP/1.1\r\n%s%s%s\r\n%s", method, path,
                    has_host ? "" : "Host: localhost\r\n", headers ? headers : "", length,
                    body ? body : "");
    web_rig_write(rig, fd, text, strlen(text));
    web_rig_read(rig, fd, strcmp(method, "HEAD") == 0, &reply);
    close(fd);
    web_rig_pump(rig, 3);
    mem_free(text);
    return reply;
}

void web_reply_free(struct web_reply *r)
{
    mem_free(r->body);
    r->body = NULL;
}
