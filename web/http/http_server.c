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
 * connections.
 * STRANGERS_LEAST, _MOST: bounds of the places for connections without a token. They are an eighth
 * of the others, because when the controller starts again all runners connect at once, and each is a
 * stranger until its first request has arrived. */
enum {
    DOORS = 2,
    DESCRIPTORS_KEPT = 512,
    CONNECTIONS = 32768,
    STRANGERS_LEAST = 512,
    STRANGERS_MOST = 2048
};

struct http_server {
    struct http_conf conf;
    struct listen_address address; /* empty without TCP */
    struct tls *tls;               /* of TCP; NULL = TCP is not encrypted */
    struct door *doors[DOORS];     /* the Unix socket, TCP; NULL = not there */
    int64_t guests[DOORS];         /* connections that may show a token there */
    bool socket_is_ours;           /* its file is removed at the end */
};

static int64_t strangers_of(const struct http_conf *conf, int64_t guests)
{
    int64_t most = conf->max_strangers > 0 ? conf->max_strangers
                                           : MIN(MAX(guests / 8, STRANGERS_LEAST), STRANGERS_MOST);

    return MIN(most, MAX(guests / 4, 1));
}

/* Each connection takes a descriptor. As many strangers may be there, and as many again that are
 * leaving. */
static int64_t descriptors_of(const struct http_conf *conf, int64_t guests)
{
    return guests + 2 * strangers_of(conf, guests);
}

/* Raises the limit of open files as far as that is allowed, and returns it. */
static int64_t descriptors_raise(int64_t need)
{
    struct rlimit limit = { 0 };

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return need;
    if (limit.rlim_cur < (rlim_t)need) {
        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)need);
        (void)!setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    return (int64_t)MIN(limit.rlim_cur, (rlim_t)INT32_MAX);
}

static int64_t guests_that_fit(const struct http_conf *conf, int64_t descriptors)
{
    int64_t guests = MIN(conf->max_connections, MAX(descriptors, 8));

    while (guests > 8 && descriptors_of(conf, guests) > descriptors)
        guests -= guests / 64 + 1;
    return MAX(guests, 8);
}

/* How many connections each door takes. Where the limit of open files is too small for all that are
 * wanted, the Unix socket gets a quarter of it, because its clients are on one machine. */
static void rooms_make(struct http_server *http, bool has_unix, bool has_tcp)
{
    const struct http_conf *conf = &http->conf;
    int64_t need = (has_unix + has_tcp) * descriptors_of(conf, conf->max_connections);
    int64_t limit = descriptors_raise(need + DESCRIPTORS_KEPT);
    int64_t room = MAX(limit - DESCRIPTORS_KEPT, limit / 2);
    int64_t local = !has_unix ? 0 : !has_tcp ? room : room >= need ? need / 2 : room / 4;

    http->guests[0] = has_unix ? guests_that_fit(conf, local) : 0;
    http->guests[1] = has_tcp ? guests_that_fit(conf, room - local) : 0;
    if (room < need)
        log_info("web.room unix=%lld tcp=%lld wanted=%lld note=\"the limit of open files is %lld: "
                 "raise it (ulimit -Hn, LimitNOFILE) for more connections\"",
                 (long long)http->guests[0], (long long)http->guests[1],
                 (long long)conf->max_connections, (long long)limit);
}

static void conf_take(struct http_conf *to, const struct http_conf *from)
{
    *to = *from;
    to->socket_path = mem_strdup(from->socket_path);
    to->listen = mem_strdup(from->listen);
    to->tls_cert = mem_strdup(from->tls_cert);
    to->tls_key = mem_strdup(from->tls_key);
    if (to->max_connections <= 0)
        to->max_connections = CONNECTIONS;
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
    int64_t guests = http->guests[is_local ? 0 : 1], strangers = strangers_of(conf, guests);
    struct conn_conf c = {
        .limits = { .guests = guests,
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
    rooms_make(http, conf->socket_path || unix_fd >= 0, conf->listen || tcp_fd >= 0);
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

int64_t http_server_room(const struct http_server *http, enum http_door at, int64_t *open)
{
    *open = http->doors[at] ? door_count(http->doors[at]) : 0;
    return http->doors[at] ? http->guests[at] : 0;
}
