/* tempdir.c - private temporary folders that do not outlive their owners (see tempdir.h).
 *
 * The lock is flock's, which belongs to the open file: children that inherit the descriptor share
 * the lock, and the kernel releases it when the last of them has ended, however it ended.
 *
 * The lock file gets its name only after it is locked. Otherwise another process could take a
 * folder that is being made for one that was left behind. */
#include "cli/tempdir.h"

#include "base/io.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "assay-"

enum { NAME_BYTES = sizeof(PREFIX "XXXXXX") - 1, SWEEP_MOST = 8 };

/* True when the folder is ours, private and not a link, so that nobody else can have made it. */
static bool is_own(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

static bool remove_if_stale(const char *path)
{
    char lock[300];
    bool is_stale = false;

    if (!is_own(path))
        return false;
    (void)snprintf(lock, sizeof(lock), "%s/lock", path);
    int fd = open(lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    is_stale = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (is_stale)
        io_remove_tree(path, NULL);
    close(fd);
    return is_stale;
}

/* Removes only a few at a time, because the user waits for something else. */
static void sweep(const char *base)
{
    char path[260];
    int removed = 0;
    DIR *d = opendir(base);

    for (struct dirent *e; d && removed < SWEEP_MOST && (e = readdir(d)) != NULL;) {
        if (strlen(e->d_name) != NAME_BYTES || !str_starts(e->d_name, PREFIX))
            continue;
        (void)snprintf(path, sizeof(path), "%.220s/%.20s", base, e->d_name);
        removed += remove_if_stale(path);
    }
    if (d)
        closedir(d);
}

static int lock_take(struct tempdir *t, struct err *err)
{
    char fresh[300], lock[300];

    (void)snprintf(fresh, sizeof(fresh), "%s/lock.new", t->path);
    (void)snprintf(lock, sizeof(lock), "%s/lock", t->path);
    t->lock_fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (t->lock_fd < 0 || flock(t->lock_fd, LOCK_EX | LOCK_NB) < 0 || rename(fresh, lock) < 0)
        return err_errno(err, "%s", lock);
    return 0;
}

int tempdir_make(struct tempdir *t, size_t longest, struct err *err)
{
    const char *base = getenv("TMPDIR");

    *t = (struct tempdir){ .lock_fd = -1 };
    if (!base || !*base || strlen(base) > longest || strlen(base) > 200)
        base = "/tmp";
    sweep(base);
    (void)snprintf(t->path, sizeof(t->path), "%.200s/" PREFIX "XXXXXX", base);
    if (!mkdtemp(t->path)) { /* 0700 by definition */
        t->path[0] = '\0';
        return err_errno(err, "folder in %s", base);
    }
    if (lock_take(t, err) == 0)
        return 0;
    tempdir_end(t, false);
    return -1;
}

void tempdir_end(struct tempdir *t, bool keep)
{
    char lock[300];

    if (!t->path[0])
        return;
    (void)snprintf(lock, sizeof(lock), "%s/lock", t->path);
    if (keep)
        unlink(lock);
    else
        io_remove_tree(t->path, NULL);
    if (t->lock_fd >= 0)
        close(t->lock_fd);
    *t = (struct tempdir){ .lock_fd = -1 };
}
