/* believe.c - see believe.h. The range of each metric stands in metric.c; of a model's bytes only the head is read here, since
 * its size is not bounded by what a turn may take: whoever loads it checks every length and checksum (ml/model/artifact.c). */
#include "controller/serve/believe.h"

#include "base/log.h"
#include "base/str.h"
#include "controller/problem/metric.h"
#include "ml/model/artifact_head.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sums of rounded shares pass their bound by a little. */
#define ROUNDING 1e-6

static bool is_possible(const struct metric *m, double value)
{
    return isnan(value) || (value >= m->lo - ROUNDING && value <= m->hi + ROUNDING);
}

/* A standard error of a metric with two bounds is at most half their distance. */
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
        return "a score that its metric does not have";
    if (!is_error(m, e->se) || !is_error(m, e->test_se))
        return "a standard error that cannot be";
    return isinf(e->select_value) ? "a selection value that cannot be" : NULL;
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
    if (artifact_head_read(head, (size_t)n, (uint64_t)st.st_size, places, &why) == 0)
        return 1;
    log_warn("model.refused blob=%.12s err=\"%s\"", sha256, why.text);
    return 0;
}
