/* http_server.c - see http_server.h. It fills in the defaults, raises the limit of open files as
 * far as the connections need, and opens the doors. What happens on a connection is conn.c's; who
 * may come in is gate.c's. */
#include "web/http/http_server.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "web/http/door.h"
#include "web/http/inherit.h"
#include "web/http/listen.h"
#include "web/http/tls.h"

#include <sys/resource.h>
#include <unistd.h>

/* DESCRIPTORS_KEPT: what the database, stored files, pipes and the loop need beside the
 * connections. */
enum { DOORS = 2, DESCRIPTORS_KEPT = 512 };

struct http_server {
    struct http_conf conf;
    struct listen_address address; /* empty without TCP */
    struct tls *tls;               /* of TCP; NULL = TCP is not encrypted */
    struct door *doors[DOORS];     /* the Unix socket, TCP; NULL = not there */
    bool socket_is_ours;           /* its file is removed at the end */
};

/* Each connection takes a descriptor. A quarter more are allowed for those that are leaving. */
static int64_t connections_that_fit(int64_t wanted)
{
    struct rlimit limit = { 0 };
    int64_t need = DOORS * (wanted + wanted / 4) + DESCRIPTORS_KEPT;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return wanted;
    if (limit.rlim_cur < (rlim_t)need) {
        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)need);
        (void)!setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= (rlim_t)need)
        return wanted;
    wanted = MAX(((int64_t)limit.rlim_cur - DESCRIPTORS_KEPT) * 2 / 5, 8);
    log_warn("web.descriptors limit=%lld connections=%lld note=\"raise the limit of open files for "
             "more\"",
             (long long)limit.rlim_cur, (long long)wanted);
    return wanted;
}

static void conf_take(struct http_conf *to, const struct http_conf *from)
{
    *to = *from;
    to->socket_path = mem_strdup(from->socket_path);
    to->listen = mem_strdup(from->listen);
    to->tls_cert = mem_strdup(from->tls_cert);
    to->tls_key = mem_strdup(from->tls_key);
    if (to->max_connections <= 0)
        to->max_connections = 4096;
    to->max_connections = connections_that_fit(to->max_connections);
    if (to->max_strangers <= 0)
        to->max_strangers = 512;
    if (to->max_strangers_per_address <= 0)
        to->max_strangers_per_address = 32;
    if (to->max_inflight_bytes <= 0)
        to->max_inflight_bytes = 64 << 20;
    if (to->head_ms <= 0)
        to->head_ms = 10000;
    if (to->idle_ms <= 0)
        to->idle_ms = 60000;
    if (to->request_ms <= 0)
        to->request_ms = 120000;
}

int http_conf_check(const struct http_conf *conf, struct err *err)
{
    if (!conf->tls_cert != !conf->tls_key)
        return err_at(err, conf->tls_cert ? "tls_key" : "tls_cert",
                      "is missing: a certificate and its private key belong together");
    return conf->listen ? listen_check(conf->listen, conf->insecure || conf->tls_cert, err) : 0;
}

int http_cert_make(const char *cert_path, const char *key_path, const char *names, struct err *err)
{
    return tls_make(cert_path, key_path, names, err);
}

static struct door *door_open(const struct http_server *http, struct loop *loop, int fd,
                              bool is_local, const struct conn_hooks *hooks, void *owner)
{
    const struct http_conf *conf = &http->conf;
    int64_t strangers = MIN(conf->max_strangers, MAX(conf->max_connections / 4, 1));
    struct conn_conf c = {
        .limits = { .guests = conf->max_connections,
                    .strangers = strangers,
                    .strangers_per_address = conf->max_strangers_per_address,
                    .bytes = conf->max_inflight_bytes,
                    .leaving = strangers },
        .is_local = is_local,
        .tls = is_local ? NULL : http->tls,
        .idle_ms = conf->idle_ms,
        .head_ms = MIN(conf->head_ms, conf->request_ms),
        .request_ms = conf->request_ms,
        .hooks = *hooks,
        .owner = owner,
    };

    return fd < 0 ? NULL : door_new(loop, fd, is_local ? "unix" : "tcp", &c);
}

/* Opens the Unix socket, or takes the inherited one: 0, -1. */
static int unix_open(struct http_server *http, struct loop *loop, int fd,
                     const struct conn_hooks *hooks, void *owner, struct err *err)
{
    if (fd < 0) {
        fd = listen_unix(http->conf.socket_path, err);
        http->socket_is_ours = fd >= 0;
    }
    http->doors[0] = door_open(http, loop, fd, true, hooks, owner);
    return http->doors[0] ? 0 : -1;
}

static int tcp_open(struct http_server *http, struct loop *loop, int fd,
                    const struct conn_hooks *hooks, void *owner, struct err *err)
{
    const struct http_conf *conf = &http->conf;

    if (conf->tls_cert) {
        http->tls = tls_open(conf->tls_cert, conf->tls_key, err);
        if (!http->tls)
            return -1;
    }
    fd = fd < 0 ? listen_tcp(conf->listen, http->tls, conf->insecure, &http->address, err)
                : listen_tcp_take(fd, http->tls, conf->insecure, &http->address, err);
    http->doors[1] = door_open(http, loop, fd, false, hooks, owner);
    return http->doors[1] ? 0 : -1;
}

struct http_server *http_server_new(struct loop *loop, const struct http_conf *conf,
                                    const struct conn_hooks *hooks, void *owner, struct err *err)
{
    struct http_server *http = mem_zalloc(sizeof *http);
    int unix_fd = -1, tcp_fd = -1;

    conf_take(&http->conf, conf);
    if (inherit_sockets(&unix_fd, &tcp_fd, err) < 0)
        goto fail;
    if ((conf->socket_path || unix_fd >= 0) &&
        unix_open(http, loop, unix_fd, hooks, owner, err) < 0)
        goto fail;
    if ((conf->listen || tcp_fd >= 0) && tcp_open(http, loop, tcp_fd, hooks, owner, err) < 0)
        goto fail;
    log_info("web.ready socket=%s address=%s",
             unix_fd >= 0        ? "inherited"
             : conf->socket_path ? conf->socket_path
                                 : "-",
             http->address.url[0] ? http->address.url : "-");
    if (http->address.is_beyond && !http->tls)
        log_warn("web.insecure listen=%s note=\"other machines can reach it, without encryption\"",
                 http->address.bound);
    return http;
fail:
    http_server_free(http);
    return NULL;
}

void http_server_close_doors(struct http_server *http)
{
    for (int i = 0; i < DOORS; i++) {
        if (http->doors[i])
            door_close(http->doors[i]);
    }
}

void http_server_free(struct http_server *http)
{
    if (!http)
        return;
    if (http->socket_is_ours)
        unlink(http->conf.socket_path);
    for (int i = 0; i < DOORS; i++)
        door_free(http->doors[i]);
    tls_free(http->tls);
    mem_free((void *)(uintptr_t)http->conf.socket_path);
    mem_free((void *)(uintptr_t)http->conf.listen);
    mem_free((void *)(uintptr_t)http->conf.tls_cert);
    mem_free((void *)(uintptr_t)http->conf.tls_key);
    mem_free(http);
}

const char *http_server_address(const struct http_server *http)
{
    return http->address.url;
}

const char *http_server_beyond(const struct http_server *http)
{
    return http->address.is_beyond && !http->tls ? http->address.bound : "";
}

const char *http_server_pin(const struct http_server *http)
{
    return http->tls ? tls_pin(http->tls) : "";
}

int http_server_port(const struct http_server *http)
{
    return http->address.port;
}

int64_t http_server_count(const struct http_server *http)
{
    int64_t n = 0;

    for (int i = 0; i < DOORS; i++)
        n += http->doors[i] ? door_count(http->doors[i]) : 0;
    return n;
}
