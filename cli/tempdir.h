/* tempdir.h - a private folder (mode 0700) under TMPDIR that is removed even when its owners are
 * killed.
 *
 * The folder holds a file `lock` that the owners keep locked. Whoever makes the next folder
 * removes those of the same user that nobody locks any more. A folder without `lock` is never
 * touched. */
#ifndef CLI_TEMPDIR_H
#define CLI_TEMPDIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct tempdir {
    char path[240]; /* "" = none */
    int lock_fd;    /* close-on-exec; a child that inherits it keeps the folder alive */
};

/* Makes the folder, and removes a few old ones first. If the value of TMPDIR is longer than
 * `longest`, or not set, /tmp is used. */
int tempdir_make(struct tempdir *t, size_t longest, struct err *err);
/* Removes the folder. With keep it stays for good, and no later run removes it. May be called
 * twice, and on an all-zero struct. */
void tempdir_end(struct tempdir *t, bool keep);

#endif
