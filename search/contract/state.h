/* state.h - the head of every saved searcher: magic, version, whose it is. A state of another searcher, space, seed or
 * set of options is refused before its body is read. */
#ifndef SEARCH_CONTRACT_STATE_H
#define SEARCH_CONTRACT_STATE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/* fingerprint: of the space (samplers) or the options (schedulers). version: of the searcher's own body. */
struct state_head {
    const char *searcher;
    uint32_t version;
    uint64_t fingerprint, seed;
};

int state_put(struct buf *out, const struct state_head *h, struct err *err);
int state_check(struct view *in, const struct state_head *h,
                struct err *err);                      /* ERR_VERSION, ERR_CONFLICT, ERR_ARG */
int state_end(const struct view *in, struct err *err); /* nothing may follow */
uint64_t state_fingerprint(const double *options, int n);

#endif
