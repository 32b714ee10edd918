/* log.h - log lines on stderr in logfmt: time, level, program, event word, then key=value pairs:
 * `log_info("trial.leased trial=%" PRId64 " runner=%s", id, name)`. The event words are stable, so
 * that people and scripts can search for them. A value that may hold spaces goes in quotes:
 * err=\"%s\". A function that returns an err does not log; the caller that handles the error
 * does. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

/* Writes one line by one write(2). Control bytes are escaped; a line that is too long is cut. */
void log_write(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* `program` ("assayd") begins each line's text. The pointer is kept, so it must stay valid. */
void log_init(const char *program, enum log_level level);
void log_level_set(enum log_level level);
enum log_level log_level_get(void);
int log_level_parse(const char *name); /* "error" .. "debug", or -1 */
void log_to_fd(int fd);                /* 2 unless a test sets it */

#endif
