/* status.h - which HTTP status stands for which error code. The server (web/) and its two clients
 * (cli/, trial-runner/) use the same table, so that an error keeps its code across the network. */
#ifndef PROTO_STATUS_H
#define PROTO_STATUS_H

#include "base/err.h"

int status_of_err(enum err_code code);
/* The error code that a client makes of a status from 400 on. Proxies answer too: their 502 and 504
 * about a server behind them become ERR_IO. ERR_CONFLICT and ERR_STALE share the status 409; the
 * client tells them apart by the answer's "type". */
enum err_code status_to_err(int status);

#endif
