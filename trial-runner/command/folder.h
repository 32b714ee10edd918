/* folder.h - the private folder of one trial: `work`, where the program starts and finds the spec's
 * files; `checkpoint`, which is kept across pauses and machines; `tmp`. Only the trial's user may
 * enter it. Below it everything is the program's own, so that nothing here follows a link or trusts
 * a name. */
#ifndef TRIAL_RUNNER_COMMAND_FOLDER_H
#define TRIAL_RUNNER_COMMAND_FOLDER_H

#include "base/err.h"
#include "base/sha256.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct folder {
    char path[600];
    uid_t uid; /* 0 = ours */
};

/* The folder above all private ones of a device: made if it is missing, emptied if it is not. With a
 * uid others may pass through it, but not look into it. */
int folder_home(const char *home, uid_t uid, struct err *err);
/* files: {path: contents} of the spec (proto/command.h), or NULL. */
int folder_make(struct folder *f, const char *home, const char *name, uid_t uid,
                const json_t *files, struct err *err);
void folder_remove(struct folder *f);
/* Writes a file into `work`. */
int folder_write(const struct folder *f, const char *name, const void *p, size_t n,
                 struct err *err);
/* Bytes on disk below the folder. */
int64_t folder_bytes(const struct folder *f);
/* A number that changes when a file of `checkpoint` does; 0 = it is empty. */
uint64_t folder_checkpoint_stamp(const struct folder *f);

/* Packs `checkpoint` into a tar file at `path`, with `state` (JSON of the runner's own) before it.
 * Equal contents give equal bytes. ERR_TOOBIG if the files have more than max bytes; ERR_BUSY if one
 * of them changed meanwhile: try again later. */
int folder_pack(const struct folder *f, const json_t *state, int64_t max_bytes, const char *path,
                char sha256[SHA256_HEX], struct err *err);
/* Fills `checkpoint` from such a file. *state is a new reference, or NULL if the file has none. */
int folder_unpack(const struct folder *f, const char *path, int64_t max_bytes, json_t **state,
                  struct err *err);

#endif
