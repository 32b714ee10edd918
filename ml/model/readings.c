/* readings.c - see readings.h. */
#include "ml/model/readings.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 1 << 16, LEAST_BYTES = 9 };

static bool is_plain(const struct frame_col *c)
{
    return c->type == FRAME_IGNORED ||
           (c->kind == FRAME_PLAIN &&
            (!*c->note || strncmp(c->note, FRAME_SPELT, strlen(FRAME_SPELT)) == 0));
}

int readings_save(const struct frame *f, struct buf *out, struct err *err)
{
    uint32_t n = 0;

    for (int i = 0; f && i < f->n_cols; i++)
        n += !is_plain(&f->cols[i]);
    if (n == 0)
        return 0;
    if (buf_put_u32(out, n, err) < 0)
        return -1;
    for (int i = 0; i < f->n_cols; i++) {
        const struct frame_col *c = &f->cols[i];
        if (!is_plain(c) &&
            (buf_put_str(out, c->name, err) < 0 || buf_put_u8(out, (uint8_t)c->kind, err) < 0 ||
             buf_put_str(out, c->note, err) < 0))
            return -1;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct reading *)a)->name, ((const struct reading *)b)->name);
}

int readings_load(struct readings *r, struct view *in, struct err *err)
{
    uint32_t n = 0;

    if (in->pos == in->len)
        return 0;
    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n < 1 || n > (in->len - in->pos) / LEAST_BYTES)
        return err_set(err, ERR_ARG, "the reading of columns in this file is damaged");
    r->of = mem_array(n, sizeof(*r->of));
    for (r->n = 0; r->n < (int)n;) {
        struct reading *one = &r->of[r->n++];
        uint8_t kind = 0;
        if (view_str(in, &one->name, MAX_NAME, err) < 0 || view_u8(in, &kind, err) < 0 ||
            view_str(in, &one->note, FRAME_MAX_NOTE, err) < 0)
            return -1;
        if (kind >= FRAME_KINDS || !utf8_ok(one->name, strlen(one->name)) ||
            !utf8_ok(one->note, strlen(one->note)))
            return err_set(err, ERR_ARG, "the reading of columns in this file is damaged");
        one->kind = (enum frame_kind)kind;
    }
    qsort(r->of, (size_t)r->n, sizeof(*r->of), by_name);
    return 0;
}

void readings_fini(struct readings *r)
{
    for (int i = 0; i < r->n; i++) {
        mem_free(r->of[i].name);
        mem_free(r->of[i].note);
    }
    mem_free(r->of);
    *r = (struct readings){ 0 };
}

const struct reading *readings_find(const struct readings *r, const char *name)
{
    const struct reading key = { .name = (char *)name };

    return r->n > 0 ? bsearch(&key, r->of, (size_t)r->n, sizeof(*r->of), by_name) : NULL;
}
