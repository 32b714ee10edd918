/* err.h - the one way to report failure. Functions return 0 or -1 (or pointer/NULL, or 1/0/-1 for
 * row/none/error) and fill `err`, always their last parameter. err may be NULL when the caller only
 * cares whether it worked. The code decides the HTTP status and the exit code, the text is for people,
 * `where` names the offending field of an input ("space[0].learning_rate"), empty when there is none. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/base.h"

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

enum err_code {
    ERR_NONE,
    ERR_ARG,         /* bad input: 400, exit 2 from a flag, else 1 */
    ERR_AUTH,        /* no or wrong token: 401 */
    ERR_DENIED,      /* wrong Host, Origin or role: 403 */
    ERR_NOTFOUND,    /* 404, exit 3 */
    ERR_CONFLICT,    /* not in this state: 409 */
    ERR_STALE,       /* wrong fence or sequence: 409 with type "stale" */
    ERR_TOOBIG,      /* over a stated limit: 413 */
    ERR_VERSION,     /* other protocol or format: 426 */
    ERR_BUSY,        /* try again later: 503 + Retry-After */
    ERR_FULL,        /* disk or quota full: 507 */
    ERR_IO,          /* 500 */
    ERR_NOMEM,       /* 500 */
    ERR_DEVICE,      /* an accelerator failed: 500 */
    ERR_TIMEOUT,     /* a limit in time passed */
    ERR_UNREACHABLE, /* the controller cannot be reached: exit 4 */
    ERR_DAMAGED,     /* what is stored makes no sense; trying again is of no use: 500 */
    ERR_CODES
};

struct err {
    enum err_code code;
    char text[400];
    char where[120];
};

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4); /* returns -1 */
int err_at(struct err *err, const char *where, const char *fmt, ...)
    PRINTF_LIKE(3, 4); /* ERR_ARG; text becomes "where: ..."; returns -1 */
int err_wrap(struct err *err, const char *fmt, ...)
    PRINTF_LIKE(2, 3); /* "lease for r1: disk full"; returns -1 */
int err_errno(struct err *err, const char *fmt, ...)
    PRINTF_LIKE(2, 3); /* ERR_IO (ERR_FULL on ENOSPC/EDQUOT) + strerror(errno); returns -1 */
/* They return -1 whatever happens; said here in the open so that compilers and analyzers know it as well. */
static inline int err_failed(int rc)
{
    (void)rc;
    return -1;
}
#define err_set(...)   err_failed(err_set(__VA_ARGS__))
#define err_at(...)    err_failed(err_at(__VA_ARGS__))
#define err_wrap(...)  err_failed(err_wrap(__VA_ARGS__))
#define err_errno(...) err_failed(err_errno(__VA_ARGS__))

void err_clear(struct err *err);
const char *err_code_name(enum err_code code);

#ifdef __cplusplus
}
#endif
#endif
