/* spec_check.h - the checks of a spec that need no table. Called by study.c (create) and preview.c,
 * so that both refuse the same specs. */
#ifndef CONTROLLER_API_SPEC_CHECK_H
#define CONTROLLER_API_SPEC_CHECK_H

#include "controller/state/ctl.h"
#include "proto/spec.h"

/* Checks searchers, space, enqueued configurations and warm start: 0, or -1 with an error that
 * carries the path of the key. */
int study_check_spec(struct ctl *ctl, const struct spec *spec, struct err *err);

#endif
