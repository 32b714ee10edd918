/* report.h - how a program tells a value: a printed line that begins with "assay:", or the body of
 * an HTTP call. Three forms of the line:
 *
 *   assay: {"level": 3, "score": 0.91}      further keys are ignored
 *   assay: level=3 score=0.91
 *   assay: 0.91                             the level after the last one
 *
 * `step` and `epoch` may stand for level, `value` and the name of the study's metric for score. Of
 * several objectives: "values": [0.91, 12], or score=0.91 value_2=12. */
#ifndef TRIAL_RUNNER_COMMAND_REPORT_H
#define TRIAL_RUNNER_COMMAND_REPORT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum { REPORT_MORE = 3 };
struct report {
    int level;    /* 0 = not given */
    double value; /* may be NaN or infinite */
    int n_more;   /* values of further objectives */
    double more[REPORT_MORE];
};

#define REPORT_MARK "assay:"
/* line: without its newline. 1 = a report, 0 = another line, -1 = it has the mark but is none. */
int report_line(struct report *r, const char *line, const char *metric, struct err *err);
int report_json(struct report *r, const json_t *o, const char *metric, struct err *err);

#endif
