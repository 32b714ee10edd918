/* client_download.c - downloads models and other blobs into files.
 *
 * Bytes are written aside as they arrive (outfile.h). The file gets its name only when all of
 * them are there and have the hash that the controller names. Used by `export`, `run`, `fit` and
 * `submit --follow`. */
#include "cli/client_private.h"
#include "cli/outfile.h"

#include "base/buf.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct sink {
    struct client *client;
    int fd;
    off_t begin;        /* of the file, where its bytes go; -1 = it is a pipe */
    bool has_bytes;     /* some were written */
    const char *file;   /* for messages */
    struct sha256 hash; /* hash of what was written so far */
    /* the body of an error answer; the status at the first bytes tells which of the two it is */
    struct buf problem;
    struct err err;
};

static size_t on_file(char *p, size_t size, size_t n, void *arg)
{
    struct sink *s = arg;
    long status = 0;

    curl_easy_getinfo(s->client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return buf_add(&s->problem, p, size * n, NULL) < 0 ? 0 : size * n;
    sha256_add(&s->hash, p, size * n);
    s->has_bytes = true;
    for (size_t done = 0; done < size * n;) {
        ssize_t w = write(s->fd, p + done, size * n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            err_errno(&s->err, "cannot write %s", s->file);
            return 0;
        }
        done += (size_t)w;
    }
    return size * n;
}

/* Refuses a copy that is not what the server meant to send. The address of a blob holds its
 * hash; for a model, the answer's header names the hash. An answer without it does not come from
 * a controller. */
static int hash_check(const struct client *c, const char *api_path, struct sink *s, struct err *err)
{
    static const char blobs[] = "/blobs/";
    bool is_blob = strncmp(api_path, blobs, sizeof blobs - 1) == 0;
    const char *want = is_blob ? api_path + sizeof blobs - 1 : c->sha256;
    char got[SHA256_HEX];

    sha256_end_hex(&s->hash, got);
    if (!want[0])
        return err_set(err, ERR_IO, "%s did not send a model: is it a controller?", c->server);
    if (strcmp(got, want) == 0)
        return 0;
    return err_set(err, ERR_IO, "the file arrived damaged: its bytes hash to %.12s, not to %.12s",
                   got, want);
}

static int fetch_once(struct client *c, const char *api_path, struct sink *s, struct err *err)
{
    struct curl_slist *headers = client_prepare(c, "GET", api_path);

    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_file);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, s);
    CURLcode code = client_perform(c);
    curl_slist_free_all(headers);
    if (s->err.code != ERR_NONE) {
        if (err)
            *err = s->err;
        return -1;
    }
    if (code != CURLE_OK)
        return client_curl_error(c, code, err);
    if (client_check(c, s->problem.data, s->problem.len, err) < 0)
        return -1;
    return hash_check(c, api_path, s, err);
}

/* Takes back what was written, so that the call may be repeated. After an answer 503 that is nothing. */
static bool taken_back(struct sink *s)
{
    if (s->has_bytes &&
        (s->begin < 0 || ftruncate(s->fd, s->begin) < 0 || lseek(s->fd, s->begin, SEEK_SET) < 0))
        return false;
    s->has_bytes = false;
    sha256_init(&s->hash);
    return true;
}

static int fetch_into(struct client *c, const char *api_path, struct sink *s, struct err *err)
{
    struct err why = { 0 };
    int64_t waited_ms = 0;
    int rc;

    do {
        buf_clear(&s->problem);
        rc = fetch_once(c, api_path, s, &why);
    } while (rc < 0 && client_repeats(c, &why, &waited_ms) && taken_back(s));
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int client_download(struct client *c, const char *api_path, const char *file, struct err *err)
{
    struct sink s = { .client = c, .file = file };
    struct outfile out;

    if (outfile_open(&out, file, err) < 0)
        return -1;
    buf_init(&s.problem, 1 << 20);
    sha256_init(&s.hash);
    s.fd = out.fd;
    s.begin = lseek(out.fd, 0, SEEK_CUR);
    int rc = outfile_end(&out, fetch_into(c, api_path, &s, err), err);
    buf_fini(&s.problem);
    return rc;
}
