/* option.c - options of searchers by name, from the rows of their tables. */
#include "search/contract/option.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

void search_options_default(const struct search_option *options, int n, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = options[i].def;
}

int search_option_set(const struct search_option *options, int n, const char *name, double value,
                      double *out, struct err *err)
{
    const char *names[SEARCH_MAX_OPTIONS];

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
    const char *near = n > 0 ? str_nearest(name, names, (size_t)n) : NULL;
    return err_at(err, name, "unknown option%s%s%s", near ? "; did you mean " : "",
                  near ? near : "", near ? "?" : "");
}
