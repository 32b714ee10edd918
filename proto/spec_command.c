/* spec_command.c - reads and fills in what command.h describes. */
#include "proto/command.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proto/spec_private.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

/* FILES_BYTES: the files are in the study's row and in each grant; data belongs on the runners'
 * disks. Defaults are for a training script on one device. */
enum { WORD_MAX = 4096, FILES_BYTES = 1 << 20, PATH_BYTES = 200, VARIABLES_MAX = 256 };
enum { PROCESSES = 256, PROCESSES_MAX = 65536, RETRY_TIMES_MAX = 10 };
#define MIB          (INT64_C(1) << 20)
#define OUTPUT       MIB
#define OUTPUT_MAX   (64 * MIB)
#define CHECKPOINT   (1024 * MIB)
#define DISK         (8 * 1024 * MIB)
#define STORE_MAX    (1024 * 1024 * MIB)
#define GRACE_MS     10000
#define GRACE_MAX_MS 600000

/* ---- words ---- */

static bool has_param(const json_t *space, const char *name, size_t n)
{
    char key[200];

    if (n == 0 || n >= sizeof key)
        return false;
    memcpy(key, name, n);
    key[n] = '\0';
    return !space || json_object_get(space, key);
}

/* The braces of a word: each {name} names a parameter, all others are doubled. */
static int places_check(const char *word, const char *where, const json_t *space, struct err *err)
{
    for (const char *p = word; *p; p++) {
        if ((*p == '{' || *p == '}') && p[1] == *p) {
            p++;
        } else if (*p == '{') {
            size_t n = strcspn(p + 1, "{}");
            if (p[1 + n] != '}')
                return err_at(err, where, "has a { without its }; write {{ for a brace");
            if (!has_param(space, p + 1, n))
                return err_at(err, where,
                              "{%.*s} is not the name of a parameter in `space`; write {{ and }} "
                              "for braces",
                              (int)MIN(n, 80), p + 1);
            p += n + 1;
        } else if (*p == '}') {
            return err_at(err, where, "has a } without its {; write }} for a brace");
        }
    }
    return 0;
}

static int words_parse(struct command *c, const json_t *o, const json_t *space, struct err *err)
{
    json_t *list = json_object_get(o, "command"), *v = NULL;
    char where[120];
    size_t i = 0;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return err_at(err, "command",
                      "must be a list of words such as [python3, train.py, --lr, \"{lr}\"]; there "
                      "is no shell (for one write [sh, -c, \"...\"])");
    if (json_array_size(list) > COMMAND_MAX_WORDS)
        return err_at(err, "command", "has more than %d words", COMMAND_MAX_WORDS);
    c->words = json_array();
    json_array_foreach(list, i, v)
    {
        char number[40];
        const char *text = json_string_value(v);

        jsonx_path_at(where, sizeof where, "command", i);
        if (json_is_integer(v)) {
            (void)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
            text = number;
        }
        if (!text)
            return err_at(err, where,
                          "must be text: put quotes around it (a place is \"{name}\", in quotes)");
        if ((i == 0 && !*text) || strlen(text) > WORD_MAX)
            return err_at(err, where, "must have %d to %d bytes", i == 0, WORD_MAX);
        if (i == 0 && strpbrk(text, "{}"))
            return err_at(err, where, "is the program's name and cannot be a parameter");
        if (places_check(text, where, space, err) < 0)
            return -1;
        json_array_append_new(c->words, json_string(text));
    }
    return 0;
}

static bool is_variable(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (const char *p = name; *p; p++) {
        if (!isalnum((unsigned char)*p) && *p != '_')
            return false;
    }
    return strlen(name) <= 128;
}

static int environment_parse(struct command *c, const json_t *o, const json_t *space,
                             struct err *err)
{
    json_t *list = NULL, *v = NULL;
    const char *name = NULL;
    char where[200];
    int rc = jsonx_obj(o, NULL, "environment", JSONX_OPTIONAL, &list, err);

    if (rc <= 0)
        return rc;
    if (json_object_size(list) > VARIABLES_MAX)
        return err_at(err, "environment", "has more than %d variables", VARIABLES_MAX);
    c->environment = json_object();
    json_object_foreach(list, name, v)
    {
        char *text = json_is_string(v)    ? mem_strdup(json_string_value(v))
                     : json_is_integer(v) ? jsonx_dump(v)
                                          : NULL;

        (void)snprintf(where, sizeof where, "environment.%.150s", name);
        if (!is_variable(name) || str_starts(name, "ASSAY_")) {
            mem_free(text);
            return err_at(err, where,
                          "is no name for a variable: letters, digits and _, not beginning with a "
                          "digit or with ASSAY_");
        }
        if (!text || strlen(text) > WORD_MAX) {
            mem_free(text);
            return err_at(err, where, "must be text of at most %d bytes", WORD_MAX);
        }
        json_object_set_new(c->environment, name, json_string(text));
        rc = places_check(text, where, space, err);
        mem_free(text);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- files ---- */

/* A path inside the trial's folder: no way out of it, and nothing that a shell or a terminal takes
 * for something else. */
static bool is_inner_path(const char *path)
{
    size_t n = strlen(path);

    if (n == 0 || n > PATH_BYTES || path[0] == '/' || path[n - 1] == '/' || !utf8_ok(path, n))
        return false;
    for (const char *p = path; *p;) {
        size_t part = strcspn(p, "/");

        if (part == 0 || (part == 1 && p[0] == '.') || (part == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        for (size_t i = 0; i < part; i++) {
            if ((unsigned char)p[i] < 32 || p[i] == 127)
                return false;
        }
        p += part + (p[part] == '/');
    }
    return true;
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

static int base64_decode(const char *text, void **bytes, size_t *n, struct err *err)
{
    size_t len = strlen(text), used = 0;
    unsigned char *out = mem_alloc(len / 4 * 3 + 4);
    unsigned bits = 0;
    int held = 0;

    while (len > 0 && text[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        int d = base64_digit(text[i]);

        if (d < 0) {
            mem_free(out);
            return err_set(err, ERR_ARG, "is not base64");
        }
        bits = (bits << 6 | (unsigned)d) & 0xffffff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[used++] = (unsigned char)(bits >> held & 0xff);
        }
    }
    *bytes = out;
    *n = used;
    return 0;
}

int command_file(const json_t *value, void **bytes, size_t *n, struct err *err)
{
    const char *coded = json_string_value(json_object_get(value, "base64"));

    *bytes = NULL;
    *n = 0;
    if (coded && json_object_size(value) == 1)
        return base64_decode(coded, bytes, n, err);
    if (!json_is_string(value))
        return err_set(err, ERR_ARG, "must be the file's text, or {base64: TEXT}");
    *n = json_string_length(value);
    *bytes = mem_alloc(*n + 1);
    memcpy(*bytes, json_string_value(value), *n);
    return 0;
}

static int files_parse(struct command *c, const json_t *o, struct err *err)
{
    json_t *files = NULL, *v = NULL;
    const char *path = NULL;
    char where[260];
    size_t all = 0;
    int rc = 0;

    if (json_is_array(json_object_get(o, "files")))
        return err_at(err, "files",
                      "is a list of names: `assay submit` and `assay run` read such files and send "
                      "their contents; over REST write {name: contents}");
    rc = jsonx_obj(o, NULL, "files", JSONX_OPTIONAL, &files, err);
    if (rc <= 0)
        return rc;
    if (json_object_size(files) > COMMAND_MAX_FILES)
        return err_at(err, "files", "has more than %d files", COMMAND_MAX_FILES);
    json_object_foreach(files, path, v)
    {
        struct err why = { 0 };
        void *bytes = NULL;
        size_t n = 0;

        (void)snprintf(where, sizeof where, "files.%.200s", path);
        if (!is_inner_path(path))
            return err_at(err, where,
                          "is no path inside the trial's folder (at most %d bytes, without .. and "
                          "without / at its ends)",
                          PATH_BYTES);
        if (command_file(v, &bytes, &n, &why) < 0)
            return err_at(err, where, "%s", why.text);
        mem_free(bytes);
        all += n;
    }
    if (all > FILES_BYTES)
        return err_at(err, "files",
                      "have %zu bytes; a spec carries at most %d, so keep data on the runners' "
                      "disks or fetch it in the program",
                      all, FILES_BYTES);
    c->files = json_deep_copy(files);
    return 0;
}

/* ---- limits and retries ---- */

static int size_parse(const json_t *o, const char *key, int64_t lo, int64_t hi, int64_t *out,
                      struct err *err)
{
    char where[120];

    if (spec_bytes_parse(o, "limits", key, out, err) < 0)
        return -1;
    if (*out >= lo && *out <= hi)
        return 0;
    jsonx_path(where, sizeof where, "limits", key);
    return err_at(err, where, "must be from %lld to %lld bytes", (long long)lo, (long long)hi);
}

static int limits_parse(struct command *c, const json_t *o, struct err *err)
{
    static const char *const keys[] = { "processes", "output", "checkpoint", "disk", "grace" };
    json_t *l = NULL;
    int rc = jsonx_obj(o, NULL, "limits", JSONX_OPTIONAL, &l, err);

    if (rc <= 0)
        return rc;
    if (ONLY(l, "limits", keys, err) < 0 ||
        jsonx_i64(l, "limits", "processes", JSONX_OPTIONAL, 1, PROCESSES_MAX, &c->processes, err) <
            0 ||
        size_parse(l, "output", 0, OUTPUT_MAX, &c->output_bytes, err) < 0 ||
        size_parse(l, "checkpoint", 0, STORE_MAX, &c->checkpoint_bytes, err) < 0 ||
        size_parse(l, "disk", MIB, STORE_MAX, &c->disk_bytes, err) < 0 ||
        spec_duration_parse(l, "limits", "grace", &c->grace_ms, err) < 0)
        return -1;
    if (c->grace_ms > GRACE_MAX_MS)
        return err_at(err, "limits.grace", "must be at most 10m");
    return 0;
}

static int pattern_check(const char *pattern, const char *where, struct err *err)
{
    regex_t re;
    char why[120];
    int rc = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);

    if (rc == 0) {
        regfree(&re);
        return 0;
    }
    regerror(rc, &re, why, sizeof why);
    return err_at(err, where, "is no regular expression: %s", why);
}

static int rule_parse(struct command_retry *r, const json_t *o, const char *path, struct err *err)
{
    static const char *const keys[] = { "output", "exit", "times", "where" };
    static const char *const places[] = { "here", "elsewhere" };
    const char *output = "";
    int64_t exit_code = -1, times = 1;
    int place = 0;

    if (!json_is_object(o))
        return err_at(err, path,
                      "must be an object such as {exit: 75, where: elsewhere} or {output: \"CUDA "
                      "out of memory\", times: 2}");
    if (ONLY(o, path, keys, err) < 0 ||
        jsonx_str(o, path, "output", JSONX_OPTIONAL, sizeof r->output - 1, &output, err) < 0 ||
        jsonx_i64(o, path, "exit", JSONX_OPTIONAL, 1, 255, &exit_code, err) < 0 ||
        jsonx_i64(o, path, "times", JSONX_OPTIONAL, 1, RETRY_TIMES_MAX, &times, err) < 0 ||
        spec_word_parse(o, path, "where", places, ARRAY_LEN(places), &place, err) < 0)
        return -1;
    if (!*output && exit_code < 0)
        return err_at(err, path, "needs exit (a code from 1 to 255) or output (a pattern)");
    *r = (struct command_retry){ .exit = (int)exit_code,
                                 .times = (int)times,
                                 .elsewhere = place == 1 };
    str_copy(r->output, sizeof r->output, output);
    return *output ? pattern_check(output, path, err) : 0;
}

static int retry_parse(struct command *c, const json_t *o, struct err *err)
{
    json_t *list = NULL, *v = NULL;
    char where[120];
    size_t i = 0;
    int rc = jsonx_arr(o, NULL, "retry", JSONX_OPTIONAL, COMMAND_MAX_RETRY, &list, err);

    if (rc <= 0)
        return rc;
    json_array_foreach(list, i, v)
    {
        jsonx_path_at(where, sizeof where, "retry", i);
        if (rule_parse(&c->retry[i], v, where, err) < 0)
            return -1;
        c->n_retry++;
    }
    return 0;
}

int command_parse(struct command *c, const json_t *o, const json_t *space, struct err *err)
{
    int64_t gpus = 0;

    *c = (struct command){ .processes = PROCESSES,
                           .output_bytes = OUTPUT,
                           .checkpoint_bytes = CHECKPOINT,
                           .disk_bytes = DISK,
                           .grace_ms = GRACE_MS };
    if (words_parse(c, o, space, err) == 0 && environment_parse(c, o, space, err) >= 0 &&
        files_parse(c, o, err) >= 0 &&
        jsonx_i64(o, NULL, "gpus", JSONX_OPTIONAL, 0, 1, &gpus, err) >= 0 &&
        limits_parse(c, o, err) >= 0 && retry_parse(c, o, err) >= 0) {
        c->gpus = (int)gpus;
        return 0;
    }
    command_fini(c);
    return -1;
}

void command_fini(struct command *c)
{
    json_decref(c->words);
    json_decref(c->environment);
    json_decref(c->files);
    c->words = c->environment = c->files = NULL;
}

json_t *command_json_new(const json_t *o)
{
    static const char *const keys[] = { COMMAND_KEYS };
    json_t *out = json_object();

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_t *v = json_object_get(o, keys[i]);

        if (v && !json_is_null(v))
            json_object_set_new(out, keys[i], json_deep_copy(v));
    }
    return out;
}

/* ---- filling in ---- */

/* The text of a parameter as a program reads it: without quotes, numbers so that they read back as
 * the same number. */
static char *value_text(const json_t *v)
{
    char text[40];

    if (json_is_string(v))
        return mem_strdup(json_string_value(v));
    if (json_is_real(v)) {
        double read = 0;
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(text, sizeof text, "%.*g", digits, json_real_value(v));
            if (str_f64(text, &read, NULL) == 0 && !(read < json_real_value(v)) &&
                !(read > json_real_value(v)))
                break;
        }
        return mem_strdup(text);
    }
    return jsonx_dump(v);
}

/* The word with its places filled, on the heap; NULL if one of its parameters is absent. */
static char *fill(const char *word, const json_t *params)
{
    struct buf out;
    char *text = NULL;

    buf_init(&out, SIZE_MAX / 2);
    for (const char *p = word; *p; p++) {
        if (*p != '{' || p[1] == '{') {
            p += (*p == '{' || *p == '}') && p[1] == *p;
            (void)buf_add(&out, p, 1, NULL);
            continue;
        }
        size_t n = strcspn(p + 1, "}");
        char key[200];
        (void)snprintf(key, sizeof key, "%.*s", (int)MIN(n, sizeof key - 1), p + 1);
        const json_t *v = json_object_get(params, key);
        if (!v) {
            buf_fini(&out);
            return NULL;
        }
        char *value = value_text(v);
        (void)buf_add(&out, value, strlen(value), NULL);
        mem_free(value);
        p += n + 1;
    }
    text = mem_strdup(out.data ? out.data : "");
    buf_fini(&out);
    return text;
}

static bool is_option(const char *word)
{
    return word && word[0] == '-' && !strpbrk(word, "{}");
}

json_t *command_words_new(const struct command *c, const json_t *params)
{
    json_t *out = json_array(), *v = NULL;
    const char *before = NULL;
    size_t i = 0;

    json_array_foreach(c->words, i, v)
    {
        const char *word = json_string_value(v);
        char *text = fill(word, params);

        if (text)
            json_array_append_new(out, json_string(text));
        else if (is_option(before))
            json_array_remove(out, json_array_size(out) - 1);
        before = text ? word : NULL;
        mem_free(text);
    }
    return out;
}

json_t *command_environment_new(const struct command *c, const json_t *params)
{
    json_t *out = json_object(), *v = NULL;
    const char *name = NULL;

    json_object_foreach(c->environment, name, v)
    {
        char *text = fill(json_string_value(v), params);

        if (text)
            json_object_set_new(out, name, json_string(text));
        mem_free(text);
    }
    return out;
}
