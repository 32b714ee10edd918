/* why.h - one sentence that tells people why a study waits. Called by show.c for the key `why` of
 * the API. */
#ifndef CONTROLLER_VIEW_WHY_H
#define CONTROLLER_VIEW_WHY_H

#include "controller/state/study.h"

/* Writes the sentence; "" = the study does not wait. */
void study_why(const struct study *st, char *out, size_t size);

#endif
