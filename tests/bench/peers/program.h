/* program.h - what the two programs of this folder share. Each defines `program`, its name in messages, before including it. */
#ifndef TESTS_BENCH_PEERS_PROGRAM_H
#define TESTS_BENCH_PEERS_PROGRAM_H

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

static _Noreturn void die(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s: %s\n", program, what, err ? err->text : "");
    exit(1);
}

/* Good until the fourth call after it. */
static char *path_of(const char *dir, const char *name)
{
    static char path[4][4096];
    static int next;
    char *p = path[next++ % 4];

    if (snprintf(p, sizeof path[0], "%s/%s", dir, name) >= (int)sizeof path[0])
        die("path too long", NULL);
    return p;
}

#endif
