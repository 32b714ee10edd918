/* upload.c - the steps of one upload: ask (HEAD), begin (POST), parts (PUT), commit (POST). Each
 * step may be repeated without harm, or begins the upload anew. So a call that got no answer is
 * simply sent again. */
#include "trial-runner/agent/upload.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/agent/backoff.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PART_BYTES, PART_MIN: a part is this long at first, and is halved down to PART_MIN on a bad line.
 * ANEW_MAX: if one part in 100 arrives damaged, 1 + 5 tries of it all fail once in 10^12 uploads.
 * DROP_MS: how long the controller may take to delete what nobody needs. */
enum {
    PART_BYTES = 4 << 20,
    PART_MIN = 32 << 10,
    FIRST_PAUSE_MS = 50,
    ANEW_MAX = 5,
    DROP_MS = 5000
};
enum step { STEP_ASK, STEP_BEGIN, STEP_PARTS, STEP_COMMIT };

struct upload {
    struct loop *loop;
    struct http *http;
    char *path, id[65], sha256[SHA256_HEX];
    bool is_task;
    int64_t owner, fence; /* the trial or task for which it is uploaded; 0 = not known */
    enum step step;
    int fd, anew;     /* anew: how often it began again */
    int64_t bytes;    /* length of the file */
    int64_t at, part; /* bytes that the controller has; bytes of the part under way */
    /* Longest part to send. Halved when a part gets no answer, because on a bad line only short
     * ones arrive whole; doubled by each success. */
    int64_t part_max;
    struct backoff backoff;
    struct http_call *call;
    struct loop_timer *again;
    void (*on_done)(void *arg, const struct err *err);
    void *arg;
};

static void step_send(struct upload *u);

static void upload_free(struct upload *u)
{
    http_cancel(u->call);
    loop_timer_free(u->again);
    if (u->fd >= 0)
        close(u->fd);
    mem_free(u->path);
    mem_free(u);
}

static void on_dropped(void *arg, const struct http_reply *r)
{
    (void)arg, (void)r; /* if it failed, the controller sweeps old uploads by itself */
}

/* Tells the controller to delete the parts that arrived, because nobody needs them. */
static void parts_drop(struct upload *u)
{
    char path[128];

    if (!u->id[0])
        return;
    snprintf(path, sizeof path, "/api/v1/uploads/%s", u->id);
    u->id[0] = '\0';
    http_send(u->http, &(struct http_request){ .method = HTTP_DELETE,
                                               .path = path,
                                               .limit_ms = DROP_MS,
                                               .on_done = on_dropped });
}

static void upload_end(struct upload *u, const struct err *err)
{
    void (*on_done)(void *arg, const struct err *err) = u->on_done;
    void *arg = u->arg;

    upload_free(u);
    on_done(arg, err);
}

static void on_again(void *arg)
{
    struct upload *u = arg;

    loop_timer_free(u->again);
    u->again = NULL;
    step_send(u);
}

static void retry(struct upload *u, int64_t after_ms, const struct err *why)
{
    CHECK(!u->call && !u->again);
    int64_t ms = MAX(backoff_next_ms(&u->backoff), after_ms);

    log_warn("upload.retry blob=%.12s at=%" PRId64 " in_ms=%" PRId64 " err=\"%s\"", u->sha256,
             u->at, ms, why->text);
    u->again = loop_timer_new(u->loop, ms, 0, on_again, u);
}

/* Sends everything again from the first byte, under a new id, at most ANEW_MAX times. After that
 * the cause will not pass: either the file does not have its hash, or the line damages every
 * try. */
static void begin_anew(struct upload *u, const struct err *why)
{
    if (++u->anew > ANEW_MAX) {
        upload_end(u, why);
        return;
    }
    parts_drop(u);
    u->step = STEP_BEGIN;
    u->at = 0;
    retry(u, 0, why);
}

/* Does this answer mean that the parts which arrived are useless, although the file may be good?
 *   404  the controller does not know the upload, because it was restarted
 *   409  it holds another number of bytes than was sent
 *   400  the bytes have another hash or made no sense: the connection damaged them */
static bool is_of_no_use(const struct upload *u, int status)
{
    return status == 400 || (u->step >= STEP_PARTS && (status == 404 || status == 409));
}

static int take_id(struct upload *u, const struct http_reply *r, struct err *err)
{
    json_t *j = jsonx_load(r->body, r->len, "upload", err);
    const char *id = json_string_value(json_object_get(j, "id"));
    bool good = id && str_name_ok(id) && strlen(id) < sizeof u->id;

    if (good)
        str_copy(u->id, sizeof u->id, id);
    else if (j)
        err_set(err, ERR_IO, "the controller's answer holds no upload id");
    json_decref(j);
    return good ? 0 : -1;
}

/* Goes on to the step that follows a good answer. */
static void step_next(struct upload *u, const struct http_reply *r)
{
    struct err err = { 0 };

    switch (u->step) {
    case STEP_ASK:
        upload_end(u, NULL); /* it is there already */
        return;
    case STEP_BEGIN:
        if (take_id(u, r, &err) < 0) {
            retry(u, 0, &err);
            return;
        }
        u->at = 0;
        u->step = u->bytes > 0 ? STEP_PARTS : STEP_COMMIT;
        break;
    case STEP_PARTS:
        u->at += u->part;
        u->part_max = MIN(u->part_max * 2, PART_BYTES);
        if (u->at >= u->bytes)
            u->step = STEP_COMMIT;
        break;
    case STEP_COMMIT:
        u->id[0] = '\0'; /* nothing is left to delete */
        log_debug("upload.done blob=%.12s bytes=%" PRId64, u->sha256, u->bytes);
        upload_end(u, NULL);
        return;
    }
    step_send(u);
}

static void on_done(void *arg, const struct http_reply *r)
{
    struct upload *u = arg;

    u->call = NULL;
    if (r->status >= 200 && r->status < 300) {
        backoff_reset(&u->backoff);
        step_next(u, r);
    } else if (u->step == STEP_ASK && r->status == 404) {
        u->step = STEP_BEGIN;
        step_send(u);
    } else if (http_may_retry(r)) {
        if (u->step == STEP_PARTS && r->status == 0)
            u->part_max = MAX(u->part_max / 2, PART_MIN);
        retry(u, r->retry_after_ms, &r->err);
    } else if (is_of_no_use(u, r->status)) {
        begin_anew(u, &r->err);
    } else {
        parts_drop(u);
        upload_end(u, &r->err);
    }
}

static int part_read(struct upload *u, char **body, struct err *err)
{
    int64_t n = MIN(u->bytes - u->at, u->part_max), got = 0;

    *body = mem_alloc((size_t)n);
    while (got < n) {
        ssize_t k = pread(u->fd, *body + got, (size_t)(n - got), u->at + got);

        if (k <= 0 || FAULT("upload.read")) {
            mem_free(*body);
            return k < 0 ? err_errno(err, "%s", u->path)
                         : err_set(err, ERR_IO, "the file %s has become shorter", u->path);
        }
        got += k;
    }
    u->part = n;
    return 0;
}

static void send(struct upload *u, enum http_method method, const char *path, char *body, size_t n,
                 bool is_json)
{
    u->call = http_send(u->http, &(struct http_request){ .method = method,
                                                         .path = path,
                                                         .body = body,
                                                         .body_len = n,
                                                         .is_json = is_json,
                                                         .on_done = on_done,
                                                         .arg = u });
}

static char *begin_body(const struct upload *u)
{
    char *body = mem_alloc(100);

    if (u->owner)
        snprintf(body, 100, "{\"%s\":%" PRId64 ",\"fence\":%" PRId64 "}",
                 u->is_task ? "task" : "trial", u->owner, u->fence);
    else
        str_copy(body, 100, "{}");
    return body;
}

static void step_send(struct upload *u)
{
    char path[256], *body = NULL;
    struct err err = { 0 };

    switch (u->step) {
    case STEP_ASK:
        snprintf(path, sizeof path, "/api/v1/blobs/%s", u->sha256);
        send(u, HTTP_HEAD, path, NULL, 0, false);
        break;
    case STEP_BEGIN:
        body = begin_body(u);
        send(u, HTTP_POST, "/api/v1/uploads", body, strlen(body), true);
        break;
    case STEP_PARTS:
        if (part_read(u, &body, &err) < 0) {
            retry(u, 0, &err);
            break;
        }
        snprintf(path, sizeof path, "/api/v1/uploads/%s?offset=%" PRId64, u->id, u->at);
        send(u, HTTP_PUT, path, body, (size_t)u->part, false);
        break;
    case STEP_COMMIT:
        snprintf(path, sizeof path, "/api/v1/uploads/%s/commit", u->id);
        body = mem_alloc(100);
        snprintf(body, 100, "{\"sha256\":\"%s\"}", u->sha256);
        send(u, HTTP_POST, path, body, strlen(body), true);
        break;
    }
}

/* The file is opened here and not in upload_start, so that on_done reports a missing file like
 * every other error. */
static void on_start(void *arg)
{
    struct upload *u = arg;
    struct err err = { 0 };
    struct stat st;

    loop_timer_free(u->again);
    u->again = NULL;
    u->fd = open(u->path, O_RDONLY | O_CLOEXEC);
    if (u->fd < 0 || fstat(u->fd, &st) < 0) {
        err_errno(&err, "%s", u->path);
        upload_end(u, &err);
        return;
    }
    u->bytes = st.st_size;
    step_send(u);
}

struct upload *upload_start(struct loop *loop, struct http *http, const char *path,
                            const char *sha256, int64_t backoff_max_ms,
                            void (*on_end)(void *arg, const struct err *err), void *arg)
{
    struct upload *u = mem_zalloc(sizeof *u);

    u->loop = loop;
    u->http = http;
    u->path = mem_strdup(path);
    u->fd = -1;
    u->part_max = PART_BYTES;
    u->on_done = on_end;
    u->arg = arg;
    str_copy(u->sha256, sizeof u->sha256, sha256);
    backoff_init(&u->backoff, FIRST_PAUSE_MS, backoff_max_ms, (uint64_t)(unsigned char)sha256[0]);
    u->again = loop_timer_new(loop, 0, 0, on_start, u);
    return u;
}

void upload_for(struct upload *u, bool is_task, int64_t id, int64_t fence)
{
    u->is_task = is_task;
    u->owner = id;
    u->fence = fence;
}

void upload_cancel(struct upload *u)
{
    if (!u)
        return;
    parts_drop(u);
    upload_free(u);
}
