/* utf8.c - whether bytes are UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF (RFC 3629, section 4). */
#include "base/utf8.h"

/* The length of the UTF-8 sequence at p, 0 when it is not one (RFC 3629: shortest form, no surrogates). */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    unsigned lo = 0x80, hi = 0xBF;
    size_t n = 0;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF)
        n = 2;
    else if (p[0] >= 0xE0 && p[0] <= 0xEF)
        n = 3;
    else if (p[0] >= 0xF0 && p[0] <= 0xF4)
        n = 4;
    if (!n || n > left)
        return 0;
    if (p[0] == 0xE0)
        lo = 0xA0;
    else if (p[0] == 0xED)
        hi = 0x9F;
    else if (p[0] == 0xF0)
        lo = 0x90;
    else if (p[0] == 0xF4)
        hi = 0x8F;
    if (p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    }
    return n;
}

bool utf8_ok(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;

    for (size_t i = 0, step = 0; i < n; i += step) {
        step = utf8_len(p + i, n - i);
        if (!step)
            return false;
    }
    return true;
}
