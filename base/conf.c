/* conf.c - reads the table of options. The file holds flat "name: value" lines: then the same table
 * also serves the environment and the flags, and no option of a daemon needs nesting. Search specs,
 * which do nest, are YAML and are read by proto/spec.c. */
#include "base/conf.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of an option's name as flag or variable; bytes of a file; options of one table. */
enum { NAME_MAX_BYTES = 64, FILE_MAX_BYTES = 1 << 20, OPTS_MAX = 128 };
/* --help: columns of the flag's name and of a whole line; bytes of one option's text. */
enum { HELP_LEFT = 26, HELP_WIDTH = 100, HELP_BYTES = 600 };

static void *field_of(void *target, const struct conf_opt *opt)
{
    return (char *)target + opt->field;
}

static const void *field_in(const void *target, const struct conf_opt *opt)
{
    return (const char *)target + opt->field;
}

/* lease_ms -> lease-ms (flag) or ASSAY_LEASE_MS (environment). */
static void name_as(char out[NAME_MAX_BYTES], const struct conf_opt *opt, bool env)
{
    size_t n = str_copy(out, NAME_MAX_BYTES, env ? "ASSAY_" : "");

    for (const char *p = opt->name; *p && n < NAME_MAX_BYTES - 1; p++)
        out[n++] = env ? (char)toupper((unsigned char)*p) : (char)(*p == '_' ? '-' : *p);
    out[n] = '\0';
}

/* The option of exactly this name; NULL = there is none. */
static const struct conf_opt *find(const struct conf_opt *opts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(opts[i].name, name) == 0)
            return &opts[i];
    }
    return NULL;
}

/* The name of an option that is probably meant by a misspelt one, for the error; NULL = none. */
static const char *nearest(const struct conf_opt *opts, size_t n, const char *name)
{
    const char *names[OPTS_MAX];

    CHECK(n <= OPTS_MAX);
    for (size_t i = 0; i < n; i++)
        names[i] = opts[i].name;
    return str_nearest(name, names, n);
}

static int parse_bool(const char *s, bool *out, struct err *err)
{
    static const char *const yes[] = { "true", "yes", "on", "1" };
    static const char *const no[] = { "false", "no", "off", "0" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
            *out = strcmp(s, yes[i]) == 0;
            return 0;
        }
    }
    return err_set(err, ERR_ARG, "'%.60s' is not true or false", s);
}

static int parse_int(const struct conf_opt *opt, const char *value, int64_t *out, struct err *err)
{
    if (opt->type == CONF_DURATION_MS)
        return str_duration_ms(value, out, err);
    if (opt->type == CONF_BYTES)
        return str_bytes(value, out, err);
    return str_i64(value, INT64_MIN, INT64_MAX, out, err);
}

/* A limit in the unit in which a person would write it. */
static const char *shown(const struct conf_opt *opt, int64_t v, char *out, size_t size)
{
    if (opt->type == CONF_DURATION_MS)
        str_fmt_ms(v, out, size);
    else if (opt->type == CONF_BYTES)
        str_fmt_bytes(v, out, size);
    else
        snprintf(out, size, "%" PRId64, v);
    return out;
}

static bool is_text(const struct conf_opt *opt)
{
    return opt->type == CONF_STR || opt->type == CONF_PATH;
}

/* The absolute form of a path, on the heap. "" (not set) and "-" (standard input) stay as they are,
 * because they are not paths. */
static char *absolute_new(const char *path, struct err *err)
{
    char cwd[PATH_MAX], *out = NULL;
    size_t size = 0;

    while (path[0] == '.' && path[1] == '/')
        path += 2;
    if (path[0] == '/' || path[0] == '\0' || strcmp(path, "-") == 0)
        return mem_strdup(path);
    if (!getcwd(cwd, sizeof cwd)) {
        err_errno(err, "cannot find the current folder, to which '%.60s' is relative", path);
        return NULL;
    }
    size = strlen(cwd) + strlen(path) + 2;
    out = mem_alloc(size);
    snprintf(out, size, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd,
             strcmp(path, ".") == 0 ? "" : path);
    return out;
}

/* Parses a value by the option's type, checks its limits, and stores it. The error says what is
 * wrong with the value; the caller adds the option's name and where the value came from. */
static int set_value(void *field, const struct conf_opt *opt, const char *value, struct err *err)
{
    char lo[32], hi[32];
    int64_t v = 0;

    if (is_text(opt)) {
        char **s = field;
        char *copy = opt->type == CONF_PATH ? absolute_new(value, err) : mem_strdup(value);

        if (!copy)
            return -1;
        mem_free(*s);
        *s = copy;
        return 0;
    }
    if (opt->type == CONF_BOOL)
        return parse_bool(value, field, err);
    if (parse_int(opt, value, &v, err) < 0)
        return -1;
    if (opt->max > opt->min && (v < opt->min || v > opt->max))
        return err_set(err, ERR_ARG, "must be from %s to %s", shown(opt, opt->min, lo, sizeof lo),
                       shown(opt, opt->max, hi, sizeof hi));
    *(int64_t *)field = v;
    return 0;
}

static int wrap_source(struct err *err, const char *source)
{
    return source && source[0] ? err_wrap(err, "%s", source) : -1;
}

int conf_set(void *target, const struct conf_opt *opt, const char *value, const char *source,
             struct err *err)
{
    struct err why = { 0 };

    if (set_value(field_of(target, opt), opt, value, &why) == 0)
        return 0;
    err_at(err, opt->name, "%s", why.text);
    return wrap_source(err, source);
}

int conf_defaults(void *target, const struct conf_opt *opts, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (opts[i].def && conf_set(target, &opts[i], opts[i].def, "default", err) < 0)
            return -1;
    }
    return 0;
}

static char *trim(char *s)
{
    size_t n = 0;

    s += strspn(s, " \t\r");
    n = strlen(s);
    while (n && strchr(" \t\r", s[n - 1]))
        s[--n] = '\0';
    return s;
}

/* Removes a comment and surrounding quotes from a value, in place. NULL if a quote is not closed or
 * has text behind it. */
static char *bare_value(char *s)
{
    char quote = *s, *end = NULL;

    if (quote == '"' || quote == '\'') {
        end = strchr(s + 1, quote);
        if (!end)
            return NULL;
        *end++ = '\0';
        end += strspn(end, " \t\r");
        return *end && *end != '#' ? NULL : s + 1;
    }
    if (*s == '#')
        *s = '\0';
    for (char *p = s; *p; p++) {
        if (*p == '#' && (p[-1] == ' ' || p[-1] == '\t')) {
            *p = '\0';
            break;
        }
    }
    return trim(s);
}

/* One line of the file. source: "path:line", for errors. Empty lines and comments are passed
 * over. */
static int file_line(void *target, const struct conf_opt *opts, size_t n, char *line,
                     const char *source, struct err *err)
{
    char *key = trim(line), *value = NULL, *colon = strchr(key, ':');
    const struct conf_opt *opt = NULL;

    if (!*key || *key == '#')
        return 0;
    if (!colon)
        return err_set(err, ERR_ARG, "%s: not a \"name: value\" line", source);
    *colon = '\0';
    key = trim(key);
    opt = find(opts, n, key);
    if (!opt) {
        const char *close = nearest(opts, n, key);

        if (close)
            err_at(err, key, "unknown option; did you mean %s?", close);
        else
            err_at(err, key, "unknown option");
        return wrap_source(err, source);
    }
    value = bare_value(trim(colon + 1));
    if (!value)
        return err_set(err, ERR_ARG, "%s: a quote is not closed", source);
    return conf_set(target, opt, value, source, err);
}

int conf_file(void *target, const struct conf_opt *opts, size_t n, const char *path,
              struct err *err)
{
    struct buf text;
    char source[300];
    int rc = io_read_file(path, FILE_MAX_BYTES, &text, err), number = 0;

    if (rc == 0 && strlen(text.data) != text.len)
        rc = err_set(err, ERR_ARG, "%s: holds a NUL byte", path);
    if (rc == 0 && !utf8_ok(text.data, text.len))
        rc = err_set(err, ERR_ARG, "%s: is not UTF-8", path);
    for (char *line = rc == 0 ? text.data : NULL, *next = NULL; line && rc == 0; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        (void)!snprintf(source, sizeof source, "%.280s:%d", path, ++number);
        rc = file_line(target, opts, n, line, source, err);
    }
    buf_fini(&text);
    return rc;
}

int conf_env(void *target, const struct conf_opt *opts, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        char name[NAME_MAX_BYTES];
        const char *value = NULL;

        name_as(name, &opts[i], true);
        value = getenv(name);
        if (value && value[0] && conf_set(target, &opts[i], value, name, err) < 0)
            return -1;
    }
    return 0;
}

/* The option that a flag names: "--lease-ms", "--lease_ms" or "--lease-ms=5". *value is the text
 * after '=', or NULL. */
static const struct conf_opt *find_flag(const struct conf_opt *opts, size_t n, const char *arg,
                                        const char **value, struct err *err)
{
    char name[NAME_MAX_BYTES] = "";
    const struct conf_opt *opt = NULL;
    const char *close = NULL;
    size_t len = strcspn(arg + 2, "=");

    *value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
    memcpy(name, arg + 2, MIN(len, sizeof name - 1));
    for (char *p = name; *p; p++)
        *p = (char)(*p == '-' ? '_' : *p);
    opt = len < sizeof name ? find(opts, n, name) : NULL;
    if (opt)
        return opt;
    close = nearest(opts, n, name);
    if (close) {
        name_as(name, find(opts, n, close), false);
        err_set(err, ERR_ARG, "unknown option %.80s; did you mean --%s?", arg, name);
    } else {
        err_set(err, ERR_ARG, "unknown option %.80s", arg);
    }
    return NULL;
}

int conf_args(void *target, const struct conf_opt *opts, size_t n, int argc, char **argv, int *argi,
              struct err *err)
{
    while (*argi < argc && str_starts(argv[*argi], "--")) {
        const char *arg = argv[(*argi)++], *value = NULL;
        const struct conf_opt *opt = NULL;
        struct err why = { 0 };

        if (strcmp(arg, "--") == 0)
            break;
        opt = find_flag(opts, n, arg, &value, err);
        if (!opt)
            return -1;
        if (!value && opt->type == CONF_BOOL)
            value = "true";
        if (!value && *argi >= argc)
            return err_set(err, ERR_ARG, "%s needs a value", arg);
        if (!value)
            value = argv[(*argi)++];
        if (set_value(field_of(target, opt), opt, value, &why) < 0)
            return err_set(err, ERR_ARG, "%.*s: %s", (int)strcspn(arg, "="), arg, why.text);
    }
    return 0;
}

void conf_fini(void *target, const struct conf_opt *opts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_text(&opts[i])) {
            char **s = field_of(target, &opts[i]);

            mem_free(*s);
            *s = NULL;
        }
    }
}

/* The default is worth a word unless it means "not set", or the help says it in words. */
static bool has_telling_default(const struct conf_opt *opt)
{
    if (!opt->def || !opt->def[0] || strcmp(opt->def, "false") == 0 || strcmp(opt->def, "-1") == 0)
        return false;
    return !strstr(opt->help, "default") &&
           (strcmp(opt->def, "0") != 0 || !strstr(opt->help, "0 ="));
}

/* Words after HELP_LEFT columns, in lines of at most HELP_WIDTH. */
static void print_wrapped(FILE *out, const char *text)
{
    int column = HELP_LEFT;

    while (*text) {
        int len = (int)strcspn(text, " ");

        if (column > HELP_LEFT && column + 1 + len > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_LEFT, "");
            column = HELP_LEFT;
        } else if (column > HELP_LEFT) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", len, text);
        column += len;
        text += len + strspn(text + len, " ");
    }
    fputc('\n', out);
}

static const char *const kinds[] = {
    [CONF_I64] = "N", [CONF_STR] = "TEXT",         [CONF_PATH] = "PATH",
    [CONF_BOOL] = "", [CONF_DURATION_MS] = "TIME", [CONF_BYTES] = "SIZE"
};

void conf_help(FILE *out, const struct conf_opt *opts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[NAME_MAX_BYTES], left[NAME_MAX_BYTES + 16], text[HELP_BYTES];
        bool tells = has_telling_default(&opts[i]);

        name_as(name, &opts[i], false);
        (void)!snprintf(left, sizeof left, "--%s %s", name, kinds[opts[i].type]);
        (void)!snprintf(text, sizeof text, "%s%s%s%s", opts[i].help, tells ? " (default " : "",
                        tells ? opts[i].def : "", tells ? ")" : "");
        fprintf(out, "  %-*s", HELP_LEFT - 2, left);
        print_wrapped(out, text);
    }
}

json_t *conf_table_json_new(const struct conf_opt *opts, size_t n)
{
    json_t *all = json_array();

    for (size_t i = 0; i < n; i++) {
        char flag[NAME_MAX_BYTES], variable[NAME_MAX_BYTES];

        name_as(flag, &opts[i], false);
        name_as(variable, &opts[i], true);
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s}", "name", flag, "key",
                                             opts[i].name, "variable", variable, "kind",
                                             kinds[opts[i].type], "default",
                                             has_telling_default(&opts[i]) ? opts[i].def : NULL,
                                             "help", opts[i].help));
    }
    return all;
}

/* The value as JSON. The value of an option whose name ends with _token is not shown. */
static json_t *value_new(const void *target, const struct conf_opt *opt)
{
    const void *field = field_in(target, opt);
    const char *s = NULL;

    if (opt->type == CONF_BOOL)
        return json_boolean(*(const bool *)field);
    if (!is_text(opt))
        return json_integer(*(const int64_t *)field);
    s = *(char *const *)field;
    if (!s)
        return json_null();
    return json_string(str_ends(opt->name, "_token") ? "(hidden)" : s);
}

json_t *conf_json_new(const void *target, const struct conf_opt *opts, size_t n)
{
    json_t *o = json_object();

    for (size_t i = 0; i < n; i++)
        CHECK(json_object_set_new(o, opts[i].name, value_new(target, &opts[i])) == 0);
    return o;
}
