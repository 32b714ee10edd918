/* prep_drop.c - what a preparation that has just been fitted does not need: steps that make no input,
 * and columns that nothing is made of. Called by prep_fit.c. */
#include "base/mem.h"
#include "ml/prep/prep_private.h"

/* Drops steps that make no input. */
static void drop_steps(struct prep *p)
{
    /* 1 where a step is used, then its new place */
    int *place = mem_array((size_t)p->n_steps + 1, sizeof *place), n = 0;

    for (int i = 0; i < p->n_cols; i++) {
        if (p->cols[i].step >= 0)
            place[p->cols[i].step] = 1;
    }
    for (int s = 0; s < p->n_steps; s++) {
        if (!place[s]) {
            prep_step_free(&p->steps[s]);
            continue;
        }
        place[s] = n;
        p->steps[n++] = p->steps[s];
    }
    for (int i = 0; i < p->n_cols; i++) {
        if (p->cols[i].step >= 0)
            p->cols[i].step = place[p->cols[i].step];
    }
    p->n_steps = n;
    mem_free(place);
}

/* Drops columns that no input is made of. */
static void drop_sources(struct prep *p)
{
    /* 1 where a column is used, then its new place */
    int *place = mem_array((size_t)p->n_sources + 1, sizeof *place), n = 0;

    for (int s = 0; s < p->n_steps; s++) {
        for (int k = 0; k < p->steps[s].n_sources; k++)
            place[p->steps[s].source[k]] = 1;
    }
    for (int c = 0; c < p->n_sources; c++) {
        for (int k = 0; p->sources[c].gap && k < p->sources[c].gap->n_from; k++)
            place[p->sources[c].gap->from[k].source] = 1;
    }
    for (int c = 0; c < p->n_sources; c++) {
        if (!place[c] && p->sources[c].input < 0) {
            mem_free(p->sources[c].name);
            gap_free(p->sources[c].gap);
            continue;
        }
        place[c] = n;
        p->sources[n++] = p->sources[c];
    }
    for (int i = 0; i < p->n_cols; i++)
        p->cols[i].source = place[p->cols[i].source];
    for (int s = 0; s < p->n_steps; s++) {
        for (int k = 0; k < p->steps[s].n_sources; k++)
            p->steps[s].source[k] = place[p->steps[s].source[k]];
    }
    p->n_sources = n;
    for (int c = 0; c < n; c++) {
        for (int k = 0; p->sources[c].gap && k < p->sources[c].gap->n_from; k++)
            p->sources[c].gap->from[k].source = place[p->sources[c].gap->from[k].source];
    }
    mem_free(place);
}

void prep_drop_unused(struct prep *p)
{
    drop_steps(p);
    drop_sources(p);
}
