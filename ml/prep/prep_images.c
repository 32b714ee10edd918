/* prep_images.c - the form for networks on images: the pixels of a row side by side, as they are,
 * with the mean and spread of every channel to standardise them by. Called by ml/model/data.c for a
 * whole table, and by predictors for any rows. */
#include "base/mem.h"
#include "ml/prep/prep_private.h"

#include <math.h>
#include <string.h>

/* images that the statistics of the channels are taken from: means over all pixels of so many are
 * exact to a thousandth */
enum { STATS_ROWS = 5000 };

int prep_images_fit(struct prep *p, const struct frame *f, const int64_t *rows, int64_t n,
                    struct err *err)
{
    const struct frame_image *m = &f->image;
    int64_t some = MIN(n, STATS_ROWS);
    double sum[FRAME_MAX_CHANNELS] = { 0 }, squares[FRAME_MAX_CHANNELS] = { 0 };
    int64_t count[FRAME_MAX_CHANNELS] = { 0 };

    p->image = *m;
    if (m->height == 0)
        return 0;
    int64_t *at = mem_try_alloc((size_t)some * sizeof *at);
    double *x = mem_try_alloc((size_t)some * sizeof *x);
    for (int64_t i = 0; at && i < some; i++)
        at[i] = rows[i * n / some];
    for (int v = 0; at && x && v < frame_image_values(m); v++) {
        int c = v % m->channels;
        frame_numbers_at(f, m->first + v, at, some, x);
        for (int64_t i = 0; i < some; i++) {
            if (!isfinite(x[i]))
                continue;
            sum[c] += x[i];
            squares[c] += x[i] * x[i];
            count[c]++;
        }
    }
    for (int c = 0; c < m->channels; c++) {
        double k = (double)MAX(count[c], 1), mean = sum[c] / k;
        double spread = sqrt(fmax(squares[c] / k - mean * mean, 0));
        p->channel_mean[c] = isfinite(mean) ? mean : 0;
        p->channel_sd[c] = spread > 0 && isfinite(spread) ? spread : 1;
    }
    bool has_memory = at && x;
    mem_try_free(at);
    mem_try_free(x);
    return has_memory ? 0 : err_set(err, ERR_NOMEM, "no memory for the statistics of images");
}

bool prep_image(const struct prep *p, struct frame_image *out)
{
    *out = p->image;
    return p->image.height > 0;
}

void prep_image_channel(const struct prep *p, int channel, double *mean, double *sd)
{
    CHECK(channel >= 0 && channel < p->image.channels);
    *mean = p->channel_mean[channel];
    *sd = p->channel_sd[channel];
}

static bool is_same(const struct frame_image *a, const struct frame_image *b)
{
    return a->height == b->height && a->width == b->width && a->channels == b->channels;
}

int prep_images_check(const struct prep *p, const struct frame *f, struct err *err)
{
    const struct frame_image *a = &p->image, *b = &f->image;

    if (a->height == 0 || b->height == 0 || is_same(a, b))
        return 0;
    return err_set(err, ERR_ARG,
                   "the model reads images of %d x %d with %d channels; these are %d x %d with %d",
                   a->width, a->height, a->channels, b->width, b->height, b->channels);
}

/* The column of a pixel: its place where the table has images, else by its name. */
static int column_of(const struct prep_view *v, int i, struct err *err)
{
    const struct frame *f = v->frame;
    char name[FRAME_PIXEL_NAME];

    if (f->image.height)
        return f->image.first + i;
    frame_pixel_name(&v->prep->image, i, name);
    int at = frame_find(f, name);
    if (at < 0 || f->cols[at].type != FRAME_NUMERIC)
        return err_set(err, ERR_ARG, "the table has no images, and no numeric column \"%s\"", name);
    return at;
}

/* One value of a block of rows, from its column to its place in the rows. */
static void spread(const struct prep_view *v, int at, int64_t from, int64_t n, double *x)
{
    /* prep_view_shuffle may show this column in another order */
    if (v->shuffled_numbers && v->col[v->shuffled] == at)
        memcpy(x, v->shuffled_numbers + from, (size_t)n * sizeof *x);
    else
        frame_numbers(v->frame, at, from, n, x);
}

int prep_images_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_images *out,
                     struct err *err)
{
    const struct frame_image *m = &v->prep->image;
    int values = frame_image_values(m);

    CHECK(m->height > 0);
    *out = (struct prep_images){ .rows = n, .values = values };
    bool is_bytes = v->frame->image.is_bytes;
    size_t bytes = (size_t)n * (size_t)values * (is_bytes ? 1 : sizeof(float));
    void *all = mem_try_alloc(bytes);
    if (!all)
        return err_set(err, ERR_NOMEM, "no memory for %lld images", (long long)n);
    out->bytes = is_bytes ? all : NULL;
    out->floats = is_bytes ? NULL : all;
    double *x = mem_alloc(PREP_BLOCK * sizeof *x);
    int rc = 0;
    for (int64_t at = 0; at < n && rc == 0; at += PREP_BLOCK) {
        int64_t rows = MIN(n - at, PREP_BLOCK);
        for (int i = 0; i < values && rc == 0; i++) {
            int col = column_of(v, i, err);
            rc = col < 0 ? -1 : 0;
            if (rc == 0)
                spread(v, col, from + at, rows, x);
            for (int64_t r = 0; r < rows && rc == 0; r++) {
                int64_t to = (at + r) * values + i;
                if (is_bytes)
                    out->bytes[to] = (uint8_t)(x[r] > 255 ? 255 : x[r] > 0 ? x[r] : 0);
                else
                    out->floats[to] = (float)x[r];
            }
        }
    }
    mem_free(x);
    if (rc < 0)
        prep_images_fini(out);
    return rc;
}

void prep_images_fini(struct prep_images *m)
{
    mem_try_free(m->bytes);
    mem_try_free(m->floats);
    *m = (struct prep_images){ 0 };
}
