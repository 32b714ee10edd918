/* door.h - one listening socket and the connections that came through it. The door accepts them in
 * small portions, ends those that exceed a limit of its gate (gate.h), and looks once a second for
 * those that have taken too long. What fills one door never closes another. http_server.c makes one
 * door for the Unix socket and one for TCP. */
#ifndef WEB_HTTP_DOOR_H
#define WEB_HTTP_DOOR_H

#include "web/http/conn.h"

struct door;
struct loop;

/* Takes over the listening descriptor. name: "tcp" or "unix", for the log; the pointer is kept. */
struct door *door_new(struct loop *loop, int listen_fd, const char *name,
                      const struct conn_conf *conf);
void door_free(struct door *d);           /* frees its connections too; NULL is legal */
void door_close(struct door *d);          /* accepts no more connections; those it has stay */
int64_t door_count(const struct door *d); /* connections */
int64_t door_bytes(const struct door *d); /* of unfinished requests */

#endif
