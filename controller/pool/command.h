/* command.h - runs one short command beside the loop: its input is given, its output is read as it
 * comes, and it is killed when it takes too long or says too much. The loop never waits for it. */
#ifndef CONTROLLER_POOL_COMMAND_H
#define CONTROLLER_POOL_COMMAND_H

#include "base/loop.h"

#include <stddef.h>

struct command;

struct command_spec {
    struct loop *loop;
    const char *const *argv; /* NULL-terminated; argv[0] is found by PATH */
    const char *input;       /* at most 32 KiB; NULL = none */
    int64_t limit_ms;
    size_t max_output;
    /* Called once, in a later turn. err: NULL if the command ended with exit 0; else what is wrong
     * with it, and what it said. out is borrowed for the call. */
    void (*on_end)(void *arg, const char *out, const struct err *err);
    void *arg;
};

/* NULL = it cannot be started; then on_end is not called. */
struct command *command_start(const struct command_spec *spec, struct err *err);
void command_free(struct command *c); /* kills it if it runs; NULL is legal */

#endif
