/* searchers.h - which sampler and scheduler a study has. Names and options of the spec are
 * checked here, and the searchers are opened here. Where the spec says `auto`, search/auto.h
 * chooses once, when the study's data is known; the choice is stored with the study, so that
 * another version of the rule does not change it. Called by propose.c, settle/load.c and the
 * checks of specs in api/. */
#ifndef CONTROLLER_DECIDE_SEARCHERS_H
#define CONTROLLER_DECIDE_SEARCHERS_H

#include "controller/decide/search.h"

/* The number of virtual workers of a deterministic study whose spec has no `parallel`. */
enum { PLAN_WORKERS = 16 };

/* Checks names and options of a spec; an error carries the path of the key. dev = the searchers for
 * tests are allowed, too. */
int searchers_check(const struct spec *spec, bool dev, struct err *err);
/* The searchers that the spec names, or the choice of the rule where it says auto. */
void searchers_choice(const struct spec *spec, const struct study_space *space,
                      struct search_choice *out);
/* Stores that choice in st->problem.search. Space and problem must be known. */
void searchers_choose(struct study *st);
/* The number that stands for a family in calls of the scheduler. */
int searchers_group(const struct study *st, const char *family);
/* The bit of search_setup.partial for a family that has this number. */
uint64_t searchers_partial(const struct family *f, int group);
/* Opens both searchers into st->search; after an error neither is open. */
int searchers_open(struct study *st, struct err *err);
/* Finds the scheduler and fills the setup that it is opened with; previews use it, too. `options`
 * has SEARCH_MAX_OPTIONS places, and the setup borrows it. */
const struct scheduler_ops *searchers_scheduler(const struct spec *spec, const char *name,
                                                struct search_setup *setup, double *options,
                                                struct err *err);
/* The number of trials in flight, as far as the spec alone tells; 0 = it does not. */
int searchers_parallel(const struct spec *spec);

#endif
