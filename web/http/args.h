/* args.h - parsers for single things that a client wrote: path, query, Range, Cookie, Host, Origin,
 * bearer token; and for the address to listen on. They are pure functions over borrowed text,
 * without state, and trust nothing in it. tests/fuzz/fuzz_http.c drives each of them. */
#ifndef WEB_HTTP_ARGS_H
#define WEB_HTTP_ARGS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

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
    const char *segments[ARGS_SEGMENTS_MAX]; /* decoded; never empty, ".", ".." or holding '/' */
};
struct args_host {
    char name[256]; /* lower case, without brackets */
    int port;       /* 0 = none given */
    bool is_ip;
};

/* %XX decoded; the result must be UTF-8 without control bytes. plus: '+' is a space. */
int args_decode(struct arena *a, const char *s, size_t n, bool plus, const char **out,
                struct err *err);
/* "/api/v1/studies/7": "/" has no segments; a trailing or double slash is ERR_NOTFOUND, bad text
 * ERR_ARG. */
int args_path_parse(struct arena *a, const char *s, size_t n, struct args_path *out,
                    struct err *err);
/* "a=1&b=x%20y", NULL or "" = none; a key without '=', given twice, or too many are ERR_ARG. */
int args_query_parse(struct arena *a, const char *s, struct args_query *out, struct err *err);
const char *args_query_get(const struct args_query *q, const char *key); /* NULL = absent */

/* One range of a file of `size` bytes. 1: from, len set; 0: no header, or one that RFC 9110 lets us
 * ignore (other unit, bad syntax, several ranges); -1: not satisfiable (416). */
int args_range(const char *header, int64_t size, int64_t *from, int64_t *len);
/* 1 = found and copied; 0 = absent, or longer than any cookie of this server. */
int args_cookie(const char *header, const char *name, char *out, size_t size);
/* "Bearer x": 1; no header: 0; anything else: -1. */
int args_bearer(const char *header, char *out, size_t size);
int args_host_parse(const char *header, struct args_host *out); /* 0/-1 */
/* True when the Host header is a literal address, localhost, or one of `names` ("a,b" or NULL). Any
 * other name could be one that an attacker's DNS server lets point to this machine, to reach it
 * through somebody's browser. */
bool args_host_ok(const char *header, const char *names);
bool args_origin_ok(const char *origin, const char *host); /* same origin, or no Origin header */
bool args_gzip_ok(const char *accept_encoding);
bool args_etag_ok(const char *if_none_match,
                  const char *etag); /* true = the client has it; etag with its quotes */
/* attachment; filename="..." of safe ASCII plus filename*= for the rest. */
void args_disposition(const char *file_name, char *out, size_t size);
/* "127.0.0.1:7878", "[::1]:0", "localhost:80": an address to listen on. */
int args_listen_parse(const char *text, struct sockaddr_storage *out, socklen_t *len,
                      struct err *err);

#endif
