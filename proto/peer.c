/* peer.c - see peer.h. */
#include "proto/peer.h"

#include "base/base.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_given(const char *text)
{
    return text && text[0];
}

/* libcurl takes whatever does not begin with "sha256//" for the name of a file with a key, so a
 * mistyped pin must not reach it. The hash has 32 bytes, which are 43 letters and one '='. */
static bool pin_ok(const char *pin)
{
    static const char start[] = "sha256//";
    enum { LETTERS = 43 };
    const char *text = pin + sizeof start - 1;

    if (!str_starts(pin, start) || strlen(text) != LETTERS + 1 || text[LETTERS] != '=')
        return false;
    for (int i = 0; i < LETTERS; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '+' && text[i] != '/')
            return false;
    }
    return true;
}

bool peer_is_here(const char *url)
{
    const char *host = strstr(url, "://"), *end = NULL;
    size_t n = 0;

    if (!host)
        return false;
    host += 3;
    end = host + strcspn(host, "/?#");
    for (const char *p = host; p < end; p++) {
        if (*p == '@') /* "http://localhost@elsewhere/" names the host elsewhere */
            host = p + 1;
    }
    if (*host == '[')
        return str_starts(host, "[::1]") && (host[5] == ':' || host + 5 == end);
    n = strcspn(host, ":/?#");
    if (n == strlen("localhost") && strncasecmp(host, "localhost", n) == 0)
        return true;
    /* Digits and dots only: 127.0.0.1.example.com is a name like any other. */
    return str_starts(host, "127.") && strspn(host, "0123456789.") == n;
}

int peer_check(const struct peer *p, struct err *err)
{
    if (is_given(p->pin) && !pin_ok(p->pin))
        return err_at(err, "tls_pin",
                      "\"%.60s\" is no hash of a key: the controller prints it at its start, "
                      "\"sha256//\" and 44 characters",
                      p->pin);
    if (!str_starts(p->url, "http://"))
        return 0;
    if (is_given(p->pin) || is_given(p->ca))
        return err_at(err, is_given(p->pin) ? "tls_pin" : "tls_ca",
                      "%.120s does not use TLS: write https://", p->url);
    if (p->has_token && !p->is_clear && !peer_is_here(p->url))
        return err_at(err, "token",
                      "would be sent to %.120s readable by everybody on the way: use https:// (the "
                      "controller's --tls) or an SSH tunnel, or allow it with --insecure",
                      p->url);
    return 0;
}

void peer_setup(const struct peer *p, CURL *curl)
{
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (is_given(p->ca))
        curl_easy_setopt(curl, CURLOPT_CAINFO, p->ca);
    if (!is_given(p->pin))
        return;
    curl_easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, p->pin);
    if (!is_given(p->ca)) {
        /* The key itself is known, so no authority needs to vouch for a name. */
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

bool peer_explain(const struct peer *p, CURLcode code, struct err *err)
{
    switch (code) {
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        err_set(err, ERR_AUTH,
                "%.120s has another key than tls_pin says: it is not that controller, or it has a "
                "new key; nothing was sent",
                p->url);
        return true;
    case CURLE_PEER_FAILED_VERIFICATION:
        err_set(err, ERR_AUTH,
                "nothing vouches for the certificate of %.120s: give --tls-pin with the hash that "
                "the controller printed at its start, or --tls-ca with the file of its certificate",
                p->url);
        return true;
    case CURLE_SSL_CACERT_BADFILE:
        err_set(err, ERR_AUTH, "%.120s holds no certificate (PEM is needed)",
                is_given(p->ca) ? p->ca : "this machine's store of authorities");
        return true;
    case CURLE_SSL_CONNECT_ERROR:
        err_set(err, ERR_IO, "%.120s does not speak TLS: should it be http://?", p->url);
        return true;
    default:
        return false;
    }
}
