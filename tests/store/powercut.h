/* powercut.h - a disk that loses what was not synced. Under a root folder every write, truncation, creation, rename,
 * removal and new folder that goes through base/io.h's table or through the SQLite VFS of powercut_vfs.c is done for real
 * and noted here as pending; fsync of a file or folder makes its pending changes durable. At the chosen operation the
 * power goes: that operation and all later ones fail. powercut_reboot then rewrites the root with what survived: of each
 * pending write a random set of its 512-byte sectors, of each folder a random set of its pending entries. Files that the
 * page cache had grown but not written may come back as zeros or garbage. A rename is atomic: its old name goes only if
 * its new one stays. One disk at a time. */
#ifndef TESTS_STORE_POWERCUT_H
#define TESTS_STORE_POWERCUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An fsync that is taken out: it answers 0 and does nothing. */
enum powercut_omit {
    OMIT_NONE,
    OMIT_BLOB_FILE,   /* the uploaded file's, before its rename */
    OMIT_BLOB_FOLDER, /* of blobs/ab after the rename */
    OMIT_BLOBS,       /* of blobs/ after making its folders */
    OMIT_PARENT,      /* of the folder that the data folder is in */
    OMIT_WAL,         /* of the database's log */
    OMIT_DB,          /* of the database file */
    OMIT_COUNT
};
extern const char *const powercut_omit_name[OMIT_COUNT];

/* What is under root now is taken as durable. cut_at: the operation, from 1, at which the power goes; 0 = never.
 * Until powercut_end, `io` and SQLite's default VFS are this disk's. */
void powercut_begin(const char *root, uint64_t seed, int64_t cut_at, enum powercut_omit omit);
void powercut_kill_at(
    int64_t at); /* at that operation, which is not done, the process goes and not the power */
void powercut_revive(
    int64_t
        cut_at); /* after a kill: a new process finds the page cache as it was; as powercut_begin */
bool powercut_happened(void); /* either */
int64_t powercut_ops(void);   /* so far */
/* The root becomes what survived; the disk is ended. All files must have been closed. */
void powercut_reboot(void);
void powercut_end(void);

/* For powercut_vfs.c. A node is a file or folder; NULL paths outside the root are not modelled. */
struct node;
struct node *disk_find(const char *path); /* NULL: not there, or outside */
struct node *disk_create(
    const char *path); /* the file's entry, pending; NULL when the power is gone */
int disk_write(struct node *n, const void *p, size_t size, int64_t at); /* -1: the power is gone */
int disk_truncate(struct node *n, int64_t size);
int disk_sync(struct node *n, enum powercut_omit as); /* as: which omission would skip it */
int disk_sync_parent(const char *path);
int disk_unlink(const char *path);
void powercut_vfs_register(void);
void powercut_vfs_unregister(void);

#endif
