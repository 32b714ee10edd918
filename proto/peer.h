/* peer.h - whom a client trusts when it calls a controller over TCP, for the command line (cli/)
 * and the runner. A token is a password: it goes to the right controller, unread by others, or it
 * does not go at all.
 *
 * With https:// the controller is known by the hash of its key (pin), or by an authority whose
 * certificate is in a file (ca), or, with neither, by the authorities of this machine. With
 * http:// a token is sent to this machine itself only, unless is_clear allows more. */
#ifndef PROTO_PEER_H
#define PROTO_PEER_H

#include "base/err.h"

#include <curl/curl.h>
#include <stdbool.h>

/* All strings are borrowed; NULL or "" = not given. */
struct peer {
    const char *url; /* unix:PATH or http(s)://host:port */
    const char *pin; /* "sha256//" and base64, as the controller prints it at its start */
    const char *ca;  /* file, PEM */
    bool has_token;
    bool is_clear; /* --insecure */
};

/* ERR_ARG, before anything is sent: a token would cross a network in clear, a pin is none, or one is
 * given for an address without TLS. */
int peer_check(const struct peer *p, struct err *err);
/* Whether an http:// address is of this machine only: localhost, 127.x.x.x, ::1. */
bool peer_is_here(const char *url);
/* Sets what libcurl needs for calls to this controller. */
void peer_setup(const struct peer *p, CURL *curl);
/* If the call failed because of TLS: sets err (ERR_AUTH: who answers is not known to be the
 * controller; ERR_IO: the two do not speak TLS alike), and returns true. */
bool peer_explain(const struct peer *p, CURLcode code, struct err *err);

#endif
