/* blob_row.c - rows of blobs, and collection of what nobody names.
 *
 * A file may go only when the *committed* state has no row for it, since a turn may still fail; and only when it is old,
 * since an upload is committed before the row that names it. So collection removes files first, and rows after: the files
 * of rows dropped now go in a later turn's collection. Belongs to the loop's thread. */
#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/blob.h"
#include "store/blob_dir.h"
#include "store/query.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { UPLOAD_AGE_MS = 24 * 3600 * 1000 };

int store_blob_add(struct store *s, const char *sha256, int64_t bytes, const char *kind,
                   struct err *err)
{
    struct query q;

    CHECK(bytes >= 0 && kind);
    if (!sha256 || !str_sha256_ok(sha256))
        return err_set(err, ERR_ARG, "a hash is 64 lower-case hexadecimal digits");
    q = query_open(s, SQL_BLOB_ADD);
    query_text(&q, ":sha256", sha256);
    query_i64(&q, ":bytes", bytes);
    query_text(&q, ":kind", kind);
    query_i64(&q, ":at", clk_wall_ms(s->clk));
    return query_run(&q, err) < 0 ? err_wrap(err, "blob") : 0;
}

int store_blob_has(struct store *s, const char *sha256, int64_t *bytes, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_GET);
    int rc = 0;

    query_text(&q, ":sha256", sha256);
    rc = query_step(&q, err);
    if (rc == 1 && bytes)
        *bytes = query_col_i64(&q, 0);
    query_close(&q);
    return rc;
}

int store_blob_total(struct store *s, int64_t *count, int64_t *bytes, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_TOTAL);
    int rc = query_step(&q, err);

    CHECK(rc != 0);
    if (rc == 1) {
        *count = query_col_i64(&q, 0);
        *bytes = query_col_i64(&q, 1);
    }
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

static int64_t mtime_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* Removes the file if it is still old; a commit may just have renamed a new one over it. */
static int remove_old(const char *path, int64_t before, int64_t *bytes, struct err *err)
{
    struct stat st;
    int rc = 0;

    pthread_mutex_lock(&blob_dir_lock);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && mtime_ms(&st) < before) {
        rc = FAULT("blob.unlink") ? (errno = EIO, -1) : io->unlink(path);
        if (rc == 0)
            *bytes += (int64_t)st.st_size;
        else
            rc = errno == ENOENT ? 0 : err_errno(err, "remove %s", path);
    }
    pthread_mutex_unlock(&blob_dir_lock);
    return rc;
}

/* Files of one folder that no row names and that are older than `before`. s NULL: no file here has a row. */
static int folder_collect(struct store *s, const char *folder, int64_t before, int64_t *bytes,
                          struct err *err)
{
    DIR *d = FAULT("blob.opendir") ? (errno = EMFILE, NULL) : opendir(folder);
    char path[PATH_MAX];
    int rc = 0;

    if (!d)
        return errno == ENOENT ? 0 : err_errno(err, "open %s", folder);
    for (struct dirent *e = NULL; rc == 0 && (e = readdir(d));) {
        int has = 0;

        if (e->d_name[0] == '.')
            continue;
        if (s && str_sha256_ok(e->d_name))
            has = store_blob_has(s, e->d_name, NULL, err);
        if (has < 0)
            rc = -1;
        else if (has == 0 &&
                 snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
            rc = remove_old(path, before, bytes, err);
    }
    closedir(d);
    return rc;
}

static int files_collect(struct store *s, const char *dir, int64_t min_age_ms, int64_t *bytes,
                         struct err *err)
{
    int64_t now = clk_wall_ms(s->clk);
    char folder[PATH_MAX];

    for (int i = 0; i < 256; i++) {
        if (snprintf(folder, sizeof folder, "%s/blobs/%02x", dir, (unsigned)i) >=
            (int)sizeof folder)
            return err_set(err, ERR_TOOBIG, "the folder's path is too long");
        if (folder_collect(s, folder, now - min_age_ms, bytes, err) < 0)
            return -1;
    }
    snprintf(folder, sizeof folder, "%s/uploads", dir);
    return folder_collect(NULL, folder, now - UPLOAD_AGE_MS, bytes, err);
}

int store_blob_collect(struct store *s, const char *dir, int64_t min_age_ms, int64_t *bytes,
                       struct err *err)
{
    struct query q;
    int n = 0;

    CHECK(min_age_ms >= 0);
    *bytes = 0;
    /* What this turn has dropped may still come back, so its files are left alone until it is committed. */
    if (!s->blob_rows_dropped && files_collect(s, dir, min_age_ms, bytes, err) < 0)
        return err_wrap(err, "collect");
    q = query_open(s, SQL_BLOB_DROP_UNNAMED);
    query_i64(&q, ":before", clk_wall_ms(s->clk) - min_age_ms);
    n = query_run(&q, err);
    if (n < 0)
        return err_wrap(err, "collect");
    s->blob_rows_dropped |= n > 0;
    return 0;
}
