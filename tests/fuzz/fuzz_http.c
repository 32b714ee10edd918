/* fuzz_http.c - what a client wrote, byte by byte: path, query, Range, Cookie, Authorization, Host, Origin,
 * listen address, file name. The first byte says which; what is accepted must keep its promises.
 * covers: web/http/args.c */
#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "web/http/args.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void path_one(const char *text, size_t n)
{
    struct arena a;
    struct args_path path;
    struct args_query query;
    size_t split = strcspn(text, "?");

    arena_init(&a);
    if (args_path_parse(&a, text, MIN(split, n), &path, NULL) == 0) {
        CHECK(path.n >= 0 && path.n <= ARGS_SEGMENTS_MAX);
        for (int i = 0; i < path.n; i++) {
            const char *s = path.segments[i];

            CHECK(s[0] && !strchr(s, '/') && strcmp(s, "..") != 0 && strcmp(s, ".") != 0);
            CHECK(utf8_ok(s, strlen(s)));
        }
    }
    if (args_query_parse(&a, text[split] ? text + split + 1 : text, &query, NULL) == 0) {
        CHECK(query.n >= 0 && query.n <= ARGS_QUERY_MAX);
        for (int i = 0; i < query.n; i++)
            CHECK(args_query_get(&query, query.pairs[i].key) == query.pairs[i].value);
    }
    arena_fini(&a);
}

static void range_one(const char *text, int64_t size)
{
    int64_t from = 0, len = 0;

    if (args_range(text, size, &from, &len) == 1)
        CHECK(from >= 0 && len > 0 && from < size && len <= size - from);
}

static void headers_one(const char *text)
{
    char out[40], longer[600];
    struct args_host host;
    struct sockaddr_storage ss;
    socklen_t len = 0;

    if (args_cookie(text, "assay-7878", out, sizeof out) == 1)
        CHECK(strlen(out) > 0 && strlen(out) < sizeof out && !strchr(out, ';'));
    if (args_bearer(text, out, sizeof out) == 1)
        CHECK(strlen(out) > 0 && !strchr(out, ' '));
    if (args_host_parse(text, &host) == 0)
        CHECK(host.name[0] && host.port >= 0 && host.port <= 65535);
    (void)args_host_ok(text, "assay.lan,b");
    if (args_origin_ok(text, "127.0.0.1:7878"))
        CHECK(strstr(text, "127.0.0.1:"));
    (void)args_gzip_ok(text);
    (void)args_etag_ok(text, "\"abc\"");
    (void)args_listen_parse(text, &ss, &len, NULL);
    args_disposition(text, longer, sizeof longer);
    CHECK(!strchr(longer, '\r') && !strchr(longer, '\n') &&
          str_starts(longer, "attachment; filename=\""));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = NULL;

    if (size < 2)
        return 0;
    text = mem_alloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 0)
        path_one(text, strlen(text));
    else if (data[0] % 3 == 1)
        range_one(text, data[0] / 3);
    else
        headers_one(text);
    mem_free(text);
    return 0;
}
