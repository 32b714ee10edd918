/* shares.c - the states of families (decide/share.h) as JSON. */
#include "controller/view/shares.h"

#include "base/jsonx.h"
#include "controller/decide/share.h"

#include <math.h>

json_t *shares_json(const struct study *st)
{
    struct shares s;
    double all = 0;

    if (!st->problem.is_ready || !share_decides(st))
        return NULL;
    share_make(st, &s);
    json_t *list = json_array();
    for (int i = 1; i < st->n_families; i++)
        all += (double)s.of[i].spent_us;
    for (int i = 1; i < st->n_families; i++) {
        const struct share_family *f = &s.of[i];
        bool is_open = study_is_open(st);
        char why[160];

        share_why(st, &s, i, why, sizeof why);
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "family", st->families[i]->name,
                            "trials", f->tries, "whole", f->whole, "share",
                            jsonx_real(all > 0 ? (double)f->spent_us / all : 0), "best",
                            jsonx_real(study_gain(st, f->best)), "state",
                            is_open ? json_string(share_state_name[f->state]) : json_null(), "why",
                            is_open ? json_string(why) : json_null()));
    }
    return list;
}
