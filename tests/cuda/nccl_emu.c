/* nccl_emu.c - the functions of NCCL that ml/cuda uses, for tests: the ranks are processes of one machine, and each two of them
 * have a Unix socket. Exchanges are made when their group ends; a rank that dies, or is silent for long, is an error there, as
 * NCCL has it. What lies on the emulated device is copied through cudaMemcpyAsync. One thread at a time. */
#include "tests/cuda/emu.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, REMOTE_ERROR = 6 };
enum { ID_BYTES = 128, RANKS = 64, OPS = 4 * RANKS, MEET_MS = 30000, SILENT_MS = 30000 };

struct id {
    char name[ID_BYTES];
};
struct op {
    void *device;
    char *bytes;
    size_t n, at;
    int fd;
    bool is_send;
};
struct comm {
    int ranks, rank, fd[RANKS];
};

static struct op ops[OPS];
static int n_ops;

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A name that no other rank's process has used: of sockets, which leave no files. */
static int emu_id(struct id *out)
{
    static int ids;

    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "assay-nccl-%ld-%d", (long)getpid(), ++ids);
    return SUCCESS;
}

static int emu_abort(struct comm *c)
{
    for (int i = 0; c && i < c->ranks; i++) {
        if (c->fd[i] >= 0)
            close(c->fd[i]);
    }
    free(c);
    return SUCCESS;
}

static void address(struct sockaddr_un *out, const struct id *id, int rank)
{
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "%.90s-%d", id->name, rank);
}

static int dial(const struct id *id, int to, int rank, int64_t until)
{
    struct sockaddr_un a;

    address(&a, id, to);
    while (now_ms() < until) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
            write(fd, &rank, sizeof rank) == sizeof rank)
            return fd;
        close(fd);
        usleep(1000);
    }
    return -1;
}

/* From every higher rank. */
static bool all_came(struct comm *c, int listener, int64_t until)
{
    for (int here = c->rank + 1; here < c->ranks; here++) {
        struct pollfd p = { listener, POLLIN, 0 };
        int64_t left = until - now_ms();
        int from = -1;
        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return false;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 || read(fd, &from, sizeof from) != sizeof from || from <= c->rank ||
            from >= c->ranks || c->fd[from] >= 0)
            return false;
        c->fd[from] = fd;
    }
    return true;
}

static int emu_init(struct comm **out, int ranks, struct id id, int rank)
{
    struct comm *c = calloc(1, sizeof *c);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int64_t until = now_ms() + MEET_MS;
    struct sockaddr_un a;
    bool is_there = true;

    c->ranks = ranks;
    c->rank = rank;
    for (int i = 0; i < RANKS; i++)
        c->fd[i] = -1;
    address(&a, &id, rank);
    is_there = bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, ranks) == 0;
    for (int k = 0; k < rank && is_there; k++) {
        c->fd[k] = dial(&id, k, rank, until);
        is_there = c->fd[k] >= 0;
    }
    is_there = is_there && all_came(c, listener, until);
    close(listener);
    for (int k = 0; k < ranks && is_there; k++) {
        if (k != rank)
            fcntl(c->fd[k], F_SETFL, O_NONBLOCK);
    }
    if (is_there)
        *out = c;
    else
        emu_abort(c);
    return is_there ? SUCCESS : SYSTEM_ERROR;
}

static int op_add(const void *device, size_t n, int fd, bool is_send)
{
    if (n_ops == OPS)
        return SYSTEM_ERROR;
    ops[n_ops] = (struct op){ (void *)(uintptr_t)device, malloc(4 * n), 4 * n, 0, fd, is_send };
    if (is_send)
        cudaMemcpyAsync(ops[n_ops].bytes, device, 4 * n, cudaMemcpyDeviceToHost, NULL);
    n_ops++;
    return SUCCESS;
}

static int emu_send(const void *x, size_t n, int type, int to, struct comm *c, cudaStream_t s)
{
    (void)type, (void)s;
    return op_add(x, n, c->fd[to], true);
}

static int emu_recv(void *x, size_t n, int type, int from, struct comm *c, cudaStream_t s)
{
    (void)type, (void)s;
    return op_add(x, n, c->fd[from], false);
}

static int emu_group_begin(void)
{
    n_ops = 0;
    return SUCCESS;
}

/* false = its peer is gone */
static bool op_move(struct op *o)
{
    while (o->at < o->n) {
        ssize_t n = o->is_send ? send(o->fd, o->bytes + o->at, o->n - o->at, MSG_NOSIGNAL)
                               : recv(o->fd, o->bytes + o->at, o->n - o->at, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n <= 0)
            return false;
        o->at += (size_t)n;
    }
    return true;
}

/* Moves what can be moved; waits for the rest. */
static int exchange(void)
{
    struct pollfd p[OPS];
    int64_t until = now_ms() + SILENT_MS;

    for (;;) {
        int n = 0;
        for (int i = 0; i < n_ops; i++) {
            if (!op_move(&ops[i]))
                return REMOTE_ERROR;
            if (ops[i].at < ops[i].n)
                p[n++] = (struct pollfd){ ops[i].fd, ops[i].is_send ? POLLOUT : POLLIN, 0 };
        }
        if (n == 0)
            return SUCCESS;
        if (now_ms() > until || poll(p, (nfds_t)n, 1000) < 0)
            return REMOTE_ERROR;
    }
}

static int emu_group_end(void)
{
    int rc = exchange();

    for (int i = 0; i < n_ops; i++) {
        if (!ops[i].is_send && rc == SUCCESS)
            cudaMemcpyAsync(ops[i].device, ops[i].bytes, ops[i].n, cudaMemcpyHostToDevice, NULL);
        free(ops[i].bytes);
    }
    n_ops = 0;
    return rc;
}

static int emu_trouble(struct comm *c, int *result)
{
    (void)c;
    *result = SUCCESS;
    return SUCCESS;
}

static const char *emu_text(int result)
{
    return result == REMOTE_ERROR ? "remote process exited or there was a network error"
                                  : "unhandled system error";
}

void *emu_nccl_find(const char *name)
{
    static const struct {
        const char *name;
        void (*f)(void);
    } all[] = {
        { "ncclGetUniqueId", (void (*)(void))emu_id },
        { "ncclCommInitRank", (void (*)(void))emu_init },
        { "ncclSend", (void (*)(void))emu_send },
        { "ncclRecv", (void (*)(void))emu_recv },
        { "ncclGroupStart", (void (*)(void))emu_group_begin },
        { "ncclGroupEnd", (void (*)(void))emu_group_end },
        { "ncclCommGetAsyncError", (void (*)(void))emu_trouble },
        { "ncclCommAbort", (void (*)(void))emu_abort },
        { "ncclCommDestroy", (void (*)(void))emu_abort },
        { "ncclGetErrorString", (void (*)(void))emu_text },
    };
    void *out = NULL;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, name) == 0)
            memcpy(&out, &all[i].f, sizeof out);
    }
    return out;
}
