/* tar.c - see tar.h. A member is a block of 512 bytes that describes it (POSIX.1-2017, pax, "ustar
 * Interchange Format"), its bytes, and zeros up to the next block. Called by images.c. */
#include "ml/read/tar.h"

#include "base/base.h"
#include "base/str.h"
#include "base/utf8.h"

#include <string.h>

/* Places of the fields in a block. */
enum { AT_NAME = 0, AT_SIZE = 124, AT_SUM = 148, AT_TYPE = 156, AT_MAGIC = 257, AT_PREFIX = 345 };
enum { NAME_BYTES = 100, SIZE_BYTES = 12, SUM_BYTES = 8, PREFIX_BYTES = 155 };
/* a name of its own, or pax records */
enum { EXTRA_MAX = 1 << 16 };

/* An octal number, or with the high bit set a number to the base 256 (GNU). -1 = it is none. */
static int64_t number_of(const uint8_t *p, int n)
{
    int64_t v = 0;
    int i = 0;

    if (*p & 0x80) {
        for (v = *p & 0x7f, i = 1; i < n; i++) {
            if (v >> 54)
                return -1;
            v = v << 8 | p[i];
        }
        return v;
    }
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v << 3 | (p[i] - '0');
    return i == n || p[i] == ' ' || p[i] == 0 ? v : -1;
}

static bool sum_is_right(const uint8_t *block)
{
    int64_t sum = 0;

    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= AT_SUM && i < AT_SUM + SUM_BYTES ? ' ' : block[i];
    return number_of(block + AT_SUM, SUM_BYTES) == sum;
}

bool tar_is(const uint8_t *block, long n)
{
    return n == TAR_BLOCK && memcmp(block + AT_MAGIC, "ustar", 5) == 0 && sum_is_right(block);
}

static void name_take(struct tar *t, const uint8_t *block)
{
    const char *name = (const char *)block + AT_NAME, *prefix = (const char *)block + AT_PREFIX;
    size_t n = strnlen(name, NAME_BYTES), p = strnlen(prefix, PREFIX_BYTES), at = 0;

    /* GNU's own form ("ustar  ") has no prefix */
    if (p > 0 && block[AT_MAGIC + 5] == '\0') {
        memcpy(t->name, prefix, p);
        t->name[p] = '/';
        at = p + 1;
    }
    memcpy(t->name + at, name, n);
    t->name[at + n] = '\0';
}

/* The value of "path" in pax records, each "LENGTH KEY=VALUE\n". */
static void pax_name(struct tar *t, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t len = 0, digits = at;
        while (digits < n && text[digits] >= '0' && text[digits] <= '9' && len <= n)
            len = len * 10 + (size_t)(text[digits++] - '0');
        if (len == 0 || len > n - at || digits >= at + len || text[digits] != ' ')
            return;
        const char *record = text + digits + 1;
        size_t bytes = at + len - digits - 1;
        if (bytes > 6 && memcmp(record, "path=", 5) == 0 && bytes - 6 < TAR_MAX_NAME) {
            memcpy(t->name, record + 5, bytes - 6);
            t->name[bytes - 6] = '\0';
        }
        at += len;
    }
}

/* A member that only describes the next one: a long name ('L'), or pax records ('x'). */
static int extra_take(struct tar *t, uint8_t type, bool *has_name, struct err *err)
{
    char text[EXTRA_MAX + 1];

    if (t->left > EXTRA_MAX)
        return err_set(err, ERR_ARG, "%s: a name in this archive is too long", t->feed->name);
    long n = (long)t->left;
    if (feed_exact(t->feed, text, (size_t)n, "names", err) < 0)
        return -1;
    t->left = 0;
    text[n] = '\0';
    if (type == 'L')
        str_copy(t->name, sizeof t->name, text);
    else
        pax_name(t, text, (size_t)n);
    *has_name = t->name[0] != '\0';
    return 0;
}

/* 1 = a block, 0 = the end, -1 = error. */
static int block_next(struct tar *t, uint8_t block[TAR_BLOCK], struct err *err)
{
    if (feed_skip(t->feed, t->left + t->padding, "files", err) < 0)
        return -1;
    t->left = t->padding = 0;
    long n = feed_read(t->feed, block, TAR_BLOCK, err);
    if (n < 0)
        return -1;
    if (n == 0 || (n < TAR_BLOCK && t->feed->may_be_cut))
        return 0;
    if (n == TAR_BLOCK && block[0] == 0)
        return 0;
    if (!tar_is(block, n))
        return err_set(err, ERR_ARG, "%s: this archive is damaged after \"%.100s\"", t->feed->name,
                       t->name);
    int64_t size = number_of(block + AT_SIZE, SIZE_BYTES);
    if (size < 0)
        return err_set(err, ERR_ARG, "%s: a file in this archive has no size", t->feed->name);
    t->size = t->left = size;
    t->padding = -size & (TAR_BLOCK - 1);
    return 1;
}

int tar_next(struct tar *t, struct err *err)
{
    uint8_t block[TAR_BLOCK];
    bool has_name = false;
    int rc;

    while ((rc = block_next(t, block, err)) > 0) {
        uint8_t type = block[AT_TYPE];
        if (type == 'L' || type == 'x') {
            t->name[0] = '\0';
            if (extra_take(t, type, &has_name, err) < 0)
                return -1;
            continue;
        }
        if (!has_name)
            name_take(t, block);
        has_name = false;
        if (!utf8_ok(t->name, strlen(t->name)))
            return err_set(err, ERR_ARG, "%s: the name of a file in this archive is not UTF-8",
                           t->feed->name);
        if (type == '0' || type == '\0')
            return 1;
    }
    return rc;
}

long tar_source(void *ctx, void *out, size_t n, struct err *err)
{
    struct tar *t = ctx;
    long got = feed_read(t->feed, out, (size_t)MIN((int64_t)n, t->left), err);

    if (got < 0)
        return -1;
    t->left -= got;
    if ((size_t)got < n && t->left > 0 && !t->feed->may_be_cut)
        return err_set(err, ERR_ARG, "%s: the archive ends within \"%.100s\"", t->feed->name,
                       t->name);
    return got;
}
