/* outfile.h - a file that a command was told to write: complete or not at all. It is written aside (a new file of a random name beside it, which
 * nobody can have put there before), synced and renamed; a link is followed to what it names. What is there and is no plain file (a device, a pipe) is written as it is and
 * never replaced: `-o /dev/null` run by root must not cost the machine its /dev/null. "-" = standard output. */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include "base/err.h"

#include <stdbool.h>

struct outfile {
    int fd;            /* to write to */
    char *path, *part; /* part NULL: written in place */
};

/* 0, or -1 and nothing to end. A folder is ERR_ARG. */
int outfile_open(struct outfile *o, const char *path, struct err *err);
/* Ends it. rc < 0: what was written aside goes, and rc is returned; else -1 when it could not be completed. */
int outfile_end(struct outfile *o, int rc, struct err *err);
/* Could it be opened? Asked before long work, not after it; leaves nothing behind. */
int outfile_check(const char *path, struct err *err);

#endif
