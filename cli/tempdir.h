/* tempdir.h - a private folder (0700) under TMPDIR that ends with its owners, also when they were killed: it holds a file
 * `lock` that they keep locked, and whoever makes the next one removes those of the same user that nobody locks any more.
 * A folder without `lock` is never touched. */
#ifndef CLI_TEMPDIR_H
#define CLI_TEMPDIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct tempdir {
    char path[240]; /* "" = none */
    int lock_fd; /* close-on-exec; a child that works in the folder inherits it and so keeps the folder */
};

/* longest: of TMPDIR's value; /tmp takes the place of a longer one or of none. Sweeps a few stale ones first. */
int tempdir_make(struct tempdir *t, size_t longest, struct err *err);
/* Removes it. keep: leaves it for good, no sweep will touch it. Idempotent, and legal on one that is all zero. */
void tempdir_end(struct tempdir *t, bool keep);

#endif
