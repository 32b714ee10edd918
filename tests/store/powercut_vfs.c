/* powercut_vfs.c - SQLite's door to the disk of powercut.h: a VFS over the system's own one. Reads, locks and shared
 * memory pass through; writes, truncations, syncs, creations and removals are also told to the model, and fail when the
 * power is gone. Like the system's VFS it syncs the folder with the first sync of a journal or log that it created. */
#include "tests/store/powercut.h"

#include "base/base.h"

#include <sqlite3.h>
#include <string.h>

struct cut_file {
    sqlite3_file base;
    struct node *node; /* NULL: a temporary file, not modelled */
    enum powercut_omit omit;
    bool sync_folder;
    const char *path; /* SQLite keeps it as long as the file */
    sqlite3_file *real;
};

static sqlite3_vfs *system_vfs;

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct cut_file *)(void *)f)->real;
}

static int on_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int on_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}

static int on_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    struct cut_file *c = (struct cut_file *)(void *)f;

    if (c->node && disk_write(c->node, p, (size_t)n, at) < 0)
        return SQLITE_IOERR_WRITE;
    return c->real->pMethods->xWrite(c->real, p, n, at);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct cut_file *c = (struct cut_file *)(void *)f;

    if (c->node && disk_truncate(c->node, size) < 0)
        return SQLITE_IOERR_TRUNCATE;
    return c->real->pMethods->xTruncate(c->real, size);
}

static int on_sync(sqlite3_file *f, int flags)
{
    struct cut_file *c = (struct cut_file *)(void *)f;

    (void)flags;
    if (!c->node)
        return SQLITE_OK;
    if (disk_sync(c->node, c->omit) < 0)
        return SQLITE_IOERR_FSYNC;
    if (c->sync_folder && disk_sync_parent(c->path) < 0)
        return SQLITE_IOERR_DIR_FSYNC;
    c->sync_folder = false;
    return SQLITE_OK;
}

static int on_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int on_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int on_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int on_is_reserved(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int on_control(sqlite3_file *f, int code, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), code, arg);
}

static int on_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int on_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int on_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}

static int on_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), at, n, flags);
}

static void on_shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int on_shm_unmap(sqlite3_file *f, int remove)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods methods = {
    2,           on_close,       on_read,        on_write,   on_truncate, on_sync,   on_size,
    on_lock,     on_unlock,      on_is_reserved, on_control, on_sector,   on_device, on_shm_map,
    on_shm_lock, on_shm_barrier, on_shm_unmap,   NULL,       NULL,
};

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out_flags)
{
    struct cut_file *c = (struct cut_file *)(void *)f;
    struct node *n = path ? disk_find(path) : NULL;
    int rc = SQLITE_OK;

    (void)vfs;
    memset(c, 0, sizeof *c);
    c->real = (sqlite3_file *)(void *)(c + 1);
    if (powercut_happened())
        return SQLITE_CANTOPEN;
    rc = system_vfs->xOpen(system_vfs, path, c->real, flags, out_flags);
    if (rc != SQLITE_OK)
        return rc;
    c->base.pMethods = &methods;
    c->path = path;
    if (!path || (flags & SQLITE_OPEN_DELETEONCLOSE))
        return SQLITE_OK;
    c->omit = (flags & SQLITE_OPEN_WAL)       ? OMIT_WAL
              : (flags & SQLITE_OPEN_MAIN_DB) ? OMIT_DB
                                              : OMIT_NONE;
    /* Whether it was there or not, as the system's VFS does it: whoever made it may have been killed before his sync. */
    c->sync_folder = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    if (!n)
        n = disk_create(path);
    c->node = n;
    if (n)
        return SQLITE_OK;
    c->base.pMethods = NULL;
    c->real->pMethods->xClose(c->real);
    return SQLITE_CANTOPEN;
}

static int on_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    if (powercut_happened())
        return SQLITE_IOERR_DELETE;
    if (disk_find(path) && disk_unlink(path) < 0)
        return SQLITE_IOERR_DELETE;
    if (sync_folder && disk_sync_parent(path) < 0)
        return SQLITE_IOERR_DIR_FSYNC;
    return system_vfs->xDelete(system_vfs, path, 0);
}

static sqlite3_vfs cut_vfs;

void powercut_vfs_register(void)
{
    system_vfs = sqlite3_vfs_find("unix");
    CHECK(system_vfs);
    cut_vfs =
        *system_vfs; /* everything else as the system does it; it ignores which VFS it is called through */
    cut_vfs.zName = "powercut";
    cut_vfs.pNext = NULL;
    cut_vfs.szOsFile = (int)sizeof(struct cut_file) + system_vfs->szOsFile;
    cut_vfs.xOpen = on_open;
    cut_vfs.xDelete = on_delete;
    CHECK(sqlite3_vfs_register(&cut_vfs, 1) == SQLITE_OK);
}

void powercut_vfs_unregister(void)
{
    CHECK(sqlite3_vfs_unregister(&cut_vfs) == SQLITE_OK);
    CHECK(sqlite3_vfs_register(system_vfs, 1) == SQLITE_OK);
}
