/* outfile.h - an output file that a command was told to write. It is complete or not there at all.
 *
 * The bytes go to a new file with a random name in the same folder, so that nobody can have
 * prepared that name. The file is then synced and renamed. A link is followed to the file that it
 * names.
 *
 * A path that leads to a device or a pipe is written as it is and never replaced, so that `-o
 * /dev/null` run by root does not remove /dev/null. "-" is standard output. */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include "base/err.h"

#include <stdbool.h>

struct outfile {
    int fd;            /* to write to */
    char *path, *part; /* part is the name of the new file; NULL = written in place */
};

/* Returns 0, or -1 with nothing to end. A folder is ERR_ARG. */
int outfile_open(struct outfile *o, const char *path, struct err *err);
/* Ends the file. With rc < 0 the new file is removed and rc returned; otherwise the result is -1
 * when the file could not be completed. */
int outfile_end(struct outfile *o, int rc, struct err *err);
/* Checks whether the file could be written, and leaves nothing behind. Asked before long work. */
int outfile_check(const char *path, struct err *err);
/* Refuses an output that is this input, also under another name: it would be lost. */
int outfile_apart(const char *path, const char *input, struct err *err);

#endif
