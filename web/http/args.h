/* args.h - parsers for single things that a client wrote: path, query, Range, Cookie, Host, Origin,
 * bearer token; and for the address to listen on. They are pure functions over borrowed text,
 * without state, and trust nothing in it: a text is accepted only if it has exactly the form that
 * is described here. Errors are of code ERR_ARG (400) or ERR_NOTFOUND (404). Called by web/request/
 * and listen.c; tests/fuzz/fuzz_http.c drives each of them. */
#ifndef WEB_HTTP_ARGS_H
#define WEB_HTTP_ARGS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Pairs of a query; segments of a path, more than any route has; bytes of a path. */
enum { ARGS_QUERY_MAX = 16, ARGS_SEGMENTS_MAX = 8, ARGS_TEXT_MAX = 1024 };

struct args_pair {
    const char *key, *value;
};
struct args_query {
    int n;
    struct args_pair pairs[ARGS_QUERY_MAX];
};
struct args_path {
    int n;
    /* decoded; none is empty, "." or "..", and none holds a '/' */
    const char *segments[ARGS_SEGMENTS_MAX];
};
struct args_host {
    char name[256]; /* lower case, without brackets */
    int port;       /* 0 = none given */
    bool is_ip;
};

/* Decodes %XX in the n bytes at s, into memory of the arena. The result must be UTF-8 without
 * control bytes. plus: '+' is a space, as in a query. */
int args_decode(struct arena *a, const char *s, size_t n, bool plus, const char **out,
                struct err *err);
/* Splits a path such as "/api/v1/studies/7" into its decoded segments; "/" has none. A trailing or
 * double slash, or too many segments, is ERR_NOTFOUND; text that cannot be decoded is ERR_ARG. */
int args_path_parse(struct arena *a, const char *s, size_t n, struct args_path *out,
                    struct err *err);
/* Splits a query such as "a=1&b=x%20y" into decoded pairs; NULL and "" have none. A key without
 * '=', a key that is given twice, and too many pairs are ERR_ARG. */
int args_query_parse(struct arena *a, const char *s, struct args_query *out, struct err *err);
const char *args_query_get(const struct args_query *q, const char *key); /* NULL = absent */

/* The Range header of a request for a file of `size` bytes. 1: one range, *from and *len are set;
 * 0: no header, or one that RFC 9110 (section 14.2) allows a server to ignore: another unit, bad
 * syntax, several ranges; -1: the range lies outside the file (status 416). */
int args_range(const char *header, int64_t size, int64_t *from, int64_t *len);
/* Copies the value of one cookie from a Cookie header. 1 = found; 0 = absent, empty, or longer than
 * `size` - 1 bytes, which no cookie of this server is. */
int args_cookie(const char *header, const char *name, char *out, size_t size);
/* The token of an Authorization header. "Bearer TOKEN": 1; no header: 0; anything else: -1. */
int args_bearer(const char *header, char *out, size_t size);
/* "name:port", "1.2.3.4" or "[::1]:80". 0, or -1 if it is none of these. */
int args_host_parse(const char *header, struct args_host *out);
/* True when the Host header is a literal address, localhost, or one of `names` ("a,b" or NULL). Any
 * other name could be one that an attacker's DNS server lets point to this machine, to reach it
 * through somebody's browser. */
bool args_host_ok(const char *header, const char *names);
/* True when the request comes from a page of this server (Origin names the same host and port as
 * Host), or from no page (no Origin header). Schemes may differ, because a TLS proxy may stand in
 * front. */
bool args_origin_ok(const char *origin, const char *host);
/* True when Accept-Encoding names gzip, with a weight that is not 0. */
bool args_gzip_ok(const char *accept_encoding);
/* True when the client has this version already: If-None-Match holds the etag, which is given with
 * its quotes, or "*". Weak tags ("W/") are equal to strong ones here (RFC 9110, section 13.1.2). */
bool args_etag_ok(const char *if_none_match, const char *etag);
/* The value of Content-Disposition for a download: filename="..." in safe ASCII, and where the name
 * has other characters, filename*= with the whole name (RFC 6266). */
void args_disposition(const char *file_name, char *out, size_t size);
/* An address to listen on: "127.0.0.1:7878", "[::1]:0" or "localhost:80". Names other than
 * localhost are refused, because what they point to may change. Port 0: any free one. */
int args_listen_parse(const char *text, struct sockaddr_storage *out, socklen_t *len,
                      struct err *err);

#endif
