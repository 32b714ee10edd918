/* gang.h - trials that several devices train together (the parameter `devices`), a *gang* each: which
 * devices a gang gets, and in which order studies are asked for work. Pure functions over plain
 * structs, so that they are tested without a database.
 *
 * A gang gets all its devices in one grant, or none, so two gangs never hold half of what the other
 * needs. Its devices are of one kind and numeric class, and on as few runners as can be. When its
 * turn comes and too few devices are free, it holds those that are, and each that becomes free:
 * nothing else of its priority or below starts on them, or small trials would take each one before
 * the gang ever had enough. A gang that the fleet cannot have waits for nothing and holds nothing.
 *
 * So that gangs do not starve the others in turn, studies of one priority take turns by devices as
 * long as a gang is ready: a gang begins to hold devices only when no other study that could use
 * them was granted fewer than its own (`served`).
 *
 * Called by serve/dispatch.c and serve/gang.c; view/why.c says the same in words. */
#ifndef CONTROLLER_DECIDE_GANG_H
#define CONTROLLER_DECIDE_GANG_H

#include <stdbool.h>
#include <stdint.h>

/* A device that could be part of a gang: its runner is here, enabled, of the right numeric class,
 * and can meet others. */
struct gang_device {
    int64_t runner;
    const char *kind;
    bool is_free; /* its call for work waits, or is being answered */
};
enum gang_answer {
    GANG_GOES,  /* `chosen` are its devices; the asker is the first */
    GANG_WAITS, /* the fleet has enough devices of the asker's kind, but too few are free */
    GANG_NEVER  /* the fleet has too few of that kind */
};
/* asker: place in d of the device that asks; chosen has room for `need` places. */
enum gang_answer gang_choose(const struct gang_device *d, int n, int asker, int need, int *chosen);
/* The most devices of one kind; *kind is that kind, "" if there is no device. */
int gang_most(const struct gang_device *d, int n, const char **kind);

/* What decides a study's place in the order. */
struct gang_claim {
    int64_t study;
    int priority;
    bool holds;      /* one of its gangs waits for devices of the kind that asks */
    int64_t running; /* its trials */
    int64_t served;  /* devices granted to it, counted from that of whoever had the fewest when it
                        came; 0 for all, when no gang is ready */
};
/* For qsort: the highest priority first, then a study whose gang holds devices, then the one with
 * the fewest running trials, the fewest devices served, the oldest. */
int gang_compare(const void *a, const void *b);
/* A gang of `first` would hold the device that asks: whether the study `c`, later in the order, may
 * have it before that. If no such study takes it, the gang begins to hold it. */
bool gang_yields(const struct gang_claim *first, const struct gang_claim *c);

#endif
