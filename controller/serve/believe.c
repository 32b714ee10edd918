/* believe.c - the checks of believe.h. The range of each metric is in problem/metric.c.
 *
 * Of a model file the head is read: it must have the right magic, and its table of sections must
 * fit the file's length. If the file is small, the checksum of every section is compared, too.
 * Hashing a large file would delay the loop; whoever loads it checks every length and checksum
 * (ml/model/artifact.c). What a section means is not looked at, because assayd does not contain the
 * engine. A runner that writes a well-formed file with a useless model in it is therefore not found
 * out here. */
#include "controller/serve/believe.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/str.h"
#include "controller/problem/metric.h"
#include "ml/model/artifact_head.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A metric that is a sum of rounded numbers may exceed its bound by a little. */
#define ROUNDING 1e-6

/* Models up to this size are hashed at once, which takes about a millisecond. */
enum { BODY_AT_ONCE = 1 << 20 };

static bool is_possible(const struct metric *m, double value)
{
    return isnan(value) || (value >= m->lo - ROUNDING && value <= m->hi + ROUNDING);
}

/* The standard error of a metric with two bounds is at most half of their distance. */
static bool is_error(const struct metric *m, double se)
{
    return isnan(se) || (se >= 0 && se <= (m->hi - m->lo) / 2 + ROUNDING);
}

const char *believe_scores(const struct study *st, const struct msg_event *e)
{
    const struct metric *m = st->problem.metric;

    if (!m)
        return NULL;
    if (!is_possible(m, e->value) || !is_possible(m, e->test_value))
        return "a score that is outside the range of the metric";
    if (!is_error(m, e->se) || !is_error(m, e->test_se))
        return "a standard error that the metric cannot have";
    return isinf(e->select_value) ? "a selection value that is infinite" : NULL;
}

/* Compares the checksum of every section with the one in the head. */
static int body_check(const char *path, const struct artifact_place places[SECTIONS],
                      struct err *err)
{
    struct buf bytes = { 0 };
    int rc = io_read_file(path, BODY_AT_ONCE, &bytes, err);

    for (int i = 0; i < SECTIONS && rc == 0; i++) {
        uint8_t digest[SHA256_BYTES];
        struct sha256 h;

        if (places[i].at > bytes.len || places[i].n > bytes.len - places[i].at) {
            rc = err_set(err, ERR_IO, "it became shorter while it was read");
            break;
        }
        sha256_init(&h);
        sha256_add(&h, bytes.data + places[i].at, (size_t)places[i].n);
        sha256_end(&h, digest);
        if (memcmp(digest, places[i].digest, sizeof digest) != 0)
            rc = err_set(err, ERR_ARG, "its section %.8s is damaged", artifact_section_names[i]);
    }
    buf_fini(&bytes);
    return rc;
}

int believe_model(struct ctl *ctl, const char *sha256, struct err *err)
{
    uint8_t head[ARTIFACT_HEAD_BYTES];
    struct artifact_place places[SECTIONS];
    char path[PATH_MAX];
    struct err why = { 0 };
    struct stat st;
    ssize_t n = -1;
    int fd = -1;

    if (ctl_blob_path(ctl, sha256, path, sizeof path, &why) < 0) {
        log_warn("model.refused blob=%.12s err=\"%s\"", sha256, why.text);
        return why.code == ERR_NOTFOUND ? 0 : err_set(err, why.code, "%s", why.text);
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0 || (n = pread(fd, head, sizeof head, 0)) < 0)
        err_errno(err, "read a model");
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return -1;
    if (artifact_head_read(head, (size_t)n, (uint64_t)st.st_size, places, &why) == 0 &&
        (st.st_size > BODY_AT_ONCE || body_check(path, places, &why) == 0))
        return 1;
    if (why.code == ERR_IO || why.code == ERR_NOMEM)
        return err_set(err, why.code, "%s", why.text);
    log_warn("model.refused blob=%.12s err=\"%s\"", sha256, why.text);
    return 0;
}
