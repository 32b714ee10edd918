/* err.h - the one way to report failure. A function that can fail takes a `struct err *err` as its
 * last parameter and returns 0 or -1; or a pointer or NULL; or 1 for a result, 0 for none and -1
 * for an error. err may be NULL if the caller only wants to know whether the call worked.
 *
 * `code` decides the HTTP status (proto/status.h) and the exit code of the command line. `text` is
 * for people. `where` is the path of the offending field of an input, such as
 * "space[0].learning_rate", and empty if there is none. Each caller on the way up may add context
 * with err_wrap; only the outermost one logs the error. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/base.h"

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

enum err_code {
    ERR_NONE,
    ERR_ARG,         /* bad input: 400; exit 2 if a flag was wrong, else 1 */
    ERR_AUTH,        /* no token or a wrong one: 401 */
    ERR_DENIED,      /* wrong Host, Origin or role: 403 */
    ERR_NOTFOUND,    /* 404, exit 3 */
    ERR_CONFLICT,    /* the object's state does not allow it: 409 */
    ERR_STALE,       /* wrong fence or sequence number: 409 with type "stale" */
    ERR_TOOBIG,      /* over a stated limit: 413 */
    ERR_VERSION,     /* another version of the protocol or of a file format: 426 */
    ERR_BUSY,        /* try again later: 503 with Retry-After */
    ERR_FULL,        /* the disk or a quota is full: 507 */
    ERR_IO,          /* reading or writing failed: 500 */
    ERR_NOMEM,       /* no memory for data: 500 */
    ERR_DEVICE,      /* an accelerator failed: 500 */
    ERR_TIMEOUT,     /* a time limit passed: 504 */
    ERR_UNREACHABLE, /* the controller cannot be reached: exit 4 */
    ERR_DAMAGED,     /* stored data makes no sense, and trying again would not help: 500 */
    ERR_DIVERGED,    /* a computation left the finite numbers: 500 */
    ERR_CODES
};

struct err {
    enum err_code code;
    char text[400];
    char where[120];
};

/* These four fill *err and always return -1. A text that does not fit is cut. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* ERR_ARG. Sets err->where, and puts it before the text: "where: ...". */
int err_at(struct err *err, const char *where, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Puts context before the text: "lease for r1: disk full". The code stays. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* ERR_FULL if errno is ENOSPC or EDQUOT, else ERR_IO; adds the text of errno, and keeps errno. */
int err_errno(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The macros below make it visible to compilers and analyzers that the result is always -1. */
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
