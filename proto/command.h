/* command.h - how a trial runs a program of the user's: the words of its command line, its
 * environment, the files that come with the spec, its limits and its retry rules. The keys stand in
 * the spec of a study with a space of its own (docs/SPEC.md, "Programs of your own"); the controller
 * sends them unchanged with each grant, so that both sides read them with the one parser here.
 *
 * There is no shell: a word is an argument. {name} in a word or in a value of the environment stands
 * for the value of that parameter; {{ and }} stand for braces. */
#ifndef PROTO_COMMAND_H
#define PROTO_COMMAND_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { COMMAND_MAX_RETRY = 16, COMMAND_MAX_WORDS = 256, COMMAND_MAX_FILES = 256 };

/* What to do when the program fails in this way: exit code, or text in its last lines, or both. */
struct command_retry {
    char output[256]; /* extended regular expression; "" = any output */
    int exit;         /* exit code, 128 + signal for a signal; -1 = any failure */
    int times;        /* how often one runner starts it again */
    bool elsewhere;   /* the machine is at fault: the trial goes back to the queue */
};

struct command {
    json_t *words;       /* list of texts; owned, as the two below */
    json_t *environment; /* {NAME: text} or NULL */
    json_t *files;       /* {path: text | {"base64": text}} or NULL */
    int gpus;            /* 0 or 1 */
    int64_t processes, output_bytes, checkpoint_bytes, disk_bytes;
    int64_t grace_ms; /* between SIGTERM and SIGKILL */
    int n_retry;
    struct command_retry retry[COMMAND_MAX_RETRY];
};

/* The spec's keys that belong to a command. */
#define COMMAND_KEYS "command", "environment", "files", "gpus", "limits", "retry"

/* Reads these keys of `o`, whatever else is in it. space: the parameters that places may name, or
 * NULL to accept every name. After an error there is nothing to free. */
int command_parse(struct command *c, const json_t *o, const json_t *space, struct err *err);
void command_fini(struct command *c);
/* Only these keys of `o`, as an object of their own: a new reference. */
json_t *command_json_new(const json_t *o);

/* The command line for these parameters ({name: value}), as a list of texts: a new reference. A word
 * that names a parameter which is absent (it does not belong to this configuration) is left out, and
 * with it the word before, if that begins with - and names no parameter. */
json_t *command_words_new(const struct command *c, const json_t *params);
json_t *command_environment_new(const struct command *c, const json_t *params);
/* The bytes of a file of the spec; *bytes is on the heap. */
int command_file(const json_t *value, void **bytes, size_t *n, struct err *err);

#endif
