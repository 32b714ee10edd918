/* csv_seen.h - private to the CSV reader: the short texts of a column that were there before, told
 * by one multiplication and one comparison of two words. It stands before a dictionary (csv_dict.h)
 * and knows nothing that the dictionary does not; what it misses is asked there. */
#ifndef ML_READ_CSV_SEEN_H
#define ML_READ_CSV_SEEN_H

#include "ml/cells/csv_num.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* longer texts are not kept: 15 bytes and their number fit two words */
    CSV_SEEN_LONGEST = 15,
    /* texts with higher codes are not kept; past the last number the column hardly repeats, and
     * nothing is kept any more */
    CSV_SEEN_LEVELS = 8192,
    CSV_SEEN_MOST = 32768
};

struct csv_key {
    /* the first eight bytes; the others, and in the top byte how many there are of all */
    uint64_t head, tail;
};

struct csv_seen {
    /* [1 << bits]: the code of the text whose key led here last; bits 0 = there is none yet */
    uint32_t *at;
    unsigned bits;
    /* [cap]: by code; tail 0 = not kept */
    struct csv_key *keys;
    uint32_t cap;
    bool is_over;
};

extern const uint64_t csv_seen_keep[CSV_SEEN_LONGEST + 1][2];

/* n from 1 to CSV_SEEN_LONGEST; 16 bytes from s on must be readable. */
static inline struct csv_key csv_seen_key(const char *s, size_t n)
{
    return (struct csv_key){ csv_load8(s) & csv_seen_keep[n][0],
                             (csv_load8(s + 8) & csv_seen_keep[n][1]) | (uint64_t)n << 56 };
}

static inline uint32_t csv_seen_place(const struct csv_seen *seen, struct csv_key key)
{
    return (uint32_t)((key.head * 0x9e3779b97f4a7c15ull + key.tail * 0xe7037ed1a0b428dbull) >>
                      (64 - seen->bits));
}

/* False = not known here. */
static inline bool csv_seen_find(const struct csv_seen *seen, const char *s, size_t n,
                                 uint32_t *code)
{
    if (n - 1 >= CSV_SEEN_LONGEST || seen->bits == 0)
        return false;
    struct csv_key key = csv_seen_key(s, n);
    *code = seen->at[csv_seen_place(seen, key)];
    return seen->keys[*code].head == key.head && seen->keys[*code].tail == key.tail;
}

/* The text, of n bytes as the file has them, has this code. */
void csv_seen_keep_text(struct csv_seen *seen, const char *s, size_t n, uint32_t code);
void csv_seen_fini(struct csv_seen *seen);
int64_t csv_seen_bytes(const struct csv_seen *seen);

#endif
