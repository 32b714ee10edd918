/* auth.h - who may come in: bearer tokens (auth.c) and the page's sessions, links and tickets (session.c). Tokens and
 * sessions are rows, as hashes; links and tickets live in memory, for minutes. */
#ifndef CONTROLLER_SERVE_AUTH_H
#define CONTROLLER_SERVE_AUTH_H

#include "controller/state/ctl.h"

struct auth;
struct auth *auth_new(void);
void auth_free(struct auth *a);

/* First start with a TCP door: makes the administrator's token and writes it to <data>/admin-token (0600). */
int auth_first_token(struct ctl *ctl, struct err *err);
enum ctl_role auth_role_parse(const char *name);               /* CTL_NOBODY = no such role */
int auth_random_hex(char *out, size_t bytes, struct err *err); /* at most 32 bytes */

/* A token or a session went away in this request: after its commit, whoever watches one that is no more is told. */
void auth_changed(struct ctl *ctl);
/* Sessions that are over are deleted, and told to whoever watches them. A request of its own; on a timer. */
void auth_collect(struct ctl *ctl);

#endif
