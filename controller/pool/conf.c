/* conf.c - the file of pools (conf.h). */
#include "controller/pool/conf.h"

#include "base/base.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "proto/yaml.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1000, LIST_MAX = 64, FILE_MAX = 1 << 20 };

static const char *const top_keys[] = { "pools", "poll" };
static const char *const keys[] = {
    "name",    "partition", "gpus",   "gpu_type", "cpus",       "memory",  "time", "drain",
    "min",     "max",       "idle",   "away",     "controller", "program", "log",  "token_file",
    "tls_pin", "tls_ca",    "labels", "commands", "options",    "runner",
};

/* A text without control characters: it becomes part of a script or of an argument. */
static int text(const json_t *o, const char *path, const char *key, enum jsonx_need need,
                const char **out, struct err *err)
{
    char where[160];

    if (jsonx_str(o, path, key, need, TEXT_MAX, out, err) < 0)
        return -1;
    for (const char *c = *out; c && *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            jsonx_path(where, sizeof where, path, key);
            return err_at(err, where, "has a control character");
        }
    }
    return 0;
}

static int count(const json_t *o, const char *path, const char *key, int min, int max, int *out,
                 struct err *err)
{
    int64_t value = *out;

    if (jsonx_i64(o, path, key, JSONX_OPTIONAL, min, max, &value, err) < 0)
        return -1;
    *out = (int)value;
    return 0;
}

/* A text such as 30s or 4h, between these limits. */
static int duration(const json_t *o, const char *path, const char *key, int64_t min, int64_t max,
                    int64_t *out, struct err *err)
{
    const char *s = NULL;
    char where[160];
    struct err why = { 0 };

    if (text(o, path, key, JSONX_OPTIONAL, &s, err) < 0)
        return -1;
    if (!s)
        return 0;
    jsonx_path(where, sizeof where, path, key);
    if (str_duration_ms(s, out, &why) < 0)
        return err_at(err, where, "%.150s", why.text);
    if (*out < min || *out > max)
        return err_at(err, where, "\"%.30s\" is not between %lld s and %lld s", s,
                      (long long)(min / 1000), (long long)(max / 1000));
    return 0;
}

static int bytes(const json_t *o, const char *path, const char *key, int64_t *out, struct err *err)
{
    const char *s = NULL;
    char where[160];
    struct err why = { 0 };

    if (text(o, path, key, JSONX_OPTIONAL, &s, err) < 0)
        return -1;
    if (!s)
        return 0;
    jsonx_path(where, sizeof where, path, key);
    if (str_bytes(s, out, &why) < 0)
        return err_at(err, where, "%.150s", why.text);
    return *out >= 64 << 20 ? 0 : err_at(err, where, "a runner needs at least 64MiB");
}

/* A list of options; each begins with a dash, or is the value of the one before it. */
static int texts(const json_t *o, const char *path, const char *key, const json_t **out,
                 struct err *err)
{
    json_t *list = NULL, *v = NULL;
    char where[160], at[200];
    size_t i = 0;

    if (jsonx_arr(o, path, key, JSONX_OPTIONAL, LIST_MAX, &list, err) < 0)
        return -1;
    jsonx_path(where, sizeof where, path, key);
    json_array_foreach(list, i, v)
    {
        const char *s = json_string_value(v);

        jsonx_path_at(at, sizeof at, where, i);
        if (!s || !s[0] || strlen(s) > TEXT_MAX || strpbrk(s, "\n\r"))
            return err_at(err, at, "is not a text of one line");
        if (i == 0 && s[0] != '-')
            return err_at(err, at, "\"%.60s\" is no option: options begin with --", s);
    }
    *out = list;
    return 0;
}

static int pool_texts(struct pool_conf *p, const json_t *o, const char *path, struct err *err)
{
    return text(o, path, "name", JSONX_REQUIRED, &p->name, err) < 0 ||
                   text(o, path, "partition", JSONX_OPTIONAL, &p->partition, err) < 0 ||
                   text(o, path, "gpu_type", JSONX_OPTIONAL, &p->gpu_type, err) < 0 ||
                   text(o, path, "log", JSONX_OPTIONAL, &p->log, err) < 0 ||
                   text(o, path, "program", JSONX_OPTIONAL, &p->program, err) < 0 ||
                   text(o, path, "controller", JSONX_REQUIRED, &p->controller, err) < 0 ||
                   text(o, path, "token_file", JSONX_OPTIONAL, &p->token_file, err) < 0 ||
                   text(o, path, "tls_pin", JSONX_OPTIONAL, &p->tls_pin, err) < 0 ||
                   text(o, path, "tls_ca", JSONX_OPTIONAL, &p->tls_ca, err) < 0 ||
                   text(o, path, "labels", JSONX_OPTIONAL, &p->labels, err) < 0 ||
                   texts(o, path, "options", &p->options, err) < 0 ||
                   texts(o, path, "runner", &p->runner, err) < 0
               ? -1
               : 0;
}

static int pool_numbers(struct pool_conf *p, const json_t *o, const char *path, struct err *err)
{
    return count(o, path, "gpus", 0, 64, &p->gpus, err) < 0 ||
                   count(o, path, "cpus", 1, 1024, &p->cpus, err) < 0 ||
                   count(o, path, "min", 0, POOL_JOBS_MAX, &p->min, err) < 0 ||
                   count(o, path, "max", 0, POOL_JOBS_MAX, &p->max, err) < 0 ||
                   bytes(o, path, "memory", &p->memory_bytes, err) < 0 ||
                   duration(o, path, "time", 120000, INT64_C(30) * 86400000, &p->time_ms, err) <
                       0 ||
                   duration(o, path, "drain", 1000, 3600000, &p->drain_ms, err) < 0 ||
                   duration(o, path, "idle", 1000, 86400000, &p->idle_ms, err) < 0 ||
                   duration(o, path, "away", 10000, INT64_C(10) * 86400000, &p->away_ms, err) < 0 ||
                   jsonx_bool(o, path, "commands", JSONX_OPTIONAL, &p->commands, err) < 0
               ? -1
               : 0;
}

static int pool_check(const struct pools_conf *c, const struct pool_conf *p, const char *path,
                      struct err *err)
{
    char at[160];

    jsonx_path(at, sizeof at, path, "name");
    if (!str_name_ok(p->name) || strlen(p->name) > POOL_NAME_MAX)
        return err_at(err, at, "\"%.60s\": 1 to %d letters, digits, '.', '_' or '-'", p->name,
                      POOL_NAME_MAX);
    for (const struct pool_conf *q = c->pools; q < p; q++) {
        if (str_eq(q->name, p->name))
            return err_at(err, at, "there are two pools called \"%s\"", p->name);
    }
    jsonx_path(at, sizeof at, path, "min");
    if (p->min > p->max)
        return err_at(err, at, "%d is more than max, which is %d", p->min, p->max);
    jsonx_path(at, sizeof at, path, "drain");
    if (p->time_ms > 0 && p->drain_ms >= p->time_ms / 2)
        return err_at(err, at, "takes half of a job's time or more");
    jsonx_path(at, sizeof at, path, "gpu_type");
    if (p->gpu_type && p->gpus == 0)
        return err_at(err, at, "belongs to gpus, which is 0");
    jsonx_path(at, sizeof at, path, "labels");
    if (p->labels && strlen(p->labels) > 120)
        return err_at(err, at, "at most 120 bytes");
    return 0;
}

static int pool_parse(struct pools_conf *c, const json_t *o, struct err *err)
{
    struct pool_conf *p = &c->pools[c->n];
    char path[40];

    *p = (struct pool_conf){ .cpus = 1,
                             .max = 1,
                             .drain_ms = 120000,
                             .idle_ms = 300000,
                             .away_ms = 600000,
                             .program = "assay-runner" };
    jsonx_path_at(path, sizeof path, "pools", (size_t)c->n);
    if (jsonx_only(o, path, keys, ARRAY_LEN(keys), err) < 0 || pool_texts(p, o, path, err) < 0 ||
        pool_numbers(p, o, path, err) < 0 || pool_check(c, p, path, err) < 0)
        return -1;
    c->n++;
    return 0;
}

int pools_conf_parse(struct pools_conf *out, const char *bytes_, size_t n, const char *what,
                     struct err *err)
{
    json_t *list = NULL, *o = NULL;
    size_t i = 0;

    *out = (struct pools_conf){ .poll_ms = 15000 };
    out->doc = yamlx_load(bytes_, n, what, err);
    if (!out->doc)
        return -1;
    if (jsonx_only(out->doc, NULL, top_keys, ARRAY_LEN(top_keys), err) < 0 ||
        duration(out->doc, NULL, "poll", 1000, 3600000, &out->poll_ms, err) < 0 ||
        jsonx_arr(out->doc, NULL, "pools", JSONX_REQUIRED, POOLS_MAX, &list, err) < 0)
        return -1;
    json_array_foreach(list, i, o)
    {
        if (pool_parse(out, o, err) < 0)
            return -1;
    }
    return 0;
}

int pools_conf_load(struct pools_conf *out, const char *path, struct err *err)
{
    struct buf file;
    int rc = io_read_file(path, FILE_MAX, &file, err);

    *out = (struct pools_conf){ 0 };
    if (rc == 0)
        rc = pools_conf_parse(out, file.data ? file.data : "", file.len, path, err);
    buf_fini(&file);
    return rc < 0 ? err_wrap(err, "pools %.150s", path) : 0;
}

void pools_conf_fini(struct pools_conf *c)
{
    json_decref(c->doc);
    c->doc = NULL;
    c->n = 0;
}

int pool_devices(const struct pool_conf *c)
{
    return c->gpus > 0 ? c->gpus : c->cpus;
}
