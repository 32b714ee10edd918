/* search.c - begins and ends the memory of a search (search.h). It frees plain memory only: the
 * searchers and the suggestion under way have to be closed by those who know them (propose.c), which
 * the CHECKs below make sure of. */
#include "controller/decide/search.h"

#include "base/mem.h"

#include <math.h>

/* The first suggestions of a study are expected to take so long that they are made beside the loop
 * (AHEAD_US in ahead.c), because nothing is known yet of the sampler in this space. After eleven quick
 * ones they are made on the loop. */
enum { FIRST_SUGGESTION_US = 1000 };

void search_open(struct study *st)
{
    CHECK(!st->search);
    st->search = mem_zalloc(sizeof *st->search);
    st->search->best_score = NAN;
    st->search->expect_us = FIRST_SUGGESTION_US;
}

void search_close(struct study *st)
{
    struct search *s = st->search;

    if (!s)
        return;
    CHECK(!s->sampler && !s->scheduler && !s->ahead);
    json_decref(s->warm);
    mem_free(s->script);
    mem_free(s->plan.runs);
    mem_free(s->plan.levels);
    mem_free(s);
    st->search = NULL;
}
