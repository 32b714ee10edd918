/* gp_luck.h - whether trials fail for what they are or by chance. A failure that follows from the
 * configuration says that its neighbours fail, too, and a sampler should keep away from it. One that
 * does not, say of a machine, says nothing, and keeping away from it costs the places where most
 * trials were.
 *
 * Two explanations are compared by how well they foretell each end from those before it: that all
 * trials fail with one probability, and that a trial ends as those near it did. The second is a mean
 * over three distances that count as near. Each foretells before it knows, so their likelihoods can
 * be compared although the search chooses where trials are (Dawid, The prequential approach,
 * Journal of the Royal Statistical Society A, 1984). */
#ifndef SEARCH_SAMPLERS_GP_GP_LUCK_H
#define SEARCH_SAMPLERS_GP_GP_LUCK_H

#include "search/samplers/gp/gp_code.h"

enum { GP_LUCK_SCALES = 3 };

struct gp_luck {
    const struct gp_code *code; /* borrowed */
    int n, failed, room;
    int foretold, failed_foretold; /* so many of the ends are in the likelihoods below */
    float *x;                      /* [dimension][room], in the order in which the trials ended */
    bool *has_failed;              /* n */
    double chance;                 /* log likelihood of one probability for all */
    double near[GP_LUCK_SCALES];
    bool is_chance; /* what follows from the likelihoods, once there are some */
};

void gp_luck_fini(struct gp_luck *l); /* all zeros is a legal start */
/* A trial ended at x. After some hundreds nothing more is taken. */
void gp_luck_add(struct gp_luck *l, const struct gp_code *code, const double *x, bool has_failed);
/* True if one probability for all is the likelier explanation. False while few trials ended, failed
 * or did not fail, because keeping away from failures that come by chance costs less than searching
 * among those that do not. */
bool gp_luck_is_chance(struct gp_luck *l);

#endif
