/* imagepack.c - see imagepack.h. The archive is written to a private folder (tempdir.h) in the
 * POSIX ustar form, with GNU's long names where they are needed. Called by study_run.c, specfile.c,
 * modelfile.c and baseline.c. */
#include "cli/imagepack.h"

#include "base/base.h"
#include "base/gz.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/read/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, NAME_BYTES = 100, MOST_DEPTH = 8, PATH_BYTES = 4096 };
/* The most that a size of 11 octal digits can say; stands for a file that was cut. */
#define SIZE_MOST ((INT64_C(1) << 33) - 1)

struct packing {
    FILE *out;
    const char *path;
    int64_t written, most;
};

/* ---- the archive ---- */

static void block_fill(uint8_t block[BLOCK], const char *name, char type, int64_t size)
{
    unsigned sum = 0;
    char digits[16];

    memset(block, 0, BLOCK);
    memcpy(block, name, MIN(strlen(name), NAME_BYTES));
    memcpy(block + 100, "0000644", 8);
    memcpy(block + 108, "0000000", 8);
    memcpy(block + 116, "0000000", 8);
    (void)snprintf(digits, sizeof digits, "%011llo", (unsigned long long)size);
    memcpy(block + 124, digits, 12);
    memcpy(block + 136, "00000000000", 12);
    memcpy(block + 148, "        ", 8);
    block[156] = (uint8_t)type;
    memcpy(block + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++)
        sum += block[i];
    (void)snprintf(digits, sizeof digits, "%06o", sum);
    memcpy(block + 148, digits, 7);
}

static int put(struct packing *p, const void *bytes, size_t n, struct err *err)
{
    if (fwrite(bytes, 1, n, p->out) != n)
        return err_errno(err, "%s", p->path);
    p->written += (int64_t)n;
    return 0;
}

static int pad(struct packing *p, struct err *err)
{
    static const uint8_t zeros[BLOCK];

    return put(p, zeros, (size_t)(-p->written & (BLOCK - 1)), err);
}

static int long_name(struct packing *p, const char *name, struct err *err)
{
    uint8_t block[BLOCK];
    size_t n = strlen(name) + 1;

    block_fill(block, "././@LongLink", 'L', (int64_t)n);
    return put(p, block, BLOCK, err) < 0 || put(p, name, n, err) < 0 ? -1 : pad(p, err);
}

/* Copies a file, unpacked; its size is written into its block afterwards. 1 = the archive is as
 * long as it may be. */
static int file_put(struct packing *p, const char *file, const char *name, struct err *err)
{
    char part[1 << 16];
    uint8_t block[BLOCK];
    struct gz *g = gz_open(file, err);
    long n = 0;

    if (!g)
        return -1;
    if (strlen(name) > NAME_BYTES && long_name(p, name, err) < 0)
        goto fail;
    int64_t at = p->written;
    block_fill(block, name, '0', 0);
    if (put(p, block, BLOCK, err) < 0)
        goto fail;
    bool is_cut = false;
    while (!is_cut && (n = gz_read(g, part, sizeof part, err)) > 0) {
        if (put(p, part, (size_t)n, err) < 0)
            goto fail;
        is_cut = p->most > 0 && p->written >= p->most;
    }
    if (n < 0) {
        err_wrap(err, "%s", file);
        goto fail;
    }
    block_fill(block, name, '0', is_cut ? SIZE_MOST : p->written - at - BLOCK);
    if (fseeko(p->out, at, SEEK_SET) < 0 || fwrite(block, 1, BLOCK, p->out) != BLOCK ||
        fseeko(p->out, 0, SEEK_END) < 0) {
        err_errno(err, "%s", p->path);
        goto fail;
    }
    gz_close(g);
    return is_cut ? 1 : pad(p, err);
fail:
    gz_close(g);
    return -1;
}

static int archive_end(struct packing *p, struct err *err)
{
    static const uint8_t zeros[2 * BLOCK];

    return put(p, zeros, sizeof zeros, err);
}

/* ---- arrays ---- */

bool image_pack_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The dimensions of an array; 0 = the file holds none. Pipes are left alone: what is read of them
 * is gone. */
static int dimensions_of(const char *file)
{
    struct err ignored = { 0 };
    struct stat st;
    struct gz *g = stat(file, &st) == 0 && S_ISREG(st.st_mode) ? gz_open(file, &ignored) : NULL;
    struct feed f = { .source = gz_source, .ctx = g, .name = file };
    struct array a;
    int n = g && array_head(&f, &a, &ignored) == 0 ? a.n_dims : 0;

    gz_close(g);
    return n;
}

bool image_pack_is(const char *file)
{
    return image_pack_folder(file) || dimensions_of(file) >= 3;
}

/* Replaces the last `a` of a file's own name; false = there is none. */
static bool replace(char *path, size_t size, const char *a, const char *b)
{
    char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *at = NULL, *p = base;
    char rest[PATH_BYTES];

    while ((p = strstr(p, a)) != NULL)
        at = p++;
    if (!at)
        return false;
    str_copy(rest, sizeof rest, at + strlen(a));
    (void)!snprintf(at, size - (size_t)(at - path), "%s%s", b, rest);
    return true;
}

static bool exists(char *path, size_t size)
{
    size_t n = strlen(path);

    if (access(path, R_OK) == 0)
        return true;
    if (str_ends(path, ".gz"))
        path[n - 3] = '\0';
    else if (n + 4 < size)
        memcpy(path + n, ".gz", 4);
    return access(path, R_OK) == 0;
}

bool image_pack_labels(const char *file, char *out, size_t size)
{
    str_copy(out, size, file);
    if (replace(out, size, "images", "labels")) {
        (void)(replace(out, size, "idx3", "idx1") || replace(out, size, "idx4", "idx1"));
        return exists(out, size);
    }
    char *base = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
    if (*base != 'x' && *base != 'X') {
        str_copy(out, size, "a file with \"labels\" for \"images\" in its name");
        return false;
    }
    bool is_upper = *base == 'X';
    *base = 'y';
    if (exists(out, size))
        return true;
    str_copy(out, size, file);
    *base = 'Y';
    return is_upper && exists(out, size);
}

static int pack_array(struct packing *p, const char *file, struct err *err)
{
    char labels[PATH_BYTES];
    int rc = 0;

    if (image_pack_labels(file, labels, sizeof labels))
        rc = file_put(p, labels, strrchr(labels, '/') ? strrchr(labels, '/') + 1 : labels, err);
    if (rc == 0)
        rc = file_put(p, file, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, err);
    return rc;
}

/* ---- folders ---- */

struct listed {
    char *path; /* below the folder */
    int turn;   /* its place among the files of its own folder */
};

struct listing {
    struct listed *files;
    int64_t n, cap;
};

static int by_path(const void *va, const void *vb)
{
    const struct listed *a = va, *b = vb;

    return strcmp(a->path, b->path);
}

static int by_turn(const void *va, const void *vb)
{
    const struct listed *a = va, *b = vb;

    return a->turn != b->turn ? (a->turn < b->turn ? -1 : 1) : strcmp(a->path, b->path);
}

static int list(struct listing *l, const char *folder, const char *below, int depth,
                struct err *err);

static int list_one(struct listing *l, const char *folder, const char *below, const char *name,
                    int depth, struct err *err)
{
    char path[PATH_BYTES], full[PATH_BYTES];
    struct stat st;

    int n = snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", name);
    int m = snprintf(full, sizeof full, "%s/%s", folder, path);
    if (n >= (int)sizeof path || m >= (int)sizeof full)
        return err_set(err, ERR_TOOBIG, "%s: a path in this folder is too long", folder);
    if (stat(full, &st) < 0)
        return err_errno(err, "%s", full);
    if (S_ISDIR(st.st_mode))
        return depth < MOST_DEPTH
                   ? list(l, folder, path, depth + 1, err)
                   : err_set(err, ERR_ARG, "%s: folders within are nested over %d deep", folder,
                             MOST_DEPTH);
    if (!S_ISREG(st.st_mode))
        return 0;
    MEM_GROW(l->files, l->n, l->cap);
    l->files[l->n++] = (struct listed){ mem_strdup(path), 0 };
    return 0;
}

static int list(struct listing *l, const char *folder, const char *below, int depth,
                struct err *err)
{
    char full[PATH_BYTES];
    int rc = 0;

    (void)!snprintf(full, sizeof full, "%s%s%s", folder, *below ? "/" : "", below);
    DIR *d = opendir(full);
    if (!d)
        return err_errno(err, "%s", full);
    struct dirent *e;
    while (rc == 0 && (e = readdir(d)) != NULL) {
        if (e->d_name[0] != '.')
            rc = list_one(l, folder, below, e->d_name, depth, err);
    }
    closedir(d);
    return rc;
}

/* The files of each folder in turn. */
static void take_turns(struct listing *l)
{
    qsort(l->files, (size_t)l->n, sizeof *l->files, by_path);
    for (int64_t i = 1; i < l->n; i++) {
        const char *a = l->files[i - 1].path, *b = l->files[i].path;
        size_t na = strrchr(a, '/') ? (size_t)(strrchr(a, '/') - a) : 0,
               nb = strrchr(b, '/') ? (size_t)(strrchr(b, '/') - b) : 0;
        if (na == nb && memcmp(a, b, na) == 0)
            l->files[i].turn = l->files[i - 1].turn + 1;
    }
    qsort(l->files, (size_t)l->n, sizeof *l->files, by_turn);
}

static int pack_folder(struct packing *p, const char *folder, struct err *err)
{
    struct listing l = { 0 };
    char full[PATH_BYTES];
    int rc = list(&l, folder, "", 0, err);

    if (rc == 0 && l.n == 0)
        rc = err_set(err, ERR_ARG, "%s: the folder is empty", folder);
    if (rc == 0)
        take_turns(&l);
    for (int64_t i = 0; i < l.n && rc == 0; i++) {
        (void)!snprintf(full, sizeof full, "%s/%s", folder, l.files[i].path);
        rc = file_put(p, full, l.files[i].path, err);
    }
    for (int64_t i = 0; i < l.n; i++)
        mem_free(l.files[i].path);
    mem_free(l.files);
    return rc;
}

/* ---- both ---- */

int image_pack_open(struct image_pack *p, const char *file, int64_t most_bytes, struct err *err)
{
    struct packing a = { .path = p->path, .most = most_bytes };

    *p = (struct image_pack){ 0 };
    if (!image_pack_is(file)) {
        str_copy(p->path, sizeof p->path, file);
        return 0;
    }
    if (tempdir_make(&p->temp, sizeof p->temp.path, err) < 0)
        return -1;
    (void)!snprintf(p->path, sizeof p->path, "%s/images.tar", p->temp.path);
    a.out = fopen(p->path, "wxe");
    int rc = a.out ? 0 : err_errno(err, "%s", p->path);
    if (rc == 0)
        rc = image_pack_folder(file) ? pack_folder(&a, file, err) : pack_array(&a, file, err);
    if (rc == 0)
        rc = archive_end(&a, err);
    if (a.out && fclose(a.out) != 0 && rc >= 0)
        rc = err_errno(err, "%s", p->path);
    if (rc >= 0)
        return 0;
    image_pack_close(p);
    return -1;
}

void image_pack_close(struct image_pack *p)
{
    tempdir_end(&p->temp, false);
}
