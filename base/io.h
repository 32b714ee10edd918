/* io.h - files, with every write that durability hangs on going through one replaceable table, so that a
 * test can drop or tear what was not yet synced (a simulated power cut). */
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
extern const struct io_ops
    io_unsynced; /* waits for no disk: for folders that end with the process that needs them */
extern const struct io_ops *io; /* &io_system unless a program or a test says otherwise */

int io_write_all(int fd, const void *p, size_t n, off_t at, struct err *err);
int io_fsync_dir(const char *dir, struct err *err);
/* A new file of a random name beside `path`, never one that was there, never through a link: its descriptor to write to, or
 * -1. *aside: its path, heap, for the rename; end of it names the use: "tmp". */
int io_open_aside(const char *path, const char *end, mode_t mode, char **aside, struct err *err);
/* Written aside, fsynced, renamed over path, folder fsynced: all or nothing. */
int io_replace(const char *path, const void *p, size_t n, mode_t mode, struct err *err);
int io_read_file(const char *path, size_t max, struct buf *out,
                 struct err *err); /* ERR_NOTFOUND, ERR_TOOBIG; out is initialised here */
int io_mkdirs(const char *path, mode_t mode, struct err *err);
/* Makes the folder 0700 where it is missing. ERR_DENIED when somebody else owns it or may write into it. */
int io_private_dir(const char *path, struct err *err);
int io_remove_tree(const char *path, struct err *err); /* never follows links */
int64_t io_file_bytes(const char *path);               /* -1 when absent */
int io_free_bytes(const char *dir, int64_t *out, struct err *err);
int io_disk_bytes(const char *dir, int64_t *free_bytes, int64_t *whole, struct err *err);

#endif
