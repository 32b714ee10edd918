/* known.h - files that are named by their hash and were found to hold it. A file is hashed when this process first asks for
 * it, and again whenever its identity on disk (inode, length, time of its last change) is no longer the one that was
 * hashed. So bytes that rotted or were changed are noticed before they are used, and what did not change costs one stat.
 * Any thread may call; no lock is held while a file is read. */
#ifndef BASE_KNOWN_H
#define BASE_KNOWN_H

#include "base/err.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>

enum { FILE_MARK_TEXT = 100 };

/* The identity of a file on disk. */
struct file_mark {
    uint64_t device, inode;
    int64_t bytes, changed_ns;
};

/* False when there is no plain file of that name. Links are not followed. */
bool file_mark_get(const char *path, struct file_mark *out);
bool file_mark_same(const struct file_mark *a, const struct file_mark *b);
/* The mark of a file as a word, for a process that was told of the file by another; "" when there is none. */
void file_mark_text(const char *path, char out[FILE_MARK_TEXT]);

/* SHA-256 and length of what the open file holds, from its beginning. */
int file_hash(int fd, char out[SHA256_HEX], int64_t *bytes, struct err *err);

struct known;

/* Remembers up to `slots` files (a power of two); a file that fell out is hashed again. */
struct known *known_new(int slots);
void known_free(struct known *k);
/* Was it found good, and has it not changed since? Reads nothing but its inode. */
bool known_is_good(struct known *k, const char *path, const char *sha256);
/* 0 = the file holds these bytes. ERR_NOTFOUND: there is no such file; ERR_IO: it is damaged, or cannot be read. */
int known_check(struct known *k, const char *path, const char *sha256, struct err *err);
/* The caller has just hashed it, or written it. */
void known_note(struct known *k, const char *path, const char *sha256);

#endif
