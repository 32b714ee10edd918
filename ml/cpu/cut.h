/* cut.h - a node that is to be cut, and the best cut found for it so far: what cuts.c and cuts_few.c have in common.
 *
 * Weights are whole numbers: how often bootstrap drew a row. A cut sends the rows whose bin is at most `bin` to the left;
 * rows with a missing value (bin 255) go to the side that missing_left names. */
#ifndef ML_CPU_CUT_H
#define ML_CPU_CUT_H

#include <stdbool.h>
#include <stdint.h>

enum { CUTS_MISSING = 255 }; /* the bin of a missing value */

struct cuts_node {
    int64_t n, s;  /* weight of the node, and of its class 1; below 2^31 */
    int64_t least; /* weight on either side, >= 1 */
};

/* The best so far; a kernel leaves it alone unless it finds a better one, and then returns true in is_better. */
struct cuts_best {
    double score;
    int col; /* the caller's number of the column */
    int bin; /* x <= bin goes left: midway between the present bins on both sides */
    bool missing_left, is_better;
};

#endif
