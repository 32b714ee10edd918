/* powercut.c - the model of powercut.h: nodes with durable contents and pending changes, and the io table on top.
 *
 * The live state is on the real file system, so that reads need no help; here is only what a crash would leave. Nodes and
 * entries are named from several places, so they are freed together when the disk ends. */
#include "tests/store/powercut.h"

#include "base/base.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, FDS = 1024 };

const char *const powercut_omit_name[OMIT_COUNT] = { "none",   "blob file", "blob folder", "blobs",
                                                     "parent", "wal",       "db" };

struct bytes {
    uint8_t *p;
    size_t n;
};
/* A pending change of a file: a write, or (data NULL) a truncation to `at`. */
struct write {
    int64_t at;
    size_t n;
    uint8_t *data;
    struct write *next;
};
/* A pending change of a folder: name stands for node (NULL: for nothing). */
struct entry {
    char name[128];
    struct node *node;
    struct node *folder;
    struct entry *needs; /* a rename's new name, which must be kept for the old one to go */
    int kept;            /* 0 undecided, 1 kept, -1 dropped */
    bool is_durable;
    struct entry *next, *next_made;
};
struct node {
    bool is_dir;
    struct node *next_made;
    struct bytes durable;               /* file */
    struct write *writes, **writes_end; /* file: pending, in order */
    struct entry *now, *was;            /* folder: live and durable entries */
    struct entry *changes, **changes_end;
};

static struct {
    bool is_on, is_cut, is_kill;
    char root[PATH_MAX];
    size_t root_len;
    struct node *top;
    struct node *fds[FDS];
    char fd_path[FDS][256];
    int64_t ops, cut_at;
    enum powercut_omit omit;
    struct rng rng;
    double keep_data, keep_names;
    struct node *nodes; /* every one, to free them */
    struct entry *entries;
} disk;

static bool kept(double p)
{
    return rng_unit(&disk.rng) < p;
}

bool powercut_happened(void)
{
    return disk.is_cut;
}

int64_t powercut_ops(void)
{
    return disk.ops;
}

/* Counts one operation. 1: do it, 0: it was under way when the power went, -1: the power is gone. */
static int op(void)
{
    if (disk.is_cut)
        return -1;
    disk.is_cut = ++disk.ops == disk.cut_at;
    return !disk.is_cut ? 1 : disk.is_kill ? -1 : 0;
}

void powercut_kill_at(int64_t at)
{
    disk.cut_at = at;
    disk.is_kill = true;
}

void powercut_revive(int64_t cut_at)
{
    disk.cut_at = cut_at;
    disk.ops = 0;
    disk.is_kill = disk.is_cut = false;
}

/* ---- nodes ---- */

static struct node *node_new(bool is_dir)
{
    struct node *n = mem_zalloc(sizeof *n);

    n->is_dir = is_dir;
    n->writes_end = &n->writes;
    n->changes_end = &n->changes;
    n->next_made = disk.nodes;
    disk.nodes = n;
    return n;
}

static struct entry *entry_new(const char *name, struct node *node)
{
    struct entry *e = mem_zalloc(sizeof *e);

    snprintf(e->name, sizeof e->name, "%s", name);
    e->node = node;
    e->next_made = disk.entries;
    disk.entries = e;
    return e;
}

static struct entry *entry_find(struct entry *list, const char *name)
{
    for (struct entry *e = list; e; e = e->next) {
        if (strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

/* name -> node in one of a folder's lists; NULL removes it. */
static void entry_set(struct entry **list, const char *name, struct node *node)
{
    struct entry *e = entry_find(*list, name);

    if (!e) {
        e = entry_new(name, node);
        e->next = *list;
        *list = e;
    }
    e->node = node;
}

static struct entry *change_add(struct node *dir, const char *name, struct node *node)
{
    struct entry *e = entry_new(name, node);

    e->folder = dir;
    *dir->changes_end = e;
    dir->changes_end = &e->next;
    entry_set(&dir->now, name, node);
    return e;
}

/* The folder that `path` is in and the last name, or NULL outside the root. */
static struct node *parent_of(const char *path, const char **name)
{
    struct node *dir = disk.top;
    char part[128];

    if (!disk.is_on || strncmp(path, disk.root, disk.root_len) != 0 || path[disk.root_len] != '/')
        return NULL;
    path += disk.root_len + 1;
    CHECK(dir);
    for (const char *slash = NULL; (slash = strchr(path, '/')); path = slash + 1) {
        struct entry *e = NULL;

        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        e = entry_find(dir->now, part);
        if (!e || !e->node)
            return NULL;
        dir = e->node;
    }
    *name = path;
    return dir;
}

struct node *disk_find(const char *path)
{
    const char *name = NULL;
    struct node *dir = NULL;
    struct entry *e = NULL;

    if (disk.is_on && strcmp(path, disk.root) == 0)
        return disk.top;
    dir = parent_of(path, &name);
    e = dir ? entry_find(dir->now, name) : NULL;
    return e ? e->node : NULL;
}

static struct node *create(const char *path, bool is_dir)
{
    const char *name = NULL;
    struct node *dir = parent_of(path, &name), *n = NULL;
    int go = op();

    CHECK(dir);
    if (go < 0)
        return NULL;
    n = node_new(is_dir);
    change_add(dir, name, n);
    return go ? n : NULL;
}

struct node *disk_create(const char *path)
{
    return create(path, false);
}

int disk_unlink(const char *path)
{
    const char *name = NULL;
    struct node *dir = parent_of(path, &name);
    int go = op();

    if (go >= 0 && dir)
        change_add(dir, name, NULL);
    return go > 0 ? 0 : -1;
}

static int disk_rename(const char *from, const char *to)
{
    const char *from_name = NULL, *to_name = NULL;
    struct node *from_dir = parent_of(from, &from_name), *to_dir = parent_of(to, &to_name),
                *n = disk_find(from);
    int go = op();

    CHECK(from_dir && to_dir && n);
    if (go >= 0) {
        struct entry *link = change_add(to_dir, to_name, n);

        change_add(from_dir, from_name, NULL)->needs = link;
    }
    return go > 0 ? 0 : -1;
}

static void write_add(struct node *n, const void *p, size_t size, int64_t at)
{
    struct write *w = mem_zalloc(sizeof *w);

    w->at = at;
    w->n = size;
    w->data = p ? mem_dup(p, size) : NULL;
    *n->writes_end = w;
    n->writes_end = &w->next;
}

int disk_write(struct node *n, const void *p, size_t size, int64_t at)
{
    int go = op();

    if (go >= 0 && size)
        write_add(n, p, size, at);
    return go > 0 ? 0 : -1;
}

int disk_truncate(struct node *n, int64_t size)
{
    int go = op();

    if (go >= 0)
        write_add(n, NULL, 0, size);
    return go > 0 ? 0 : -1;
}

/* ---- making pending changes durable, wholly or in part ---- */

static void bytes_resize(struct bytes *b, size_t n, bool garbage)
{
    if (n > b->n) {
        b->p = mem_resize(b->p, n);
        for (size_t i = b->n; i < n; i++)
            b->p[i] = garbage ? (uint8_t)rng_u32(&disk.rng) : 0;
    }
    b->n = n;
}

/* Applies w; when `torn`, only the sectors and the length that chance keeps. */
static void write_apply(struct bytes *b, const struct write *w, bool torn)
{
    size_t end = (size_t)w->at + w->n;

    if (!w->data) {
        if (!torn || kept(disk.keep_names))
            bytes_resize(b, (size_t)w->at, false);
        return;
    }
    if (end > b->n && (!torn || kept(disk.keep_names)))
        bytes_resize(b, end, torn && kept(0.5));
    for (size_t at = (size_t)w->at, next = 0; at < end; at = next) {
        next = MIN(end, (at / SECTOR + 1) * SECTOR);
        if (torn && !kept(disk.keep_data))
            continue;
        if (next > b->n)
            bytes_resize(b, next, false);
        memcpy(b->p + at, w->data + (at - (size_t)w->at), next - at);
    }
}

static void writes_drop(struct node *n)
{
    for (struct write *w = n->writes, *next = NULL; w; w = next) {
        next = w->next;
        mem_free(w->data);
        mem_free(w);
    }
    n->writes = NULL;
    n->writes_end = &n->writes;
}

static void entry_make_durable(struct entry *e)
{
    if (e->is_durable)
        return;
    if (e->needs)
        entry_make_durable(e->needs);
    e->is_durable = true;
    entry_set(&e->folder->was, e->name, e->node);
}

int disk_sync(struct node *n, enum powercut_omit as)
{
    if (op() <= 0)
        return -1;
    if (as != OMIT_NONE && as == disk.omit)
        return 0;
    for (struct write *w = n->writes; w; w = w->next)
        write_apply(&n->durable, w, false);
    writes_drop(n);
    for (struct entry *e = n->changes; e; e = e->next)
        entry_make_durable(e);
    n->changes = NULL;
    n->changes_end = &n->changes;
    return 0;
}

int disk_sync_parent(const char *path)
{
    const char *name = NULL;
    struct node *dir = parent_of(path, &name);

    return dir ? disk_sync(dir, OMIT_NONE) : 0;
}

static bool entry_kept(struct entry *e)
{
    if (e->is_durable)
        return true;
    if (e->kept == 0)
        e->kept = kept(disk.keep_names) && (!e->needs || entry_kept(e->needs)) ? 1 : -1;
    return e->kept > 0;
}

static void node_write_out(struct node *n, const char *path) // NOLINT(misc-no-recursion)
{
    char sub[PATH_MAX];

    if (!n->is_dir) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        for (struct write *w = n->writes; w; w = w->next)
            write_apply(&n->durable, w, true);
        CHECK(fd >= 0 && write(fd, n->durable.p, n->durable.n) == (ssize_t)n->durable.n);
        close(fd);
        return;
    }
    CHECK(mkdir(path, 0700) == 0);
    for (struct entry *e = n->changes; e; e = e->next) {
        if (!e->is_durable && entry_kept(e))
            entry_set(&n->was, e->name, e->node);
    }
    for (struct entry *e = n->was; e; e = e->next) {
        if (e->node && snprintf(sub, sizeof sub, "%s/%s", path, e->name) < (int)sizeof sub)
            node_write_out(e->node, sub);
    }
}

/* ---- the io table ---- */

static int on_open(const char *given, int flags, mode_t mode)
{
    char real[PATH_MAX];
    const char *path = strstr(given, "/..") && realpath(given, real) ? real : given;
    struct node *n = disk_find(path);
    int fd = -1;

    if (disk.is_cut) {
        errno = EIO;
        return -1;
    }
    fd = io_system.open(path, flags, mode);
    if (fd < 0 || fd >= FDS || strncmp(path, disk.root, disk.root_len) != 0)
        return fd;
    if (!n && !(n = disk_create(path))) {
        io_system.close(fd);
        errno = EIO;
        return -1;
    }
    disk.fds[fd] = n;
    snprintf(disk.fd_path[fd], sizeof disk.fd_path[fd], "%s", path + disk.root_len);
    if ((flags & O_TRUNC) && !n->is_dir)
        write_add(n, NULL, 0, 0);
    return fd;
}

static ssize_t on_pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (disk.fds[fd] && disk_write(disk.fds[fd], p, n, at) < 0) {
        errno = EIO;
        return -1;
    }
    return io_system.pwrite(fd, p, n, at);
}

static int on_fsync(int fd)
{
    struct node *n = disk.fds[fd];
    const char *path = disk.fd_path[fd];
    enum powercut_omit as = OMIT_NONE;

    if (!n)
        return 0;
    if (!n->is_dir && strstr(path, "/uploads/"))
        as = OMIT_BLOB_FILE;
    else if (n->is_dir && strstr(path, "/blobs/"))
        as = OMIT_BLOB_FOLDER;
    else if (n->is_dir && strstr(path, "/blobs"))
        as = OMIT_BLOBS;
    else if (n == disk.top)
        as = OMIT_PARENT;
    if (disk_sync(n, as) == 0)
        return 0;
    errno = EIO;
    return -1;
}

static int on_close(int fd)
{
    disk.fds[fd] = NULL;
    return io_system.close(fd);
}

static int on_rename(const char *from, const char *to)
{
    if (disk_rename(from, to) == 0)
        return io_system.rename(from, to);
    errno = EIO;
    return -1;
}

static int on_unlink(const char *path)
{
    if (!disk_find(path))
        return io_system.unlink(path);
    if (disk_unlink(path) == 0)
        return io_system.unlink(path);
    errno = EIO;
    return -1;
}

static int on_mkdir(const char *path, mode_t mode)
{
    const char *name = NULL;

    if (disk_find(path)) {
        errno = EEXIST;
        return -1;
    }
    if (!parent_of(path, &name))
        return io_system.mkdir(path, mode);
    if (create(path, true))
        return io_system.mkdir(path, mode);
    errno = EIO;
    return -1;
}

static const struct io_ops io_disk = { on_open,   on_pwrite, on_fsync, on_close,
                                       on_rename, on_unlink, on_mkdir };

/* ---- begin, reboot, end ---- */

/* Everything under `path` as durable. SQLite's shared memory and the lock are no data. */
static struct node *node_load(const char *path) // NOLINT(misc-no-recursion)
{
    struct node *n = node_new(true);
    struct dirent **list = NULL;
    char sub[PATH_MAX];
    int count = scandir(path, &list, NULL,
                        alphasort); /* sorted, so that a seed means the same every time */

    CHECK(count >= 0);
    for (int i = 0; i < count; i++) {
        struct dirent *e = list[i];
        struct node *child = NULL;
        struct buf text;

        if (e->d_name[0] == '.' || strstr(e->d_name, "-shm") || strcmp(e->d_name, "lock") == 0)
            continue;
        CHECK(snprintf(sub, sizeof sub, "%s/%s", path, e->d_name) < (int)sizeof sub);
        if (e->d_type == DT_DIR) {
            child = node_load(sub);
        } else {
            child = node_new(false);
            CHECK(io_read_file(sub, (size_t)1 << 30, &text, NULL) == 0);
            child->durable.n = text.len;
            child->durable.p = (uint8_t *)buf_take(&text, NULL);
        }
        entry_set(&n->now, e->d_name, child);
        entry_set(&n->was, e->d_name, child);
    }
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
    return n;
}

void powercut_begin(const char *root, uint64_t seed, int64_t cut_at, enum powercut_omit omit)
{
    static const double chances[] = { 0, 0.1, 0.5, 0.9, 1 };

    CHECK(!disk.is_on);
    memset(&disk, 0, sizeof disk); /* files of the last disk have been closed */
    CHECK(realpath(root, disk.root));
    disk.root_len = strlen(disk.root);
    disk.top = node_load(disk.root);
    disk.cut_at = cut_at;
    disk.omit = omit;
    rng_init(&disk.rng, seed, 77);
    disk.keep_data = chances[rng_below(&disk.rng, ARRAY_LEN(chances))];
    disk.keep_names = chances[rng_below(&disk.rng, ARRAY_LEN(chances))];
    disk.is_on = true;
    io = &io_disk;
    powercut_vfs_register();
}

void powercut_end(void)
{
    CHECK(disk.is_on);
    disk.is_on = false;
    for (struct node *n = disk.nodes, *next = NULL; n; n = next) {
        next = n->next_made;
        writes_drop(n);
        mem_free(n->durable.p);
        mem_free(n);
    }
    for (struct entry *e = disk.entries, *next = NULL; e; e = next) {
        next = e->next_made;
        mem_free(e);
    }
    io = &io_system;
    powercut_vfs_unregister();
}

void powercut_reboot(void)
{
    char root[PATH_MAX];

    CHECK(disk.is_on);
    snprintf(root, sizeof root, "%s", disk.root);
    CHECK(io_remove_tree(root, NULL) == 0);
    node_write_out(disk.top, root);
    powercut_end();
}
