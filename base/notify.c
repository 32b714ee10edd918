/* notify.c - see notify.h. A name that begins with '@' is an abstract socket, whose first byte is 0.
 * The socket is opened for each message: there are few, and a descriptor that is kept might be
 * inherited. */
#include "base/notify.h"

#include "base/str.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un to;
static socklen_t to_len; /* 0 = nobody listens */
static int64_t watchdog_ms;

static void watchdog_read(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t us = 0, who = 0;

    if (!usec || str_i64(usec, 1, INT64_MAX, &us, NULL) < 0)
        return;
    if (pid && (str_i64(pid, 1, INT32_MAX, &who, NULL) < 0 || who != getpid()))
        return;
    watchdog_ms = us / 2000 > 0 ? us / 2000 : 1;
}

void notify_init(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path ? strlen(path) : 0;

    to_len = 0;
    watchdog_ms = 0;
    if (n > 1 && n < sizeof to.sun_path && (path[0] == '/' || path[0] == '@')) {
        to = (struct sockaddr_un){ .sun_family = AF_UNIX };
        memcpy(to.sun_path, path, n);
        if (path[0] == '@')
            to.sun_path[0] = '\0';
        to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
        watchdog_read();
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_send(const char *lines)
{
    int fd = to_len > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    if (fd < 0)
        return;
    (void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&to, to_len);
    close(fd);
}

int64_t notify_watchdog_ms(void)
{
    return watchdog_ms;
}
