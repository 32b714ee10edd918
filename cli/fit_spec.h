/* fit_spec.h - the options of `assay fit`, and the search spec that they mean.
 *
 * What the options alone can be wrong about is refused here, before a table is read or anything is
 * started. Errors name options as they are typed, also those of the controller, which speaks of the
 * keys of a spec; so does the advice of warnings. */
#ifndef CLI_FIT_SPEC_H
#define CLI_FIT_SPEC_H

#include "base/conf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct fit_opts {
    char *target, *metric, *test, *output, *positive, *task, *columns, *missing, *monotone,
        *sampler, *scheduler, *families, *validation, *device, *groups, *time_column, *gap,
        *weights, *ensemble;
    int64_t time_ms, trials, seed, runners, folds, parallel;
    bool json;
};
enum { FIT_OPTIONS = 26 };
extern const struct conf_opt fit_options[FIT_OPTIONS];

/* The checked spec. Its datasets are called "train" and, with --test, "test"; its columns are what
 * --columns and --missing say. NULL and err: the options are wrong. */
json_t *fit_spec_new(const struct fit_opts *o, struct err *err);
/* An error about a key of the spec becomes one about the option that sets it. Returns -1. */
int fit_spec_err(struct err *err);
/* A warning's text, with the options in place of the keys of a spec. w: {code, column, text}. */
void fit_spec_advice(const json_t *w, char *out, size_t size);

#endif
