/* csv_seen.c - see csv_seen.h.
 *
 * Most columns of texts have few different ones, and all rows but the first of each only ask for
 * what is known. A place holds the code of the last text that led to it, with no search behind it;
 * there are at least four times as many places as texts, so that most have a place of their own. Codes
 * come from the dictionary alone, so what is found here never shows. Memory: 256 KiB a column at
 * most, and none once its texts hardly repeat. Called by csv_col.c. */
#include "ml/read/csv_seen.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

#define FIRST(n) ((n) >= 8 ? ~0ull : (1ull << ((n) % 8 * 8)) - 1)
#define SHORT(n)      \
    {                 \
        FIRST((n)), 0 \
    }
#define LONG(n)             \
    {                       \
        ~0ull, FIRST((n)-8) \
    }

const uint64_t csv_seen_keep[CSV_SEEN_LONGEST + 1][2] = {
    SHORT(0), SHORT(1), SHORT(2), SHORT(3), SHORT(4), SHORT(5), SHORT(6), SHORT(7),
    LONG(8),  LONG(9),  LONG(10), LONG(11), LONG(12), LONG(13), LONG(14), LONG(15),
};

enum { FIRST_CAP = 16, MOST_BITS = 15 };

void csv_seen_fini(struct csv_seen *seen)
{
    mem_free(seen->at);
    mem_free(seen->keys);
    *seen = (struct csv_seen){ .is_over = seen->is_over };
}

/* Room for more codes, and four places for each. */
static void seen_grow(struct csv_seen *seen, uint32_t code)
{
    uint32_t cap = seen->cap ? seen->cap : FIRST_CAP, old = seen->cap;

    while (cap <= code)
        cap *= 2;
    seen->keys = mem_resize(seen->keys, cap * sizeof(*seen->keys));
    memset(seen->keys + old, 0, (cap - old) * sizeof(*seen->keys));
    seen->cap = cap;
    unsigned bits = MIN((unsigned)__builtin_ctz(cap) + 2, (unsigned)MOST_BITS);
    if (bits == seen->bits)
        return;
    mem_free(seen->at);
    seen->at = mem_array((size_t)1 << bits, sizeof(*seen->at));
    seen->bits = bits;
    for (uint32_t i = 0; i < old; i++) {
        if (seen->keys[i].tail)
            seen->at[csv_seen_place(seen, seen->keys[i])] = i;
    }
}

void csv_seen_keep_text(struct csv_seen *seen, const char *s, size_t n, uint32_t code)
{
    if (code > CSV_SEEN_MOST && !seen->is_over) {
        seen->is_over = true;
        csv_seen_fini(seen);
    }
    if (seen->is_over || n - 1 >= CSV_SEEN_LONGEST || code >= CSV_SEEN_LEVELS)
        return;
    if (code >= seen->cap)
        seen_grow(seen, code);
    seen->keys[code] = csv_seen_key(s, n);
    seen->at[csv_seen_place(seen, seen->keys[code])] = code;
}

int64_t csv_seen_bytes(const struct csv_seen *seen)
{
    return (int64_t)(seen->cap * sizeof(*seen->keys)) +
           (seen->bits ? (int64_t)sizeof(*seen->at) << seen->bits : 0);
}
