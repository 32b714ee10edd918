/* tls.h - the certificate of the TCP door, and the sessions made with it (TLS 1.2 and 1.3, by
 * OpenSSL). A door with a `struct tls` speaks TLS on every connection; one without speaks plain
 * HTTP.
 *
 * A renewed certificate is taken over without a restart: the door asks tls_refresh once a second,
 * which reads the files again when one of them has changed. Sessions that are open keep the
 * certificate that they began with. Everything runs on the loop's thread. */
#ifndef WEB_HTTP_TLS_H
#define WEB_HTTP_TLS_H

#include "base/err.h"

#include <stdbool.h>

struct ssl_st; /* OpenSSL's SSL */
struct tls;

enum { TLS_PIN_SIZE = 64 };

/* Reads a chain of certificates (PEM, the server's own first) and its private key (PEM, without a
 * passphrase). NULL: err names the file, ERR_ARG where its content is at fault. */
struct tls *tls_open(const char *cert_path, const char *key_path, struct err *err);
void tls_free(struct tls *t); /* NULL is legal */
/* Reads the files again if one of them has changed. If what they hold cannot be used, the old
 * certificate stays, and the log says why, once for each change. */
void tls_refresh(struct tls *t);
/* The session of one accepted connection. The caller owns it; NULL if there is no memory. */
struct ssl_st *tls_accept(struct tls *t);
/* The hash of the public key as libcurl and curl write it, "sha256//" and base64: what a client
 * that trusts no authority is told to expect. It stays the same when a certificate is renewed for
 * the same key. Borrowed. */
const char *tls_pin(const struct tls *t);

/* Makes a certificate that signs itself, for ten years, and a private key (P-256, mode 0600) unless
 * the file of the key is there. names: further names of the server, separated by commas; localhost,
 * the loopback addresses and this machine's name are there anyway. NULL = none. The file of the
 * certificate may not exist. */
int tls_make(const char *cert_path, const char *key_path, const char *names, struct err *err);

/* Whether an error of OpenSSL means that the client speaks HTTP without TLS. */
bool tls_is_plain_http(unsigned long error);
/* Ends the session politely, so that the client can tell the end from a cut connection. */
void tls_say_goodbye(struct ssl_st *ssl);

#endif
