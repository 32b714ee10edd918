/* proxy.h - a bad network between two programs on one machine: a Unix socket that forwards to another one, on a thread of its
 * own. By a seed it cuts connections after a random number of bytes in either direction (in the middle of a header, of a
 * body, of an answer), hands bytes on in random pieces and delays them. It never repeats, changes or reorders a byte. */
#ifndef TESTS_E2E_PROXY_H
#define TESTS_E2E_PROXY_H

#include "base/err.h"

#include <stdint.h>

struct proxy;

struct proxy_conf {
    uint64_t seed;
    int short_percent; /* of the connections: cut within the first short_bytes */
    int64_t short_bytes;
    int64_t long_bytes; /* the others are cut within this many; 0 = never */
    int delay_ms;       /* up to this for each piece */
};
struct proxy_counts {
    int connections, cuts;
    int64_t bytes;
};

struct proxy *proxy_start(const char *path, const char *target, const struct proxy_conf *conf,
                          struct err *err);
struct proxy_counts proxy_stop(struct proxy *p); /* cuts everything, joins, frees; NULL is legal */

#endif
