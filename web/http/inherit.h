/* inherit.h - listening sockets that systemd opened for us, by the protocol of sd_listen_fds(3):
 * LISTEN_FDS descriptors from 3 on, meant for the process LISTEN_PID. While assayd restarts, clients
 * then wait in the kernel's queue instead of being refused. */
#ifndef WEB_HTTP_INHERIT_H
#define WEB_HTTP_INHERIT_H

#include "base/err.h"

/* At most one Unix socket and one TCP socket; -1 = there is none. Both become close-on-exec and
 * non-blocking. The variables are removed, so that no child takes them for its own. An error says
 * which descriptor is not what we can listen on. */
int inherit_sockets(int *unix_fd, int *tcp_fd, struct err *err);

#endif
