/* blob.h - files named by the hash of their bytes: datasets, frames, checkpoints, artifacts.
 *
 * A file is written aside, synced and renamed, its folder is synced, and only then a row names it.
 * Collection removes files that no row names and that no running work will name.
 *
 * The blob_* functions take the data folder, use no database connection and may run on a pool
 * thread. The store_blob_* functions read and write rows and belong to the loop's thread. All writes
 * to files go through the table of base/io.h, so that tests can simulate a power cut. */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/known.h"
#include "store/store.h"

enum { BLOB_PART_MAX = 4 << 20 }; /* bytes of one part of an upload, which is held in memory */
#define BLOB_MAX_BYTES (INT64_C(1) << 40)

/* Uploads. The parts come in order; after an interruption the client goes on at the size that the
 * file has. id: 32 hexadecimal digits. */
int blob_upload_new(const char *dir, char id[33], struct err *err);
/* ERR_NOTFOUND when there is no such upload. */
int blob_upload_size(const char *dir, const char *id, int64_t *size, struct err *err);
/* offset must not be beyond the size that the upload has; else ERR_CONFLICT, and the text names that
 * size. A repeated part is written again in its place. */
int blob_upload_write(const char *dir, const char *id, int64_t offset, const void *p, size_t n,
                      struct err *err);
/* Checks the hash and makes the upload the blob of that name, durably. Equal blobs are one file. A
 * repeated commit succeeds again. ERR_ARG when the bytes have another hash; the upload then stays. */
int blob_upload_commit(const char *dir, const char *id, const char *sha256, int64_t *bytes,
                       struct err *err);
/* Passes every unfinished upload to the callback. */
void blob_upload_each(const char *dir, void (*on_upload)(void *arg, const char *id, int64_t bytes),
                      void *arg);
int blob_upload_drop(const char *dir, const char *id, struct err *err);

/* Stores n bytes as a blob in one call, durably. */
int blob_put(const char *dir, const void *p, size_t n, char sha256[SHA256_HEX], struct err *err);
/* The path of the blob's file; ERR_NOTFOUND when there is none. */
int blob_path(const char *dir, const char *sha256, char *out, size_t size, struct err *err);
/* 0 = the file's bytes have the hash that is its name. The file is hashed when this process first
 * checks it, and again after it has changed on disk. ERR_NOTFOUND: there is no file; ERR_IO: it is
 * damaged. */
int blob_check(const char *dir, const char *sha256, struct err *err);
/* True when blob_check has succeeded before and the file has not changed since. Costs one stat. */
bool blob_is_checked(const char *dir, const char *sha256);
int blob_verify(const char *dir, const char *sha256, struct err *err); /* always hashes the file */

/* Inserts the blob's row, or renews its time when it exists. */
int store_blob_add(struct store *s, const char *sha256, int64_t bytes, const char *kind,
                   struct err *err);
/* 1/0/-1. */
int store_blob_has(struct store *s, const char *sha256, int64_t *bytes, struct err *err);
/* Sets the token's name under whose quota the blob counts. */
int store_blob_own(struct store *s, const char *sha256, const char *owner, struct err *err);
/* The owner set above; "" when the blob counts under no quota. */
int store_blob_owner(struct store *s, const char *sha256, char *owner, size_t size,
                     struct err *err);
int store_blob_owned(struct store *s, const char *owner, int64_t *bytes, struct err *err);

/* Blobs lie in 256 folders, one for each first byte of the hash. One call of collection reads 8 of
 * them, so that no turn of the loop is long. */
enum { BLOB_FOLDERS = 256, BLOB_FOLDERS_AT_ONCE = 8 };

/* The controller's answer to whether running work may still come to name a blob. */
struct blob_judge {
    /* May the row of a blob go that no row names? was_named: a row named it before; false: no row
     * has named it yet. */
    bool (*row_may_go)(void *arg, const char *sha256, bool was_named);
    /* May a file under blobs/ go that has no row? mark: the file's identity now. */
    bool (*file_may_go)(void *arg, const char *name, const struct file_mark *mark);
    void *arg;
};
/* Deletes rows of blobs that no row names and that the judge lets go. Their files are removed by a
 * later call, when the deletion is committed. One call looks at a part of the rows and folders; 32
 * calls look at every folder. bytes: the size of the files removed by this call. */
int store_blob_collect(struct store *s, const char *dir, const struct blob_judge *judge,
                       int64_t *bytes, struct err *err);
int store_blob_total(struct store *s, int64_t *count, int64_t *bytes, struct err *err);

#endif
