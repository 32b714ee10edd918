/* known.c - see known.h. The table has a fixed size, and the first bits of a hash choose its slot.
 * If two files share a slot, each pushes the other out: that costs hashing again, and never gives a
 * wrong answer, because a slot holds the whole hash. */
#include "base/known.h"

#include "base/base.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* CHUNK: bytes read at a time. TRIES: how often a file that changes while it is hashed is tried. */
enum { CHUNK = 1 << 18, TRIES = 3 };

struct slot {
    uint8_t sha256[SHA256_BYTES];
    struct file_mark mark; /* inode 0 = empty */
};

struct known {
    pthread_mutex_t lock;
    int mask;
    struct slot *slots;
};

static bool mark_of(const struct stat *st, struct file_mark *out)
{
    *out = (struct file_mark){ .device = (uint64_t)st->st_dev,
                               .inode = (uint64_t)st->st_ino,
                               .bytes = (int64_t)st->st_size,
                               .changed_ns =
                                   (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec };
    return S_ISREG(st->st_mode);
}

bool file_mark_get(const char *path, struct file_mark *out)
{
    struct stat st;

    *out = (struct file_mark){ 0 };
    return lstat(path, &st) == 0 && mark_of(&st, out);
}

bool file_mark_same(const struct file_mark *a, const struct file_mark *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed_ns == b->changed_ns;
}

void file_mark_text(const char *path, char out[FILE_MARK_TEXT])
{
    struct file_mark m;

    out[0] = '\0';
    if (file_mark_get(path, &m))
        (void)!snprintf(out, FILE_MARK_TEXT, "%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64,
                        m.device, m.inode, m.bytes, m.changed_ns);
}

int file_hash(int fd, char out[SHA256_HEX], int64_t *bytes, struct err *err)
{
    char *chunk = mem_alloc(CHUNK);
    struct sha256 h;
    ssize_t got = 0;
    int64_t at = 0;

    sha256_init(&h);
    while ((got = FAULT("file.hash") ? (errno = EIO, -1) : pread(fd, chunk, CHUNK, (off_t)at)) !=
           0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        sha256_add(&h, chunk, (size_t)got);
        at += got;
    }
    mem_free(chunk);
    if (got < 0)
        return err_errno(err, "read");
    sha256_end_hex(&h, out);
    *bytes = at;
    return 0;
}

struct known *known_new(int slots)
{
    struct known *k = mem_zalloc(sizeof *k);

    CHECK(slots > 0 && (slots & (slots - 1)) == 0);
    pthread_mutex_init(&k->lock, NULL);
    k->mask = slots - 1;
    k->slots = mem_array((size_t)slots, sizeof *k->slots);
    return k;
}

void known_free(struct known *k)
{
    if (!k)
        return;
    pthread_mutex_destroy(&k->lock);
    mem_free(k->slots);
    mem_free(k);
}

/* SHA-256 is uniform, so its first bits serve as well as any. */
static struct slot *slot_of(struct known *k, const uint8_t sha256[SHA256_BYTES])
{
    uint32_t first = 0;

    memcpy(&first, sha256, sizeof first);
    return &k->slots[first & (uint32_t)k->mask];
}

static void unhex(const char *sha256, uint8_t out[SHA256_BYTES])
{
    CHECK(str_sha256_ok(sha256) && str_unhex(sha256, out, SHA256_BYTES, NULL) >= 0);
}

static bool is_noted(struct known *k, const char *sha256, const struct file_mark *mark)
{
    uint8_t bytes[SHA256_BYTES];
    struct slot *s = NULL;
    bool is_good = false;

    unhex(sha256, bytes);
    pthread_mutex_lock(&k->lock);
    s = slot_of(k, bytes);
    is_good = s->mark.inode != 0 && memcmp(s->sha256, bytes, sizeof bytes) == 0 &&
              file_mark_same(&s->mark, mark);
    pthread_mutex_unlock(&k->lock);
    return is_good;
}

static void note(struct known *k, const char *sha256, const struct file_mark *mark)
{
    struct slot fresh = { .mark = *mark };

    unhex(sha256, fresh.sha256);
    pthread_mutex_lock(&k->lock);
    *slot_of(k, fresh.sha256) = fresh;
    pthread_mutex_unlock(&k->lock);
}

bool known_is_good(struct known *k, const char *path, const char *sha256)
{
    struct file_mark mark;

    return file_mark_get(path, &mark) && is_noted(k, sha256, &mark);
}

void known_note(struct known *k, const char *path, const char *sha256)
{
    struct file_mark mark;

    if (file_mark_get(path, &mark))
        note(k, sha256, &mark);
}

/* Hashes the open file. Returns 1 if it holds the bytes (*mark is then its mark, which was the same
 * before and after), 0 if it was written to meanwhile, -1 on error. */
static int hash_once(int fd, const char *path, const char *sha256, struct file_mark *mark,
                     struct err *err)
{
    struct file_mark after;
    char got[SHA256_HEX];
    struct stat st;
    int64_t bytes = 0;

    if (fstat(fd, &st) < 0)
        return err_errno(err, "%s", path);
    if (!mark_of(&st, mark))
        return err_set(err, ERR_IO, "%s is not a plain file", path);
    if (file_hash(fd, got, &bytes, err) < 0)
        return err_wrap(err, "%s", path);
    if (fstat(fd, &st) < 0 || !mark_of(&st, &after) || !file_mark_same(mark, &after))
        return 0;
    if (strcmp(got, sha256) != 0)
        return err_set(err, ERR_IO,
                       "the file %s is damaged: its %" PRId64 " bytes hash to %.12s, not to %.12s",
                       path, bytes, got, sha256);
    return 1;
}

int known_check(struct known *k, const char *path, const char *sha256, struct err *err)
{
    struct file_mark mark;
    int fd = -1, rc = 0;

    if (known_is_good(k, path, sha256))
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_NOTFOUND, "there is no file %s", path);
    if (fd < 0)
        return err_errno(err, "%s", path);
    for (int i = 0; i < TRIES && rc == 0; i++)
        rc = hash_once(fd, path, sha256, &mark, err);
    close(fd);
    if (rc == 0)
        return err_set(err, ERR_IO, "the file %s is being written to", path);
    if (rc < 0)
        return -1;
    note(k, sha256, &mark);
    return 0;
}
