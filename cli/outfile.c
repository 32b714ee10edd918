/* outfile.c - output files that are complete or absent (see outfile.h). Called by client.c for
 * downloads and by modelfile.c for predictions and explanations. */
#include "cli/outfile.h"

#include "base/base.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IS_NEW, IS_FILE, IS_OTHER };

/* Finds out what `path` leads to, links followed. */
static int look(const char *path, int *what, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        *what = IS_NEW; /* any other problem is reported when the file is opened */
        return 0;
    }
    if (S_ISDIR(st.st_mode))
        return err_set(err, ERR_ARG, "%s is a folder: name a file to write", path);
    *what = S_ISREG(st.st_mode) ? IS_FILE : IS_OTHER;
    return 0;
}

static int open_aside(struct outfile *o, const char *path, bool is_there, struct err *err)
{
    /* without this, the rename would replace a link instead of the file that it names */
    char *real = is_there ? realpath(path, NULL) : NULL;
    struct err why = { 0 };

    o->path = mem_strdup(real ? real : path);
    free(real);
    o->fd = io_open_aside(o->path, "part", 0644, &o->part, &why);
    if (o->fd >= 0)
        return 0;
    if (errno == ENOENT)
        err_set(err, ERR_IO, "cannot write %s: its folder does not exist", path);
    else
        err_errno(err, "cannot write %s", path);
    mem_free(o->path);
    return -1;
}

int outfile_open(struct outfile *o, const char *path, struct err *err)
{
    int what = IS_NEW;

    *o = (struct outfile){ .fd = STDOUT_FILENO };
    if (strcmp(path, "-") == 0)
        return 0;
    if (look(path, &what, err) < 0)
        return -1;
    if (what != IS_OTHER)
        return open_aside(o, path, what == IS_FILE, err);
    o->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (o->fd < 0)
        return err_errno(err, "%s", path);
    o->path = mem_strdup(path);
    return 0;
}

int outfile_end(struct outfile *o, int rc, struct err *err)
{
    if (!o->path)
        return rc;
    if (rc == 0 && o->part && fsync(o->fd) < 0)
        rc = err_errno(err, "%s", o->path);
    if (close(o->fd) < 0 && rc == 0)
        rc = err_errno(err, "%s", o->path);
    if (rc == 0 && o->part && rename(o->part, o->path) < 0)
        rc = err_errno(err, "%s", o->path);
    if (rc < 0 && o->part)
        (void)unlink(o->part);
    mem_free(o->part);
    mem_free(o->path);
    return rc;
}

int outfile_check(const char *path, struct err *err)
{
    struct outfile o;
    int what = IS_NEW;

    if (strcmp(path, "-") == 0)
        return 0;
    if (look(path, &what, err) < 0)
        return -1;
    if (what == IS_OTHER) /* opening a pipe would wait for its reader */
        return access(path, W_OK) < 0 ? err_errno(err, "%s", path) : 0;
    if (outfile_open(&o, path, err) < 0)
        return -1;
    (void)outfile_end(&o, -1, NULL);
    return 0;
}

int outfile_apart(const char *path, const char *input, struct err *err)
{
    struct stat a, b;

    if (strcmp(path, "-") == 0 || stat(path, &a) < 0 || stat(input, &b) < 0 ||
        !S_ISREG(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return 0;
    return err_at(err, "--output", "%s is the file that is read: name another one", path);
}
