/* fetch.c - the downloads under way and their waiters; see fetch.h. There is at most one download
 * of a hash. It ends by telling all its waiters. If all of them have been cancelled, it stops, and
 * its part file stays for the next time. */
#include "trial-runner/agent/fetch.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/agent/backoff.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* DAMAGED_MAX: tries of a blob whose bytes have another hash. REFUSED_MAX: tries to write to a disk
 * that refuses; with the pauses they take about a second. */
enum { PATH_BYTES = 4096, DAMAGED_MAX = 3, REFUSED_MAX = 5, FIRST_PAUSE_MS = 50 };

struct waiter {
    struct waiter *next;
    void (*on_ready)(void *arg, const char *path, const struct err *err);
    void *arg;
};

struct download {
    struct download *next;
    struct fetch *fetch;
    char sha256[SHA256_HEX];
    struct waiter *waiters;
    struct http_call *call;
    struct loop_timer *again;
    struct backoff backoff;
    int fd, damaged, refused;
    bool has_begun; /* some bytes of the present answer have come */
    int64_t at;     /* next byte of the part file */
    struct err write_err;
};

struct fetch {
    struct loop *loop;
    struct http *http;
    struct cache *cache;
    struct download *downloads;
    int64_t backoff_max_ms;
    uint64_t count;
};

static void download_start(struct download *d);

static void download_free(struct download *d)
{
    struct download **link = &d->fetch->downloads;

    while (*link != d)
        link = &(*link)->next;
    *link = d->next;
    http_cancel(d->call);
    loop_timer_free(d->again);
    if (d->fd >= 0)
        close(d->fd);
    for (struct waiter *w = d->waiters, *next = NULL; w; w = next) {
        next = w->next;
        mem_free(w);
    }
    mem_free(d);
}

static void download_end(struct download *d, const char *path, const struct err *err)
{
    struct waiter *w = d->waiters, *next = NULL;

    d->waiters = NULL;
    download_free(d);
    for (; w; w = next) {
        next = w->next;
        w->on_ready(w->arg, path, err);
        mem_free(w);
    }
}

static void on_again(void *arg)
{
    struct download *d = arg;

    loop_timer_free(d->again);
    d->again = NULL;
    download_start(d);
}

static void download_retry(struct download *d, int64_t after_ms, const struct err *why)
{
    CHECK(!d->call && !d->again);
    int64_t ms = MAX(backoff_next_ms(&d->backoff), after_ms);

    log_warn("fetch.retry blob=%.12s at=%" PRId64 " in_ms=%" PRId64 " err=\"%s\"", d->sha256, d->at,
             ms, why->text);
    d->again = loop_timer_new(d->fetch->loop, ms, 0, on_again, d);
}

/* This machine's own disk refused. After a few tries the waiters get an error; the controller then
 * gives the work to another runner. */
static void download_refused(struct download *d, const struct err *why)
{
    struct err err = { 0 };

    if (++d->refused < REFUSED_MAX) {
        download_retry(d, 0, why);
        return;
    }
    err_set(&err, why->code, "the runner's cache: %s", why->text);
    download_end(d, NULL, &err);
}

/* Writes bytes to the part file. A server that does not know ranges answers 200 with the whole
 * blob; then the part file begins anew. */
static int on_data(void *arg, int status, const void *p, size_t n)
{
    struct download *d = arg;
    const char *bytes = p;

    if (status == 200 && !d->has_begun && d->at > 0) {
        if (ftruncate(d->fd, 0) < 0)
            return err_errno(&d->write_err, "download");
        d->at = 0;
    }
    d->has_begun = true;
    if (FAULT("fetch.write"))
        return err_set(&d->write_err, ERR_FULL, "download: injected");
    while (n > 0) {
        ssize_t put = pwrite(d->fd, bytes, n, d->at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno(&d->write_err, "download");
        d->at += put;
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

static void download_commit(struct download *d)
{
    char path[PATH_BYTES], sha256[SHA256_HEX];
    struct fetch *f = d->fetch;
    struct err err = { 0 };

    str_copy(sha256, sizeof sha256, d->sha256);
    if (cache_commit(f->cache, sha256, &err) < 0) {
        if (++d->damaged < DAMAGED_MAX)
            download_retry(d, 0, &err);
        else
            download_end(d, NULL, &err);
        return;
    }
    log_info("fetch.done blob=%.12s bytes=%" PRId64, sha256, d->at);
    if (cache_find(f->cache, sha256, path, sizeof path) == 1) {
        /* The first waiter may trim the cache, so the file is pinned until all have been told. */
        cache_pin(f->cache, sha256);
        download_end(d, path, NULL);
        cache_unpin(f->cache, sha256);
    } else {
        err_set(&err, ERR_IO, "blob %.12s vanished from the cache", sha256);
        download_end(d, NULL, &err);
    }
}

static void on_done(void *arg, const struct http_reply *r)
{
    struct download *d = arg;
    int64_t at = d->at;

    d->call = NULL;
    close(d->fd);
    d->fd = -1;
    if (r->status == 200 || r->status == 206) {
        download_commit(d);
    } else if (d->write_err.code != ERR_NONE) {
        download_refused(d, &d->write_err);
    } else if (r->status == 416 && at > 0) {
        /* The part file has all bytes or too many; its hash decides. */
        download_commit(d);
    } else if (http_may_retry(r)) {
        download_retry(d, r->retry_after_ms, &r->err);
    } else {
        download_end(d, NULL, &r->err);
    }
}

static void download_start(struct download *d)
{
    struct fetch *f = d->fetch;
    char part[PATH_BYTES], path[128];
    struct err err = { 0 };

    CHECK(d->fd < 0 && !d->call);
    err_clear(&d->write_err);
    d->has_begun = false;
    if (cache_part(f->cache, d->sha256, part, sizeof part, &d->at, &err) == 0) {
        d->fd = open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (d->fd < 0)
            err_errno(&err, "%s", part);
    }
    if (d->fd < 0) {
        download_refused(d, &err);
        return;
    }
    snprintf(path, sizeof path, "/api/v1/blobs/%s", d->sha256);
    d->call = http_send(f->http, &(struct http_request){ .method = HTTP_GET,
                                                         .path = path,
                                                         .range_from = d->at,
                                                         .on_data = on_data,
                                                         .on_done = on_done,
                                                         .arg = d });
}

static struct download *download_of(struct fetch *f, const char *sha256)
{
    struct download *d = f->downloads;

    while (d && strcmp(d->sha256, sha256) != 0)
        d = d->next;
    if (d)
        return d;
    d = mem_zalloc(sizeof *d);
    d->fetch = f;
    d->fd = -1;
    str_copy(d->sha256, sizeof d->sha256, sha256);
    backoff_init(&d->backoff, FIRST_PAUSE_MS, f->backoff_max_ms, ++f->count);
    d->next = f->downloads;
    f->downloads = d;
    download_start(d);
    return d;
}

void fetch_get(struct fetch *f, const char *sha256,
               void (*on_ready)(void *arg, const char *path, const struct err *err), void *arg)
{
    char path[PATH_BYTES];
    struct download *d = NULL;
    struct waiter *w = NULL;

    if (cache_find(f->cache, sha256, path, sizeof path) == 1) {
        on_ready(arg, path, NULL);
        return;
    }
    d = download_of(f, sha256);
    w = mem_zalloc(sizeof *w);
    w->on_ready = on_ready;
    w->arg = arg;
    w->next = d->waiters;
    d->waiters = w;
}

void fetch_cancel(struct fetch *f, const void *arg)
{
    for (struct download *d = f->downloads, *next = NULL; d; d = next) {
        next = d->next;
        for (struct waiter **link = &d->waiters; *link;) {
            struct waiter *w = *link;

            if (w->arg == arg) {
                *link = w->next;
                mem_free(w);
            } else {
                link = &w->next;
            }
        }
        if (!d->waiters)
            download_free(d);
    }
}

struct fetch *fetch_new(struct loop *loop, struct http *http, struct cache *cache,
                        int64_t backoff_max_ms)
{
    struct fetch *f = mem_zalloc(sizeof *f);

    f->loop = loop;
    f->http = http;
    f->cache = cache;
    f->backoff_max_ms = backoff_max_ms;
    return f;
}

void fetch_free(struct fetch *f)
{
    if (!f)
        return;
    while (f->downloads)
        download_free(f->downloads);
    mem_free(f);
}
