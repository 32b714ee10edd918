/* epoch_log.c - see epoch_log.h. */
#include "ml/model/epoch_log.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

void epoch_log_put(struct epoch_log *g, int64_t epoch, const struct epoch_note *note)
{
    static const struct epoch_note unknown = { NAN, NAN, NAN, 0 };

    CHECK(epoch >= 1);
    if (epoch > g->cap) {
        int64_t cap = MAX(epoch, g->cap * 2 + 32);
        struct epoch_note *grown = mem_array((size_t)cap, sizeof *grown);
        if (g->n > 0)
            memcpy(grown, g->notes, (size_t)g->n * sizeof *grown);
        mem_free(g->notes);
        g->notes = grown;
        g->cap = cap;
    }
    while (g->n < epoch - 1)
        g->notes[g->n++] = unknown;
    g->n = epoch;
    g->notes[epoch - 1] = *note;
}

void epoch_log_fini(struct epoch_log *g)
{
    mem_free(g->notes);
    *g = (struct epoch_log){ 0 };
}

int epoch_log_save(const struct epoch_log *g, int64_t epochs, struct buf *out, struct err *err)
{
    int64_t n = MIN(g->n, epochs);

    if (buf_put_u32(out, (uint32_t)n, err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++) {
        const struct epoch_note *e = &g->notes[i];
        if (buf_put_f32(out, e->loss, err) < 0 || buf_put_f32(out, e->rate, err) < 0 ||
            buf_put_f32(out, e->norm, err) < 0)
            return -1;
    }
    return 0;
}

int epoch_log_load(struct epoch_log *g, int64_t most, struct view *in, struct err *err)
{
    uint32_t n = 0;

    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n > most)
        return err_set(err, ERR_ARG, "checkpoint: notes of %u epochs, the lane has done %lld", n,
                       (long long)most);
    for (uint32_t i = 0; i < n; i++) {
        struct epoch_note e = { 0 };
        if (view_f32(in, &e.loss, err) < 0 || view_f32(in, &e.rate, err) < 0 ||
            view_f32(in, &e.norm, err) < 0)
            return -1;
        epoch_log_put(g, (int64_t)i + 1, &e);
    }
    return 0;
}
