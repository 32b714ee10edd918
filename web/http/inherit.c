/* inherit.c - see inherit.h. */
#include "web/http/inherit.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* FIRST: the first descriptor that is handed over. MOST: more than we could use. */
enum { FIRST = 3, MOST = 16 };

static int count(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    int64_t who = 0, n = 0;

    if (!pid || !fds || str_i64(pid, 1, INT32_MAX, &who, NULL) < 0 || who != getpid() ||
        str_i64(fds, 0, MOST, &n, NULL) < 0)
        n = 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return (int)n;
}

static int take(int fd, int *unix_fd, int *tcp_fd, struct err *err)
{
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof ss, size = sizeof(int);
    int listens = 0, *place = NULL;

    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return err_errno(err, "descriptor %d of LISTEN_FDS", fd);
    if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens)
        return err_set(err, ERR_ARG, "descriptor %d of LISTEN_FDS is no listening stream socket",
                       fd);
    if (ss.ss_family == AF_UNIX)
        place = unix_fd;
    else if (ss.ss_family == AF_INET || ss.ss_family == AF_INET6)
        place = tcp_fd;
    if (!place || *place >= 0)
        return err_set(err, ERR_ARG,
                       "descriptor %d of LISTEN_FDS is one too many: one Unix socket and one TCP "
                       "socket can be listened on",
                       fd);
    *place = fd;
    return 0;
}

int inherit_sockets(int *unix_fd, int *tcp_fd, struct err *err)
{
    int n = count();

    *unix_fd = *tcp_fd = -1;
    for (int fd = FIRST; fd < FIRST + n; fd++) {
        if (take(fd, unix_fd, tcp_fd, err) < 0)
            return -1;
    }
    return 0;
}
