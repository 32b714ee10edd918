/* auth.h - who may come in: bearer tokens (hashed in the store), one-time page links and session cookies (in memory). */
#ifndef CONTROLLER_AUTH_H
#define CONTROLLER_AUTH_H

#include "controller/ctl.h"

struct auth;
struct auth *auth_new(void);
void auth_free(struct auth *a);

/* First start with a TCP door: makes the administrator's token and writes it to <data>/admin-token (0600). */
int auth_first_token(struct ctl *ctl, struct err *err);

#endif
