/* read.c - see read.h. */
#include "ml/read/read.h"

#include "ml/read/feed.h"
#include "ml/read/formats.h"
#include "ml/read/images.h"
#include "ml/read/jsonl.h"

bool table_is_csv(const uint8_t *head, long n)
{
    return !images_are(head, n) && !parquet_is(head, n) && !arrow_is_head(head, n) &&
           !jsonl_is(head, n);
}

bool table_is_columnar(const uint8_t *head, long n)
{
    return parquet_is(head, n) || arrow_is_head(head, n);
}

int table_to_frame(csv_source *source, void *ctx, const struct csv_opts *opts,
                   const char *frame_path, char hash[SHA256_HEX], struct err *err)
{
    struct feed f = { .source = source,
                      .ctx = ctx,
                      .name = opts->name ? opts->name : "the file",
                      .may_be_cut = opts->may_be_cut };
    const uint8_t *head = NULL;
    long n = feed_look(&f, FEED_AHEAD, &head, err);

    if (n < 0)
        return err_wrap(err, "%s", f.name);
    if (parquet_is(head, n))
        return parquet_to_frame(&f, opts, frame_path, hash, err);
    if (arrow_is_head(head, n))
        return arrow_to_frame(&f, opts, frame_path, hash, err);
    if (jsonl_is(head, n))
        return jsonl_to_frame(&f, opts, frame_path, hash, err);
    if (!images_are(head, n))
        return csv_to_frame(feed_source, &f, opts, frame_path, hash, err);
    if (opts->n_overrides > 0 && !opts->overrides_optional)
        return err_set(err, ERR_ARG, "%s holds images: their columns have no types to declare",
                       f.name);
    return images_to_frame(&f, opts->max_bytes, frame_path, hash, err);
}
