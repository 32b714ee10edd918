/* why.h - why a waiting study waits, for people. */
#ifndef CONTROLLER_VIEW_WHY_H
#define CONTROLLER_VIEW_WHY_H

#include "controller/state/study.h"

/* One sentence; "" when it does not wait. */
void study_why(const struct study *st, char *out, size_t size);

#endif
