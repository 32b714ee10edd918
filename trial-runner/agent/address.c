/* address.c - see address.h. Connecting a datagram socket sends no packet, but the kernel chooses
 * the interface, and with it the address, by which packets to that host would leave. */
#include "trial-runner/agent/address.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* HOST of http://HOST:PORT/..., without the brackets of an IPv6 address. */
static int host_of(const char *url, char *out, size_t size)
{
    const char *from = strstr(url, "://");
    size_t n = 0;

    if (!from)
        return -1;
    from += 3;
    if (*from == '[') {
        from++;
        n = strcspn(from, "]");
    } else {
        n = strcspn(from, ":/");
    }
    if (n == 0 || n >= size)
        return -1;
    memcpy(out, from, n);
    out[n] = '\0';
    return 0;
}

char *address_towards(const char *controller)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM }, *found = NULL;
    struct sockaddr_storage own;
    socklen_t n = sizeof own;
    char host[256], text[NI_MAXHOST];
    char *address = NULL;
    int fd = -1;

    if (str_starts(controller, "unix:"))
        return mem_strdup("127.0.0.1");
    if (host_of(controller, host, sizeof host) < 0 || getaddrinfo(host, "9", &hints, &found) != 0)
        return NULL;
    fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &n) == 0 &&
        getnameinfo((struct sockaddr *)&own, n, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
        address = mem_strdup(text);
    else
        log_warn("address.unknown controller=%s", controller);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    return address;
}
