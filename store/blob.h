/* blob.h - content-addressed files: datasets, frames, checkpoints, artifacts. Written aside, fsynced, renamed, folder
 * fsynced, and only then named by a row. Files no row names are orphans; collection removes those older than an hour
 * (uploads a day). The file calls take the data folder, hold no connection and may run on a pool thread; the row calls
 * belong to the loop. All writes go through base/io.h's table. */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "store/store.h"

enum { BLOB_PART_MAX = 4 << 20 };
#define BLOB_MAX_BYTES (INT64_C(1) << 40)

/* Uploads: parts in order, resumable at the size the file has. id: 32 hex digits. */
int blob_upload_new(const char *dir, char id[33], struct err *err);
/* ERR_NOTFOUND. */
int blob_upload_size(const char *dir, const char *id, int64_t *size, struct err *err);
/* offset must be <= the size there is (a repeated part is rewritten in place), else ERR_CONFLICT naming the size. */
int blob_upload_write(const char *dir, const char *id, int64_t offset, const void *p, size_t n,
                      struct err *err);
/* Checks the hash, makes it durable under its name. The same blob twice is one file; a commit asked again is answered again.
 * ERR_ARG on another hash: the upload stays. */
int blob_upload_commit(const char *dir, const char *id, const char *sha256, int64_t *bytes,
                       struct err *err);
int blob_upload_drop(const char *dir, const char *id, struct err *err);

/* Whole, durable. */
int blob_put(const char *dir, const void *p, size_t n, char sha256[SHA256_HEX], struct err *err);
/* ERR_NOTFOUND when no file. */
int blob_path(const char *dir, const char *sha256, char *out, size_t size, struct err *err);
/* 0 = its file holds the bytes that its name promises. They are hashed when this process first asks, and again after the
 * file has changed on disk. ERR_NOTFOUND: no file; ERR_IO: it is damaged. */
int blob_check(const char *dir, const char *sha256, struct err *err);
/* Has that been found, and did nothing change since? Costs one stat. */
bool blob_is_checked(const char *dir, const char *sha256);
int blob_verify(const char *dir, const char *sha256, struct err *err); /* rehash always */

/* Idempotent. */
int store_blob_add(struct store *s, const char *sha256, int64_t bytes, const char *kind,
                   struct err *err);
/* 1/0/-1. */
int store_blob_has(struct store *s, const char *sha256, int64_t *bytes, struct err *err);
/* Removes files that are older than min_age_ms and have no row in the committed state (uploads: a day), then rows that old
 * that nothing refers to; their files go at the next call after the commit. bytes: of the files that went. */
int store_blob_collect(struct store *s, const char *dir, int64_t min_age_ms, int64_t *bytes,
                       struct err *err);
int store_blob_total(struct store *s, int64_t *count, int64_t *bytes, struct err *err);

#endif
