/* mlp_rows.h - what a row of a table becomes before it goes through a network of the family mlp: the values of the dense form,
 * in the order that the first blocks expect, and whole numbers for its categories. Private to mlp.c and mlp_rows.c. */
#ifndef ML_NET_MLP_ROWS_H
#define ML_NET_MLP_ROWS_H

#include "ml/net/net_lane.h"

enum { MLP_BINS = 255 };

int mlp_numbers(const struct prep *p); /* numeric inputs */
/* Which categories have codes: see mlp_rows.c. */
void mlp_codes_of(const struct prep *p, struct net_codes *out);

/* Functions of struct net_kind. */
void mlp_rows(const struct net_source *s, const struct net *n, const int32_t *rows, int64_t from,
              int64_t count, float *out);
void mlp_codes(const struct net_source *s, const struct net *n, const int32_t *rows, int64_t from,
               int64_t count, int32_t *out);
void mlp_start(const struct net_source *s, const struct net *n, const struct fold_rows *r,
               float *w);

#endif
