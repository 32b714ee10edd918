/* words.c - see words.h. */
#include "ml/cells/words.h"

#include "base/base.h"
#include "ml/cells/csv_num.h"

#include <string.h>

enum { LONGEST = 24 };

size_t words_space(const char *s, size_t n)
{
    static const char *const wide[] = { "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x87" };

    if (n > 0 && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
        return 1;
    if (n >= 2 && memcmp(s, "\xc2\xa0", 2) == 0)
        return 2;
    for (size_t i = 0; n >= 3 && *s == '\xe2' && i < ARRAY_LEN(wide); i++) {
        if (memcmp(s, wide[i], 3) == 0)
            return 3;
    }
    return 0;
}

void words_trim(const char **s, size_t *n)
{
    size_t k;

    while ((k = words_space(*s, *n)) > 0)
        *s += k, *n -= k;
    for (;;) {
        k = 0;
        for (size_t w = 1; w <= 3 && w <= *n && k == 0; w++)
            k = words_space(*s + *n - w, w) == w ? w : 0;
        if (k == 0)
            return;
        *n -= k;
    }
}

bool words_are_missing(const char *s, size_t n)
{
    static const char *const words[] = {
        "-",
        "--",
        "---",
        ".",
        "..",
        "...",
        "*",
        "**",
        "\\n",
        "none",
        "nil",
        "n.a.",
        "n.a",
        "n/a.",
        "n/d",
        "#n/a",
        "#na",
        "#null!",
        "#div/0!",
        "#value!",
        "#num!",
        "#ref!",
        "#name?",
        "#n/a n/a",
        "<na>",
        "<null>",
        "(null)",
        "nat",
        "missing",
        "unknown",
        "undefined",
        "not known",
        "not available",
        "not applicable",
        "unavailable",
        "no data",
        "nodata",
        "tbd",
        "unspecified",
        "not recorded",
        "-nan",
        "+nan",
        "nan(ind)",
        "-nan(ind)",
        "1.#ind",
        "-1.#ind",
        "1.#qnan",
        "-1.#qnan",
        "??",
        "???",
        "unk",
        "_",
        "\xe2\x80\x94",
        "\xe2\x80\x93",
        "\xe2\x88\x92",
        "\xe2\x80\xa6",
    };
    static const char first[] = "-.*\\n#<(mutNMUT+1?_\xe2";
    char lower[LONGEST + 1] = "";

    words_trim(&s, &n);
    if (csv_is_missing(s, n))
        return true;
    /* most texts begin with none of the first bytes, and are not compared with each word */
    if (n > LONGEST || !memchr(first, *s, sizeof(first) - 1))
        return false;
    for (size_t i = 0; i < n; i++)
        lower[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + ('a' - 'A') : s[i]);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (*lower == *words[i] && strcmp(lower, words[i]) == 0)
            return true;
    }
    return false;
}

bool words_are_listed(const char *const *list, const char *s, size_t n)
{
    words_trim(&s, &n);
    for (; n > 0 && *list; list++) {
        if (strlen(*list) == n && memcmp(*list, s, n) == 0)
            return true;
    }
    return n == 0;
}

bool words_are_signs(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((s[i] | 0x20) >= 'a' && (s[i] | 0x20) <= 'z')
            return false;
    }
    return true;
}
