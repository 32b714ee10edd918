/* cache.h - blobs on this machine's disk, named by their hash: <dir>/blobs/<sha256>, and
 * <dir>/part/<sha256> while one is being downloaded.
 *   - A file is hashed before its first use in this process, because a disk may damage it and a
 *     power cut may tear it, and again if it has changed on disk. That includes the files of
 *     blob_dir. A download is hashed before it gets its name.
 *   - If the files take more than the limit, the least recently used file that is not pinned is
 *     removed.
 *   - A folder belongs to one runner: it is locked, and a second runner takes the next folder.
 * Called by fetch.c, outbox.c, group.c and main.c. */
#ifndef TRIAL_RUNNER_AGENT_CACHE_H
#define TRIAL_RUNNER_AGENT_CACHE_H

#include "base/err.h"
#include "base/sha256.h"

#include <stddef.h>
#include <stdint.h>

struct cache;

/* blob_dir: NULL, or the blobs folder (ab/<sha256>) of a controller on this machine. Its files are
 * only read, and they do not count against the limit. */
struct cache *cache_open(const char *dir, const char *blob_dir, int64_t limit_bytes,
                         struct err *err);
void cache_close(struct cache *c);
/* The session of the runner that had this folder before, which has ended, since the lock is ours; ""
 * if none is known, or if the folder comes from another machine or was copied. */
void cache_before(const struct cache *c, char *session, size_t size);
/* Leaves our session there for the next one. */
void cache_session(struct cache *c, const char *session);
/* <dir>/scratch, for files of running work; empty after cache_open. */
const char *cache_scratch(const struct cache *c);

/* 1 = `out` is the path of a good file, which counts as used now. 0 = it is not here; a damaged one
 * is removed. */
int cache_find(struct cache *c, const char *sha256, char *out, size_t size);
/* The path to which a download is written, and how many bytes an earlier try has left there. */
int cache_part(struct cache *c, const char *sha256, char *out, size_t size, int64_t *have,
               struct err *err);
/* Hashes the part file and gives it its name. If the hash is another, removes it: ERR_IO. */
int cache_commit(struct cache *c, const char *sha256, struct err *err);
/* Moves in a file of known hash that our own worker has written. The caller may ignore a
 * failure. */
int cache_adopt(struct cache *c, const char *sha256, const char *path, struct err *err);

/* A pinned file is in use and is not removed. Pins are counted. A hash that is not in the cache,
 * such as one found in blob_dir, is ignored. */
void cache_pin(struct cache *c, const char *sha256);
void cache_unpin(struct cache *c, const char *sha256);
void cache_trim(struct cache *c); /* removes files until the limit is kept, as far as pins allow */
int64_t cache_bytes(const struct cache *c);
/* The hashes, most recently used first; returns how many. A request for work lists them, so that a
 * runner can get trials on a table that it has even if the controller's own file is damaged. */
int cache_list(const struct cache *c, char (*out)[SHA256_HEX], int max);

#endif
