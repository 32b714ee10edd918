/* blob.h - content-addressed files: datasets, frames, checkpoints, artifacts. Written aside, fsynced, renamed, folder
 * fsynced, and only then named by a row. Collection removes what nothing names and nothing may come to name. The file calls take the data folder, hold no connection and may run on a pool thread; the row calls
 * belong to the loop. All writes go through base/io.h's table. */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/known.h"
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
/* All there are. */
void blob_upload_each(const char *dir, void (*on_upload)(void *arg, const char *id, int64_t bytes),
                      void *arg);
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
/* Who brought it, for quotas. */
int store_blob_own(struct store *s, const char *sha256, const char *owner, struct err *err);
/* "" = nobody's. */
int store_blob_owner(struct store *s, const char *sha256, char *owner, size_t size,
                     struct err *err);
int store_blob_owned(struct store *s, const char *owner, int64_t *bytes, struct err *err);

enum { BLOB_FOLDERS = 256, BLOB_FOLDERS_AT_ONCE = 8 };

/* Who knows whether something may still come to name a blob. */
struct blob_judge {
    /* A row that nothing names. was_named: something has let go of it; else nothing has named it yet. */
    bool (*row_may_go)(void *arg, const char *sha256, bool was_named);
    /* A file under blobs/ without a row; mark: as it is now. */
    bool (*file_may_go)(void *arg, const char *name, const struct file_mark *mark);
    void *arg;
};
/* Drops rows of blobs that nothing names and that the judge gives up; their files go at the next call after the commit. Looks
 * at a part of the rows and folders: 32 calls see every folder. bytes: of the files that went. */
int store_blob_collect(struct store *s, const char *dir, const struct blob_judge *judge,
                       int64_t *bytes, struct err *err);
int store_blob_total(struct store *s, int64_t *count, int64_t *bytes, struct err *err);

#endif
