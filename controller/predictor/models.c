/* models.c - see models.h. A model's size in memory is measured while it is loaded, by how much the
 * process has grown, and is taken to be at least that of its file. Before a load there must be room
 * for GROWTH times the file. A model that turns out larger than all the room is kept alone. */
#include "controller/predictor/models.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#include <unistd.h>

enum { MODELS_MAX = 64, GROWTH = 3 };

struct model {
    char sha256[SHA256_HEX];
    struct artifact *artifact;
    int64_t bytes, used; /* used: number of the call that used it last */
};

struct models {
    int64_t max_bytes, bytes, calls;
    struct model list[MODELS_MAX];
    int n;
};

struct models *models_new(int64_t bytes)
{
    struct models *m = mem_zalloc(sizeof *m);

    m->max_bytes = bytes;
    return m;
}

static void drop(struct models *m, int i)
{
    artifact_close(m->list[i].artifact);
    m->bytes -= m->list[i].bytes;
    m->list[i] = m->list[--m->n];
}

void models_free(struct models *m)
{
    while (m && m->n > 0)
        drop(m, 0);
    mem_free(m);
}

static void drop_oldest(struct models *m)
{
    int oldest = 0;

    for (int i = 1; i < m->n; i++)
        if (m->list[i].used < m->list[oldest].used)
            oldest = i;
    drop(m, oldest);
}

/* Drops models until one of so many bytes has room. */
static void make_room(struct models *m, int64_t bytes)
{
    while (m->n > 0 && (m->n == MODELS_MAX || m->bytes + bytes > m->max_bytes))
        drop_oldest(m);
}

static struct model *load(struct models *m, const char *sha256, const char *path, struct err *err)
{
    struct model *new = NULL;
    struct artifact *a = NULL;
    int64_t file = io_file_bytes(path), before = 0, bytes = 0;
    char need[32], have[32];

    if (file < 0) {
        err_set(err, ERR_NOTFOUND, "the file of model %s is not there", sha256);
        return NULL;
    }
    if (file > m->max_bytes / GROWTH) {
        str_fmt_bytes(file * GROWTH, need, sizeof need);
        str_fmt_bytes(m->max_bytes, have, sizeof have);
        err_set(err, ERR_TOOBIG,
                "the model may need %s of memory, and models may have %s (assayd's option "
                "predict_memory)",
                need, have);
        return NULL;
    }
    make_room(m, file * GROWTH);
    before = proc_anon_bytes(getpid());
    a = artifact_open(path, err);
    if (!a)
        return NULL;
    bytes = MAX(proc_anon_bytes(getpid()) - before, file);
    make_room(m, bytes); /* it may have needed more than GROWTH times its file */
    new = &m->list[m->n++];
    *new = (struct model){ .artifact = a, .bytes = bytes };
    str_copy(new->sha256, sizeof new->sha256, sha256);
    m->bytes += new->bytes;
    return new;
}

const struct artifact *models_get(struct models *m, const char *sha256, const char *path,
                                  struct err *err)
{
    struct model *found = NULL;

    for (int i = 0; i < m->n && !found; i++)
        if (str_eq(m->list[i].sha256, sha256))
            found = &m->list[i];
    if (!found)
        found = load(m, sha256, path, err);
    if (!found)
        return NULL;
    found->used = ++m->calls;
    return found->artifact;
}

int models_count(const struct models *m)
{
    return m->n;
}

int64_t models_bytes(const struct models *m)
{
    return m->bytes;
}
