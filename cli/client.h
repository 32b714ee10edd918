/* client.h - the REST API from a program's side: libcurl easy handles over a Unix socket or TCP, one connection kept
 * open. Problem answers become err with their code, text and field. Not thread-safe. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/clk.h"
#include "base/err.h"
#include "base/sha256.h"
#include "cli/cmd.h"

#include <jansson.h>
#include <stdint.h>

struct client;

/* server/token: NULL = environment ASSAY_URL / ASSAY_TOKEN (empty counts as not set), then ~/.config/assay/config.yaml, then
 * the socket of `assay serve` in this folder (assay-data/sock). */
struct client *client_new(const char *server, const char *token, struct err *err);
struct client *client_of(const struct cli_common *common, struct err *err);
void client_free(struct client *c);
const char *client_server(const struct client *c);

/* body is borrowed and may be NULL; *out may be NULL when the answer does not matter. Path without /api/v1. */
int client_call(struct client *c, const char *method, const char *path, const json_t *body,
                json_t **out, struct err *err);
int client_get(struct client *c, json_t **out, struct err *err, const char *path_fmt, ...)
    PRINTF_LIKE(4, 5);
int client_post(struct client *c, const json_t *body, json_t **out, struct err *err,
                const char *path_fmt, ...) PRINTF_LIKE(5, 6);
/* A model to a file, complete or not at all (outfile.h); "-" = standard output. Its bytes must have the hash that the
 * controller names, so neither a page of some proxy nor a damaged file is taken for a model. */
int client_download(struct client *c, const char *api_path, const char *file, struct err *err);
/* Sends a file as a blob in parts, skipping what the server has. */
int client_upload(struct client *c, const char *file, char sha256[SHA256_HEX], struct err *err);
void client_timeout_ms(struct client *c, int64_t ms); /* per call from now on; 0 = 60 s */
/* Ends the present call and those after it once `asked` says so ("interrupted"); NULL = never. */
void client_end_when(struct client *c, int (*asked)(void));
/* A list of any length, in as many calls as it takes: `limit` rows of the array `key`. The path, which may hold a query, is
 * asked with limit= and with after= (the answers' `next`) or offset=. *out = the first answer with all rows in it and the
 * `next` of the last one. */
enum client_paging { CLIENT_BY_NEXT, CLIENT_BY_OFFSET };
int client_list(struct client *c, const char *path, const char *key, enum client_paging paging,
                int64_t limit, json_t **out, struct err *err);
/* "Busy" is no answer until it was the answer for so long: for whoever started the controller. 0 (at first) = it is one. */
void client_patience(struct client *c, int64_t ms);
/* No call goes on after end_ms of the clock, which is borrowed. */
void client_deadline(struct client *c, const struct clk *clk, int64_t end_ms);
void client_quote(const char *text, char *out,
                  size_t size); /* percent-encoding of one path segment */

#endif
