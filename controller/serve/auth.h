/* auth.h - who may do what: bearer tokens (auth.c), and the sessions, links and tickets of the page
 * (session.c). Tokens and sessions are rows, which hold only hashes of the secrets. Links and
 * tickets are in memory, and good for minutes. The verbs are in api.h; these functions are for
 * main.c and for the two files themselves. */
#ifndef CONTROLLER_SERVE_AUTH_H
#define CONTROLLER_SERVE_AUTH_H

#include "controller/state/ctl.h"

struct auth;
struct auth *auth_new(void);
void auth_free(struct auth *a);

/* Makes the administrator's token, if there is none, and writes it to <data folder>/admin-token
 * with mode 0600. Called at a start with a TCP listener. */
int auth_first_token(struct ctl *ctl, struct err *err);
enum ctl_role auth_role_parse(const char *name); /* CTL_NOBODY = there is no such role */
/* Writes so many random bytes (at most 32) as hexadecimal digits and a NUL. */
int auth_random_hex(char *out, size_t bytes, struct err *err);

/* A token or a session was deleted in this request. After the commit those who watch it
 * (ctl_who_watch) are told. */
void auth_changed(struct ctl *ctl);
/* Deletes sessions that are over. A request of its own, called by a timer. */
void auth_collect(struct ctl *ctl);

#endif
