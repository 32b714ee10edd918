/* status.h - which HTTP status stands for which error, for the server and for its two clients. */
#ifndef PROTO_STATUS_H
#define PROTO_STATUS_H

#include "base/err.h"

int status_of_err(enum err_code code);
/* The error that a client makes of a status from 400 on. Not every status comes from the controller: what a proxy says of
 * a server behind it (502, 504) is ERR_IO. ERR_STALE shares its status with ERR_CONFLICT; the answer's type tells them
 * apart. */
enum err_code status_to_err(int status);

#endif
