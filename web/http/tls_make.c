/* tls_make.c - tls_make of tls.h: a key and a certificate for a controller that was given none. The
 * certificate is its own authority, so a client may either be told its hash (tls_pin) or trust the
 * file itself. */
#include "web/http/tls.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAYS = 3650, NAMES_MAX = 8 << 10 };

static bool is_address(const char *name)
{
    struct in6_addr six;
    struct in_addr four;

    return inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1;
}

/* A name that may stand in a certificate; others would be read as OpenSSL's configuration. */
static bool name_ok(const char *name)
{
    return name[0] && (is_address(name) || str_name_ok(name) ||
                       (str_starts(name, "*.") && str_name_ok(name + 2)));
}

static int name_add(struct buf *out, const char *name, struct err *err)
{
    if (!name_ok(name))
        return err_at(err, "host_names", "\"%.60s\" is no name of a host", name);
    return buf_addf(out, err, "%s%s:%s", out->len ? "," : "", is_address(name) ? "IP" : "DNS",
                    name);
}

/* "DNS:localhost,IP:127.0.0.1,...", as OpenSSL's extensions are written. */
static int names_write(struct buf *out, const char *names, struct err *err)
{
    char host[256] = "", one[256];

    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    if (name_add(out, "localhost", err) < 0 || name_add(out, "127.0.0.1", err) < 0 ||
        name_add(out, "::1", err) < 0 || (name_ok(host) && name_add(out, host, err) < 0))
        return -1;
    while (names && *names) {
        size_t n = strcspn(names, ", ");

        (void)!snprintf(one, sizeof one, "%.*s", (int)n, names);
        if (n > 0 && name_add(out, one, err) < 0)
            return -1;
        names += n + (names[n] != '\0');
    }
    return 0;
}

static bool extension_add(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext = NULL;
    bool is_added = false;

    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    is_added = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return is_added;
}

/* A certificate of the key, signed by the key; NULL = OpenSSL's queue says why. */
static X509 *cert_new(EVP_PKEY *key, const char *names)
{
    X509 *cert = X509_new();
    X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
    unsigned char serial[8];
    uint64_t number = 0;

    if (!cert || RAND_bytes(serial, sizeof serial) != 1)
        goto failed;
    memcpy(&number, serial, sizeof number);
    if (X509_set_version(cert, X509_VERSION_3) != 1 ||
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), (number >> 1) | 1) != 1 ||
        !X509_gmtime_adj(X509_getm_notBefore(cert), -86400) || /* clocks of clients may be slow */
        !X509_gmtime_adj(X509_getm_notAfter(cert), (long)DAYS * 86400) ||
        X509_set_pubkey(cert, key) != 1 ||
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   (const unsigned char *)"Assay controller", -1, -1, 0) != 1 ||
        X509_set_issuer_name(cert, subject) != 1 ||
        !extension_add(cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !extension_add(cert, NID_key_usage, "critical,digitalSignature,keyCertSign") ||
        !extension_add(cert, NID_ext_key_usage, "serverAuth") ||
        !extension_add(cert, NID_subject_key_identifier, "hash") ||
        !extension_add(cert, NID_subject_alt_name, names) ||
        X509_sign(cert, key, EVP_sha256()) == 0)
        goto failed;
    return cert;
failed:
    X509_free(cert);
    return NULL;
}

/* Makes the file, which must not exist; what stands in it is on the disk when this returns. */
static int file_write(const char *path, mode_t mode, EVP_PKEY *key, X509 *cert, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    bool is_written = false;

    if (!f) {
        err_errno(err, "creating %s", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    is_written = (key ? PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL)
                      : PEM_write_X509(f, cert)) == 1 &&
                 fflush(f) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    if (!is_written)
        err_errno(err, "writing %s", path);
    if (fclose(f) != 0 && is_written) {
        err_errno(err, "writing %s", path);
        is_written = false;
    }
    if (!is_written)
        unlink(path);
    return is_written ? 0 : -1;
}

/* The key of the file; a new one if there is no such file. NULL: err says why. */
static EVP_PKEY *key_of(const char *path, struct err *err)
{
    FILE *f = fopen(path, "re");
    EVP_PKEY *key = NULL;

    if (f) {
        key = PEM_read_PrivateKey(f, NULL, NULL, (void *)(uintptr_t) "");
        (void)fclose(f);
        if (!key)
            err_at(err, path, "is no private key (PEM without a passphrase is needed)");
        return key;
    }
    if (errno != ENOENT) {
        err_errno(err, "reading %s", path);
        return NULL;
    }
    key = EVP_EC_gen("P-256");
    if (!key) {
        err_at(err, path, "a private key could not be made");
    } else if (file_write(path, 0600, key, NULL, err) < 0) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

int tls_make(const char *cert_path, const char *key_path, const char *names, struct err *err)
{
    struct buf text;
    EVP_PKEY *key = NULL;
    X509 *cert = NULL;
    int rc = -1;

    buf_init(&text, NAMES_MAX);
    if (names_write(&text, names, err) == 0)
        key = key_of(key_path, err);
    if (key) {
        cert = cert_new(key, text.data);
        if (cert)
            rc = file_write(cert_path, 0644, NULL, cert, err);
        else
            err_at(err, cert_path, "a certificate could not be made for the key in %s", key_path);
    }
    ERR_clear_error();
    X509_free(cert);
    EVP_PKEY_free(key);
    buf_fini(&text);
    return rc;
}
