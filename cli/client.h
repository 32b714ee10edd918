/* client.h - the REST API from a program's side.
 *
 * Uses libcurl over a Unix socket or TCP and keeps one connection open. An answer of the kind
 * application/problem+json becomes an err with its code, text and field. One client must not be
 * used by two threads. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/clk.h"
#include "base/err.h"
#include "base/sha256.h"
#include "cli/cmd.h"

#include <jansson.h>
#include <stdint.h>

struct client;

/* What the options leave out is taken from ASSAY_URL, ASSAY_TOKEN, ASSAY_TLS_PIN and ASSAY_TLS_CA
 * (an empty value counts as not set), then from ~/.config/assay/config.yaml, and the address at
 * last from the socket of `assay serve` in this folder (assay-data/sock). ERR_ARG where a token
 * would cross a network readable by others (proto/peer.h). Such a client has a patience of 15 s: a
 * controller that is busy says "try again in a second", and few who typed a command would. */
struct client *client_of(const struct cli_common *common, struct err *err);
/* The same with an address and a token only; both may be NULL. */
struct client *client_new(const char *server, const char *token, struct err *err);
void client_free(struct client *c);
const char *client_server(const struct client *c);

/* body is borrowed and may be NULL. out may be NULL when the answer does not matter. The path is
 * written without /api/v1. */
int client_call(struct client *c, const char *method, const char *path, const json_t *body,
                json_t **out, struct err *err);
int client_get(struct client *c, json_t **out, struct err *err, const char *path_fmt, ...)
    PRINTF_LIKE(4, 5);
int client_post(struct client *c, const json_t *body, json_t **out, struct err *err,
                const char *path_fmt, ...) PRINTF_LIKE(5, 6);
/* Downloads a model to a file, which appears complete or not at all (outfile.h); "-" is standard
 * output. The bytes must have the hash that the controller names, so that neither the page of a
 * proxy nor a damaged file is taken for a model. */
int client_download(struct client *c, const char *api_path, const char *file, struct err *err);
/* Uploads a file as a blob, in parts. Nothing is sent if the server already has these bytes. */
int client_upload(struct client *c, const char *file, char sha256[SHA256_HEX], struct err *err);
void client_timeout_ms(struct client *c, int64_t ms); /* per call from now on; 0 = 60 s */
/* `asked` is called during every transfer; when it returns non-zero, the call ends with the
 * error "interrupted". NULL switches this off. */
void client_end_when(struct client *c, int (*asked)(void));
/* Reads a list of any length in as many calls as needed: up to `limit` rows of the array `key`.
 * The path may hold a query. The calls add limit= and either after= (the `next` of the last
 * answer) or offset=. *out is the first answer with the rows of all answers in it and the `next`
 * of the last one. */
enum client_paging { CLIENT_BY_NEXT, CLIENT_BY_OFFSET };
int client_list(struct client *c, const char *path, const char *key, enum client_paging paging,
                int64_t limit, json_t **out, struct err *err);
/* An answer 503 (busy) is repeated until it has lasted for ms: long for programs that started the
 * controller themselves. With 0, the default of client_new, 503 is an error at once. */
void client_patience(struct client *c, int64_t ms);
/* For programs that started the controller themselves and start it again. After a call that got no
 * answer, is_back waits for at most most_ms until a controller accepts calls, and says whether one
 * does; else it may put the reason into *why. The call is repeated then, within client_patience. What
 * the unanswered call may have done already is not done twice (Idempotency-Key). A call that lasted
 * too long is not repeated. */
void client_when_gone(struct client *c,
                      bool (*is_back)(void *arg, int64_t most_ms, struct err *why), void *arg);
/* No call lasts beyond end_ms of the clock. The clock is borrowed. */
void client_deadline(struct client *c, const struct clk *clk, int64_t end_ms);
void client_quote(const char *text, char *out,
                  size_t size); /* percent-encoding of one path segment */

#endif
