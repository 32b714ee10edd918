/* tls.c - see tls.h. OpenSSL keeps its errors in a queue of the thread. Whatever is left in it
 * would be taken for the error of the next session that reads or writes, so every function here
 * empties the queue before it returns. */
#include "web/http/tls.h"

#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* When a file was last changed, to the nanosecond, and which file it is. */
struct stamp {
    struct timespec changed;
    ino_t inode;
};

struct tls {
    char *cert_path, *key_path;
    SSL_CTX *ctx;
    struct stamp cert, key; /* of the files that were read last, usable or not */
    char pin[TLS_PIN_SIZE];
};

static struct stamp stamp_of(const char *path)
{
    struct stat st;
    struct stamp s;

    memset(&s, 0, sizeof s);
    if (stat(path, &st) == 0) {
        s.changed = st.st_mtim;
        s.inode = st.st_ino;
    }
    return s;
}

static bool stamps_equal(const struct stamp *a, const struct stamp *b)
{
    return a->inode == b->inode && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* err from OpenSSL's queue: its first entry is the cause, the later ones follow from it. */
static int fail(const char *path, const char *what, struct err *err)
{
    unsigned long code = ERR_get_error();
    const char *why = code ? ERR_reason_error_string(code) : NULL;

    err_at(err, path, "%s%s%s", what, why ? ": " : "", why ? why : "");
    ERR_clear_error();
    return -1;
}

/* A key with a passphrase is refused. Without this, OpenSSL would ask for it on the terminal. */
static int no_passphrase(char *out, int size, int rwflag, void *arg)
{
    (void)out, (void)size, (void)rwflag, (void)arg;
    return -1;
}

static int pin_of(SSL_CTX *ctx, char pin[TLS_PIN_SIZE])
{
    unsigned char hash[EVP_MAX_MD_SIZE], text[48], *der = NULL; /* text: base64 of 32 bytes */
    unsigned int n = 0;
    int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(SSL_CTX_get0_certificate(ctx)), &der);
    int rc = len > 0 && EVP_Digest(der, (size_t)len, hash, &n, EVP_sha256(), NULL) == 1 ? 0 : -1;

    OPENSSL_free(der);
    if (rc < 0)
        return -1;
    (void)EVP_EncodeBlock(text, hash, 32);
    (void)!snprintf(pin, TLS_PIN_SIZE, "sha256//%s", (const char *)text);
    return 0;
}

/* A context that holds the certificate and the key of the files, or NULL. */
static SSL_CTX *context_new(const struct tls *t, char pin[TLS_PIN_SIZE], struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    ERR_clear_error();
    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        fail(t->cert_path, "TLS cannot be started", err);
        goto failed;
    }
    /* A client could keep the processor busy with renegotiations of one connection. */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* 34 KB less for each idle connection */
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(ctx, t->cert_path) != 1) {
        fail(t->cert_path, "no certificate could be read (PEM is needed)", err);
        goto failed;
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, t->key_path, SSL_FILETYPE_PEM) != 1) {
        fail(t->key_path, "the private key could not be used (PEM without a passphrase is needed)",
             err);
        goto failed;
    }
    if (SSL_CTX_check_private_key(ctx) != 1 || pin_of(ctx, pin) < 0) {
        fail(t->key_path, "the key does not belong to the certificate", err);
        goto failed;
    }
    ERR_clear_error();
    return ctx;
failed:
    SSL_CTX_free(ctx);
    return NULL;
}

struct tls *tls_open(const char *cert_path, const char *key_path, struct err *err)
{
    struct tls *t = mem_zalloc(sizeof *t);

    t->cert_path = mem_strdup(cert_path);
    t->key_path = mem_strdup(key_path);
    t->cert = stamp_of(cert_path);
    t->key = stamp_of(key_path);
    t->ctx = context_new(t, t->pin, err);
    if (t->ctx)
        return t;
    tls_free(t);
    return NULL;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    mem_free(t->cert_path);
    mem_free(t->key_path);
    mem_free(t);
}

void tls_refresh(struct tls *t)
{
    struct stamp cert = stamp_of(t->cert_path), key = stamp_of(t->key_path);
    char pin[TLS_PIN_SIZE];
    struct err err = { 0 };
    SSL_CTX *ctx = NULL;

    if (stamps_equal(&cert, &t->cert) && stamps_equal(&key, &t->key))
        return;
    t->cert = cert;
    t->key = key;
    ctx = context_new(t, pin, &err);
    if (!ctx) {
        log_warn("tls.refused where=%s err=\"%s\" note=\"the certificate of before stays\"",
                 err.where, err.text);
        return;
    }
    SSL_CTX_free(t->ctx); /* sessions hold references of their own */
    t->ctx = ctx;
    memcpy(t->pin, pin, sizeof t->pin);
    log_info("tls.renewed cert=%s pin=%s", t->cert_path, t->pin);
}

struct ssl_st *tls_accept(struct tls *t)
{
    SSL *ssl = SSL_new(t->ctx);

    ERR_clear_error();
    return ssl;
}

const char *tls_pin(const struct tls *t)
{
    return t->pin;
}

void tls_say_goodbye(struct ssl_st *ssl)
{
    if (SSL_is_init_finished(ssl))
        (void)SSL_shutdown(ssl);
    ERR_clear_error();
}

bool tls_is_plain_http(unsigned long error)
{
    return ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST;
}
