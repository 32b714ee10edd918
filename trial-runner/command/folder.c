/* folder.c - makes, fills, measures and removes the folder of a trial (folder.h); packing is in
 * pack.c. The files of the spec are written before the program starts, into a folder that nobody
 * else can write. */
#include "trial-runner/command/folder.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 64 };

static int own(const char *path, uid_t uid, struct err *err)
{
    if (uid && lchown(path, uid, uid) < 0)
        return err_errno(err, "give %s to user %u", path, (unsigned)uid);
    return 0;
}

static int make_dir(const char *path, mode_t mode, uid_t uid, struct err *err)
{
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return err_errno(err, "folder %s", path);
    return own(path, uid, err);
}

/* Makes the folder above if it is missing; others may go through it if they must. One that was there
 * keeps its rights. */
static int make_above(const char *home, uid_t uid, struct err *err)
{
    const char *slash = strrchr(home, '/');
    char above[600];

    if (!slash || slash == home)
        return 0;
    (void)snprintf(above, sizeof above, "%.*s", (int)(slash - home), home);
    if (access(above, F_OK) == 0)
        return 0;
    if (io_mkdirs(above, 0700, err) < 0)
        return -1;
    return uid && chmod(above, 0711) < 0 ? err_errno(err, "folder %s", above) : 0;
}

int folder_home(const char *home, uid_t uid, struct err *err)
{
    char path[700];
    DIR *dir = NULL;

    if (make_above(home, uid, err) < 0 || io_mkdirs(home, 0700, err) < 0)
        return -1;
    /* Others may go through, because the trials' users must; the folders in it are closed. */
    if (chmod(home, uid ? 0711 : 0700) < 0)
        return err_errno(err, "folder %s", home);
    dir = opendir(home);
    for (const struct dirent *d = NULL; dir && (d = readdir(dir));) {
        if (str_eq(d->d_name, ".") || str_eq(d->d_name, ".."))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", home, d->d_name) < (int)sizeof path)
            (void)io_remove_tree(path, NULL);
    }
    if (dir)
        closedir(dir);
    return 0;
}

/* Makes the folders of a path such as "a/b/c.py" below `at`. */
static int make_parents(const char *at, const char *path, uid_t uid, struct err *err)
{
    char dir[900];

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(dir, sizeof dir, "%s/%.*s", at, (int)(slash - path), path);
        if (make_dir(dir, 0700, uid, err) < 0)
            return -1;
    }
    return 0;
}

static int write_file(const char *path, const void *p, size_t n, uid_t uid, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0700), rc = 0;

    if (fd < 0)
        return err_errno(err, "%s", path);
    rc = io_write_all(fd, p, n, 0, err);
    if (rc == 0 && uid && fchown(fd, uid, uid) < 0)
        rc = err_errno(err, "give %s to user %u", path, (unsigned)uid);
    close(fd);
    return rc;
}

int folder_write(const struct folder *f, const char *name, const void *p, size_t n, struct err *err)
{
    char work[640], path[900];

    (void)snprintf(work, sizeof work, "%s/work", f->path);
    if (snprintf(path, sizeof path, "%s/%s", work, name) >= (int)sizeof path)
        return err_set(err, ERR_ARG, "%.80s: the path is too long", name);
    if (make_parents(work, name, f->uid, err) < 0)
        return -1;
    return write_file(path, p, n, f->uid, err);
}

static int fill(const struct folder *f, const json_t *files, struct err *err)
{
    const char *name = NULL;
    json_t *v = NULL;

    json_object_foreach((json_t *)(uintptr_t)files, name, v)
    {
        void *bytes = NULL;
        size_t n = 0;
        int rc = command_file(v, &bytes, &n, err);

        if (rc == 0)
            rc = folder_write(f, name, bytes, n, err);
        mem_free(bytes);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int folder_make(struct folder *f, const char *home, const char *name, uid_t uid,
                const json_t *files, struct err *err)
{
    static const char *const parts[] = { "", "/work", "/checkpoint", "/tmp" };
    char path[640];

    *f = (struct folder){ .uid = uid };
    if (snprintf(f->path, sizeof f->path, "%s/%s", home, name) >= (int)sizeof f->path)
        return err_set(err, ERR_ARG, "the path of the trial's folder is too long");
    (void)io_remove_tree(f->path, NULL);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        (void)snprintf(path, sizeof path, "%s%s", f->path, parts[i]);
        if (make_dir(path, 0700, uid, err) < 0)
            return -1;
    }
    return fill(f, files, err);
}

void folder_remove(struct folder *f)
{
    struct err err = { 0 };

    if (f->path[0] && io_remove_tree(f->path, &err) < 0)
        log_warn("folder.left path=%s err=\"%s\"", f->path, err.text);
    f->path[0] = '\0';
}

struct look {
    int64_t bytes; /* on disk */
    uint64_t stamp;
};

/* Looks at everything below an open folder, which is closed. */
static void look_below(struct look *l, int fd, int depth)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    for (const struct dirent *d = NULL; dir && (d = readdir(dir));) {
        struct stat st;

        if (str_eq(d->d_name, ".") || str_eq(d->d_name, "..") ||
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        l->bytes += (int64_t)st.st_blocks * 512;
        l->stamp += ((uint64_t)st.st_mtim.tv_sec * 1000000007u + (uint64_t)st.st_mtim.tv_nsec +
                     (uint64_t)st.st_size * 31) *
                        (2 * (uint64_t)st.st_ino + 1) +
                    1;
        if (S_ISDIR(st.st_mode) && depth < DEEPEST)
            look_below(
                l, openat(dirfd(dir), d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                depth + 1);
    }
    if (dir)
        closedir(dir);
}

int64_t folder_bytes(const struct folder *f)
{
    struct look l = { 0 };

    look_below(&l, open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    return l.bytes;
}

uint64_t folder_checkpoint_stamp(const struct folder *f)
{
    struct look l = { 0 };
    char path[640];

    (void)snprintf(path, sizeof path, "%s/checkpoint", f->path);
    look_below(&l, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    return l.stamp;
}
