/* upload.c - the verbs on files: parts of an upload, their commit, quotas, and the path of a blob
 * for a download. Called by web/api/data.c.
 *
 * An upload is a file under uploads/ that grows part by part. A commit hashes it, makes it durable
 * (fsync) and renames it to its hash. That needs no database connection, so it runs on the loop's
 * pool, and the loop never waits for the disk. Rows are not written here: the caller adds the
 * blob's row (ctl_blob_add) after the commit, when the file is durable, and then says so
 * (ctl_upload_named).
 *
 * Memory knows who began each upload, because the bytes of unfinished uploads count against the
 * quota of their token. After a restart the files are found again, but not who began them. */
#include "controller/files/upload.h"
#include "base/io.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/files/rubbish.h"
#include "store/blob.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

enum {
    CHECK_AT_ONCE = 1 << 20,      /* files up to this size are hashed on the loop, in about 1 ms */
    UPLOAD_IDLE_MS = 3600 * 1000, /* an upload that a user does not go on with is deleted then */
    UPLOADS_MAX = 10000,          /* under way at the same time */
    RESERVE_SHARE = 20,           /* a twentieth of the disk is kept free for the database, */
    RESERVE_MOST = 1 << 30,       /* but at most 1 GiB */
    FREE_EVERY_MS = 200           /* the disk is asked for its free bytes at most so often */
};

/* A client that waits for a commit. */
struct asker {
    struct asker *next;
    void (*on_done)(void *arg, int64_t bytes, const struct err *err);
    void *arg;
};

struct commit {
    struct ctl *ctl;
    const char *dir; /* the controller's, which outlives its loop's pool */
    char id[33];
    char sha256[SHA256_HEX];
    int64_t bytes;
    bool failed;
    struct err err;
    struct asker *askers;
};

struct upload {
    char id[33];
    struct ctl_upload_by by;
    int64_t bytes, last_ms;
    struct commit *commit; /* the commit under way; NULL = none; the pool's job owns it */
};

struct uploads {
    struct upload *list;
    int n, cap;
    /* Free bytes of the disk when it was last asked (free_ms), less what was written since; and how
     * many of them are kept for the database. */
    int64_t free_bytes, reserve_bytes, free_ms;
};

static struct uploads *uploads_of(struct ctl *ctl);

static int id_check(const char *id, struct err *err)
{
    uint8_t bytes[16];

    if (!id || strlen(id) != 32 || str_unhex(id, bytes, sizeof bytes, NULL) < 0)
        return err_at(err, "id", "an upload's id is 32 hexadecimal digits");
    return 0;
}

static int sha_check(const char *sha256, struct err *err)
{
    if (!sha256 || !str_sha256_ok(sha256))
        return err_at(err, "sha256", "a hash is 64 lower-case hexadecimal digits");
    return 0;
}

int ctl_blob_path(struct ctl *ctl, const char *sha256, char *out, size_t size, struct err *err)
{
    int64_t bytes = 0;
    int rc = sha_check(sha256, err) < 0 ? -1 : store_blob_has(ctl->store, sha256, &bytes, err);

    if (rc == 1)
        rubbish_said(ctl, sha256, NULL);
    /* A file without a row is no blob, even if it is there (see rubbish.c): a row that names it
     * would be refused, so the client must upload it again. */
    if (rc == 0)
        return err_set(err, ERR_NOTFOUND, "no blob %s", sha256);
    return rc < 0 ? -1 : blob_path(ctl_data_dir(ctl), sha256, out, size, err);
}

/* ---- room ---- */

/* Is there room for `more` bytes, on the disk and in the quota of all files? Subtracts them from
 * what is known to be free, because the disk is asked only now and then. */
static int disk_check(struct ctl *ctl, int64_t more, struct err *err)
{
    struct uploads *u = uploads_of(ctl);
    int64_t now = ctl_now(ctl), count = 0, named = 0;
    char have[32], keep[32];

    if (!u->free_ms || now - u->free_ms >= FREE_EVERY_MS) {
        int64_t whole = 0;

        if (io_disk_bytes(ctl_data_dir(ctl), &u->free_bytes, &whole, err) < 0)
            return -1;
        u->reserve_bytes = MIN(whole / RESERVE_SHARE, (int64_t)RESERVE_MOST);
        u->free_ms = MAX(now, 1);
    }
    if (u->free_bytes - more < u->reserve_bytes) {
        str_fmt_bytes(u->free_bytes, have, sizeof have);
        str_fmt_bytes(u->reserve_bytes, keep, sizeof keep);
        return err_set(err, ERR_FULL,
                       "the disk of the data folder is full: %s are free, and %s of them are kept "
                       "for the database",
                       have, keep);
    }
    u->free_bytes -= more;
    if (ctl->conf.disk_quota <= 0)
        return 0;
    if (store_blob_total(ctl->store, &count, &named, err) < 0)
        return -1;
    for (int i = 0; i < u->n; i++)
        named += u->list[i].bytes;
    if (named + more <= ctl->conf.disk_quota)
        return 0;
    str_fmt_bytes(ctl->conf.disk_quota, keep, sizeof keep);
    return err_set(err, ERR_FULL, "the disk quota of %s is used up (disk_quota of assayd)", keep);
}

int64_t upload_room(struct ctl *ctl, const char *sha256)
{
    int64_t left = INT64_MAX, used = 0, free_bytes = 0, whole = 0, count = 0;
    char who[64] = "";

    if (io_disk_bytes(ctl_data_dir(ctl), &free_bytes, &whole, NULL) == 0)
        left = free_bytes - MIN(whole / RESERVE_SHARE, (int64_t)RESERVE_MOST);
    if (ctl->conf.disk_quota > 0 && store_blob_total(ctl->store, &count, &used, NULL) == 0)
        left = MIN(left, ctl->conf.disk_quota - used);
    if (ctl->conf.token_quota > 0 &&
        store_blob_owner(ctl->store, sha256, who, sizeof who, NULL) == 0 && who[0] &&
        store_blob_owned(ctl->store, who, &used, NULL) == 0)
        left = MIN(left, ctl->conf.token_quota - used);
    return MAX(left, 1);
}

/* Is there room for `more` bytes of an upload, on the disk and in the quota of its token? */
static int quota_check(struct ctl *ctl, const struct ctl_upload_by *by, int64_t more,
                       struct err *err)
{
    const struct uploads *u = uploads_of(ctl);
    int64_t used = 0;
    char limit[32];

    more = MAX(more, 0);
    if (disk_check(ctl, more, err) < 0)
        return -1;
    if (!by->is_limited || ctl->conf.token_quota <= 0)
        return 0;
    if (store_blob_owned(ctl->store, by->who, &used, err) < 0)
        return -1;
    for (int i = 0; i < u->n; i++) {
        if (u->list[i].by.is_limited && strcmp(u->list[i].by.who, by->who) == 0)
            used += u->list[i].bytes;
    }
    if (used + more <= ctl->conf.token_quota)
        return 0;
    str_fmt_bytes(ctl->conf.token_quota, limit, sizeof limit);
    return err_set(err, ERR_FULL,
                   "the quota of %s for %s is used up (token_quota of assayd): delete datasets, or "
                   "uploads that are not needed",
                   limit, by->who);
}

/* ---- checks ---- */

struct check {
    const char *dir; /* the controller's, which outlives its loop's pool */
    char sha256[SHA256_HEX];
    bool failed;
    struct err err;
    void (*on_done)(void *arg, const struct err *err);
    void *arg;
};

/* Tells a client that a blob is not here instead of that it is damaged, because then the client
 * uploads it again, which mends it. The log has the damage. */
static int damaged(const char *sha256, struct err *err)
{
    if (err && err->code == ERR_IO) {
        struct err why = *err;

        log_error("blob.damaged blob=%.12s err=\"%s\"", sha256, why.text);
        err_set(err, ERR_NOTFOUND, "%s; uploading the same bytes again mends it", why.text);
    }
    return -1;
}

static void check_work(void *arg)
{
    struct check *c = arg;

    c->failed = blob_check(c->dir, c->sha256, &c->err) < 0;
}

static void check_done(void *arg)
{
    struct check *c = arg;

    if (c->failed)
        damaged(c->sha256, &c->err);
    c->on_done(c->arg, c->failed ? &c->err : NULL);
    mem_free(c);
}

int ctl_blob_check(struct ctl *ctl, const char *sha256,
                   void (*on_done)(void *arg, const struct err *err), void *arg, struct err *err)
{
    const char *dir = ctl_data_dir(ctl);
    char path[PATH_MAX];
    struct check *c = NULL;

    if (ctl_blob_path(ctl, sha256, path, sizeof path, err) < 0)
        return -1;
    if (blob_is_checked(dir, sha256))
        return 1;
    if (!ctl_loop(ctl) || io_file_bytes(path) <= CHECK_AT_ONCE)
        return blob_check(dir, sha256, err) < 0 ? damaged(sha256, err) : 1;
    c = mem_zalloc(sizeof *c);
    c->dir = dir;
    str_copy(c->sha256, sizeof c->sha256, sha256);
    c->on_done = on_done;
    c->arg = arg;
    loop_pool_submit(ctl_loop(ctl), check_work, check_done, c);
    return 0;
}

/* ---- uploads under way ---- */

static struct upload *find(struct ctl *ctl, const char *id)
{
    struct uploads *u = uploads_of(ctl);

    for (int i = 0; i < u->n; i++) {
        if (strcmp(u->list[i].id, id) == 0)
            return &u->list[i];
    }
    return NULL;
}

static struct upload *add(struct ctl *ctl, struct uploads *u, const char *id,
                          const struct ctl_upload_by *by)
{
    struct upload *up = NULL;

    CHECK(strlen(id) == 32);
    MEM_GROW(u->list, u->n, u->cap);
    up = &u->list[u->n++];
    *up = (struct upload){ .by = *by, .last_ms = ctl_now(ctl) };
    str_copy(up->id, sizeof up->id, id);
    return up;
}

static void forget(struct ctl *ctl, const char *id)
{
    struct upload *up = find(ctl, id);

    if (up)
        *up = ctl->uploads->list[--ctl->uploads->n];
}

/* An upload from before the restart: it counts against nobody's quota, and is deleted when it is
 * idle. */
static void found(void *arg, const char *id, int64_t bytes)
{
    struct ctl *ctl = arg;

    add(ctl, ctl->uploads, id, &(struct ctl_upload_by){ 0 })->bytes = bytes;
}

static struct uploads *uploads_of(struct ctl *ctl)
{
    if (!ctl->uploads) {
        ctl->uploads = mem_zalloc(sizeof *ctl->uploads);
        blob_upload_each(ctl_data_dir(ctl), found, ctl);
    }
    return ctl->uploads;
}

void uploads_free(struct ctl *ctl)
{
    if (ctl->uploads)
        mem_free(ctl->uploads->list);
    mem_free(ctl->uploads);
    ctl->uploads = NULL;
}

void uploads_sweep(struct ctl *ctl)
{
    struct uploads *u = uploads_of(ctl);

    for (int i = u->n - 1; i >= 0; i--) {
        struct upload *up = &u->list[i];
        bool has_owner = up->by.trial > 0 || up->by.task > 0;

        if (up->commit || (has_owner ? rubbish_owner_lives(ctl, &up->by)
                                     : ctl_now(ctl) - up->last_ms < UPLOAD_IDLE_MS))
            continue;
        log_debug("upload.swept id=%.8s bytes=%" PRId64 " who=%s", up->id, up->bytes, up->by.who);
        blob_upload_drop(ctl_data_dir(ctl), up->id, NULL);
        u->list[i] = u->list[--u->n];
    }
}

int ctl_upload_new(struct ctl *ctl, const struct ctl_upload_by *by, char id[33], struct err *err)
{
    struct uploads *u = uploads_of(ctl);

    if (u->n >= UPLOADS_MAX)
        return err_set(err, ERR_BUSY, "%d uploads are under way: finish or delete some", u->n);
    if (quota_check(ctl, by, 0, err) < 0 || blob_upload_new(ctl_data_dir(ctl), id, err) < 0)
        return -1;
    add(ctl, u, id, by);
    return 0;
}

int ctl_upload_size(struct ctl *ctl, const char *id, int64_t *size, struct err *err)
{
    return id_check(id, err) < 0 ? -1 : blob_upload_size(ctl_data_dir(ctl), id, size, err);
}

int ctl_upload_write(struct ctl *ctl, const char *id, int64_t offset, const void *p, size_t n,
                     struct err *err)
{
    struct upload *up = NULL;

    if (id_check(id, err) < 0)
        return -1;
    if (n > BLOB_PART_MAX)
        return err_set(err, ERR_TOOBIG, "a part holds at most %d bytes, this one %zu",
                       (int)BLOB_PART_MAX, n);
    if (offset < 0 || offset > BLOB_MAX_BYTES - (int64_t)n)
        return err_at(err, "offset",
                      "must be at least 0, and the file's end at most at %" PRId64 " bytes",
                      BLOB_MAX_BYTES);
    if (!(up = find(ctl, id)))
        return err_set(err, ERR_NOTFOUND, "no such upload");
    if (up->commit)
        return err_set(err, ERR_CONFLICT, "the upload is being committed");
    /* A part that begins beyond the end is refused by blob_upload_write: it does not need room. */
    if ((offset <= up->bytes &&
         quota_check(ctl, &up->by, offset + (int64_t)n - up->bytes, err) < 0) ||
        blob_upload_write(ctl_data_dir(ctl), id, offset, p, n, err) < 0)
        return -1;
    up->bytes = MAX(up->bytes, offset + (int64_t)n);
    up->last_ms = ctl_now(ctl);
    return 0;
}

int ctl_upload_drop(struct ctl *ctl, const char *id, struct err *err)
{
    const struct upload *up = id_check(id, err) < 0 ? NULL : find(ctl, id);

    if (up && up->commit)
        return err_set(err, ERR_CONFLICT, "the upload is being committed");
    if (id_check(id, err) < 0 || blob_upload_drop(ctl_data_dir(ctl), id, err) < 0)
        return -1;
    forget(ctl, id);
    return 0;
}

/* ---- commit ---- */

static void commit_work(void *arg)
{
    struct commit *c = arg;

    c->failed = blob_upload_commit(c->dir, c->id, c->sha256, &c->bytes, &c->err) < 0;
}

static void commit_done(void *arg)
{
    struct commit *c = arg;
    struct upload *up = c->ctl->uploads ? find(c->ctl, c->id) : NULL;

    if (up && up->commit == c)
        up->commit = NULL; /* the upload stays in the list until its row is added, or it is swept */
    for (struct asker *a = c->askers, *next = NULL; a; a = next) {
        next = a->next;
        a->on_done(a->arg, c->bytes, c->failed ? &c->err : NULL);
        mem_free(a);
    }
    mem_free(c);
}

static void asker_add(struct commit *c,
                      void (*on_done)(void *arg, int64_t bytes, const struct err *err), void *arg)
{
    struct asker *a = mem_zalloc(sizeof *a), **link = &c->askers;

    a->on_done = on_done;
    a->arg = arg;
    while (*link)
        link = &(*link)->next;
    *link = a;
}

int ctl_upload_commit(struct ctl *ctl, const char *id, const char *sha256,
                      void (*on_done)(void *arg, int64_t bytes, const struct err *err), void *arg,
                      struct err *err)
{
    struct upload *up = NULL;
    struct commit *c = NULL;

    if (id_check(id, err) < 0 || sha_check(sha256, err) < 0)
        return -1;
    up = find(ctl, id);
    if (up && up->commit && strcmp(up->commit->sha256, sha256) != 0)
        return err_set(err, ERR_CONFLICT, "the upload is being committed as another blob");
    if (up && up->commit) {
        asker_add(up->commit, on_done, arg);
        return 0;
    }
    CHECK(!up || !up->commit); /* one commit at a time */
    c = mem_zalloc(sizeof *c);
    c->ctl = ctl;
    c->dir = ctl_data_dir(ctl);
    str_copy(c->id, sizeof c->id, id);
    str_copy(c->sha256, sizeof c->sha256, sha256);
    asker_add(c, on_done, arg);
    if (up)
        up->commit = c;
    loop_pool_submit(ctl_loop(ctl), commit_work, commit_done, c);
    return 0;
}

int ctl_upload_named(struct ctl *ctl, const char *id, const char *sha256, struct err *err)
{
    const struct upload *up = find(ctl, id);
    struct ctl_upload_by by = up ? up->by : (struct ctl_upload_by){ 0 };

    if (by.is_limited && store_blob_own(ctl->store, sha256, by.who, err) < 0)
        return -1;
    rubbish_said(ctl, sha256, &by);
    forget(ctl, id);
    return 0;
}
