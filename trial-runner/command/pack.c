/* pack.c - the checkpoint folder of a trial as one tar file and back (folder.h). Only regular files
 * and folders are kept. Names are sorted and times are left out, so that an unchanged checkpoint is
 * the same blob. The files belong to a stranger's program, which may still run: links are never
 * followed, a file with a second name is left out, and one that changes while it is read makes the
 * pack fail. */
#include "trial-runner/command/folder.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* STATE_NAME: the first entry; no program's file, because those are below FILES. */
#define STATE_NAME "assay.json"
#define FILES      "checkpoint/"
enum { BLOCK = 512, DEEPEST = 64, ENTRIES_MAX = 100000, PART = 1 << 16, STATE_MAX = 4 << 20 };
enum {
    NAME_AT = 0,
    NAME_BYTES = 100,
    MODE_AT = 100,
    UID_AT = 108,
    GID_AT = 116,
    SIZE_AT = 124,
    MTIME_AT = 136,
    SUM_AT = 148,
    TYPE_AT = 156,
    MAGIC_AT = 257
};

/* ---- writing ---- */

struct pack {
    int fd; /* of the tar file */
    int64_t at, bytes, max;
    int entries;
    uid_t uid; /* whose files are taken */
    struct sha256 hash;
    char path[4200]; /* of the present entry, from FILES on */
};

static int put(struct pack *p, const void *bytes, size_t n, struct err *err)
{
    if (io_write_all(p->fd, bytes, n, p->at, err) < 0)
        return -1;
    sha256_add(&p->hash, bytes, n);
    p->at += (int64_t)n;
    return 0;
}

static int put_padding(struct pack *p, int64_t n, struct err *err)
{
    static const char zero[BLOCK * 2];

    return put(p, zero, (size_t)((BLOCK - n % BLOCK) % BLOCK), err);
}

static void octal(char *field, int digits, int64_t v)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%0*llo", digits, (unsigned long long)v);
    memcpy(field, text, (size_t)digits);
}

/* Sizes above 8 GiB do not fit eleven octal digits: GNU tar's binary form. */
static void put_size(char *head, int64_t size)
{
    if (size < (INT64_C(1) << 33)) {
        octal(head + SIZE_AT, 11, size);
        return;
    }
    head[SIZE_AT] = (char)0x80;
    for (int i = 0; i < 8; i++)
        head[SIZE_AT + 11 - i] = (char)(size >> (8 * i) & 0xff);
}

static int put_head(struct pack *p, const char *name, char type, int64_t size, struct err *err)
{
    char head[BLOCK] = "";
    unsigned sum = 0;
    size_t n = strlen(name);

    if (n > NAME_BYTES) { /* GNU tar's entry for a long name */
        if (put_head(p, "././@LongLink", 'L', (int64_t)n + 1, err) < 0 ||
            put(p, name, n + 1, err) < 0 || put_padding(p, (int64_t)n + 1, err) < 0)
            return -1;
    }
    memcpy(head + NAME_AT, name, MIN(n, NAME_BYTES));
    octal(head + MODE_AT, 7, type == '5' ? 0700 : 0600);
    octal(head + UID_AT, 7, 0);
    octal(head + GID_AT, 7, 0);
    put_size(head, size);
    octal(head + MTIME_AT, 11, 0);
    head[TYPE_AT] = type;
    memcpy(head + MAGIC_AT, "ustar  ", 8);
    memset(head + SUM_AT, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    octal(head + SUM_AT, 6, sum);
    head[SUM_AT + 6] = '\0';
    return put(p, head, BLOCK, err);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ino == b->st_ino;
}

static int put_contents(struct pack *p, int fd, const struct stat *before, struct err *err)
{
    char part[PART];
    struct stat after;
    int64_t left = (int64_t)before->st_size;

    while (left > 0) {
        ssize_t n = read(fd, part, (size_t)MIN(left, PART));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, "%s", p->path);
        if (n == 0)
            break;
        if (put(p, part, (size_t)n, err) < 0)
            return -1;
        left -= n;
    }
    if (left > 0 || fstat(fd, &after) < 0 || !is_same(before, &after))
        return err_set(err, ERR_BUSY, "%s changed while it was packed", p->path);
    return put_padding(p, (int64_t)before->st_size, err);
}

static int put_file(struct pack *p, int dir, const char *name, const struct stat *seen,
                    struct err *err)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_same(seen, &st)) {
        if (fd >= 0)
            close(fd);
        return err_set(err, ERR_BUSY, "%s changed while it was packed", p->path);
    }
    p->bytes += (int64_t)st.st_size;
    if (p->bytes > p->max)
        rc = err_set(err, ERR_TOOBIG, "the checkpoint has more than %lld bytes", (long long)p->max);
    if (rc == 0)
        rc = put_head(p, p->path, '0', (int64_t)st.st_size, err);
    if (rc == 0)
        rc = put_contents(p, fd, &st, err);
    close(fd);
    return rc;
}

static int put_folder(struct pack *p, int fd, int depth, struct err *err);

static int put_entry(struct pack *p, int dir, const char *name, int depth, struct err *err)
{
    size_t len = strlen(p->path);
    struct stat st;
    int rc = 0;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* it is gone already */
    if (len + strlen(name) + 2 > sizeof p->path || ++p->entries > ENTRIES_MAX || depth >= DEEPEST)
        return err_set(err, ERR_TOOBIG, "the checkpoint has too many or too deep entries");
    (void)snprintf(p->path + len, sizeof p->path - len, "%s%s", name,
                   S_ISDIR(st.st_mode) ? "/" : "");
    if (S_ISDIR(st.st_mode)) {
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        rc = put_head(p, p->path, '5', 0, err);
        if (rc == 0)
            rc = put_folder(p, fd, depth + 1, err);
        else if (fd >= 0)
            close(fd);
    } else if (S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == p->uid) {
        rc = put_file(p, dir, name, &st, err);
    }
    p->path[len] = '\0';
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in an open folder, sorted, on the heap. */
static char **names_new(DIR *dir, size_t *n)
{
    char **names = NULL;
    size_t room = 0;

    *n = 0;
    for (const struct dirent *d = NULL; (d = readdir(dir)) && *n <= ENTRIES_MAX;) {
        if (str_eq(d->d_name, ".") || str_eq(d->d_name, ".."))
            continue;
        if (*n == room) {
            room = room ? room * 2 : 64;
            names = mem_resize(names, room * sizeof *names);
        }
        names[(*n)++] = mem_strdup(d->d_name);
    }
    if (*n > 0)
        qsort(names, *n, sizeof *names, by_name);
    return names;
}

static int put_folder(struct pack *p, int fd, int depth, struct err *err)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    size_t n = 0;
    int rc = 0;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return err_set(err, ERR_BUSY, "%s changed while it was packed", p->path);
    }
    char **names = names_new(dir, &n);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = put_entry(p, dirfd(dir), names[i], depth, err);
        mem_free(names[i]);
    }
    mem_free(names);
    closedir(dir);
    return rc;
}

static int put_all(struct pack *p, const struct folder *f, const json_t *state, struct err *err)
{
    static const char end[BLOCK * 2];
    char *text = jsonx_dump(state), path[640];
    int64_t n = (int64_t)strlen(text);
    int rc = put_head(p, STATE_NAME, '0', n, err);

    if (rc == 0)
        rc = put(p, text, (size_t)n, err);
    if (rc == 0)
        rc = put_padding(p, n, err);
    mem_free(text);
    (void)snprintf(path, sizeof path, "%s/checkpoint", f->path);
    str_copy(p->path, sizeof p->path, FILES);
    if (rc == 0)
        rc = put_folder(p, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0, err);
    return rc == 0 ? put(p, end, sizeof end, err) : rc;
}

int folder_pack(const struct folder *f, const json_t *state, int64_t max_bytes, const char *path,
                char sha256[SHA256_HEX], struct err *err)
{
    struct pack *p = mem_zalloc(sizeof *p);
    int rc = 0;

    p->max = max_bytes;
    p->uid = f->uid ? f->uid : getuid();
    sha256_init(&p->hash);
    p->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    rc = p->fd < 0 ? err_errno(err, "%s", path) : put_all(p, f, state, err);
    if (p->fd >= 0 && close(p->fd) < 0 && rc == 0)
        rc = err_errno(err, "%s", path);
    sha256_end_hex(&p->hash, sha256);
    if (rc < 0 && p->fd >= 0)
        unlink(path);
    mem_free(p);
    return rc;
}

/* ---- reading ---- */

struct unpack {
    const struct folder *folder;
    int fd;
    int64_t at, bytes, max;
    char name[4200];
    bool has_name; /* a long name, for the entry that follows */
};

static int bad(const char *why, struct err *err)
{
    return err_set(err, ERR_ARG, "the checkpoint is damaged: %s", why);
}

static int64_t number(const char *field, int digits)
{
    int64_t v = 0;

    if ((unsigned char)field[0] == 0x80) {
        for (int i = digits - 7; i <= digits; i++)
            v = (v << 8 | (unsigned char)field[i]) & INT64_MAX;
        return v;
    }
    for (int i = 0; i < digits && field[i] >= '0' && field[i] <= '7'; i++)
        v = v * 8 + (field[i] - '0');
    return v;
}

static bool sum_ok(const char head[BLOCK])
{
    unsigned sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : (unsigned char)head[i];
    return number(head + SUM_AT, 6) == (int64_t)sum;
}

/* A name below FILES without a way out. */
static bool is_safe(const char *name)
{
    if (!str_starts(name, FILES))
        return false;
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");

        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += n + (p[n] == '/');
    }
    return true;
}

static int copy_file(struct unpack *u, const char *path, int64_t size, struct err *err)
{
    char part[PART];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc = 0;
    uid_t uid = u->folder->uid;

    if (fd < 0)
        return err_errno(err, "%s", path);
    for (int64_t at = 0; at < size && rc == 0;) {
        long n = io_read_at(u->fd, part, (size_t)MIN(size - at, PART), u->at + at, err);

        rc = n <= 0 ? bad("it ends too soon", err) : io_write_all(fd, part, (size_t)n, at, err);
        at += n;
    }
    if (rc == 0 && uid && fchown(fd, uid, uid) < 0)
        rc = err_errno(err, "%s", path);
    close(fd);
    return rc;
}

static int take_entry(struct unpack *u, char type, int64_t size, struct err *err)
{
    char path[5000];
    uid_t uid = u->folder->uid;
    size_t n = strlen(u->name);

    if (!is_safe(u->name) || (type != '0' && type != '5'))
        return bad("it has an entry that no runner wrote", err);
    if (type == '5' && n > 0 && u->name[n - 1] == '/')
        u->name[n - 1] = '\0';
    if (snprintf(path, sizeof path, "%s/%s", u->folder->path, u->name) >= (int)sizeof path)
        return bad("a name is too long", err);
    if (type == '0') {
        u->bytes += size;
        if (u->bytes > u->max)
            return err_set(err, ERR_TOOBIG, "the checkpoint has more than %lld bytes",
                           (long long)u->max);
        return copy_file(u, path, size, err);
    }
    if (mkdir(path, 0700) < 0 || (uid && lchown(path, uid, uid) < 0))
        return err_errno(err, "%s", path);
    return 0;
}

static json_t *state_read(struct unpack *u, int64_t size, struct err *err)
{
    char *text = size > 0 && size <= STATE_MAX ? mem_alloc((size_t)size) : NULL;
    json_t *state = NULL;

    if (text && io_read_at(u->fd, text, (size_t)size, u->at, err) == (long)size)
        state = jsonx_load(text, (size_t)size, "checkpoint", err);
    mem_free(text);
    return state;
}

/* One entry: 1, 0 at the end, -1. */
static int next_entry(struct unpack *u, json_t **state, struct err *err)
{
    char head[BLOCK];
    int64_t size = 0;
    int rc = 0;

    if (io_read_at(u->fd, head, BLOCK, u->at, err) != BLOCK)
        return bad("it ends too soon", err);
    if (head[0] == '\0')
        return 0;
    if (!sum_ok(head))
        return bad("a checksum is wrong", err);
    size = number(head + SIZE_AT, 11);
    u->at += BLOCK;
    if (size < 0 || size > INT64_MAX / 4)
        return bad("a size is wrong", err);
    if (head[TYPE_AT] == 'L') {
        if (size < 2 || size > (int64_t)sizeof u->name ||
            io_read_at(u->fd, u->name, (size_t)size, u->at, err) != (long)size ||
            u->name[size - 1] != '\0')
            return bad("a name is wrong", err);
        u->has_name = true;
        u->at += (size + BLOCK - 1) / BLOCK * BLOCK;
        return 1;
    }
    if (!u->has_name)
        (void)snprintf(u->name, sizeof u->name, "%.*s", NAME_BYTES, head + NAME_AT);
    u->has_name = false;
    if (str_eq(u->name, STATE_NAME) && !*state)
        *state = state_read(u, size, err);
    else if (!str_eq(u->name, FILES))
        rc = take_entry(u, head[TYPE_AT], size, err);
    u->at += (size + BLOCK - 1) / BLOCK * BLOCK;
    return rc < 0 ? -1 : 1;
}

int folder_unpack(const struct folder *f, const char *path, int64_t max_bytes, json_t **state,
                  struct err *err)
{
    struct unpack *u = mem_zalloc(sizeof *u);
    int rc = 1;

    *state = NULL;
    u->folder = f;
    u->max = max_bytes;
    u->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (u->fd < 0)
        rc = err_errno(err, "%s", path);
    for (int n = 0; rc == 1; n++)
        rc = n > 2 * ENTRIES_MAX ? bad("it has too many entries", err) : next_entry(u, state, err);
    if (u->fd >= 0)
        close(u->fd);
    if (rc < 0) {
        json_decref(*state);
        *state = NULL;
    }
    mem_free(u);
    return rc;
}
