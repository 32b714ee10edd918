/* cache.h - blobs on this machine's disk, named by their hash: <dir>/blobs/<sha256>, and <dir>/part/<sha256> while one is
 * being downloaded.
 *   - A file is hashed before its first use in this process, because a disk may rot and a power cut may tear a file, and
 *     again when it has changed on disk. This holds for files of blob_dir, too. A download is hashed before it gets its
 *     name.
 *   - When the files take more than the limit, the least recently used file that is not pinned is removed.
 *   - A folder belongs to one runner: it is locked, and a second runner takes the next folder.
 * Called by fetch.c, outbox.c, group.c and main.c. */
#ifndef TRIAL_RUNNER_AGENT_CACHE_H
#define TRIAL_RUNNER_AGENT_CACHE_H

#include "base/err.h"
#include "base/sha256.h"

#include <stddef.h>
#include <stdint.h>

struct cache;

/* blob_dir: NULL, or the blobs folder (ab/<sha256>) of a controller on this machine, read only and not counted. */
struct cache *cache_open(const char *dir, const char *blob_dir, int64_t limit_bytes,
                         struct err *err);
void cache_close(struct cache *c);
const char *cache_scratch(
    const struct cache *c); /* <dir>/scratch: empty at open, for files of running work */

/* 1 = out is the path of a good file, now the most recently used; 0 = not here (a damaged one is removed). */
int cache_find(struct cache *c, const char *sha256, char *out, size_t size);
/* Where a download of it is written, and how much is there from an earlier try (0 = nothing). */
int cache_part(struct cache *c, const char *sha256, char *out, size_t size, int64_t *have,
               struct err *err);
/* Hashes the part and gives it its name; another hash: the part is removed, ERR_IO. */
int cache_commit(struct cache *c, const char *sha256, struct err *err);
/* Moves a file of known hash (written by our own worker) in; failing is harmless. */
int cache_adopt(struct cache *c, const char *sha256, const char *path, struct err *err);

/* A pinned file is in use and stays. Pins nest. Unknown hashes (of blob_dir) are ignored. */
void cache_pin(struct cache *c, const char *sha256);
void cache_unpin(struct cache *c, const char *sha256);
void cache_trim(struct cache *c);
int64_t cache_bytes(const struct cache *c);
/* Most recently used first; returns how many. */
int cache_list(const struct cache *c, char (*out)[SHA256_HEX], int max);

#endif
