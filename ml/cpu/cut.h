/* cut.h - a node of a classification forest that is to be cut at one column, and the best cut found
 * for it so far. Shared by cuts.c and cuts_*.c; filled and read by ml/forest/forest_gini.c.
 *
 * Weights are whole numbers: how often the bootstrap drew a row. A cut sends the rows whose bin is
 * at most `bin` to the left. Rows with a missing value (bin 255) go to the side that missing_left
 * names. */
#ifndef ML_CPU_CUT_H
#define ML_CPU_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* The bin of a missing value. */
enum { CUTS_MISSING = 255 };

/* The most rows that cuts_rows and cuts_rows_many take. So few rows are scored without a histogram,
 * because clearing and summing 256 bins would cost more than comparing every row with every row. */
enum { CUTS_ROWS = 128 };

struct cuts_node {
    /* weight of all rows of the node, and of those of class 1; below 2^31 */
    int64_t n, s;
    /* least weight of either side; at least 1 */
    int64_t least;
};

/* A kernel changes the best cut only when it finds a better one, and then sets is_better. */
struct cuts_best {
    double score;
    /* the number that the caller gave the column */
    int col;
    /* x <= bin goes left; it lies midway between the nearest bins that hold rows */
    int bin;
    bool missing_left, is_better;
};

#endif
