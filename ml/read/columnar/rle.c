/* rle.c - see rle.h. Called by parquet_page.c and parquet_values.c. */
#include "ml/read/columnar/rle.h"

#include "base/base.h"

#include <string.h>

void rle_init(struct rle *r, const uint8_t *p, const uint8_t *end, int width)
{
    *r = (struct rle){ .p = p, .end = end, .width = width };
}

/* Opens the next run or group. */
static bool next_run(struct rle *r)
{
    uint64_t head = 0;
    unsigned shift = 0;

    for (;; shift += 7) {
        if (r->p == r->end || shift > 56)
            return false;
        head |= (uint64_t)(*r->p & 127) << shift;
        if (*r->p++ < 128)
            break;
    }
    r->is_run = !(head & 1);
    if (r->is_run) {
        int bytes = (r->width + 7) / 8;
        if (r->end - r->p < bytes)
            return false;
        r->value = 0;
        memcpy(&r->value, r->p, (size_t)bytes);
        r->p += bytes;
        r->left = head >> 1;
        return true;
    }
    uint64_t groups = head >> 1, room = (uint64_t)(r->end - r->p);
    /* The last group may be cut where no more values are needed. */
    uint64_t values = r->width ? MIN(groups * 8, room * 8 / (uint64_t)r->width) : groups * 8;
    r->bits = r->p;
    r->bit = 0;
    r->left = values;
    r->p += MIN(room, groups * (uint64_t)r->width);
    return true;
}

static bool refill(struct rle *r)
{
    while (r->left == 0) {
        if (!next_run(r))
            return false;
    }
    return true;
}

int64_t rle_repeats(struct rle *r, int64_t n, uint32_t *value)
{
    if (!refill(r))
        return -1;
    *value = r->width ? r->value : 0;
    return r->is_run || r->width == 0 ? (int64_t)MIN((uint64_t)n, r->left) : 0;
}

void rle_pass(struct rle *r, int64_t n)
{
    r->left -= (uint64_t)n;
}

static void unpack(struct rle *r, int64_t n, uint32_t *out)
{
    uint64_t mask = (1ull << r->width) - 1, bit = r->bit, width = (uint64_t)r->width;

    for (int64_t i = 0; i < n; i++, bit += width) {
        uint64_t w;
        memcpy(&w, r->bits + (bit >> 3), sizeof(w));
        out[i] = (uint32_t)(w >> (bit & 7) & mask);
    }
    r->bit = bit;
}

bool rle_take(struct rle *r, int64_t n, uint32_t *out)
{
    while (n > 0) {
        if (!refill(r))
            return false;
        int64_t part = (int64_t)MIN((uint64_t)n, r->left);
        if (r->width == 0) {
            memset(out, 0, (size_t)part * sizeof(*out));
        } else if (r->is_run) {
            for (int64_t i = 0; i < part; i++)
                out[i] = r->value;
        } else {
            unpack(r, part, out);
        }
        r->left -= (uint64_t)part;
        out += part;
        n -= part;
    }
    return true;
}
