/* spec_check.h - what can be said of a spec before its data is known. */
#ifndef CONTROLLER_API_SPEC_CHECK_H
#define CONTROLLER_API_SPEC_CHECK_H

#include "controller/state/ctl.h"
#include "proto/spec.h"

/* 0, or -1 with an error that carries the path of the key. */
int study_check_spec(struct ctl *ctl, const struct spec *spec, struct err *err);

#endif
