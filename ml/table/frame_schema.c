/* frame_schema.c - a frame described as one JSON text, for people, the controller and the page.
 * Deterministic: a pure function of the frame's bytes. */
#include "base/base.h"
#include "base/mem.h"
#include "ml/table/frame.h"
#include "ml/table/json_text.h"

#include <math.h>

/* SCHEMA_EDGE: so many of the first and of the last columns are never described in brief, because
 * the target is mostly one of them. */
enum { SCHEMA_LEVELS = 100, SCHEMA_EDGE = 100, WHOLE_MAX_DISTINCT = 20, WHOLE_CHUNK = 1024 };
/* As code_screen.c has them; and the rows that are looked at. */
enum { CODES_LEAST = 24, CODES_LEAST_ROWS = 3, CODES_LOOK = 65536 };

static int add_stat(struct buf *b, const char *name, double v)
{
    return buf_addf(b, NULL, ",\"%s\":", name) < 0 ? -1 : json_text_num(b, v, NULL);
}

/* How much is said of a column. NO_LEVELS: all but its levels. BRIEF: what decides how it is used,
 * so neither levels nor least, largest and mean value; `missing` only where some are. */
enum detail { FULL, NO_LEVELS, BRIEF };

/* Are the values of the first rows whole numbers? Asked of columns that may be classes or names. */
static bool are_whole(const struct frame *f, int col, int64_t rows)
{
    double v[WHOLE_CHUNK];

    for (int64_t from = 0; from < rows; from += WHOLE_CHUNK) {
        int64_t n = rows - from < WHOLE_CHUNK ? rows - from : WHOLE_CHUNK;

        frame_numbers(f, col, from, n, v);
        for (int64_t i = 0; i < n; i++) {
            if (!isnan(v[i]) && (isinf(v[i]) || v[i] != floor(v[i])))
                return false;
        }
    }
    return true;
}

/* May the numbers be names? Whole ones that repeat, as far as the first rows tell: what they are the
 * preparation finds out. */
static bool may_be_codes(const struct frame *f, int col)
{
    const struct frame_col *c = &f->cols[col];

    return c->kind == FRAME_PLAIN && c->distinct >= CODES_LEAST &&
           c->distinct <= (f->rows - c->missing) / CODES_LEAST_ROWS &&
           are_whole(f, col, MIN(f->rows, CODES_LOOK));
}

static int add_numeric(struct buf *b, const struct frame *f, int col, enum detail detail)
{
    const struct frame_col *c = &f->cols[col];

    if (detail < BRIEF && (add_stat(b, "min", c->min) < 0 || add_stat(b, "max", c->max) < 0 ||
                           add_stat(b, "mean", c->mean) < 0))
        return -1;
    if (c->distinct <= WHOLE_MAX_DISTINCT &&
        buf_adds(b, are_whole(f, col, f->rows) ? ",\"whole\":true" : ",\"whole\":false", NULL) < 0)
        return -1;
    if (may_be_codes(f, col) && buf_adds(b, ",\"codes\":true", NULL) < 0)
        return -1;
    return buf_adds(b, "}", NULL);
}

static int add_counts(struct buf *b, const struct frame_col *c, enum detail detail)
{
    if ((detail < BRIEF || c->missing > 0) &&
        buf_addf(b, NULL, ",\"missing\":%lld", (long long)c->missing) < 0)
        return -1;
    if (buf_addf(b, NULL, ",\"distinct\":%lld", (long long)c->distinct) < 0)
        return -1;
    return c->not_numbers > 0
               ? buf_addf(b, NULL, ",\"not_numbers\":%lld", (long long)c->not_numbers)
               : 0;
}

static int add_col(struct buf *b, const struct frame *f, int col, enum detail detail)
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
    if (add_counts(b, c, detail) < 0)
        return -1;
    if (c->type == FRAME_NUMERIC)
        return add_numeric(b, f, col, detail);
    if (detail > FULL)
        return buf_adds(b, "}", NULL);
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

/* NULL = it takes more than `most` bytes. */
static char *schema_new(const struct frame *f, enum detail detail, size_t most)
{
    struct buf b;

    buf_init(&b, most + 1);
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
            rc = add_col(&b, f, i,
                         i < SCHEMA_EDGE || i >= f->n_cols - SCHEMA_EDGE ? MIN(detail, NO_LEVELS)
                                                                         : detail);
    }
    if (rc < 0 || buf_adds(&b, "]}", NULL) < 0) {
        buf_fini(&b);
        return NULL;
    }
    return buf_take(&b, NULL);
}

char *frame_schema_json(const struct frame *f)
{
    return schema_new(f, FULL, (size_t)1 << 40);
}

/* Bytes of the text as a string within another JSON text. */
static size_t quoted_bytes(const char *s)
{
    size_t n = 2;

    for (; *s; s++)
        n += 1 + (*s == '"' || *s == '\\');
    return n;
}

char *frame_schema_within(const struct frame *f, size_t most)
{
    for (enum detail detail = FULL; detail <= BRIEF; detail++) {
        char *text = schema_new(f, detail, most);
        if (text && quoted_bytes(text) <= most)
            return text;
        mem_free(text);
    }
    return NULL;
}
