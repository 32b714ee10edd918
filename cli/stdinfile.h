/* stdinfile.h - a table from standard input, for commands that read a table more than once: "-" in
 * the place of a file is written to a private folder first. */
#ifndef CLI_STDINFILE_H
#define CLI_STDINFILE_H

#include "base/err.h"
#include "cli/tempdir.h"

struct stdinfile {
    struct tempdir temp;
    char path[280];
};

/* The file to read for *file: the same, or a copy of standard input. f starts zeroed; a second "-"
 * is an error. */
int stdinfile_take(struct stdinfile *f, const char **file, struct err *err);
void stdinfile_end(struct stdinfile *f);
/* What to call a file for people: "standard input" where it is the copy of that. */
const char *stdinfile_name(const char *file);

#endif
