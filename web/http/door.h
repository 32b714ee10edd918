/* door.h - one listening socket and the connections that came through it. The door accepts them in
 * small portions, shows out whoever is over a limit of its gate (gate.h), and looks once a second
 * for those whose time is over. What fills one door never closes another. Made by server.c, one
 * door for the Unix socket and one for TCP. */
#ifndef WEB_HTTP_DOOR_H
#define WEB_HTTP_DOOR_H

#include "web/http/conn.h"

struct door;
struct loop;

/* Takes the listening descriptor. name: for the log, "tcp" or "unix"; lives for ever. */
struct door *door_new(struct loop *loop, int listen_fd, const char *name,
                      const struct conn_conf *conf);
void door_free(struct door *d);           /* with every connection; NULL is legal */
void door_close(struct door *d);          /* accepts no more; those that are inside stay */
int64_t door_count(const struct door *d); /* connections */
int64_t door_bytes(const struct door *d); /* of unfinished requests */

#endif
