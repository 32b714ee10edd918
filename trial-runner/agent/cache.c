/* cache.c - the folder of downloaded blobs, and its index in memory. The order of use is kept in
 * the files' access times, so that it outlives the process. Their modification times are left
 * alone, because they tell whether a file is still the one that was hashed (base/known.h). The
 * functions block as long as the disk does, on the supervisor's loop; hashing is the longest, so a
 * file is hashed only once as long as it does not change. */
#include "trial-runner/agent/cache.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/known.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* FOLDERS_MAX: runners on one machine that share the name of a cache folder. */
enum { PATH_BYTES = 4096, FOLDERS_MAX = 64, KNOWN_SLOTS = 1024, LINE = 160, BOOT_ID = 36 };

struct entry {
    char sha256[SHA256_HEX];
    int64_t bytes, used; /* used: a counter, larger = more recently */
    int pins;
};

struct cache {
    char *dir, *blob_dir, *scratch;
    int64_t limit_bytes, clock;
    int lock_fd;
    int n, cap;
    struct entry *entries;
    struct known *known; /* the files that were hashed, here and in blob_dir */
};

/* ---- index ---- */

static struct entry *find(const struct cache *c, const char *sha256)
{
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->entries[i].sha256, sha256) == 0)
            return &c->entries[i];
    }
    return NULL;
}

static struct entry *add(struct cache *c, const char *sha256, int64_t bytes)
{
    struct entry *e = find(c, sha256);

    if (e)
        return e;
    MEM_GROW(c->entries, c->n, c->cap);
    e = &c->entries[c->n++];
    *e = (struct entry){ .bytes = bytes, .used = ++c->clock };
    str_copy(e->sha256, sizeof e->sha256, sha256);
    return e;
}

static void path_of(const struct cache *c, const char *kind, const char *name, char *out,
                    size_t size)
{
    int n = snprintf(out, size, "%s/%s/%s", c->dir, kind, name);

    CHECK(n > 0 && (size_t)n < size);
}

static void drop(struct cache *c, struct entry *e)
{
    char path[PATH_BYTES];

    CHECK(e >= c->entries && e < c->entries + c->n);
    path_of(c, "blobs", e->sha256, path, sizeof path);
    unlink(path);
    *e = c->entries[--c->n];
}

/* ---- open ---- */

static int by_use(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    return strcmp(x->sha256, y->sha256);
}

static int scan(struct cache *c, struct err *err)
{
    char path[PATH_BYTES];
    struct dirent *d = NULL;
    struct stat st;
    DIR *dir = NULL;

    path_of(c, "blobs", "", path, sizeof path);
    dir = opendir(path);
    if (!dir)
        return err_errno(err, "%s", path);
    while ((d = readdir(dir))) {
        if (!str_sha256_ok(d->d_name) ||
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        add(c, d->d_name, st.st_size)->used =
            (int64_t)st.st_atim.tv_sec * 1000 + st.st_atim.tv_nsec / 1000000;
    }
    closedir(dir);
    /* From here on a counter replaces the times: two files may have the same time, and the system's
     * clock may step back. */
    if (c->n > 0)
        qsort(c->entries, (size_t)c->n, sizeof *c->entries, by_use);
    for (int i = 0; i < c->n; i++)
        c->entries[i].used = ++c->clock;
    return 0;
}

/* Locks the folder <dir>, or <dir>-2, <dir>-3 and so on if other runners have those. */
static int take_folder(struct cache *c, const char *dir, struct err *err)
{
    char path[PATH_BYTES - 80], lock[PATH_BYTES];

    for (int i = 1; i <= FOLDERS_MAX; i++) {
        int n = i == 1 ? snprintf(path, sizeof path, "%s", dir)
                       : snprintf(path, sizeof path, "%s-%d", dir, i);

        if (n < 0 || (size_t)n >= sizeof path)
            return err_set(err, ERR_ARG, "the path of the cache folder is too long");
        if (io_private_dir(path, err) < 0)
            return -1;
        snprintf(lock, sizeof lock, "%s/lock", path);
        c->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (c->lock_fd < 0)
            return err_errno(err, "%s", lock);
        if (flock(c->lock_fd, LOCK_EX | LOCK_NB) == 0) {
            c->dir = mem_strdup(path);
            return 0;
        }
        close(c->lock_fd);
        c->lock_fd = -1;
    }
    return err_set(err, ERR_BUSY, "%d other runners use the cache folders %s, %s-2 and so on",
                   FOLDERS_MAX, dir, dir);
}

static int make_folders(struct cache *c, struct err *err)
{
    static const char *const kinds[] = { "blobs", "part", "scratch" };
    char path[PATH_BYTES];

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        path_of(c, kinds[i], "", path, sizeof path);
        if (io_mkdirs(path, 0700, err) < 0)
            return -1;
    }
    return 0;
}

struct cache *cache_open(const char *dir, const char *blob_dir, int64_t limit_bytes,
                         struct err *err)
{
    struct cache *c = mem_zalloc(sizeof *c);
    char path[PATH_BYTES];

    c->lock_fd = -1;
    c->known = known_new(KNOWN_SLOTS);
    c->limit_bytes = limit_bytes;
    c->blob_dir = mem_strdup(blob_dir);
    if (take_folder(c, dir, err) < 0)
        goto fail;
    path_of(c, "scratch", "", path, sizeof path);
    path[strlen(path) - 1] = '\0';
    c->scratch = mem_strdup(path);
    if (io_file_bytes(path) >= 0 && io_remove_tree(path, err) < 0)
        goto fail;
    if (make_folders(c, err) < 0 || scan(c, err) < 0)
        goto fail;
    cache_trim(c);
    return c;
fail:
    cache_close(c);
    return NULL;
}

void cache_close(struct cache *c)
{
    if (!c)
        return;
    if (c->scratch)
        io_remove_tree(c->scratch, NULL);
    if (c->lock_fd >= 0)
        close(c->lock_fd);
    mem_free(c->dir);
    mem_free(c->blob_dir);
    mem_free(c->scratch);
    mem_free(c->entries);
    known_free(c->known);
    mem_free(c);
}

/* ---- whose folder it is ---- */

/* Where the lock file is: a copy of the folder, on this machine or another, has another place. The
 * machine's name would not do, because machines are copied, too. */
static int place_of(const struct cache *c, char *out, size_t size)
{
    struct buf boot;
    struct stat st;

    if (fstat(c->lock_fd, &st) < 0 ||
        io_read_file("/proc/sys/kernel/random/boot_id", 256, &boot, NULL) < 0)
        return -1;
    int n = snprintf(out, size, " %.*s %jd %jd\n", (int)MIN(boot.len, BOOT_ID), boot.data,
                     (intmax_t)st.st_dev, (intmax_t)st.st_ino);
    buf_fini(&boot);
    return n > 0 && (size_t)n < size ? 0 : -1;
}

void cache_before(const struct cache *c, char *session, size_t size)
{
    char text[LINE], place[LINE];
    long n = io_read_at(c->lock_fd, text, sizeof text - 1, 0, NULL);

    session[0] = '\0';
    if (n <= 0 || place_of(c, place, sizeof place) < 0)
        return;
    text[n] = '\0';
    size_t len = strcspn(text, " ");
    if (len < size && str_eq(text + len, place)) {
        memcpy(session, text, len);
        session[len] = '\0';
        if (!str_name_ok(session))
            session[0] = '\0';
    }
}

void cache_session(struct cache *c, const char *session)
{
    char text[2 * LINE], place[LINE];
    struct err err = { 0 };

    if (place_of(c, place, sizeof place) < 0)
        return;
    int n = snprintf(text, sizeof text, "%s%s", session, place);
    /* Without it the next runner's controller waits until the leases run out. */
    if (ftruncate(c->lock_fd, 0) < 0 || io_write_all(c->lock_fd, text, (size_t)n, 0, &err) < 0)
        log_warn("cache.session err=\"%s\"", err.text);
}

const char *cache_scratch(const struct cache *c)
{
    return c->scratch;
}

/* ---- use ---- */

/* Looks for the controller's own file. A damaged one is left alone: asked for the blob, the
 * controller will say what is wrong with it. */
static bool find_local(struct cache *c, const char *sha256, char *out, size_t size)
{
    int n = c->blob_dir ? snprintf(out, size, "%s/%.2s/%s", c->blob_dir, sha256, sha256) : 0;
    struct err err = { 0 };

    if (n <= 0 || (size_t)n >= size)
        return false;
    if (known_check(c->known, out, sha256, &err) == 0)
        return true;
    if (err.code != ERR_NOTFOUND)
        log_error("cache.damaged blob=%.12s err=\"%s\"", sha256, err.text);
    return false;
}

/* Notes the use of a file by its access time, without changing its modification time. */
static void touch(const char *path)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };

    utimensat(AT_FDCWD, path, times, 0);
}

int cache_find(struct cache *c, const char *sha256, char *out, size_t size)
{
    struct entry *e = find(c, sha256);
    struct err err = { 0 };

    CHECK(str_sha256_ok(sha256));
    if (find_local(c, sha256, out, size))
        return 1;
    if (!e)
        return 0;
    path_of(c, "blobs", sha256, out, size);
    if (known_check(c->known, out, sha256, &err) < 0) { /* it changed, or somebody removed it */
        if (err.code != ERR_NOTFOUND)
            log_warn("cache.damaged blob=%.12s err=\"%s\"", sha256, err.text);
        drop(c, e);
        return 0;
    }
    e->used = ++c->clock;
    touch(out);
    return 1;
}

int cache_part(struct cache *c, const char *sha256, char *out, size_t size, int64_t *have,
               struct err *err)
{
    struct stat st;

    CHECK(str_sha256_ok(sha256));
    path_of(c, "part", sha256, out, size);
    if (FAULT("cache.part"))
        return err_set(err, ERR_IO, "%s: injected", out);
    *have = 0;
    if (make_folders(c, err) < 0) /* somebody may have removed them while the runner runs */
        return -1;
    if (lstat(out, &st) == 0 && S_ISREG(st.st_mode))
        *have = st.st_size;
    return 0;
}

/* Moves a file of known hash to its name. It is pinned meanwhile, so that trimming does not remove
 * just this one. */
static int take_in(struct cache *c, const char *sha256, const char *from, struct err *err)
{
    char to[PATH_BYTES];
    struct entry *e = NULL;

    path_of(c, "blobs", sha256, to, sizeof to);
    if (FAULT("cache.rename") || rename(from, to) < 0)
        return err_errno(err, "%s", to);
    e = add(c, sha256, io_file_bytes(to));
    e->bytes = io_file_bytes(to);
    e->used = ++c->clock;
    known_note(c->known, to, sha256);
    cache_pin(c, sha256);
    cache_trim(c);
    cache_unpin(c, sha256);
    return 0;
}

int cache_commit(struct cache *c, const char *sha256, struct err *err)
{
    char part[PATH_BYTES], got[SHA256_HEX];
    int64_t bytes = 0;
    int fd = -1, rc = 0;

    path_of(c, "part", sha256, part, sizeof part);
    fd = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    rc = fd < 0 ? err_errno(err, "open") : file_hash(fd, got, &bytes, err);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        return err_wrap(err, "%s", part);
    if (strcmp(got, sha256) != 0) {
        unlink(part);
        return err_set(err, ERR_IO, "blob %.12s arrived damaged: its bytes hash to %.12s", sha256,
                       got);
    }
    return take_in(c, sha256, part, err);
}

int cache_adopt(struct cache *c, const char *sha256, const char *path, struct err *err)
{
    CHECK(str_sha256_ok(sha256));
    return take_in(c, sha256, path, err);
}

void cache_pin(struct cache *c, const char *sha256)
{
    struct entry *e = find(c, sha256);

    if (e)
        e->pins++;
}

void cache_unpin(struct cache *c, const char *sha256)
{
    struct entry *e = find(c, sha256);

    if (e && e->pins > 0)
        e->pins--;
}

int64_t cache_bytes(const struct cache *c)
{
    int64_t sum = 0;

    for (int i = 0; i < c->n; i++)
        sum += c->entries[i].bytes;
    return sum;
}

void cache_trim(struct cache *c)
{
    int64_t sum = cache_bytes(c);

    while (sum > c->limit_bytes) {
        struct entry *oldest = NULL;

        for (int i = 0; i < c->n; i++) {
            struct entry *e = &c->entries[i];

            if (e->pins == 0 && (!oldest || e->used < oldest->used))
                oldest = e;
        }
        if (!oldest)
            return;
        sum -= oldest->bytes;
        drop(c, oldest);
    }
}

int cache_list(const struct cache *c, char (*out)[SHA256_HEX], int max)
{
    int64_t below = INT64_MAX;
    int n = 0;

    while (n < max) {
        const struct entry *best = NULL;

        for (int i = 0; i < c->n; i++) {
            const struct entry *e = &c->entries[i];

            if (e->used < below && (!best || e->used > best->used))
                best = e;
        }
        if (!best)
            break;
        below = best->used;
        memcpy(out[n++], best->sha256, SHA256_HEX);
    }
    return n;
}
