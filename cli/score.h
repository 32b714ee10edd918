/* score.h - the report of `assay score`, as JSON: how good the predictions of a model are on rows
 * whose truth is known. cmd_score.c prints it. */
#ifndef CLI_SCORE_H
#define CLI_SCORE_H

#include "base/err.h"
#include "ml/fit/scored.h"

#include <jansson.h>

struct score_how {
    double threshold; /* of two classes: above it the positive one is predicted */
    int groups;       /* of the calibration */
};

/* {"model": {"family","models","metric","score","se"}, "target", "task", "rows",
 *  "left_out": {"no_target","unknown_class","no_weight","unknown_such_as"},
 *  "scores": [{"metric","larger_is_better","score","se"}],
 *  "classes": [{"class","rows","predicted","precision","recall","f1"}],
 *  "confusion": [[rows of true class i that are predicted as class j]] where there are at most
 *               SCORE_MAX_MATRIX classes, "confused": [{"true","predicted","rows"}] most first,
 *  "residuals": {"mean","se","quantiles": {"0.05": ..}} of truth less prediction,
 *  "intervals": [{"level","inside","se","width"}] where the model has some,
 *  "threshold": of two classes the one that was used,
 *  "calibration": {"of","groups": [{"rows","from","to","predicted","observed","se"}],
 *                  "error","intercept","slope"}}
 * with the parts that suit the task. NULL: err says why. */
enum { SCORE_MAX_MATRIX = 100, SCORE_MAX_CONFUSED = 20 };
json_t *score_report(const struct artifact_info *info, const struct scored *s,
                     const struct score_how *how, struct err *err);

#endif
