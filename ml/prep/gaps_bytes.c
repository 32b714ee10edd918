/* gaps_bytes.c - the gaps of a preparation as bytes (gaps.h), and back from a stranger. */
#include "base/mem.h"
#include "ml/prep/prep_private.h"

#include <math.h>

int prep_gaps(const struct prep *p)
{
    int n = 0;

    for (int i = 0; i < p->n_sources; i++)
        n += p->sources[i].gap != NULL;
    return n;
}

static int from_save(const struct gap_from *f, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, (uint32_t)f->source, err) < 0 || buf_put_f64(out, f->weight, err) < 0 ||
        buf_put_u32(out, (uint32_t)f->n, err) < 0)
        return -1;
    for (int i = 0; i < f->n; i++) {
        if (buf_put_f64(out, f->at[i], err) < 0 || buf_put_f64(out, f->value[i], err) < 0)
            return -1;
    }
    return 0;
}

/* NaN is not written: different machines have different bits for it. */
static int gap_save(const struct prep_gap *g, struct buf *out, struct err *err)
{
    bool has_blank = !isnan(g->blank);

    if (buf_put_u8(out, has_blank, err) < 0 ||
        buf_put_f64(out, has_blank ? g->blank : 0, err) < 0 ||
        buf_put_u32(out, (uint32_t)g->n_from, err) < 0)
        return -1;
    for (int k = 0; k < g->n_from; k++) {
        if (from_save(&g->from[k], out, err) < 0)
            return -1;
    }
    return 0;
}

int prep_gaps_save(const struct prep *p, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, (uint32_t)prep_gaps(p), err) < 0)
        return -1;
    for (int i = 0; i < p->n_sources; i++) {
        const struct prep_gap *g = p->sources[i].gap;
        if (g && (buf_put_u32(out, (uint32_t)i, err) < 0 || gap_save(g, out, err) < 0))
            return -1;
    }
    return 0;
}

/* ---- loading ---- */

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the gaps of the preparation in this file are damaged");
}

static bool is_number_column(const struct prep *p, uint32_t source)
{
    return source < (uint32_t)p->n_sources && p->sources[source].type == FRAME_NUMERIC;
}

static int from_load(const struct prep *p, struct gap_from *f, struct view *in, struct err *err)
{
    uint32_t source = 0, n = 0;

    if (view_u32(in, &source, err) < 0 || view_f64(in, &f->weight, err) < 0 ||
        view_u32(in, &n, err) < 0)
        return -1;
    if (!is_number_column(p, source) || !(f->weight > 0 && f->weight <= 1e12) || n < 1 ||
        n > GAP_MAX_POINTS)
        return broken(err);
    f->source = (int)source;
    f->n = (int)n;
    f->at = mem_array(n, sizeof *f->at);
    f->value = mem_array(n, sizeof *f->value);
    for (uint32_t i = 0; i < n; i++) {
        if (view_f64(in, &f->at[i], err) < 0 || view_f64(in, &f->value[i], err) < 0)
            return -1;
        if (!isfinite(f->at[i]) || !isfinite(f->value[i]) || (i > 0 && f->at[i] <= f->at[i - 1]))
            return broken(err);
    }
    return 0;
}

static int gap_load(const struct prep *p, struct prep_gap *g, struct view *in, struct err *err)
{
    uint8_t has_blank = 0;
    uint32_t n = 0;

    if (view_u8(in, &has_blank, err) < 0 || view_f64(in, &g->blank, err) < 0 ||
        view_u32(in, &n, err) < 0)
        return -1;
    if (has_blank > 1 || !isfinite(g->blank) || n > GAP_FROM)
        return broken(err);
    if (!has_blank)
        g->blank = (double)NAN;
    /* counted before it is read: what a failed one holds is freed as well */
    while (g->n_from < (int)n) {
        if (from_load(p, &g->from[g->n_from++], in, err) < 0)
            return -1;
    }
    return 0;
}

int prep_gaps_load(struct prep *p, struct view *in, struct err *err)
{
    uint32_t n = 0, source = 0;

    if (view_u32(in, &n, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (view_u32(in, &source, err) < 0)
            return -1;
        if (!is_number_column(p, source) || p->sources[source].gap)
            return broken(err);
        p->sources[source].gap = mem_zalloc(sizeof *p->sources[source].gap);
        if (gap_load(p, p->sources[source].gap, in, err) < 0)
            return -1;
    }
    return 0;
}
