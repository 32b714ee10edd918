/* io.h - files. Every call that durability depends on (open, write, fsync, rename, unlink, mkdir)
 * goes through the table `io`. A test replaces the table to lose or tear what was not yet synced,
 * which simulates a power cut. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct io_ops {
    int (*open)(const char *path, int flags, mode_t mode); /* as open(2) */
    ssize_t (*pwrite)(int fd, const void *p, size_t n, off_t at);
    int (*fsync)(int fd);
    int (*close)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path, mode_t mode);
};
extern const struct io_ops io_system;
/* The same without fsync: for folders that are deleted when the process that needs them ends, as
 * those of `assay fit`. */
extern const struct io_ops io_unsynced;
extern const struct io_ops *io; /* &io_system unless the program or a test sets another */

int io_write_all(int fd, const void *p, size_t n, off_t at, struct err *err);
int io_fsync_dir(const char *dir, struct err *err); /* names in it survive a power cut */
/* Creates a file with a random name beside `path`: never a file that exists, never through a link.
 * Returns its descriptor, or -1. *aside is its path on the heap, to be renamed later. `end` becomes
 * part of the name and says what the file is for, such as "tmp". */
int io_open_aside(const char *path, const char *end, mode_t mode, char **aside, struct err *err);
/* Replaces a file as a whole or not at all: writes beside it, fsyncs, renames, fsyncs the
 * folder. */
int io_replace(const char *path, const void *p, size_t n, mode_t mode, struct err *err);
/* Reads n bytes from place `at` of an open file, fewer only where it ends. Returns how many, or
 * -1. */
long io_read_at(int fd, void *out, size_t n, int64_t at, struct err *err);
/* Initialises `out`. ERR_NOTFOUND, or ERR_TOOBIG if the file has more than max bytes. */
int io_read_file(const char *path, size_t max, struct buf *out, struct err *err);
int io_mkdirs(const char *path, mode_t mode, struct err *err); /* with the folders above it */
/* Makes the folder with mode 0700 if it is missing. ERR_DENIED if another user owns it or may write
 * into it: tokens and models in it would not be safe. */
int io_private_dir(const char *path, struct err *err);
int io_remove_tree(const char *path, struct err *err); /* never follows links */
int64_t io_file_bytes(const char *path);               /* -1 if there is no such file */
int io_free_bytes(const char *dir, int64_t *out, struct err *err);
/* Free bytes and size of the file system that holds `dir`. */
int io_disk_bytes(const char *dir, int64_t *free_bytes, int64_t *whole, struct err *err);

#endif
