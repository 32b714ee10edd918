/* blob_row.c - rows of blobs, and collection: the removal of blobs that no row names.
 *
 * The table blob_loose lists the blobs that may be unnamed; triggers keep it up to date
 * (migrations/003_loose_blobs.sql). Whether running work may still come to name one of them is
 * decided by the caller's judge. A file is removed only under two conditions:
 *   - the committed database has no row for it, because the current turn may still be undone;
 *   - it is unchanged since it was looked at, because the same bytes may be uploaded again meanwhile.
 * So each call removes files first and deletes rows afterwards; the files of the rows that it
 * deletes are removed by a later turn's call. No age is taken from the wall clock, which may jump.
 * Called on the loop's thread: the row functions by whatever stores a blob, collection by the
 * controller's housekeeping. */
#include "base/fault.h"
#include "base/io.h"
#include "base/known.h"
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

enum { LOOSE_AT_ONCE = 512 }; /* rows per call, so that collection is a short part of a turn */

struct blob_gone {
    char sha256[SHA256_HEX];
    struct file_mark mark;
};

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

int store_blob_own(struct store *s, const char *sha256, const char *owner, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_OWN);

    query_text(&q, ":sha256", sha256);
    query_text(&q, ":owner", owner);
    return query_run(&q, err) < 0 ? err_wrap(err, "blob") : 0;
}

int store_blob_owner(struct store *s, const char *sha256, char *owner, size_t size, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_OWNER);
    int rc = 0;

    query_text(&q, ":sha256", sha256);
    rc = query_step(&q, err);
    str_copy(owner, size, rc == 1 ? query_col_text(&q, 0) : "");
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

int store_blob_owned(struct store *s, const char *owner, int64_t *bytes, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_OWNED);
    int rc = 0;

    query_text(&q, ":owner", owner);
    rc = query_step(&q, err);
    if (rc == 1)
        *bytes = query_col_i64(&q, 0);
    query_close(&q);
    return rc < 0 ? -1 : 0;
}

/* ---- files ---- */

/* Removes the file unless it has changed since `mark` was taken: a commit may have put a new file in
 * its place. */
static int remove_same(const char *path, const struct file_mark *mark, int64_t *bytes,
                       struct err *err)
{
    struct file_mark now;
    int rc = 0;

    pthread_mutex_lock(&blob_dir_lock);
    if (file_mark_get(path, &now) && file_mark_same(&now, mark)) {
        rc = FAULT("blob.unlink") ? (errno = EIO, -1) : io->unlink(path);
        if (rc == 0)
            *bytes += now.bytes;
        else
            rc = errno == ENOENT ? 0 : err_errno(err, "remove %s", path);
    }
    pthread_mutex_unlock(&blob_dir_lock);
    return rc;
}

/* Removes the files of rows whose deletion is now committed. A blob that was added again in the
 * meantime has a row and keeps its file. */
static int gone_collect(struct store *s, const char *dir, int64_t *bytes, struct err *err)
{
    char path[PATH_MAX];

    while (s->n_gone > 0) {
        const struct blob_gone *g = &s->gone[s->n_gone - 1];
        int has = store_blob_has(s, g->sha256, NULL, err);

        if (has < 0)
            return -1;
        if (has == 0 && blob_path(dir, g->sha256, path, sizeof path, NULL) == 0 &&
            remove_same(path, &g->mark, bytes, err) < 0)
            return -1;
        s->n_gone--;
    }
    return 0;
}

/* Removes the files of one folder that have no row. They are left over when the process ended after
 * a file was renamed into place and before its row was committed. */
static int folder_collect(struct store *s, const char *folder, const struct blob_judge *judge,
                          int64_t *bytes, struct err *err)
{
    DIR *d = FAULT("blob.opendir") ? (errno = EMFILE, NULL) : opendir(folder);
    struct file_mark mark;
    char path[PATH_MAX];
    int rc = 0;

    if (!d)
        return errno == ENOENT ? 0 : err_errno(err, "open %s", folder);
    for (struct dirent *e = NULL; rc == 0 && (e = readdir(d));) {
        int has = 0;

        if (e->d_name[0] == '.')
            continue;
        if (str_sha256_ok(e->d_name))
            has = store_blob_has(s, e->d_name, NULL, err);
        if (has < 0)
            rc = -1;
        else if (has == 0 &&
                 snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path &&
                 file_mark_get(path, &mark) && judge->file_may_go(judge->arg, e->d_name, &mark))
            rc = remove_same(path, &mark, bytes, err);
    }
    closedir(d);
    return rc;
}

/* Looks at the next few folders and remembers where to go on. */
static int folders_collect(struct store *s, const char *dir, const struct blob_judge *judge,
                           int64_t *bytes, struct err *err)
{
    char folder[PATH_MAX];

    for (int i = 0; i < BLOB_FOLDERS_AT_ONCE; i++) {
        if (snprintf(folder, sizeof folder, "%s/blobs/%02x", dir, (unsigned)s->folder) >=
            (int)sizeof folder)
            return err_set(err, ERR_TOOBIG, "the folder's path is too long");
        if (folder_collect(s, folder, judge, bytes, err) < 0)
            return -1;
        s->folder = (s->folder + 1) % BLOB_FOLDERS;
    }
    return 0;
}

/* ---- rows ---- */

static int drop(struct store *s, const char *dir, const char *sha256, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_DROP);
    struct blob_gone g = { 0 };
    char path[PATH_MAX];

    query_text(&q, ":sha256", sha256);
    if (query_run(&q, err) < 0)
        return -1;
    s->dropped_in = s->n_commits + 1; /* the open turn's */
    if (blob_path(dir, sha256, path, sizeof path, NULL) < 0 || !file_mark_get(path, &g.mark))
        return 0; /* there is no file to remove later */
    str_copy(g.sha256, sizeof g.sha256, sha256);
    MEM_GROW(s->gone, s->n_gone, s->cap_gone);
    s->gone[s->n_gone++] = g;
    return 0;
}

struct loose {
    char sha256[SHA256_HEX];
    bool was_named, is_named;
};

/* Reads the next part of the table, after the hash where the last call ended. After the end of the
 * table the next call begins at its start. */
static int loose_read(struct store *s, struct loose *list, int *n, struct err *err)
{
    struct query q = query_open(s, SQL_BLOB_LOOSE);
    int rc = 0;

    *n = 0;
    query_text(&q, ":after", s->loose_after);
    query_i64(&q, ":limit", LOOSE_AT_ONCE);
    while ((rc = query_step(&q, err)) == 1) {
        struct loose *l = &list[(*n)++];

        str_copy(l->sha256, sizeof l->sha256, query_col_text(&q, 0));
        l->was_named = query_col_i64(&q, 1) != 0;
        l->is_named = query_col_i64(&q, 2) != 0;
    }
    query_close(&q);
    str_copy(s->loose_after, sizeof s->loose_after, *n == LOOSE_AT_ONCE ? list[*n - 1].sha256 : "");
    return rc < 0 ? -1 : 0;
}

static int rows_collect(struct store *s, const char *dir, const struct blob_judge *judge,
                        struct err *err)
{
    struct loose *list = mem_array(LOOSE_AT_ONCE, sizeof *list);
    struct savepoint sp = { 0 };
    int n = 0, rc = loose_read(s, list, &n, err);

    if (rc == 0 && n > 0)
        rc = savepoint_open(&sp, s, err);
    for (int i = 0; i < n && rc == 0; i++) {
        if (list[i].is_named) {
            struct query q = query_open(s, SQL_BLOB_LOOSE_END);

            query_text(&q, ":sha256", list[i].sha256);
            rc = query_run(&q, err) < 0 ? -1 : 0;
        } else if (judge->row_may_go(judge->arg, list[i].sha256, list[i].was_named)) {
            rc = drop(s, dir, list[i].sha256, err);
        }
    }
    mem_free(list);
    if (rc < 0 || n == 0) {
        savepoint_undo(&sp);
        return rc;
    }
    return savepoint_keep(&sp, err);
}

int store_blob_collect(struct store *s, const char *dir, const struct blob_judge *judge,
                       int64_t *bytes, struct err *err)
{
    *bytes = 0;
    /* While this turn has deleted rows, the rows that are read are not the committed ones, so no
     * file is removed before the turn has been committed. */
    if (s->dropped_in <= s->n_durable &&
        (gone_collect(s, dir, bytes, err) < 0 || folders_collect(s, dir, judge, bytes, err) < 0))
        return err_wrap(err, "collect");
    return rows_collect(s, dir, judge, err) < 0 ? err_wrap(err, "collect") : 0;
}
