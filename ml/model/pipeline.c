/* pipeline.c - see pipeline.h. */
#include "ml/model/pipeline.h"

#include "ml/model/data_private.h"

enum describe_form pipeline_form(const struct family *f)
{
    static const enum describe_form forms[] = { [FF_NONE] = DESCRIBE_NONE,
                                                [FF_BINS] = DESCRIBE_BINS,
                                                [FF_DENSE] = DESCRIBE_DENSE,
                                                [FF_IMAGES] = DESCRIBE_IMAGES };

    return f ? forms[f->form] : DESCRIBE_NONE;
}

int ml_pipeline_json(const struct ml_data *d, const struct family *f, struct buf *out,
                     struct err *err)
{
    const struct describe_in in = { .prep = d->prep,
                                    .form = pipeline_form(f),
                                    .frame = d->spec.frame,
                                    .skip = (const char *const *)d->shared->inputs->skip,
                                    .choice = &d->choice };

    return prep_describe(&in, out, err);
}
