/* array.c - see array.h. Nothing that a head claims is believed before the bytes are there: it only
 * says how they are to be read. Called by images.c. */
#include "ml/read/array.h"

#include "base/base.h"

#include <string.h>

static const uint8_t npy_magic[] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

/* idx: two zeros, the type, the number of dimensions. */
static bool idx_is(const uint8_t *p, long n)
{
    return n >= 8 && p[0] == 0 && p[1] == 0 && p[2] >= 0x08 && p[2] <= 0x0e && p[3] >= 1 &&
           p[3] <= ARRAY_MAX_DIMS;
}

static bool npy_is(const uint8_t *p, long n)
{
    return n >= (long)sizeof npy_magic && memcmp(p, npy_magic, sizeof npy_magic) == 0;
}

bool array_is(const uint8_t *head, long n)
{
    return idx_is(head, n) || npy_is(head, n);
}

static int idx_head(struct feed *f, struct array *a, struct err *err)
{
    static const struct {
        enum array_kind kind;
        int width;
    } types[] = { { ARRAY_UINT, 1 }, { ARRAY_INT, 1 },   { 0, 0 },          { ARRAY_INT, 2 },
                  { ARRAY_INT, 4 },  { ARRAY_FLOAT, 4 }, { ARRAY_FLOAT, 8 } };
    uint8_t head[4 + 4 * ARRAY_MAX_DIMS];

    if (feed_exact(f, head, 4, "head", err) < 0 ||
        feed_exact(f, head + 4, 4 * (size_t)head[3], "head", err) < 0)
        return -1;
    a->kind = types[head[2] - 8].kind;
    a->width = types[head[2] - 8].width;
    a->big_endian = true;
    a->n_dims = head[3];
    if (a->width == 0)
        return err_set(err, ERR_ARG, "%s: idx files have no type %d", f->name, head[2]);
    for (int i = 0; i < a->n_dims; i++) {
        const uint8_t *p = head + 4 + 4 * i;
        a->dims[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
    }
    return 0;
}

/* ---- npy: a Python dictionary as text ---- */

enum { NPY_HEAD_MAX = 4096 };

static int npy_bad(const struct feed *f, const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "%s: this .npy file %s", f->name, what);
}

/* The text after a key and its colon; NULL = there is no such key. */
static const char *npy_value(const char *text, const char *key)
{
    const char *p = strstr(text, key);

    if (!p)
        return NULL;
    p += strlen(key);
    p += strspn(p, "'\" \t");
    return *p == ':' ? p + 1 + strspn(p + 1, " \t") : NULL;
}

static int npy_type(const struct feed *f, const char *text, struct array *a, struct err *err)
{
    const char *p = npy_value(text, "descr");

    if (!p || (*p != '\'' && *p != '"'))
        return npy_bad(f, "holds no plain numbers", err);
    char order = p[1], kind = order ? p[2] : 0, width = kind ? p[3] : 0;
    a->big_endian = order == '>';
    a->width = width - '0';
    a->kind = kind == 'f' ? ARRAY_FLOAT : kind == 'i' ? ARRAY_INT : ARRAY_UINT;
    bool fits = kind == 'f'                  ? width == '4' || width == '8'
                : kind == 'i' || kind == 'u' ? width && strchr("1248", width)
                                             : kind == 'b' && width == '1';
    if (!order || !strchr("<>|=", order) || !fits || (p[4] != '\'' && p[4] != '"'))
        return npy_bad(f, "holds no numbers of 1, 2, 4 or 8 bytes (floats: 4 or 8)", err);
    return 0;
}

static int npy_dims(const struct feed *f, const char *text, struct array *a, struct err *err)
{
    const char *p = npy_value(text, "shape");

    if (!p || *p++ != '(')
        return npy_bad(f, "has no shape", err);
    for (;;) {
        p += strspn(p, " \t,L");
        if (*p == ')')
            return a->n_dims > 0 ? 0 : npy_bad(f, "holds a single number", err);
        if (*p < '0' || *p > '9')
            return npy_bad(f, "has no shape", err);
        if (a->n_dims == ARRAY_MAX_DIMS)
            return npy_bad(f, "has more than four dimensions", err);
        int64_t v = 0;
        for (; *p >= '0' && *p <= '9'; p++) {
            v = v * 10 + (*p - '0');
            if (v > (int64_t)1 << 40)
                return npy_bad(f, "has an impossible shape", err);
        }
        a->dims[a->n_dims++] = v;
    }
}

static int npy_head(struct feed *f, struct array *a, struct err *err)
{
    uint8_t head[12];
    char text[NPY_HEAD_MAX + 1];

    if (feed_exact(f, head, 10, "head", err) < 0)
        return -1;
    int64_t n = head[8] | head[9] << 8;
    if (head[6] > 1) { /* version 1 has two bytes for the length, later ones four */
        if (feed_exact(f, head + 10, 2, "head", err) < 0)
            return -1;
        n |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
    }
    if (head[6] < 1 || head[6] > 3 || n > NPY_HEAD_MAX)
        return npy_bad(f, "has a head that cannot be read", err);
    if (feed_exact(f, text, (size_t)n, "head", err) < 0)
        return -1;
    text[n] = '\0';
    const char *order = npy_value(text, "fortran_order");
    if (!order || strncmp(order, "False", 5) != 0)
        return npy_bad(f, "lies column by column: save numpy.ascontiguousarray(a)", err);
    return npy_type(f, text, a, err) < 0 ? -1 : npy_dims(f, text, a, err);
}

int array_head(struct feed *f, struct array *a, struct err *err)
{
    const uint8_t *p = NULL;
    long n = feed_look(f, 8, &p, err);

    *a = (struct array){ 0 };
    if (n < 0)
        return -1;
    if (npy_is(p, n))
        return npy_head(f, a, err);
    if (idx_is(p, n))
        return idx_head(f, a, err);
    return err_set(err, ERR_ARG, "%s is neither an idx file nor a .npy file", f->name);
}

static double number_at(const struct array *a, const uint8_t *p)
{
    uint64_t v = 0;
    double d;
    float s;

    for (int i = 0; i < a->width; i++)
        v |= (uint64_t)p[a->big_endian ? a->width - 1 - i : i] << 8 * i;
    if (a->kind == ARRAY_UINT)
        return (double)v;
    if (a->kind == ARRAY_INT) {
        int unused = 64 - 8 * a->width;
        return (double)((int64_t)(v << unused) >> unused);
    }
    if (a->width == 4) {
        uint32_t low = (uint32_t)v;
        memcpy(&s, &low, sizeof s);
        return (double)s;
    }
    memcpy(&d, &v, sizeof d);
    return d;
}

void array_numbers(const struct array *a, const uint8_t *bytes, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = number_at(a, bytes + i * a->width);
}
