/* searchers.h - which sampler and scheduler a study has, and opening them: names and options of the spec checked, `auto`
 * resolved once by search/auto.h when the study's data is known, and stored with it. */
#ifndef CONTROLLER_DECIDE_SEARCHERS_H
#define CONTROLLER_DECIDE_SEARCHERS_H

#include "controller/state/study.h"

/* Virtual workers of a deterministic study whose spec does not say how many. */
enum { PLAN_WORKERS = 16 };

/* Names and options of a spec; errors carry the path of the key. dev: also the test searchers. */
int searchers_check(const struct spec *spec, bool dev, struct err *err);
/* What the spec names, or the rule's choice where it says auto. */
void searchers_choice(const struct spec *spec, const struct study_space *space,
                      struct search_choice *out);
/* Fills st->problem.search by it. Space and problem are ready. */
void searchers_choose(struct study *st);
/* The scheduler's number for a family. */
int searchers_group(const struct study *st, const char *family);
/* Opens st->sampler and st->scheduler; on error neither. */
int searchers_open(struct study *st, struct err *err);
/* What the scheduler alone is opened with, also for previews: options has SEARCH_MAX_OPTIONS places and is lent to setup. */
const struct scheduler_ops *searchers_scheduler(const struct spec *spec, const char *name,
                                                struct search_setup *setup, double *options,
                                                struct err *err);
/* Trials in flight as far as they are known beforehand; 0 = not. */
int searchers_parallel(const struct spec *spec);

#endif
