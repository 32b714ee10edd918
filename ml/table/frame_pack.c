/* frame_pack.c - chunks of a column in their narrowest exact type, and back.
 *
 * An integer type is used when every value is a whole number in its range (its lowest value means
 * missing); float32 when every value survives the conversion and back; else float64. Packing and
 * unpacking is the identity on values (-0 becomes 0) and on missingness. Loops are plain so that
 * the compiler vectorises them. Called by frame.c, frame_write.c and ml/read. */
#include "ml/table/frame_file.h"

#include "base/simd.h"

#include <math.h>
#include <string.h>

SIMD_BODY void range_body(const int32_t *v, int64_t n, int32_t *least, int32_t *most)
{
    int32_t lo = 0, hi = 0;

    for (int64_t i = 0; i < n; i++) {
        int32_t x = v[i] == FRAME_INT_MISSING ? 0 : v[i];
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    *least = lo;
    *most = hi;
}

SIMD_BODY void to_i8_body(const int32_t *v, int64_t n, int8_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (int8_t)(v[i] == FRAME_INT_MISSING ? INT8_MIN : v[i]);
}

SIMD_BODY void to_i16_body(const int32_t *v, int64_t n, int16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (int16_t)(v[i] == FRAME_INT_MISSING ? INT16_MIN : v[i]);
}

SIMD_KERNEL_STATIC(range, (const int32_t *v, int64_t n, int32_t *least, int32_t *most),
                   (v, n, least, most))
SIMD_KERNEL_STATIC(to_i8, (const int32_t *v, int64_t n, int8_t *out), (v, n, out))
SIMD_KERNEL_STATIC(to_i16, (const int32_t *v, int64_t n, int16_t *out), (v, n, out))

int64_t frame_pack_ints(const int32_t *v, int64_t n, void *out, enum frame_chunk *type)
{
    int32_t lo = 0, hi = 0;

    range(v, n, &lo, &hi);
    if (lo > INT8_MIN && hi <= INT8_MAX) {
        to_i8(v, n, out);
        *type = FC_I8;
        return n;
    }
    if (lo > INT16_MIN && hi <= INT16_MAX) {
        to_i16(v, n, out);
        *type = FC_I16;
        return n * 2;
    }
    memcpy(out, v, (size_t)n * sizeof(*v));
    *type = FC_I32;
    return n * 4;
}

static bool all_whole(const double *v, int64_t n)
{
    int bad = 0;

    for (int64_t from = 0; from < n && !bad; from += 256) {
        int64_t to = from + 256 < n ? from + 256 : n;
        for (int64_t i = from; i < to; i++) {
            double x = v[i] != v[i] ? 0 : v[i];
            bool in_range = x >= -2147483647.0 && x <= 2147483647.0;
            bad |= !in_range || (double)(int32_t)(in_range ? x : 0) != x;
        }
    }
    return !bad;
}

static bool all_float(const double *v, int64_t n)
{
    int bad = 0;

    for (int64_t from = 0; from < n && !bad; from += 256) {
        int64_t to = from + 256 < n ? from + 256 : n;
        for (int64_t i = from; i < to; i++)
            bad |= (double)(float)v[i] != v[i] && v[i] == v[i];
    }
    return !bad;
}

int64_t frame_pack_numbers(const double *v, int64_t n, void *out, enum frame_chunk *type)
{
    if (all_whole(v, n)) {
        /* The whole numbers go into the upper half of `out`, so that packing them from the front
         * never overwrites one that is still to be read. */
        int32_t *o = (int32_t *)out + n;
        for (int64_t i = 0; i < n; i++)
            o[i] = v[i] != v[i] ? FRAME_INT_MISSING : (int32_t)v[i];
        return frame_pack_ints(o, n, out, type);
    }
    if (all_float(v, n)) {
        float *o = out;
        for (int64_t i = 0; i < n; i++)
            o[i] = v[i] != v[i] ? (float)NAN : (float)(v[i] + 0.0);
        *type = FC_F32;
        return n * 4;
    }
    double *o = out;
    for (int64_t i = 0; i < n; i++)
        o[i] = v[i] != v[i] ? (double)NAN : v[i] + 0.0;
    *type = FC_F64;
    return n * 8;
}

int64_t frame_pack_codes(const uint32_t *v, int64_t n, void *out, enum frame_chunk *type)
{
    uint32_t hi = 0;

    for (int64_t i = 0; i < n; i++) {
        uint32_t x = v[i] == FRAME_CODE_MISSING ? 0 : v[i];
        hi = x > hi ? x : hi;
    }
    if (hi < UINT8_MAX) {
        uint8_t *o = out;
        for (int64_t i = 0; i < n; i++)
            o[i] = (uint8_t)v[i];
        *type = FC_U8;
        return n;
    }
    if (hi < UINT16_MAX) {
        uint16_t *o = out;
        for (int64_t i = 0; i < n; i++)
            o[i] = (uint16_t)v[i];
        *type = FC_U16;
        return n * 2;
    }
    memcpy(out, v, (size_t)n * sizeof(*v));
    *type = FC_U32;
    return n * 4;
}

void frame_unpack_numbers(const void *data, enum frame_chunk type, int64_t n, double *out)
{
    const uint8_t *u8 = data;
    const int8_t *i8 = data;
    const int16_t *i16 = data;
    const int32_t *i32 = data;
    const float *f32 = data;

    switch (type) {
    case FC_I8:
        for (int64_t i = 0; i < n; i++)
            out[i] = i8[i] == INT8_MIN ? (double)NAN : i8[i];
        break;
    case FC_I16:
        for (int64_t i = 0; i < n; i++)
            out[i] = i16[i] == INT16_MIN ? (double)NAN : i16[i];
        break;
    case FC_I32:
        for (int64_t i = 0; i < n; i++)
            out[i] = i32[i] == FRAME_INT_MISSING ? (double)NAN : i32[i];
        break;
    case FC_F32:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)f32[i];
        break;
    case FC_U8: /* of images: no value means missing */
        for (int64_t i = 0; i < n; i++)
            out[i] = u8[i];
        break;
    default:
        CHECK(type == FC_F64);
        memcpy(out, data, (size_t)n * sizeof(*out));
    }
}

void frame_pick_numbers(const void *data, enum frame_chunk type, const int64_t *rows, int64_t n,
                        double *out)
{
    const uint8_t *at = data;
    int64_t width = frame_chunk_width(type);

    if (type == FC_F32) {
        const float *x = data;
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)x[rows[i] - rows[0]];
        return;
    }
    if (type == FC_U8) {
        for (int64_t i = 0; i < n; i++)
            out[i] = at[rows[i] - rows[0]];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        frame_unpack_numbers(at + (rows[i] - rows[0]) * width, type, 1, out + i);
}

static inline int32_t code_map(uint32_t code, const uint32_t *map, uint32_t n_map)
{
    return code < n_map ? (int32_t)map[code] : -1;
}

void frame_unpack_codes(const void *data, enum frame_chunk type, int64_t n, const uint32_t *map,
                        uint32_t n_map, int32_t *out)
{
    const uint8_t *u8 = data;
    const uint16_t *u16 = data;
    const uint32_t *u32 = data;

    CHECK(type >= FC_U8 && type <= FC_U32);
    for (int64_t i = 0; i < n; i++) {
        if (type == FC_U8)
            out[i] = u8[i] == UINT8_MAX ? -1 : code_map(u8[i], map, n_map);
        else if (type == FC_U16)
            out[i] = u16[i] == UINT16_MAX ? -1 : code_map(u16[i], map, n_map);
        else
            out[i] = code_map(u32[i], map, n_map);
    }
}
