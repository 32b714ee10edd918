/* bench_doors.c - what clients without a token can do to the others: how long answers take at both doors, and
 * what the controller's memory is, while they try. Runs a controller of its own on loopback.
 *   ASSAY=path/to/assay build/gcc/tests/bench/bench_doors       another build, for before and after */
#include "tests/e2e/service.h"

#include "base/base.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNS_MAX = 6000, PROBE_MS = 5000, BODY = 8 << 20 };

static char dir[64], sock_path[100], token[200];
static char other[200]; /* the token that probes show: the crowd has the first one */
static int port;
static pid_t server;
static int conns[CONNS_MAX], n_conns;

static int connect_to(bool is_local)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    (void)!snprintf(un.sun_path, sizeof un.sun_path, "%s", sock_path);
    in.sin_port = htons((uint16_t)port);
    if (connect(fd, is_local ? (struct sockaddr *)&un : (struct sockaddr *)&in,
                is_local ? sizeof un : sizeof in) < 0 &&
        (errno != EINPROGRESS || poll(&p, 1, PROBE_MS) != 1)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* As much as goes within `ms` without the other side reading. */
static size_t push(int fd, const char *p, size_t n, int ms)
{
    int64_t end = now_ms() + ms;
    size_t did = 0;

    while (did < n && now_ms() < end) {
        struct pollfd w = { .fd = fd, .events = POLLOUT };
        ssize_t k = send(fd, p + did, n - did, MSG_NOSIGNAL);

        if (k > 0)
            did += (size_t)k;
        else if (errno != EAGAIN)
            break;
        else
            (void)poll(&w, 1, 20);
    }
    return did;
}

/* The status, 0 = none within PROBE_MS. */
static int probe(bool is_local, const char *path, int64_t *ms)
{
    char text[600], answer[64] = "";
    int64_t start = now_ms();
    int fd = connect_to(is_local), status = 0;
    struct pollfd r = { .fd = fd, .events = POLLIN };

    (void)!snprintf(text, sizeof text,
                    "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                    "Connection: close\r\n\r\n",
                    path, other[0] ? other : token);
    if (fd >= 0 && push(fd, text, strlen(text), 1000) && poll(&r, 1, PROBE_MS) == 1 &&
        recv(fd, answer, sizeof answer - 1, 0) > 12)
        status = (int)strtol(answer + 9, NULL, 10);
    close(fd);
    *ms = now_ms() - start;
    return status;
}

/* Another token, made by a request of the first one. */
static void other_make(void)
{
    static const char body[] = "{\"name\":\"probe\",\"role\":\"viewer\"}";
    char text[600], answer[2000] = "";
    int fd = connect_to(false);
    size_t n = 0;
    ssize_t got = 0;

    (void)!snprintf(
        text, sizeof text,
        "POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n%s",
        token, strlen(body), body);
    CHECK(fd >= 0 && push(fd, text, strlen(text), 1000));
    struct pollfd r = { .fd = fd, .events = POLLIN };
    while (n < sizeof answer - 1 && poll(&r, 1, PROBE_MS) == 1 &&
           (got = recv(fd, answer + n, sizeof answer - 1 - n, 0)) > 0)
        n += (size_t)got;
    close(fd);
    const char *key = strstr(answer, "\"token\":\"");
    CHECK(key);
    str_copy(other, sizeof other, key + strlen("\"token\":\""));
    other[strcspn(other, "\"")] = '\0';
}

static int64_t rss_kb(void)
{
    char path[64], line[200];
    int64_t kb = 0;
    FILE *f = NULL;

    (void)!snprintf(path, sizeof path, "/proc/%ld/status", (long)server);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtoll(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    return kb;
}

static void report(const char *what)
{
    static const struct {
        bool is_local;
        const char *path;
    } probes[] = { { false, "/health" },
                   { false, "/api/v1/studies" },
                   { true, "/api/v1/studies" } };

    printf("%-56s", what);
    for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
        int64_t ms = 0;
        int status = probe(probes[i].is_local, probes[i].path, &ms);

        printf("  %3d %5lld ms", status, (long long)ms);
    }
    printf("  %8lld kB\n", (long long)rss_kb());
    fflush(stdout);
}

static void hang_up(void)
{
    while (n_conns > 0)
        close(conns[--n_conns]);
    pause_ms(2500);
}

static void open_many(int n, const char *text, size_t size, int push_ms)
{
    for (int i = 0; i < n; i++) {
        int fd = connect_to(false);

        if (fd < 0)
            break;
        conns[n_conns++] = fd;
        if (size)
            (void)push(fd, text, size, push_ms);
    }
    pause_ms(1500);
}

static void start(const char *program)
{
    char out_path[100], text[2000] = "", *at = NULL, path[120];
    FILE *f = NULL;

    (void)!snprintf(dir, sizeof dir, "/tmp/bench-doors-XXXXXX");
    CHECK(mkdtemp(dir));
    (void)!snprintf(sock_path, sizeof sock_path, "%s/sock", dir);
    (void)!snprintf(out_path, sizeof out_path, "%s/out", dir);
    (void)!snprintf(path, sizeof path, "%s/data", dir);
    server = fork();
    if (server == 0) {
        int fd = open(out_path, O_CREAT | O_WRONLY, 0600);
        dup2(fd, 1), dup2(fd, 2);
        execl(program, "assayd", "--data-dir", path, "--socket", sock_path, "--listen",
              "127.0.0.1:0", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 200 && !at; i++) {
        pause_ms(50);
        f = fopen(out_path, "r");
        if (f) {
            text[fread(text, 1, sizeof text - 1, f)] = '\0';
            fclose(f);
            at = strstr(text, "page: http://127.0.0.1:");
        }
    }
    CHECK(at);
    port = (int)strtol(at + 23, NULL, 10);
    (void)!snprintf(path, sizeof path, "%s/data/admin-token", dir);
    f = fopen(path, "r");
    CHECK(f && fgets(token, sizeof token, f));
    fclose(f);
    token[strcspn(token, "\r\n")] = '\0';
}

int main(void)
{
    const char *program = getenv("ASSAY");
    char head[300], built[200];
    char *body = mem_zalloc(BODY + 400), *many = mem_zalloc(1 << 20);
    size_t n = 0;

    (void)!snprintf(built, sizeof built, "%s/assay", getenv("B") ? getenv("B") : "build/gcc");
    signal(SIGPIPE, SIG_IGN);
    start(program ? program : built);
    other_make();
    printf("%-56s  %12s  %12s  %12s  %11s\n", "", "/health TCP", "studies TCP", "studies Unix",
           "memory");
    report("nobody");

    (void)!snprintf(head, sizeof head,
                    "PUT /api/v1/uploads/00000000000000000000000000000001?offset=0 HTTP/1.1\r\n"
                    "Host: localhost\r\nContent-Length: %d\r\n\r\n",
                    BODY);
    n = strlen(head);
    memcpy(body, head, n);
    memset(body + n, 'x', BODY - 1);
    open_many(8, body, BODY - 2, 1000); /* so that not even a request's head fits beside them */
    report("8 unfinished bodies of 8 MiB, no token");
    hang_up();
    report("after them");

    open_many(5000, "", 0, 0);
    report("5,000 idle connections");
    hang_up();
    report("after them");

    open_many(4100, "G", 1, 10);
    report("4,100 connections of one byte");
    hang_up();
    report("after them");

    n = 0;
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(many + n, 400,
                              "GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n"
                              "Authorization: Bearer %s\r\n\r\n",
                              token);
    open_many(1000, many, n, 2);
    report("1,000 that ask for 1 MB, with a token, and read nothing");
    hang_up();
    report("after them");

    kill(server, SIGTERM);
    {
        int64_t since = now_ms();
        waitpid(server, NULL, 0);
        printf("SIGTERM was heeded after %lld ms\n", (long long)(now_ms() - since));
    }
    mem_free(body);
    mem_free(many);
    return io_remove_tree(dir, NULL) == 0 ? 0 : 1;
}
