/* conf.h - one table of options drives the configuration file, the environment, the flags, --help
 * and GET /config, so that they cannot disagree. A value comes from the first of these that has
 * one: flag, environment (ASSAY_<NAME>), file ("name: value" lines), default. Each program calls
 * conf_defaults, conf_file, conf_env and conf_args in this order, and later calls overwrite. */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum conf_type {
    CONF_I64,
    CONF_STR,         /* char *, heap */
    CONF_PATH,        /* char *, heap; made absolute, because the process may change its folder and
                         may tell other processes the path */
    CONF_BOOL,        /* bool */
    CONF_DURATION_MS, /* int64_t, parsed by str_duration_ms */
    CONF_BYTES        /* int64_t, parsed by str_bytes */
};

struct conf_opt {
    /* "lease_ms" is the key in the file, the flag --lease-ms and the variable ASSAY_LEASE_MS. */
    const char *name;
    enum conf_type type;
    size_t field;     /* offsetof in the target struct */
    const char *def;  /* as text; NULL leaves the field zero */
    int64_t min, max; /* checked if max > min */
    const char *help;
};

/* `target` is the struct that the table describes. The caller zeroes it first, and calls conf_fini
 * in the end, also after an error. */
int conf_defaults(void *target, const struct conf_opt *opts, size_t n, struct err *err);
/* An error names the line and, for an unknown key, the nearest known one. */
int conf_file(void *target, const struct conf_opt *opts, size_t n, const char *path,
              struct err *err);
/* A variable that is set to the empty string counts as not set. */
int conf_env(void *target, const struct conf_opt *opts, size_t n, struct err *err);
/* Reads "--name value", "--name=value" and "--flag" from argv[*argi] on, and leaves *argi at the
 * first argument that is not an option. */
int conf_args(void *target, const struct conf_opt *opts, size_t n, int argc, char **argv, int *argi,
              struct err *err);
/* Sets one option. `source` says where the value came from and begins the error text. */
int conf_set(void *target, const struct conf_opt *opt, const char *value, const char *source,
             struct err *err);
void conf_fini(void *target, const struct conf_opt *opts, size_t n); /* frees the strings */
void conf_help(FILE *out, const struct conf_opt *opts, size_t n);
/* The table itself, for manual pages and shell completion: an array of {name, key, variable, kind,
 * default, help}. kind is what --help shows for the value: N, TEXT, PATH, TIME, SIZE, or "" for a
 * flag. default is null where it tells nothing or the help says it. */
json_t *conf_table_json_new(const struct conf_opt *opts, size_t n);
/* For GET /config. The value of a name that ends in _token is shown as "(hidden)". */
json_t *conf_json_new(const void *target, const struct conf_opt *opts, size_t n);

#endif
