/* token.h - rows of access tokens and of the page's sessions.
 *
 * Only hashes of tokens, cookies and secrets are stored, so that reading the database gives nobody
 * access. Sessions are rows so that users stay signed in when assayd restarts. */
#ifndef STORE_TOKEN_H
#define STORE_TOKEN_H

#include "store/store.h"

struct token_row {
    int64_t id;
    char *name, *role;     /* admin | user | viewer | runner */
    char hash[SHA256_HEX]; /* sha256 of the token text */
    int64_t created_at;
};
void token_row_fini(struct token_row *r);
int store_token_put(struct store *s, struct token_row *r, struct err *err);
/* 1/0/-1. */
int store_token_find(struct store *s, const char *hash, struct token_row *out, struct err *err);
int store_token_has(struct store *s, int64_t id, struct err *err); /* 1/0/-1 */
int store_token_each(struct store *s, int (*on_row)(void *arg, struct token_row *row), void *arg,
                     struct err *err);
/* Deletes the token and, by a foreign key, its sessions. */
int store_token_delete(struct store *s, int64_t id, struct err *err);

struct session_row {
    int64_t id;
    char cookie_hash[SHA256_HEX], secret_hash[SHA256_HEX];
    int64_t
        token; /* the token that opened it; 0 = none: it was opened by a link made on this machine */
    char *name, *role;
    int64_t created_at, seen_at, ends_at;
};
void session_row_fini(struct session_row *r);
/* Inserts the row when its id is 0. Else only seen_at and ends_at are updated; nothing else of a
 * session changes. */
int store_session_put(struct store *s, struct session_row *r, struct err *err);
/* 1/0/-1. */
int store_session_find(struct store *s, const char *cookie_hash, struct session_row *out,
                       struct err *err);
int store_session_has(struct store *s, int64_t id, struct err *err); /* 1/0/-1 */
int store_session_each(struct store *s, int (*on_row)(void *arg, struct session_row *row),
                       void *arg, struct err *err);
int store_session_delete(struct store *s, int64_t id, struct err *err);
/* Deletes the sessions that ended at or before `now`. Returns the number deleted, or -1. */
int store_session_expire(struct store *s, int64_t now, struct err *err);
/* Deletes all sessions of one token except the newest `keep`. Returns the number deleted, or -1. */
int store_session_trim(struct store *s, int64_t token, int keep, struct err *err);

#endif
