/* history_state.c - a history as bytes: the rows in order of trials, each checked as it is read. Lists, boards and unit
 * values follow from them and are not kept. A value read is a value that could have been observed: any double is. */
#include "search/contract/history_private.h"

#include "base/mem.h"

#include <limits.h>
#include <math.h>

enum { ROW_LEAST_BYTES = 8 + 1 + 4 + 8 * SEARCH_MAX_OBJECTIVES + 4, REPORT_BYTES = 4 + 1 + 8 };

/* One NaN is as good as another, and no sign of it may make two states differ. */
static int put_value(struct buf *out, double v, struct err *err)
{
    return buf_put_f64(out, isnan(v) ? NAN : v, err);
}

static int put_row(const struct history *h, int row, double *point, struct buf *out,
                   struct err *err)
{
    const struct history_row *r = &h->rows[row];
    int rc = buf_put_u64(out, (uint64_t)r->trial, err);

    history_point(h, row, point);
    for (int i = 0; rc == 0 && i < h->space->n; i++)
        rc = put_value(out, point[i], err);
    if (rc < 0 || buf_put_u8(out, (uint8_t)r->state, err) < 0 ||
        buf_put_u32(out, (uint32_t)r->max_level, err) < 0 || put_value(out, r->cost, err) < 0)
        return -1;
    for (size_t i = 0; i < HISTORY_MORE; i++) {
        if (put_value(out, history_more(h, row)[i], err) < 0)
            return -1;
    }
    if (buf_put_u32(out, (uint32_t)r->n_reports, err) < 0)
        return -1;
    for (int i = 0; i < r->n_reports; i++) {
        if (buf_put_u32(out, (uint32_t)r->reports[i].below, err) < 0 ||
            buf_put_u8(out, r->reports[i].is_final, err) < 0 ||
            put_value(out, r->reports[i].value, err) < 0)
            return -1;
    }
    return 0;
}

int history_save(const struct history *h, struct buf *out, struct err *err)
{
    double *point = mem_array((size_t)h->space->n + 1, sizeof *point);
    int rc = buf_put_u32(out, (uint32_t)h->n, err);

    for (int i = 0; rc == 0 && i < h->n; i++)
        rc = put_row(h, h->order.rows[i], point, out, err);
    mem_free(point);
    return rc;
}

static int damaged(const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "saved state is damaged: %s", what);
}

static int get_reports(struct history_row *r, struct view *in, struct err *err)
{
    uint32_t n = 0, below = 0;
    uint8_t is_final = 0;
    double value = 0;

    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n > (in->len - in->pos) / REPORT_BYTES)
        return damaged("more reports than bytes", err);
    for (uint32_t i = 0; i < n; i++) {
        if (view_u32(in, &below, err) < 0 || view_u8(in, &is_final, err) < 0 ||
            view_f64(in, &value, err) < 0)
            return -1;
        if (below > (uint32_t)r->max_level || is_final > 1 ||
            (i > 0 && (int)below <= r->reports[i - 1].below))
            return damaged("a report out of order", err);
        history_report_add(r, (int)i, &(struct history_report){ value, (int)below, is_final });
    }
    return 0;
}

static int get_row(struct history *h, double *point, struct view *in, struct err *err)
{
    uint64_t trial = 0;
    uint8_t state = 0;
    uint32_t max_level = 0;
    double more[HISTORY_MORE];

    if (view_u64(in, &trial, err) < 0)
        return -1;
    for (int i = 0; i < h->space->n; i++) {
        if (view_f64(in, &point[i], err) < 0)
            return -1;
    }
    if (space_check(h->space, point, NULL) < 0)
        return damaged("a point outside the space", err);
    if (h->n > 0 && h->rows[h->n - 1].trial >= (int64_t)trial)
        return damaged("trials out of order", err);
    int row = history_add(h, (int64_t)trial, point);
    struct history_row *r = &h->rows[row];
    if (view_u8(in, &state, err) < 0 || view_u32(in, &max_level, err) < 0 ||
        view_f64(in, &r->cost, err) < 0)
        return -1;
    if (state >= OBS_STATES || max_level > INT_MAX || !(r->cost >= 0))
        return damaged("a trial's state", err);
    r->state = (enum obs_state)state;
    r->max_level = (int)max_level;
    for (size_t i = 0; i < HISTORY_MORE; i++) {
        if (view_f64(in, &more[i], err) < 0)
            return -1;
    }
    history_more_set(h, row, more);
    return get_reports(r, in, err);
}

int history_load(struct history *h, struct view *in, struct err *err)
{
    double *point = mem_array((size_t)h->space->n + 1, sizeof *point);
    uint32_t n = 0;
    int rc = view_u32(in, &n, err);

    CHECK(h->n == 0);
    if (rc == 0 && n > (in->len - in->pos) / ROW_LEAST_BYTES)
        rc = damaged("more trials than bytes", err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = get_row(h, point, in, err);
    history_index(h);
    mem_free(point);
    return rc;
}
