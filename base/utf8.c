/* utf8.c - the check of RFC 3629, section 4: no overlong forms, no surrogates, nothing past
 * U+10FFFF. */
#include "base/utf8.h"

#include <string.h>

/* The length of the UTF-8 sequence at p, or 0 if there is none. lo..hi is the range of the second
 * byte, which is narrower after four of the first bytes; that excludes what RFC 3629 forbids. */
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

/* Drops the bytes of a character that the end of the buffer has cut in two. */
static void trim(char *s, size_t size)
{
    size_t n = strlen(s), back = 0;

    if (n + 1 < size)
        return;
    while (back < 3 && back < n && ((unsigned char)s[n - 1 - back] & 0xC0) == 0x80)
        back++;
    if (back < n && ((unsigned char)s[n - 1 - back] & 0xC0) == 0xC0 &&
        !utf8_ok(s + n - 1 - back, back + 1))
        s[n - 1 - back] = '\0';
}

void utf8_clean(char *s, size_t size)
{
    size_t step = 0;

    trim(s, size);
    for (size_t n = strlen(s); n > 0; s += step, n -= step) {
        for (step = 1; step <= n && step <= 4 && !utf8_ok(s, step); step++)
            continue;
        if (step > n || step > 4) {
            *s = '?';
            step = 1;
        }
    }
}
