/* option.c - sets the options of samplers and schedulers by name, from the rows of their tables,
 * and says what may have been meant by a wrong name. */
#include "search/contract/option.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

void search_options_default(const struct search_option *options, int n, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = options[i].def;
}

/* The names that other tools have for these options. They are not accepted; an error suggests
 * ours. */
static const struct str_alias words[] = {
    { "n_startup_trials", "startup" },
    { "n_initial_points", "startup" },
    { "n_min_trials", "startup" },
    { "reduction_factor", "eta" },
    { "factor", "eta" },
    { "grace_period", "min_level" },
    { "min_resource", "min_level" },
    { "min_t", "min_level" },
    { "min", "min_level" },
    { "n_warmup_steps", "warmup" },
    { "interval_steps", "interval" },
    { "n_brackets", "brackets" },
    { "n_candidates", "num_samples" },
    { "n_ei_candidates", "num_samples" },
    { "top_percent", "top_n_percent" },
    { "n_points", "points" },
    { "rounds", "patience" },
    { "tolerance", "min_delta" },
};

static int unknown(const char *const *names, int n, const char *name, struct err *err)
{
    const char *near = str_nearest_or(name, names, (size_t)n, words, ARRAY_LEN(words));
    char list[200];

    if (n == 0)
        return err_at(err, name, "unknown option: none are taken here");
    if (near)
        return err_at(err, name, "unknown option; did you mean %s?", near);
    str_list(names, (size_t)n, list, sizeof list);
    return err_at(err, name, "unknown option; there are %s", list);
}

int search_option_set(const struct search_option *options, int n, const char *name, double value,
                      double *out, struct err *err)
{
    const char *names[SEARCH_MAX_OPTIONS] = { 0 };

    CHECK(n <= SEARCH_MAX_OPTIONS);
    for (int i = 0; i < n; i++) {
        const struct search_option *o = &options[i];
        names[i] = o->name;
        if (strcmp(o->name, name) != 0)
            continue;
        if (!(value >= o->lo && value <= o->hi))
            return err_at(err, name, "must be from %g to %g, not %g", o->lo, o->hi, value);
        if (o->is_int && floor(value) != value)
            return err_at(err, name, "must be a whole number, not %g", value);
        out[i] = value;
        return 0;
    }
    return unknown(names, n, name, err);
}
