/* listen.c - see listen.h. The Unix socket is as private as its file: it is made with umask 0177,
 * in a folder that only its owner may write to. A socket file that was left over by a controller
 * that has ended is removed; one that somebody listens on is an error.
 *
 * The TCP listener carries the options that accepted sockets inherit. TCP_NODELAY: without it, a
 * reply on a connection that stays open can wait 40 ms for the client's acknowledgement. Keep-alive
 * probes: a machine that lost its power never says so; its waiting call is closed after half a
 * minute (15 s + 3 * 5 s). */
#include "web/http/listen.h"

#include "web/http/args.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections that the kernel keeps for us until they are accepted, at most as many as its own
 * net.core.somaxconn. After a restart thousands of runners may come within a second. */
enum { BACKLOG = 4096 };

/* The folder of the socket must not be writable by others, because they could put another socket in
 * its place. */
static int folder_check(const char *path, struct err *err)
{
    char dir[sizeof(((struct sockaddr_un *)0)->sun_path)] = ".";
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (slash)
        (void)!snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(dir, &st) < 0)
        return err_errno(err, "the socket's folder %s", dir);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_ARG,
                       "other users may write to the socket's folder %s: use one of mode 0700",
                       dir);
    return 0;
}

/* Removes a socket file that nobody listens on. 0 = the path is free now. */
static int left_over_remove(const struct sockaddr_un *sa, struct err *err)
{
    struct stat st;
    int fd = -1, rc = 0;

    if (lstat(sa->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFLICT, "%s exists and is not a socket", sa->sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_errno(err, "socket");
    rc = connect(fd, (const struct sockaddr *)sa, sizeof *sa);
    close(fd);
    if (rc == 0)
        return err_set(err, ERR_CONFLICT, "another controller is listening on %s", sa->sun_path);
    if (unlink(sa->sun_path) < 0)
        return err_errno(err, "removing the old socket %s", sa->sun_path);
    return 0;
}

int listen_unix(const char *path, struct err *err)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    mode_t old = 0;
    int fd = -1, rc = 0;

    if (strlen(path) >= sizeof sa.sun_path)
        return err_set(err, ERR_ARG, "the socket's path is longer than %zu bytes: %s",
                       sizeof sa.sun_path - 1, path);
    memcpy(sa.sun_path, path, strlen(path) + 1);
    if (folder_check(path, err) < 0 || left_over_remove(&sa, err) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(err, "socket");
    old = umask(0177);
    rc = bind(fd, (struct sockaddr *)&sa, sizeof sa);
    umask(old);
    if (rc < 0 || listen(fd, BACKLOG) < 0) {
        err_errno(err, "listening on %s", path);
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether the address can be reached from this machine only: 127.x.x.x or ::1. */
static bool is_loopback(const struct sockaddr_storage *ss)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)ss;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)ss;

    if (ss->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Whether it stands for all addresses of this machine: 0.0.0.0 or [::]. */
static bool is_any(const struct sockaddr_storage *ss)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)ss;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)ss;

    return ss->ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)
                                     : v4->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* 0.0.0.0 and [::] can be listened on, but not opened in a browser. In the printed address they are
 * replaced by the machine's first address that other machines can use, or by loopback. Link-local
 * IPv6 addresses are left out: they need a zone, which differs from machine to machine. */
static void any_replace(struct sockaddr_storage *ss)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;
    struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
    struct ifaddrs *list = NULL;
    bool is_found = false;

    if (getifaddrs(&list) < 0)
        list = NULL;
    for (const struct ifaddrs *i = list; i && !is_found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != ss->ss_family || !(i->ifa_flags & IFF_UP) ||
            i->ifa_flags & IFF_LOOPBACK)
            continue;
        if (ss->ss_family == AF_INET) {
            v4->sin_addr = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
            is_found = true;
        } else {
            v6->sin6_addr = ((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
            is_found = !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
        }
    }
    if (!is_found && ss->ss_family == AF_INET)
        v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (!is_found)
        v6->sin6_addr = in6addr_loopback;
    if (list)
        freeifaddrs(list);
}

/* Writes an address such as "127.0.0.1:7878" or "[::1]:7878", and returns its port. */
static int address_write(const struct sockaddr_storage *ss, char *out, size_t size)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)ss;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)ss;
    char text[INET6_ADDRSTRLEN] = "";
    int port = ntohs(ss->ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);

    if (ss->ss_family == AF_INET6)
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    else
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    (void)!snprintf(out, size, ss->ss_family == AF_INET6 ? "[%s]:%d" : "%s:%d", text, port);
    return port;
}

/* What the bound socket listens on, which tells the port where 0 was asked for. */
static int address_of(int fd, bool is_tls, struct listen_address *out, struct err *err)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof ss;
    char text[64];

    memset(&ss, 0, sizeof ss);
    if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
        return err_errno(err, "getsockname");
    out->is_beyond = !is_loopback(&ss);
    out->port = address_write(&ss, out->bound, sizeof out->bound);
    if (is_any(&ss))
        any_replace(&ss);
    (void)address_write(&ss, text, sizeof text);
    (void)!snprintf(out->url, sizeof out->url, "%s://%s", is_tls ? "https" : "http", text);
    return 0;
}

static int beyond_refuse(const char *text, struct err *err)
{
    return err_at(err, "listen",
                  "%s can be reached from other machines, and tokens and data would cross the "
                  "network readable by others: give --tls, or listen on 127.0.0.1 behind an SSH "
                  "tunnel, or allow it with --insecure",
                  text);
}

static int address_read(const char *text, bool may_be_beyond, struct sockaddr_storage *ss,
                        socklen_t *len, struct err *err)
{
    if (args_listen_parse(text, ss, len, err) < 0)
        return -1;
    return is_loopback(ss) || may_be_beyond ? 0 : beyond_refuse(text, err);
}

int listen_check(const char *text, bool may_be_beyond, struct err *err)
{
    struct sockaddr_storage ss;
    socklen_t len = 0;

    return address_read(text, may_be_beyond, &ss, &len, err);
}

/* Accepted sockets inherit these options. */
static void options_set(int fd)
{
    int one = 1, idle_s = 15, probe_s = 5, probes = 3;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe_s, sizeof probe_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

int listen_tcp(const char *text, bool is_tls, bool may_be_clear, struct listen_address *out,
               struct err *err)
{
    struct sockaddr_storage ss;
    socklen_t len = 0;
    int fd = -1, one = 1;

    if (address_read(text, is_tls || may_be_clear, &ss, &len, err) < 0)
        return -1;
    fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(err, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    options_set(fd);
    if (bind(fd, (struct sockaddr *)&ss, len) < 0 || listen(fd, BACKLOG) < 0 ||
        address_of(fd, is_tls, out, err) < 0) {
        err_errno(err, "listening on %s", text);
        close(fd);
        return -1;
    }
    return fd;
}

int listen_tcp_take(int fd, bool is_tls, bool may_be_clear, struct listen_address *out,
                    struct err *err)
{
    if (address_of(fd, is_tls, out, err) < 0)
        return -1;
    if (out->is_beyond && !is_tls && !may_be_clear)
        return beyond_refuse(out->bound, err);
    options_set(fd);
    return fd;
}
