/* dispatch.h - what a device that asks gets: a task, else a group of trials of one study that fuse. */
#ifndef CONTROLLER_SERVE_DISPATCH_H
#define CONTROLLER_SERVE_DISPATCH_H

#include "controller/state/ctl.h"
#include "controller/state/study.h"

struct runner;
struct device;

/* 1 = out holds the grant's JSON (the caller owns it) and rows and leases say so, 0 = nothing to do now, -1. */
int dispatch_grant(struct ctl *ctl, struct runner *r, struct device *d, const struct msg_ask *ask,
                   json_t **out, struct err *err);
bool dispatch_may(struct ctl *ctl, const struct runner *r); /* might there be work for it? Cheap. */

#endif
