/* load_beside.h - ended studies are read into memory beside the loop, when somebody asks for one
 * (ctl_study_await in api.h), and leave memory when too many of them are there. Unfinished studies
 * are always in memory (serve/recover.c). */
#ifndef CONTROLLER_SETTLE_LOAD_BESIDE_H
#define CONTROLLER_SETTLE_LOAD_BESIDE_H

#include "controller/state/ctl.h"

enum {
    LOAD_KEPT = 32,            /* ended studies that stay in memory, */
    LOAD_KEPT_TRIALS = 300000, /* with so many trials in all; one of them may have more */
    /* studies that may be read at the same time; half as many for one client */
    LOAD_WAITING = 8
};
/* Removes ended studies from memory until these limits are kept, first those that nobody asked for
 * lately. */
void load_trim(struct ctl *ctl);
/* The controller ends: those who wait are not called. */
void load_free_all(struct ctl *ctl);

#endif
