/* target_unit.h - the unit in which a target of numbers is learnt, and the way back.
 *
 * Families learn and predict in this unit and know nothing of it. ml_data.y holds it; ml_data.truth
 * and everything that a person sees is in the unit of the table.
 *
 * TARGET_SHIFTED   y - by. Predictions are float, which keeps 24 bits: of a target such as 1.7e9
 *                  give or take 100 they would lose what matters. The shift is added in double.
 * TARGET_LOG       log(y + by), for targets of several sizes. The mean of what is exponential is
 *                  larger than the exponential of the mean, so that where squared errors count
 *                  predictions are multiplied by `smear` (Duan, Smearing estimate, JASA 1983).
 *
 * Called by data.c, artifact*.c and ml/fit/. */
#ifndef ML_MODEL_TARGET_UNIT_H
#define ML_MODEL_TARGET_UNIT_H

#include <stdbool.h>
#include <stdint.h>

enum target_kind { TARGET_PLAIN, TARGET_SHIFTED, TARGET_LOG };

struct target_unit {
    enum target_kind kind;
    double by;
    /* 1 where TARGET_LOG does not use it */
    double smear;
};

/* Finite and in range, as a file of a stranger must be. */
bool target_unit_ok(const struct target_unit *u);
double target_learnt(const struct target_unit *u, double y);
/* The prediction in the unit of the table, but for the shift of TARGET_SHIFTED: errors are the same
 * without it, and float holds them. target_shift is what is to be added to show it. */
float target_back(const struct target_unit *u, float learnt);
double target_shift(const struct target_unit *u);

/* The shift for the values y[i] with use[i] != 0; TARGET_PLAIN where float holds them well. */
struct target_unit target_unit_shifted(const double *y, const uint8_t *use, int64_t n);
/* Whether the logarithm is worth a try: no value is negative, the distribution has a long right
 * tail and its logarithm has none. Then *out is that unit with smear 1. */
bool target_unit_log(const double *y, const uint8_t *use, int64_t n, struct target_unit *out);

#endif
