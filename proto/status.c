/* status.c - one table, read in both directions. */
#include "proto/status.h"

#include <stddef.h>

static const struct {
    enum err_code code;
    int status;
} rows[] = {
    { ERR_ARG, 400 },      { ERR_AUTH, 401 },    { ERR_DENIED, 403 },      { ERR_NOTFOUND, 404 },
    { ERR_CONFLICT, 409 }, { ERR_STALE, 409 },   { ERR_TOOBIG, 413 },      { ERR_VERSION, 426 },
    { ERR_BUSY, 503 },     { ERR_FULL, 507 },    { ERR_IO, 500 },          { ERR_NOMEM, 500 },
    { ERR_DEVICE, 500 },   { ERR_TIMEOUT, 504 }, { ERR_UNREACHABLE, 502 }, { ERR_DAMAGED, 500 },
};

int status_of_err(enum err_code code)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].code == code)
            return rows[i].status;
    }
    return 500;
}

enum err_code status_to_err(int status)
{
    if (status == 408 || status == 429) /* from a proxy: the controller sends neither */
        return status == 408 ? ERR_TIMEOUT : ERR_BUSY;
    if (status == 502 || status == 504)
        return ERR_IO;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].status == status)
            return rows[i].code;
    }
    return status >= 500 ? ERR_IO : ERR_ARG;
}
