/* frame_schema.c - a frame described as one JSON text, for people, the controller and the page.
 * Deterministic: a pure function of the frame's bytes. */
#include "base/mem.h"
#include "ml/table/frame.h"
#include "ml/table/json_text.h"

#include <math.h>

enum { SCHEMA_LEVELS = 100, WHOLE_MAX_DISTINCT = 20, WHOLE_CHUNK = 1024 };

static int add_stat(struct buf *b, const char *name, double v)
{
    return buf_addf(b, NULL, ",\"%s\":", name) < 0 ? -1 : json_text_num(b, v, NULL);
}

/* Are all values whole numbers? Asked only of columns with few values, which may be classes. */
static bool are_whole(const struct frame *f, int col)
{
    double v[WHOLE_CHUNK];

    for (int64_t from = 0; from < f->rows; from += WHOLE_CHUNK) {
        int64_t n = f->rows - from < WHOLE_CHUNK ? f->rows - from : WHOLE_CHUNK;

        frame_numbers(f, col, from, n, v);
        for (int64_t i = 0; i < n; i++) {
            if (!isnan(v[i]) && (isinf(v[i]) || v[i] != floor(v[i])))
                return false;
        }
    }
    return true;
}

static int add_numeric(struct buf *b, const struct frame *f, int col)
{
    const struct frame_col *c = &f->cols[col];

    if (add_stat(b, "min", c->min) < 0 || add_stat(b, "max", c->max) < 0 ||
        add_stat(b, "mean", c->mean) < 0)
        return -1;
    if (c->distinct <= WHOLE_MAX_DISTINCT &&
        buf_adds(b, are_whole(f, col) ? ",\"whole\":true" : ",\"whole\":false", NULL) < 0)
        return -1;
    return buf_adds(b, "}", NULL);
}

static int add_col(struct buf *b, const struct frame *f, int col)
{
    const struct frame_col *c = &f->cols[col];
    static const char *const types[] = { "numeric", "categorical", "ignored" };
    static const char *const kinds[] = { "", "date", "text", "list" };

    if (buf_adds(b, "{\"name\":", NULL) < 0 || json_text_str(b, c->name, NULL) < 0 ||
        buf_addf(b, NULL, ",\"type\":\"%s\"", types[c->type]) < 0)
        return -1;
    if (c->kind != FRAME_PLAIN && buf_addf(b, NULL, ",\"kind\":\"%s\"", kinds[c->kind]) < 0)
        return -1;
    if (*c->note && (buf_adds(b, ",\"note\":", NULL) < 0 || json_text_str(b, c->note, NULL) < 0))
        return -1;
    if (c->type == FRAME_IGNORED)
        return buf_adds(b, "}", NULL);
    if (buf_addf(b, NULL, ",\"missing\":%lld,\"distinct\":%lld", (long long)c->missing,
                 (long long)c->distinct) < 0)
        return -1;
    if (c->not_numbers > 0 &&
        buf_addf(b, NULL, ",\"not_numbers\":%lld", (long long)c->not_numbers) < 0)
        return -1;
    if (c->type == FRAME_NUMERIC)
        return add_numeric(b, f, col);
    int rc = buf_adds(b, ",\"levels\":[", NULL);
    for (int i = 0; i < c->n_levels && i < SCHEMA_LEVELS && rc == 0; i++) {
        if (i > 0)
            rc = buf_adds(b, ",", NULL);
        if (rc == 0)
            rc = json_text_str(b, c->levels[i], NULL);
    }
    return rc < 0 ? -1 : buf_adds(b, "]}", NULL);
}

static bool is_pixel(const struct frame *f, int col)
{
    return f->image.height && col >= f->image.first &&
           col < f->image.first + frame_image_values(&f->image);
}

/* Images in one line; mean: of all their values. */
static int add_image(struct buf *b, const struct frame *f)
{
    const struct frame_image *m = &f->image;
    double min = NAN, max = NAN, sum = 0;
    int n = frame_image_values(m);

    for (int i = 0; i < n; i++) {
        const struct frame_col *c = &f->cols[m->first + i];
        min = fmin(min, c->min);
        max = fmax(max, c->max);
        sum += isnan(c->mean) ? 0 : c->mean;
    }
    if (buf_addf(b, NULL, "\"image\":{\"height\":%d,\"width\":%d,\"channels\":%d", m->height,
                 m->width, m->channels) < 0 ||
        add_stat(b, "min", min) < 0 || add_stat(b, "max", max) < 0 ||
        add_stat(b, "mean", sum / n) < 0)
        return -1;
    return buf_adds(b, "},", NULL);
}

char *frame_schema_json(const struct frame *f)
{
    struct buf b;

    buf_init(&b, (size_t)1 << 40);
    int rc = buf_addf(&b, NULL, "{\"rows\":%lld,", (long long)f->rows), n = 0;
    if (rc == 0 && f->image.height)
        rc = add_image(&b, f);
    if (rc == 0)
        rc = buf_adds(&b, "\"columns\":[", NULL);
    for (int i = 0; i < f->n_cols && rc == 0; i++) {
        if (is_pixel(f, i))
            continue;
        if (n++ > 0)
            rc = buf_adds(&b, ",", NULL);
        if (rc == 0)
            rc = add_col(&b, f, i);
    }
    if (rc < 0 || buf_adds(&b, "]}", NULL) < 0) {
        buf_fini(&b);
        return NULL;
    }
    return buf_take(&b, NULL);
}
