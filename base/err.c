/* err.c - fills and wraps the error struct. Every function accepts err == NULL. The texts are
 * always valid UTF-8, because they end up in JSON. */
#include "base/err.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[ERR_CODES] = {
    [ERR_NONE] = "none",          [ERR_ARG] = "bad_request",
    [ERR_AUTH] = "unauthorized",  [ERR_DENIED] = "denied",
    [ERR_NOTFOUND] = "not_found", [ERR_CONFLICT] = "conflict",
    [ERR_STALE] = "stale",        [ERR_TOOBIG] = "too_big",
    [ERR_VERSION] = "version",    [ERR_BUSY] = "busy",
    [ERR_FULL] = "full",          [ERR_IO] = "io",
    [ERR_NOMEM] = "no_memory",    [ERR_DEVICE] = "device",
    [ERR_TIMEOUT] = "timeout",    [ERR_UNREACHABLE] = "unreachable",
    [ERR_DAMAGED] = "damaged",    [ERR_DIVERGED] = "diverged",
};

/* What err_set and err_at share. */
static void fill(struct err *err, enum err_code code, const char *fmt, va_list ap)
    PRINTF_LIKE(3, 0);
static void fill(struct err *err, enum err_code code, const char *fmt, va_list ap)
{
    char text[sizeof err->text];

    /* Formats into a copy, because an argument may point into err->text. */
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    utf8_clean(text, sizeof text); /* texts quote input, and %.40s may have split a character */
    memcpy(err->text, text, sizeof text);
    err->code = code;
    err->where[0] = '\0';
}

int(err_set)(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return -1;
    va_start(ap, fmt);
    fill(err, code, fmt, ap);
    va_end(ap);
    return -1;
}

int(err_at)(struct err *err, const char *where, const char *fmt, ...)
{
    char place[sizeof err->where] = "";
    va_list ap;

    if (!err)
        return -1;
    if (where && snprintf(place, sizeof place, "%s", where) < 0)
        place[0] = '\0';
    utf8_clean(place, sizeof place);
    va_start(ap, fmt);
    fill(err, ERR_ARG, fmt, ap);
    va_end(ap);
    if (place[0])
        err_wrap(err, "%s", place);
    memcpy(err->where, place, sizeof place);
    return -1;
}

int(err_wrap)(struct err *err, const char *fmt, ...)
{
    char old[sizeof err->text];
    size_t n = 0;
    int rc = 0;
    va_list ap;

    if (!err)
        return -1;
    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    rc = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    n = rc < 0 ? 0 : MIN((size_t)rc, sizeof err->text - 1);
    /* If the text gets too long, the new context is shortened and the first cause is kept. */
    if (n + 2 + strlen(old) >= sizeof err->text)
        n = MIN(n, sizeof err->text / 3);
    rc = snprintf(err->text + n, sizeof err->text - n, "%s%s", n ? ": " : "", old);
    (void)rc;
    utf8_clean(err->text, sizeof err->text);
    return -1;
}

int(err_errno)(struct err *err, const char *fmt, ...)
{
    int saved = errno;
    char why[100] = "", text[sizeof err->text];
    const char *name = why;
    va_list ap;

    if (!err)
        return -1;
    name = strerror_r(saved, why, sizeof why); /* GNU's form: may return a constant, not `why` */
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    err_set(err, saved == ENOSPC || saved == EDQUOT ? ERR_FULL : ERR_IO, "%s", name);
    err_wrap(err, "%s", text);
    errno = saved;
    return -1;
}

void err_clear(struct err *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}

const char *err_code_name(enum err_code code)
{
    return (unsigned)code < ERR_CODES ? code_names[code] : "unknown";
}
