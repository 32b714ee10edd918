/* delta.c - see delta.h. Called by parquet_values.c. */
#include "ml/read/columnar/delta.h"

#include "base/base.h"

#include <string.h>

/* Writers use blocks of 128 values and miniblocks of 32. */
enum { MAX_BLOCK = 1 << 20 };

static bool varint(struct delta *d, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && d->p < d->end; shift += 7) {
        uint8_t b = *d->p++;
        *out |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return true;
    }
    return false;
}

static bool zigzag(struct delta *d, uint64_t *out)
{
    bool ok = varint(d, out);

    *out = *out >> 1 ^ (~(*out & 1) + 1);
    return ok;
}

bool delta_init(struct delta *d, const uint8_t *p, const uint8_t *end)
{
    uint64_t block = 0;

    *d = (struct delta){ .p = p, .end = end };
    if (!varint(d, &block) || !varint(d, &d->minis) || !varint(d, &d->left) || !zigzag(d, &d->last))
        return false;
    if (block == 0 || block > MAX_BLOCK || d->minis == 0 || d->minis > block ||
        block % d->minis != 0)
        return false;
    d->mini_values = block / d->minis;
    d->mini = d->minis;
    d->has_first = true;
    return d->mini_values % 8 == 0;
}

static bool next_mini(struct delta *d)
{
    if (d->mini == d->minis) {
        if (!zigzag(d, &d->min_delta) || (uint64_t)(d->end - d->p) < d->minis)
            return false;
        d->widths = d->p;
        d->p += d->minis;
        d->mini = 0;
    }
    d->width = d->widths[d->mini++];
    uint64_t bytes = d->mini_values / 8 * (uint64_t)d->width, room = (uint64_t)(d->end - d->p);
    if (d->width > 64)
        return false;
    d->bits = d->p;
    d->bit = 0;
    /* The last miniblock may be cut where no more values are needed. */
    d->mini_left = bytes <= room ? d->mini_values : room * 8 / (uint64_t)d->width;
    d->p += MIN(bytes, room);
    return d->mini_left > 0;
}

/* 57 bits and more may begin late in a byte, so that they touch nine bytes. */
static uint64_t bits_at(const struct delta *d, uint64_t bit)
{
    const uint8_t *p = d->bits + (bit >> 3);
    unsigned shift = bit & 7;
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    w >>= shift;
    if (d->width > 56 && shift)
        w |= (uint64_t)p[8] << (64 - shift);
    return d->width == 64 ? w : w & ((1ull << d->width) - 1);
}

static void take_mini(struct delta *d, int64_t n, int64_t *out)
{
    uint64_t last = d->last, bit = d->bit;

    if (d->width == 0) {
        for (int64_t i = 0; i < n; i++)
            out[i] = (int64_t)(last += d->min_delta);
    } else {
        for (int64_t i = 0; i < n; i++, bit += (uint64_t)d->width)
            out[i] = (int64_t)(last += d->min_delta + bits_at(d, bit));
    }
    d->last = last;
    d->bit = bit;
    d->mini_left -= (uint64_t)n;
    d->left -= (uint64_t)n;
}

bool delta_take(struct delta *d, int64_t n, int64_t *out)
{
    if ((uint64_t)n > d->left)
        return false;
    if (n > 0 && d->has_first) {
        *out++ = (int64_t)d->last;
        d->has_first = false;
        d->left--, n--;
    }
    while (n > 0) {
        if (d->mini_left == 0 && !next_mini(d))
            return false;
        int64_t part = (int64_t)MIN((uint64_t)n, d->mini_left);
        take_mini(d, part, out);
        out += part;
        n -= part;
    }
    return true;
}

bool delta_pass(struct delta *d, int64_t most, uint64_t *sum)
{
    int64_t some[256];

    *sum = 0;
    if (most < 0 || d->left > (uint64_t)most)
        return false;
    while (d->left > 0) {
        int64_t n = (int64_t)MIN(d->left, ARRAY_LEN(some));
        if (!delta_take(d, n, some))
            return false;
        for (int64_t i = 0; i < n; i++) {
            if (some[i] < 0 || some[i] > INT32_MAX)
                return false;
            *sum += (uint64_t)some[i];
        }
    }
    /* A block lists the widths of miniblocks that hold nothing any more; they have no bytes. */
    return true;
}
