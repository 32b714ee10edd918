/* client_upload.c - turns a file into a blob on the server.
 *
 * The file is hashed first. If the server does not have these bytes, they are sent in parts of at
 * most 4 MiB and committed by their hash. The file is read twice, so a file that changes in between
 * fails at the commit, which says so.
 *
 * Each step may be repeated without harm. It is repeated a few times, with growing pauses, when
 * the connection was cut or the server was busy. */
#include "cli/client.h"
#include "cli/client_private.h"
#include "cli/print.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PART_BYTES = 4 << 20, REPEATS = 5, FIRST_PAUSE_MS = 50 };

struct failures { /* of one step */
    int n;
    int64_t waited_ms; /* client_repeats */
};

/* After a failed step: waits, each time longer, and returns whether to repeat the step. */
static bool may_repeat(const struct client *c, struct err *why, struct failures *f)
{
    int64_t ms = FIRST_PAUSE_MS << f->n;
    const struct timespec pause = { .tv_nsec = ms % 1000 * 1000000L };

    if (client_repeats(c, why, &f->waited_ms))
        return true;
    if ((why->code != ERR_UNREACHABLE && why->code != ERR_BUSY) || f->n == REPEATS ||
        client_is_over(c, ms))
        return false;
    f->n += 1;
    nanosleep(&pause, NULL);
    return true;
}

static int hash_file(const struct client *c, int fd, const char *file, char sha256[SHA256_HEX],
                     struct err *err)
{
    struct sha256 h;
    char *part = mem_alloc(PART_BYTES);
    ssize_t n = 0;

    sha256_init(&h);
    while (!client_wants_end(c) && !client_is_over(c, 0) && (n = read(fd, part, PART_BYTES)) > 0)
        sha256_add(&h, part, (size_t)n);
    mem_free(part);
    if (client_wants_end(c))
        return err_set(err, ERR_IO, "interrupted");
    if (client_is_over(c, 0))
        return err_set(err, ERR_TIMEOUT, "%s: the time was over before the file was read", file);
    if (n < 0)
        return err_errno(err, "%s", file);
    sha256_end_hex(&h, sha256);
    return 0;
}

static size_t on_nothing(char *p, size_t size, size_t n, void *arg)
{
    return buf_add(arg, p, size * n, NULL) < 0 ? 0 : size * n;
}

static int put_part(struct client *c, const char *id, int64_t offset, const char *part, size_t n,
                    struct err *err)
{
    char path[160];
    struct buf answer;
    int rc = 0;

    snprintf(path, sizeof(path), "/uploads/%s?offset=%" PRId64, id, offset);
    struct curl_slist *headers = client_prepare(c, "PUT", path);
    headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
    buf_init(&answer, 1 << 20);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, part);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_nothing);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &answer);
    CURLcode code = client_perform(c);
    curl_slist_free_all(headers);
    if (code != CURLE_OK)
        rc = client_curl_error(c, code, err);
    else
        rc = client_check(c, answer.data, answer.len, err);
    buf_fini(&answer);
    return rc;
}

static int send_parts(struct client *c, int fd, const char *file, const char *id, struct err *err)
{
    char *part = mem_alloc(PART_BYTES);
    int64_t at = 0;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = pread(fd, part, PART_BYTES, at)) != 0) {
        struct failures failures = { 0 };
        do
            rc = n < 0 ? err_errno(err, "%s", file) : put_part(c, id, at, part, (size_t)n, err);
        while (rc < 0 && may_repeat(c, err, &failures));
        at += n;
    }
    mem_free(part);
    return rc;
}

static int server_has_once(struct client *c, const char *sha256, struct err *err)
{
    char path[120];

    snprintf(path, sizeof(path), "/blobs/%s", sha256);
    struct curl_slist *headers = client_prepare(c, "HEAD", path);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_NOBODY, 1L);
    CURLcode code = client_perform(c);
    curl_slist_free_all(headers);
    if (code != CURLE_OK)
        return client_curl_error(c, code, err);
    long status = 0;
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 404)
        return 0;
    return client_check(c, NULL, 0, err) < 0 ? -1 : 1;
}

static int server_has(struct client *c, const char *sha256, struct err *err)
{
    struct failures failures = { 0 };
    int rc;

    do
        rc = server_has_once(c, sha256, err);
    while (rc < 0 && may_repeat(c, err, &failures));
    return rc;
}

static int begin(struct client *c, char id[33], struct err *err)
{
    json_t *answer = NULL;
    struct failures failures = { 0 };
    int rc;

    do
        rc = client_post(c, NULL, &answer, err, "/uploads");
    while (rc < 0 && may_repeat(c, err, &failures));
    if (rc == 0 && str_copy(id, 33, print_text(answer, "id")) == 0)
        rc = err_set(err, ERR_IO, "the server gave no upload id");
    json_decref(answer);
    return rc;
}

static int commit(struct client *c, const char *id, const char *sha256, struct err *err)
{
    json_t *body = json_pack("{s:s}", "sha256", sha256);
    struct failures failures = { 0 };
    int rc;

    do {
        /* If only the answer to the last commit was lost, the upload no longer exists and the
         * blob does. */
        rc = (failures.n > 0 || failures.waited_ms > 0) && server_has_once(c, sha256, err) == 1
                 ? 0
                 : client_post(c, body, NULL, err, "/uploads/%s/commit", id);
    } while (rc < 0 && may_repeat(c, err, &failures));
    json_decref(body);
    return rc;
}

static int send_file(struct client *c, int fd, const char *file, const char *sha256,
                     struct err *err)
{
    char id[33] = "", path[80];

    if (begin(c, id, err) < 0)
        return err_wrap(err, "upload of %s", file);
    if (send_parts(c, fd, file, id, err) == 0 && commit(c, id, sha256, err) == 0)
        return 0;
    snprintf(path, sizeof(path), "/uploads/%s", id); /* frees its space on the server now */
    client_call(c, "DELETE", path, NULL, NULL, NULL);
    return err_wrap(err, "upload of %s", file);
}

int client_upload(struct client *c, const char *file, char sha256[SHA256_HEX], struct err *err)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC), rc = -1;
    struct err own = { 0 };
    struct stat st;

    err = err ? err : &own;
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (errno == ENOENT)
            err_set(err, ERR_NOTFOUND, "%s: no such file", file);
        else
            err_errno(err, "%s", file);
    } else if (!S_ISREG(st.st_mode)) {
        err_set(err, ERR_ARG, "%s: not a regular file", file);
    } else if (st.st_size == 0) {
        err_set(err, ERR_ARG, "%s: the file is empty", file);
    } else if (hash_file(c, fd, file, sha256, err) == 0) {
        rc = server_has(c, sha256, err);
        if (rc == 0)
            rc = send_file(c, fd, file, sha256, err);
    }
    if (fd >= 0)
        close(fd);
    return rc < 0 ? -1 : 0;
}
