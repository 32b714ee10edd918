/* state.c - writing and checking the head of a saved searcher. Little-endian, as every format of ours (base/buf.h). */
#include "search/contract/state.h"

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

enum { MAGIC = 0x53415341, NAME_MAX_BYTES = 64 }; /* "ASAS" */

int state_put(struct buf *out, const struct state_head *h, struct err *err)
{
    if (buf_put_u32(out, MAGIC, err) < 0 || buf_put_str(out, h->searcher, err) < 0 ||
        buf_put_u32(out, h->version, err) < 0 || buf_put_u64(out, h->fingerprint, err) < 0 ||
        buf_put_u64(out, h->seed, err) < 0)
        return -1;
    return 0;
}

int state_check(struct view *in, const struct state_head *h, struct err *err)
{
    uint64_t fingerprint = 0, seed = 0;
    uint32_t magic = 0, version = 0;
    char *searcher = NULL;
    int rc = -1;

    if (view_u32(in, &magic, err) < 0)
        goto out;
    if (magic != MAGIC) {
        err_set(err, ERR_ARG, "not a saved searcher");
        goto out;
    }
    if (view_str(in, &searcher, NAME_MAX_BYTES, err) < 0 || view_u32(in, &version, err) < 0 ||
        view_u64(in, &fingerprint, err) < 0 || view_u64(in, &seed, err) < 0)
        goto out;
    if (strcmp(searcher, h->searcher) != 0)
        err_set(err, ERR_CONFLICT, "the saved state is of \"%.40s\", not of %s", searcher,
                h->searcher);
    else if (version != h->version)
        err_set(err, ERR_VERSION, "the saved state has format %u, this program reads %u", version,
                h->version);
    else if (fingerprint != h->fingerprint)
        err_set(err, ERR_CONFLICT, "the saved state is of another space or other options");
    else if (seed != h->seed)
        err_set(err, ERR_CONFLICT, "the saved state has another seed");
    else
        rc = 0;
out:
    mem_free(searcher);
    return rc;
}

int state_end(const struct view *in, struct err *err)
{
    return in->pos == in->len ? 0 : err_set(err, ERR_ARG, "saved state has bytes past its end");
}

uint64_t state_fingerprint(const double *options, int n)
{
    uint64_t h = (uint64_t)n, bits = 0;

    for (int i = 0; i < n; i++) {
        memcpy(&bits, &options[i], sizeof bits);
        h = rng_mix(h, bits);
    }
    return h;
}
