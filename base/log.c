/* log.c - formats a line on the stack and writes it with one write(2), so that lines of several
 * threads and processes never mix. It needs no lock and no memory, and it keeps errno. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static const char *const level_names[] = { "error", "warn", "info", "debug" };
static const char *program = "assay";
static int level_now = LOG_INFO;
static int out_fd = 2;

void log_init(const char *name, enum log_level level)
{
    program = name;
    log_level_set(level);
}

void log_level_set(enum log_level level)
{
    __atomic_store_n(&level_now, (int)level, __ATOMIC_RELAXED);
}

enum log_level log_level_get(void)
{
    return (enum log_level)__atomic_load_n(&level_now, __ATOMIC_RELAXED);
}

int log_level_parse(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (strcmp(name, level_names[i]) == 0)
            return (int)i;
    }
    return -1;
}

void log_to_fd(int fd)
{
    out_fd = fd;
}

static size_t stamp(char *out, size_t size, enum log_level level)
{
    struct timespec ts = { 0 };
    struct tm tm = { 0 };
    size_t n = 0;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
    rc = snprintf(out + n, size - n, ".%03ldZ %s %s ", ts.tv_nsec / 1000000, level_names[level],
                  program);
    return rc < 0 ? n : MIN(n + (size_t)rc, size - 1);
}

/* Copies `text` with control bytes as \n, \t or \xNN, so that no value can begin a new line.
 * Returns the number of bytes written, never more than size. */
static size_t escape(char *out, size_t size, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p && n + 4 <= size; p++) {
        if (*p >= 0x20 && *p != 0x7f) {
            out[n++] = (char)*p;
        } else if (*p == '\n' || *p == '\t') {
            out[n++] = '\\';
            out[n++] = *p == '\n' ? 'n' : 't';
        } else {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[*p >> 4];
            out[n++] = hex[*p & 15];
        }
    }
    return n;
}

void log_write(enum log_level level, const char *fmt, ...)
{
    int saved = errno, rc = 0;
    char text[LINE_MAX_BYTES - 200], line[LINE_MAX_BYTES];
    size_t n = 0;
    ssize_t put = 0;
    va_list ap;

    if (level > log_level_get())
        return;
    va_start(ap, fmt);
    rc = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (rc < 0)
        text[0] = '\0';
    else if ((size_t)rc >= sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    n = stamp(line, 160, level);
    n += escape(line + n, sizeof line - n - 1, text);
    line[n++] = '\n';
    do
        put = write(out_fd, line, n);
    while (put < 0 && errno == EINTR);
    errno = saved;
}
