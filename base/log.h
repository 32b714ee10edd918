/* log.h - one line per event on stderr: time, level, event word, then key=value (logfmt):
 * `log_info("trial.leased trial=%" PRId64 " runner=%s", id, name)`. Event words are stable and grep-able.
 * Library code that returns an err does not log. Values that may hold spaces go in quotes: err=\"%s\". */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

void log_write(enum log_level level, const char *fmt, ...)
    PRINTF_LIKE(2, 3);                                    /* one write(2), control bytes escaped */
void log_init(const char *program, enum log_level level); /* program: "assayd", borrowed for ever */
void log_level_set(enum log_level level);
enum log_level log_level_get(void);
int log_level_parse(const char *name); /* "error" .. "debug", or -1 */
void log_to_fd(int fd);                /* default 2 */

#endif
