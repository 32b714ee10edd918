/* known.h - remembers which files were found to hold the bytes that their name (a SHA-256) says. A
 * file is hashed when this process first asks for it, and again if its mark on disk (inode, length,
 * time of its last modification) differs from the one that was hashed. So bytes that were changed
 * or damaged are noticed before they are used, and an unchanged file costs one stat call. The blob
 * store and the runner's cache use it. Any thread may call; no lock is held while a file is
 * read. */
#ifndef BASE_KNOWN_H
#define BASE_KNOWN_H

#include "base/err.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>

enum { FILE_MARK_TEXT = 100 };

/* What tells on disk whether a file is still the same. */
struct file_mark {
    uint64_t device, inode;
    int64_t bytes, changed_ns;
};

/* False if there is no plain file at `path`. Links are not followed. */
bool file_mark_get(const char *path, struct file_mark *out);
bool file_mark_same(const struct file_mark *a, const struct file_mark *b);
/* The mark as text, so that a runner can tell its worker which file it means; "" if there is
 * none. */
void file_mark_text(const char *path, char out[FILE_MARK_TEXT]);

/* The SHA-256 and the length of an open file, from its beginning. */
int file_hash(int fd, char out[SHA256_HEX], int64_t *bytes, struct err *err);

struct known;

/* Remembers up to `slots` files, a power of two. A file that was forgotten is hashed again. */
struct known *known_new(int slots);
void known_free(struct known *k);
/* Was the file found good, and has it not changed since? Costs one stat call. */
bool known_is_good(struct known *k, const char *path, const char *sha256);
/* 0 if the file holds these bytes. ERR_NOTFOUND if there is no such file; ERR_IO if it is damaged
 * or cannot be read. */
int known_check(struct known *k, const char *path, const char *sha256, struct err *err);
/* For a caller that has just hashed or written the file. */
void known_note(struct known *k, const char *path, const char *sha256);

#endif
