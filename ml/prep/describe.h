/* describe.h - what a preparation does with the columns of a table, as one JSON text for people:
 *
 *   {"form": "bins" | "dense" | "images" | "none", "columns", "inputs", "width": of the dense form,
 *    "groups": [{"type": "number" | "code" | "category" | "date" | "text" | "list" | "pair" |
 *                "together" | "pixel", "n": columns, "columns": [the first names], "inputs", "width",
 *                "steps": [{"say": "standardised", "inputs"}]}],
 *    "dropped": [{"why": "is constant", "n", "columns": [the first names]}]}
 *
 * A family that reads no column has no groups. Columns with the same steps are one group, so that the text is short whatever the table's width:
 * groups past DESCRIBE_GROUPS are one of type "other" without steps. It is a pure function of its
 * arguments. Called by ml/model/pipeline.c and `assay explain`. */
#ifndef ML_PREP_DESCRIBE_H
#define ML_PREP_DESCRIBE_H

#include "ml/prep/prep.h"

enum { DESCRIBE_GROUPS = 32, DESCRIBE_NAMES = 8 };
enum describe_form { DESCRIBE_NONE, DESCRIBE_BINS, DESCRIBE_DENSE, DESCRIBE_IMAGES };

struct describe_in {
    const struct prep *prep;
    enum describe_form form;
    /* The table that it was fitted on, the columns of it that are no inputs (up to a NULL, the
     * target first), and the choice that it was fitted with. NULL = not known: nothing is said to be
     * dropped. */
    const struct frame *frame;
    const char *const *skip;
    const struct prep_choice *choice;
};
int prep_describe(const struct describe_in *in, struct buf *out, struct err *err);

#endif
