/* yaml.c - see yaml.h. libyaml reports events (a mapping begins, a scalar, ...), and this file
 * builds the JSON value while they come. What JSON cannot express, and what could take much more
 * memory than its bytes (aliases), is refused at its event, with line and column.
 *
 * There is one struct reader per load. The functions call each other as deeply as the document is
 * nested, at most YAMLX_MAX_DEPTH. */
#include "proto/yaml.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the last one that was read */
    bool has_event;
    const char *what, *bytes;
    size_t n;
    int depth;
    struct err *err;
};

static const char REFUSED[] = "anchors, aliases and tags are not allowed";

static json_t *value_read(struct reader *r);

static int fail_at(struct reader *r, yaml_mark_t at, const char *problem, const char *detail)
{
    return err_set(r->err, ERR_ARG, "%s: line %zu, column %zu: %s%.80s", r->what, at.line + 1,
                   at.column + 1, problem, detail);
}

static int fail(struct reader *r, const char *problem)
{
    return fail_at(r, r->event.start_mark, problem, "");
}

static void event_drop(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = false;
}

/* libyaml's messages use its internal words. These replace them; a message not listed is kept. */
static const struct {
    const char *problem, *text;
} texts[] = {
    { "mapping values are not allowed in this context",
      "a second ':' in one line, or a key that is indented too far; text that holds ': ' needs "
      "quotes" },
    { "did not find expected key", "a key was expected here: look at the indentation" },
    { "could not find expected ':'", "the ':' behind a key is missing" },
    { "did not find expected ',' or ']'", "a ',' or the closing ']' is missing" },
    { "did not find expected ',' or '}'", "a ',' or the closing '}' is missing" },
    { "did not find expected '-' indicator", "an entry of this list does not begin with '- '" },
    { "block sequence entries are not allowed in this context",
      "a list cannot begin here: put its first '- ' on a line of its own" },
    { "found unexpected end of stream", "a quote is not closed" },
    { "found character that cannot start any token",
      "text that begins with this character needs quotes" },
    { "did not find expected node content", "a value is missing here" },
    { "did not find expected <document start>", "only one document is allowed" },
};

/* The byte at a mark, which libyaml counts in lines and characters; NUL past the end. */
static char byte_at(const struct reader *r, yaml_mark_t at)
{
    size_t i = 0;

    for (size_t line = at.line; line > 0 && i < r->n; i++)
        line -= r->bytes[i] == '\n';
    for (size_t left = at.column; left > 0 && i < r->n; left--) {
        i++;
        while (i < r->n && ((unsigned char)r->bytes[i] & 0xc0) == 0x80)
            i++;
    }
    return (char)(i < r->n ? r->bytes[i] : '\0');
}

static const char *problem_text(const struct reader *r, yaml_mark_t at)
{
    const char *problem = r->parser.problem ? r->parser.problem : "not YAML";

    if (byte_at(r, at) == '\t')
        return "a tab: YAML is indented with spaces";
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (str_eq(problem, texts[i].problem))
            return texts[i].text;
    }
    return problem;
}

static int event_next(struct reader *r)
{
    event_drop(r);
    if (yaml_parser_parse(&r->parser, &r->event)) {
        r->has_event = true;
        return 0;
    }
    yaml_mark_t at = r->parser.problem_mark;
    const char *problem = problem_text(r, at);
    if (r->parser.error == YAML_READER_ERROR) /* it has no mark, only an offset */
        return err_set(r->err, ERR_ARG, "%s: byte %zu: %s", r->what, r->parser.problem_offset + 1,
                       problem);
    return fail_at(r, at, problem, "");
}

static int events_next(struct reader *r, int n)
{
    int rc = 0;

    while (n-- > 0 && rc == 0)
        rc = event_next(r);
    return rc;
}

/* ---- scalars ---- */

static size_t digits(const char *s)
{
    size_t n = 0;

    while (s[n] >= '0' && s[n] <= '9')
        n++;
    return n;
}

/* Whether the text is a number by JSON's grammar: 0 = no, 1 = an integer, 2 = a real. */
static int number_kind(const char *s)
{
    int kind = 1;
    size_t n = 0;

    s += *s == '-';
    n = digits(s);
    if (n == 0 || (n > 1 && *s == '0'))
        return 0;
    s += n;
    if (*s == '.') {
        n = digits(s + 1);
        if (n == 0)
            return 0;
        s += 1 + n;
        kind = 2;
    }
    if (*s == 'e' || *s == 'E') {
        s += 1 + (s[1] == '+' || s[1] == '-');
        n = digits(s);
        if (n == 0)
            return 0;
        s += n;
        kind = 2;
    }
    return *s ? 0 : kind;
}

static json_t *number_read(struct reader *r, const char *text, int kind)
{
    struct err why = { 0 };
    int64_t i = 0;
    double d = 0;

    if (kind == 1 && str_i64(text, INT64_MIN, INT64_MAX, &i, &why) == 0)
        return json_integer(i);
    if (kind == 2 && str_f64(text, &d, &why) == 0)
        return json_real(d);
    fail_at(r, r->event.start_mark, "number out of range: ", text);
    return NULL;
}

static json_t *scalar_read(struct reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t n = r->event.data.scalar.length;
    json_t *v = NULL;

    if (memchr(text, 0, n)) {
        fail(r, "NUL byte in text");
        return NULL;
    }
    if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (n == 0 || str_eq(text, "~") || str_eq(text, "null"))
            return json_null();
        if (str_eq(text, "true") || str_eq(text, "false"))
            return json_boolean(text[0] == 't');
        int kind = number_kind(text);
        if (kind > 0)
            return number_read(r, text, kind);
    }
    v = json_stringn(text, n);
    if (!v)
        fail(r, "text is not UTF-8");
    return v;
}

/* ---- collections ---- */

static bool is_decorated(const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return e->data.scalar.anchor || e->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT:
        return e->data.sequence_start.anchor || e->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT:
        return e->data.mapping_start.anchor || e->data.mapping_start.tag;
    default:
        return false;
    }
}

static json_t *list_read(struct reader *r)
{
    json_t *list = json_array();

    for (;;) {
        if (event_next(r) < 0)
            goto fail;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return list;
        json_t *v = value_read(r);
        if (!v)
            goto fail;
        CHECK(json_array_append_new(list, v) == 0);
    }
fail:
    json_decref(list);
    return NULL;
}

/* The text of a key, on the heap; NULL on error. Keys are always text, even `1` and `true`. */
static char *key_read(struct reader *r, const json_t *object)
{
    if (r->event.type != YAML_SCALAR_EVENT) {
        fail(r, "a key must be plain text");
        return NULL;
    }
    const char *key = (const char *)r->event.data.scalar.value;
    const char *problem = NULL;
    if (is_decorated(&r->event))
        problem = REFUSED;
    else if (memchr(key, 0, r->event.data.scalar.length))
        problem = "NUL byte in a key";
    else if (!utf8_ok(key, strlen(key)))
        problem = "a key is not UTF-8";
    else if (json_object_get(object, key))
        problem = "duplicate key ";
    if (!problem)
        return mem_strdup(key);
    fail_at(r, r->event.start_mark, problem, json_object_get(object, key) ? key : "");
    return NULL;
}

static json_t *object_read(struct reader *r)
{
    json_t *object = json_object();
    char *key = NULL;

    for (;;) {
        if (event_next(r) < 0)
            goto fail;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return object;
        key = key_read(r, object);
        if (!key || event_next(r) < 0)
            goto fail;
        json_t *v = value_read(r);
        if (!v)
            goto fail;
        CHECK(json_object_set_new(object, key, v) == 0);
        mem_free(key);
        key = NULL;
    }
fail:
    mem_free(key);
    json_decref(object);
    return NULL;
}

static json_t *value_read(struct reader *r)
{
    json_t *v = NULL;

    if (r->event.type == YAML_ALIAS_EVENT || is_decorated(&r->event)) {
        fail(r, REFUSED);
        return NULL;
    }
    if (r->event.type == YAML_SCALAR_EVENT)
        return scalar_read(r);
    if (r->depth == YAMLX_MAX_DEPTH) {
        fail(r, "nested too deep");
        return NULL;
    }
    r->depth++;
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        v = list_read(r);
    else if (r->event.type == YAML_MAPPING_START_EVENT)
        v = object_read(r);
    else
        fail(r, "a value was expected");
    r->depth--;
    return v;
}

/* ---- the document ---- */

static json_t *document_read(struct reader *r)
{
    json_t *v = NULL;

    if (events_next(r, 2) < 0) /* stream start, document start */
        return NULL;
    if (r->event.type != YAML_DOCUMENT_START_EVENT) {
        err_set(r->err, ERR_ARG, "%s: is empty", r->what);
        return NULL;
    }
    if (event_next(r) < 0)
        return NULL;
    v = value_read(r);
    if (!v)
        return NULL;
    if (events_next(r, 2) < 0) /* document end, then stream end */
        goto fail;
    if (r->event.type != YAML_STREAM_END_EVENT) {
        fail(r, "only one document is allowed");
        goto fail;
    }
    return v;
fail:
    json_decref(v);
    return NULL;
}

/* Text that begins as JSON does is tried as JSON first. YAML would nearly always give the same
 * value, but not with U+0085 in a text or with very long keys. */
static bool looks_like_json(const char *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && (bytes[i] == ' ' || bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r'))
        i++;
    return i < n && (bytes[i] == '{' || bytes[i] == '[' || bytes[i] == '"');
}

json_t *yamlx_load(const char *bytes, size_t n, const char *what, struct err *err)
{
    struct reader r = { .what = what, .bytes = bytes, .n = n, .err = err };
    json_t *v = NULL;

    if (n > YAMLX_MAX_BYTES) {
        err_set(err, ERR_TOOBIG, "%s: is larger than %d bytes", what, YAMLX_MAX_BYTES);
        return NULL;
    }
    if (looks_like_json(bytes, n)) {
        v = jsonx_load(bytes, n, what, NULL);
        if (v)
            return v;
    }
    CHECK(yaml_parser_initialize(&r.parser)); /* fails only without memory */
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, n);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    v = document_read(&r);
    event_drop(&r);
    yaml_parser_delete(&r.parser);
    return v;
}
