/* conf.h - one table of options drives the file, the environment, the flags, --help and /config.
 * Order of precedence: flag > environment (ASSAY_<NAME>) > file ("name: value" lines) > default. */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum conf_type {
    CONF_I64,
    CONF_STR,  /* char *, heap */
    CONF_PATH, /* the same, made absolute: who uses it later may be told it, or be elsewhere */
    CONF_BOOL, /* bool */
    CONF_DURATION_MS, /* int64_t, str_duration_ms */
    CONF_BYTES        /* int64_t, str_bytes */
};

struct conf_opt {
    const char *name; /* lease_ms: flag --lease-ms, environment ASSAY_LEASE_MS, file key lease_ms */
    enum conf_type type;
    size_t field;     /* offsetof in the target struct */
    const char *def;  /* NULL string default = NULL */
    int64_t min, max; /* checked when max > min */
    const char *help;
};

/* `who` is "assayd" and so on, for error texts. Fields must be zeroed before; on error call conf_fini all the same. */
int conf_defaults(void *target, const struct conf_opt *opts, size_t n, struct err *err);
int conf_file(void *target, const struct conf_opt *opts, size_t n, const char *path,
              struct err *err); /* names line and nearest key */
/* A variable that is set to nothing counts as not set. */
int conf_env(void *target, const struct conf_opt *opts, size_t n, struct err *err);
/* Consumes "--name value", "--name=value", "--flag"; stops at the first non-option; *argi is left there. */
int conf_args(void *target, const struct conf_opt *opts, size_t n, int argc, char **argv, int *argi,
              struct err *err);
int conf_set(void *target, const struct conf_opt *opt, const char *value, const char *source,
             struct err *err);
void conf_fini(void *target, const struct conf_opt *opts, size_t n); /* frees the strings */
void conf_help(FILE *out, const struct conf_opt *opts, size_t n);
json_t *conf_json_new(const void *target, const struct conf_opt *opts,
                      size_t n); /* for /config; values of names ending in _token are hidden */

#endif
