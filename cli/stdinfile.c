/* stdinfile.c - see stdinfile.h. Called by commands that read tables. */
#include "cli/stdinfile.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PART_BYTES = 1 << 16 };

/* The copy, of which a process has one: standard input can be read once. */
static char taken[sizeof(((struct stdinfile *)0)->path)];

const char *stdinfile_name(const char *file)
{
    return taken[0] && strcmp(file, taken) == 0 ? "standard input" : file;
}

static int write_whole(int fd, const char *p, ssize_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, (size_t)n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        p += done, n -= done;
    }
    return 0;
}

static int copy(int fd, const char *path, struct err *err)
{
    char *part = mem_alloc(PART_BYTES);
    int64_t total = 0;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read(STDIN_FILENO, part, PART_BYTES)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = err_errno(err, "standard input");
        else if (write_whole(fd, part, n) < 0)
            rc = err_errno(err, "%s", path);
        total += n;
    }
    mem_free(part);
    if (rc == 0 && total == 0)
        return err_set(err, ERR_ARG, "standard input is empty");
    return rc;
}

int stdinfile_take(struct stdinfile *f, const char **file, struct err *err)
{
    if (strcmp(*file, "-") != 0)
        return 0;
    if (f->path[0])
        return err_set(err, ERR_ARG, "standard input can be read for one table only");
    if (tempdir_make(&f->temp, sizeof(f->temp.path), err) < 0)
        return -1;
    snprintf(f->path, sizeof(f->path), "%s/stdin", f->temp.path);
    int fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = fd >= 0 ? copy(fd, f->path, err) : err_errno(err, "%s", f->path);
    if (fd >= 0)
        close(fd);
    *file = f->path;
    (void)!snprintf(taken, sizeof(taken), "%s", f->path);
    return rc;
}

void stdinfile_end(struct stdinfile *f)
{
    tempdir_end(&f->temp, false);
}
